//! Every call, whichever way it came: is it within the limits, how long did it take, how did it end?
//!
//! For a WebSocket this stands between the server's parser and the methods; `plain.rs` does the same
//! for HTTP. Batches are taken apart: their calls run side by side, so that a batch of transactions
//! waits for one sync of the log and not for one each. What waits for its turn over a WebSocket, since
//! answers to what came before are not taken, has not begun: see `answers.rs`.

use std::{future::Future, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, StreamExt, future::Either, stream::FuturesUnordered};
use jsonrpsee::{
    core::{
        middleware::{Batch, BatchEntry, Notification, RpcServiceT},
        server::{BatchResponseBuilder, MethodResponse},
    },
    types::{
        ErrorObjectOwned, Id, Request,
        error::{
            OVERSIZED_RESPONSE_CODE, TOO_MANY_SUBSCRIPTIONS_CODE, reject_too_big_batch_response,
        },
    },
};
use tower::Layer;
use tracing::{Instrument, Span};

use super::{
    connection::{Asked, Connection},
    depth,
    refusal::Refusal,
    request_id::RequestId,
};
use crate::{
    context::{Context, Endpoint},
    metrics::calls::{CallMetrics, Outcome},
    rpc::{
        error::{LIMIT, RpcError},
        eth::subscribe,
        method::{Method, Run},
        register::Table,
        unknown,
    },
};

/// Calls of one batch that run side by side.
const BATCH_WIDTH: usize = 256;

#[derive(Clone)]
pub(super) struct CallsLayer {
    pub(super) context: Arc<Context>,
    pub(super) metrics: Arc<CallMetrics>,
}

impl CallsLayer {
    /// For these methods.
    pub(super) fn new(context: &Arc<Context>, tables: &[Table; 2]) -> CallsLayer {
        let metrics = context.metrics.calls.get_or_init(|| Arc::new(CallMetrics::new(tables)));
        CallsLayer { context: context.clone(), metrics: metrics.clone() }
    }
}

impl<S> Layer<S> for CallsLayer {
    type Service = Calls<S>;

    fn layer(&self, inner: S) -> Calls<S> {
        Calls { inner, layer: self.clone() }
    }
}

/// Calls, on their way to `inner`.
#[derive(Clone)]
pub(super) struct Calls<S> {
    inner: S,
    layer: CallsLayer,
}

impl CallsLayer {
    pub(super) fn refused(&self, refusal: Refusal) {
        self.context.metrics.refusals.note(refusal, self.context.queries.now());
    }

    /// Whether a call may be made.
    pub(super) fn check(
        &self,
        endpoint: Endpoint,
        websocket: bool,
        method: &str,
        params: &str,
    ) -> Result<(), RpcError> {
        let most = self.context.limits().json_depth;
        // The request is an object, so its arguments begin one level below.
        if depth::is_deeper(params, most.saturating_sub(1)) {
            self.refused(Refusal::Depth);
            let why = format!("the arguments are nested too deep: at most {most} levels");
            return Err(RpcError::new(LIMIT, why));
        }
        let Some(method) = self.metrics.of(method) else {
            return Err(unknown::method(endpoint, method));
        };
        match method.method {
            Some(method) if method.is_of_websockets() && !websocket => Err(unknown::subscription()),
            Some(Method { run: Run::Unsubscription, .. }) => subscribe::check_id(params),
            _ => Ok(()),
        }
    }

    /// What a WebSocket has asked for counts until it is answered: see `timed.rs`.
    fn ask(request: &Request<'_>) -> Option<Asked> {
        let connection = request.extensions.get::<Arc<Connection>>()?;
        let params = request.params.as_ref().map_or(0, |params| params.get().len());
        let id = match &request.id {
            Id::Str(id) => id.len(),
            Id::Null | Id::Number(_) => 0,
        };
        let bytes = params + id + request.method.len();
        connection.is_upgraded().then(|| connection.ask(bytes))
    }

    /// Whether what is called may have a large answer. Those that wait for others have none, and many of
    /// them wait for the same.
    fn may_be_large(&self, name: &str) -> bool {
        let method = self.metrics.of(name).and_then(|method| method.method);
        !method.is_some_and(|method| {
            matches!(method.run, Run::Waiting(_)) || method.is_of_websockets()
        })
    }

