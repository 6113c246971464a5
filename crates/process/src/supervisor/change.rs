//! How children are added, terminated, started again and deleted when somebody asks for it.

use crate::{
    exit::ExitReason,
    pid::Pid,
    supervisor::{
        ChildSpec, Restart, SupervisorError,
        children::{Key, State},
        handle::Request,
        tree::Tree,
    },
};

impl Tree {
    /// Does what somebody asked for.
    pub(super) async fn answer(&mut self, request: Request) -> Result<(), ExitReason> {
        // Whoever asked may not wait any more: then nobody reads the answer.
        match request {
            Request::Ready(reply) => drop(reply.send(Ok(()))),
            Request::Which(_) => unreachable!("those who look do not wait"),
            Request::Add(spec, reply) => drop(reply.send(self.add(*spec).await)),
            Request::Terminate(id, reply) => drop(reply.send(self.terminate(&id).await)),
            Request::Restart(id, reply) => drop(reply.send(self.restart(&id).await)),
            Request::Delete(id, reply) => drop(reply.send(self.delete(&id))),
        }
        self.go_on()
    }

    async fn add(&mut self, spec: ChildSpec) -> Result<Pid, SupervisorError> {
        let key = self.children.add(spec)?;
        let started = self.start_now(key).await;
        if started.is_err() {
            self.children.remove(key);
        }
        started
    }

    async fn terminate(&mut self, id: &str) -> Result<(), SupervisorError> {
        let (key, _) = self.find(id)?;
        self.stop(key).await;
        match self.children.child(key).spec.restart {
            Restart::Temporary => self.children.remove(key),
            _ => self.children.set(key, State::Stopped),
        }
        Ok(())
    }

    async fn restart(&mut self, id: &str) -> Result<Pid, SupervisorError> {
        let (key, state) = self.find(id)?;
        if let State::Running { .. } = state {
            return Err(SupervisorError::ChildRuns(id.to_owned()));
        }
        self.children.child(key).restarts += 1;
        self.start_now(key).await
    }

    fn delete(&mut self, id: &str) -> Result<(), SupervisorError> {
        let (key, state) = self.find(id)?;
        if !matches!(state, State::Stopped | State::Done) {
            return Err(SupervisorError::ChildRuns(id.to_owned()));
        }
        self.children.remove(key);
        Ok(())
    }

    fn find(&self, id: &str) -> Result<(Key, State), SupervisorError> {
        let found = self.children.find(id);
        let found = found.and_then(|key| Some((key, self.children.state(key)?)));
        found.ok_or_else(|| SupervisorError::UnknownChild(id.to_owned()))
    }

    async fn start_now(&mut self, key: Key) -> Result<Pid, SupervisorError> {
        let started = self.start(key).await;
        started.map_err(|reason| {
            SupervisorError::ChildStart(self.children.child(key).spec.id.to_string(), reason)
        })
    }
}
