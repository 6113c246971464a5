//! Adds the primes below 20,000, in eight tasks at once.

use shiftwork_guest::Task;

const TASKS: i64 = 8;
const BELOW: i64 = 20_000;

fn is_prime(number: i64) -> bool {
    number >= 2 && (2..).take_while(|divisor| divisor * divisor <= number).all(|d| number % d != 0)
}

/// Every eighth number is this task's.
extern "C" fn sum_of_part(part: i64) -> i64 {
    (part..BELOW).step_by(TASKS as usize).filter(|number| is_prime(*number)).sum()
}

// A test program has a `main` of its own.
#[cfg_attr(not(test), unsafe(export_name = "main"))]
#[cfg_attr(test, allow(dead_code, reason = "only the host calls it"))]
extern "C" fn run() -> i64 {
    let tasks: Vec<Task> =
        (0..TASKS).map(|part| Task::spawn(sum_of_part, part).expect("a task")).collect();
    tasks.into_iter().map(|task| task.join().expect("its sum")).sum()
}
