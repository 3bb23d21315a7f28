//! HTTP clients: each user has one of its own, so connections and cookies are its own too.

use crate::error::HttpLoadError;
use kdyno_model::plan::http_load::HttpTarget;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use std::time::Duration;

/// TLS sessions that a client keeps for when it has to connect again: it speaks to one application.
const SESSIONS: usize = 4;

/// What all clients have alike.
pub(crate) struct ClientOptions {
    tls: ClientConfig,
    headers: HeaderMap,
    timeout: Duration,
}

impl ClientOptions {
    /// Reads certificates and headers.
    pub(crate) fn of(target: &HttpTarget) -> Result<Self, HttpLoadError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let tls = tls.map_err(HttpLoadError::trust)?;
        let tls = tls.with_root_certificates(roots(target)?).with_no_client_auth();
        let timeout = Duration::from_nanos(target.timeout_ns);
        Ok(Self { tls, headers: headers(target)?, timeout })
    }

    /// One more.
    pub(crate) fn client(&self) -> Result<reqwest::Client, HttpLoadError> {
        // A copy shares what was agreed on with the application: one user would go on with the session of another, and what
        // it costs to get to know a new user would be seen once.
        let mut tls = self.tls.clone();
        tls.resumption = Resumption::in_memory_sessions(SESSIONS);
        reqwest::Client::builder()
            .http1_only()
            // The load goes where the scenario says, whatever this host's proxy is.
            .no_proxy()
            .cookie_store(true)
            .timeout(self.timeout)
            .default_headers(self.headers.clone())
            .tls_backend_preconfigured(tls)
            .build()
            .map_err(|error| HttpLoadError(format!("a client cannot be made: {error}")))
    }
}

/// The authorities of the file, or of the platform where none is named.
fn roots(target: &HttpTarget) -> Result<RootCertStore, HttpLoadError> {
    let mut roots = RootCertStore::empty();
    if !target.address.starts_with("https:") && target.trust.is_none() {
        return Ok(roots);
    }
    let wrong = |why: String| HttpLoadError::trust(why);
    match &target.trust {
        Some(path) => {
            let all =
                CertificateDer::pem_file_iter(path).map_err(|error| wrong(format!("{path}: {error}")))?;
            for one in all {
                let one = one.map_err(|error| wrong(format!("{path}: {error}")))?;
                roots.add(one).map_err(|error| wrong(format!("{path}: {error}")))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        let what = target.trust.as_deref().unwrap_or("this host");
        return Err(wrong(format!("{what} has none of an authority")));
    }
    Ok(roots)
}

fn headers(target: &HttpTarget) -> Result<HeaderMap, HttpLoadError> {
    let mut found = HeaderMap::new();
    for (name, value) in &target.headers {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| HttpLoadError(format!("{name:?} is no name of a header")))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            HttpLoadError(format!("the value of header {name} has characters that none may have"))
        })?;
        value.set_sensitive(true);
        found.insert(name, value);
    }
    Ok(found)
}
