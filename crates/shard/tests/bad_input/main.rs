//! What comes of input that nobody should send, and of files that nobody should have touched?

#[path = "../common/mod.rs"]
mod common;
mod contracts;
mod files;
mod signed;
mod transactions;
