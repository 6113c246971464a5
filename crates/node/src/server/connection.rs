//! One connection: its requests, and who answers them.

use std::{convert::Infallible, sync::Arc};

use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use jsonrpsee::server::{
    BatchRequestConfig, HttpBody, Methods, Server, ServerConfig, StopHandle, TowerServiceBuilder,
};
use tokio::net::TcpStream;
use tower::{Service, layer::util::Identity};

use super::path::Path;
use crate::{
    context::{Context, Endpoint},
    rpc::{id::HexIds, register},
};

/// Messages that wait for one WebSocket that does not read. They may be large: there are few.
const MESSAGES_MAX: u32 = 64;

/// What answers requests.
#[derive(Clone)]
pub(super) struct Services {
    context: Arc<Context>,
    rpc: TowerServiceBuilder<Identity, Identity>,
    root: Methods,
    own: Methods,
    stop: StopHandle,
}

impl Services {
    pub(super) fn new(context: &Arc<Context>, stop: &StopHandle) -> Services {
        let limits = context.limits();
        let config = ServerConfig::builder()
            .max_request_body_size(limits.body_bytes)
            .max_response_body_size(limits.answer_bytes)
            // Connections are counted where they are accepted; each has one request at a time.
            .max_connections(u32::MAX)
            .max_subscriptions_per_connection(limits.subscriptions)
            .set_id_provider(HexIds)
            .set_message_buffer_capacity(MESSAGES_MAX)
            .set_batch_request_config(BatchRequestConfig::Limit(limits.batch_items))
            .build();
        Services {
            context: context.clone(),
            rpc: Server::builder().set_config(config).to_service_builder(),
            root: register::root(context).into(),
            own: register::own(context).into(),
            stop: stop.clone(),
        }
    }

    /// Serves a connection until it ends.
    pub(super) async fn serve(self, socket: TcpStream, stop: StopHandle) {
        // Answers are small and someone waits for them.
        let _ = socket.set_nodelay(true);
        let header_timeout = self.context.limits().header_timeout;
        let service = hyper::service::service_fn(move |request| {
            let services = self.clone();
            async move { Ok::<_, Infallible>(services.answer(request).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .serve_connection(TokioIo::new(socket), service)
            .with_upgrades();
        let stopped = stop.shutdown();
        tokio::pin!(connection, stopped);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = &mut stopped => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended early");
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<HttpBody> {
        match Path::parse(request.uri().path()) {
            Path::Rpc(endpoint) => self.rpc(request, endpoint).await,
            Path::Health => text(StatusCode::OK, "ok\n"),
            Path::Ready => self.ready(),
            Path::Metrics => text(StatusCode::NOT_FOUND, "there are no metrics yet\n"),
            Path::NoAddress => text(
                StatusCode::NOT_FOUND,
                "/shard/ is followed by an address of 20 bytes in hex\n",
            ),
            Path::Unknown => text(
                StatusCode::NOT_FOUND,
                "JSON-RPC is at / and /shard/<address>; there are /health, /ready and /metrics\n",
            ),
        }
    }

    async fn rpc(&self, mut request: Request<Incoming>, endpoint: Endpoint) -> Response<HttpBody> {
        let methods = match endpoint {
            Endpoint::Root => self.root.clone(),
            Endpoint::Shard(_) => self.own.clone(),
        };
        request.extensions_mut().insert(endpoint);
        let mut service = self.rpc.clone().build(methods, self.stop.clone());
        service
            .call(request)
            .await
            .unwrap_or_else(|error| text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")))
    }

    fn ready(&self) -> Response<HttpBody> {
        match self.context.shards.store_failure() {
            None => text(StatusCode::OK, "ready\n"),
            Some(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")),
        }
    }
}

fn text(status: StatusCode, body: impl Into<HttpBody>) -> Response<HttpBody> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let plain = header::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
