//! What the submitter of transactions holds: a receipt for each, in the order of execution.

use std::{fmt, marker::PhantomData, sync::Arc};

use crate::{
    batch::handle::{BatchHandle, BatchProgress},
    error::{Error, JobError},
    graph::{Core, times::Timings},
    handle::{Done, Status, status},
    transaction::{key::Address, ledger::TransactionId},
};

/// The receipts of transactions that were submitted together, in the order in which they count as
/// executed. They are executed all the same when it is dropped.
///
/// ```
/// use job::{Executor, Pool};
/// use job::transaction::{Address, Ledger, Transaction};
///
/// let pool = Pool::new()?;
/// let parse = Executor::new(|text: &'static str| text.parse::<u32>());
/// let mut ledger = Ledger::new();
/// let sender = Address::new([1; 20]);
/// ledger.add(Transaction::new(sender, 0, "forty-two"))?;
/// let id = ledger.add(Transaction::new(sender, 1, "42"))?.id;
///
/// let receipts = ledger.submit(&pool, &parse)?;
/// receipts.wait()?;
/// assert!(receipts.result(0).unwrap().is_err());
/// assert_eq!(receipts.find(id).and_then(|at| receipts.result(at)), Some(Ok(&42)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "drop it if nobody wants the receipts; the transactions are executed all the same"]
pub struct Receipts<R, E> {
    core: Arc<Core>,
    sent: Box<[Sent]>,
    types: PhantomData<fn() -> (R, E)>,
}

/// Which transaction it is.
pub(super) struct Sent {
    pub(super) id: TransactionId,
    pub(super) sender: Address,
    pub(super) nonce: u64,
}

/// What became of a transaction.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Receipt<R, E> {
    /// Its name.
    pub id: TransactionId,
    /// Who sent it.
    pub sender: Address,
    /// Which of its sender's it was.
    pub nonce: u64,
    /// What the executor returned, or why it did not.
    pub outcome: Result<R, JobError<E>>,
}

impl<R: 'static, E: 'static> Receipts<R, E> {
    /// For whoever knows that the outcomes have these types, and that nobody else has a handle.
    pub(super) fn new(core: Arc<Core>, sent: Box<[Sent]>) -> Receipts<R, E> {
        Receipts { core, sent, types: PhantomData }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sent.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Where in the order a transaction comes. It looks at each of them.
    pub fn find(&self, id: TransactionId) -> Option<usize> {
        self.sent.iter().position(|sent| sent.id == id)
    }

    /// The names of the transactions, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = TransactionId> + '_ {
        self.sent.iter().map(|sent| sent.id)
    }

    /// How far the transaction at this place has come.
    ///
    /// # Panics
    /// If there is no such place. The same holds for the others that take one.
    pub fn status(&self, at: usize) -> Status<'_, R, E> {
        status(&self.core, self.index(at))
    }

    /// What became of the transaction at this place, if it has ended.
    pub fn result(&self, at: usize) -> Option<Result<&R, &JobError<E>>> {
        // SAFETY: the types are those of the jobs, and outcomes are taken only in `join`, which
        // ends this borrow.
        unsafe { self.core.outcome::<R, E>(self.index(at)) }
    }

    /// When it was submitted, ready, started and ended. Of large batches only some are timed.
    pub fn timings(&self, at: usize) -> Option<Timings> {
        self.core.times().read(self.index(at))
    }

    fn index(&self, at: usize) -> u32 {
        assert!(at < self.len(), "there are {} receipts, and none at {at}", self.len());
        at as u32
    }

    /// How many have come how far. It looks at each of them.
    pub fn progress(&self) -> BatchProgress {
        BatchHandle::new(self.core.clone()).progress()
    }

    /// Asks that none is executed that has not started. Their nonces are used all the same.
    pub fn cancel(&self) {
        self.core.cancel();
    }

    /// Whether all have ended.
    pub fn is_done(&self) -> bool {
        self.core.has_ended()
    }

    /// Waits until all have ended; [`done`](Receipts::done) for tasks.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] inside a job of the same pool, and in a simulation.
    pub fn wait(&self) -> Result<(), Error> {
        BatchHandle::new(self.core.clone()).wait().map(drop)
    }

    /// Ready when all have ended.
    pub fn done(&self) -> Done<'_> {
        Done::batch(&self.core)
    }

    /// Waits until all have ended, and takes what they left.
    ///
    /// # Errors
    /// As for [`wait`](Receipts::wait).
    pub fn join(self) -> Result<Vec<Receipt<R, E>>, Error> {
        if !self.is_done() {
            self.wait()?;
        }
        let Receipts { core, sent, .. } = self;
        let receipt = |(index, Sent { id, sender, nonce }): (u32, Sent)| {
            // SAFETY: all have ended, the types are those of the jobs, and nobody else can read
            // them: there are no other handles, and no job was told of another.
            let outcome = unsafe { core.take::<R, E>(index) };
            Receipt { id, sender, nonce, outcome }
        };
        Ok((0u32..).zip(sent).map(receipt).collect())
    }
}

impl<R: 'static, E: 'static> fmt::Debug for Receipts<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipts").field("progress", &self.progress()).finish()
    }
}
