//! What answers the body of a request over HTTP?
//!
//! The server that WebSockets have is made for subscriptions: around each call there is a map of
//! extensions, a box for the future and one for the answer, and the JSON that we write is read again
//! to see that it is JSON. That costs more than most calls. Here a body is read where it lies, and the
//! answer is written once.
//!
//! What is said is the same, but that any number is an id here (see [`asked`](super::asked)).

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::{FutureExt, future::Either};
use jsonrpsee::types::{
    ErrorCode, ErrorObjectOwned,
    error::{
        OVERSIZED_RESPONSE_CODE, OVERSIZED_RESPONSE_MSG, reject_too_big_batch_request,
        reject_too_big_batch_response,
    },
};
use serde_json::value::RawValue;

use super::{
    asked::{Asked, Call, Id},
    calls::{CallsLayer, gather},
    refusal::Refusal,
};
use crate::{
    context::Endpoint,
    metrics::calls::Outcome,
    rpc::{
        args::Args,
        error::{METHOD_NOT_FOUND, RpcError},
        method::Answer,
        register::{self, Entry, Table},
    },
};

/// A body begins with its first character within so many bytes, or is none.
const BLANK_MAX: usize = 128;

/// What an answer has beside its id and its result.
const FRAME: usize = 64;

/// The methods of one endpoint, over HTTP.
pub(super) struct Plain {
    pub(super) calls: CallsLayer,
    pub(super) table: Table,
}

/// What came of a body.
pub(super) enum Said {
    Answer(String),
    /// There were notifications only, and these are not answered.
    Nothing,
    /// It is neither a request nor a batch.
    Malformed,
}

impl Plain {
    pub(super) async fn answer(&self, body: Bytes, endpoint: Endpoint) -> Said {
        let first = body.iter().take(BLANK_MAX).position(|byte| !byte.is_ascii_whitespace());
        match first.map(|at| (at, body[at])) {
            Some((at, b'{')) => self.single(&body.slice(at..), endpoint).await,
            Some((at, b'[')) => self.batch(&body.slice(at..), endpoint).await,
            _ => Said::Malformed,
        }
    }

    async fn single(&self, body: &Bytes, endpoint: Endpoint) -> Said {
        match Asked::read(body) {
            Asked::Call(call) => Said::Answer(self.call(call, body, endpoint, true).await),
            Asked::Notification => Said::Nothing,
            Asked::Wrong(id, code) => Said::Answer(id.failed(code)),
        }
    }

    async fn batch(&self, body: &Bytes, endpoint: Endpoint) -> Said {
        let limits = self.calls.context.limits();
        let (items, most) = (limits.batch_items as usize, limits.answer_bytes as usize);
        let Ok(batch) = serde_json::from_slice::<Vec<&RawValue>>(body) else {
            return Said::Answer(Id::NULL.failed(ErrorCode::ParseError));
        };
        if batch.len() > items {
            return Said::Answer(Id::NULL.failed(reject_too_big_batch_request(items)));
        }
        let mut notified = false;
        let mut under_way = Vec::with_capacity(batch.len());
        for entry in &batch {
            under_way.push(match Asked::read(entry.get().as_bytes()) {
                Asked::Call(call) => Either::Left(self.call(call, body, endpoint, false)),
                Asked::Wrong(id, code) => Either::Right(std::future::ready(id.failed(code))),
                Asked::Notification => {
                    notified = true;
                    continue;
                }
            });
        }
        if under_way.is_empty() && notified {
            return Said::Nothing;
        }
        if under_way.is_empty() {
            // As the specification has it.
            return Said::Answer(Id::NULL.failed(ErrorCode::InvalidRequest));
        }
        let answers = gather(under_way, most, String::len).await;
        Said::Answer(answers.and_then(|answers| list(&answers, most)).unwrap_or_else(|| {
            self.calls.refused(Refusal::AnswerBytes);
            Id::NULL.failed(reject_too_big_batch_response(most))
        }))
    }

