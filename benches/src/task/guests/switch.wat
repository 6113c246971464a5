;; A member of a ring alone, for an engine without a scheduler: it waits, then sends, for ever.
(module
  (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
  (import "shiftwork" "chan_recv" (func $receive (param i64 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)

  (func (export "main") (param $channel i64)
    (loop $more
      (if (call $receive (local.get $channel) (i32.const 24) (i32.const 8) (i32.const 32))
        (then (return)))
      (i64.store (i32.const 24) (i64.sub (i64.load (i32.const 24)) (i64.const 1)))
      (if (call $send (local.get $channel) (i32.const 24) (i32.const 8)) (then (return)))
      (br $more))))
