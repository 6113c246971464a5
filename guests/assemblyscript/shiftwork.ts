// shiftwork.ts: what an AssemblyScript program may ask of the host. Version 1 of docs/abi.md.
//
// `host` has every function as it is; below it are the same with types, for programs that send each
// other numbers. README.md has the flags to compile with.
//
// Every task has a memory of its own: what one task writes, no other sees, globals included. Tasks
// give each other numbers and bytes: arguments, results, messages, and the cells of mutexes.

/** The functions of the host, as they are. Pointers are `usize`, lengths are in bytes. */
export namespace host {
  // @ts-ignore: decorator
  @external("shiftwork", "abi_version")
  export declare function abi_version(): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "spawn")
  export declare function spawn(func: u32, arg: i64): i64;
  // @ts-ignore: decorator
  @external("shiftwork", "spawn_with")
  export declare function spawn_with(func: u32, bytes: usize, length: i32): i64;
  // @ts-ignore: decorator
  @external("shiftwork", "input")
  export declare function input(buffer: usize, capacity: i32): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "await")
  export declare function await_(task: i64, result: usize): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "yield_now")
  export declare function yield_now(): void;
  // @ts-ignore: decorator
  @external("shiftwork", "self")
  export declare function self(): i64;
  // @ts-ignore: decorator
  @external("shiftwork", "sleep")
  export declare function sleep(nanoseconds: i64): void;
  // @ts-ignore: decorator
  @external("shiftwork", "chan_open")
  export declare function chan_open(capacity: i32): i64;
  // @ts-ignore: decorator
  @external("shiftwork", "chan_send")
  export declare function chan_send(channel: i64, bytes: usize, length: i32): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "chan_recv")
  export declare function chan_recv(channel: i64, buffer: usize, capacity: i32, length: usize): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "chan_close")
  export declare function chan_close(channel: i64): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "select")
  export declare function select(channels: usize, count: i32, timeout: i64): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "mutex_open")
  export declare function mutex_open(bytes: usize, length: i32): i64;
  // @ts-ignore: decorator
  @external("shiftwork", "lock")
  export declare function lock(mutex: i64, buffer: usize, capacity: i32, length: usize): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "unlock")
  export declare function unlock(mutex: i64, bytes: usize, length: i32): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "mutex_close")
  export declare function mutex_close(mutex: i64): i32;
  // @ts-ignore: decorator
  @external("shiftwork", "log")
  export declare function log(level: i32, text: usize, length: i32): void;
  // @ts-ignore: decorator
  @external("shiftwork", "now")
  export declare function now(): i64;
  // @ts-ignore: decorator
  @external("shiftwork", "random")
  export declare function random(buffer: usize, length: i32): void;
}

/** What a call answers. Where a call returns an id, an index or a length, a code comes negative. */
export namespace Code {
  export const OK: i32 = 0;
  /** The channel is closed (and, for a receiver, empty), or the mutex is. */
  export const CLOSED: i32 = 1;
  /** The time is over. */
  export const TIMED_OUT: i32 = 2;
  /** The task that was awaited has failed. */
  export const FAILED: i32 = 3;
  /** This task is asked to end. */
  export const CANCELLED: i32 = 4;
  /** It does not fit the buffer; nothing was taken. */
  export const TOO_SMALL: i32 = 5;
  /** There is no such task, channel or mutex. */
  export const NO_SUCH: i32 = 6;
  /** A limit of the program does not allow it. */
  export const LIMIT: i32 = 7;
  /** The mutex's owner ended without unlocking it. */
  export const POISONED: i32 = 8;
  /** An argument makes no sense. */
  export const BAD_ARGUMENT: i32 = 9;
}

export namespace Level {
  export const ERROR: i32 = 0;
  export const WARN: i32 = 1;
  export const INFO: i32 = 2;
  export const DEBUG: i32 = 3;
  export const TRACE: i32 = 4;
}

// A task makes one call at a time and its memory is its own, so a few fixed places
// for what comes back will do.
const NUMBER: usize = memory.data(8, 8);
const RESULT: usize = memory.data(8, 8);
const LENGTH: usize = memory.data(4, 4);

/** Ends this task as failed unless the code is OK. */
export function check(code: i32): void {
  if (code != Code.OK) unreachable();
}

/** The id as it is. Ends this task as failed if it is a negative code instead. */
export function checkId(id: i64): i64 {
  if (id < 0) unreachable();
  return id;
}

/** Starts a task that calls `func(arg)`. Its id, or a negative code. */
export function spawn(func: (arg: i64) => i64, arg: i64): i64 {
  return host.spawn(func.index, arg);
}

/**
 * Starts a task that is given some numbers, which it reads with `input`. Its id, or a negative
 * code. `func` gets their length in bytes.
 */
export function spawnWith(func: (length: i64) => i64, numbers: StaticArray<i64>): i64 {
  return host.spawn_with(func.index, changetype<usize>(numbers), numbers.length << 3);
}

/** The numbers that this task was given by `spawnWith`. */
export function input(length: i64): StaticArray<i64> {
  const numbers = new StaticArray<i64>(<i32>(length >> 3));
  if (host.input(changetype<usize>(numbers), <i32>length) != <i32>length) unreachable();
  return numbers;
}

