//! Who may ask: under which name the node is called, and from which web pages.
//!
//! 1. The name in `Host` must be one of this machine, an address, or allowed. Otherwise a page could
//!    give its own name the address of this node, and would then be allowed to talk to it
//!    (DNS rebinding).
//! 2. What a web page asks (it says so in `Origin`) is answered only if the page is the node's own,
//!    or allowed. A browser would hide the answer from the page anyway, but not before the node has
//!    done what it was asked for.
//! 3. A page also asks without saying who it is, as for an image. What costs something to look at is
//!    not for such questions from other sites (`Sec-Fetch-Site`), but somebody may follow a link to it.
//! 4. Pages that are allowed are told so as browsers want to hear it (CORS).

use std::net::IpAddr;

use http::{
    HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, HeaderName, ORIGIN, VARY,
    },
};
use jsonrpsee::server::HttpBody;

use super::{refusal::Refusal, services::text};
use crate::settings::Http;

/// A page in the network at large asks a node in a private one: Chrome wants to know.
const ASK_PRIVATE: HeaderName = HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// A request that may be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Admitted {
    /// The page that asks, if it is allowed by name.
    page: Option<HeaderValue>,
}

/// Why a request is not answered, in words for whoever sent it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    pub(crate) refusal: Refusal,
    pub(crate) why: &'static str,
}

const WRONG_HOST: &str = "this node is not called by that name: use localhost or an address, or \
                          allow the name with --http.hosts\n";
const WRONG_ORIGIN: &str =
    "pages of that origin may not ask this node: allow it with --http.corsdomain\n";

const PART_OF_A_PAGE: &str = "this is for no page of another site: open it by itself, or allow the page's origin with \
     --http.corsdomain and ask as browsers do for CORS\n";

/// All shards are looked at, or all workers are recorded.
const DEAR: [&str; 2] = ["/dashboard/state", "/admin/timeline"];

/// Whether a request may be answered.
pub(crate) fn check<B>(settings: &Http, request: &Request<B>) -> Result<Admitted, Denied> {
    let headers = request.headers();
    let host = host(headers, request.uri());
    // Who names no host is no browser.
    if !host.is_none_or(|host| may_be_called(settings, host)) {
        return Err(Denied { refusal: Refusal::Host, why: WRONG_HOST });
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return if DEAR.contains(&request.uri().path()) && is_part_of_another_page(headers) {
            Err(Denied { refusal: Refusal::Origin, why: PART_OF_A_PAGE })
        } else {
            Ok(Admitted { page: None })
        };
    };
    let denied = Denied { refusal: Refusal::Origin, why: WRONG_ORIGIN };
    let Ok(text) = origin.to_str() else { return Err(denied) };
    if settings.origins.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(text)) {
        return Ok(Admitted { page: Some(origin.clone()) });
    }
    let own = |host: &str| text.split_once("://").is_some_and(|(_, page)| same(page, host));
    if host.is_some_and(own) { Ok(Admitted { page: None }) } else { Err(denied) }
}

/// Whether another site's page wants it for itself; browsers say so.
fn is_part_of_another_page(headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|is| is == value);
    let elsewhere = ["cross-site", "same-site"].iter().any(|site| is("sec-fetch-site", site));
    elsewhere && !(is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document"))
}

fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// Under which name and port the node was called.
fn host<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        // What is not text is no name that we have.
        None => headers.get(HOST).map(|host| host.to_str().unwrap_or("?")),
    }
}

fn may_be_called(settings: &Http, host: &str) -> bool {
    let name = without_port(host);
    let local = |name: &str| {
        let name = name.strip_suffix('.').unwrap_or(name);
        let top = name.rsplit('.').next().unwrap_or(name);
        same(top, "localhost")
    };
    name.parse::<IpAddr>().is_ok()
        || local(name)
        || settings.hosts.iter().any(|allowed| allowed == "*" || same(allowed, name))
}

fn without_port(host: &str) -> &str {
    if let Some(inside) = host.strip_prefix('[') {
        // An address of IPv6.
        return inside.split_once(']').map_or(host, |(address, _)| address);
    }
    match host.rsplit_once(':') {
        // With more than one colon it is an address of IPv6 without brackets.
        Some((name, _)) if !name.contains(':') => name,
        _ => host,
    }
}

