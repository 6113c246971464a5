//! A rate limiter: whoever wants to do something asks it first, and waits for its turn.
//!
//! The limiter answers a call when there is a token, and keeps the replies of those who have to
//! wait. It runs in a simulation here: two seconds pass in no time.

use std::{collections::VecDeque, time::Duration};

use kernel::{Handle, Runtime};
use process::{Addr, Context, Processes, Reply, SpawnError};

/// A request for one token.
type Ask = Reply<()>;

/// Gives out `burst` tokens at once, and one more every `period`.
fn limiter(runtime: &Handle, burst: u32, period: Duration) -> Result<Addr<Ask>, SpawnError> {
    runtime.process().name("limiter").spawn(move |mut ctx: Context<Ask>| async move {
        let mut tokens = burst;
        let mut waiting: VecDeque<Ask> = VecDeque::new();
        let mut next = ctx.runtime().now() + period;
        loop {
            let until = next.saturating_sub(ctx.runtime().now());
            match ctx.receive_within(until).await {
                Ok(Some(reply)) => waiting.push_back(reply),
                Ok(None) => return,
                Err(_) => {
                    tokens = (tokens + 1).min(burst);
                    next += period;
                }
            }
            while tokens > 0
                && let Some(reply) = waiting.pop_front()
            {
                // A caller that gave up meanwhile costs no token.
                if reply.send(()).is_ok() {
                    tokens -= 1;
                }
            }
        }
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut simulation = Runtime::builder().workers(2).simulate(1)?;
    let limiter = limiter(&simulation, 3, Duration::from_millis(200))?;
    for client in 0..12 {
        let limiter = limiter.clone();
        simulation.spawn_process(move |ctx: Context<()>| async move {
            let limit = Duration::from_secs(1);
            let asked = limiter.call(|reply| reply).within(limit).await;
            let at = ctx.runtime().now().as_millis();
            match asked {
                Ok(()) => println!("{at:>5} ms  client {client} may go"),
                Err(error) => println!("{at:>5} ms  client {client} gives up: {error}"),
            }
        })?;
    }
    simulation.run_for(Duration::from_secs(2));
    Ok(())
}
