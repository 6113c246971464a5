//! What answers a request, by its path?

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Body;
use jsonrpsee::{
    server::{
        self, BatchRequestConfig, HttpBody, PingConfig, Server, ServerConfig, StopHandle,
        TowerServiceBuilder, http::response::malformed, middleware::rpc::RpcServiceBuilder,
        stop_channel, ws,
    },
    types::ErrorObjectOwned,
};
use observe::metrics::Samples;
use tower::{
    Service,
    layer::util::{Identity, Stack},
};
use tracing::Instrument;

use super::{
    access, admin, body,
    calls::CallsLayer,
    connection::Connection,
    path::Path,
    plain::{Plain, Said},
    refusal::Refusal,
    request_id::{self, RequestId, RequestIds},
};
use crate::{
    context::{Context, Endpoint},
    dashboard::{self, Target},
    metrics,
    rpc::{
        error::{LIMIT, RpcError, SERVER_ERROR},
        id::HexIds,
        register,
    },
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Messages that wait for one WebSocket that does not read. They may be large: there are few. What
/// answers hold that wait here and before is in `answers.rs`.
const MESSAGES_MAX: u32 = 16;

/// The methods of an endpoint.
struct Methods {
    /// For WebSockets.
    all: server::Methods,
    /// For everyone else.
    plain: Plain,
}

/// What answers requests.
pub(crate) struct Services {
    context: Arc<Context>,
    /// For WebSockets.
    rpc: TowerServiceBuilder<Stack<CallsLayer, Identity>, Identity>,
    root: Methods,
    own: Methods,
    ids: RequestIds,
}

impl Services {
    pub(super) fn new(context: &Arc<Context>) -> Services {
        let limits = context.limits();
        // A WebSocket is asked for a sign of life three times before it counts as dead.
        let ping = (limits.idle_timeout / 3).max(std::time::Duration::from_millis(1));
        let config = ServerConfig::builder()
            .max_request_body_size(limits.body_bytes)
            .max_response_body_size(limits.answer_bytes)
            // Connections are counted where they are accepted; each has one request at a time.
            .max_connections(u32::MAX)
            .max_subscriptions_per_connection(limits.subscriptions)
            .set_id_provider(HexIds)
            .set_message_buffer_capacity(MESSAGES_MAX)
            .set_batch_request_config(BatchRequestConfig::Limit(limits.batch_items))
            .enable_ws_ping(
                PingConfig::new().ping_interval(ping).inactive_limit(ping * 2).max_failures(1),
            )
            .build();
        let tables = [register::root(), register::own()];
        let [root, own]: [server::Methods; 2] =
            tables.each_ref().map(|table| register::module(context, table).into());
        let layer = CallsLayer::new(context, &tables);
        let methods = |all, table| Methods { all, plain: Plain { calls: layer.clone(), table } };
        let [root_table, own_table] = tables;
        let (root, own) = (methods(root, root_table), methods(own, own_table));
        let rpc = Server::builder()
            .set_config(config)
            .set_rpc_middleware(RpcServiceBuilder::new().layer(layer))
            .to_service_builder();
        Services { context: context.clone(), rpc, root, own, ids: RequestIds::new() }
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Something was turned away.
    pub(super) fn refused(&self, refusal: Refusal) {
        self.context.metrics.refusals.note(refusal, self.context.queries.now());
    }

    /// Answers a request, whatever it is.
    pub(crate) async fn answer<B>(
        &self,
        mut request: Request<B>,
        connection: Option<&Arc<Connection>>,
    ) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let _counted = self.context.metrics.requests.hold();
        let id = self.ids.of(request.headers());
        if ws::is_upgrade_request(&request) {
            request.extensions_mut().insert(RequestId(id.clone()));
        }
        let mut response = async {
            let answer = self.admit(request, connection).await;
            tracing::debug!(status = answer.status().as_u16(), "answered");
            answer
        }
        .instrument(request_id::span(&id))
        .await;
        response.headers_mut().insert(request_id::HEADER, id);
        response
    }

    async fn admit<B>(
        &self,
        request: Request<B>,
        connection: Option<&Arc<Connection>>,
    ) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let admitted = match access::check(&self.context.settings.http, &request) {
            Ok(admitted) => admitted,
            Err(denied) => {
                self.refused(denied.refusal);
                return text(StatusCode::FORBIDDEN, denied.why);
            }
        };
        let mut response = match admitted.preflight(&request) {
            Some(preflight) => preflight,
            None => self.route(request, connection).await,
        };
        admitted.sign(&mut response);
        response
    }

    async fn route<B>(
        &self,
        request: Request<B>,
        connection: Option<&Arc<Connection>>,
    ) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let path = Path::parse(request.uri().path());
        let looks = matches!(*request.method(), Method::GET | Method::HEAD);
        match path {
            Path::Rpc(endpoint) if ws::is_upgrade_request(&request) => {
                self.upgrade(request, endpoint, connection).await
            }
            Path::Rpc(endpoint) if request.method() == Method::POST => {
                self.post(request, endpoint, connection).await
            }
            // Load balancers look whether somebody is there, as geth lets them.
            Path::Rpc(_) if looks => text(StatusCode::OK, HttpBody::empty()),
            Path::Rpc(_) => not_allowed("JSON-RPC is asked for with POST\n", "POST, GET, OPTIONS"),
            Path::Dashboard(_) if !self.context.settings.dashboard => text(
                StatusCode::NOT_FOUND,
                "the dashboard is switched off: start the node without --no-dashboard\n",
            ),
            Path::Dashboard(Target::Feed) if ws::is_upgrade_request(&request) => {
                dashboard::upgrade(&self.context, request, connection)
            }
            Path::Health | Path::Ready | Path::Metrics | Path::Timeline | Path::Dashboard(_)
                if !looks =>
            {
                not_allowed("this is only to be looked at: GET\n", "GET, HEAD, OPTIONS")
            }
            // To look whether it is there would record it.
            Path::Timeline if request.method() == Method::HEAD => {
                not_allowed("a timeline is recorded only to be read: GET\n", "GET, OPTIONS")
            }
            Path::Health => text(StatusCode::OK, "ok\n"),
            Path::Ready => match self.context.ready() {
                Ok(()) => text(StatusCode::OK, "ready\n"),
                Err(why) => text(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {why}\n")),
            },
            Path::Metrics => match metrics::page::look(&self.context).await {
                Some(page) => {
                    let mut response = text(StatusCode::OK, page);
                    let kind = HeaderValue::from_static(Samples::CONTENT_TYPE);
                    response.headers_mut().insert(header::CONTENT_TYPE, kind);
                    response
                }
                None => {
                    text(StatusCode::INTERNAL_SERVER_ERROR, "the numbers could not be collected\n")
                }
            },
            Path::Timeline => {
                admin::timeline(&self.context, request.uri().query(), connection).await
            }
            Path::Dashboard(target) => {
                dashboard::answer(&self.context, target, request.headers()).await
            }
            Path::NoAddress => text(
                StatusCode::NOT_FOUND,
                "/shard/ is followed by an address of 20 bytes in hex\n",
            ),
            Path::Unknown => text(
                StatusCode::NOT_FOUND,
                "JSON-RPC is at / and /shard/<address>; there are /dashboard, /health, /ready and \
                 /metrics\n",
            ),
        }
    }

    /// A request, or a batch of them.
    async fn post<B>(
        &self,
        request: Request<B>,
        endpoint: Endpoint,
        connection: Option<&Arc<Connection>>,
    ) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let reading = body::read(self.context.limits(), &parts.headers, body);
        let stopped = async {
            match connection {
                Some(connection) => connection.stop.clone().shutdown().await,
                None => std::future::pending().await,
            }
        };
        let body = tokio::select! {
            biased;
            body = reading => body,
            // Who has not said all that he wants gets no answer any more.
            () = stopped => return failed(StatusCode::SERVICE_UNAVAILABLE, RpcError::stopping()),
        };
        let body = match body {
            Ok(body) => body,
            Err(missing) => {
                if let Some(refusal) = missing.refusal {
                    self.refused(refusal);
                }
                let code = if missing.refusal.is_some() { LIMIT } else { SERVER_ERROR };
                return failed(missing.status, RpcError::new(code, missing.why));
            }
        };
        // Clients send all sorts of types, or none. Web pages were checked by their origin, so the
        // type protects nobody.
        match self.methods(endpoint).plain.answer(body, endpoint).await {
            Said::Answer(answer) => rpc(StatusCode::OK, answer),
            Said::Nothing => text(StatusCode::OK, HttpBody::empty()),
            Said::Malformed => malformed(),
        }
    }

    /// A WebSocket, from now on.
    async fn upgrade<B>(
        &self,
        mut request: Request<B>,
        endpoint: Endpoint,
        connection: Option<&Arc<Connection>>,
    ) -> Response<HttpBody>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        mark(&mut request, endpoint, connection);
        let methods = self.methods(endpoint).all.clone();
        let mut service = self.rpc.clone().build(methods, stop_of(connection));
        let mut response = service
            .call(request)
            .await
            .unwrap_or_else(|error| text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")));
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            *response.status_mut() = StatusCode::BAD_REQUEST;
        } else if let Some(connection) = connection {
            connection.upgrade();
        }
        response
    }

    fn methods(&self, endpoint: Endpoint) -> &Methods {
        match endpoint {
            Endpoint::Root => &self.root,
            Endpoint::Shard(_) => &self.own,
        }
    }
}

