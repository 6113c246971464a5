//! Which task has an id, who awaits it, and what it ended with.
//!
//! A task is entered when it is spawned. When it has ended, its result takes its place, until there
//! are more results than are kept: then the oldest is forgotten. Room is made before a task ends, so
//! that whoever sees all of them ended finds no result that is about to go.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    id::TaskId,
    object::{
        line::{Line, Ticket},
        table::{IdMap, SHARDS},
    },
    program::{finished::Post, outcome::Ended},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{cell::Task, waiter::Waiter},
};

#[derive(Debug)]
pub(crate) struct Registry {
    shards: [Mutex<IdMap<Entry>>; SHARDS],
    next: AtomicU64,
    /// Those who have ended or are about to, in order.
    ended: Mutex<VecDeque<TaskId>>,
    /// So many results are kept.
    keep: usize,
    forgotten: AtomicU64,
    /// Of those, tasks that had failed, and nobody had awaited them.
    forgotten_failures: AtomicU64,
    /// No task is to begin any more. Set before all are asked to end, and read under the lock that
    /// enters one: so each is asked, or knows.
    closing: AtomicBool,
}

#[derive(Debug)]
enum Entry {
    Live(Live),
    Ended(Ended),
}

#[derive(Debug)]
struct Live {
    task: Task,
    awaiters: Awaiters,
    /// There will be no room for its result: others ended at the same time.
    forgotten: bool,
}

/// Somebody who is told when a task has ended.
#[derive(Debug)]
pub(crate) enum Awaiter {
    Task(Waiter),
    Rust(Arc<Post>),
}

/// Those who await one task: usually nobody, or one.
#[derive(Debug, Default)]
pub(crate) struct Awaiters {
    first: Option<Awaiter>,
    more: Option<Box<Line<Awaiter>>>,
}

/// A place among the awaiters.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    First,
    Further(Ticket),
}

/// What is known of a task.
#[derive(Debug)]
pub(crate) enum Known<L, E> {
    Live(L),
    Ended(E),
    /// There was never such a task, or its result is forgotten.
    Nothing,
}

impl Awaiters {
    fn add(&mut self, awaiter: Awaiter) -> Place {
        if self.first.is_none() && self.more.is_none() {
            self.first = Some(awaiter);
            return Place::First;
        }
        Place::Further(self.more.get_or_insert_default().push(awaiter))
    }

    fn leave(&mut self, place: Place) -> Option<Awaiter> {
        match place {
            Place::First => self.first.take(),
            Place::Further(ticket) => self.more.as_mut()?.leave(ticket),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.as_ref().is_none_or(|more| more.is_empty())
    }

    pub(crate) fn into_all(self) -> impl Iterator<Item = Awaiter> {
        let more = self.more.into_iter().flat_map(|mut more| more.take_all());
        self.first.into_iter().chain(more)
    }
}

impl Registry {
    pub(crate) fn new(keep: usize) -> Registry {
        Registry {
            shards: std::array::from_fn(|_| Mutex::default()),
            next: AtomicU64::new(1),
            ended: Mutex::default(),
            keep,
            forgotten: AtomicU64::new(0),
            forgotten_failures: AtomicU64::new(0),
            closing: AtomicBool::new(false),
        }
    }

    fn shard(&self, id: TaskId) -> &Mutex<IdMap<Entry>> {
        &self.shards[id.get() as usize % SHARDS]
    }

    /// An id that nobody has.
    pub(crate) fn new_id(&self) -> TaskId {
        TaskId::new(self.next.fetch_add(1, Relaxed))
    }

    /// How many ids were given out.
    pub(crate) fn given_out(&self) -> u64 {
        self.next.load(Relaxed) - 1
    }

    /// Enters a task that is about to get its first turn.
    pub(crate) fn enter(&self, task: &Task) {
        let live = Live { task: task.clone(), awaiters: Awaiters::default(), forgotten: false };
        let mut shard = self.shard(task.id).lock();
        shard.insert(task.id.get(), Entry::Live(live));
        if self.is_closing() {
            let claim = task.wait.cancel();
            debug_assert!(claim.is_none(), "a task that was not yet there can not wait");
        }
    }

    /// From now on no task begins.
    pub(crate) fn close(&self) {
        self.closing.store(true, Relaxed);
    }

    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    /// The task, if it has not ended.
    pub(crate) fn find(&self, id: TaskId) -> Option<Task> {
        match self.shard(id).lock().get(&id.get())? {
            Entry::Live(live) => Some(live.task.clone()),
            Entry::Ended(_) => None,
        }
    }

