//! How a process is made.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc, time::Duration};

use kernel::{Attributes, Handle, ScheduleError, StrandWith};

use crate::{
    addr::Addr,
    body::AsyncBody,
    context::Context,
    core::{self, Core, Front, TRAPS},
    error::SpawnError,
    exit::Outcome,
    link,
    mailbox::{Gauge, Store},
    names,
    payload::Payload,
    pid::Pid,
    sync::Mutex,
    system::{self, System},
};

/// How many messages a mailbox takes when nothing else is said.
pub const BOUND: usize = 1024;

/// The largest bound a mailbox can have; whoever needs more takes [`MailboxKind::Unbounded`].
///
/// ```
/// use process::{BOUND_MAX, Context, MailboxKind, Processes, SpawnError};
///
/// let runtime = kernel::Runtime::new()?;
/// for bound in [0, BOUND_MAX + 1, usize::MAX] {
///     for kind in [MailboxKind::Bounded(bound), MailboxKind::DropOldest(bound)] {
///         let refused = runtime.process().mailbox(kind).spawn(|_: Context<()>| async {});
///         assert_eq!(refused.unwrap_err(), SpawnError::Bound(bound));
///     }
/// }
/// let boundless = runtime.process().mailbox(MailboxKind::Unbounded);
/// boundless.spawn(|_: Context<()>| async {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const BOUND_MAX: usize = 65_000;

/// The handles a process is made with: the address, if somebody wants one, the table's, the context's.
const HANDLES: u32 = 3;

/// What a mailbox does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MailboxKind {
    /// So many messages may wait. When it is full, senders are told, or wait if they choose to.
    ///
    /// The bound is kept without a lock: while a turn of the process begins, what it takes over may be
    /// counted late, and each who sends at that moment may put one send (of at most 512 messages)
    /// beyond it.
    Bounded(usize),
    /// As many messages may wait as there is memory.
    Unbounded,
    /// So many messages may wait. When it is full, the oldest is dropped for a new one.
    DropOldest(usize),
}

impl Default for MailboxKind {
    /// [`BOUND`] messages, and senders are told when it is full.
    fn default() -> MailboxKind {
        MailboxKind::Bounded(BOUND)
    }
}

/// Makes a process. From [`Processes::process`](crate::Processes::process) and [`Context::process`].
#[must_use = "a process is made by `spawn`"]
pub struct ProcessBuilder<'a> {
    runtime: &'a Handle,
    name: Option<Arc<str>>,
    mailbox: MailboxKind,
    parent: Option<Pid>,
    link: Option<StrandWith<Core>>,
    traps: bool,
    attributes: Attributes,
    values: BTreeMap<String, Payload>,
    deadline: Option<Duration>,
    /// Where its pid is noted.
    note: Option<Arc<Mutex<Vec<Pid>>>>,
}

impl<'a> ProcessBuilder<'a> {
    #[inline]
    pub(crate) fn new(runtime: &'a Handle) -> ProcessBuilder<'a> {
        ProcessBuilder {
            runtime,
            name: None,
            mailbox: MailboxKind::default(),
            parent: None,
            link: None,
            traps: false,
            attributes: Attributes::default(),
            values: BTreeMap::new(),
            deadline: None,
            note: None,
        }
    }

    pub(crate) fn child_of(mut self, parent: &StrandWith<Core>) -> ProcessBuilder<'a> {
        self.parent = Some(parent.pid());
        self.link = Some(parent.clone());
        self
    }

