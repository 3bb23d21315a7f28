//! One request after the other: made of values, sent, read, looked at.

use crate::error::HttpLoadError;
use crate::lines::RequestLines;
use crate::values::{Escaping, NamedValues, filled, text_at, unreadable};
use bytes::Bytes;
use kdyno_model::plan::http_load::{HttpStep, HttpTarget, RequestBody};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Method, Response};
use rustls::CertificateError;
use std::time::Instant;

/// Largest answer that is read.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Largest file that is sent, in bytes and in words: it is held in memory.
const FILE_MAX: (u64, &str) = (1 << 30, "1 GiB");
/// Characters of an unexpected answer that are shown.
const CHARACTERS_MAX: usize = 200;

/// A step that is ready to be taken.
pub(crate) struct PreparedStep {
    pub(crate) plan: HttpStep,
    method: Method,
    /// What is sent where that is a file: read once, and shared by all requests.
    file: Option<Bytes>,
    address: String,
    /// Whose certificates are believed, in words.
    trusted: String,
    /// Whether its answer must be JSON, since something of it is looked at.
    is_read: bool,
}

impl PreparedStep {
    /// Reads what it sends.
    pub(crate) fn of(plan: &HttpStep, target: &HttpTarget) -> Result<Self, HttpLoadError> {
        let method = Method::from_bytes(plan.method.as_bytes())
            .map_err(|_| HttpLoadError(format!("{:?} is no method of HTTP", plan.method)))?;
        check(plan)?;
        let file = match &plan.body {
            Some(RequestBody::File(path)) => {
                let wrong = |error: std::io::Error| HttpLoadError::file(path, &error);
                Some(Bytes::from(std::fs::read(path).map_err(wrong)?))
            }
            Some(RequestBody::Json(_)) | None => None,
        };
        let trusted = match &target.trust {
            Some(path) => format!("in {path} (`trust`)"),
            None => "that this host trusts (`trust` names others)".to_owned(),
        };
        let address = if plan.url.starts_with('/') { target.address.trim_end_matches('/') } else { "" };
        let is_read = !plan.holds.is_empty() || !plan.keep.is_empty();
        Ok(Self { plan: plan.clone(), method, file, address: address.to_owned(), trusted, is_read })
    }

    /// The same; its answer is looked at in any case.
    pub(crate) fn read(self) -> Self {
        Self { is_read: true, ..self }
    }

    /// Takes it, and returns how long it took; whether all was as it should be.
    pub(crate) async fn take(&self, client: &Client, values: &mut NamedValues, lines: &RequestLines) -> bool {
        let began = Instant::now();
        let failure = self.tried(client, values).await.err();
        lines.request(began, &self.plan.name, failure.is_none());
        if let Some(failed) = &failure {
            lines.failure(&self.plan.name, &failed.why);
        }
        failure.is_none()
    }

    /// Its answer, where it was one that the step asks for.
    pub(crate) async fn tried(
        &self,
        client: &Client,
        values: &mut NamedValues,
    ) -> Result<serde_json::Value, RequestFailure> {
        let plan = &self.plan;
        let url = format!("{}{}", self.address, filled(&plan.url, values, Escaping::Url)?);
        let mut request = client.request(self.method.clone(), url);
        if let Some(file) = &self.file {
            request = request.header(CONTENT_TYPE, "application/octet-stream").body(file.clone());
        }
        if let Some(RequestBody::Json(text)) = &plan.body {
            let text = filled(text, values, Escaping::Json)?;
            request = request.header(CONTENT_TYPE, "application/json").body(text);
        }
        let mut response = request.send().await.map_err(|error| self.unanswered(&error))?;
        let status = response.status().as_u16();
        let body = read(&mut response).await?;
        let is_expected = plan.status.map_or((200..400).contains(&status), |expected| status == expected);
        if !is_expected {
            let expected = plan.status.map_or("200 to 399".to_owned(), |expected| expected.to_string());
            let why = format!("status {status}, not {expected}{}", beginning(&body));
            // Too slow (408), or too many at once (429): it may be another one next time.
            let is_refused = (400..500).contains(&status) && ![408, 429].contains(&status);
            return Err(RequestFailure { why, is_refused });
        }
        if !self.is_read {
            return Ok(serde_json::Value::Null);
        }
        let document: serde_json::Value = serde_json::from_slice(&body)
            .map_err(|error| format!("the answer is no JSON: {error}{}", beginning(&body)))?;
        for (pointer, expected) in &plan.holds {
            let expected = filled(expected, values, Escaping::Plain)?;
            let found = text_at(&document, pointer);
            if found.as_deref() != Some(expected.as_str()) {
                let found = found.unwrap_or_else(|| "nothing".to_owned());
                return Err(format!("{pointer} is {found}, not {expected}").into());
            }
        }
        for (name, pointer) in &plan.keep {
            let value = text_at(&document, pointer)
                .ok_or_else(|| format!("the answer has no value at {pointer}{}", beginning(&body)))?;
            values.insert(name.clone(), value);
        }
        Ok(document)
    }

    /// Why a request has no answer.
    fn unanswered(&self, error: &reqwest::Error) -> String {
        match of_tls(error) {
            Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                format!("the server's certificate is of no authority {}", self.trusted)
            }
            Some(error @ rustls::Error::InvalidCertificate(_)) => {
                format!("the server's certificate is refused: {error}")
            }
            _ => cause(error),
        }
    }
}

/// Why a request failed.
pub(crate) struct RequestFailure {
    /// One lowercase clause.
    pub(crate) why: String,
    /// The application says that it is the request that is wrong (status 4xx): it would say so again.
    pub(crate) is_refused: bool,
}

impl From<String> for RequestFailure {
    fn from(why: String) -> Self {
        Self { why, is_refused: false }
    }
}

/// Looks whether what a step sends can be read.
pub(crate) fn check(plan: &HttpStep) -> Result<(), HttpLoadError> {
    let Some(RequestBody::File(path)) = &plan.body else { return Ok(()) };
    let wrong = |error: std::io::Error| HttpLoadError::file(path, &error);
    if let Some(why) = unreadable(path, FILE_MAX).map_err(wrong)? {
        return Err(HttpLoadError(format!("{path} {why}")));
    }
    std::fs::File::open(path).map(drop).map_err(wrong)
}

/// What TLS has to say of it, however deep it lies.
fn of_tls(error: &reqwest::Error) -> Option<&rustls::Error> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = at {
        if let Some(found) = one.downcast_ref() {
            return Some(found);
        }
        // An error of a connection holds another one without naming it as its source, and that may hold one more.
        at = match one.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(held) => Some(held),
            None => one.source(),
        };
    }
    None
}

async fn read(response: &mut Response) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| cause(&error))? {
        if body.len() + piece.len() > ANSWER_BYTES_MAX {
            return Err("the answer is larger than 64 MiB".to_owned());
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// What lies beneath an error, which the error itself does not say.
fn cause(error: &reqwest::Error) -> String {
    let mut at: &dyn std::error::Error = error;
    while let Some(source) = at.source() {
        at = source;
    }
    if error.is_timeout() { format!("no answer in time: {at}") } else { at.to_string() }
}

/// The beginning of an answer, behind a colon.
pub(crate) fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(4 * CHARACTERS_MAX)]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        String::new()
    } else {
        format!(": {}", text.chars().take(CHARACTERS_MAX).collect::<String>())
    }
}
