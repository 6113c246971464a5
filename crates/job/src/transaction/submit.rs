//! How the transactions of a ledger get into a pool: in the chosen order, each after those that it
//! has to wait for; or not at all, and then they still wait in the ledger.

use std::{
    fmt,
    hash::Hash,
    panic::{self, AssertUnwindSafe},
    ptr::NonNull,
    sync::Arc,
};

use crate::{
    batch::Batch,
    body::{Body, Turned},
    context::Context,
    error::Error,
    job::Executor,
    pool::Pool,
    transaction::{
        chain::NONE,
        edges::Edges,
        ledger::{Ledger, TransactionId, Undeclared},
        order::{Order, by_price},
        past::Place,
        receipts::{Receipts, Sent},
    },
};

/// A payload, and the executor that all of the batch share.
pub(super) struct Execute<T, F> {
    payload: T,
    /// The batch keeps it, and stays until its last job has ended.
    executor: NonNull<F>,
}

// SAFETY: the payload is sent, and the executor shared, which both may be.
unsafe impl<T: Send, F: Sync> Send for Execute<T, F> {}

impl<T, F, R, E> Body for Execute<T, F>
where
    T: Send + 'static,
    F: Fn(T) -> Result<R, E> + Send + Sync + 'static,
    R: Send + Sync + 'static,
    E: fmt::Display + Send + Sync + 'static,
{
    type Output = R;
    type Error = E;
    const RESUMABLE: bool = false;

    #[inline]
    fn turn(self, _: &mut Context<'_, '_>) -> Turned<Self> {
        // SAFETY: the job has not ended, so its batch stays, and with it the executor.
        let execute = unsafe { self.executor.as_ref() };
        Turned::Done(execute(self.payload))
    }
}

impl<T: Send + 'static, K: Copy + Eq + Hash> Ledger<T, K> {
    /// Puts all that is due in line, as one batch. What is held back stays.
    ///
    /// # Errors
    /// Why the pool refused them. They are still due then, and nothing was put in line.
    pub fn submit<F, R, E>(
        &mut self,
        pool: &Pool,
        executor: &Executor<T, F>,
    ) -> Result<Receipts<R, E>, Error>
    where
        F: Fn(T) -> Result<R, E> + Send + Sync + 'static,
        R: Send + Sync + 'static,
        E: fmt::Display + Send + Sync + 'static,
    {
        let sorted = match self.order {
            Order::Given => None,
            Order::Price => Some(by_price(&self.line, &self.waiting, &mut self.chains)),
        };
        let sorted = sorted.as_deref();
        let mut batch = self.put_together(sorted, &executor.execute);
        // The pool's prioritizer is foreign code: also if it panics, they are still due.
        let ticket = match panic::catch_unwind(AssertUnwindSafe(|| pool.prepare(&mut batch))) {
            Ok(Ok(ticket)) => ticket,
            Ok(Err(error)) => {
                self.put_back::<F, R, E>(sorted, batch);
                return Err(error);
            }
            Err(payload) => {
                self.put_back::<F, R, E>(sorted, batch);
                panic::resume_unwind(payload);
            }
        };
        let core = pool.launch(batch, ticket);
        let batch = self.past.push(&core);
        let order = sorted.unwrap_or(&self.line);
        let mut sent = Vec::with_capacity(order.len());
        for (index, slot) in (0u32..).zip(order) {
            let one = self.waiting.get(*slot);
            let chain = &mut self.chains[one.chain as usize];
            // The last of its sender, by order.
            if chain.at == index {
                chain.advance(Place { batch, index });
                chain.at = NONE;
            }
            self.keys -= one.terms.size();
            sent.push(Sent {
                id: TransactionId(one.id),
                sender: one.terms.sender,
                nonce: one.terms.nonce,
            });
        }
        self.waiting.remove_all(order);
        self.line.clear();
        Ok(Receipts::new(core, sent.into_boxed_slice()))
    }

    /// The batch was not taken: the payloads go back to where they waited.
    #[cold]
    fn put_back<F, R, E>(&mut self, sorted: Option<&[u32]>, batch: Batch)
    where
        F: Fn(T) -> Result<R, E> + Send + Sync + 'static,
        R: Send + Sync + 'static,
        E: fmt::Display + Send + Sync + 'static,
    {
        // SAFETY: `put_together` made all of them so.
        let bodies = unsafe { batch.into_bodies::<Execute<T, F>>() };
        for (slot, body) in sorted.unwrap_or(&self.line).iter().zip(bodies) {
            let one = self.waiting.get_mut(*slot);
            one.payload = Some(body.payload);
            self.chains[one.chain as usize].at = NONE;
        }
    }

    /// A batch of what is due, in this order or as it became so. The payloads go with it, and each
    /// chain knows the index of its last.
    fn put_together<F, R, E>(&mut self, sorted: Option<&[u32]>, executor: &Arc<F>) -> Batch
    where
        F: Fn(T) -> Result<R, E> + Send + Sync + 'static,
        R: Send + Sync + 'static,
        E: fmt::Display + Send + Sync + 'static,
    {
        let Ledger { line, waiting, chains, conflicts, past, .. } = self;
        let order = sorted.unwrap_or(line);
        let live = past.open(conflicts);
        conflicts.reset(self.keys);
        let mut edges = Edges::new(order.len(), &live);
        let mut batch = Batch::with_capacity(order.len()).on_failure(self.on_failure);
        for (index, slot) in (0u32..).zip(order) {
            let one = waiting.get_mut(*slot);
            let payload = one.payload.take().expect("it waits");
            let body = Execute { payload, executor: NonNull::from(&**executor) };
            batch.push_kept(body, one.terms.kept());
            edges.begin(index);
            let chain = &mut chains[one.chain as usize];
            match (chain.at, chain.last) {
                (NONE, Some(last)) => edges.after_place(last),
                (NONE, None) => {}
                (before, _) => edges.after(before),
            }
            chain.at = index;
            if one.terms.is_declared() {
                conflicts.touch(index, one.terms.sets(), past, &mut edges);
            } else if self.undeclared == Undeclared::Alone {
                conflicts.alone(index, past, &mut edges);
            }
        }
        let Edges { inside, outside, .. } = edges;
        batch.connect_forward(inside);
        batch.open.extend(outside.into_iter().map(|(index, place)| (index, live.name(place))));
        batch.keep(executor.clone());
        batch.forgiving = true;
        batch
    }
}
