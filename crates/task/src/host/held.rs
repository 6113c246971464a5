//! The mutexes that a task owns.
//!
//! Another task may close one of them, which no limit counts from then on, and the owner is not told.
//! So these are looked for once there are twice as many as may be open: half of them at least are
//! closed then, and looking costs a constant for each.

use std::{collections::BTreeMap, sync::Arc};

use crate::{id::TaskId, object::guarded::Guarded};

/// By their ids: there may be very many.
#[derive(Default)]
pub(super) struct Held(BTreeMap<u64, Arc<Guarded>>);

impl Held {
    pub(super) fn find(&self, id: u64) -> Option<&Arc<Guarded>> {
        self.0.get(&id)
    }

    /// `who` owns this one too. There are never more than `open_max` that are not closed.
    pub(super) fn add(&mut self, mutex: Arc<Guarded>, who: TaskId, open_max: usize) {
        if self.0.len() / 2 >= open_max {
            self.0.retain(|_, held| held.owner() == Some(who));
        }
        self.0.insert(mutex.id, mutex);
    }

    pub(super) fn remove(&mut self, id: u64) {
        self.0.remove(&id);
    }

    pub(super) fn into_all(self) -> impl Iterator<Item = Arc<Guarded>> {
        self.0.into_values()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{
        abi::Code,
        object::{
            Attempt, Commons,
            message::{Allowance, Message},
        },
        program::counts::Counts,
        task::waiter::Readies,
    };

    #[test]
    fn what_others_have_closed_does_not_pile_up() {
        let who = TaskId::new(7);
        let commons = Commons { counts: Counts::new(), in_flight: Allowance::new(usize::MAX) };
        let mut held = Held::default();
        for id in 1..=100 {
            let cell = Message::new(b"");
            assert!(commons.in_flight.take(cell.weight()));
            let mutex = Arc::new(Guarded::new(id, cell));
            assert_eq!(mutex.lock(who, 0, |_| (), || None), Attempt::Over(Code::Ok));
            held.add(mutex.clone(), who, 3);
            if id > 3 {
                mutex.close(&commons, &mut Readies::default());
            }
            assert!(held.0.len() <= 7, "{id}: there are {}", held.0.len());
        }
        assert!((1..=3).all(|open| held.find(open).is_some()));
    }
}
