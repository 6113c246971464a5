;; What a processor does alone: calls, memory, and both. The same as the module `native`.
(module
  (memory (export "memory") 16)

  (func $fib (export "fib") (param $n i64) (result i64)
    (if (result i64) (i64.lt_u (local.get $n) (i64.const 2))
      (then (local.get $n))
      (else
        (i64.add
          (call $fib (i64.sub (local.get $n) (i64.const 1)))
          (call $fib (i64.sub (local.get $n) (i64.const 2)))))))

  ;; Reads and writes words all over a mebibyte, in an order that no prefetcher knows.
  (func (export "walk") (param $steps i64) (result i64)
    (local $place i32) (local $sum i64)
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 1048576))
    (loop $more
      (local.set $place
        (i32.add (i32.mul (local.get $place) (i32.const 1664525)) (i32.const 1013904223)))
      (local.set $sum
        (i64.add (local.get $sum)
          (i64.load (i32.and (local.get $place) (i32.const 1048568)))))
      (i64.store (i32.and (local.get $place) (i32.const 1048568))
        (i64.add (local.get $sum) (local.get $steps)))
      (local.set $steps (i64.sub (local.get $steps) (i64.const 1)))
      (br_if $more (i64.ne (local.get $steps) (i64.const 0))))
    (local.get $sum))

  ;; How many primes there are below the limit: a byte for each number.
  (func (export "sieve") (param $limit i64) (result i64)
    (local $end i32) (local $prime i32) (local $multiple i32) (local $count i64)
    (local.set $end (i32.wrap_i64 (local.get $limit)))
    (memory.fill (i32.const 0) (i32.const 0) (local.get $end))
    (local.set $prime (i32.const 2))
    (loop $more
      (if (i32.eqz (i32.load8_u (local.get $prime)))
        (then
          (local.set $count (i64.add (local.get $count) (i64.const 1)))
          (local.set $multiple (i32.shl (local.get $prime) (i32.const 1)))
          (block $done
            (loop $strike
              (br_if $done (i32.ge_u (local.get $multiple) (local.get $end)))
              (i32.store8 (local.get $multiple) (i32.const 1))
              (local.set $multiple (i32.add (local.get $multiple) (local.get $prime)))
              (br $strike)))))
      (local.set $prime (i32.add (local.get $prime) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $prime) (local.get $end))))
    (local.get $count)))
