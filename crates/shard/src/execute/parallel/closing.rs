//! Who makes the roots of a batch that was executed?
//!
//! The lane that ended it, and a job, if a worker comes to it in time. Both take parts until none is
//! left, and whoever lets go last tells that the batch is done. Nobody waits: a job that comes late
//! finds nothing to hold on to.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use job::{Context, Job, Pool};

use crate::{
    block::parts::{PART, Parts},
    execute::{Executed, parallel::Finished},
};

type Done = Box<dyn FnOnce(Finished) + Send>;

/// A batch that was executed, and whose roots are being made.
pub(super) struct Closing {
    parts: Parts,
    /// What is told in the end, but for what `parts` holds. The lane puts it here before it lets go.
    rest: Mutex<Option<(Finished, Done)>>,
}

impl Closing {
    /// Asks the pool for help, and takes what the block holds until the end. `None`: it is too little
    /// to share.
    pub(super) fn begin(executed: &mut Executed, pool: &Pool) -> Option<Arc<Closing>> {
        if executed.included.len() < 2 * PART as usize {
            return None;
        }
        let parts = Parts::new(mem::take(&mut executed.included));
        let closing = Arc::new(Closing { parts, rest: Mutex::default() });
        let late = Arc::downgrade(&closing);
        let help =
            move |_: &mut Context<'_, '_>| late.upgrade().into_iter().for_each(Closing::help);
        // If it is refused, the pool has stopped: then the lane does it all.
        drop(pool.submit(Job::new(help)));
        Some(closing)
    }

    /// The lane has done all else.
    pub(super) fn end(self: Arc<Closing>, finished: Finished, done: Done) {
        *self.rest.lock().unwrap_or_else(PoisonError::into_inner) = Some((finished, done));
        self.help();
    }

    fn help(self: Arc<Closing>) {
        self.parts.work();
        // Who lets go last finds all parts made: each makes what it takes before it lets go.
        let Some(Closing { parts, rest }) = Arc::into_inner(self) else { return };
        let rest = rest.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Some((mut finished, done)) = rest else { return };
        let (included, roots) = parts.finish();
        if let Ok(executed) = &mut finished.result {
            executed.included = included;
            finished.roots = roots;
        }
        done(finished);
    }
}
