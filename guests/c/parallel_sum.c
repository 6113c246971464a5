// Adds the primes below 20,000, in eight tasks at once.

#include "shiftwork.h"

enum { TASKS = 8, BELOW = 20000 };

static int is_prime(int64_t number) {
    for (int64_t divisor = 2; divisor * divisor <= number; divisor++) {
        if (number % divisor == 0) return 0;
    }
    return number >= 2;
}

// Every eighth number is this task's.
static int64_t sum_of_part(int64_t part) {
    int64_t sum = 0;
    for (int64_t number = part; number < BELOW; number += TASKS) {
        if (is_prime(number)) sum += number;
    }
    return sum;
}

SW_EXPORT(main) int64_t run(void) {
    sw_task tasks[TASKS];
    for (int part = 0; part < TASKS; part++) tasks[part] = sw_id(sw_spawn(sum_of_part, part));
    int64_t sum = 0;
    for (int part = 0; part < TASKS; part++) sum += sw_join(tasks[part]);
    return sum;
}
