//! Who may ask: only who knows this host by a name of its own, and no page of somebody else.
//!
//! A server on the loopback address is reached by every page that a browser on this host shows: by a name that the page's
//! owner points at 127.0.0.1 (so the `Host` is checked), or by a request across origins (so `Origin` and what browsers say of
//! a request's site are). Nothing here changes anything, so only reading has to be kept from others.

use axum::http::{HeaderMap, Method};
use std::net::IpAddr;

/// What names this server in a request: names of this host, and those that were given.
#[derive(Debug)]
pub(crate) struct AllowedHosts {
    names: Vec<String>,
    /// The option that gives them.
    option: &'static str,
    has_addresses: bool,
}

impl AllowedHosts {
    /// `names`: those under which a proxy or somebody elsewhere reaches it, as `option` gives them.
    pub(crate) fn new(names: &[String], option: &'static str) -> Self {
        let names = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { names, option, has_addresses: false }
    }

    /// Any address of IP names it too: it listens beyond this host, and only a name can be pointed elsewhere.
    pub(crate) fn with_addresses(self) -> Self {
        Self { has_addresses: true, ..self }
    }

    /// Whether an authority (`localhost:8390`, `[::1]`) is this host. The port is not looked at: a tunnel has one of its own.
    fn has(&self, authority: &str) -> bool {
        let Some(name) = host_of(authority) else { return false };
        let name = name.to_ascii_lowercase();
        let is_address =
            name.parse::<IpAddr>().is_ok_and(|address| self.has_addresses || address.is_loopback());
        name == "localhost" || is_address || self.names.contains(&name)
    }

    /// Why a request is refused, if it is.
    pub(crate) fn refused(&self, method: &Method, headers: &HeaderMap) -> Option<String> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        if method != Method::GET && method != Method::HEAD {
            return Some("here is only read: GET and HEAD".to_owned());
        }
        if !text("host").is_some_and(|host| self.has(host)) {
            let addresses = if self.has_addresses { "any address" } else { "a loopback address" };
            return Some(format!(
                "the requested host is none of this server's: it answers to localhost, {addresses}, and names given \
                 with {}",
                self.option
            ));
        }
        // `Origin: null` is that of a file or of a page without one.
        let is_ours =
            |origin: &str| origin.split_once("://").is_some_and(|(_, authority)| self.has(authority));
        // Following a link from elsewhere is fine; whatever else another site's page asks for is not.
        let is_foreign =
            text("sec-fetch-site") == Some("cross-site") && text("sec-fetch-mode") != Some("navigate");
        let is_foreign = is_foreign || text("origin").is_some_and(|origin| !is_ours(origin));
        is_foreign.then(|| "a page of another site requested this".to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn answer(method: &Method, headers: &[(&'static str, &'static str)]) -> Option<String> {
        asked(&AllowedHosts::new(&["Lab.Example".to_owned()], "--host"), method, headers)
    }

    fn asked(
        hosts: &AllowedHosts,
        method: &Method,
        headers: &[(&'static str, &'static str)],
    ) -> Option<String> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        hosts.refused(method, &headers.collect())
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
    fn a_public_server_answers_to_addresses_and_no_other_name() {
        let hosts = AllowedHosts::new(&["lab.example".to_owned()], "--metrics-host").with_addresses();
        let get = |host| asked(&hosts, &Method::GET, &[("host", host)]);
        for host in ["10.0.0.1:9464", "[fe80::1]", "localhost", "lab.example:9464"] {
            assert_eq!(get(host), None, "{host}");
        }
        let why = get("rebound.example:9464").expect("a name that anybody may point here");
        assert!(why.ends_with("names given with --metrics-host"), "{why}");
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