impl Admitted {
    /// The answer to a browser that asks whether its page may ask; `None`: that was not asked.
    pub(super) fn preflight<B>(&self, request: &Request<B>) -> Option<Response<HttpBody>> {
        if request.method() != Method::OPTIONS {
            return None;
        }
        let mut response = text(StatusCode::NO_CONTENT, HttpBody::empty());
        let headers = response.headers_mut();
        let fixed = HeaderValue::from_static;
        headers.insert(http::header::ALLOW, fixed("GET, POST, OPTIONS"));
        if self.page.is_some() {
            headers.insert(ACCESS_CONTROL_ALLOW_METHODS, fixed("GET, POST"));
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, fixed("*"));
            headers.insert(ACCESS_CONTROL_MAX_AGE, fixed("600"));
            if request.headers().contains_key(ASK_PRIVATE) {
                headers.insert(ALLOW_PRIVATE, fixed("true"));
            }
        }
        Some(response)
    }

    /// Tells the browser that its page may see the answer.
    pub(super) fn sign(self, response: &mut Response<HttpBody>) {
        let Some(page) = self.page else { return };
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
        let expose = HeaderValue::from_static("x-request-id");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, expose);
        headers.append(VARY, HeaderValue::from_static("origin"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(
        settings: &Http,
        host: Option<&str>,
        origin: Option<&str>,
    ) -> Result<Admitted, Denied> {
        let mut request = Request::builder().method("POST").uri("/");
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        check(settings, &request.body(()).unwrap())
    }

    fn refusal(answer: Result<Admitted, Denied>) -> Option<Refusal> {
        answer.err().map(|denied| denied.refusal)
    }

    #[test]
    fn a_node_is_called_by_its_address_or_a_name_of_this_machine() {
        let settings = Http::default();
        for host in [
            "localhost",
            "localhost:8545",
            "LOCALHOST",
            "localhost.",
            "shop.localhost:1",
            "127.0.0.1:8545",
            "10.0.0.7",
            "[::1]:8545",
            "[::1]",
            "::1",
            "[fe80::1]:80",
        ] {
            assert_eq!(refusal(asked(&settings, Some(host), None)), None, "{host}");
        }
        assert_eq!(refusal(asked(&settings, None, None)), None);
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:8545",
            "127.0.0.1.evil.example",
            "notlocalhost",
            "[evil]",
            "",
            ":8545",
            "[::1",
            "1.2.3.4.5",
        ] {
            let refused = refusal(asked(&settings, Some(host), None));
            assert_eq!(refused, Some(Refusal::Host), "{host}");
        }
    }

    #[test]
    fn a_name_that_was_allowed_is_fine_whatever_the_port() {
        let hosts = vec!["node.example".to_owned()];
        let settings = Http { hosts, ..Http::default() };
        assert_eq!(refusal(asked(&settings, Some("Node.Example:443"), None)), None);
        let other = refusal(asked(&settings, Some("x.node.example"), None));
        assert_eq!(other, Some(Refusal::Host));
        let any = Http { hosts: vec!["*".to_owned()], ..Http::default() };
        assert_eq!(refusal(asked(&any, Some("anything.example"), None)), None);
    }

    #[test]
    fn a_web_page_may_ask_only_if_it_is_the_nodes_own_or_allowed() {
        let origins = vec!["https://app.example".to_owned()];
        let settings = Http { origins, ..Http::default() };
        let host = Some("localhost:8545");
        for page in ["https://app.example", "http://localhost:8545", "HTTPS://APP.example"] {
            assert_eq!(refusal(asked(&settings, host, Some(page))), None, "{page}");
        }
        for page in [
            "https://evil.example",
            "http://localhost:3000",
            "null",
            "",
            "https://app.example.evil",
        ] {
            let refused = refusal(asked(&settings, host, Some(page)));
            assert_eq!(refused, Some(Refusal::Origin), "{page}");
        }
    }

    #[test]
    fn what_costs_something_is_no_part_of_a_strangers_page() {
        let asked = |path: &str, site: &str, mode: &str, dest: &str| {
            let request = Request::builder()
                .uri(path)
                .header(HOST, "localhost:8545")
                .header("sec-fetch-site", site)
                .header("sec-fetch-mode", mode)
                .header("sec-fetch-dest", dest);
            refusal(check(&Http::default(), &request.body(()).unwrap()))
        };
        for path in ["/dashboard/state", "/admin/timeline?seconds=60"] {
            for site in ["cross-site", "same-site"] {
                for (mode, dest) in
                    [("no-cors", "image"), ("navigate", "iframe"), ("cors", "empty")]
                {
                    assert_eq!(
                        asked(path, site, mode, dest),
                        Some(Refusal::Origin),
                        "{path} {dest}"
                    );
                }
                assert_eq!(asked(path, site, "navigate", "document"), None, "a link");
            }
            for site in ["same-origin", "none"] {
                assert_eq!(asked(path, site, "cors", "empty"), None, "{path} {site}");
            }
        }
        assert_eq!(asked("/health", "cross-site", "no-cors", "image"), None);
    }

    #[test]
    fn the_name_in_the_request_line_counts_as_well() {
        let request = Request::builder().uri("http://evil.example/").header(HOST, "localhost");
        let refused = check(&Http::default(), &request.body(()).unwrap());
        assert_eq!(refusal(refused), Some(Refusal::Host));
    }
}
