;; As live.wat, with an ordinary memory of one page, of which each task touches little: some data
;; of the module's, a word of its own, and the buffer for the message that it waits for.
(module
  (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
  (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
  (import "shiftwork" "chan_recv" (func $receive (param i64 i32 i32 i32) (result i32)))
  (import "shiftwork" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 1024) "what the compiler put here")
  (table (export "table") funcref (elem $waits))

  (func $waits (export "waits") (param $number i64)
    (local $channel i64)
    (i64.store (i32.const 2048) (local.get $number))
    (local.set $channel (call $open (i32.const 1)))
    (if (i64.lt_s (local.get $channel) (i64.const 0)) (then (unreachable)))
    (call $log (i32.const 2) (i32.const 0) (i32.const 0))
    (drop (call $receive
      (local.get $channel) (i32.const 2056) (i32.const 8) (i32.const 2064))))

  (func (export "main") (param $count i64)
    (loop $more
      (if (i64.lt_s (call $spawn (i32.const 0) (local.get $count)) (i64.const 0))
        (then (unreachable)))
      (local.set $count (i64.sub (local.get $count) (i64.const 1)))
      (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))))
