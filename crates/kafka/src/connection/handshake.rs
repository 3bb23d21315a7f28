//! The first requests of a connection: what the broker speaks, who we are, and whether that will do.
//!
//! ApiVersions is asked in the newest version we know, and in version 0 by brokers that do not know that one. Where
//! there is a login, SaslHandshake names its mechanism and SaslAuthenticate requests carry its messages, before any
//! other request; with a broker that ends sessions after some time (KIP-368) the client authenticates again before it
//! does.

use super::{ConnectionError, PermanentError};
use crate::errors::ErrorCode;
use crate::messages::{
    Api, ApiVersionError, Message as _, Request as _, VersionMap, m17_sasl_handshake, m18_api_versions,
    m36_sasl_authenticate,
};
use crate::security::Hidden;
use crate::security::sasl::{Exchange, Login, LoginError, SaslStep, chance};
use std::sync::Arc;

/// SaslHandshake before version 1 is followed by bare tokens instead of SaslAuthenticate.
const SASL_HANDSHAKE: Api = Api { version_min: 1, ..m17_sasl_handshake::API };

/// Part of a session's lifetime after which we log in again, at least, and what chance adds to it at most: as the
/// Java client, so that the connections of many clients do not do it together.
const LIFETIME_PART: f64 = 0.85;
const LIFETIME_CHANCE: f64 = 0.10;
/// Brokers refuse a login that comes sooner than this after the one before on the same connection, ns.
const LOGIN_PAUSE_NS: u64 = 1_000_000_000;

/// A request of the handshake.
pub(super) struct OwnRequest {
    pub(super) api: Api,
    pub(super) version: i16,
    pub(super) body: Vec<u8>,
}

/// What is to be asked, or is asked.
#[derive(Debug)]
enum Asking {
    Versions,
    Mechanism,
    Login(Exchange, Hidden),
    Nothing,
}

/// How far the first exchange of a connection is.
#[derive(Debug)]
pub struct Handshake {
    needs: &'static [Api],
    login: Option<Arc<Login>>,
    asking: Asking,
    /// The version in which ApiVersions is asked.
    version: i16,
    versions: Option<VersionMap>,
    /// The versions of `needs`, in their order: looked up for every request.
    needed_versions: Vec<i16>,
    /// Versions of SaslHandshake and SaslAuthenticate, where there is a login.
    login_versions: (i16, i16),
    /// Whether requests of the caller are taken; true for ever once it was.
    is_over: bool,
    /// When to log in again, ns.
    login_again_ns: u64,
}

impl Handshake {
    /// Before the first request. A broker is refused if it does not speak each API of `needs`.
    pub fn new(needs: &'static [Api]) -> Self {
        Self {
            needs,
            login: None,
            asking: Asking::Versions,
            version: m18_api_versions::API.version_max,
            versions: None,
            needed_versions: Vec::new(),
            login_versions: (0, 0),
            is_over: false,
            login_again_ns: u64::MAX,
        }
    }

    /// Says that there is to be a login.
    pub(super) fn set_login(&mut self, login: Option<Arc<Login>>) {
        self.login = login;
    }

    /// Whether requests of the caller are taken.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether it was over and has begun again, so that requests of the caller have to wait.
    pub(super) fn holds(&self) -> bool {
        self.is_over && !matches!(self.asking, Asking::Nothing)
    }

    /// Whether the broker has said what it speaks.
    pub(super) fn has_versions(&self) -> bool {
        self.versions.is_some()
    }

