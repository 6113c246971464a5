//! A rate limiter: a process that owns a bucket of tokens, and callers who wait for theirs.
//!
//! The bucket takes a token per request and fills up with time. Whoever finds it empty waits in
//! line: the limiter simply keeps the right to answer and uses it later, so a waiting caller costs
//! a few bytes and no thread. Callers who have given up are passed over.
//!
//! The same program runs for ten minutes of virtual time, in which we check that the limit
//! holds, and then for a second of ours.
//!
//! ```text
//! cargo run --release --example rate_limiter
//! ```

use std::{collections::VecDeque, error::Error, time::Duration};

use shiftwork::{
    Handle, Runtime,
    process::{Addr, CallError, Context, Processes, Reply, block_on},
};

/// So many tokens an empty bucket gets per second.
const RATE: u32 = 50;
/// So many it holds at most: who has been quiet may hurry for a moment.
const BURST: u32 = 20;

/// Asks for a token. The reply is the token.
struct Take(Reply<()>);

struct Bucket {
    tokens: f64,
    filled_at: Duration,
}

impl Bucket {
    fn fill(&mut self, now: Duration) {
        let gained = (now - self.filled_at).as_secs_f64() * f64::from(RATE);
        self.tokens = (self.tokens + gained).min(f64::from(BURST));
        self.filled_at = now;
    }

    /// How long until there is a whole token.
    fn wait(&self) -> Duration {
        Duration::from_secs_f64((1.0 - self.tokens).max(0.0) / f64::from(RATE))
    }
}

async fn limiter(mut ctx: Context<Take>) {
    let mut bucket = Bucket { tokens: f64::from(BURST), filled_at: ctx.runtime().now() };
    let mut line: VecDeque<Reply<()>> = VecDeque::new();
    loop {
        // With somebody in line, the next token is worth waking up for.
        let message = if line.is_empty() {
            Ok(ctx.receive().await)
        } else {
            let nap = bucket.wait().max(Duration::from_millis(1));
            ctx.receive_within(nap).await
        };
        match message {
            Ok(Some(Take(reply))) => line.push_back(reply),
            Ok(None) => return,
            Err(_elapsed) => {}
        }
        bucket.fill(ctx.runtime().now());
        while bucket.tokens >= 1.0
            && let Some(reply) = line.pop_front()
        {
            // A caller who has given up costs no token.
            if reply.send(()).is_ok() {
                bucket.tokens -= 1.0;
            }
        }
    }
}

#[derive(Default)]
struct Tally {
    passed: u32,
    gave_up: u32,
}

/// Makes requests until the time is over, `pause` after each, and waits `patience` for a token.
async fn client(
    runtime: Handle,
    limiter: Addr<Take>,
    pause: Duration,
    patience: Duration,
    end: Duration,
) -> Result<Tally, CallError> {
    let mut tally = Tally::default();
    while runtime.now() < end {
        match limiter.call(Take).within(patience).await {
            // One that was under way at the end does not count.
            Ok(()) => tally.passed += u32::from(runtime.now() < end),
            Err(CallError::Timeout(_)) => tally.gave_up += 1,
            Err(error) => return Err(error),
        }
        runtime.sleep(pause).await;
    }
    Ok(tally)
}

/// Three clients who want more than there is. Nothing in it knows whether time is virtual.
async fn rush(runtime: Handle, length: Duration) -> Result<u32, Box<dyn Error + Send + Sync>> {
    let limiter = runtime.process().name("limiter").spawn(limiter)?;
    let end = runtime.now() + length;
    let mut clients = Vec::new();
    for (name, pause_ms, patience_ms) in
        [("steady", 50, 1000), ("greedy", 1, 1000), ("impatient", 5, 35)]
    {
        let (pause, patience) =
            (Duration::from_millis(pause_ms), Duration::from_millis(patience_ms));
        let request = client(runtime.clone(), limiter.clone(), pause, patience, end);
        clients.push((name, runtime.spawn(request)?));
    }
    let mut passed = 0;
    for (name, client) in clients {
        let tally = client.await??;
        println!("  {name:<10} {:>7} passed, {:>7} gave up", tally.passed, tally.gave_up);
        passed += tally.passed;
    }
    limiter.cancel();
    Ok(passed)
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let seconds = 600;
    println!("{seconds} seconds of virtual time, {RATE} per second and {BURST} at once:");
    let mut simulation = Runtime::builder().workers(2).simulate(1)?;
    let future = rush(simulation.handle(), Duration::from_secs(seconds.into()));
    let passed = simulation.block_on(future)??;
    let limit = RATE * seconds + BURST;
    println!("  {passed} of {limit} that the limit allows\n");
    assert!(passed <= limit, "the limiter lets too many pass");
    assert!(passed > limit / 10 * 9, "the limiter is stricter than it should be");

    println!("A second of ours:");
    let runtime = Runtime::new()?;
    let passed = block_on(rush(runtime.handle(), Duration::from_secs(1)))?;
    println!("  {passed} of {}", RATE + BURST);
    runtime.shutdown();
    Ok(())
}
