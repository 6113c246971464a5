//! What answers the body of a request over HTTP?
//!
//! The server that WebSockets have is made for subscriptions: around each call there is a map of
//! extensions, a box for the future and one for the answer, and the JSON that we write is read again
//! to see that it is JSON. That costs more than most calls. Here a body is read where it lies, and the
//! answer is written once.
//!
//! What is said is the same, word for word: what is no call is told so by the server's own types.

use std::{borrow::Cow, fmt::Write, panic::AssertUnwindSafe};

use bytes::Bytes;
use futures_util::{FutureExt, future::Either};
use jsonrpsee::{
    core::server::{MethodResponse, helpers::prepare_error},
    types::{
        ErrorCode, ErrorObject, ErrorObjectOwned, Id, InvalidRequest, Notification, TwoPointZero,
        error::{
            OVERSIZED_RESPONSE_CODE, OVERSIZED_RESPONSE_MSG, reject_too_big_batch_request,
            reject_too_big_batch_response,
        },
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
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

/// A call, as it is written in the body.
#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(rename = "jsonrpc")]
    _version: TwoPointZero,
    #[serde(borrow)]
    id: Id<'a>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// One that wants no answer.
type Notified<'a> = Notification<'a, Option<Cow<'a, RawValue>>>;

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
        if let Ok(asked) = serde_json::from_slice::<Asked<'_>>(body) {
            Said::Answer(self.call(asked, body, endpoint, true).await)
        } else if serde_json::from_slice::<Notified<'_>>(body).is_ok() {
            Said::Nothing
        } else {
            let (id, code) = prepare_error(body);
            Said::Answer(failed(id, code))
        }
    }

    async fn batch(&self, body: &Bytes, endpoint: Endpoint) -> Said {
        let limits = self.calls.context.limits();
        let (items, most) = (limits.batch_items as usize, limits.answer_bytes as usize);
        let Ok(batch) = serde_json::from_slice::<Vec<&RawValue>>(body) else {
            return Said::Answer(failed(Id::Null, ErrorCode::ParseError));
        };
        if batch.len() > items {
            return Said::Answer(failed(Id::Null, reject_too_big_batch_request(items)));
        }
        let mut notified = false;
        let mut under_way = Vec::with_capacity(batch.len());
        for entry in batch.iter().map(|entry| entry.get()) {
            under_way.push(if let Ok(asked) = serde_json::from_str::<Asked<'_>>(entry) {
                Either::Left(self.call(asked, body, endpoint, false))
            } else if serde_json::from_str::<Notified<'_>>(entry).is_ok() {
                notified = true;
                continue;
            } else {
                let wrong = serde_json::from_str::<InvalidRequest<'_>>(entry);
                let id = wrong.map_or(Id::Null, |wrong| wrong.id);
                Either::Right(std::future::ready(failed(id, ErrorCode::InvalidRequest)))
            });
        }
        if under_way.is_empty() && notified {
            return Said::Nothing;
        }
        if under_way.is_empty() {
            // As the specification has it.
            return Said::Answer(failed(Id::Null, ErrorCode::InvalidRequest));
        }
        let answers = gather(under_way, most, String::len).await;
        Said::Answer(answers.and_then(|answers| list(&answers, most)).unwrap_or_else(|| {
            self.calls.refused(Refusal::AnswerBytes);
            failed(Id::Null, reject_too_big_batch_response(most))
        }))
    }

    /// Makes a call and writes down what came of it. `alone`: it is not one of a batch.
    async fn call(
        &self,
        Asked { id, method, params, .. }: Asked<'_>,
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
            Ok(Ok(answer)) => match write(&id, &answer, most) {
                Some(text) => (text, Outcome::Ok, None),
                None => (failed(id, too_long(most)), Outcome::Error, Some(OVERSIZED_RESPONSE_CODE)),
            },
            Ok(Err(why)) => {
                let code = why.code;
                let text = failed(id.clone(), ErrorObjectOwned::from(why));
                if text.len() <= most {
                    (text, Outcome::Error, Some(code))
                } else {
                    (failed(id, too_long(most)), Outcome::Error, Some(OVERSIZED_RESPONSE_CODE))
                }
            }
            // The panic's words are in the log; strangers need not know them.
            Err(_) => {
                let why = RpcError::internal(&"the method has panicked");
                let code = why.code;
                (failed(id, ErrorObjectOwned::from(why)), Outcome::Panic, Some(code))
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
fn write(id: &Id<'_>, answer: &Answer, most: usize) -> Option<String> {
    let result = answer.as_str();
    if result.len() > most {
        return None;
    }
    let mut text = String::with_capacity(result.len() + FRAME);
    text.push_str(r#"{"jsonrpc":"2.0","id":"#);
    match id {
        Id::Null => text.push_str("null"),
        Id::Number(number) => write!(text, "{number}").ok()?,
        Id::Str(name) => text.push_str(&serde_json::to_string(name).ok()?),
    }
    text.push_str(r#","result":"#);
    text.push_str(result);
    text.push('}');
    (text.len() <= most).then_some(text)
}

/// The answer to what failed.
fn failed<'a>(id: Id<'_>, error: impl Into<ErrorObject<'a>>) -> String {
    let (json, _, _) = MethodResponse::error(id, error).into_parts();
    Box::<str>::from(json).into()
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
