//! What others can do with a supervisor: look at its children, and change them.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    addr::Addr,
    error::CallError,
    exit::ExitReason,
    pid::Pid,
    processes::Processes,
    reply::Reply,
    supervisor::{
        SupervisorError,
        children::{Child, Children, State},
        spec::{ChildKind, ChildSpec, Restart},
    },
    wait::Exited,
};

type Answer<T> = Reply<Result<T, SupervisorError>>;

/// What a supervisor is sent.
pub(crate) enum Request {
    Ready(Answer<()>),
    Which(Reply<Vec<ChildInfo>>),
    Add(Box<ChildSpec>, Answer<Pid>),
    Terminate(Arc<str>, Answer<()>),
    Restart(Arc<str>, Answer<Pid>),
    Delete(Arc<str>, Answer<()>),
}

impl Request {
    /// Tells whoever asked that too many have.
    pub(super) fn refuse(self) {
        fn full<T: Send>(reply: Answer<T>) {
            let _ = reply.send(Err(SupervisorError::Call(CallError::Full)));
        }
        match self {
            Request::Ready(reply) => full(reply),
            Request::Which(_) => unreachable!("those who look do not wait"),
            Request::Add(_, reply) | Request::Restart(_, reply) => full(reply),
            Request::Terminate(_, reply) | Request::Delete(_, reply) => full(reply),
        }
    }
}

/// How a child is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildState {
    /// It runs.
    Running,
    /// It is started again at this time of the runtime, or when those before it have been.
    Waiting(Duration),
    /// It was terminated, or not started yet.
    Stopped,
    /// It has ended, and is not started again.
    Done,
}

/// What a supervisor knows of a child. From [`SupervisorHandle::which_children`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChildInfo {
    /// Its id.
    pub id: Arc<str>,
    /// Its pid, if it runs.
    pub pid: Option<Pid>,
    /// How it is.
    pub state: ChildState,
    /// Whether it is a supervisor.
    pub kind: ChildKind,
    /// Whether it is started again.
    pub restart: Restart,
    /// How often it was started again.
    pub restarts: u64,
    /// Why it last ended, or was not started, if ever.
    pub last_exit: Option<ExitReason>,
}

/// How many children a supervisor has. From [`SupervisorHandle::count_children`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChildCounts {
    /// Children, whether they run or not.
    pub specs: usize,
    /// Those that run.
    pub running: usize,
    /// Those that wait to be started again.
    pub waiting: usize,
    /// Those that are supervisors.
    pub supervisors: usize,
    /// How often they were started again, all together.
    pub restarts: u64,
}

fn info(child: &Child) -> ChildInfo {
    ChildInfo {
        id: child.spec.id.clone(),
        pid: child.pid(),
        state: match child.state() {
            State::Running { .. } => ChildState::Running,
            State::Waiting { at } => ChildState::Waiting(at),
            State::Stopped => ChildState::Stopped,
            State::Ended | State::Done => ChildState::Done,
        },
        kind: child.spec.kind,
        restart: child.spec.restart,
        restarts: child.restarts,
        last_exit: child.last_exit.clone(),
    }
}

pub(super) fn infos(children: &Children) -> Vec<ChildInfo> {
    children.all().map(info).collect()
}

/// The way to a supervisor. Cheap to clone. From [`Supervisor::spawn`](crate::Supervisor::spawn).
///
/// Whoever looks is answered even while children are started or stopped; changes wait for their
/// turn, [`BOUND`](crate::BOUND) of them at most. All of it is an error once the supervisor has
/// exited.
#[derive(Clone)]
pub struct SupervisorHandle(pub(super) Addr<Request>);

impl SupervisorHandle {
    /// The pid of the supervisor.
    pub fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Whether the supervisor has not exited.
    pub fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// Waits until all children have been started.
    ///
    /// # Errors
    /// [`SupervisorError::Exited`], with the reason, if one of them could not be.
    pub async fn ready(&self) -> Result<(), SupervisorError> {
        self.change(Request::Ready).await
    }

