//! An array of a batch that needs no allocation of its own where the batch has one job.

use std::ops::{Deref, DerefMut};

/// One in place, or any number elsewhere.
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Box<[T]>),
}

impl<T> OneOrMany<T> {
    /// None at all.
    pub(crate) fn none() -> OneOrMany<T> {
        OneOrMany::Many(Box::default())
    }
}

impl<T> From<Vec<T>> for OneOrMany<T> {
    fn from(many: Vec<T>) -> OneOrMany<T> {
        OneOrMany::Many(many.into_boxed_slice())
    }
}

impl<T> From<Option<T>> for OneOrMany<T> {
    #[inline]
    fn from(one: Option<T>) -> OneOrMany<T> {
        one.map_or_else(OneOrMany::none, OneOrMany::One)
    }
}

impl<T> Deref for OneOrMany<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

impl<T> DerefMut for OneOrMany<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            OneOrMany::One(one) => std::slice::from_mut(one),
            OneOrMany::Many(many) => many,
        }
    }
}
