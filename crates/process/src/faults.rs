//! What goes wrong in a simulated world: kills, late messages, slow handlers.
//!
//! All chance comes from the plan's seed, and all of it happens in virtual time, so a run with the
//! same two seeds is the same run. Messages of one pair are late, but never out of order, and the
//! exit of their sender is not heard before them.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use kernel::{Handle, StrandId, StrandWith};

use crate::{
    addr::Addr,
    core::{self, Core},
    error::SendError,
    inspect::{self, ProcessInfo},
    pid::Pid,
    processes::Processes,
    signal::Signal,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    system,
};

/// Whether any plan was ever injected in this program: one look keeps the send path free of it.
static EVER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// What comes later comes so much later at least.
const TICK: Duration = Duration::from_nanos(1);

/// What is to go wrong. See [`Processes::inject`].
///
/// ```
/// use std::time::Duration;
/// use process::{Context, FaultPlan, Processes};
///
/// let mut simulation = kernel::Runtime::builder().workers(2).simulate(7)?;
/// let idler = simulation.spawn_process(|mut ctx: Context<u32>| async move {
///     while ctx.receive().await.is_some() {}
/// })?;
/// simulation.inject(FaultPlan::new(7).delays(Duration::from_millis(5)).kills(
///     1,
///     Duration::from_secs(1),
///     |_| true,
/// ));
/// idler.send(1)?;
/// simulation.run();
/// assert_eq!(idler.exit_reason(), Some(process::ExitReason::Killed));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a plan does nothing until it is injected"]
pub struct FaultPlan {
    seed: u64,
    delay_max: Duration,
    slow_max: Duration,
    kills: Vec<Kills>,
}

struct Kills {
    count: usize,
    within: Duration,
    victims: Victims,
}

type Victims = Arc<dyn Fn(&ProcessInfo) -> bool + Send + Sync>;

impl FaultPlan {
    /// A plan in which nothing goes wrong yet; `seed` makes its choices.
    pub fn new(seed: u64) -> FaultPlan {
        FaultPlan { seed, delay_max: Duration::ZERO, slow_max: Duration::ZERO, kills: Vec::new() }
    }

    /// Each message is late by up to this, so that those of different pairs overtake each other. The
    /// exit of its sender is not heard before it. Replies to calls, requests to end and kills are not
    /// late.
    pub fn delays(mut self, max: Duration) -> FaultPlan {
        self.delay_max = max;
        self
    }

    /// Each completion of a command is late by up to this.
    pub fn slow_handlers(mut self, max: Duration) -> FaultPlan {
        self.slow_max = max;
        self
    }

    /// So many times within a time, kills one of the processes that `victims` says yes to.
    pub fn kills(
        mut self,
        count: usize,
        within: Duration,
        victims: impl Fn(&ProcessInfo) -> bool + Send + Sync + 'static,
    ) -> FaultPlan {
        self.kills.push(Kills { count, within, victims: Arc::new(victims) });
        self
    }
}

impl fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultPlan").field("seed", &self.seed).finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(crate) struct Faults {
    on: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    dice: u64,
    delay_max: Duration,
    slow_max: Duration,
    /// When the last message of each pair arrives, so that the next one does not overtake it.
    pairs: HashMap<(Option<StrandId>, Pid), Duration>,
}

impl State {
    /// SplitMix64, as the kernel's dice.
    fn roll(&mut self, below: u64) -> u64 {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * u128::from(below)) >> 64) as u64
    }

    fn up_to(&mut self, max: Duration) -> Duration {
        Duration::from_nanos(self.roll(max.as_nanos() as u64 + 1))
    }
}

pub(crate) fn inject(runtime: &Handle, plan: FaultPlan) {
    assert!(runtime.is_simulated(), "faults are injected in simulations only");
    EVER.store(true, std::sync::atomic::Ordering::Relaxed);
    let faults = &system::of(runtime).faults;
    let mut times = Vec::new();
    {
        let mut state = faults.state.lock();
        state.dice = plan.seed ^ 0xFA17;
        (state.delay_max, state.slow_max) = (plan.delay_max, plan.slow_max);
        for kills in &plan.kills {
            for _ in 0..kills.count {
                let at = state.up_to(kills.within);
                times.push((at, state.roll(u64::MAX), kills.victims.clone()));
            }
        }
    }
    faults.on.store(true, Relaxed);
    for (at, choice, victims) in times {
        let on = runtime.clone();
        if let Ok(timer) = runtime.call_after(at, move || kill_one(&on, choice, &victims)) {
            timer.detach();
        }
    }
}

fn kill_one(runtime: &Handle, choice: u64, victims: &Victims) {
    let mut all = inspect::all(runtime);
    all.retain(|info| victims(info));
    if !all.is_empty() {
        runtime.kill_process(all[(choice % all.len() as u64) as usize].pid);
    }
}

/// Whether messages may be late.
#[inline]
pub(crate) fn may_delay(runtime: &Handle) -> bool {
    EVER.load(std::sync::atomic::Ordering::Relaxed) && is_on(runtime)
}

#[cold]
fn is_on(runtime: &Handle) -> bool {
    runtime.is_simulated() && system::of(runtime).faults.on.load(Relaxed)
}

/// Sends a message that arrives later. It counts as sent: if its process exits meanwhile it is one
/// of those that were never read, and the bound is that of the moment it was sent.
#[cold]
pub(crate) fn send<M: Send + 'static>(addr: &Addr<M>, message: M) -> Result<(), SendError<M>> {
    if !addr.is_alive() {
        return Err(SendError::Exited(message));
    }
    if addr.0.mail().is_plain() && addr.0.mail().is_full() {
        return Err(SendError::Full(message));
    }
    let runtime = addr.0.runtime();
    let pair = (runtime.current_strand(), addr.pid());
    let now = runtime.now();
    let after = {
        let mut state = system::of(runtime).faults.state.lock();
        let max = state.delay_max;
        let at = now + state.up_to(max);
        let last = state.pairs.entry(pair).or_default();
        *last = at.max(*last + TICK);
        *last - now
    };
    let to = addr.clone();
    let arrive = move || to.arrive(message);
    if let Ok(timer) = runtime.call_after(after, arrive) {
        timer.detach();
    }
    Ok(())
}

/// Tells a process of the exit of another: now, or when the last message from there has arrived.
pub(crate) fn signal(to: &StrandWith<Core>, from: &StrandWith<Core>, signal: Signal) {
    let runtime = to.runtime();
    if may_delay(runtime) {
        let pair = (Some(from.strand().id()), to.pid());
        let last = system::of(runtime).faults.state.lock().pairs.get(&pair).copied();
        if let Some(after) = last.and_then(|last| (last + TICK).checked_sub(runtime.now())) {
            let to = to.clone();
            if let Ok(timer) = runtime.call_after(after, move || core::signal(&to, signal)) {
                timer.detach();
            }
            return;
        }
    }
    core::signal(to, signal);
}

/// Does something now, or later if handlers are slow.
pub(crate) fn slowly(runtime: Handle, act: impl FnOnce() + Send + 'static) {
    if may_delay(&runtime) {
        let after = {
            let mut state = system::of(&runtime).faults.state.lock();
            let max = state.slow_max;
            state.up_to(max)
        };
        if let Ok(timer) = runtime.call_after(after, act) {
            timer.detach();
        }
        return;
    }
    act();
}
