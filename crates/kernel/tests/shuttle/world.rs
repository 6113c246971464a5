//! What happens at random in one schedule, and the books that are kept of it.

use std::sync::{
    Arc, Mutex as Plain,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use kernel::{Attributes, Handle, JoinHandle, ScheduleError, Step, Strand, Turn};
use shuttle::{
    rand::{Rng, thread_rng},
    sync::{Condvar, Mutex},
    thread,
};

const STRANDS: usize = 3;
/// What all turns of one schedule may do together, so that it ends.
const FUEL: usize = 10;
/// What each thread outside does.
pub(crate) const POKES: usize = 3;

pub(crate) fn below(n: usize) -> usize {
    thread_rng().gen_range(0..n)
}

/// What is known of one strand. The atomics are std's: they are no scheduling points.
#[derive(Default)]
struct Ledger {
    /// Wakes are numbered. The last one that was begun, acknowledged, and seen by a turn.
    sent: AtomicU64,
    acknowledged: AtomicU64,
    seen: AtomicU64,
    in_turn: AtomicBool,
    /// Its body was dropped.
    ended: AtomicBool,
}

impl Ledger {
    /// A wake was acknowledged that no turn has seen, and the strand has not ended.
    fn owes(&self) -> bool {
        let [acknowledged, seen] = [&self.acknowledged, &self.seen].map(|n| n.load(Relaxed));
        seen < acknowledged && !self.ended.load(Relaxed)
    }
}

#[derive(Default)]
struct Job {
    accepted: bool,
    /// Nothing may drop it: it was submitted before the shutdown, or from inside.
    must_run: bool,
    ran: u32,
    dropped: u32,
}

#[derive(Default)]
pub(crate) struct World {
    ledgers: [Ledger; STRANDS],
    strands: Mutex<Vec<Strand>>,
    fuel: AtomicUsize,
    /// Shutdown has been called for.
    pub(crate) closing: AtomicBool,
    jobs: Plain<Vec<Job>>,
    /// What went wrong inside a turn, where an assertion would be contained.
    faults: Plain<Vec<&'static str>>,
    /// Rung whenever something was done that somebody may wait for.
    bell: (Mutex<()>, Condvar),
}

/// How a runtime came to its end.
#[derive(PartialEq)]
pub(crate) enum Stopped {
    /// Shut down when nobody outside did anything any more: nothing may be dropped.
    AfterAll,
    /// Shut down meanwhile: what was acknowledged before may not be dropped.
    Meanwhile,
    /// Dropped: anything that waits is dropped.
    AtOnce,
}

/// The part of a strand's body whose drop is noticed.
struct Probe(Arc<World>, usize);

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.ledgers[self.1].ended.store(true, Relaxed);
        self.0.ring();
    }
}

/// Travels with a job, and notices if it is dropped without having run.
struct Token {
    world: Arc<World>,
    number: usize,
    ran: bool,
}

impl Drop for Token {
    fn drop(&mut self) {
        self.world.jobs.lock().unwrap()[self.number].dropped += u32::from(!self.ran);
    }
}

impl World {
    pub(crate) fn new() -> Arc<World> {
        Arc::new(World { fuel: AtomicUsize::new(FUEL), ..World::default() })
    }

    fn strand(&self) -> Option<(usize, Strand)> {
        let at = below(STRANDS);
        self.strands.lock().unwrap().get(at).map(|strand| (at, strand.clone()))
    }

    /// Wakes a strand by a number that the turn it asks for must see.
    fn wake(&self, how: impl FnOnce(&Strand) -> Result<(), ScheduleError>) {
        let Some((at, strand)) = self.strand() else { return };
        let number = self.ledgers[at].sent.fetch_add(1, Relaxed) + 1;
        if how(&strand).is_ok() {
            self.ledgers[at].acknowledged.fetch_max(number, Relaxed);
        }
    }

    fn job(self: &Arc<World>, must_run: bool) -> (usize, impl FnOnce(&mut Turn<'_>) + use<>) {
        let mut jobs = self.jobs.lock().unwrap();
        let number = jobs.len();
        jobs.push(Job { must_run, ..Job::default() });
        let mut token = Token { world: self.clone(), number, ran: false };
        let run = move |turn: &mut Turn<'_>| {
            token.ran = true;
            token.world.jobs.lock().unwrap()[number].ran += 1;
            token.world.ring();
            token.world.act(turn);
        };
        (number, run)
    }

    fn submit(self: &Arc<World>, to: &Handle) {
        let (number, job) = self.job(false);
        let accepted = to.submit(job).is_ok();
        let in_time = !self.closing.load(Relaxed);
        let job = &mut self.jobs.lock().unwrap()[number];
        (job.accepted, job.must_run) = (accepted, in_time);
    }

