//! The door: sockets, connections, and what is let in.

pub(crate) mod access;
mod admin;
mod answers;
mod asked;
mod body;
pub(crate) mod calls;
pub(crate) mod connection;
mod depth;
mod path;
mod plain;
pub(crate) mod refusal;
mod request_id;
pub(crate) mod services;
mod timed;

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use jsonrpsee::server::{ServerHandle, StopHandle, stop_channel};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    runtime::Runtime,
    sync::Semaphore,
};

use crate::context::Context;
use connection::Connection;
use refusal::Refusal;
use services::Services;

/// Connections too many that are told so at once. Those beyond are closed without a word.
const TOLD_AT_ONCE: usize = 32;

const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    content-type: text/plain; charset=utf-8\r\ncontent-length: 51\r\nconnection: close\r\n\
    retry-after: 1\r\n\r\ntoo many connections: as many as may be are in use\n";

/// A server that runs.
pub(crate) struct Server {
    address: SocketAddr,
    runtime: Runtime,
    handle: ServerHandle,
    services: Arc<Services>,
}

/// What was not finished when a server stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) requests: usize,
    pub(crate) connections: usize,
}

impl Server {
    pub(crate) fn start(listener: TcpListener, context: &Arc<Context>) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().thread_name("rpc").enable_all().build()?;
        let (stop, handle) = stop_channel();
        let services = Arc::new(Services::new(context));
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        runtime.spawn(accept(listener, services.clone(), stop));
        Ok(Server { address, runtime, handle, services })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers a request that came by no socket.
    pub(crate) fn ask(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.runtime.block_on(async {
            let answer = self.services.answer(request.map(Full::new), None).await;
            let (parts, body) = answer.into_parts();
            let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            Response::from_parts(parts, body)
        })
    }

    /// Takes no more connections, lets requests under way end. What did not end in time is cut off.
    pub(crate) fn stop(self, deadline: Duration) -> Cut {
        let _ = self.handle.stop();
        let stopped = self.handle.stopped();
        let in_time =
            self.runtime.block_on(async { tokio::time::timeout(deadline, stopped).await.is_ok() });
        let metrics = &self.services.context().metrics;
        let cut = if in_time {
            Cut { requests: 0, connections: 0 }
        } else {
            let requests = metrics.requests.get() + metrics.websocket_calls.get();
            Cut { requests, connections: metrics.connections.get() }
        };
        self.runtime.shutdown_background();
        cut
    }
}

async fn accept(listener: tokio::net::TcpListener, services: Arc<Services>, stop: StopHandle) {
    let room = Arc::new(Semaphore::new(services.context().limits().connections));
    let told = Arc::new(Semaphore::new(TOLD_AT_ONCE));
    let stopped = stop.clone().shutdown();
    tokio::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stopped => return,
        };
        let Ok((socket, _)) = accepted else {
            // Too many open files, mostly. It passes when others close theirs.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        services.context().metrics.accepted.add(1);
        if let Ok(permit) = room.clone().try_acquire_owned() {
            let connection = Connection::new(&services, stop.clone(), permit);
            tokio::spawn(connection::serve(socket, connection, services.clone()));
        } else {
            services.refused(Refusal::Connections);
            if let Ok(permit) = told.clone().try_acquire_owned() {
                let limit = services.context().limits().header_timeout;
                tokio::spawn(async move {
                    let _ = tokio::time::timeout(limit, turn_away(socket)).await;
                    drop(permit);
                });
            }
        }
    }
}

/// Says that there is no room.
async fn turn_away(mut socket: TcpStream) {
    // If it were closed with something unread, the other side would get an error and no answer.
    if socket.write_all(TOO_MANY).await.is_ok() && socket.shutdown().await.is_ok() {
        let mut ignored = [0; 1 << 10];
        let mut most = 64;
        while most > 0 && matches!(socket.read(&mut ignored).await, Ok(1..)) {
            most -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_one_too_many_is_as_long_as_it_says() {
        let answer = std::str::from_utf8(TOO_MANY).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
    }
}
