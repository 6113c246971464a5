//! Which numbers does a program give of itself, and how do they get out of it?
//!
//! One list says what there is ([`LAYERS`]), and one collection holds what it is now ([`Samples`]).
//! From there it goes out as text for Prometheus ([`Samples::to_text`]), or, with the feature
//! `metrics`, to whatever recorder the program has installed for the crate `metrics`
//! (`Publisher`).
//!
//! ```
//! use observe::metrics::Samples;
//!
//! let runtime = kernel::Runtime::builder().workers(1).build()?;
//! runtime.compute(|_| ())?.join()?;
//! let mut samples = Samples::new();
//! samples.runtime("tills", &runtime);
//! let text = samples.to_text();
//! assert!(text.contains("shiftwork_kernel_turns_total{runtime=\"tills\",worker=\"0\"} "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Names
//!
//! `shiftwork_<layer>_<what>`, in snake case; the unit is at the end (`_seconds`, `_bytes`,
//! `_ratio`; what is counted has none), and after it `_total` if the number only grows.
//! [`Family::check`] holds everybody to that. Times are in seconds, as Prometheus wants them.
//!
//! Two of a kind need two names: labels tell them apart, and nothing else does.
//!
//! # What is sampled
//!
//! The kernel times one turn in 128, and all while it records: the histograms of its times count
//! those. The distribution is that of all turns; how many there were is in the counters.

pub mod families;
mod family;
#[cfg(feature = "job")]
mod job;
mod kernel;
#[cfg(feature = "process")]
mod process;
#[cfg(feature = "metrics")]
mod publish;
mod samples;
#[cfg(feature = "shard")]
mod shard;
mod system;
#[cfg(feature = "task")]
mod task;
mod text;

pub use families::{LAYERS, Layer};
pub use family::{Family, Kind, Unit};
#[cfg(feature = "metrics")]
pub use publish::Publisher;
pub use samples::{Distribution, Sample, Samples, Value};
