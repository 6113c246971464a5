//! When is the base chain asked, and what is done with the answer?

use std::{
    io,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use shard::Environment;
use tokio::{
    runtime::{self, Runtime},
    sync::oneshot,
    time::{Instant, sleep},
};

use super::{
    BaseChainError,
    client::{Endpoint, TIMEOUT},
    follow::{Chain, Step},
    head::Head,
    status::SharedStatus,
};
use crate::settings::BaseChain;

/// After the first failure the next attempt comes this much later, or after the poll interval.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// While trouble goes on, it is told so often.
const REMINDER: Duration = Duration::from_secs(60);

/// The one who asks.
pub(crate) struct Poller {
    endpoint: Endpoint,
    chain: Chain,
    chain_id: Option<u64>,
    /// It may be another chain now: its id is asked for first.
    doubtful: bool,
    settings: BaseChain,
    /// The time of day in seconds.
    unix_time: fn() -> u64,
    status: Arc<SharedStatus>,
}

impl Poller {
    pub(crate) fn new(
        settings: &BaseChain,
        unix_time: fn() -> u64,
    ) -> Result<Poller, BaseChainError> {
        let endpoint = Endpoint::new(&settings.url, TIMEOUT)?;
        let status = SharedStatus::new(endpoint.shown(), settings.poll_interval);
        Ok(Poller {
            endpoint,
            chain: Chain::default(),
            chain_id: None,
            doubtful: true,
            settings: settings.clone(),
            unix_time,
            status: Arc::new(status),
        })
    }

    pub(crate) fn status(&self) -> &Arc<SharedStatus> {
        &self.status
    }

    /// Asks once. A new environment, if there is a new block.
    pub(super) async fn poll(&mut self) -> Result<Option<Environment>, BaseChainError> {
        let polled = self.ask().await;
        if let Err(trouble) = &polled {
            // Whoever answers next may be somebody else.
            self.doubtful = true;
            self.status.failed(trouble.clone());
        }
        polled
    }

    async fn ask(&mut self) -> Result<Option<Environment>, BaseChainError> {
        if self.doubtful {
            self.check_chain_id().await?;
        }
        let head = self.endpoint.newest().await?;
        let latest = (self.unix_time)().saturating_add(self.settings.ahead_max.as_secs());
        if head.timestamp > latest {
            let (time, now) = (head.timestamp, (self.unix_time)());
            return Err(BaseChainError::Nonsense(format!(
                "the newest block is of the time {time}, and it is {now} here (see \
                 --base-chain-ahead-max)"
            )));
        }
        let step = self.step_to(&head).await?;
        if step == Step::Back {
            self.check_chain_id().await?;
            if let Some(last) = self.chain.head() {
                let (from, to) = (last.number, head.number);
                tracing::warn!(from, to, "the base chain was reorganised or restarted: followed");
            }
        }
        self.doubtful = false;
        self.status.answered(self.chain_id, &head, step == Step::Back);
        Ok((step != Step::Same).then(|| self.chain.take(head, step)))
    }

    /// What this block is to the last one. Where blocks in between were not seen, the chain is asked
    /// whether it still has the last one: else the hashes that contracts see could be another's.
    async fn step_to(&mut self, head: &Head) -> Result<Step, BaseChainError> {
        let step = self.chain.step(head);
        let Some(last) = self.chain.before_a_gap(head).filter(|_| step == Step::On) else {
            return Ok(step);
        };
        let still = self.endpoint.hash_at(last.number).await?;
        Ok(if still == Some(last.hash) { Step::On } else { Step::Back })
    }

    async fn check_chain_id(&mut self) -> Result<(), BaseChainError> {
        let now = self.endpoint.chain_id().await?;
        match self.chain_id {
            Some(was) if was != now => Err(BaseChainError::OtherChain { was, now }),
            _ => {
                self.chain_id = Some(now);
                Ok(())
            }
        }
    }

    /// The first environment, without which no block can be made. Waits for it as long as the
    /// settings say.
    async fn first(&mut self) -> Result<Environment, BaseChainError> {
        let begun = Instant::now();
        let mut pace = Pace::new(self.settings.poll_interval);
        loop {
            let trouble = match self.poll().await {
                Ok(Some(environment)) => return Ok(environment),
                // The first block is always a new one.
                Ok(None) => continue,
                Err(trouble) => trouble,
            };
            let left = self.settings.wait.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(trouble);
            }
            let endpoint = self.endpoint.shown();
            tracing::warn!(endpoint, %trouble, "waiting for the base chain: {} s left", left.as_secs());
            sleep(pace.after_failure().min(left)).await;
        }
    }

    /// Asks for ever.
    async fn go_on(mut self, mut set: impl FnMut(Environment)) {
        let mut pace = Pace::new(self.settings.poll_interval);
        let mut trouble_told: Option<Instant> = None;
        sleep(self.settings.poll_interval).await;
        loop {
            let pause = match self.poll().await {
                Ok(environment) => {
                    if trouble_told.take().is_some() {
                        tracing::info!("the base chain answers again");
                    }
                    if let Some(environment) = environment {
                        tracing::debug!(number = environment.number, "a new base block");
                        set(environment);
                    }
                    pace.after_success()
                }
                Err(trouble) => {
                    if trouble_told.is_none_or(|told| told.elapsed() >= REMINDER) {
                        let endpoint = self.endpoint.shown();
                        tracing::warn!(endpoint, %trouble, "the last base block goes on to hold");
                        trouble_told = Some(Instant::now());
                    }
                    pace.after_failure()
                }
            };
            sleep(pause).await;
        }
    }
}

