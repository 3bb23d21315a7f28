//! Who may ask: only who knows this host by a name of its own, and no page of somebody else.
//!
//! A server on the loopback address is reached by every page that a browser on this host shows: by a name that the page's
//! owner points at 127.0.0.1 (so the `Host` is checked), or by a request across origins (so `Origin` and what browsers say of
//! a request's site are). Nothing here changes anything, so only reading has to be kept from others.

use super::pages::Found;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

/// What a page may do and load: what a file of it may, and its own forms.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let policy = format!(
        "{}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        kdyno_report::html::POLICY
    );
    // It is made of constants that are text.
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

/// Names that stand for this host, and those of proxies.
#[derive(Debug)]
pub(super) struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// `more`: names under which a proxy reaches it.
    pub(super) fn new(more: Vec<String>) -> Self {
        Self(more.into_iter().map(|name| name.to_ascii_lowercase()).collect())
    }

    /// Whether an authority (`localhost:8390`, `[::1]`) is this host. The port is not looked at: a tunnel has one of its own.
    fn has(&self, authority: &str) -> bool {
        let Some(name) = host_of(authority) else { return false };
        let name = name.to_ascii_lowercase();
        let is_loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        name == "localhost" || is_loopback || self.0.contains(&name)
    }
}

/// An authority without its port, an IPv6 address without its brackets.
fn host_of(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(host, port)| (host, port.strip_prefix(':')))?,
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    (is_port && !host.is_empty()).then_some(host)
}

/// Lets a request through, or says why not; closes the answer to all other sites.
pub(super) async fn check(State(hosts): State<Arc<AllowedHosts>>, request: Request, next: Next) -> Response {
    let refused = refused(&hosts, request.method(), request.headers());
    let mut response = match refused {
        Some(why) => Found::Refused(why.to_owned()).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    let mut set = |name, value| drop(headers.insert(name, HeaderValue::from_static(value)));
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(header::CACHE_CONTROL, "no-store");
    response
}

fn refused(hosts: &AllowedHosts, method: &Method, headers: &HeaderMap) -> Option<&'static str> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    if method != Method::GET && method != Method::HEAD {
        return Some("pages are only read here: GET and HEAD");
    }
    if !text("host").is_some_and(|host| hosts.has(host)) {
        return Some(
            "the host that was asked for is none of this server's: it answers to localhost, a loopback address, and names given with --host",
        );
    }
    // `Origin: null` is that of a file or of a page without one.
    let is_ours = |origin: &str| origin.split_once("://").is_some_and(|(_, authority)| hosts.has(authority));
    if text("origin").is_some_and(|origin| !is_ours(origin)) {
        return Some("a page of another site asked for this");
    }
    // Following a link from elsewhere is fine; whatever else another site's page asks for is not.
    let is_foreign = text("sec-fetch-site") == Some("cross-site");
    if is_foreign && text("sec-fetch-mode") != Some("navigate") {
        return Some("a page of another site asked for this");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(method: &Method, headers: &[(&'static str, &'static str)]) -> Option<&'static str> {
        let hosts = AllowedHosts::new(vec!["Lab.Example".to_owned()]);
        let headers = headers
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), HeaderValue::from_static(value)));
        refused(&hosts, method, &headers.collect())
    }

    #[test]
    fn only_names_of_this_host_are_answered() {
        for host in
            ["localhost", "LOCALHOST:8390", "127.0.0.1:1", "127.9.9.9", "[::1]:8390", "lab.example:443"]
        {
            assert_eq!(answer(&Method::GET, &[("host", host)]), None, "{host}");
        }
        let foreign = [
            "evil.example",
            "localhost.evil.example:8390",
            "10.0.0.1",
            "[fe80::1]:1",
            "",
            ":80",
            "localhost:x",
            "[::1",
        ];
        for host in foreign {
            assert!(answer(&Method::GET, &[("host", host)]).is_some(), "{host}");
        }
        assert!(answer(&Method::GET, &[]).is_some(), "a request says whom it asks");
    }

    #[test]
    fn pages_of_other_sites_read_nothing() {
        let get = |more: &[(&'static str, &'static str)]| {
            answer(&Method::GET, &[&[("host", "localhost")][..], more].concat())
        };
        assert_eq!(get(&[("origin", "http://localhost:8390")]), None);
        assert!(get(&[("origin", "https://evil.example")]).is_some());
        assert!(get(&[("origin", "null")]).is_some());
        let cross = ("sec-fetch-site", "cross-site");
        assert_eq!(get(&[cross, ("sec-fetch-mode", "navigate")]), None, "a link is followed");
        assert!(get(&[cross, ("sec-fetch-mode", "no-cors")]).is_some());
        assert!(answer(&Method::POST, &[("host", "localhost")]).is_some());
    }
}
