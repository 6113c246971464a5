//! Two halves of a turn: who runs the second one, and what the first is told of it.

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use common::{DISCIPLINES, Gate, Log, placements, real, settle, until};
use kernel::{
    Discipline, JoinError, Placement, Runtime, Step, Turn, WorkerId, WorkerState, each_seed,
};

/// Two workers, and no quantum ends.
fn two() -> Runtime {
    real(Runtime::builder().workers(2).quantum(Duration::from_secs(3600)))
}

/// Runs `job` on a worker, and returns what it returns.
#[track_caller]
fn inside<R: Send + 'static>(
    runtime: &Runtime,
    job: impl FnOnce(&mut Turn<'_>) -> R + Send + 'static,
) -> R {
    runtime.compute(job).unwrap().join().unwrap()
}

/// A panic without the noise of a panic hook.
fn panics(text: &'static str) {
    resume_unwind(Box::new(text));
}

/// The text of the panic that a join ends with.
fn text_of<R>(join: impl FnOnce() -> R) -> &'static str {
    let payload = catch_unwind(AssertUnwindSafe(join)).err().expect("one half has panicked");
    payload.downcast_ref::<&'static str>().copied().expect("it is one of ours")
}

/// The sum of a range, split down to single numbers.
fn sum(turn: &mut Turn<'_>, from: u64, to: u64) -> u64 {
    if to - from == 1 {
        return from;
    }
    let middle = from + (to - from) / 2;
    let (left, right) = turn.join(|turn| sum(turn, from, middle), |turn| sum(turn, middle, to));
    left + right
}

#[test]
fn branch_that_nobody_takes_runs_after_the_other_half_in_the_same_turn() {
    for discipline in DISCIPLINES {
        let runtime = real(Runtime::builder().workers(1).discipline(discipline));
        let order = inside(&runtime, |turn| {
            let order = Log::new();
            let results = turn.join(
                |_| {
                    order.push("here");
                    1
                },
                |_| {
                    order.push("there");
                    "two"
                },
            );
            assert_eq!(results, (1, "two"));
            order.all()
        });
        assert_eq!(order, ["here", "there"]);
        assert_eq!(runtime.metrics().total().turns, 1);
    }
}

#[test]
fn branch_runs_on_an_idle_worker_while_the_turn_goes_on() {
    for placement in placements(2) {
        let builder = Runtime::builder().workers(2).placement(placement);
        let runtime = real(builder);
        for _ in 0..50 {
            let workers = inside(&runtime, |turn| {
                let begun = AtomicBool::new(false);
                turn.join(
                    |turn| {
                        until(|| begun.load(Relaxed));
                        turn.worker()
                    },
                    |turn| {
                        begun.store(true, Relaxed);
                        turn.worker()
                    },
                )
            });
            assert_ne!(workers.0, workers.1);
        }
    }
}

#[test]
fn both_halves_write_to_what_the_caller_has() {
    let runtime = real(Runtime::builder().workers(3));
    fn fill(turn: &mut Turn<'_>, numbers: &mut [usize], first: usize) {
        if let [number] = numbers {
            *number = first;
        } else {
            let half = numbers.len() / 2;
            let (left, right) = numbers.split_at_mut(half);
            turn.join(|turn| fill(turn, left, first), |turn| fill(turn, right, first + half));
        }
    }
    let numbers = inside(&runtime, |turn| {
        let mut numbers = vec![0; 10_000];
        fill(turn, &mut numbers, 0);
        numbers
    });
    assert!(numbers.into_iter().eq(0..10_000));
}

#[test]
fn joins_inside_of_joins_come_to_the_right_sum_under_every_discipline_and_placement() {
    for discipline in DISCIPLINES {
        for placement in placements(3) {
            let builder = Runtime::builder().workers(3).discipline(discipline);
            let runtime = real(builder.placement(placement).quantum(Duration::from_micros(50)));
            let mut sums: Vec<_> =
                (0..4).map(|_| runtime.compute(|turn| sum(turn, 0, 5_000)).unwrap()).collect();
            assert!(sums.iter_mut().all(|sum| sum.join() == Ok(5_000 * 4_999 / 2)));
            settle(&runtime);
            assert_eq!(runtime.metrics().queued, 0);
        }
    }
}