/** Waits for a task, and gives its result. Ends this task as failed if that one has failed. */
export function join(task: i64): i64 {
  check(wait(task));
  return result();
}

/** Waits for a task. OK, and then `result()` has its result; or why there is none. */
export function wait(task: i64): i32 {
  return host.await_(task, RESULT);
}

/** The result of the task that was waited for last. */
export function result(): i64 {
  return load<i64>(RESULT);
}

/** A channel of numbers: `T` is i32, i64, f64 or the like. */
export class Channel<T> {
  /** What was received last. */
  value: T = <T>0;

  /** The channel with this id, which may have come from another task. */
  constructor(public id: i64) {}

  /** A new channel. With capacity 0 a sender waits until a receiver has its message. */
  static open<T>(capacity: i32): Channel<T> {
    return new Channel<T>(checkId(host.chan_open(capacity)));
  }

  /** Waits for room, and sends. */
  send(value: T): i32 {
    store<T>(NUMBER, value);
    return host.chan_send(this.id, NUMBER, sizeof<T>());
  }

  /** Waits for a number, and puts it into `value`. One of another size counts as BAD_ARGUMENT. */
  receive(): i32 {
    const code = host.chan_recv(this.id, NUMBER, sizeof<T>(), LENGTH);
    if (code != Code.OK) return code;
    if (load<i32>(LENGTH) != sizeof<T>()) return Code.BAD_ARGUMENT;
    this.value = load<T>(NUMBER);
    return Code.OK;
  }

  /** No more is sent. What is in the channel is still received. */
  close(): i32 {
    return host.chan_close(this.id);
  }
}

/**
 * The index of a channel from which there is something to receive (or which is closed), or a
 * negative code. A timeout below 0 is for ever, 0 only looks.
 */
export function select(channels: StaticArray<i64>, timeout: i64 = -1): i32 {
  return host.select(changetype<usize>(channels), channels.length, timeout);
}

/** A mutex that guards a number, which comes with the lock and goes back with the unlock. */
export class Mutex<T> {
  /** The number that is guarded: read and write it between `lock` and `unlock`. */
  value: T = <T>0;

  /** The mutex with this id, which may have come from another task. */
  constructor(public id: i64) {}

  /** A new mutex, which guards this number. */
  static open<T>(value: T): Mutex<T> {
    store<T>(NUMBER, value);
    return new Mutex<T>(checkId(host.mutex_open(NUMBER, sizeof<T>())));
  }

  /** Waits until the mutex is ours. */
  lock(): i32 {
    const code = host.lock(this.id, NUMBER, sizeof<T>(), LENGTH);
    if (code == Code.OK) this.value = load<T>(NUMBER);
    return code;
  }

  /** Gives the mutex, and `value` with it, to whoever waits longest. */
  unlock(): i32 {
    store<T>(NUMBER, this.value);
    return host.unlock(this.id, NUMBER, sizeof<T>());
  }

  /** The mutex is gone, whoever holds it: those who wait for it, and all who come later, get CLOSED. */
  close(): i32 {
    return host.mutex_close(this.id);
  }
}

/** Lets others run first. */
export function yieldNow(): void {
  host.yield_now();
}

/** This task's id. */
export function self(): i64 {
  return host.self();
}

/** Waits for so many nanoseconds. */
export function sleep(nanoseconds: i64): void {
  host.sleep(nanoseconds);
}

/** Nanoseconds, from a start that the host chooses. */
export function now(): i64 {
  return host.now();
}

/** A random number. */
export function random(): u64 {
  host.random(NUMBER, 8);
  return load<u64>(NUMBER);
}

/** Writes a line to the log. */
export function log(text: string, level: i32 = Level.INFO): void {
  const bytes = String.UTF8.encode(text);
  host.log(level, changetype<usize>(bytes), bytes.byteLength);
}

/**
 * What `--use abort=` names: a failed assertion is logged, and ends this task as failed. It makes
 * no string and allocates nothing: every program has it, and there may be no memory left.
 */
export function aborted(message: string | null, file: string | null, line: u32, column: u32): void {
  let end = put(LINE, message === null ? "aborted" : message, 160);
  end = put(end, " in ", 12);
  end = put(end, file === null ? "?" : file, 64);
  end = put(end, ":", 3);
  end = putNumber(end, line);
  host.log(Level.ERROR, LINE, <i32>(end - LINE));
  unreachable();
}

/** The line, with room for its four parts and a number of ten digits. */
const LINE: usize = memory.data(160 + 12 + 64 + 3 + 10);

/** Writes as much of a text as fits so many bytes, and tells where it ends. */
function put(at: usize, text: string, bytes: i32): usize {
  // A code unit of UTF-16 takes three bytes of UTF-8 at most.
  const units = min(text.length, bytes / 3);
  return at + String.UTF8.encodeUnsafe(changetype<usize>(text), units, at);
}

function putNumber(at: usize, number: u32): usize {
  if (number >= 10) at = putNumber(at, number / 10);
  store<u8>(at, 0x30 + <u8>(number % 10));
  return at + 1;
}