/// How long to wait until the next question.
#[derive(Debug)]
pub(super) struct Pace {
    interval: Duration,
    next_pause: Duration,
}

impl Pace {
    pub(super) fn new(interval: Duration) -> Pace {
        Pace { interval, next_pause: PAUSE_MIN.min(interval) }
    }

    pub(super) fn after_success(&mut self) -> Duration {
        self.next_pause = PAUSE_MIN.min(self.interval);
        self.interval
    }

    pub(super) fn after_failure(&mut self) -> Duration {
        let pause = self.next_pause;
        self.next_pause = (pause * 2).min(self.interval);
        pause
    }
}

/// A base chain whose first block is known.
pub(crate) struct Listener {
    poller: Poller,
    runtime: Runtime,
}

impl Listener {
    /// Waits for the first block.
    pub(crate) fn connect(
        settings: &BaseChain,
        unix_time: fn() -> u64,
    ) -> Result<(Listener, Environment), BaseChainError> {
        let mut poller = Poller::new(settings, unix_time)?;
        let no_runtime = |why: io::Error| BaseChainError::Unreachable(why.to_string());
        // One of its own: it is there before the server is, and waits most of the time.
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(no_runtime)?;
        let environment = runtime.block_on(poller.first())?;
        Ok((Listener { poller, runtime }, environment))
    }

    pub(crate) fn status(&self) -> Arc<SharedStatus> {
        self.poller.status().clone()
    }

    /// Goes on asking, on a thread of its own.
    pub(crate) fn start(
        self,
        set: impl FnMut(Environment) + Send + 'static,
    ) -> io::Result<Listening> {
        let (stop, stopped) = oneshot::channel::<()>();
        let Listener { poller, runtime } = self;
        let run = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = poller.go_on(set) => {}
                    _ = stopped => {}
                }
            });
            // What looks up a name does not hear that it is over.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("base chain".to_owned()).spawn(run)?;
        Ok(Listening { stop: Some(stop), thread: Some(thread) })
    }
}

/// A listener at work. Dropped, it ends.
#[derive(Debug)]
pub(crate) struct Listening {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It ends where it waits, at once.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
