//! How the transactions of a ledger get into a pool: in the chosen order, each after those that it
//! has to wait for; or not at all, and then they still wait in the ledger.

use std::{
    fmt,
    hash::Hash,
    panic::{self, AssertUnwindSafe},
};

use crate::{
    batch::{Batch, Content},
    context::Context,
    error::Error,
    graph::{
        typed::{Payloads, TypedCells},
        word::Word,
    },
    job::Executor,
    pool::Pool,
    transaction::{
        chain::{Chain, NONE},
        edges::Edges,
        ledger::{Ledger, TransactionId, Undeclared},
        order::{Order, by_price},
        past::Place,
        receipts::{Receipts, Sent},
        waiting::Slots,
    },
};

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
        let batch = self.put_together(sorted.as_deref());
        let order = sorted.as_deref().unwrap_or(&self.line);
        let content = || {
            let payload = |slot| self.waiting.get_mut(slot).payload.take().expect("it waits");
            let payloads = order.iter().copied().map(payload).collect();
            let execute = executor.execute.clone();
            let execute = move |payload: T, _: &mut Context<'_, '_>| execute(payload);
            let cells = TypedCells::<T, R, E, _>::new(execute, payloads);
            Content::Typed(Payloads::new(Box::new(cells)))
        };
        // The pool's prioritizer is foreign code: also if it panics, they are still due.
        let taken = panic::catch_unwind(AssertUnwindSafe(|| pool.take_with(batch, content)));
        let core = match taken {
            Ok(Ok(core)) => core,
            Ok(Err(error)) => {
                Self::forget_order(&mut self.chains, &self.waiting, order);
                return Err(error);
            }
            Err(payload) => {
                Self::forget_order(&mut self.chains, &self.waiting, order);
                panic::resume_unwind(payload);
            }
        };
        let batch = self.past.push(&core);
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
            let (id, sender) = (TransactionId(one.id), one.terms.sender);
            sent.push(Sent { id, sender, nonce: one.terms.nonce });
        }
        self.waiting.remove_all(order);
        self.line.clear();
        Ok(Receipts::new(core, sent.into_boxed_slice()))
    }

    /// The batch was not taken: no chain has a last one in it.
    #[cold]
    fn forget_order(chains: &mut [Chain], waiting: &Slots<T, K>, order: &[u32]) {
        for slot in order {
            chains[waiting.get(*slot).chain as usize].at = NONE;
        }
    }

    /// A batch of what is due, in this order or as it became so. Each chain then knows the index of
    /// its last.
    fn put_together(&mut self, sorted: Option<&[u32]>) -> Batch {
        let Ledger { line, waiting, chains, conflicts, past, .. } = self;
        let order = sorted.unwrap_or(line);
        let live = past.open(conflicts);
        conflicts.reset(self.keys);
        let mut edges = Edges::new(order.len(), &live);
        let mut words = Vec::with_capacity(order.len());
        let mut kept = Vec::with_capacity(order.len());
        for (index, slot) in (0u32..).zip(order) {
            let one = waiting.get(*slot);
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
            words.push(Word::new(edges.count()));
            kept.push(one.terms.kept());
        }
        let Edges { inside, outside, .. } = edges;
        let mut batch = Batch::hollow(words, inside, kept).on_failure(self.on_failure);
        batch.open.extend(outside.into_iter().map(|(index, place)| (index, live.name(place))));
        batch.forgiving = true;
        batch
    }
}