#[test]
fn where_the_order_is_a_promise_both_run_in_the_same_turn_though_another_is_idle() {
    for discipline in DISCIPLINES {
        if discipline == Discipline::Stealing {
            continue;
        }
        let runtime = real(Runtime::builder().workers(2).discipline(discipline));
        let workers =
            inside(&runtime, |turn| turn.join(|turn| turn.worker(), |turn| turn.worker()));
        assert_eq!(workers.0, workers.1, "{discipline:?}");
        assert_eq!(runtime.metrics().total().turns, 1);
    }
}

#[test]
fn branch_belongs_to_the_strand_also_on_another_worker() {
    let runtime = two();
    let (strand, mut join) = runtime
        .strand()
        .name("joiner")
        .start(|turn| {
            let begun = AtomicBool::new(false);
            let ids = turn.join(
                |turn| {
                    until(|| begun.load(Relaxed));
                    turn.strand().map(|strand| strand.id())
                },
                |turn| {
                    begun.store(true, Relaxed);
                    turn.strand().map(|strand| strand.id())
                },
            );
            Step::End(ids)
        })
        .unwrap();
    let id = Some(strand.id());
    assert_eq!(join.join(), Ok((id, id)));
}

/// Runs a join on two workers; the branch is run elsewhere if `stolen`, else in place.
fn panicking(stolen: bool, here: fn(), there: fn()) -> (&'static str, [bool; 2]) {
    let runtime = two();
    if !stolen {
        runtime.pause_worker(WorkerId::new(1)).unwrap();
        until(|| runtime.workers()[1] == WorkerState::Paused);
    }
    let outcome = inside(&runtime, move |turn| {
        let [begun, ended] = [const { AtomicBool::new(false) }; 2];
        let text = text_of(|| {
            turn.join(
                |_| {
                    until(|| !stolen || begun.load(Relaxed));
                    here();
                },
                |_| {
                    begun.store(true, Relaxed);
                    there();
                    ended.store(true, Relaxed);
                },
            )
        });
        (text, [begun, ended].map(|flag| flag.load(Relaxed)))
    });
    assert_eq!(runtime.metrics().total().panics, 0, "the caller has heard of it");
    outcome
}

#[test]
fn panic_of_the_turns_own_half_goes_on_after_the_branch_has_ended() {
    for stolen in [false, true] {
        let outcome = panicking(stolen, || panics("here"), || ());
        assert_eq!(outcome, ("here", [true, true]), "stolen: {stolen}");
    }
}

#[test]
fn panic_of_the_branch_goes_on_in_the_turn_that_joins() {
    for stolen in [false, true] {
        let outcome = panicking(stolen, || (), || panics("there"));
        assert_eq!(outcome, ("there", [true, false]), "stolen: {stolen}");
    }
}

#[test]
fn when_both_panic_that_of_the_turns_own_half_goes_on() {
    for stolen in [false, true] {
        let outcome = panicking(stolen, || panics("here"), || panics("there"));
        assert_eq!(outcome, ("here", [true, false]), "stolen: {stolen}");
    }
}

#[test]
fn panic_deep_in_the_tree_ends_the_job_and_nothing_else() {
    let runtime = real(Runtime::builder().workers(3));
    fn explode(turn: &mut Turn<'_>, depth: u32, leaves: &AtomicUsize) {
        if depth == 0 {
            if leaves.fetch_add(1, Relaxed) == 100 {
                panics("deep");
            }
        } else {
            turn.join(
                |turn| explode(turn, depth - 1, leaves),
                |turn| explode(turn, depth - 1, leaves),
            );
        }
    }
    for _ in 0..20 {
        let leaves = Arc::new(AtomicUsize::new(0));
        let theirs = leaves.clone();
        let outcome = runtime.compute(move |turn| explode(turn, 8, &theirs)).unwrap().join();
        assert!(matches!(outcome, Err(JoinError::Panicked(_))));
        assert_eq!(leaves.load(Relaxed), 256, "all others have run, before it was told");
        assert_eq!(inside(&runtime, |turn| sum(turn, 0, 100)), 4_950);
    }
}