    fn note(&self, response: &MethodResponse) {
        match response.as_error_code() {
            Some(OVERSIZED_RESPONSE_CODE) => self.refused(Refusal::AnswerBytes),
            Some(TOO_MANY_SUBSCRIPTIONS_CODE) => self.refused(Refusal::Subscriptions),
            _ => {}
        }
    }
}

fn is_websocket(request: &Request<'_>) -> bool {
    request.extensions.get::<Arc<Connection>>().is_some_and(|connection| connection.is_upgraded())
}

/// The call in an entry of a batch counts as any other, and the first one for what else is in it.
fn ask_of_batch(entry: &BatchEntry<'_>) -> Option<Asked> {
    match entry {
        BatchEntry::Call(request) => CallsLayer::ask(request),
        BatchEntry::Notification(_) => None,
    }
}

/// An answer that will be sent counts from here on. That to a subscription was sent already.
fn answered(asked: Option<&Asked>, response: &MethodResponse) {
    if let Some(asked) = asked
        && (response.is_method_call() || response.is_batch())
    {
        asked.answered(response.as_json().get().len());
    }
}

impl<S> Calls<S>
where
    S: RpcServiceT<
            MethodResponse = MethodResponse,
            BatchResponse = MethodResponse,
            NotificationResponse = MethodResponse,
        > + Clone
        + Send
        + Sync
        + 'static,
{
    /// One call.
    fn answer(&self, request: Request<'_>) -> impl Future<Output = MethodResponse> + Send {
        let layer = self.layer.clone();
        let begun = layer.context.queries.now();
        let id = request.id.clone();
        let method = request.method.clone();
        let endpoint = request.extensions.get().copied().unwrap_or(Endpoint::Root);
        let span = request.extensions.get().map_or_else(Span::none, RequestId::span);
        let params = request.params.as_ref().map_or("", |params| params.get());
        let answer = match layer.check(endpoint, is_websocket(&request), &method, params) {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(why) => {
                let error = MethodResponse::error(request.id, ErrorObjectOwned::from(why));
                Either::Right(std::future::ready(error))
            }
        };
        async move {
            let answered = AssertUnwindSafe(answer).catch_unwind().await;
            let took = layer.context.queries.now().saturating_sub(begun);
            let (response, outcome) = match answered {
                Ok(response) if response.is_error() => (response, Outcome::Error),
                Ok(response) => (response, Outcome::Ok),
                // The panic's words are in the log; strangers need not know them.
                Err(_) => {
                    let error = RpcError::internal(&"the method has panicked");
                    let error = MethodResponse::error(id, ErrorObjectOwned::from(error));
                    (error, Outcome::Panic)
                }
            };
            layer.note(&response);
            let name = layer.metrics.note(&method, outcome, took);
            let code = response.as_error_code();
            tracing::debug!(method = name, code, micros = took.as_micros() as u64, "called");
            response
        }
        .instrument(span)
    }

    /// A batch.
    async fn answers(&self, batch: Batch<'_>) -> MethodResponse {
        let most = self.layer.context.limits().answer_bytes as usize;
        let too_large = || {
            self.layer.refused(Refusal::AnswerBytes);
            MethodResponse::error(Id::Null, reject_too_big_batch_response(most))
        };
        let mut notified = false;
        let mut under_way = Vec::with_capacity(batch.len());
        for entry in batch {
            under_way.push(match entry {
                Ok(BatchEntry::Call(request)) => Either::Left(self.answer(request)),
                Ok(BatchEntry::Notification(notification)) => {
                    notified = true;
                    self.notification(notification).await;
                    continue;
                }
                Err(wrong) => {
                    let (error, id) = wrong.into_parts();
                    Either::Right(std::future::ready(MethodResponse::error(id, error)))
                }
            });
        }
        let length = |answer: &MethodResponse| answer.as_json().get().len();
        let Some(answers) = gather(under_way, most, length).await else {
            return too_large();
        };
        let mut whole = BatchResponseBuilder::new_with_limit(most);
        for answer in answers {
            if whole.append(answer).is_err() {
                return too_large();
            }
        }
        if whole.is_empty() && notified {
            MethodResponse::notification()
        } else {
            // Of an empty batch it makes an error, as the specification has it.
            MethodResponse::from_batch(whole.finish())
        }
    }
}

