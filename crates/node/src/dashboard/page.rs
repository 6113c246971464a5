//! Which files is the page made of, and how are they served?
//!
//! They are part of the binary. Nothing is loaded from elsewhere, and a browser is told to refuse
//! whatever would be: names and errors are written by strangers.

use std::sync::LazyLock;

use alloy_primitives::{hex, keccak256};
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use jsonrpsee::server::HttpBody;

use crate::server::services::text as plain;

/// A file: its name, its type, what is in it.
type File = (&'static str, &'static str, &'static str);

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SVG: &str = "image/svg+xml";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// All files. The first one is the page.
const FILES: &[File] = &[
    ("index.html", HTML, include_str!("page/index.html")),
    ("account.js", SCRIPT, include_str!("page/account.js")),
    ("block.js", SCRIPT, include_str!("page/block.js")),
    ("blocks.js", SCRIPT, include_str!("page/blocks.js")),
    ("chart.js", SCRIPT, include_str!("page/chart.js")),
    ("crumbs.js", SCRIPT, include_str!("page/crumbs.js")),
    ("dom.js", SCRIPT, include_str!("page/dom.js")),
    ("feed.js", SCRIPT, include_str!("page/feed.js")),
    ("follow.js", SCRIPT, include_str!("page/follow.js")),
    ("format.js", SCRIPT, include_str!("page/format.js")),
    ("icon.svg", SVG, include_str!("page/icon.svg")),
    ("main.js", SCRIPT, include_str!("page/main.js")),
    ("overview.js", SCRIPT, include_str!("page/overview.js")),
    ("parts.css", CSS, include_str!("page/parts.css")),
    ("rpc.js", SCRIPT, include_str!("page/rpc.js")),
    ("search.js", SCRIPT, include_str!("page/search.js")),
    ("shard.js", SCRIPT, include_str!("page/shard.js")),
    ("shards.js", SCRIPT, include_str!("page/shards.js")),
    ("sort.js", SCRIPT, include_str!("page/sort.js")),
    ("state.js", SCRIPT, include_str!("page/state.js")),
    ("style.css", CSS, include_str!("page/style.css")),
    ("theme.js", SCRIPT, include_str!("page/theme.js")),
    ("timeline.js", SCRIPT, include_str!("page/timeline.js")),
    ("trace.js", SCRIPT, include_str!("page/trace.js")),
    ("transaction.js", SCRIPT, include_str!("page/transaction.js")),
    ("workers.js", SCRIPT, include_str!("page/workers.js")),
];

/// What a browser may do on the page: nothing with what is not ours.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; object-src 'none'";

/// What tells one version of a file from another.
static TAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
    let tag = |(_, _, text): &File| {
        let hash = hex::encode(&keccak256(text)[..8]);
        HeaderValue::from_str(&format!("\"{hash}\"")).expect("letters, digits and quotes")
    };
    FILES.iter().map(tag).collect()
});

/// The place of a file in the list. Without a name it is the page.
pub(super) fn find(name: &str) -> Option<usize> {
    if name.is_empty() {
        return Some(0);
    }
    FILES.iter().position(|(file, ..)| *file == name)
}

/// A file, or that the browser has it already.
pub(super) fn answer(place: usize, headers: &HeaderMap) -> Response<HttpBody> {
    let ((_, kind, text), tag) = (FILES[place], &TAGS[place]);
    let mut response = if is_known(headers, tag) {
        plain(StatusCode::NOT_MODIFIED, HttpBody::empty())
    } else {
        plain(StatusCode::OK, text)
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // It is asked for each time, and mostly not sent again.
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::ETAG, tag.clone());
    response
}

fn is_known(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
    let weak = |known: &str| known.trim().trim_start_matches("W/") == tag.to_str().unwrap_or("");
    known.flat_map(|tags| tags.split(',')).any(|known| known.trim() == "*" || weak(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tags: &str) -> StatusCode {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_str(tags).unwrap());
        answer(0, &headers).status()
    }

    #[test]
    fn a_file_that_the_browser_has_is_not_sent_again() {
        let whole = answer(0, &HeaderMap::new());
        assert_eq!(whole.status(), StatusCode::OK);
        let tag = whole.headers()[header::ETAG].to_str().unwrap();
        for known in [tag, &format!("W/{tag}"), &format!("\"other\", {tag}"), "*"] {
            assert_eq!(asked(known), StatusCode::NOT_MODIFIED, "{known}");
        }
        assert_eq!(asked("\"other\""), StatusCode::OK);
    }

    #[test]
    fn the_page_has_nothing_in_it_that_its_policy_forbids() {
        for (name, kind, text) in FILES {
            assert_eq!(find(name).map(|place| FILES[place].2), Some(*text));
            if *kind == HTML {
                assert!(!text.contains("<style") && !text.contains(" style="), "{name}");
                assert!(!text.contains("javascript:") && !text.contains(" onclick="), "{name}");
                let scripts = text.matches("<script").count();
                assert_eq!(scripts, text.matches("></script>").count(), "{name}: inline script");
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dashboard/page");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(find(&name).is_some(), "{name} is not in the list");
        }
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere_and_works_below_any_path() {
        for (name, kind, text) in FILES.iter().filter(|(_, kind, _)| *kind != SCRIPT) {
            for absolute in ["src=\"/", "src=\"http", "href=\"/", "url(/", "url(http", "@import"] {
                assert!(!text.contains(absolute), "{name} ({kind}): {absolute}");
            }
        }
    }
}
