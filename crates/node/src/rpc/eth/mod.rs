//! The methods of the execution API, by what they are about.

pub(crate) mod block_id;
pub(crate) mod send;
pub(crate) mod state;
