//! What is at `/admin/timeline`? A recording of what the workers do from now on.

use std::{num::NonZeroU64, sync::Arc, time::Duration};

use http::{HeaderValue, Response, StatusCode, header};
use jsonrpsee::server::HttpBody;

use super::{
    connection::Connection,
    services::{json, text},
};
use crate::context::Context;

/// So long it records if nothing is said.
const SECONDS: NonZeroU64 = NonZeroU64::new(5).expect("not 0");
const SECONDS_MAX: u64 = 60;

/// Records for as long as is asked for, and answers with the trace as a file.
pub(super) async fn timeline(
    context: &Arc<Context>,
    query: Option<&str>,
    connection: Option<&Arc<Connection>>,
) -> Response<HttpBody> {
    if !context.settings.admin_api {
        let why = "timelines are for whoever runs the node: start it with --admin-api\n";
        return text(StatusCode::NOT_FOUND, why);
    }
    let Some(seconds) = seconds(query.unwrap_or_default()) else {
        let why = format!("?seconds=N takes a number from 1 to {SECONDS_MAX}\n");
        return text(StatusCode::BAD_REQUEST, why);
    };
    let Ok(_one) = context.timeline_room.try_acquire() else {
        let why = "another timeline is being recorded: ask when it is done\n";
        return text(StatusCode::TOO_MANY_REQUESTS, why);
    };
    let Some(recording) = context.timeline.clone().record_aside().await else {
        return text(StatusCode::INTERNAL_SERVER_ERROR, "there is no memory for a timeline\n");
    };
    let since = context.queries.now();
    let over = tokio::time::sleep(Duration::from_secs(seconds.get()));
    match connection {
        // What there is by then is told.
        Some(connection) => tokio::select! {
            () = over => {}
            () = connection.stopped() => {}
        },
        None => over.await,
    }
    let timeline = context.timeline.clone();
    let written = tokio::task::spawn_blocking(move || {
        let recordings = timeline.recordings_since(since);
        let recordings = recordings.each_ref().map(|(name, recording)| (*name, recording));
        let mut trace = Vec::new();
        observe::timeline::write(&mut trace, &recordings).map(|()| trace)
    });
    let written = written.await;
    drop(recording);
    let Ok(Ok(trace)) = written else {
        return text(StatusCode::INTERNAL_SERVER_ERROR, "the trace could not be written\n");
    };
    let mut response = json(trace);
    let name = HeaderValue::from_static("attachment; filename=\"shiftwork-timeline.json\"");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    response
}

fn seconds(query: &str) -> Option<NonZeroU64> {
    if query.is_empty() {
        return Some(SECONDS);
    }
    let seconds = query.strip_prefix("seconds=")?.parse::<NonZeroU64>().ok()?;
    (seconds.get() <= SECONDS_MAX).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_a_recording_has_a_limit() {
        let seconds = |query| seconds(query).map(NonZeroU64::get);
        assert_eq!((seconds(""), seconds("seconds=60")), (Some(5), Some(60)));
        for odd in ["seconds=0", "seconds=61", "seconds=", "seconds=1.5", "seconds=-1", "minutes=1"]
        {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }
}