/// The branch waits for a job that lies on the deque of the turn that waits for the branch.
#[test]
fn what_the_turn_has_submitted_runs_while_it_waits() {
    let runtime = two();
    inside(&runtime, |turn| {
        let (gate, begun) = (Gate::default(), AtomicBool::new(false));
        let key = gate.clone();
        turn.join(
            |turn| {
                until(|| begun.load(Relaxed));
                turn.submit(move |_| key.open());
            },
            |_| {
                begun.store(true, Relaxed);
                gate.pass();
            },
        );
    });
}

/// The branch waits for a job that it has itself submitted: nobody is free to run it but the
/// worker that waits for the branch, asleep by then.
#[test]
fn worker_that_sleeps_beside_its_branch_is_called_for_what_comes() {
    let runtime = two();
    for _ in 0..50 {
        let handle = runtime.handle();
        let parks = move |worker: WorkerId| handle.metrics().workers[worker.get()].parks;
        inside(&runtime, move |turn| {
            let (begun, joiner) = (AtomicBool::new(false), turn.worker());
            let before = parks(joiner);
            turn.join(
                |_| until(|| begun.load(Relaxed)),
                |turn| {
                    begun.store(true, Relaxed);
                    until(|| parks(joiner) > before);
                    let gate = Gate::default();
                    let key = gate.clone();
                    turn.submit(move |_| key.open());
                    gate.pass();
                },
            );
        });
    }
}

#[test]
fn turn_that_waits_for_its_branch_is_shown_as_running() {
    let runtime = two();
    let handle = runtime.handle();
    let (_, mut join) = runtime
        .strand()
        .name("joiner")
        .start(move |turn| {
            let (begun, joiner) = (AtomicBool::new(false), turn.worker().get());
            let parks = || handle.metrics().workers[joiner].parks;
            let before = parks();
            let states = turn.join(
                |turn| {
                    // A turn inside of this one leaves no trace.
                    turn.submit(|_| {});
                    until(|| begun.load(Relaxed));
                },
                |_| {
                    begun.store(true, Relaxed);
                    until(|| parks() > before);
                    handle.workers()[joiner].clone()
                },
            );
            Step::End(states.1)
        })
        .unwrap();
    assert_eq!(join.join(), Ok(WorkerState::Running("joiner".to_owned())));
}

/// Strands take their turns inside of a turn that waits, and none overlaps with its own.
#[test]
fn strands_that_join_and_wake_each_other_overlap_with_nobody() {
    let runtime = real(Runtime::builder().workers(3).quantum(Duration::from_micros(50)));
    let turns = Arc::new(AtomicUsize::new(0));
    let strands: Arc<Vec<_>> = Arc::new(
        (0..6)
            .map(|_| {
                let (turns, in_turn) = (turns.clone(), AtomicBool::new(false));
                let body = move |turn: &mut Turn<'_>| -> Step<()> {
                    assert!(!in_turn.swap(true, Relaxed), "two turns of one strand overlap");
                    assert_eq!(sum(turn, 0, 64), 64 * 63 / 2);
                    turns.fetch_add(1, Relaxed);
                    in_turn.store(false, Relaxed);
                    Step::Pause
                };
                runtime.strand().idle(body).unwrap()
            })
            .collect(),
    );
    for round in 0..500 {
        let theirs = strands.clone();
        let waker = move |turn: &mut Turn<'_>| {
            let strand = |at: usize| &theirs[at % theirs.len()].0;
            turn.join(|_| strand(round).wake().unwrap(), |_| strand(round + 1).wake().unwrap());
        };
        runtime.submit(waker).unwrap();
    }
    settle(&runtime);
    assert!(turns.load(Relaxed) > 0);
    assert_eq!(runtime.metrics().total().panics, 0);
}