    /// Notes its pid when it is spawned.
    pub(crate) fn noted(mut self, note: &Arc<Mutex<Vec<Pid>>>) -> ProcessBuilder<'a> {
        self.note = Some(note.clone());
        self
    }

    /// What its spawner wants a [`Process`](crate::Process) to know, under a name. A closure knows what
    /// it captures: with this, [`spawn`](ProcessBuilder::spawn) refuses it.
    pub fn value(mut self, name: impl Into<String>, value: impl Into<Payload>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }

    /// When a [`Process`](crate::Process) is asked to end, in the runtime's time. For a closure there is
    /// [`Context::receive_within`]: with this, [`spawn`](ProcessBuilder::spawn) refuses it.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    pub(crate) fn take_context(&mut self) -> (BTreeMap<String, Payload>, Option<Duration>) {
        (std::mem::take(&mut self.values), self.deadline.take())
    }

    /// A name, under which [`Processes::named`](crate::Processes::named) finds it as long as it lives.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> ProcessBuilder<'a> {
        self.name = Some(name.into());
        self
    }

    /// How many messages may wait, and what happens when there are more.
    pub fn mailbox(mut self, mailbox: MailboxKind) -> ProcessBuilder<'a> {
        self.mailbox = mailbox;
        self
    }

    /// Not linked to the process that spawns it.
    pub fn detached(mut self) -> ProcessBuilder<'a> {
        self.link = None;
        self
    }

    /// Exits of links come as events, from the start.
    pub fn trap_exits(mut self) -> ProcessBuilder<'a> {
        self.traps = true;
        self
    }

    /// Its priority under `Priority`: higher runs first.
    pub fn priority(mut self, priority: f64) -> ProcessBuilder<'a> {
        self.attributes.priority = priority;
        self
    }

    /// Its key for the function of `Placement::Affinity`.
    pub fn key(mut self, key: u64) -> ProcessBuilder<'a> {
        self.attributes.key = Some(key);
        self
    }

    /// Spawns it. `start` is called in the first turn of the process.
    ///
    /// # Errors
    /// If the runtime has stopped or is stopping its processes, the name is taken, the bound of the
    /// mailbox is not possible, or it was given what only a state machine has.
    pub fn spawn<M, F, Fut>(self, start: F) -> Result<Addr<M>, SpawnError>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        let ProcessBuilder {
            runtime,
            name,
            mailbox,
            parent,
            link,
            traps,
            mut attributes,
            values,
            deadline,
            note,
        } = self;
        if !values.is_empty() || deadline.is_some() {
            return Err(SpawnError::NotAMachine);
        }
        let (bound, drops) = match mailbox {
            MailboxKind::Bounded(bound) => (bound, false),
            MailboxKind::DropOldest(bound) => (bound, true),
            // That is how a gauge says it.
            MailboxKind::Unbounded => (0, false),
        };
        if mailbox != MailboxKind::Unbounded && !(1..=BOUND_MAX).contains(&bound) {
            return Err(SpawnError::Bound(bound));
        }
        let system = system::of(runtime);
        let pid = claim(runtime, system)?;
        attributes.name = name.as_deref().map(str::to_owned);
        if let Some(name) = &name
            && let Err(holder) = names::take(system, name.clone(), pid)
        {
            system.table.unclaim(runtime, pid);
            return Err(SpawnError::NameTaken(name.to_string(), holder));
        }
        let born = runtime.coarse_now().as_millis() as u32;
        let flags = if traps { TRAPS } else { 0 };
        let front = || {
            let (gauge, store) = match drops {
                true => Store::dropping(bound, flags),
                // `BOUND_MAX` fits.
                false => (Gauge::new(bound as u16, flags), Store::new()),
            };
            Front { core: Core::new::<M>(pid, born, gauge), store }
        };
        let registered = name.clone();
        let made = launch(runtime, system, &attributes, pid, front, start, |own| {
            if name.is_some() || parent.is_some() {
                own.core.with_extras(|state| (state.name, state.parent) = (name, parent));
            }
            system.table.enter(pid, own.as_raw());
            if let Some(parent) = link {
                link::link(&parent, &core::untyped(own));
            }
        });
        if let (Err(_), Some(name)) = (&made, registered) {
            names::release(system, &name, pid);
        }
        if let (Ok(_), Some(note)) = (&made, note) {
            note.lock().push(pid);
        }
        made
    }
}

/// What is said of a process of which nothing is said.
static PLAIN: Attributes = Attributes { name: None, priority: 0.0, level: 0, key: None };

