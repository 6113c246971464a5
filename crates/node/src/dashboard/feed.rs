//! How does one viewer get its frames?
//!
//! ```text
//!            frame sent             {"ack":n}            100 ms over
//!   READY ───────────────> SENT ───────────────> ACKED ──────────────> READY
//!     ^ something is new, or a second is over
//! ```
//!
//! 1. No frame is sent before the one before it is acknowledged: whoever is slow gets fewer frames,
//!    with more in them, and nothing piles up here.
//! 2. What a viewer says is short ([`MESSAGE_BYTES_MAX`]) and one of two things; whoever says
//!    something else is told so and shown out.
//! 3. Who gives no sign of life for as long as a connection may be idle is gone. Browsers answer
//!    pings by themselves, so a page that sleeps stays.

use std::{borrow::Cow, sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use http::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use jsonrpsee::server::HttpBody;
use serde::Deserialize;
use soketto::handshake::http::Server as Greeting;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error, Message,
        error::CapacityError,
        protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
    },
};

use super::{
    VIEWERS_MAX,
    frame::{Since, addressed},
    look,
    maker::{REST, Viewer},
    turns::{Shown, Turns},
};
use crate::{
    context::Context,
    server::{connection::Connection, refusal::Refusal, services::text},
    timeline::Recording,
};

/// Nothing that a viewer says is longer.
const MESSAGE_BYTES_MAX: usize = 1 << 10;
/// So long an answer to our farewell is waited for.
const FAREWELL: Duration = Duration::from_millis(250);

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// What a viewer says.
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Said {
    /// It has seen this frame.
    ack: Option<u64>,
    /// Whether it wants to see what workers do.
    timeline: Option<bool>,
}

/// Makes a WebSocket of a request, and shows it what happens.
pub(crate) fn upgrade<B>(
    context: &Arc<Context>,
    mut request: Request<B>,
    connection: Option<&Arc<Connection>>,
) -> Response<HttpBody> {
    // Nobody upgrades what came by no socket.
    let greeted = Greeting::new().receive_request(&request).ok().zip(connection);
    let Some((greeting, connection)) = greeted else {
        return text(StatusCode::BAD_REQUEST, "this is no WebSocket of version 13\n");
    };
    let place = context.dashboard.place();
    if place.is_none() {
        context.metrics.refusals.note(Refusal::Dashboards, context.queries.now());
    }
    let (context, held) = (context.clone(), connection.clone());
    let upgrading = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let Ok(upgraded) = upgrading.await else { return };
        let config = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let io = TokioIo::new(upgraded);
        let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let ended = match place {
            Some(place) => show(&context, &mut socket, Viewer::new(&context, place), &held).await,
            // Of an answer without a WebSocket a page would not see the words.
            None => Some((CloseCode::Again, full().into())),
        };
        if let Some((code, why)) = ended {
            part(socket, code, &why).await;
        }
    });
    connection.upgrade();
    greeting.map(|()| HttpBody::empty())
}

/// Why it ends, in words for the other side; `None`: the other side knows.
type Farewell = Option<(CloseCode, Cow<'static, str>)>;

fn full() -> String {
    format!("{VIEWERS_MAX} look at the dashboard already: close one of them")
}

/// Shows what happens, until one of the two has enough.
async fn show(
    context: &Arc<Context>,
    socket: &mut Socket,
    viewer: Viewer,
    connection: &Connection,
) -> Farewell {
    tokio::select! {
        biased;
        () = connection.stopped() => Some((CloseCode::Away, "the node is shutting down".into())),
        ended = Show::new(context, viewer).run(socket) => ended,
    }
}

/// Closes it, and says why.
async fn part(mut socket: Socket, code: CloseCode, why: &str) {
    let farewell = async {
        socket.close(Some(CloseFrame { code, reason: why.into() })).await?;
        // If it were closed with something unread, the other side might not see our words.
        while let Some(Ok(_)) = socket.next().await {}
        Ok::<_, Error>(())
    };
    let _ = timeout(FAREWELL, farewell).await;
}

/// Where one viewer stands.
struct Show<'a> {
    context: &'a Arc<Context>,
    viewer: Viewer,
    seen: Since,
    /// The last frame that was sent.
    seq: u64,
    acked: bool,
    /// Before it no frame is sent.
    rested: Instant,
    /// The other side's last sign of life.
    heard: Instant,
    /// If it wants to see what workers do, and what it has seen of that.
    turns: Option<(Recording, Shown)>,
}

