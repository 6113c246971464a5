//! Commands.
#[derive(Default)]
pub(crate) struct Dispatcher;