#[test]
fn turn_that_joins_ends_before_its_worker_pauses() {
    let runtime = two();
    let (gate, begun) = (Gate::default(), Gate::default());
    let (theirs, key) = (gate.clone(), begun.clone());
    let mut join = runtime
        .compute(move |turn| {
            let stolen = AtomicBool::new(false);
            turn.join(
                |_| until(|| stolen.load(Relaxed)),
                |_| {
                    stolen.store(true, Relaxed);
                    key.open();
                    theirs.pass();
                },
            );
            // Nobody may take it any more, and so it is run here.
            turn.join(|turn| turn.worker(), |turn| turn.worker())
        })
        .unwrap();
    begun.pass();
    runtime.pause();
    gate.open();
    let workers = join.join().unwrap();
    assert_eq!(workers.0, workers.1);
    until(|| runtime.workers().iter().all(|state| *state == WorkerState::Paused));
}

#[test]
fn shutdown_waits_for_both_halves() {
    for _ in 0..20 {
        let runtime = real(Runtime::builder().workers(3));
        let mut joins: Vec<_> =
            (0..8).map(|_| runtime.compute(|turn| sum(turn, 0, 1_000)).unwrap()).collect();
        let shutdown = runtime.shutdown();
        assert!(joins.iter_mut().all(|join| join.join() == Ok(499_500)));
        assert_eq!(shutdown.dropped, 0);
    }
}

/// The runtime is dropped while the branch lies on the deque: it goes back to its turn.
#[test]
fn branch_whose_runtime_is_dropped_runs_in_its_own_turn() {
    let runtime = real(Runtime::builder().workers(1));
    let handle = runtime.handle();
    let (begun, gate, done) = (Gate::default(), Gate::default(), Gate::default());
    let (theirs, ours, end) = (begun.clone(), gate.clone(), done.clone());
    let results = Log::new();
    let log = results.clone();
    runtime
        .submit(move |turn| {
            let both = turn.join(
                |_| {
                    theirs.open();
                    ours.pass();
                    1
                },
                |_| 2,
            );
            // Nobody is left to take anything.
            log.push((both, sum(turn, 0, 100)));
            end.open();
        })
        .unwrap();
    begun.pass();
    drop(runtime);
    gate.open();
    done.pass();
    assert_eq!(results.all(), [((1, 2), 4_950)]);
    assert_eq!(handle.metrics().dropped, 0, "a branch is not lost");
}

#[test]
fn simulated_join_runs_both_in_the_order_that_the_seed_says() {
    let orders = Log::new();
    each_seed(20, |seed| {
        let run = || {
            let mut simulation = Runtime::builder().workers(2).simulate(seed).unwrap();
            let order = Log::new();
            let theirs = order.clone();
            let job = move |turn: &mut Turn<'_>| {
                turn.join(|_| theirs.push("here"), |_| theirs.push("there"));
                assert_eq!(sum(turn, 0, 100), 4_950);
            };
            simulation.submit(job).unwrap();
            simulation.run();
            order.all()
        };
        let order = run();
        assert_eq!(run(), order);
        orders.push(order);
    });
    for order in [["here", "there"], ["there", "here"]] {
        assert!(orders.all().iter().any(|seen| *seen == order), "{order:?} never came");
    }
}

#[test]
fn simulated_join_keeps_its_order_where_that_is_a_promise() {
    each_seed(10, |seed| {
        let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo);
        let mut simulation = builder.placement(Placement::Any).simulate(seed).unwrap();
        let order = Log::new();
        let theirs = order.clone();
        let job = move |turn: &mut Turn<'_>| {
            turn.join(|_| theirs.push("here"), |_| theirs.push("there"));
        };
        simulation.submit(job).unwrap();
        simulation.run();
        assert_eq!(order.all(), ["here", "there"]);
    });
}

/// Once the quantum is spent, what the turn has submitted joins the line; the branch does not.
#[test]
fn after_the_quantum_is_spent_others_run_what_the_turn_has_submitted() {
    let builder = Runtime::builder().workers(1).budget(10);
    let runtime = real(builder.quantum(Duration::from_secs(3600)));
    let order = Log::new();
    let theirs = order.clone();
    inside(&runtime, move |turn| {
        turn.join(
            |turn| {
                let log = theirs.clone();
                turn.submit(move |_| log.push("submitted"));
                turn.spend(10);
                assert!(turn.expired());
            },
            |_| theirs.push("branch"),
        );
        theirs.push("turn");
    });
    settle(&runtime);
    assert_eq!(order.all(), ["branch", "turn", "submitted"]);
}
