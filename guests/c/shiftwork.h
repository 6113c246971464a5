// shiftwork.h: what a C program may ask of the host. Version 1 of docs/abi.md, one function each.
//
// Compile for wasm32 without a C library, and export the table, in which the host looks up the
// functions that are spawned (README.md has the whole command).
//
// Every task has a memory of its own: what one task writes, no other sees, globals included. Tasks
// give each other numbers and bytes: arguments, results, messages, and the cells of mutexes.

#ifndef SHIFTWORK_H
#define SHIFTWORK_H

#include <stdint.h>

#define SW_ABI_VERSION 1

// Exports a function under a name, so that it can be started from outside:
//   SW_EXPORT(main) int64_t run(void) { ... }
#define SW_EXPORT(name) __attribute__((export_name(#name)))

#define SW_IMPORT(name) __attribute__((import_module("shiftwork"), import_name(#name))) extern

// What a call answers. Where a call returns an id, an index or a length, a code comes negative.
enum sw_code {
    SW_OK = 0,
    SW_CLOSED = 1,       // the channel is closed (and, for a receiver, empty), or the mutex is
    SW_TIMED_OUT = 2,    // the time is over
    SW_FAILED = 3,       // the task that was awaited has failed
    SW_CANCELLED = 4,    // this task is asked to end
    SW_TOO_SMALL = 5,    // it does not fit the buffer; nothing was taken
    SW_NO_SUCH = 6,      // there is no such task, channel or mutex
    SW_LIMIT = 7,        // a limit of the program does not allow it
    SW_POISONED = 8,     // the mutex's owner ended without unlocking it
    SW_BAD_ARGUMENT = 9, // an argument makes no sense
};

enum sw_level { SW_ERROR = 0, SW_WARN = 1, SW_INFO = 2, SW_DEBUG = 3, SW_TRACE = 4 };

typedef int64_t sw_task;
typedef int64_t sw_chan;
typedef int64_t sw_mutex;

// A function that can be spawned. On wasm32 a pointer to a function is its place in the table.
typedef int64_t (*sw_function)(int64_t argument);

SW_IMPORT(abi_version) int32_t sw_abi_version(void);

// Tasks. `spawn` gives the new task's id, or a negative code. With `spawn_with` the new task gets a
// copy of some bytes: its argument is their length, and `input` copies them to where it wants them.
// `input` returns the length, or a negative code.
SW_IMPORT(spawn) sw_task sw_spawn(sw_function function, int64_t argument);
SW_IMPORT(spawn_with) sw_task sw_spawn_with(sw_function function, const void *bytes, int32_t length);
SW_IMPORT(input) int32_t sw_input(void *buffer, int32_t capacity);
SW_IMPORT(await) int32_t sw_await(sw_task task, int64_t *result);
SW_IMPORT(self) sw_task sw_self(void);
SW_IMPORT(yield_now) void sw_yield_now(void);
SW_IMPORT(sleep) void sw_sleep(int64_t nanoseconds);

// Channels. With capacity 0 a sender waits until a receiver has its message. `select` gives the
// index of a channel from which there is something to receive, or a negative code; a timeout below
// 0 is for ever, 0 only looks.
SW_IMPORT(chan_open) sw_chan sw_chan_open(int32_t capacity);
SW_IMPORT(chan_send) int32_t sw_chan_send(sw_chan channel, const void *bytes, int32_t length);
SW_IMPORT(chan_recv)
int32_t sw_chan_recv(sw_chan channel, void *buffer, int32_t capacity, int32_t *length);
SW_IMPORT(chan_close) int32_t sw_chan_close(sw_chan channel);
SW_IMPORT(select)
int32_t sw_select(const sw_chan *channels, int32_t count, int64_t timeout_nanoseconds);

// Mutexes. Each guards a cell of bytes, which come with the lock and go back with the unlock. One that
// is closed is gone, whoever holds it; whoever waits for it gets SW_CLOSED.
SW_IMPORT(mutex_open) sw_mutex sw_mutex_open(const void *bytes, int32_t length);
SW_IMPORT(lock) int32_t sw_lock(sw_mutex mutex, void *buffer, int32_t capacity, int32_t *length);
SW_IMPORT(unlock) int32_t sw_unlock(sw_mutex mutex, const void *bytes, int32_t length);
SW_IMPORT(mutex_close) int32_t sw_mutex_close(sw_mutex mutex);

// The world outside, as far as there is one.
SW_IMPORT(log) void sw_log(int32_t level, const char *text, int32_t length);
SW_IMPORT(now) int64_t sw_now(void); // nanoseconds, from a start that the host chooses
SW_IMPORT(random) void sw_random(void *buffer, int32_t length);

// Below: the same for numbers, and for those who would rather end than handle a code.

// Ends this task as failed unless the code is SW_OK.
static inline void sw_check(int32_t code) {
    if (code != SW_OK) __builtin_trap();
}

// Ends this task as failed if what should be an id is a negative code.
static inline int64_t sw_id(int64_t id) {
    if (id < 0) __builtin_trap();
    return id;
}

// The result of a task. Ends this task as failed if that one has failed.
static inline int64_t sw_join(sw_task task) {
    int64_t result = 0;
    sw_check(sw_await(task, &result));
    return result;
}

static inline int32_t sw_send_i64(sw_chan channel, int64_t number) {
    return sw_chan_send(channel, &number, sizeof number);
}

// A message of another length is no number: it counts as SW_BAD_ARGUMENT, and is gone.
static inline int32_t sw_recv_i64(sw_chan channel, int64_t *number) {
    int32_t length = 0;
    int32_t code = sw_chan_recv(channel, number, sizeof *number, &length);
    return code == SW_OK && length != sizeof *number ? SW_BAD_ARGUMENT : code;
}

#endif
