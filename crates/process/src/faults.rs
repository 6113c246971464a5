//! Faults that a simulation may inject.

use kernel::Handle;

use crate::{addr::Addr, error::SendError};

#[derive(Default)]
pub(crate) struct Faults;

#[inline]
pub(crate) fn may_delay(_runtime: &Handle) -> bool {
    false
}

pub(crate) fn send<M: Send + 'static>(addr: &Addr<M>, message: M) -> Result<(), SendError<M>> {
    addr.push_now(message)
}
