;; One task spawns others, which end at once.
(module
  (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
  (table (export "table") funcref (elem $trivial))
  (func $trivial (export "trivial") (param $number i64) (result i64) (local.get $number))

  (func (export "main") (param $count i64)
    (loop $more
      (if (i64.lt_s (call $spawn (i32.const 0) (local.get $count)) (i64.const 0))
        (then (unreachable)))
      (local.set $count (i64.sub (local.get $count) (i64.const 1)))
      (br_if $more (i64.gt_s (local.get $count) (i64.const 0))))))
