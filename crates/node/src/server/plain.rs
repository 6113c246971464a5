//! What calls a method, where nobody can subscribe?
//!
//! The server's own service is made anew for each connection, which a WebSocket needs. A request
//! over HTTP needs none of that and is over in microseconds: it is called by this, made once.

use std::future::{Future, Ready, ready};

use futures_util::future::{BoxFuture, Either};
use jsonrpsee::{
    core::{
        middleware::{Batch, Notification, RpcServiceT},
        server::{MethodCallback, MethodResponse, Methods},
    },
    server::ConnectionId,
    types::{ErrorCode, ErrorObject, Params, Request},
};

/// Methods of one endpoint, over HTTP.
#[derive(Clone)]
pub(super) struct Plain {
    pub(super) methods: Methods,
    /// No answer is longer.
    pub(super) answer_bytes: usize,
}

impl RpcServiceT for Plain {
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let Request { id, method, params, extensions, .. } = request;
        let params = Params::new(params.as_ref().map(|params| params.get()));
        let failed = |id, code: ErrorCode| MethodResponse::error(id, ErrorObject::from(code));
        let answer: Either<BoxFuture<'static, _>, Ready<_>> = match self.methods.method(&method) {
            Some(MethodCallback::Async(run)) => {
                let (id, params) = (id.into_owned(), params.into_owned());
                // Connections have numbers for the sake of subscriptions.
                Either::Left(run(id, params, ConnectionId(0), self.answer_bytes, extensions))
            }
            Some(MethodCallback::Sync(run)) => {
                Either::Right(ready(run(id, params, self.answer_bytes, extensions)))
            }
            Some(MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_)) => {
                Either::Right(ready(failed(id, ErrorCode::InternalError)))
            }
            None => Either::Right(ready(failed(id, ErrorCode::MethodNotFound))),
        };
        answer
    }

    fn batch<'a>(&self, _: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        // Batches and notifications end where calls are counted: see `calls.rs`.
        ready(MethodResponse::notification())
    }

    fn notification<'a>(
        &self,
        _: Notification<'a>,
    ) -> impl Future<Output = MethodResponse> + Send + 'a {
        ready(MethodResponse::notification())
    }
}
