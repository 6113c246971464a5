;; Tasks that are ticked each millisecond, and tasks that never block.
(module
  (import "shiftwork" "now" (func $now (result i64)))
  (import "shiftwork" "sleep" (func $sleep (param i64)))
  (import "shiftwork" "log" (func $log (param i32 i32 i32)))

  ;; The next tick is due a millisecond after the last one was due. The log sees each.
  (func (export "ticked") (param $due i64) (param $ticks i64)
    (local $left i64)
    (loop $more
      (local.set $left (i64.sub (local.get $due) (call $now)))
      (if (i64.gt_s (local.get $left) (i64.const 0)) (then (call $sleep (local.get $left))))
      (call $log (i32.const 2) (i32.const 0) (i32.const 0))
      (local.set $due (i64.add (local.get $due) (i64.const 1000000)))
      (local.set $ticks (i64.sub (local.get $ticks) (i64.const 1)))
      (br_if $more (i64.gt_s (local.get $ticks) (i64.const 0)))))

  (func (export "hog")
    (local $sum i64)
    (loop $more
      (local.set $sum (i64.add (local.get $sum) (i64.const 1)))
      (br $more))))
