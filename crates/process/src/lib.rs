//! Processes: strands with an address and a mailbox, which exit.
//!
//! A process has state that nobody else can touch. It receives messages one at a time, sends
//! messages to others, and spawns others. It runs when it has something to do, on any worker, and
//! costs some 250 bytes while it waits; a million of them are fine.
//!
//! ```
//! use process::{Context, Processes, Reply};
//!
//! enum Till {
//!     Take(u64),
//!     Count(Reply<u64>),
//! }
//!
//! let runtime = kernel::Runtime::new()?;
//! let till = runtime.spawn_process(|mut ctx: Context<Till>| async move {
//!     let mut money = 0;
//!     while let Some(message) = ctx.receive().await {
//!         match message {
//!             Till::Take(amount) => money += amount,
//!             Till::Count(reply) => drop(reply.send(money)),
//!         }
//!     }
//! })?;
//! till.send(Till::Take(3))?;
//! till.send(Till::Take(4))?;
//! assert_eq!(process::block_on(till.call(Till::Count))?, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The model, in ten minutes
//!
//! **Addresses and pids.** [`Addr<M>`](Addr) is the typed way to a process, and the fast one. A
//! [`Pid`] is its name as plain data, never used twice; [`Processes::find`] gives the address behind
//! it. A process may have a name ([`ProcessBuilder::name`]) and be in groups
//! ([`Context::join_group`]). Messages for pids that are not of this runtime go to a [`Receiver`].
//!
//! **Messages** from one sender to one process arrive in order. A mailbox takes [`BOUND`] messages
//! unless told otherwise ([`MailboxKind`]); when it is full, [`send`](Addr::send) gives the message
//! back, [`send_wait`](Addr::send_wait) waits, and a mailbox may drop its oldest instead. A worker is
//! never blocked. A send to a process that has exited gives the message back.
//!
//! **Receiving**: [`receive`](Context::receive) in order, [`receive_if`](Context::receive_if) what is
//! wanted, [`receive_within`](Context::receive_within) a time, [`event`](Context::event) whatever
//! comes, news included.
//!
//! **Calls**: [`call`](Addr::call) sends a request with the right to answer it, and waits for the
//! [`Reply`]. If the other exits or drops the request, the caller is told; [`within`](Call::within)
//! sets a limit. A call to oneself is refused.
//!
//! **Hand-off**: [`hand_off`](Addr::hand_off) sends, and lets the other run next on this worker. Calls
//! and replies do so by themselves, and touch no queue where both share a worker.
//!
//! **Ends.** A process exits with an [`ExitReason`]: it was done, was asked to end, failed, panicked or
//! was killed. [`cancel`](Addr::cancel) asks: `receive` gives `None` from then on.
//! [`kill`](Addr::kill) does not ask. A [`link`](Context::link) ties two together: if one ends badly, so
//! does the other, unless it [traps exits](Context::trap_exits) and is told instead. A
//! [`monitor`](Context::monitor) is told, and nothing else. Children are linked unless
//! [`detached`](ProcessBuilder::detached). Requests to end never wait behind
//! messages.
//!
//! **Supervisors.** A [`Supervisor`] starts children in order, starts them again when they fail, with a
//! delay that grows, and stops them in the reverse order. When there is no end to it, it fails itself,
//! and its own supervisor may try the same one level up.
//!
//! **State machines.** What is not written as a future implements [`Process`]: events in, commands
//! out. Commands go to handlers ([`Processes::handle_command`], and
//! [`Processes::handle_blocking`] for what may block).
//!
//! **All at once.** [`Processes::processes`] lists what everyone is doing,
//! [`Processes::stop_processes`] ends them with a report. In a [`kernel::Simulation`] all of this runs
//! in virtual time with a seed, and [`FaultPlan`] lets things go wrong.
//!
//! # What it does not do
//! A turn is not interrupted: a process that computes for long awaits [`kernel::yield_now`] when
//! [`kernel::Handle::turn_expired`] says so. Nothing leaves the machine.

mod addr;
mod blocking;
mod body;
mod call;
mod cancelled;
mod context;
mod core;
mod dispatch;
mod driver;
mod ending;
mod error;
mod event;
mod exit;
mod faults;
mod inspect;
mod link;
mod mailbox;
mod monitor;
mod names;
mod news;
mod output;
mod payload;
mod pid;
mod processes;
mod receive;
mod relay;
mod reply;
mod room;
mod seats;
mod shutdown;
mod signal;
mod spawn;
mod step;
mod supervisor;
mod sync;
mod system;
mod table;
mod wait;

pub use addr::Addr;
pub use call::{Call, CallWait};
pub use context::Context;
pub use dispatch::{Command, Completion, SLEEP};
pub use error::{CallError, SendError, SendManyError, SpawnError};
pub use event::Event;
pub use exit::{ExitReason, Outcome};
pub use faults::FaultPlan;
pub use inspect::{ProcessCounts, ProcessInfo, ProcessState};
pub use monitor::MonitorId;
pub use output::{Status, StepOutput};
pub use payload::Payload;
pub use pid::{ParsePidError, Pid};
pub use processes::Processes;
pub use receive::{EventFuture, Receive, ReceiveIf};
pub use relay::Receiver;
pub use reply::{LateReply, Reply};
pub use shutdown::{STOP_TIMEOUT, StopReport};
pub use spawn::{BOUND, BOUND_MAX, MailboxKind, ProcessBuilder};
pub use step::{InitContext, Process, ProcessError, UnknownMethod};
pub use supervisor::{
    Backoff, CHILD_START_TIMEOUT, CHILD_STOP_TIMEOUT, ChildCounts, ChildInfo, ChildKind, ChildSpec,
    ChildStart, ChildState, RESTART_PERIOD, RESTARTS_MAX, Restart, Strategy, Supervisor,
    SupervisorError, SupervisorHandle,
};
pub use wait::{Exited, SendWait, block_on};