    /// Something that a turn may do.
    fn act(self: &Arc<World>, turn: &mut Turn<'_>) {
        if self.fuel.fetch_update(Relaxed, Relaxed, |fuel| fuel.checked_sub(1)).is_err() {
            return;
        }
        turn.spend(1);
        match below(10) {
            0..3 => self.wake(|strand| strand.wake()),
            3 | 4 => self.wake(|strand| {
                turn.hand_off(strand);
                Ok(())
            }),
            5 => {
                let (number, job) = self.job(true);
                self.jobs.lock().unwrap()[number].accepted = true;
                turn.submit(job);
            }
            6 => self.wake(|strand| {
                strand.abort();
                Ok(())
            }),
            7 | 8 => {
                let ran = AtomicUsize::new(0);
                let half = |turn: &mut Turn<'_>| {
                    ran.fetch_add(1, Relaxed);
                    self.act(turn);
                };
                turn.join(half, half);
                if ran.load(Relaxed) != 2 {
                    self.faults.lock().unwrap().push("half of a join was lost or doubled");
                }
            }
            _ => {
                // A strand that nobody can wake is dropped at once.
                let made = turn.handle().strand().idle(|_| Step::End(()));
                drop(made.map(|(strand, _)| strand));
            }
        }
    }

    /// Something that a thread outside may do.
    pub(crate) fn poke(self: &Arc<World>, handle: &Handle) {
        match below(5) {
            0 => self.submit(handle),
            1 => self.wake(|strand| {
                // A waker can not say whether it was in time, so nothing is acknowledged.
                strand.waker().wake();
                Err(ScheduleError::Stopped)
            }),
            _ => self.wake(Strand::wake),
        }
    }

    /// One turn of strand `me`.
    fn turn(self: &Arc<World>, me: usize, turn: &mut Turn<'_>) -> Step<()> {
        let ledger = &self.ledgers[me];
        if ledger.in_turn.swap(true, Relaxed) {
            self.faults.lock().unwrap().push("two turns of one strand overlap");
        }
        ledger.seen.store(ledger.sent.load(Relaxed), Relaxed);
        self.ring();
        (0..below(3)).for_each(|_| self.act(turn));
        ledger.in_turn.store(false, Relaxed);
        match below(12) {
            0 => Step::End(()),
            // A panic without the noise of a panic hook.
            1 => std::panic::resume_unwind(Box::new("on purpose")),
            2..5 if self.fuel.load(Relaxed) > 0 => Step::Yield,
            _ => Step::Pause,
        }
    }

    pub(crate) fn people(self: &Arc<World>, handle: &Handle) -> Vec<JoinHandle<()>> {
        let make = |me| {
            let probe = Probe(self.clone(), me);
            let body = move |turn: &mut Turn<'_>| probe.0.turn(probe.1, turn);
            let priority = below(3) as f64;
            let about = Attributes { priority, key: Some(me as u64), ..Attributes::default() };
            let builder = handle.strand().attributes(about);
            let made = if below(2) == 0 { builder.idle(body) } else { builder.start(body) };
            let (strand, join) = made.expect("the runtime takes work");
            self.strands.lock().unwrap().push(strand);
            join
        };
        (0..STRANDS).map(make).collect()
    }

    pub(crate) fn outside(self: &Arc<World>, handle: Handle) -> thread::JoinHandle<()> {
        let world = self.clone();
        thread::spawn(move || (0..POKES).for_each(|_| world.poke(&handle)))
    }

    fn ring(&self) {
        let _guard = self.bell.0.lock().unwrap();
        self.bell.1.notify_all();
    }

    /// Whether a strand has not yet seen its last wake, or a job has not yet run.
    fn owes(&self) -> bool {
        self.ledgers.iter().any(Ledger::owes)
            || self.jobs.lock().unwrap().iter().any(|job| job.accepted && job.ran == 0)
    }

    /// Waits until nothing is owed. What never comes is a deadlock, which shuttle reports.
    pub(crate) fn wait_until_quiet(&self) {
        let mut guard = self.bell.0.lock().unwrap();
        while self.owes() {
            guard = self.bell.1.wait(guard).unwrap();
        }
    }

    /// Nothing lost, nothing doubled, nothing overlapping, nothing kept. For a runtime that has
    /// stopped.
    pub(crate) fn settle(self: Arc<World>, handle: &Handle, how: Stopped) {
        assert_eq!(*self.faults.lock().unwrap(), [""; 0]);
        if how != Stopped::AtOnce {
            assert!(!self.ledgers.iter().any(Ledger::owes), "a wake was lost");
        }
        drop(std::mem::take(&mut *self.strands.lock().unwrap()));
        // A body or job that is never dropped exceeds the limit of steps here.
        while Arc::strong_count(&self) > 1 {
            thread::yield_now();
        }
        let all_dropped = handle.metrics().dropped;
        assert!(how != Stopped::AfterAll || all_dropped == 0, "dropped what was acknowledged");
        let mut dropped = 0;
        for job in self.jobs.lock().unwrap().iter() {
            assert_eq!(job.ran + job.dropped, 1, "a job was lost or doubled");
            let must_run = how != Stopped::AtOnce && job.must_run && job.accepted;
            assert!(job.ran == 1 || !must_run, "dropped a job that was acknowledged in time");
            dropped += u64::from(job.accepted && job.dropped == 1);
        }
        assert!(all_dropped >= dropped, "{dropped} jobs were dropped without a word");
    }
}
