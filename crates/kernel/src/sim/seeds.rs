//! How a test runs its world under many seeds, and says which one failed.

/// Runs `world` with `count` seeds: 0, 1, and so on.
///
/// If it panics, the seed and a command that replays just that run are printed, and the panic
/// goes on. `SHIFTWORK_SEED=n` runs one seed only, `SHIFTWORK_SEEDS=n` another number of them, and
/// both together so many from that one on.
///
/// ```
/// use kernel::{Runtime, each_seed};
///
/// each_seed(10, |seed| {
///     let mut simulation = Runtime::builder().workers(3).simulate(seed).unwrap();
///     let mut sum = simulation.compute(|_| 1 + 1).unwrap();
///     simulation.run();
///     assert_eq!(sum.join(), Ok(2));
/// });
/// ```
///
/// # Panics
/// If `world` does, or if one of the two variables is not a number.
pub fn each_seed(count: u64, world: impl Fn(u64)) {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        let number = text.parse::<u64>();
        Some(number.unwrap_or_else(|_| panic!("{name} is {text:?}; set it to a number")))
    };
    let (first, seeds) = match (number("SHIFTWORK_SEED"), number("SHIFTWORK_SEEDS")) {
        (Some(seed), seeds) => (seed, seeds.unwrap_or(1)),
        (None, seeds) => (0, seeds.unwrap_or(count)),
    };
    for seed in first..first.saturating_add(seeds) {
        let guard = Announce(seed);
        world(seed);
        std::mem::forget(guard);
    }
}

/// Says what to do about a panic while it passes.
struct Announce(u64);

impl Drop for Announce {
    fn drop(&mut self) {
        eprintln!("seed {} failed; replay it with: {}", self.0, replay(self.0));
    }
}

fn replay(seed: u64) -> String {
    let package = std::env::var("CARGO_PKG_NAME").map(|name| format!(" -p {name}"));
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").map(|name| format!(" {name}"));
    let discipline = std::env::var("SHIFTWORK_DISCIPLINE");
    let discipline = discipline.map(|word| format!(" SHIFTWORK_DISCIPLINE={word}"));
    format!(
        "SHIFTWORK_SEED={seed}{} cargo test{}{}",
        discipline.unwrap_or_default(),
        package.unwrap_or_default(),
        test.unwrap_or_default()
    )
}
