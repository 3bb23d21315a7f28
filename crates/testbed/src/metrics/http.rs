//! HTTP for metrics: one question, one answer, within a bound of time. Nothing is followed elsewhere, no proxy of the user's
//! environment is taken, and no error repeats a login.

use base64::{Engine, engine::general_purpose::STANDARD};
use kdyno_model::secret::Secret;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::HeaderValue;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error};

/// How long an answer may take, its last byte included. Readings are 10 s apart.
pub(super) const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// Who asks.
#[derive(Clone, Copy)]
pub enum HttpLogin<'a> {
    /// HTTP's basic authentication.
    Basic(&'a str, &'a Secret),
    /// A bearer token.
    Bearer(&'a Secret),
}

/// Asks over HTTP and HTTPS.
pub(super) struct Http {
    agent: Agent,
    authorization: Option<HeaderValue>,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Http")
    }
}

impl Http {
    /// `trusted`: certificates of authorities as DER, for HTTPS.
    ///
    /// # Errors
    /// The login cannot be sent: one lowercase clause.
    pub(super) fn new(trusted: &[Vec<u8>], login: Option<HttpLogin<'_>>) -> Result<Self, String> {
        let authorization = login.map(authorization).transpose()?;
        let roots: Vec<Certificate<'static>> =
            trusted.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(provider)
            .build();
        let config = Agent::config_builder()
            .timeout_global(Some(ANSWER_TIME_MAX))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            // A connection that the other side has closed meanwhile would fail.
            .max_idle_connections(0)
            .user_agent("kdyno")
            .tls_config(tls)
            .build();
        Ok(Self { agent: config.into(), authorization })
    }

    /// The body of the answer, which may be without end.
    ///
    /// # Errors
    /// There is none, or it says that it is no answer: one lowercase clause.
    pub(super) fn get(&self, url: &str, query: &[(&str, &str)]) -> Result<impl Read + use<>, String> {
        let mut request = self.agent.get(url);
        for (name, value) in query {
            request = request.query(*name, *value);
        }
        if let Some(value) = &self.authorization {
            request = request.header("Authorization", value.clone());
        }
        let answer = request.call().map_err(|error| failed(&error))?;
        match answer.status().as_u16() {
            200 => Ok(answer.into_body().into_reader()),
            status @ (401 | 403) => Err(match self.authorization {
                None => format!("it wants a login (HTTP status {status})"),
                Some(_) => format!("it refuses the login (HTTP status {status})"),
            }),
            404 => Err("there is nothing at this path (HTTP status 404)".to_string()),
            status @ 300..=399 => {
                Err(format!("it refers elsewhere, which is not followed (HTTP status {status})"))
            }
            status => Err(format!("it answers with HTTP status {status}")),
        }
    }
}

fn failed(error: &Error) -> String {
    match error {
        Error::Timeout(_) => format!("it does not answer within {} s", ANSWER_TIME_MAX.as_secs()),
        Error::HostNotFound => "its host is not found".to_string(),
        Error::Io(error) => format!("it cannot be reached: {error}"),
        other => format!("it does not answer as HTTP does: {other}"),
    }
}

fn authorization(login: HttpLogin<'_>) -> Result<HeaderValue, String> {
    let bytes = match login {
        HttpLogin::Basic(username, password) => {
            let both = [username.as_bytes(), b":", password.expose()].concat();
            format!("Basic {}", STANDARD.encode(both)).into_bytes()
        }
        HttpLogin::Bearer(token) => [b"Bearer ", token.expose()].concat(),
    };
    let mut value = HeaderValue::from_bytes(&bytes)
        .map_err(|_| "the token has characters that no header may have".to_string())?;
    value.set_sensitive(true);
    Ok(value)
}
