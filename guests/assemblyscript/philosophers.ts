// Five philosophers at a round table, five forks between them, two forks to a meal.
//
// Each takes the fork with the lower number first. If all took their left one first, each could
// hold one and wait for the other for ever, which the host would find and report as a deadlock.

import { Mutex, check, checkId, input, join, spawnWith, yieldNow } from "./shiftwork";

const SEATS = 5;
const MEALS: i64 = 100;

function philosopher(length: i64): i64 {
  const seat = input(length);
  // The cell of a fork counts how often it was used.
  const first = new Mutex<i64>(seat[0]);
  const second = new Mutex<i64>(seat[1]);
  let meals: i64 = 0;
  while (meals < MEALS) {
    check(first.lock());
    yieldNow(); // time enough for a neighbour to want the other one
    check(second.lock());
    meals++;
    second.value++;
    check(second.unlock());
    first.value++;
    check(first.unlock());
  }
  return meals;
}

// Returns meals * 1,000,000 + uses of forks, which must be twice the meals.
export function main(): i64 {
  const forks = new StaticArray<Mutex<i64>>(SEATS);
  for (let i = 0; i < SEATS; i++) forks[i] = Mutex.open<i64>(0);

  const tasks = new StaticArray<i64>(SEATS);
  for (let i = 0; i < SEATS; i++) {
    const left = i, right = (i + 1) % SEATS;
    const low = forks[min(left, right)], high = forks[max(left, right)];
    tasks[i] = checkId(spawnWith(philosopher, [low.id, high.id]));
  }

  let meals: i64 = 0, uses: i64 = 0;
  for (let i = 0; i < SEATS; i++) meals += join(tasks[i]);
  for (let i = 0; i < SEATS; i++) {
    check(forks[i].lock());
    uses += forks[i].value;
    check(forks[i].unlock());
  }
  return meals * 1_000_000 + uses;
}
