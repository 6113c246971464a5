//! The simulated runtime: the same seed gives the same run, and time is virtual.

mod common;

use std::{
    process::Command,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use common::{DISCIPLINES, Dice, Log, disciplines, placements};
use kernel::{
    Discipline, Handle, JoinError, JoinHandle, Placement, Runtime, Simulation, Step, Strand, Stuck,
    TURN_COST, Timer, Turn, each_seed,
};

const MS: Duration = Duration::from_millis(1);

// ---- Time.

#[test]
fn turn_that_has_worked_tells_the_time_it_has_come_to_and_its_rest_happens_then() {
    let mut simulation = Runtime::builder().workers(1).simulate(1).unwrap();
    let told: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let (seen, handle) = (told.clone(), simulation.handle());
    simulation
        .submit(move |turn| {
            turn.simulate(10 * MS);
            seen.lock().unwrap().extend([turn.now(), handle.now()]);
            turn.later(move |turn| seen.lock().unwrap().extend([turn.now(), handle.now()]));
        })
        .unwrap();
    assert_eq!(simulation.run(), 10 * MS + TURN_COST);
    assert_eq!(*told.lock().unwrap(), [10 * MS; 4]);
}

#[test]
fn twice_the_workers_finish_independent_jobs_in_half_the_time() {
    for discipline in DISCIPLINES {
        let mut times = Vec::new();
        for workers in [1, 2, 4, 8] {
            let builder = Runtime::builder().workers(workers).discipline(discipline);
            let mut simulation = builder.simulate(1).unwrap();
            for _ in 0..64 {
                simulation.submit(|turn| turn.simulate(MS)).unwrap();
            }
            times.push(simulation.run().as_millis());
        }
        assert_eq!(times, [64, 32, 16, 8], "{discipline:?}");
    }
}

#[test]
fn time_jumps_to_the_next_timer() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let handle = Handle::clone(&simulation);
    let year = Duration::from_secs(365 * 24 * 3600);
    simulation.block_on(handle.sleep(year)).unwrap();
    assert_eq!(simulation.now(), year);
}

#[test]
fn run_for_stops_at_its_time_and_leaves_turns_in_progress() {
    let mut simulation = Runtime::builder().workers(1).simulate(0).unwrap();
    let log = Log::new();
    let theirs = log.clone();
    let body = move |turn: &mut Turn<'_>| -> Step<()> {
        theirs.push(turn.now());
        turn.simulate(MS);
        Step::Yield
    };
    simulation.strand().start(body).unwrap();
    assert_eq!(simulation.run_for(MS * 3 / 2), MS * 3 / 2);
    assert_eq!(log.len(), 2);
    simulation.run_for(MS);
    assert_eq!(log.all(), [Duration::ZERO, MS + TURN_COST, (MS + TURN_COST) * 2]);
}

/// What a turn wakes after having worked for a while happens only then.
#[test]
fn wake_takes_effect_when_the_turn_has_come_to_it() {
    let mut simulation = Runtime::builder().workers(2).simulate(0).unwrap();
    let (strand, mut join) = simulation.strand().idle(|turn| Step::End(turn.now())).unwrap();
    simulation
        .submit(move |turn| {
            turn.simulate(MS * 5);
            strand.wake().unwrap();
            turn.simulate(MS * 5);
        })
        .unwrap();
    simulation.run();
    assert_eq!(join.join(), Ok(MS * 5));
}

#[test]
fn future_that_nothing_can_make_ready_is_stuck() {
    let mut simulation = Runtime::builder().workers(1).simulate(42).unwrap();
    let stuck = simulation.block_on(std::future::pending::<()>()).unwrap_err();
    assert_eq!(stuck, Stuck { seed: 42, at: Duration::ZERO });
    assert_eq!(
        stuck.to_string(),
        "nothing is left to run after 0ns of virtual time, and the future is not ready (seed 42)"
    );
}

// ---- A random world.

struct World {
    strands: OnceLock<Vec<Strand>>,
    /// Announced to each strand and not yet seen by a turn of it.
    mail: Vec<AtomicU64>,
    sent: AtomicU64,
    seen: AtomicU64,
    timers: Mutex<Vec<Timer>>,
    dice: Mutex<Dice>,
    left: AtomicU64,
}

impl World {
    fn roll(&self, n: u64) -> u64 {
        self.dice.lock().unwrap().below(n)
    }

