;; One task spawns others, each of which opens a channel, says so, and waits at it. They have no
;; memory and so no room for a message: they wait to hand over an empty one.
(module
  (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
  (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
  (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
  (import "shiftwork" "log" (func $log (param i32 i32 i32)))
  (table (export "table") funcref (elem $waits))

  (func $waits (export "waits") (param i64)
    (local $channel i64)
    (local.set $channel (call $open (i32.const 0)))
    (if (i64.lt_s (local.get $channel) (i64.const 0)) (then (unreachable)))
    (call $log (i32.const 2) (i32.const 0) (i32.const 0))
    (drop (call $send (local.get $channel) (i32.const 0) (i32.const 0))))

  (func (export "main") (param $count i64)
    (loop $more
      (if (i64.lt_s (call $spawn (i32.const 0) (local.get $count)) (i64.const 0))
        (then (unreachable)))
      (local.set $count (i64.sub (local.get $count) (i64.const 1)))
      (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))))
