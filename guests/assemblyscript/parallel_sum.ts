// Adds the primes below 20,000, in eight tasks at once.

import { checkId, join, spawn } from "./shiftwork";

const TASKS = 8;
const BELOW: i64 = 20_000;

function isPrime(number: i64): bool {
  for (let divisor: i64 = 2; divisor * divisor <= number; divisor++) {
    if (number % divisor == 0) return false;
  }
  return number >= 2;
}

// Every eighth number is this task's.
function sumOfPart(part: i64): i64 {
  let sum: i64 = 0;
  for (let number = part; number < BELOW; number += TASKS) {
    if (isPrime(number)) sum += number;
  }
  return sum;
}

export function main(): i64 {
  const tasks = new StaticArray<i64>(TASKS);
  for (let part = 0; part < TASKS; part++) tasks[part] = checkId(spawn(sumOfPart, part));
  let sum: i64 = 0;
  for (let part = 0; part < TASKS; part++) sum += join(tasks[part]);
  return sum;
}
