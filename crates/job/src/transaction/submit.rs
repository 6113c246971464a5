//! How the transactions of a ledger get into a pool: in the chosen order, each after those that it
//! has to wait for; or not at all, and then they still wait in the ledger.

use std::{fmt, hash::Hash};

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
        chain::NONE,
        edges::Edges,
        ledger::{Ledger, TransactionId, Undeclared},
        order::{Order, by_price},
        past::Place,
        receipts::{Receipts, Sent},
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
        let taken = pool.take_with(batch, || {
            let payload = |slot| self.waiting.get_mut(slot).payload.take().expect("it waits");
            let payloads = order.iter().copied().map(payload).collect();
            let execute = executor.execute.clone();
            let execute = move |payload: T, _: &mut Context<'_, '_>| execute(payload);
            let cells = TypedCells::<T, R, E, _>::new(execute, payloads);
            Content::Typed(Payloads::new(Box::new(cells)))
        });
        let core = match taken {
            Ok(core) => core,
            Err(error) => {
                for slot in order {
                    self.chains[self.waiting.get(*slot).chain as usize].at = NONE;
                }
                return Err(error);
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
