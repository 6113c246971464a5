// Squares numbers on their way through channels: one source, three workers, one sink.
//
//   source --numbers--> worker, worker, worker --squares--> sink

import { Channel, Code, check, checkId, input, join, spawn, spawnWith } from "./shiftwork";

const NUMBERS: i64 = 1_000;
const WORKERS = 3;

// Sends all numbers, and closes the channel: that is how those behind it learn of the end.
function source(out: i64): i64 {
  const numbers = new Channel<i64>(out);
  for (let number: i64 = 1; number <= NUMBERS; number++) check(numbers.send(number));
  check(numbers.close());
  return NUMBERS;
}

// Squares what it gets. The three of them share the channel, and each number goes to one.
function worker(length: i64): i64 {
  const ends = input(length);
  const numbers = new Channel<i64>(ends[0]);
  const squares = new Channel<i64>(ends[1]);
  let done: i64 = 0;
  let code = numbers.receive();
  while (code == Code.OK) {
    check(squares.send(numbers.value * numbers.value));
    done++;
    code = numbers.receive();
  }
  assert(code == Code.CLOSED, "the numbers have ended too early");
  return done;
}

function sink(from: i64): i64 {
  const squares = new Channel<i64>(from);
  let sum: i64 = 0;
  let code = squares.receive();
  while (code == Code.OK) {
    sum += squares.value;
    code = squares.receive();
  }
  assert(code == Code.CLOSED, "the squares have ended too early");
  return sum;
}

export function main(): i64 {
  const numbers = Channel.open<i64>(16);
  const squares = Channel.open<i64>(0);
  const first = checkId(spawn(source, numbers.id));
  const workers = new StaticArray<i64>(WORKERS);
  for (let i = 0; i < WORKERS; i++) {
    workers[i] = checkId(spawnWith(worker, [numbers.id, squares.id]));
  }
  const last = checkId(spawn(sink, squares.id));

  let done: i64 = 0;
  for (let i = 0; i < WORKERS; i++) done += join(workers[i]);
  // Nobody sends any more, so the sink may stop once it has what is left.
  check(squares.close());
  assert(done == join(first), "a number was lost");
  return join(last);
}