/// Spawns a process with all defaults, with nothing on the way that it does not need.
#[inline]
pub(crate) fn spawn_plain<M, F, Fut>(runtime: &Handle, start: F) -> Result<Addr<M>, SpawnError>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    let system = system::of(runtime);
    let pid = claim(runtime, system)?;
    let (front, enter) = (plain_front(runtime, pid), enter(system, pid));
    launch(runtime, system, &PLAIN, pid, front, start, enter)
}

/// As `spawn_plain`, without an address.
#[inline]
pub(crate) fn spawn_pid<M, F, Fut>(runtime: &Handle, start: F) -> Result<Pid, SpawnError>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    let system = system::of(runtime);
    let pid = claim(runtime, system)?;
    let (front, enter) = (plain_front::<M>(runtime, pid), enter(system, pid));
    let make = || (front(), AsyncBody::new(start));
    let mut named = None;
    let attributes = attributes_of(runtime, pid, &PLAIN, &mut named);
    match StrandWith::start_unheld(runtime, attributes, HANDLES - 1, make, enter) {
        Ok(()) => Ok(pid),
        Err(error) => Err(unmade(runtime, system, pid, error)),
    }
}

#[inline]
fn claim(runtime: &Handle, system: &System) -> Result<Pid, SpawnError> {
    if system.is_stopping() { Err(SpawnError::Stopping) } else { Ok(system.table.claim(runtime)) }
}

/// What makes the open part of a process of which nothing is said.
#[inline]
fn plain_front<M: Send + 'static>(runtime: &Handle, pid: Pid) -> impl FnOnce() -> Front<M> {
    let born = runtime.coarse_now().as_millis() as u32;
    move || Front {
        core: Core::new::<M>(pid, born, Gauge::new(BOUND as u16, 0)),
        store: Store::new(),
    }
}

/// What enters a process of which nothing is said under its pid.
#[inline]
fn enter<M>(system: &System, pid: Pid) -> impl FnOnce(&StrandWith<Front<M>>) {
    move |own| system.table.enter(pid, own.as_raw())
}

#[inline(always)]
fn launch<M, F, Fut>(
    runtime: &Handle,
    system: &System,
    attributes: &Attributes,
    pid: Pid,
    front: impl FnOnce() -> Front<M>,
    start: F,
    before: impl FnOnce(&StrandWith<Front<M>>),
) -> Result<Addr<M>, SpawnError>
where
    M: Send + 'static,
    F: FnOnce(Context<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Outcome> + Send + 'static,
{
    let mut named = None;
    let attributes = attributes_of(runtime, pid, attributes, &mut named);
    // They are written where they will lie: to copy them there would cost a part of a spawn.
    let make = || (front(), AsyncBody::new(start));
    match StrandWith::start(runtime, attributes, HANDLES, make, before) {
        Ok(own) => Ok(Addr(own)),
        Err(error) => Err(unmade(runtime, system, pid, error)),
    }
}

#[cold]
fn unmade(runtime: &Handle, system: &System, pid: Pid, error: ScheduleError) -> SpawnError {
    system.table.unclaim(runtime, pid);
    error.into()
}

/// What the kernel is told of a process.
#[inline]
fn attributes_of<'a>(
    runtime: &Handle,
    pid: Pid,
    attributes: &'a Attributes,
    named: &'a mut Option<Attributes>,
) -> &'a Attributes {
    if !runtime.is_recording() || attributes.name.is_some() {
        return attributes;
    }
    named.insert(named_after(pid, attributes))
}

/// The same, with a name: while turns are recorded, it is said whose they are.
#[cold]
fn named_after(pid: Pid, attributes: &Attributes) -> Attributes {
    Attributes { name: Some(format!("process {pid}")), ..attributes.clone() }
}

impl fmt::Debug for ProcessBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessBuilder")
            .field("name", &self.name)
            .field("mailbox", &self.mailbox)
            .finish_non_exhaustive()
    }
}
