//! The first requests of a connection: what the broker speaks, and whether that will do.
//!
//! ApiVersions is asked in the newest version we know, and in version 0 by brokers that do not know that one.
//! Authentication (SaslHandshake, SaslAuthenticate) belongs behind it: further steps of the same exchange,
//! before any other request.

use super::{ConnectionError, Refusal};
use crate::errors::ErrorCode;
use crate::messages::{Api, Request as _, VersionError, VersionMap, m18_api_versions};

/// How far the first exchange of a connection is.
#[derive(Debug)]
pub struct Handshake {
    needs: &'static [Api],
    version: i16,
    versions: Option<VersionMap>,
    /// The versions of `needs`, in their order: looked up for every request.
    needed_versions: Vec<i16>,
}

impl Handshake {
    /// Before the first request. A broker is refused if it does not speak each API of `needs`.
    pub fn new(needs: &'static [Api]) -> Self {
        Self {
            needs,
            version: m18_api_versions::API.version_max,
            versions: None,
            needed_versions: Vec::new(),
        }
    }

    /// Whether it is over.
    pub(super) fn is_over(&self) -> bool {
        self.versions.is_some()
    }

    /// The newest version of an API that both ends speak.
    pub(super) fn version(&self, api: &Api) -> Result<i16, VersionError> {
        let place = self.needs.iter().position(|need| need.key == api.key);
        match (place.and_then(|place| self.needed_versions.get(place)), &self.versions) {
            (Some(&version), _) => Ok(version),
            (None, Some(versions)) => versions.negotiate(api),
            (None, None) => VersionMap::default().negotiate(api),
        }
    }

    /// The version in which ApiVersions is to be sent; `None` when the handshake is over.
    pub(super) fn next_version(&self) -> Option<i16> {
        self.versions.is_none().then_some(self.version)
    }

    /// Takes in the broker's response; the next request is then to be sent, if there is one.
    ///
    /// # Errors
    /// When the response cannot be read, or the broker and we cannot work together.
    pub(super) fn on_response(&mut self, body: &[u8]) -> Result<(), ConnectionError> {
        let response = m18_api_versions::Request::decode_response(body, self.version)?;
        match response.error_code {
            ErrorCode::NONE => {}
            ErrorCode::UNSUPPORTED_VERSION if self.version > m18_api_versions::API.version_min => {
                self.version = m18_api_versions::API.version_min;
                return Ok(());
            }
            error => return Err(ConnectionError::handshake(m18_api_versions::API.name, error)),
        }
        let versions = VersionMap::new(&response);
        let needed: Result<_, _> = self.needs.iter().map(|api| versions.negotiate(api)).collect();
        self.needed_versions = needed.map_err(Refusal::Version)?;
        self.versions = Some(versions);
        Ok(())
    }
}