    /// Announces something to one of them.
    fn pick(&self) -> (usize, &Strand) {
        let at = self.roll(self.mail.len() as u64) as usize;
        self.mail[at].fetch_add(1, Relaxed);
        self.sent.fetch_add(1, Relaxed);
        (at, &self.strands.get().unwrap()[at])
    }

    /// One turn of strand `me`.
    fn turn(self: &Arc<World>, me: usize, turn: &mut Turn<'_>) -> Step<usize> {
        self.seen.fetch_add(self.mail[me].swap(0, Relaxed), Relaxed);
        for _ in 0..self.roll(4) {
            if self.left.load(Relaxed) == 0 {
                return Step::Pause;
            }
            self.left.fetch_sub(1, Relaxed);
            match self.roll(8) {
                0 | 1 => self.pick().1.wake().unwrap(),
                2 => turn.hand_off(self.pick().1),
                3 => {
                    let world = self.clone();
                    turn.submit(move |_| world.pick().1.wake().unwrap());
                }
                4 => {
                    let after = Duration::from_nanos(self.roll(3_000));
                    let timer = turn.handle().wake_after(after, self.pick().1).unwrap();
                    self.timers.lock().unwrap().push(timer);
                }
                5 => turn.spend(self.roll(2_000)),
                6 => self.pick().1.waker().wake(),
                _ => {
                    let handle = turn.handle();
                    let (_, strand) = self.pick();
                    let strand = strand.clone();
                    let sleeper = async move {
                        handle.sleep(Duration::from_nanos(500)).await;
                        strand.wake().unwrap();
                    };
                    drop(turn.handle().spawn(sleeper).unwrap());
                }
            }
        }
        match self.roll(40) {
            0 => Step::End(me),
            1 => panic!("on purpose"),
            2..15 => Step::Yield,
            _ => Step::Pause,
        }
    }
}

/// Makes a world and runs it to its end.
fn run_world(
    discipline: Discipline,
    placement: Placement,
    seed: u64,
) -> (Simulation, Arc<World>, Vec<JoinHandle<usize>>) {
    const STRANDS: usize = 12;
    let mut simulation = Runtime::builder()
        .workers(3)
        .discipline(discipline)
        .placement(placement)
        .quantum(Duration::from_micros(2))
        .record(100_000)
        .on_report(|_| {})
        .simulate(seed)
        .unwrap();
    let world = Arc::new(World {
        strands: OnceLock::new(),
        mail: (0..STRANDS).map(|_| AtomicU64::new(0)).collect(),
        sent: AtomicU64::new(0),
        seen: AtomicU64::new(0),
        timers: Mutex::new(Vec::new()),
        dice: Mutex::new(Dice::new(seed)),
        left: AtomicU64::new(600),
    });
    let (strands, joins): (Vec<_>, Vec<_>) = (0..STRANDS)
        .map(|me| {
            let world = world.clone();
            let body = move |turn: &mut Turn<'_>| world.turn(me, turn);
            simulation.strand().key(me as u64).priority(me as f64).idle(body).unwrap()
        })
        .unzip();
    world.strands.set(strands).ok().unwrap();
    for _ in 0..5 {
        world.pick().1.wake().unwrap();
    }
    simulation.run();
    (simulation, world, joins)
}

/// The strands of a world hold it, and it holds them: each run would keep some megabytes.
fn end_world(mut simulation: Simulation, world: &World) {
    world.strands.get().unwrap().iter().for_each(Strand::abort);
    simulation.run();
}

/// Panics on purpose stay silent; the default hook would fill the screen.
fn quietly() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |about| {
            if about.payload_as_str() != Some("on purpose") {
                loud(about);
            }
        }));
    });
}

#[test]
fn every_wake_is_seen_under_every_discipline_and_placement() {
    quietly();
    for discipline in disciplines() {
        for placement in placements(3) {
            each_seed(20, |seed| {
                let (simulation, world, joins) = run_world(discipline, placement.clone(), seed);
                let mut lost_to_the_ended = 0;
                for (me, mut join) in joins.into_iter().enumerate() {
                    let unseen = world.mail[me].load(Relaxed);
                    match join.try_join() {
                        None => assert_eq!(unseen, 0, "strand {me} sleeps over a wake"),
                        Some(end) => {
                            let purpose = Err(JoinError::Panicked("on purpose".into()));
                            assert!(end == Ok(me) || end == purpose, "{end:?}");
                            lost_to_the_ended += unseen;
                        }
                    }
                }
                let sent = world.sent.load(Relaxed);
                assert_eq!(world.seen.load(Relaxed) + lost_to_the_ended, sent);
                let metrics = simulation.metrics();
                assert_eq!((metrics.queued, metrics.timers, metrics.dropped), (0, 0, 0));
                end_world(simulation, &world);
            });
        }
    }
}

