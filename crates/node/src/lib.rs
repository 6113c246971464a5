//! A node: shards that anyone reaches with ordinary Ethereum tools.
//!
//! This is the only crate that knows JSON and sockets. Below it are two runtimes on the same
//! cores: one on which shards take turns (FIFO, 100 ms), and one for what people ask (recovery,
//! calls, traces), so that a question never waits behind a shard's quantum.
//!
//! ```text
//!   sockets ── server ── limits, paths, Host and Origin
//!                 │
//!                rpc ─── the table of methods, arguments, errors, answers
//!                 │
//!              Context ─ what all requests share
//!               ╱    ╲
//!           shards   queries (runtimes of the kernel)
//! ```
//!
//! ```
//! use node::{Node, Settings};
//!
//! let mut settings = Settings::in_memory();
//! settings.http.port = 0; // any that is free
//! let node = Node::start(settings)?;
//! println!("http://{}", node.address());
//! assert!(node.shutdown().clean());
//! # Ok::<(), node::StartError>(())
//! ```

pub mod accounts;
pub mod base_chain;
mod context;
mod dashboard;
mod dev;
mod ended;
mod metrics;
mod node;
mod rpc;
mod sends;
mod server;
pub mod settings;
mod timeline;
mod trouble;
pub mod watch;

pub use ended::Ended;
pub use metrics::page::metrics;
pub use node::{Node, StartError};
pub use rpc::method::{Kind, Method, Param, methods};
pub use settings::Settings;
pub use timeline::Timeline;
