//! How long may the other side take?
//!
//! ```text
//!            first byte         whole head               answer            all taken
//!   WAITING ------------> HEAD -------------> ANSWERING ----------> WRITING ----------> WAITING
//!                                                 |
//!                                                 +--> UPGRADED (a WebSocket, to its end)
//! ```
//!
//! 1. WAITING may last as long as `idle_timeout`, HEAD as long as `header_timeout`.
//! 2. While an answer is being made there is no limit here: the body has its own, and so has what is
//!    called.
//! 3. Whatever the state: what we write must be taken within `idle_timeout`, or at least a part of it.
//! 4. From a WebSocket nothing is read while its answers are not taken, or while what it has asked
//!    for holds too much memory. What answers hold: see `answers.rs`.
//!
//! hyper has a time-out for heads, but it also runs while a connection that is kept alive is idle:
//! the two could not be told apart.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep_until},
};

use super::connection::{Connection, HEAD, UPGRADED, WAITING, WRITING};

/// A socket whose other side has to hurry.
pub(super) struct Timed {
    socket: TcpStream,
    connection: Arc<Connection>,
    header_timeout: Duration,
    idle_timeout: Duration,
    /// When it is over, in the states that have a limit.
    deadline: Instant,
    /// Fires at the deadline or before it: it is only moved when it fires or is too late.
    alarm: Pin<Box<Sleep>>,
    /// The last write was not taken.
    stalled: bool,
}

impl Timed {
    pub(super) fn new(
        socket: TcpStream,
        connection: Arc<Connection>,
        header_timeout: Duration,
        idle_timeout: Duration,
    ) -> Timed {
        // The first request is waited for no longer than its head may take: nobody connects for
        // nothing.
        let deadline = Instant::now() + header_timeout;
        Timed {
            socket,
            connection,
            header_timeout,
            idle_timeout,
            deadline,
            alarm: Box::pin(sleep_until(deadline)),
            stalled: false,
        }
    }

    /// Whether the deadline has passed. If not, the task is woken when it does.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        if self.alarm.deadline() > self.deadline {
            self.alarm.as_mut().reset(self.deadline);
        }
        while self.alarm.as_mut().poll(cx).is_ready() {
            if Instant::now() >= self.deadline {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            self.alarm.as_mut().reset(self.deadline);
        }
        Poll::Pending
    }

    /// Nothing was there to be read.
    fn poll_quiet(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let phase = self.connection.phase();
        if phase != WAITING && phase != HEAD {
            return Poll::Pending;
        }
        if self.connection.is_unwanted() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        let late = ready!(self.poll_deadline(cx));
        self.connection.note_late(phase);
        Poll::Ready(Err(late))
    }

    /// Something was to be written: has it been taken?
    fn note_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(taken) = &written {
            self.connection.note_sent(*taken.as_ref().unwrap_or(&0));
            self.deadline = Instant::now() + self.idle_timeout;
            if std::mem::take(&mut self.stalled) {
                self.connection.wake_reader();
            }
            return written;
        }
        if !std::mem::replace(&mut self.stalled, true) {
            self.deadline = Instant::now() + self.idle_timeout;
        }
        let late = ready!(self.poll_deadline(cx));
        Poll::Ready(Err(late))
    }
}

impl AsyncRead for Timed {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.connection.phase() == UPGRADED && this.connection.must_wait(this.stalled, cx) {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        match Pin::new(&mut this.socket).poll_read(cx, buffer) {
            Poll::Ready(Ok(())) => {
                this.connection.note_read(buffer.filled().len() - before);
                if buffer.filled().len() > before && this.connection.phase() == WAITING {
                    this.connection.set_phase(HEAD);
                    this.deadline = Instant::now() + this.header_timeout;
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(failed) => Poll::Ready(failed),
            Poll::Pending => this.poll_quiet(cx),
        }
    }
}

impl AsyncWrite for Timed {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write(cx, bytes);
        this.note_write(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.socket).poll_write_vectored(cx, parts);
        this.note_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.socket).poll_flush(cx);
        // hyper asks for it when it has written all that it has.
        if matches!(flushed, Poll::Ready(Ok(()))) && this.connection.phase() == WRITING {
            this.connection.set_phase(WAITING);
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(cx)
    }
}
