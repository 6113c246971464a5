// Five philosophers at a round table, five forks between them, two forks to a meal.
//
// Each takes the fork with the lower number first. If all took their left one first, each could
// hold one and wait for the other for ever, which the host would find and report as a deadlock.

#include "shiftwork.h"

enum { SEATS = 5, MEALS = 100 };

// What a philosopher is told.
struct seat {
    sw_mutex first_fork, second_fork;
};

// The cell of a fork counts how often it was used.
static int64_t take(sw_mutex fork) {
    int64_t uses = 0;
    int32_t length = 0;
    sw_check(sw_lock(fork, &uses, sizeof uses, &length));
    return uses;
}

static void put_back(sw_mutex fork, int64_t uses) {
    sw_check(sw_unlock(fork, &uses, sizeof uses));
}

static int64_t philosopher(int64_t length) {
    struct seat seat;
    if (length != sizeof seat || sw_input(&seat, sizeof seat) != sizeof seat) __builtin_trap();
    int64_t meals = 0;
    while (meals < MEALS) {
        int64_t first_uses = take(seat.first_fork);
        sw_yield_now(); // time enough for a neighbour to want the other one
        int64_t second_uses = take(seat.second_fork);
        meals++;
        put_back(seat.second_fork, second_uses + 1);
        put_back(seat.first_fork, first_uses + 1);
    }
    return meals;
}

// Returns meals * 1,000,000 + uses of forks, which must be twice the meals.
SW_EXPORT(main) int64_t run(void) {
    sw_mutex forks[SEATS];
    int64_t unused = 0;
    for (int i = 0; i < SEATS; i++) forks[i] = sw_id(sw_mutex_open(&unused, sizeof unused));

    sw_task tasks[SEATS];
    for (int i = 0; i < SEATS; i++) {
        int left = i, right = (i + 1) % SEATS;
        int low = left < right ? left : right, high = left < right ? right : left;
        struct seat seat = {forks[low], forks[high]};
        tasks[i] = sw_id(sw_spawn_with(philosopher, &seat, sizeof seat));
    }

    int64_t meals = 0, uses = 0;
    for (int i = 0; i < SEATS; i++) meals += sw_join(tasks[i]);
    for (int i = 0; i < SEATS; i++) uses += take(forks[i]);
    for (int i = 0; i < SEATS; i++) put_back(forks[i], 0);
    return meals * 1000000 + uses;
}