    /// Looks at the result; if the task has not ended, the awaiter that `wait` makes is told when it
    /// has. Nothing is added if it makes none.
    pub(crate) fn await_task<E>(
        &self,
        id: TaskId,
        wait: impl FnOnce() -> Option<Awaiter>,
        look: impl FnOnce(&Ended) -> E,
    ) -> Known<Option<Place>, E> {
        match self.shard(id).lock().get_mut(&id.get()) {
            Some(Entry::Live(live)) => Known::Live(wait().map(|who| live.awaiters.add(who))),
            Some(Entry::Ended(ended)) => {
                ended.awaited = true;
                Known::Ended(look(ended))
            }
            None => Known::Nothing,
        }
    }

    /// Somebody does not wait any more.
    pub(crate) fn leave(&self, id: TaskId, place: Place) {
        let left = match self.shard(id).lock().get_mut(&id.get()) {
            Some(Entry::Live(live)) => live.awaiters.leave(place),
            _ => None,
        };
        // A waker is anybody's code, so it is dropped without the lock.
        drop(left);
    }

    /// A task has ended. `tell` gets those who await it; then its result takes its place. Both under
    /// the lock, so that whoever finds the result finds all that `tell` has done.
    pub(crate) fn end<R>(
        &self,
        id: TaskId,
        mut ended: Ended,
        tell: impl FnOnce(Awaiters, &Ended) -> R,
    ) -> R {
        self.make_room(id);
        let mut shard = self.shard(id).lock();
        let Some(entry) = shard.get_mut(&id.get()) else {
            unreachable!("a task that ends was entered, and ends once")
        };
        let Entry::Live(live) = entry else { unreachable!("a task ends once") };
        let awaiters = std::mem::take(&mut live.awaiters);
        ended.awaited = !awaiters.is_empty();
        if live.forgotten {
            self.forget(&ended);
        }
        let result = tell(awaiters, &ended);
        let before = if live.forgotten {
            shard.remove(&id.get())
        } else {
            Some(std::mem::replace(entry, Entry::Ended(ended)))
        };
        drop(shard);
        drop(before);
        result
    }

    /// Forgets the oldest result, if there is no room for another.
    fn make_room(&self, id: TaskId) {
        let oldest = {
            let mut ended = self.ended.lock();
            ended.push_back(id);
            if ended.len() > self.keep { ended.pop_front() } else { None }
        };
        let Some(oldest) = oldest else { return };
        let mut shard = self.shard(oldest).lock();
        let forgotten = match shard.get_mut(&oldest.get()) {
            // It is about to end on another worker, or it is this one and no result is kept.
            Some(Entry::Live(live)) => {
                live.forgotten = true;
                None
            }
            _ => shard.remove(&oldest.get()),
        };
        drop(shard);
        if let Some(Entry::Ended(ended)) = &forgotten {
            self.forget(ended);
        }
        drop(forgotten);
    }

    /// Counts a result that is not kept. Before those are told who wait for its task or for all, so
    /// that they find it counted.
    fn forget(&self, ended: &Ended) {
        self.forgotten.fetch_add(1, Relaxed);
        if ended.has_failed() && !ended.awaited {
            self.forgotten_failures.fetch_add(1, Relaxed);
        }
    }

    /// How many results were forgotten, and of how many tasks that had failed without being awaited.
    pub(crate) fn forgotten(&self) -> (u64, u64) {
        (self.forgotten.load(Relaxed), self.forgotten_failures.load(Relaxed))
    }

    /// All tasks that have not ended, the oldest first.
    pub(crate) fn live(&self) -> Vec<Task> {
        let mut all = Vec::new();
        self.each(|_, known| {
            if let Known::Live(task) = known {
                all.push(task.clone());
            }
        });
        all.sort_by_key(|task| task.id);
        all
    }

    /// Shows every task that is known, in no particular order.
    pub(crate) fn each(&self, mut user: impl FnMut(TaskId, Known<&Task, &Ended>)) {
        for shard in &self.shards {
            for (id, entry) in shard.lock().iter() {
                let known = match entry {
                    Entry::Live(live) => Known::Live(&live.task),
                    Entry::Ended(ended) => Known::Ended(ended),
                };
                user(TaskId::new(*id), known);
            }
        }
    }
}