impl Show<'_> {
    fn new(context: &Arc<Context>, viewer: Viewer) -> Show<'_> {
        let now = Instant::now();
        Show {
            context,
            viewer,
            seen: Since::default(),
            seq: 0,
            acked: true,
            rested: now,
            heard: now,
            turns: None,
        }
    }

    async fn run(mut self, socket: &mut Socket) -> Farewell {
        let patience = self.context.limits().idle_timeout;
        let mut pings = tokio::time::interval((patience / 3).max(Duration::from_millis(1)));
        loop {
            tokio::select! {
                message = socket.next() => {
                    self.heard = Instant::now();
                    if let Err(farewell) = self.hear(message).await {
                        return farewell;
                    }
                }
                at = pings.tick() => {
                    if at.saturating_duration_since(self.heard) >= patience {
                        return Some((CloseCode::Policy, "no sign of life".into()));
                    }
                    socket.send(Message::Ping(Vec::new().into())).await.ok()?;
                }
                new = next(&mut self.viewer, self.rested), if self.acked => {
                    if !new {
                        return Some((CloseCode::Error, "the shards could not be looked at".into()));
                    }
                    let Some(frame) = self.frame().await else {
                        return Some((CloseCode::Error, "the shards could not be looked at".into()));
                    };
                    socket.send(Message::text(frame)).await.ok()?;
                    self.rested = Instant::now() + REST;
                }
            }
        }
    }

    /// The next one. `None`: it could not be made.
    async fn frame(&mut self) -> Option<String> {
        let seen = self.seen;
        // It may be long: a thread that serves others is not the place to write it.
        let (frame, seen) = look(self.context, move |board, _| board.frame(seen)).await?;
        self.seen = seen;
        self.seq += 1;
        self.acked = false;
        let turns = self.turns().await;
        Some(addressed(self.seq, &frame, turns.as_ref()))
    }

    /// What workers did since the last frame, if that is wanted.
    async fn turns(&mut self) -> Option<Turns> {
        let (_, seen) = self.turns.as_mut()?;
        let one = self.context.dashboard.reading.clone().acquire_owned().await.ok()?;
        let (before, now) = (*seen, Shown::now(self.context));
        *seen = now;
        let timeline = self.context.timeline.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let turns = Turns::between(&timeline, before, now);
            drop(one);
            turns
        });
        reading.await.ok()
    }

    async fn hear(&mut self, message: Option<Result<Message, Error>>) -> Result<(), Farewell> {
        let refuse = |code, why: String| Err(Some((code, why.into())));
        match message {
            None | Some(Ok(Message::Close(_))) => Err(None),
            Some(Ok(Message::Text(text))) => match serde_json::from_str::<Said>(&text) {
                Ok(said) => self.take(&said).await,
                Err(why) => {
                    let why = format!("{{\"ack\":n}} or {{\"timeline\":true}} is said here: {why}");
                    refuse(CloseCode::Policy, shortened(why))
                }
            },
            Some(Ok(Message::Binary(_))) => refuse(CloseCode::Unsupported, "say it as text".into()),
            Some(Ok(_)) => Ok(()),
            Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => {
                refuse(CloseCode::Size, format!("at most {MESSAGE_BYTES_MAX} bytes are read"))
            }
            Some(Err(Error::Protocol(_) | Error::Utf8(_))) => {
                refuse(CloseCode::Protocol, "that is no WebSocket".into())
            }
            Some(Err(_)) => Err(None),
        }
    }

    async fn take(&mut self, said: &Said) -> Result<(), Farewell> {
        match said.timeline {
            Some(true) if self.turns.is_none() => {
                let recording = self.context.timeline.clone().record_aside().await;
                self.turns = recording.map(|recording| (recording, Shown::now(self.context)));
            }
            Some(false) => self.turns = None,
            _ => {}
        }
        match said.ack {
            Some(ack) if ack > self.seq => {
                let why = format!("frame {ack} was never sent, {} was the last", self.seq);
                Err(Some((CloseCode::Policy, why.into())))
            }
            Some(ack) => {
                self.acked |= ack == self.seq;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Waits until there is something new, and the rest after the last frame is over.
async fn next(viewer: &mut Viewer, rested: Instant) -> bool {
    sleep_until(rested).await;
    viewer.tick().await
}

/// A reason may have so many bytes.
fn shortened(mut why: String) -> String {
    const REASON_BYTES_MAX: usize = 123;
    why.truncate(why.floor_char_boundary(REASON_BYTES_MAX));
    why
}
