//! The first requests of a connection: what the broker speaks, and whether that will do.
//!
//! ApiVersions is asked in the newest version we know, and in version 0 by brokers that do not know that one.
//! Authentication (SaslHandshake, SaslAuthenticate) belongs behind it: further steps of the same exchange,
//! before any other request.

use super::{ConnectionError, Refusal};
use crate::api::{API_VERSIONS, Api};
use crate::errors::ErrorCode;
use crate::messages::{VersionMap, m18_api_versions};

/// How far the first exchange of a connection is.
#[derive(Debug)]
pub struct Handshake {
    needs: &'static [Api],
    version: i16,
    versions: Option<VersionMap>,
}

impl Handshake {
    /// Before the first request. A broker is refused if it does not speak each API of `needs`.
    pub fn new(needs: &'static [Api]) -> Self {
        Self { needs, version: API_VERSIONS.version_max, versions: None }
    }

    /// What the broker speaks; `None` until the handshake is over.
    pub fn versions(&self) -> Option<&VersionMap> {
        self.versions.as_ref()
    }

    /// The version in which ApiVersions is to be sent; `None` when the handshake is over.
    pub(super) fn next_version(&self) -> Option<i16> {
        self.versions.is_none().then_some(self.version)
    }

    /// Appends the body of the next request.
    pub(super) fn encode(version: i16, out: &mut Vec<u8>) {
        let request =
            m18_api_versions::Request { software_name: "kdyno", software_version: env!("CARGO_PKG_VERSION") };
        m18_api_versions::encode(&request, version, out);
    }

    /// Takes in the broker's response; the next request is then to be sent, if there is one.
    ///
    /// # Errors
    /// When the response cannot be read, or the broker and we cannot work together.
    pub(super) fn on_response(&mut self, frame: &[u8]) -> Result<(), ConnectionError> {
        let body = API_VERSIONS.response_body(frame, self.version)?;
        let response = m18_api_versions::Response::decode(body, self.version)?;
        match response.error {
            ErrorCode::NONE => {}
            ErrorCode::UNSUPPORTED_VERSION if self.version > API_VERSIONS.version_min => {
                self.version = API_VERSIONS.version_min;
                return Ok(());
            }
            error => return Err(ConnectionError::handshake(API_VERSIONS.name(), error)),
        }
        let versions = VersionMap::new(&response);
        for api in self.needs {
            versions.negotiate(api.key, api.version_min..=api.version_max).map_err(Refusal::Version)?;
        }
        self.versions = Some(versions);
        Ok(())
    }
}
