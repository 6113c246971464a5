//! The body of a request: whole, in time, and not too large.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header::CONTENT_LENGTH};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;

use super::refusal::Refusal;
use crate::settings::Limits;

/// What came instead of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoBody {
    pub(super) status: StatusCode,
    pub(super) why: String,
    /// The limit that was exceeded, if it was one.
    pub(super) refusal: Option<Refusal>,
}

/// Reads a body to its end.
pub(super) async fn read<B>(limits: &Limits, headers: &HeaderMap, body: B) -> Result<Bytes, NoBody>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let most = limits.body_bytes;
    let too_large = || NoBody {
        status: StatusCode::PAYLOAD_TOO_LARGE,
        why: format!("the request is too large: at most {most} bytes"),
        refusal: Some(Refusal::BodyBytes),
    };
    let told =
        headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|length| length > u64::from(most)) {
        return Err(too_large());
    }
    let mut whole = pin!(Limited::new(body, most as usize).collect());
    // Mostly all of it is there already, and nobody needs an alarm.
    let read = match poll_fn(|cx| Poll::Ready(whole.as_mut().poll(cx))).await {
        Poll::Ready(read) => Ok(read),
        Poll::Pending => tokio::time::timeout(limits.body_timeout, whole).await,
    };
    match read {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(NoBody {
            status: StatusCode::BAD_REQUEST,
            why: format!("the request's body could not be read: {error}"),
            refusal: None,
        }),
        Err(_) => Err(NoBody {
            status: StatusCode::REQUEST_TIMEOUT,
            why: format!("the request was not whole within {:?}", limits.body_timeout),
            refusal: Some(Refusal::BodyTimeout),
        }),
    }
}
