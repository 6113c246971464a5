;; A task with ten children, and so on down to the leaves. A leaf returns its number, a parent
;; awaits its children and returns their sum.
(module
  (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
  (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
  ;; 0: the children. 128: what a child returned.
  (memory (export "memory") 1)
  (table (export "table") funcref (elem $node))

  ;; The first leaf below it in the high half, and their number in the low one.
  (func $node (export "main") (param $leaves i64) (result i64)
    (local $first i64) (local $share i64) (local $at i32) (local $sum i64)
    (local.set $first (i64.shr_u (local.get $leaves) (i64.const 32)))
    (local.set $leaves (i64.and (local.get $leaves) (i64.const 0xffffffff)))
    (if (i64.eq (local.get $leaves) (i64.const 1)) (then (return (local.get $first))))
    (local.set $share (i64.div_u (local.get $leaves) (i64.const 10)))
    (loop $more
      (i64.store (local.get $at)
        (call $spawn (i32.const 0)
          (i64.or (i64.shl (local.get $first) (i64.const 32)) (local.get $share))))
      (if (i64.lt_s (i64.load (local.get $at)) (i64.const 0)) (then (unreachable)))
      (local.set $first (i64.add (local.get $first) (local.get $share)))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $more (i32.lt_u (local.get $at) (i32.const 80))))
    (loop $more
      (local.set $at (i32.sub (local.get $at) (i32.const 8)))
      (if (call $await (i64.load (local.get $at)) (i32.const 128)) (then (unreachable)))
      (local.set $sum (i64.add (local.get $sum) (i64.load (i32.const 128))))
      (br_if $more (local.get $at)))
    (local.get $sum)))
