//! What does a lane do in its turns?
//!
//! A lane is a job. It takes what is to be done from the schedule, until there is nothing: then it
//! ends, so that nobody ever waits for anybody inside a turn. Its machine lives for one turn,
//! since it can not go to another thread.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use job::{Context, Job, Pool, Progress};

use crate::execute::{
    ExecuteError,
    parallel::{
        Finished,
        attempt::{Attempt, Runner},
        closing::Closing,
        frontier::Frontier,
        schedule::{Left, Schedule, Task},
        state::Common,
        stretch::{Came, Share},
    },
};

/// A batch under way.
pub(super) struct Run {
    pub(super) schedule: Schedule<Share, Came, Box<Frontier>>,
    pub(super) ending: Mutex<Option<Ending>>,
}

/// What happens when the last lane has left.
pub(super) struct Ending {
    pub(super) common: Arc<Common>,
    pub(super) done: Box<dyn FnOnce(Finished) + Send>,
}

/// One of those who work on a batch.
pub(super) struct Lane {
    /// As the schedule knows it.
    number: usize,
    run: Arc<Run>,
    /// `None`: it has left.
    common: Option<Arc<Common>>,
    /// In a simulation, what came of a share and nobody knows yet.
    kept: Option<Came>,
}

impl Lane {
    /// It counts in the schedule already.
    pub(super) fn start(number: usize, run: Arc<Run>, common: Arc<Common>, pool: &Pool) {
        let mut lane = Lane { number, run, common: Some(common), kept: None };
        let job = Job::resumable(move |cx| lane.turn(cx));
        // If it is refused, the pool has stopped. Then the lane is dropped here, and leaves.
        drop(pool.submit(job));
    }

    fn turn(&mut self, cx: &mut Context<'_, '_>) -> Progress<Result<(), Infallible>> {
        let Some(common) = self.common.clone() else { return Progress::Done(Ok(())) };
        if let Some(came) = self.kept.take() {
            self.run.schedule.came(came);
        }
        let mut runner = Runner::new(&common, self.number);
        let simulated = cx.turn().handle().is_simulated();
        loop {
            match self.run.schedule.next() {
                Task::Execute(Share { places, net }) => {
                    let attempt = runner.attempt(&net, &places);
                    drop(net);
                    let gas = attempt.as_ref().map_or(0, Attempt::gas);
                    let came = Came { places, attempt };
                    if simulated {
                        // Real ones take their time, and others do something meanwhile.
                        cx.simulate(Duration::from_nanos(gas));
                        self.kept = Some(came);
                        return Progress::Continue;
                    }
                    self.run.schedule.came(came);
                }
                Task::Lead(frontier, came) => self.lead(&common, &mut runner, frontier, came, cx),
                Task::Leave => {
                    drop((runner, common));
                    self.leave(Some(&Pool::on(&cx.turn().handle())));
                    return Progress::Done(Ok(()));
                }
            }
            if cx.expired() {
                return Progress::Continue;
            }
        }
    }

    /// Takes what came, and begins with more or ends.
    fn lead(
        &self,
        common: &Arc<Common>,
        runner: &mut Runner,
        mut frontier: Box<Frontier>,
        came: Vec<Came>,
        cx: &mut Context<'_, '_>,
    ) {
        let shares = frontier.lead(runner, common, came);
        cx.simulate(Duration::from_nanos(frontier.take_settled()));
        if shares.is_empty() {
            return self.run.schedule.finish(frontier);
        }
        let pool = Pool::on(&cx.turn().handle());
        for lane in self.run.schedule.begin(frontier, shares) {
            Lane::start(lane, Arc::clone(&self.run), Arc::clone(common), &pool);
        }
    }

    /// The last that leaves ends the batch, with help from the pool if there is one.
    fn leave(&mut self, pool: Option<&Pool>) {
        let Some(common) = self.common.take() else { return };
        self.kept = None;
        // Before anybody can know that we have left: the last owns what all have shared.
        drop(common);
        if let Some(left) = self.run.schedule.leave(self.number) {
            self.run.end(left, pool);
        }
    }
}

/// A lane that was stopped, or has panicked.
impl Drop for Lane {
    fn drop(&mut self) {
        self.leave(None);
    }
}

impl Run {
    fn end(&self, left: Left<Box<Frontier>>, pool: Option<&Pool>) {
        let ending = self.ending.lock().expect("nothing panics under its lock").take();
        let Some(Ending { common, done }) = ending else { return };
        let common = Arc::into_inner(common).expect("each lane gives it back before it leaves");
        let Common { mut cache, mut bases, context, batch, .. } = common;
        let ((together, conflicts, alone), mut result) = match left {
            Left::Whole(frontier) => {
                let counts = (frontier.together, frontier.conflicts, frontier.alone);
                (counts, frontier.finish())
            }
            Left::Broken => {
                let why = "a lane was stopped before the batch was done";
                ((0, 0, 0), Err(ExecuteError::Fault(why.to_owned())))
            }
        };
        let mut closing = None;
        if let Ok((executed, net)) = &mut result {
            // Others begin with the roots while this thread sees to the rest.
            closing = pool.and_then(|pool| Closing::begin(executed, pool));
            if let Some(net) = net.take() {
                executed.changes = Arc::new(net.into_changes());
            }
        }
        let result = result.map(|(executed, _)| executed);
        let base = bases.take();
        let slots = base.slots.into_iter();
        let slots = slots.map(|(key, value)| ((key.address, key.slot), value));
        cache.returned(base.accounts, slots);
        match &result {
            Ok(executed) if closing.is_none() && executed.included.is_empty() => {}
            Ok(executed) => cache.apply(context.height, &executed.changes),
            // As the other executor: what was read may be what is wrong.
            Err(_) => cache.forget_committed(),
        }
        let finished = Finished { cache, result, roots: None, together, conflicts, alone };
        match closing {
            Some(closing) => closing.end(finished, done),
            None => done(finished),
        }
        // Nobody waits for this any more.
        drop((bases, batch));
    }
}