    /// All children, in the order of their start.
    ///
    /// # Errors
    /// If the supervisor has exited.
    pub async fn which_children(&self) -> Result<Vec<ChildInfo>, SupervisorError> {
        match self.0.call(Request::Which).wait_for_room().await {
            Ok(children) => Ok(children),
            Err(error) => Err(self.refused(error).await),
        }
    }

    /// How many children there are.
    ///
    /// # Errors
    /// If the supervisor has exited.
    pub async fn count_children(&self) -> Result<ChildCounts, SupervisorError> {
        let children = self.which_children().await?;
        let count = |wanted: fn(&ChildInfo) -> bool| children.iter().filter(|c| wanted(c)).count();
        Ok(ChildCounts {
            specs: children.len(),
            running: count(|child| child.state == ChildState::Running),
            waiting: count(|child| matches!(child.state, ChildState::Waiting(_))),
            supervisors: count(|child| child.kind == ChildKind::Supervisor),
            restarts: children.iter().map(|child| child.restarts).sum(),
        })
    }

    /// The address of a child that runs. `None` if it does not run now, or takes other messages.
    ///
    /// # Errors
    /// If there is no such child, or the supervisor has exited.
    pub async fn child<M: Send + 'static>(
        &self,
        id: &str,
    ) -> Result<Option<Addr<M>>, SupervisorError> {
        let children = self.which_children().await?;
        let Some(child) = children.into_iter().find(|child| *child.id == *id) else {
            return Err(SupervisorError::UnknownChild(id.to_owned()));
        };
        Ok(child.pid.and_then(|pid| self.0.0.runtime().find(pid)))
    }

    /// Adds a child after the others, and starts it.
    ///
    /// # Errors
    /// If there is a child of its id, its back-off is not possible, or it could not be started: then
    /// it is not added.
    pub async fn add_child(&self, spec: ChildSpec) -> Result<Pid, SupervisorError> {
        self.change(|reply| Request::Add(Box::new(spec), reply)).await
    }

    /// Stops a child; it stays stopped until [`restart_child`](SupervisorHandle::restart_child). A
    /// temporary one is forgotten.
    ///
    /// # Errors
    /// If there is no such child.
    pub async fn terminate_child(&self, id: &str) -> Result<(), SupervisorError> {
        self.change(|reply| Request::Terminate(id.into(), reply)).await
    }

    /// Starts a child that does not run, without waiting for its back-off.
    ///
    /// # Errors
    /// If there is no such child, it runs, or it could not be started: then it is stopped.
    pub async fn restart_child(&self, id: &str) -> Result<Pid, SupervisorError> {
        self.change(|reply| Request::Restart(id.into(), reply)).await
    }

    /// Forgets a child that was terminated or is done.
    ///
    /// # Errors
    /// If there is no such child, or it runs or is about to.
    pub async fn delete_child(&self, id: &str) -> Result<(), SupervisorError> {
        self.change(|reply| Request::Delete(id.into(), reply)).await
    }

    /// Asks the supervisor to stop its children, the last one first, and to end.
    pub fn stop(&self) {
        self.0.cancel();
    }

    /// Ends the supervisor without asking. Its children are linked to it and end with it.
    pub fn kill(&self) {
        self.0.kill();
    }

    /// Waits until the supervisor has exited, and says why.
    pub fn exited(&self) -> impl Future<Output = ExitReason> + Send + 'static {
        let exited: Exited<Request> = self.0.exited();
        exited
    }

    async fn change<T: Send>(
        &self,
        make: impl FnOnce(Answer<T>) -> Request,
    ) -> Result<T, SupervisorError> {
        match self.0.call(make).wait_for_room().await {
            Ok(result) => result,
            Err(error) => Err(self.refused(error).await),
        }
    }

    async fn refused(&self, error: CallError) -> SupervisorError {
        match error {
            // Its mailbox is closed or will be: the reason is there, or comes.
            CallError::Exited | CallError::NoReply => {
                SupervisorError::Exited(self.0.exited().await)
            }
            error => SupervisorError::Call(error),
        }
    }
}

impl fmt::Debug for SupervisorHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SupervisorHandle({})", self.pid())
    }
}
