// Squares numbers on their way through channels: one source, three workers, one sink.
//
//   source --numbers--> worker, worker, worker --squares--> sink

#include "shiftwork.h"

enum { NUMBERS = 1000, WORKERS = 3 };

// What each stage is told: bytes, since it is more than one number.
struct ends {
    sw_chan in, out;
};

static struct ends read_ends(void) {
    struct ends ends;
    if (sw_input(&ends, sizeof ends) != sizeof ends) __builtin_trap();
    return ends;
}

// Sends all numbers, and closes the channel: that is how those behind it learn of the end.
static int64_t source(int64_t length) {
    (void)length;
    struct ends ends = read_ends();
    for (int64_t number = 1; number <= NUMBERS; number++) sw_check(sw_send_i64(ends.out, number));
    sw_check(sw_chan_close(ends.out));
    return NUMBERS;
}

// Squares what it gets. The three of them share the channel, and each number goes to one.
static int64_t worker(int64_t length) {
    (void)length;
    struct ends ends = read_ends();
    int64_t number, done = 0;
    int32_t code;
    while ((code = sw_recv_i64(ends.in, &number)) == SW_OK) {
        sw_check(sw_send_i64(ends.out, number * number));
        done++;
    }
    if (code != SW_CLOSED) __builtin_trap();
    return done;
}

static int64_t sink(int64_t length) {
    (void)length;
    struct ends ends = read_ends();
    int64_t square, sum = 0;
    int32_t code;
    while ((code = sw_recv_i64(ends.in, &square)) == SW_OK) sum += square;
    if (code != SW_CLOSED) __builtin_trap();
    return sum;
}

static sw_task start(sw_function stage, sw_chan in, sw_chan out) {
    struct ends ends = {in, out};
    return sw_id(sw_spawn_with(stage, &ends, sizeof ends));
}

SW_EXPORT(main) int64_t run(void) {
    sw_chan numbers = sw_id(sw_chan_open(16));
    sw_chan squares = sw_id(sw_chan_open(0));
    sw_task first = start(source, 0, numbers);
    sw_task workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) workers[i] = start(worker, numbers, squares);
    sw_task last = start(sink, squares, 0);

    int64_t done = 0;
    for (int i = 0; i < WORKERS; i++) done += sw_join(workers[i]);
    // Nobody sends any more, so the sink may stop once it has what is left.
    sw_check(sw_chan_close(squares));
    if (done != sw_join(first)) __builtin_trap();
    return sw_join(last);
}