    /// Makes a call and writes down what came of it. `alone`: it is not one of a batch.
    async fn call(
        &self,
        Call { id, method, params }: Call<'_>,
        body: &Bytes,
        endpoint: Endpoint,
        alone: bool,
    ) -> String {
        let calls = &self.calls;
        let begun = calls.context.queries.now();
        let checked = calls.check(endpoint, false, &method, params.map_or("", RawValue::get));
        let answered = match checked {
            Ok(()) => {
                let run = self.run(&method, params, body, endpoint, alone);
                AssertUnwindSafe(run).catch_unwind().await
            }
            Err(why) => Ok(Err(why)),
        };
        let took = calls.context.queries.now().saturating_sub(begun);
        let most = calls.context.limits().answer_bytes as usize;
        let (text, outcome, code) = match answered {
            Ok(Ok(answer)) => match write(id, &answer, most) {
                Some(text) => (text, Outcome::Ok, None),
                None => (id.failed(too_long(most)), Outcome::Error, Some(OVERSIZED_RESPONSE_CODE)),
            },
            Ok(Err(why)) => {
                let code = why.code;
                let text = id.failed(ErrorObjectOwned::from(why));
                if text.len() <= most {
                    (text, Outcome::Error, Some(code))
                } else {
                    (id.failed(too_long(most)), Outcome::Error, Some(OVERSIZED_RESPONSE_CODE))
                }
            }
            // The panic's words are in the log; strangers need not know them.
            Err(_) => {
                let why = RpcError::internal(&"the method has panicked");
                let code = why.code;
                (id.failed(ErrorObjectOwned::from(why)), Outcome::Panic, Some(code))
            }
        };
        if code == Some(OVERSIZED_RESPONSE_CODE) {
            calls.refused(Refusal::AnswerBytes);
        }
        let name = calls.metrics.note(&method, outcome, took);
        tracing::debug!(method = name, code, micros = took.as_micros() as u64, "called");
        text
    }

    async fn run(
        &self,
        name: &str,
        params: Option<&RawValue>,
        body: &Bytes,
        endpoint: Endpoint,
        alone: bool,
    ) -> Result<Answer, RpcError> {
        match self.table.get(name) {
            Some(&Entry::Method(method)) => {
                let params = params.map(|params| body.slice_ref(params.get().as_bytes()));
                let args = Args::read(params.as_ref())?;
                register::call(method, args, &self.calls.context, endpoint, alone).await
            }
            Some(Entry::Signpost(where_to)) => Err(where_to.clone()),
            None => Err(RpcError::new(METHOD_NOT_FOUND, ErrorCode::MethodNotFound.message())),
        }
    }
}

/// An answer in full; `None`: it is too long.
fn write(id: Id<'_>, answer: &Answer, most: usize) -> Option<String> {
    let result = answer.as_str();
    if result.len() > most {
        return None;
    }
    let mut text = String::with_capacity(result.len() + id.as_str().len() + FRAME);
    text.push_str(r#"{"jsonrpc":"2.0","id":"#);
    text.push_str(id.as_str());
    text.push_str(r#","result":"#);
    text.push_str(result);
    text.push('}');
    (text.len() <= most).then_some(text)
}

fn too_long(most: usize) -> ErrorObjectOwned {
    let data = format!("Exceeded max limit of {most}");
    ErrorObjectOwned::owned(OVERSIZED_RESPONSE_CODE, OVERSIZED_RESPONSE_MSG, Some(data))
}

/// The answer to a batch; `None`: it is too long.
fn list(answers: &[String], most: usize) -> Option<String> {
    let length = answers.iter().map(|answer| answer.len() + 1).sum::<usize>() + 1;
    if length > most {
        return None;
    }
    let mut text = String::with_capacity(length);
    text.push('[');
    for (index, answer) in answers.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        text.push_str(answer);
    }
    text.push(']');
    Some(text)
}
