//! A deque behind a lock, with crossbeam's interface: for models only.

use std::{collections::VecDeque, sync::Arc};

use crate::sync::Mutex;

pub(crate) enum Steal<T> {
    Empty,
    Success(T),
    #[allow(dead_code, reason = "crossbeam's has it, and callers must handle it")]
    Retry,
}

type Shared<T> = Arc<Mutex<VecDeque<T>>>;

pub(crate) struct Worker<T>(Shared<T>);
pub(crate) struct Stealer<T>(Shared<T>);
pub(crate) struct Injector<T>(Mutex<VecDeque<T>>);

impl<T> Worker<T> {
    pub(crate) fn new_lifo() -> Worker<T> {
        Worker(Arc::new(Mutex::new(VecDeque::new())))
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(self.0.clone())
    }

    pub(crate) fn push(&self, entry: T) {
        self.0.lock().push_back(entry);
    }

    pub(crate) fn pop(&self) -> Option<T> {
        self.0.lock().pop_back()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// `batch` is oldest first; it is popped in that order.
    fn take_over(&self, batch: Vec<T>) {
        let mut mine = self.0.lock();
        for entry in batch.into_iter().rev() {
            mine.push_back(entry);
        }
    }
}

impl<T> Stealer<T> {
    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.lock().pop_front().map_or(Steal::Empty, Steal::Success)
    }

    pub(crate) fn steal_batch_and_pop(&self, to: &Worker<T>) -> Steal<T> {
        let mut victim = self.0.lock();
        let half = victim.len().div_ceil(2);
        let mut batch: Vec<T> = victim.drain(..half).collect();
        drop(victim);
        if batch.is_empty() {
            return Steal::Empty;
        }
        let first = batch.remove(0);
        to.take_over(batch);
        Steal::Success(first)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

impl<T> Injector<T> {
    pub(crate) fn new() -> Injector<T> {
        Injector(Mutex::new(VecDeque::new()))
    }

    pub(crate) fn push(&self, entry: T) {
        self.0.lock().push_back(entry);
    }

    pub(crate) fn steal(&self) -> Steal<T> {
        self.0.lock().pop_front().map_or(Steal::Empty, Steal::Success)
    }

    pub(crate) fn steal_batch_with_limit_and_pop(&self, to: &Worker<T>, limit: usize) -> Steal<T> {
        let mut queue = self.0.lock();
        let n = queue.len().min(limit);
        let mut batch: Vec<T> = queue.drain(..n).collect();
        drop(queue);
        if batch.is_empty() {
            return Steal::Empty;
        }
        let first = batch.remove(0);
        to.take_over(batch);
        Steal::Success(first)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}
