//! One connection: where it stands, and how it is served.

use std::{
    convert::Infallible,
    sync::{
        Arc, OnceLock,
        atomic::{
            AtomicBool, AtomicU8, AtomicUsize,
            Ordering::{Relaxed, SeqCst},
        },
    },
    task,
};

use futures_util::task::AtomicWaker;
use hyper_util::rt::TokioIo;
use jsonrpsee::server::StopHandle;
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};

use super::{
    answers::{Answers, Turn},
    refusal::Refusal,
    services::Services,
    timed::Timed,
};
use crate::metrics::Held;

/// What a call holds beside its text.
const CALL_BYTES: usize = 1 << 10;

/// No request is under way.
pub(super) const WAITING: u8 = 0;
/// A request has begun, its head is not whole.
pub(super) const HEAD: u8 = 1;
/// A request is being answered.
pub(super) const ANSWERING: u8 = 2;
/// The answer is there, but not all of it was taken.
pub(super) const WRITING: u8 = 3;
/// It is a WebSocket now.
pub(super) const UPGRADED: u8 = 4;

/// What a connection's socket and its requests have in common.
///
/// The states are those of `timed.rs`. A request holds it, too, so that a WebSocket counts as a
/// connection until it is closed.
pub(crate) struct Connection {
    phase: AtomicU8,
    /// It is closed as soon as no request is under way.
    unwanted: AtomicBool,
    /// Bytes of the calls under way.
    asked: AtomicUsize,
    /// So many bytes may be under way before nothing more is read.
    asked_max: usize,
    /// Bytes that were read from a WebSocket and that no call has on its account.
    read: AtomicUsize,
    /// Of a WebSocket.
    answers: Answers,
    /// The task that would like to read on.
    reader: AtomicWaker,
    services: Arc<Services>,
    /// Told when the node stops.
    pub(super) stop: StopHandle,
    /// Set when it is a WebSocket: it is counted as one.
    websocket: OnceLock<Held>,
    _permit: OwnedSemaphorePermit,
    _counted: Held,
}

impl Connection {
    pub(super) fn new(
        services: &Arc<Services>,
        stop: StopHandle,
        permit: OwnedSemaphorePermit,
    ) -> Arc<Connection> {
        let limits = services.context().limits();
        Arc::new(Connection {
            phase: AtomicU8::new(WAITING),
            unwanted: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
            // One of the largest is under way, and another one may be on its way.
            asked_max: limits.body_bytes as usize,
            read: AtomicUsize::new(0),
            answers: Answers::new(limits.body_bytes as usize),
            reader: AtomicWaker::new(),
            services: services.clone(),
            stop,
            websocket: OnceLock::new(),
            _permit: permit,
            _counted: services.context().metrics.connections.hold(),
        })
    }

    pub(super) fn phase(&self) -> u8 {
        self.phase.load(Relaxed)
    }

    pub(super) fn set_phase(&self, phase: u8) {
        self.phase.store(phase, Relaxed);
    }

    /// It is a WebSocket from now on.
    pub(crate) fn upgrade(&self) {
        self.set_phase(UPGRADED);
        self.websocket.get_or_init(|| self.services.context().metrics.websockets.hold());
    }

    /// Waits until the node stops.
    pub(crate) async fn stopped(&self) {
        self.stop.clone().shutdown().await;
    }

    pub(super) fn is_upgraded(&self) -> bool {
        self.phase() == UPGRADED
    }

    pub(super) fn is_unwanted(&self) -> bool {
        self.unwanted.load(Relaxed)
    }

    /// The other side took too long.
    pub(super) fn note_late(&self, phase: u8) {
        // That a connection is kept alive and not used is no fault of anybody's.
        if phase == HEAD {
            self.services.refused(Refusal::HeaderTimeout);
        }
    }

    /// A call is under way until the answer is dropped. It holds so many bytes for sure, and whatever came
    /// with it: blanks, notifications and nonsense in its batch, of which nobody says how long they are.
    pub(super) fn ask(self: &Arc<Connection>, bytes: usize) -> Asked {
        let bytes = bytes.max(self.read.swap(0, SeqCst)) + CALL_BYTES;
        self.asked.fetch_add(bytes, SeqCst);
        let counted = self.services.context().metrics.websocket_calls.hold();
        Asked { connection: self.clone(), bytes, _counted: counted }
    }

    /// The other side has sent so many bytes.
    pub(super) fn note_read(&self, bytes: usize) {
        if self.is_upgraded() {
            self.read.fetch_add(bytes, SeqCst);
        }
    }

    /// The other side has taken so many bytes, or the system for it.
    pub(super) fn note_sent(&self, bytes: usize) {
        if self.is_upgraded() {
            self.answers.sent(bytes);
        }
    }

    /// Whether nothing may be read now. If so, the task is woken when that changes.
    pub(super) fn must_wait(&self, stalled: bool, cx: &task::Context<'_>) -> bool {
        let full = || stalled || self.asked.load(SeqCst) > self.asked_max;
        if !full() {
            return false;
        }
        self.reader.register(cx.waker());
        // Whoever made room before it was registered has woken nobody.
        full()
    }

    pub(super) fn wake_reader(&self) {
        self.reader.wake();
    }
}

/// A call under way.
pub(super) struct Asked {
    connection: Arc<Connection>,
    bytes: usize,
    _counted: Held,
}

impl Asked {
    /// Waits until there is room for the answer.
    pub(super) async fn turn(&self) -> Turn<'_> {
        self.connection.answers.turn().await
    }

    /// The answer is there, and will be sent.
    pub(super) fn answered(&self, bytes: usize) {
        self.connection.answers.answered(bytes);
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.connection.asked.fetch_sub(self.bytes, SeqCst);
        self.connection.wake_reader();
    }
}

/// Serves a connection until it ends, or is upgraded.
pub(super) async fn serve(socket: TcpStream, connection: Arc<Connection>, services: Arc<Services>) {
    // Answers are small and someone waits for them.
    let _ = socket.set_nodelay(true);
    let limits = services.context().limits().clone();
    let timed = Timed::new(socket, connection.clone(), limits.header_timeout, limits.idle_timeout);
    let service = hyper::service::service_fn({
        let connection = connection.clone();
        move |request| {
            let (services, connection) = (services.clone(), connection.clone());
            async move {
                connection.set_phase(ANSWERING);
                let answer = services.answer(request, Some(&connection)).await;
                if !connection.is_upgraded() {
                    connection.set_phase(WRITING);
                }
                Ok::<_, Infallible>(answer)
            }
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(timed), service)
        .with_upgrades();
    let stopped = connection.stop.clone().shutdown();
    tokio::pin!(served, stopped);
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = &mut stopped => {
            connection.unwanted.store(true, Relaxed);
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
