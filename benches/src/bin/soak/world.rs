//! What happens in a round, and the books that are kept of it.

use std::{
    sync::{
        Arc, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use kernel::{Handle, Step, Strand, Timer, Turn, WorkerId};

/// Places for strands; one that has ended is replaced.
pub(crate) const STRANDS: usize = 48;

/// SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
    }

    pub(crate) fn fork(&mut self) -> Dice {
        Dice(self.below(usize::MAX) as u64)
    }
}

/// The wakes of one strand, by number: begun, acknowledged, seen by a turn.
#[derive(Default)]
struct Ledger {
    sent: AtomicU64,
    acknowledged: AtomicU64,
    seen: AtomicU64,
    in_turn: AtomicBool,
    /// It ends by its own word, or is aborted: then nothing more is owed to it. A strand that is
    /// dropped otherwise, with a wake unseen, is a loss.
    over: AtomicBool,
}

#[derive(Clone)]
struct Member {
    strand: Strand,
    ledger: Arc<Ledger>,
}

/// One round's strands, and its books.
#[derive(Default)]
pub(crate) struct World {
    members: Vec<RwLock<Option<Member>>>,
    pub(crate) wakes: AtomicU64,
    pub(crate) jobs: AtomicU64,
    jobs_run: AtomicU64,
    /// The numbers of all jobs, scrambled and added up: what is submitted, less what has run. So
    /// that one lost and one doubled do not make up for each other.
    jobs_sum: AtomicU64,
    pub(crate) timers: AtomicU64,
    pub(crate) timers_fired: AtomicU64,
    overlaps: AtomicU64,
    pub(crate) over: AtomicBool,
}

impl World {
    pub(crate) fn new() -> World {
        let members = (0..STRANDS).map(|_| RwLock::default()).collect();
        World { members, ..World::default() }
    }

    fn any(&self, dice: &mut Dice) -> Option<Member> {
        self.members[dice.below(STRANDS)].read().unwrap().clone()
    }

    /// Wakes a random strand, by whatever means; its turn must see the number.
    fn wake(&self, dice: &mut Dice, by: impl FnOnce(&Strand)) {
        let Some(Member { strand, ledger }) = self.any(dice) else { return };
        let number = ledger.sent.fetch_add(1, Relaxed) + 1;
        by(&strand);
        ledger.acknowledged.fetch_max(number, Relaxed);
        self.wakes.fetch_add(1, Relaxed);
    }

    fn abort(&self, dice: &mut Dice) {
        if let Some(Member { strand, ledger }) = self.any(dice) {
            ledger.over.store(true, Relaxed);
            strand.abort();
        }
    }

    /// A job. One in four does something in its turn; one in four is too large for its entry.
    fn job(self: &Arc<World>, dice: &mut Dice) -> impl FnOnce(&mut Turn<'_>) + Send + use<> {
        let number = Dice(self.jobs.fetch_add(1, Relaxed)).fork().0;
        self.jobs_sum.fetch_add(number, Relaxed);
        let (world, mut dice) = (self.clone(), dice.fork());
        let ballast = (dice.below(4) == 0).then(|| Box::new([number; 16]));
        move |turn| {
            world.jobs_run.fetch_add(1, Relaxed);
            let sent = ballast.map_or(number, |ballast| ballast[15]);
            world.jobs_sum.fetch_sub(sent, Relaxed);
            if dice.below(4) == 0 {
                world.act(&mut dice, turn);
            }
        }
    }

    /// Something that a turn may do.
    fn act(self: &Arc<World>, dice: &mut Dice, turn: &mut Turn<'_>) {
        match dice.below(16) {
            0..9 => self.wake(dice, wake),
            9..12 => self.wake(dice, |strand| turn.hand_off(strand)),
            12..15 => turn.submit(self.job(dice)),
            _ => while !turn.expired() && dice.below(10_000) > 0 {},
        }
    }

    fn turn(self: &Arc<World>, ledger: &Ledger, dice: &mut Dice, turn: &mut Turn<'_>) -> Step<()> {
        if ledger.in_turn.swap(true, Relaxed) {
            self.overlaps.fetch_add(1, Relaxed);
        }
        ledger.seen.store(ledger.sent.load(Relaxed), Relaxed);
        // On average a turn sets off a little less than one other, so that workers come to park.
        for _ in 0..[0, 0, 1, 1, 2][dice.below(5)] {
            self.act(dice, turn);
        }
        let fate = dice.below(512);
        ledger.over.fetch_or(fate < 2, Relaxed);
        let step = match fate {
            0 => Step::End(()),
            1 => {
                ledger.in_turn.store(false, Relaxed);
                // A panic without the noise of a panic hook.
                std::panic::resume_unwind(Box::new("on purpose"))
            }
            2..48 => Step::Yield,
            _ => Step::Pause,
        };
        ledger.in_turn.store(false, Relaxed);
        step
    }