    /// Where it ended, when it ended before its time, in words for "the broker closed the connection …".
    pub(super) fn ended(&self) -> Option<&'static str> {
        match self.asking {
            Asking::Versions => Some("instead of answering ApiVersions"),
            Asking::Mechanism | Asking::Login(..) => Some("during the login (SASL)"),
            Asking::Nothing => None,
        }
    }

    /// Whether there is a login.
    pub(super) fn has_login(&self) -> bool {
        self.login.is_some()
    }

    /// The newest version of an API that both ends speak.
    pub(super) fn version(&self, api: &Api) -> Result<i16, ApiVersionError> {
        let place = self.needs.iter().position(|need| need.key == api.key);
        match (place.and_then(|place| self.needed_versions.get(place)), &self.versions) {
            (Some(&version), _) => Ok(version),
            (None, Some(versions)) => versions.negotiate(api),
            (None, None) => VersionMap::default().negotiate(api),
        }
    }

    /// The level of the feature `transaction.version`, 0 where none was reported.
    pub(super) fn transaction_version(&self) -> i16 {
        self.versions.as_ref().map_or(0, VersionMap::transaction_version)
    }

    /// Begins to log in again, if it is time; the next request is then to be sent.
    pub(super) fn log_in_again(&mut self, now_ns: u64) -> bool {
        if now_ns < self.login_again_ns {
            return false;
        }
        self.login_again_ns = u64::MAX;
        self.asking = Asking::Mechanism;
        true
    }

    /// The request to send; `None` when there is none.
    pub(super) fn next_request(&self) -> Option<OwnRequest> {
        let mut body = Vec::new();
        let (api, version) = match &self.asking {
            Asking::Versions => {
                m18_api_versions::Request::of_this_client().encode(self.version, &mut body);
                (m18_api_versions::API, self.version)
            }
            Asking::Mechanism => {
                let version = self.login_versions.0;
                let mechanism = self.login.as_ref()?.mechanism().name().to_owned();
                m17_sasl_handshake::Request { mechanism }.encode(version, &mut body);
                (m17_sasl_handshake::API, version)
            }
            Asking::Login(_, message) => {
                let version = self.login_versions.1;
                let request = m36_sasl_authenticate::Request { auth_bytes: message.expose().to_vec() };
                request.encode(version, &mut body);
                (m36_sasl_authenticate::API, version)
            }
            Asking::Nothing => return None,
        };
        Some(OwnRequest { api, version, body })
    }

    /// Takes in the broker's response in `version`; the next request is then to be sent, if there is one.
    ///
    /// # Errors
    /// When the response cannot be read, or the broker and we cannot work together.
    pub(super) fn on_response(
        &mut self,
        body: &[u8],
        version: i16,
        now_ns: u64,
    ) -> Result<(), ConnectionError> {
        let asked = std::mem::replace(&mut self.asking, Asking::Nothing);
        match (asked, self.login.clone()) {
            (Asking::Versions, _) => self.on_versions(body),
            (Asking::Mechanism, Some(login)) => {
                let response = m17_sasl_handshake::Request::decode_response(body, version)?;
                check_mechanism(&login, response, self.is_over)?;
                let (exchange, message) = Exchange::begin(login).map_err(PermanentError::Login)?;
                self.asking = Asking::Login(exchange, message.into());
                Ok(())
            }
            (Asking::Login(exchange, _), Some(login)) => {
                let response = m36_sasl_authenticate::Request::decode_response(body, version)?;
                check_login(&login, &response)?;
                self.on_challenge(exchange, &response, now_ns)
            }
            _ => Ok(()),
        }
    }

    fn on_versions(&mut self, body: &[u8]) -> Result<(), ConnectionError> {
        let response = m18_api_versions::Request::decode_response(body, self.version)?;
        match response.error_code {
            ErrorCode::NONE => {}
            ErrorCode::UNSUPPORTED_VERSION if self.version > m18_api_versions::API.version_min => {
                self.version = m18_api_versions::API.version_min;
                self.asking = Asking::Versions;
                return Ok(());
            }
            error => return Err(ConnectionError::handshake(m18_api_versions::API.name, error)),
        }
        let versions = VersionMap::new(&response);
        let needed: Result<_, _> = self.needs.iter().map(|api| versions.negotiate(api)).collect();
        self.needed_versions = needed.map_err(PermanentError::Version)?;
        match self.login {
            Some(_) => {
                let negotiated = |api| versions.negotiate(api).map_err(PermanentError::Version);
                self.login_versions =
                    (negotiated(&SASL_HANDSHAKE)?, negotiated(&m36_sasl_authenticate::API)?);
                self.asking = Asking::Mechanism;
            }
            None => self.is_over = true,
        }
        self.versions = Some(versions);
        Ok(())
    }

    fn on_challenge(
        &mut self,
        mut exchange: Exchange,
        response: &m36_sasl_authenticate::Response,
        now_ns: u64,
    ) -> Result<(), ConnectionError> {
        match exchange.on_challenge(&response.auth_bytes).map_err(PermanentError::Login)? {
            SaslStep::Send(message) => self.asking = Asking::Login(exchange, message.into()),
            SaslStep::Over => {
                self.is_over = true;
                let lifetime_ms = u64::try_from(response.session_lifetime_ms).unwrap_or(0);
                if lifetime_ms > 0 {
                    let part = LIFETIME_PART + LIFETIME_CHANCE * chance();
                    let lifetime_ns = (lifetime_ms as f64 * 1e6 * part) as u64;
                    self.login_again_ns = now_ns.saturating_add(lifetime_ns.max(LOGIN_PAUSE_NS));
                }
            }
        }
        Ok(())
    }
}

/// Whether the listener takes our mechanism; `is_again`: on a connection on which it has taken it before.
fn check_mechanism(
    login: &Login,
    response: m17_sasl_handshake::Response,
    is_again: bool,
) -> Result<(), ConnectionError> {
    let refused = match response.error_code {
        ErrorCode::NONE => return Ok(()),
        ErrorCode::UNSUPPORTED_SASL_MECHANISM => {
            LoginError::Mechanism { mechanism: login.mechanism(), offered: response.mechanisms }
        }
        // It ends sessions no more, or this came too soon: a new connection is another matter.
        error @ ErrorCode::ILLEGAL_SASL_STATE if is_again => {
            return Err(ConnectionError::Handshake { api: m17_sasl_handshake::API.name, error });
        }
        ErrorCode::ILLEGAL_SASL_STATE => LoginError::NotAsked,
        error => return Err(ConnectionError::handshake(m17_sasl_handshake::API.name, error)),
    };
    Err(PermanentError::Login(refused).into())
}

/// Whether the broker goes on with the login.
fn check_login(login: &Login, response: &m36_sasl_authenticate::Response) -> Result<(), ConnectionError> {
    match response.error_code {
        ErrorCode::NONE => Ok(()),
        ErrorCode::SASL_AUTHENTICATION_FAILED => {
            let words = response.error_message.as_deref().filter(|words| !words.is_empty());
            let words = words.unwrap_or("it does not say why");
            Err(PermanentError::Login(login.refused(words)).into())
        }
        error => Err(ConnectionError::handshake(m36_sasl_authenticate::API.name, error)),
    }
}
