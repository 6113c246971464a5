;; A ring of tasks with a channel each. One that gets a number above 0 sends one less to the next.
(module
  (import "shiftwork" "spawn_with" (func $spawn_with (param i32 i32 i32) (result i64)))
  (import "shiftwork" "input" (func $input (param i32 i32) (result i32)))
  (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
  (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
  (import "shiftwork" "chan_recv" (func $receive (param i64 i32 i32 i32) (result i32)))
  (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
  (import "shiftwork" "now" (func $now (result i64)))
  ;; 0: what a member is told: where it receives, where it sends, where it says that all is done.
  ;; 24: a message, and 32 its length. From 64 on, the channels of the ring.
  (memory (export "memory") 1)
  (table (export "table") funcref (elem $member))

  (func $must (param $code i32)
    (if (local.get $code) (then (unreachable))))

  (func $member (param $length i64)
    (local $from i64) (local $to i64) (local $done i64) (local $left i64)
    (drop (call $input (i32.const 0) (i32.const 24)))
    (local.set $from (i64.load (i32.const 0)))
    (local.set $to (i64.load (i32.const 8)))
    (local.set $done (i64.load (i32.const 16)))
    (loop $more
      ;; The channel is closed when the ring is not needed any more.
      (if (call $receive (local.get $from) (i32.const 24) (i32.const 8) (i32.const 32))
        (then (return)))
      (local.set $left (i64.load (i32.const 24)))
      (if (i64.eqz (local.get $left))
        (then (call $must (call $send (local.get $done) (i32.const 24) (i32.const 8))))
        (else
          (i64.store (i32.const 24) (i64.sub (local.get $left) (i64.const 1)))
          (call $must (call $send (local.get $to) (i32.const 24) (i32.const 8)))))
      (br $more)))

  (func $channel (param $at i32) (result i32)
    (i32.add (i32.const 64) (i32.shl (local.get $at) (i32.const 3))))

  ;; Nanoseconds from the first message to the last. The ring stands before, and ends after.
  (func (export "main") (param $members i32) (param $hops i64) (result i64)
    (local $at i32) (local $next i32) (local $done i64) (local $begun i64)
    (local.set $done (call $open (i32.const 1)))
    (loop $more
      (i64.store (call $channel (local.get $at)) (call $open (i32.const 1)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $at) (local.get $members))))
    (i64.store (i32.const 16) (local.get $done))
    (local.set $at (i32.const 0))
    (loop $more
      (local.set $next (i32.add (local.get $at) (i32.const 1)))
      (i64.store (i32.const 0) (i64.load (call $channel (local.get $at))))
      (i64.store (i32.const 8)
        (i64.load (call $channel (i32.rem_u (local.get $next) (local.get $members)))))
      (if (i64.lt_s (call $spawn_with (i32.const 0) (i32.const 0) (i32.const 24)) (i64.const 0))
        (then (unreachable)))
      (local.set $at (local.get $next))
      (br_if $more (i32.lt_u (local.get $at) (local.get $members))))

    (local.set $begun (call $now))
    (i64.store (i32.const 24) (local.get $hops))
    (call $must (call $send (i64.load (i32.const 64)) (i32.const 24) (i32.const 8)))
    (call $must (call $receive (local.get $done) (i32.const 24) (i32.const 8) (i32.const 32)))
    (local.set $begun (i64.sub (call $now) (local.get $begun)))

    (local.set $at (i32.const 0))
    (loop $more
      (call $must (call $close (i64.load (call $channel (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $at) (local.get $members))))
    (local.get $begun)))
