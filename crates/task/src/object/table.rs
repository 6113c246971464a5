//! Which channel or mutex has an id.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use crate::sync::{
    Mutex,
    atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

/// Parts with a lock each, so that few meet at the same one.
pub(crate) const SHARDS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

/// A map from ids.
pub(crate) type IdMap<T> = HashMap<u64, T, BuildHasherDefault<IdHasher>>;

/// Ids are given out one after the other, so a multiplication spreads them well enough. It has no
/// seed: a simulated run finds them in the same order every time.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("ids are hashed as a number");
    }

    fn write_u64(&mut self, id: u64) {
        // The map looks at the highest bits and at the lowest.
        self.0 = id.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// The channels or the mutexes of a program.
#[derive(Debug)]
pub(crate) struct Table<T> {
    kind: u64,
    limit: usize,
    shards: [Mutex<IdMap<Arc<T>>>; SHARDS],
    next: AtomicU64,
    count: AtomicUsize,
}

/// What an id stands for.
#[derive(Debug)]
pub(crate) enum Lookup<T> {
    There(Arc<T>),
    /// It was there.
    Gone,
    /// No such id was ever given out.
    Never,
}

impl<T> Table<T> {
    pub(crate) fn new(kind: u64, limit: usize) -> Table<T> {
        Table {
            kind,
            limit,
            shards: std::array::from_fn(|_| Mutex::default()),
            next: AtomicU64::new(1),
            count: AtomicUsize::new(0),
        }
    }

    /// Makes one with a new id. `None`: there are too many.
    pub(crate) fn open(&self, make: impl FnOnce(u64) -> T) -> Option<u64> {
        let room = |count: usize| (count < self.limit).then_some(count + 1);
        self.count.fetch_update(Relaxed, Relaxed, room).ok()?;
        let id = self.kind | self.next.fetch_add(1, Relaxed);
        let object = Arc::new(make(id));
        self.shard(id).lock().insert(id, object);
        Some(id)
    }

    pub(crate) fn find(&self, id: u64) -> Lookup<T> {
        let number = id & !self.kind;
        let given = id & self.kind != 0 && (1..self.next.load(Relaxed)).contains(&number);
        if !given {
            return Lookup::Never;
        }
        self.shard(id).lock().get(&id).cloned().map_or(Lookup::Gone, Lookup::There)
    }

    /// Takes it out. Nobody finds it any more.
    pub(crate) fn remove(&self, id: u64) {
        let removed = self.shard(id).lock().remove(&id);
        if removed.is_some() {
            self.count.fetch_sub(1, Relaxed);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    fn shard(&self, id: u64) -> &Mutex<IdMap<Arc<T>>> {
        &self.shards[id as usize % SHARDS]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::id::{CHANNEL, MUTEX};

    #[test]
    fn ids_are_found_until_they_are_gone_and_never_come_again() {
        let table: Table<u64> = Table::new(CHANNEL, 2);
        let first = table.open(|id| id).unwrap();
        let second = table.open(|id| id).unwrap();
        assert!(table.open(|id| id).is_none(), "there is a limit");
        assert!(matches!(table.find(first), Lookup::There(found) if *found == first));
        table.remove(first);
        table.remove(first);
        assert!(matches!(table.find(first), Lookup::Gone));
        assert_eq!(table.len(), 1);
        let third = table.open(|id| id).unwrap();
        assert!(third != first && third != second);
    }

    #[test]
    fn ids_of_another_kind_or_never_given_out_are_none_of_ours() {
        let table: Table<u64> = Table::new(CHANNEL, 10);
        let id = table.open(|id| id).unwrap();
        for never in [0, 1, id + 1, (id & !CHANNEL) | MUTEX, id | MUTEX, u64::MAX, CHANNEL] {
            assert!(matches!(table.find(never), Lookup::Never), "{never:#x}");
        }
    }
}