impl<S> RpcServiceT for Calls<S>
where
    S: RpcServiceT<
            MethodResponse = MethodResponse,
            BatchResponse = MethodResponse,
            NotificationResponse = MethodResponse,
        > + Clone
        + Send
        + Sync
        + 'static,
{
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let calls = self.clone();
        let asked = CallsLayer::ask(&request);
        async move {
            let large = calls.layer.may_be_large(&request.method);
            let turn = match &asked {
                Some(asked) if large => Some(asked.turn().await),
                _ => None,
            };
            let response = calls.answer(request).await;
            answered(asked.as_ref(), &response);
            drop(turn);
            response
        }
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let calls = self.clone();
        let asked: Vec<Asked> = batch.iter().flatten().filter_map(ask_of_batch).collect();
        async move {
            let turn = match asked.first() {
                Some(asked) => Some(asked.turn().await),
                None => None,
            };
            let response = calls.answers(batch).await;
            answered(asked.first(), &response);
            drop(turn);
            response
        }
    }

    fn notification<'a>(
        &self,
        _: Notification<'a>,
    ) -> impl Future<Output = MethodResponse> + Send + 'a {
        std::future::ready(MethodResponse::notification())
    }
}

/// Runs calls side by side. Their answers in the order of the calls; `None`: they are too large
/// together, and what is still under way is not waited for.
pub(super) async fn gather<F: Future>(
    calls: Vec<F>,
    bytes_max: usize,
    length: impl Fn(&F::Output) -> usize,
) -> Option<Vec<F::Output>> {
    let mut answers: Vec<Option<F::Output>> = Vec::new();
    answers.resize_with(calls.len(), || None);
    let numbered = calls.into_iter().enumerate();
    let mut numbered = numbered.map(|(index, call)| async move { (index, call.await) });
    let mut under_way: FuturesUnordered<_> = numbered.by_ref().take(BATCH_WIDTH).collect();
    let mut bytes = 0;
    while let Some((index, answer)) = under_way.next().await {
        bytes += length(&answer) + 1;
        if bytes > bytes_max {
            return None;
        }
        answers[index] = Some(answer);
        under_way.extend(numbered.next());
    }
    answers.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use tokio::sync::Barrier;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    }

    fn answer(id: u64) -> MethodResponse {
        let error = RpcError::server("x".repeat(100));
        MethodResponse::error(Id::Number(id), ErrorObjectOwned::from(error))
    }

    fn length(answer: &MethodResponse) -> usize {
        answer.as_json().get().len()
    }

    fn id(answer: &MethodResponse) -> u64 {
        let json: serde_json::Value = serde_json::from_str(answer.as_json().get()).unwrap();
        json["id"].as_u64().unwrap()
    }

    #[test]
    fn calls_of_a_batch_wait_side_by_side_and_are_answered_in_order() {
        let barrier = Barrier::new(100);
        let barrier = &barrier;
        // None gets past the barrier before all are at it.
        let calls = (0..100).map(|id| async move {
            barrier.wait().await;
            answer(id)
        });
        let answers = runtime().block_on(gather(calls.collect(), usize::MAX, length)).unwrap();
        assert_eq!(answers.iter().map(id).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_batch_wider_than_the_limit_is_answered_whole() {
        let most = 3 * BATCH_WIDTH as u64 + 1;
        let calls = (0..most).map(|id| async move { answer(id) }).collect();
        let answers = runtime().block_on(gather(calls, usize::MAX, length)).unwrap();
        assert_eq!(answers.iter().map(id).collect::<Vec<_>>(), (0..most).collect::<Vec<_>>());
    }

    #[test]
    fn what_is_too_large_does_not_wait_for_the_rest() {
        let calls = (0..10).map(|id| async move {
            if id == 0 {
                std::future::pending::<()>().await;
            }
            answer(id)
        });
        assert!(runtime().block_on(gather(calls.collect(), 500, length)).is_none());
    }
}
