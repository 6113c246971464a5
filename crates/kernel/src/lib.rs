//! The scheduler that everything in Shiftwork stands on: which strand runs next, on which
//! worker, and who parks.
//!
//! A **strand** is a stateful thing that runs on at most one worker at a time. It is woken from
//! any thread; it takes **turns**, and after each it pauses, yields or ends. **Workers** are
//! dedicated OS threads. A **discipline** says in which order strands get their turns, a
//! **placement** which worker gets one. Small one-shot jobs need no strand, and a future is run
//! as one.
//!
//! ```
//! use kernel::{Runtime, Step};
//!
//! let runtime = Runtime::new()?;
//!
//! // A strand: it adds up what it is sent, and ends when the sender is gone.
//! let (send, receive) = std::sync::mpsc::channel();
//! let mut sum = 0;
//! let (strand, mut total) = runtime.strand().name("adder").idle(move |_| loop {
//!     match receive.try_recv() {
//!         Ok(number) => sum += number,
//!         Err(std::sync::mpsc::TryRecvError::Empty) => return Step::Pause,
//!         Err(std::sync::mpsc::TryRecvError::Disconnected) => return Step::End(sum),
//!     }
//! })?;
//! for number in 1..=10 {
//!     send.send(number)?;
//!     strand.wake()?;
//! }
//! drop(send);
//! strand.wake()?;
//! assert_eq!(total.join()?, 55);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//! - A strand's turns never overlap, and each sees all that was done before the wakes that asked
//!   for it. No wake is lost, and a strand is never queued twice.
//! - **Fairness.** Under `Fifo` and `Stealing`, with `n` runnable strands per worker, one that is
//!   woken starts within about `n` quanta (`2n` if it was handed to meanwhile, since its place in
//!   line is then moved once), as long as every turn ends when [`Turn::expired`] says so, which is
//!   after one to one and a half quanta. Strands that wake or hand off to each other for ever
//!   share one quantum and can not starve a third. Under `Stealing` those who have not used up a
//!   quantum go before those who have, for at most 16 quanta at a time: so a strand that wants a
//!   short turn now and then does not wait for each that never ends, and one of these gets at
//!   least a seventeenth of its worker, or one turn in 62 if it says by itself when it has had
//!   enough ([`Turn::use_up`]). Under `Priority` with an ageing rate an entry
//!   is overtaken by those of priority `p` above its own for at most `p / ageing` arrivals; with a
//!   rate of 0 for as long as there are any. Under `Feedback` a strand at the bottom waits for the
//!   next boost at most: 1,024 turns, or as many as there are entries in its queue.
//! - Workers without work park and use no CPU, and nothing looks after them. While something
//!   runs, one monitor thread looks at the quanta. A turn that goes on for a hundred quanta, and for a
//!   tenth of a second, is reported, also where nobody waits behind it.
//! - A panic ends the strand it happens in, and nobody else.
//! - The kernel knows no messages, no I/O, no wall clock. Time and chance are handed in, so that
//!   the same scheduler runs as a [`Simulation`]: one thread, virtual time, a seed.
//!
//! # What is not
//! A turn is not interrupted: a body that ignores [`Turn::expired`] keeps its worker (and is
//! reported, while the others take over what waits). Blocking inside a turn blocks its worker.

mod attributes;
mod branch;
mod cancel;
mod damper;
mod entry;
mod error;
mod future;
mod idle;
mod lease;
mod metrics;
#[cfg(loom)]
#[doc(hidden)]
pub mod model;
mod monitor;
mod panics;
mod placement;
mod prefetch;
mod queue;
mod record;
mod report;
mod runtime;
mod shared;
mod sharing;
mod sim;
mod slot;
mod stock;
mod strand;
mod sync;
mod tenant;
mod ticks;
mod timer;
mod turn;
mod vigil;
mod worker;
mod world;

pub use attributes::{Attributes, WorkerId};
pub use cancel::{CancelToken, Cancelled};
pub use error::{BuildError, Elapsed, JoinError, NoSuchWorker, ScheduleError, ShutdownTimeout};
pub use future::{YieldNow, yield_now};
pub use idle::WORKERS_MAX;
pub use metrics::{Histogram, Metrics, WorkerMetrics};
pub use placement::{AffinityFn, Placement};
pub use queue::{Discipline, feedback::LEVELS_MAX};
pub use record::{Event, EventKind, NAMES_MAX, Recording};
pub use report::{Report, WorkerChange};
pub use runtime::{
    Runtime, Shutdown,
    builder::Builder,
    handle::{Handle, RuntimeId, WorkerState},
    strand_builder::{Made, StrandBuilder},
};
pub use sharing::Share;
pub use sim::{Simulation, Stuck, TURN_COST, each_seed};
pub use strand::{
    Strand, StrandId,
    body::{Body, Step},
    join::JoinHandle,
    open::{OpenBody, StrandWith, hand_off_to},
    state::Phase,
};
pub use tenant::Tenant;
pub use timer::{Interval, Sleep, Tick, Timeout, Timer};
pub use turn::Turn;
