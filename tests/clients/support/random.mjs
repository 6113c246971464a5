// How are random choices made that a seed makes again?

/** Numbers from a seed (splitmix32). */
export class Random {
  constructor(seed) {
    this.state = Number(BigInt(seed) & 0xffffffffn);
  }

  next() {
    this.state = (this.state + 0x9e3779b9) | 0;
    let mixed = this.state ^ (this.state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** Below `end`. */
  below(end) {
    return this.next() % end;
  }

  chance(percent) {
    return this.below(100) < percent;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  bytes(length) {
    return `0x${Array.from({ length }, () => this.below(256).toString(16).padStart(2, '0')).join('')}`;
  }
}
