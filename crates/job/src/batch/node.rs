//! How one job names another: by its place in the batch, by a handle, or by a chosen id.

use std::{fmt, marker::PhantomData, sync::Arc};

use crate::{graph::Core, handle::JobHandle, id::JobId};

/// A job of a batch that is being put together. There is one for each job, and it becomes the
/// job's handle with [`BatchHandle::job`](crate::BatchHandle::job).
pub struct Node<R, E> {
    dep: Dep<R, E>,
}

/// Names a job of the same batch, for reading its result in a dependent.
pub struct Dep<R, E> {
    batch: u64,
    index: u32,
    types: PhantomData<fn() -> (R, E)>,
}

impl<R, E> Node<R, E> {
    /// For the batch, which knows that the job's outcome has these types.
    #[inline]
    pub(crate) fn new(batch: u64, index: u32) -> Node<R, E> {
        Node { dep: Dep { batch, index, types: PhantomData } }
    }

    /// Names the job for its dependents, to [`get`](crate::Context::get) its result.
    pub fn dep(&self) -> Dep<R, E> {
        self.dep
    }
}

impl<R, E> Dep<R, E> {
    pub(crate) fn batch(self) -> u64 {
        self.batch
    }

    pub(crate) fn index(self) -> u32 {
        self.index
    }
}

impl<R, E> Clone for Dep<R, E> {
    fn clone(&self) -> Dep<R, E> {
        *self
    }
}

impl<R, E> Copy for Dep<R, E> {}

impl<R, E> fmt::Debug for Dep<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dep({})", self.index)
    }
}

impl<R, E> fmt::Debug for Node<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({})", self.dep.index)
    }
}

/// A job that another can be made to wait for: a [`Node`] or [`Dep`] of the same batch, a
/// [`JobHandle`], or a [`JobRef`](crate::JobRef).
pub trait Predecessor {
    #[doc(hidden)]
    fn to_after(&self) -> After;
}

/// Whom a job waits for.
#[doc(hidden)]
#[derive(Clone)]
pub enum After {
    Node { batch: u64, index: u32 },
    Outside(Outside),
    Id(JobId),
}

/// A job that was submitted before.
#[doc(hidden)]
#[derive(Clone)]
pub struct Outside {
    pub(crate) core: Arc<Core>,
    pub(crate) index: u32,
}

impl<R, E> Predecessor for Node<R, E> {
    fn to_after(&self) -> After {
        self.dep.to_after()
    }
}

impl<R, E> Predecessor for Dep<R, E> {
    fn to_after(&self) -> After {
        After::Node { batch: self.batch, index: self.index }
    }
}

impl<R, E> Predecessor for JobHandle<R, E> {
    fn to_after(&self) -> After {
        After::Outside(self.outside())
    }
}