#[test]
fn same_seed_gives_the_same_log_byte_for_byte() {
    quietly();
    for discipline in disciplines() {
        for placement in placements(3) {
            each_seed(3, |seed| {
                let log = |seed| {
                    let (simulation, world, _) = run_world(discipline, placement.clone(), seed);
                    let log = simulation.log();
                    end_world(simulation, &world);
                    log
                };
                assert_eq!(log(seed), log(seed), "{discipline:?} {placement:?}");
            });
        }
    }
}

#[test]
fn another_seed_gives_another_order() {
    let order = |seed| {
        let mut simulation = Runtime::builder().workers(3).simulate(seed).unwrap();
        let log = Log::new();
        for number in 0..12 {
            let log = log.clone();
            let job = move |turn: &mut Turn<'_>| {
                turn.spend(1_000);
                log.push((turn.worker().get(), number));
            };
            simulation.submit(job).unwrap();
        }
        simulation.run();
        log.all()
    };
    let orders: std::collections::HashSet<_> = (0..20).map(order).collect();
    assert!(orders.len() > 10, "20 seeds gave {} orders", orders.len());
}

#[test]
fn fifo_stays_fifo_under_every_seed() {
    each_seed(100, |seed| {
        let builder = Runtime::builder().workers(3).discipline(Discipline::Fifo);
        let mut simulation = builder.simulate(seed).unwrap();
        let (log, mut dice) = (Log::new(), Dice::new(seed));
        for number in 0..30 {
            let (log, work) = (log.clone(), dice.below(3_000));
            let job = move |turn: &mut Turn<'_>| {
                log.push(number);
                turn.spend(work);
            };
            simulation.submit(job).unwrap();
        }
        simulation.run();
        assert_eq!(log.all(), (0..30).collect::<Vec<_>>());
    });
}

// ---- A failing run, in a process of its own.

const CHILD: &str = "SHIFTWORK_TEST_CHILD";

/// Not a test of its own: in the child process it fails with seed 3.
#[test]
fn child_fails_with_seed_three() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    each_seed(10, |seed| {
        println!("seed {seed} runs");
        assert_ne!(seed, 3, "as it should");
    });
}

fn child(variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_fails_with_seed_three", "--nocapture"]);
    for variable in ["SHIFTWORK_SEED", "SHIFTWORK_SEEDS", "SHIFTWORK_DISCIPLINE"] {
        command.env_remove(variable);
    }
    command.env(CHILD, "1");
    command.env("CARGO_PKG_NAME", "shiftwork-kernel").envs(variables.iter().copied());
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn failing_run_prints_its_seed_and_a_command_that_replays_it() {
    let (passed, said) = child(&[]);
    assert!(!passed);
    let expected = "seed 3 failed; replay it with: SHIFTWORK_SEED=3 cargo test \
                    -p shiftwork-kernel child_fails_with_seed_three";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("seed 2 runs") && !said.contains("seed 4 runs"), "{said}");
    let (_, said) = child(&[("SHIFTWORK_DISCIPLINE", "fifo")]);
    assert!(said.contains("SHIFTWORK_SEED=3 SHIFTWORK_DISCIPLINE=fifo cargo test"), "{said}");
}

#[test]
fn replayed_run_is_that_one_seed_only() {
    let (passed, said) = child(&[("SHIFTWORK_SEED", "3")]);
    assert!(!passed && said.contains("seed 3 runs") && !said.contains("seed 2 runs"), "{said}");
    let (passed, said) = child(&[("SHIFTWORK_SEED", "9")]);
    assert!(passed && said.contains("seed 9 runs"), "{said}");
}

#[test]
fn number_of_seeds_is_another_when_the_variable_says_so() {
    let (passed, said) = child(&[("SHIFTWORK_SEEDS", "3")]);
    assert!(passed && said.contains("seed 2 runs") && !said.contains("seed 3 runs"), "{said}");
    let (passed, said) = child(&[("SHIFTWORK_SEED", "4"), ("SHIFTWORK_SEEDS", "2")]);
    assert!(passed && said.contains("seed 5 runs") && !said.contains("seed 6 runs"), "{said}");
    assert!(!said.contains("seed 3 runs"), "{said}");
    let (passed, said) = child(&[("SHIFTWORK_SEEDS", "three")]);
    assert!(!passed && said.contains("SHIFTWORK_SEEDS is \"three\"; set it to a number"));
}