/// Says where a request came from, for those who answer it.
fn mark<B>(request: &mut Request<B>, endpoint: Endpoint, connection: Option<&Arc<Connection>>) {
    let extensions = request.extensions_mut();
    extensions.insert(endpoint);
    if let Some(connection) = connection {
        extensions.insert(connection.clone());
    }
}

fn stop_of(connection: Option<&Arc<Connection>>) -> StopHandle {
    connection.map_or_else(|| stop_channel().0, |connection| connection.stop.clone())
}

/// An answer in plain words.
pub(crate) fn text(status: StatusCode, body: impl Into<HttpBody>) -> Response<HttpBody> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// An answer for programs: how something is now.
pub(crate) fn json(body: impl Into<HttpBody>) -> Response<HttpBody> {
    let mut response = text(StatusCode::OK, body);
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(header::CONTENT_TYPE, fixed("application/json; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, fixed("no-store"));
    // Names in it are written by strangers: no browser may take it for a page.
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    response
}

fn not_allowed(why: &'static str, allowed: &'static str) -> Response<HttpBody> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, why);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// An answer of JSON-RPC.
fn rpc(status: StatusCode, body: String) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// An answer to a request that nobody has looked into, so its id is not known.
fn failed(status: StatusCode, error: RpcError) -> Response<HttpBody> {
    let error = ErrorObjectOwned::from(error);
    let body = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error });
    rpc(status, body.to_string())
}
