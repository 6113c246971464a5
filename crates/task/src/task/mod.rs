//! A task: a strand with a stack of its own, which returns or fails.

pub(crate) mod body;
pub(crate) mod cell;
pub(crate) mod wait;
pub(crate) mod waiter;
