//! The methods of the execution API, by what they are about.

pub(crate) mod block;
pub(crate) mod block_id;
pub(crate) mod call;
pub(crate) mod convert;
pub(crate) mod fees;
pub(crate) mod filters;
pub(crate) mod logs;
pub(crate) mod proof;
pub(crate) mod request;
pub(crate) mod revert;
pub(crate) mod send;
pub(crate) mod state;
pub(crate) mod subscribe;
pub(crate) mod transaction;
pub(crate) mod wallet;
