//! How long does the unluckiest strand wait, also beside two that wake each other for ever?

use std::sync::{Arc, OnceLock};

use benches::{
    Args, Line,
    fairness::{self, Watch},
};
use kernel::{Runtime, Step, Strand, Turn};

use crate::OURS;

pub(crate) fn run(args: &Args, runtime: &Runtime) -> Line {
    for _ in 0..fairness::STRANDS {
        let mut watch = Watch::default();
        let body = move |turn: &mut Turn<'_>| -> Step<()> {
            watch.begin();
            while !turn.expired() && !watch.used_up() {
                std::hint::spin_loop();
            }
            watch.end();
            Step::Yield
        };
        runtime.strand().start(body).expect("the runtime runs");
    }
    let pair = Arc::new([const { OnceLock::<Strand>::new() }; 2]);
    for me in 0..2 {
        let other = pair.clone();
        let body = move |_: &mut Turn<'_>| -> Step<()> {
            match other[1 - me].get() {
                Some(strand) if strand.wake().is_ok() => Step::Pause,
                // The measurement is over.
                Some(_) => Step::End(()),
                // The other is not known yet.
                None => Step::Yield,
            }
        };
        let (strand, _) = runtime.strand().start(body).expect("the runtime runs");
        pair[me].set(strand).expect("it is set once");
    }
    fairness::observe(args, OURS)
}
