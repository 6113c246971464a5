//! What is at `/dashboard/`? A page that shows what the node does, live.
//!
//! ```text
//!   /dashboard         a redirect to the page
//!   /dashboard/        the page and its files: see `page.rs`
//!   /dashboard/state   how the node is now, as JSON
//!   /dashboard/feed    the same again and again, over a WebSocket: see `feed.rs`
//!
//!   shards ──> Board ──> Maker ─┬─> Viewer
//!              (rows)   (ticks) └─> Viewer
//! ```
//!
//! All who look share one [`Board`]: the shards are looked at once, however many look. While nobody
//! does, nothing is done.

mod blocks;
mod board;
mod feed;
mod frame;
mod maker;
mod numbers;
mod page;
mod row;
mod turns;

use std::sync::{Arc, Mutex};

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use jsonrpsee::server::HttpBody;
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};

use crate::{
    context::Context,
    server::services::{json, text},
};
use board::Board;
pub(crate) use feed::upgrade;
use maker::Looking;

/// So many may look at once.
pub(crate) const VIEWERS_MAX: usize = 16;

/// What a path below `/dashboard` leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To the page.
    Redirect,
    /// One of the page's files, by its place in the list.
    File(usize),
    State,
    Feed,
    Unknown,
}

impl Target {
    /// From what comes after `/dashboard`.
    pub(crate) fn parse(rest: &str) -> Target {
        let Some(name) = rest.strip_prefix('/') else { return Target::Redirect };
        match name {
            "state" => Target::State,
            "feed" => Target::Feed,
            name => page::find(name).map_or(Target::Unknown, Target::File),
        }
    }
}

/// What all who look share.
pub(crate) struct Dashboard {
    /// Which run of the node this is.
    run: String,
    /// One permit for each who may look.
    room: Arc<Semaphore>,
    /// Whoever looks at the shards holds it.
    board: Arc<AsyncMutex<Board>>,
    looking: Mutex<Looking>,
    /// Whoever reads what workers did holds it: that takes a while, so it is one at a time.
    reading: Arc<Semaphore>,
}

impl Dashboard {
    pub(crate) fn new() -> Dashboard {
        Dashboard {
            run: observe::snapshot::new_run(),
            room: Arc::new(Semaphore::new(VIEWERS_MAX)),
            board: Arc::default(),
            looking: Mutex::default(),
            reading: Arc::new(Semaphore::new(1)),
        }
    }

    /// How many look now.
    pub(crate) fn viewers(&self) -> usize {
        VIEWERS_MAX - self.room.available_permits()
    }

    /// A place for one more, if there is one.
    fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.room.clone().try_acquire_owned().ok()
    }
}

/// Answers what is only looked at.
pub(crate) async fn answer(
    context: &Arc<Context>,
    target: Target,
    headers: &HeaderMap,
) -> Response<HttpBody> {
    match target {
        Target::Redirect => {
            let mut response =
                text(StatusCode::PERMANENT_REDIRECT, "the dashboard is at dashboard/\n");
            // Without the path before it: a proxy may have put the node anywhere.
            let there = HeaderValue::from_static("dashboard/");
            response.headers_mut().insert(header::LOCATION, there);
            response
        }
        Target::File(place) => page::answer(place, headers),
        Target::State => state(context).await,
        Target::Feed => text(StatusCode::UPGRADE_REQUIRED, "this is a WebSocket\n"),
        Target::Unknown => text(
            StatusCode::NOT_FOUND,
            "the dashboard has no such file; its numbers are at /dashboard/state\n",
        ),
    }
}

/// How the node is now.
async fn state(context: &Arc<Context>) -> Response<HttpBody> {
    match look(context, Board::state).await {
        Some(state) => json(HttpBody::new(Full::new(state))),
        None => text(StatusCode::INTERNAL_SERVER_ERROR, "the shards could not be looked at\n"),
    }
}

/// Does something with the board, on a thread that is no worker: what workers do is what we look
/// at, and they may all be paused. One at a time. `None`: it has panicked.
async fn look<R: Send + 'static>(
    context: &Arc<Context>,
    run: impl FnOnce(&mut Board, &Context) -> R + Send + 'static,
) -> Option<R> {
    let mut board = context.dashboard.board.clone().lock_owned().await;
    let context = context.clone();
    tokio::task::spawn_blocking(move || run(&mut board, &context)).await.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_the_page_or_to_what_it_shows() {
        assert_eq!(Target::parse(""), Target::Redirect);
        assert_eq!(Target::parse("/state"), Target::State);
        assert_eq!(Target::parse("/feed"), Target::Feed);
        assert!(matches!(Target::parse("/"), Target::File(_)));
        assert_eq!(Target::parse("/index.html"), Target::parse("/"));
        for odd in ["/../../etc/passwd", "//", "/page.rs", "/state/"] {
            assert_eq!(Target::parse(odd), Target::Unknown, "{odd}");
        }
    }
}
