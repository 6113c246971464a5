//! Relays.
#[derive(Default)]
pub(crate) struct Relays;