    /// Puts a new strand in the place of one that has ended.
    pub(crate) fn fill(self: &Arc<World>, at: usize, dice: &mut Dice, handle: &Handle) {
        let mut member = self.members[at].write().unwrap();
        if member.as_ref().is_some_and(|member| !member.strand.is_done()) {
            return;
        }
        let ledger = Arc::new(Ledger::default());
        let (world, mut own, mine) = (self.clone(), dice.fork(), ledger.clone());
        let builder = handle.strand().name(format!("strand {at}"));
        let builder = builder.priority(dice.below(8) as f64).key(at as u64);
        let made = builder.idle(move |turn| world.turn(&mine, &mut own, turn));
        *member = made.ok().map(|(strand, _)| Member { strand, ledger });
    }

    /// Starts a timer that must fire: for a future, or for a strand that ends with it.
    fn timer(self: &Arc<World>, dice: &mut Dice, handle: &Handle) -> Option<Timer> {
        let after = Duration::from_micros(dice.below(3000) as u64);
        let (world, sleep) = (self.clone(), handle.sleep(after));
        self.timers.fetch_add(1, Relaxed);
        let fired = move || _ = world.timers_fired.fetch_add(1, Relaxed);
        if dice.below(2) == 0 {
            let future = async move {
                sleep.await;
                fired();
            };
            drop(handle.spawn(future).expect("the runtime takes work"));
            return None;
        }
        let made = handle.strand().idle(move |_| {
            fired();
            Step::End(())
        });
        let (strand, _) = made.expect("the runtime takes work");
        Some(handle.wake_after(after, &strand).expect("the runtime takes work"))
    }

    /// What a thread outside does until the round is over. Timers are kept: dropped, they would
    /// be cancelled.
    pub(crate) fn poke(self: &Arc<World>, mut dice: Dice, handle: &Handle) -> Vec<Timer> {
        let mut timers = Vec::new();
        while !self.over.load(Relaxed) {
            match dice.below(64) {
                0 => handle.pause_worker(WorkerId::new(dice.below(handle.worker_count()))).unwrap(),
                1..4 => handle.resume(),
                4 => self.abort(&mut dice),
                5..8 => self.fill(dice.below(STRANDS), &mut dice, handle),
                8..12 => handle.submit(self.job(&mut dice)).expect("the runtime takes work"),
                12 => timers.extend(self.timer(&mut dice, handle)),
                13..16 => self.wake(&mut dice, |strand| strand.waker().wake()),
                // So that workers come to park, and are unparked in all sorts of moments.
                16 if dice.below(4) == 0 => {
                    thread::sleep(Duration::from_micros(dice.below(200) as u64));
                }
                _ => self.wake(&mut dice, wake),
            }
        }
        handle.resume();
        timers
    }

    /// Wakes that no turn has seen, of strands that did not end themselves; jobs that have not run.
    pub(crate) fn owed(&self) -> u64 {
        let unseen = |member: &Member| {
            let Ledger { acknowledged, seen, over, .. } = &*member.ledger;
            let unseen = acknowledged.load(Relaxed).saturating_sub(seen.load(Relaxed));
            if over.load(Relaxed) { 0 } else { unseen }
        };
        let members = self.members.iter().map(|member| member.read().unwrap());
        let wakes: u64 = members.map(|member| member.as_ref().map_or(0, unseen)).sum();
        let jobs = self.jobs.load(Relaxed).saturating_sub(self.jobs_run.load(Relaxed));
        // If as many ran as were submitted, they were the same ones.
        wakes + jobs + u64::from(jobs == 0 && self.jobs_sum.load(Relaxed) != 0)
    }

    /// Names the strands whose last wake was not seen.
    pub(crate) fn print_unseen(&self) {
        for member in self.members.iter().filter_map(|member| member.read().unwrap().clone()) {
            let Ledger { acknowledged, seen, over, .. } = &*member.ledger;
            if seen.load(Relaxed) < acknowledged.load(Relaxed) && !over.load(Relaxed) {
                println!("{:?}: wake {acknowledged:?}, seen {seen:?}", member.strand);
            }
        }
    }

    /// Bodies hold the world, and the world holds strands: lets go of them.
    pub(crate) fn clear(&self) {
        self.members.iter().for_each(|member| *member.write().unwrap() = None);
    }

    pub(crate) fn timers_owed(&self) -> u64 {
        self.timers.load(Relaxed) - self.timers_fired.load(Relaxed)
    }

    pub(crate) fn doubled(&self) -> u64 {
        let jobs = self.jobs_run.load(Relaxed).saturating_sub(self.jobs.load(Relaxed));
        self.overlaps.load(Relaxed) + jobs
    }
}

fn wake(strand: &Strand) {
    strand.wake().expect("the runtime takes work");
}
