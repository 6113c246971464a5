//! How is the base chain asked?

use std::{error::Error, time::Duration};

use alloy_primitives::B256;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};

use super::{
    BaseChainError,
    head::{self, Head, quote},
};

/// A block without its transactions is some 100 KB, where there are many.
const ANSWER_MAX: usize = 4 << 20;
/// So long one question may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// An Ethereum JSON-RPC endpoint.
pub(super) struct Endpoint {
    http: Http,
    uri: Uri,
    next_id: u64,
    timeout: Duration,
}

enum Http {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl Endpoint {
    pub(super) fn new(url: &str, timeout: Duration) -> Result<Endpoint, BaseChainError> {
        let wrong = |why: String| BaseChainError::Url(why);
        let uri: Uri = url.parse().map_err(|why| wrong(format!("{why}")))?;
        let authority = uri.authority().ok_or_else(|| wrong("it has no host".to_owned()))?;
        if authority.as_str().contains('@') {
            let why = "it has a name and password in it: this client sends none (a key in the path \
                       is fine)";
            return Err(wrong(why.to_owned()));
        }
        let builder = || Client::builder(TokioExecutor::new());
        let http = match uri.scheme_str() {
            Some("http") => Http::Plain(builder().build(HttpConnector::new())),
            Some("https") => {
                let roots = HttpsConnectorBuilder::new().with_native_roots();
                let roots = roots.map_err(|why| {
                    wrong(format!("the certificates of this system can not be read: {why}"))
                })?;
                Http::Tls(builder().build(roots.https_only().enable_http1().build()))
            }
            Some("ws" | "wss") => {
                let why = "it is a WebSocket: give the endpoint for http:// or https://";
                return Err(wrong(why.to_owned()));
            }
            _ => return Err(wrong("it must begin with http:// or https://".to_owned())),
        };
        Ok(Endpoint { http, uri, next_id: 1, timeout })
    }

    /// Without the path, which often holds a key.
    pub(super) fn shown(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        format!("{scheme}://{}", self.uri.authority().map_or("", |authority| authority.as_str()))
    }

    pub(super) async fn chain_id(&mut self) -> Result<u64, BaseChainError> {
        let answer = self.ask("eth_chainId", json!([])).await?;
        head::quantity(&answer).ok_or_else(|| {
            BaseChainError::Nonsense(format!("its chain id is {}", quote(&answer.to_string())))
        })
    }

    pub(super) async fn newest(&mut self) -> Result<Head, BaseChainError> {
        head::head(&self.ask("eth_getBlockByNumber", json!(["latest", false])).await?)
    }

    /// The hash of a block, if the chain has one of this number.
    pub(super) async fn hash_at(&mut self, number: u64) -> Result<Option<B256>, BaseChainError> {
        let params = json!([format!("{number:#x}"), false]);
        let block = self.ask("eth_getBlockByNumber", params).await?;
        if block.is_null() {
            return Ok(None);
        }
        Ok(Some(head::head(&block)?.hash))
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Value, BaseChainError> {
        let id = self.next_id;
        self.next_id += 1;
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let body = tokio::time::timeout(self.timeout, self.send(body.to_string())).await;
        let late = |_| {
            let seconds = self.timeout.as_secs_f32();
            BaseChainError::Unreachable(format!("no whole answer within {seconds} s"))
        };
        head::result(&body.map_err(late)??, id)
    }

    async fn send(&self, body: String) -> Result<Bytes, BaseChainError> {
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.uri.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("shiftwork/", env!("CARGO_PKG_VERSION")))
            .body(Full::from(body))
            .map_err(|why| BaseChainError::Url(why.to_string()))?;
        let answer: Response<Incoming> = match &self.http {
            Http::Plain(client) => client.request(request).await,
            Http::Tls(client) => client.request(request).await,
        }
        .map_err(|why| BaseChainError::Unreachable(causes(&why)))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
        let body = body.map_err(|why| {
            if why.is::<LengthLimitError>() {
                BaseChainError::Nonsense(format!("it is longer than {ANSWER_MAX} bytes"))
            } else {
                BaseChainError::Unreachable(causes(&*why))
            }
        })?;
        let body = body.to_bytes();
        // Some send an error of JSON-RPC with another status, and it says more.
        if status != StatusCode::OK && !body.starts_with(b"{") {
            return Err(BaseChainError::Refused(format!("HTTP status {status}")));
        }
        Ok(body)
    }
}

/// An error and what has led to it: the outermost alone says little.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
