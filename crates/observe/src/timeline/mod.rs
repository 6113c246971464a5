//! When did who run where, and why? A recording as a trace that Perfetto and Chrome show.
//!
//! One process per runtime and one track per worker; a slice per turn, named by its strand; arrows
//! from wakes, hand-offs and steals to the turns they led to; a counter of what waits. What each
//! means to a reader is in `docs/timelines.md`.
//!
//! ```
//! use kernel::{Runtime, Step};
//!
//! let runtime = Runtime::builder().workers(2).record(10_000).build()?;
//! let (_, mut join) = runtime.strand().name("till").start(|_| Step::End(()))?;
//! join.join()?;
//!
//! let mut trace = Vec::new();
//! observe::timeline::write(&mut trace, &[("shop", &runtime.recording())])?;
//! assert!(String::from_utf8(trace)?.contains(r#""name":"till""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod flows;
mod trace;
mod tracks;

pub use trace::write;
pub use tracks::{Ending, Slice, tracks};
