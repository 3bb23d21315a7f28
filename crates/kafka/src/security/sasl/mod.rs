//! Logins: who a client is, and what it says to prove it.
//!
//! A [`Login`] belongs to a user and is shared by all connections; each login on a connection is an [`Exchange`]:
//! a message of ours, a challenge of the broker, until both are content. The messages travel in SaslAuthenticate
//! requests, which are part of the connection's [handshake](crate::connection::Handshake), at first and, where the
//! broker ends sessions (`connections.max.reauth.ms`, KIP-368), again and again.

mod error;
mod mechanism;
pub mod scram;

pub use error::LoginError;
pub use mechanism::Mechanism;

use super::Hidden;
use crate::words;
use aws_lc_rs::rand;
use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use scram::{Hash, ScramKeys, ServerFirst};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of chance in a nonce.
const NONCE_BYTES: usize = 24;
/// Salts whose keys a login remembers: one per broker of a cluster that salts each time, in practice one.
const KEYS_MAX: usize = 16;
/// What separates the parts of an OAUTHBEARER message, and alone answers its failure.
const CONTROL_A: char = '\u{1}';

/// Who a client is.
#[derive(Debug)]
pub struct Login(Credentials);

enum Credentials {
    Plain {
        user: String,
        password: Hidden,
    },
    Scram {
        hash: Hash,
        user: String,
        password: Hidden,
        is_delegation_token: bool,
        keys: Mutex<VecDeque<Salted>>,
    },
    OauthBearer {
        token: Mutex<Hidden>,
        extensions: BTreeMap<String, String>,
    },
}

/// The keys of one salt.
struct Salted {
    salt: Vec<u8>,
    iterations: NonZeroU32,
    keys: ScramKeys,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// What cannot be sent as it is, in words that repeat nothing of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CredentialError(String);

impl Login {
    /// User and password as they are.
    ///
    /// # Errors
    /// When one of them has a NUL, which PLAIN separates them with, or is empty.
    pub fn plain(user: &str, password: Hidden) -> Result<Self, CredentialError> {
        if user.contains('\0') || password.expose().contains(&0) {
            return Err(CredentialError(
                "PLAIN cannot carry a user or password with a NUL character".to_owned(),
            ));
        }
        check_filled(user, &password)?;
        Ok(Self(Credentials::Plain { user: user.to_owned(), password }))
    }

    /// A proof that the password is known. For a delegation token, the user is its id and the password its HMAC.
    ///
    /// # Errors
    /// When user or password is empty.
    pub fn scram(
        hash: Hash,
        user: &str,
        password: Hidden,
        is_delegation_token: bool,
    ) -> Result<Self, CredentialError> {
        check_filled(user, &password)?;
        let user = user.to_owned();
        Ok(Self(Credentials::Scram { hash, user, password, is_delegation_token, keys: Mutex::default() }))
    }

    /// A token, with SASL extensions (KIP-342).
    ///
    /// # Errors
    /// When the token, or an extension, cannot be in the message.
    pub fn oauth_bearer(
        token: Hidden,
        extensions: BTreeMap<String, String>,
    ) -> Result<Self, CredentialError> {
        check_token(&token)?;
        let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_value = |value: &str| value.chars().all(|char| matches!(char, ' '..='~' | '\t' | '\r' | '\n'));
        let wrong =
            |(name, value): &(&String, &String)| !is_name(name) || *name == "auth" || !is_value(value);
        if let Some((name, _)) = extensions.iter().find(wrong) {
            let what = "the name has letters only and is not \"auth\", the value printable ASCII";
            return Err(CredentialError(format!("{name:?} cannot be a SASL extension: {what}")));
        }
        Ok(Self(Credentials::OauthBearer { token: Mutex::new(token), extensions }))
    }

    /// Gives logins from now on a newer token; of no effect for other mechanisms.
    ///
    /// # Errors
    /// As [`Self::oauth_bearer`]; the older token then stays.
    pub fn renew(&self, newer: Hidden) -> Result<(), CredentialError> {
        check_token(&newer)?;
        if let Credentials::OauthBearer { token, .. } = &self.0 {
            *token.lock().unwrap_or_else(PoisonError::into_inner) = newer;
        }
        Ok(())
    }

    /// The token that logins give now; `None`: of another mechanism.
    pub fn token(&self) -> Option<Hidden> {
        let Credentials::OauthBearer { token, .. } = &self.0 else { return None };
        Some(token.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// How it is proved.
    pub fn mechanism(&self) -> Mechanism {
        match &self.0 {
            Credentials::Plain { .. } => Mechanism::Plain,
            Credentials::Scram { hash: Hash::Sha256, .. } => Mechanism::ScramSha256,
            Credentials::Scram { hash: Hash::Sha512, .. } => Mechanism::ScramSha512,
            Credentials::OauthBearer { .. } => Mechanism::OauthBearer,
        }
    }

    /// What a broker said, without the password or token that it may have said again.
    pub(crate) fn refused(&self, words: &str) -> LoginError {
        let hide = |secret: &Hidden| match str::from_utf8(secret.expose()) {
            Ok(secret) => words.replace(secret, "(hidden)"),
            Err(_) => words.to_owned(),
        };
        let words = match &self.0 {
            Credentials::Plain { password, .. } | Credentials::Scram { password, .. } => hide(password),
            Credentials::OauthBearer { token, .. } => {
                hide(&token.lock().unwrap_or_else(PoisonError::into_inner))
            }
        };
        LoginError::Refused { mechanism: self.mechanism(), words: words::of_broker(&words) }
    }
}

fn check_filled(user: &str, password: &Hidden) -> Result<(), CredentialError> {
    let empty = match (user.is_empty(), password.expose().is_empty()) {
        (true, _) => "user",
        (_, true) => "password",
        _ => return Ok(()),
    };
    Err(CredentialError(format!("the {empty} of the SASL login is empty")))
}

/// [RFC 6750](https://www.rfc-editor.org/rfc/rfc6750#section-2.1): `b64token`.
fn check_token(token: &Hidden) -> Result<(), CredentialError> {
    let is_in_token = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
    };
    match token.expose().iter().position(|byte| !is_in_token(byte)) {
        None if token.expose().is_empty() => {
            Err(CredentialError("the OAUTHBEARER token is empty".to_owned()))
        }
        None => Ok(()),
        Some(at) => Err(CredentialError(format!(
            "the OAUTHBEARER token has a character that none has at place {}: is it the token alone, and not JSON \
             around it?",
            at + 1
        ))),
    }
}

/// A number between 0 and 1, by chance.
pub(crate) fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without chance all connections log in again at the same instant, which is no error.
    let _ = rand::fill(&mut bytes);
    f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX)
}

/// What to do after a challenge.
#[derive(Debug)]
pub(crate) enum SaslStep {
    /// Send this.
    Send(Vec<u8>),
    /// Nothing: the broker knows us, and we know the broker as far as the mechanism says.
    Over,
}

/// One login on one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    login: Arc<Login>,
    state: SaslState,
}

enum SaslState {
    /// What was sent is all there is to say.
    Said,
    ScramFirst {
        bare: String,
        nonce: String,
    },
    ScramFinal {
        signature: Vec<u8>,
    },
    TokenFailed,
}

impl std::fmt::Debug for SaslState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

impl Exchange {
    /// Begins, with the first message.
    pub(crate) fn begin(login: Arc<Login>) -> Result<(Self, Vec<u8>), LoginError> {
        let mut bytes = [0; NONCE_BYTES];
        let filled = rand::fill(&mut bytes);
        let mechanism = login.mechanism();
        let what = || "no random numbers could be had".to_owned();
        filled.map_err(|_| LoginError::Exchange { mechanism, what: what() })?;
        Ok(Self::begin_with(login, STANDARD_NO_PAD.encode(bytes)))
    }

    fn begin_with(login: Arc<Login>, nonce: String) -> (Self, Vec<u8>) {
        let (state, message) = match &login.0 {
            Credentials::Plain { user, password } => {
                (SaslState::Said, [b"\0", user.as_bytes(), b"\0", password.expose()].concat())
            }
            Credentials::Scram { user, is_delegation_token, .. } => {
                let bare = scram::client_first_bare(user, &nonce, *is_delegation_token);
                let message = scram::client_first(&bare);
                (SaslState::ScramFirst { bare, nonce }, message)
            }
            Credentials::OauthBearer { token, extensions } => {
                let token = token.lock().unwrap_or_else(PoisonError::into_inner);
                (SaslState::Said, bearer_message(&token, extensions))
            }
        };
        (Self { login, state }, message)
    }

    /// Takes in the broker's challenge.
    pub(crate) fn on_challenge(&mut self, challenge: &[u8]) -> Result<SaslStep, LoginError> {
        let state = std::mem::replace(&mut self.state, SaslState::Said);
        let result = match (&self.login.0, state) {
            (Credentials::Scram { hash, password, keys, .. }, SaslState::ScramFirst { bare, nonce }) => {
                ServerFirst::read(challenge, &nonce).map(|server| {
                    let keys = salted(keys, *hash, password, &server);
                    let (message, signature) = scram::client_final(*hash, &keys, &bare, &server);
                    self.state = SaslState::ScramFinal { signature };
                    SaslStep::Send(message)
                })
            }
            (Credentials::Scram { .. }, SaslState::ScramFinal { signature }) => {
                scram::check_server_final(challenge, &signature).map(|()| SaslStep::Over)
            }
            // A challenge that is not empty says why the token will not do; the broker says so itself once it
            // has been answered.
            (Credentials::OauthBearer { .. }, SaslState::Said) if !challenge.is_empty() => {
                self.state = SaslState::TokenFailed;
                Ok(SaslStep::Send(vec![CONTROL_A as u8]))
            }
            (Credentials::OauthBearer { .. }, SaslState::TokenFailed) => {
                return Err(self.login.refused("it does not accept the token"));
            }
            _ => Ok(SaslStep::Over),
        };
        result.map_err(|error| match error {
            scram::ScramError::Server(words) => self.login.refused(&words),
            error => LoginError::Exchange { mechanism: self.login.mechanism(), what: error.to_string() },
        })
    }
}

/// The keys of a salt, made once: they take some milliseconds, and every connection of a user has the same. No look-up
/// waits for keys of another salt: they are made while the others can be looked up.
fn salted(
    keys: &Mutex<VecDeque<Salted>>,
    hash: Hash,
    password: &Hidden,
    server: &ServerFirst<'_>,
) -> ScramKeys {
    let known = || keys.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |known: &Salted| known.iterations == server.iterations && known.salt == server.salt;
    let found = known().iter().find(|known| is_it(known)).map(|known| known.keys.clone());
    if let Some(found) = found {
        return found;
    }
    let made = hash.keys(password.expose(), &server.salt, server.iterations);
    let mut known = known();
    // Another thread may have made the same meanwhile.
    if !known.iter().any(is_it) {
        known.truncate(KEYS_MAX - 1);
        let (salt, iterations) = (server.salt.clone(), server.iterations);
        known.push_front(Salted { salt, iterations, keys: made.clone() });
    }
    made
}

fn bearer_message(token: &Hidden, extensions: &BTreeMap<String, String>) -> Vec<u8> {
    let mut message = format!("n,,{CONTROL_A}auth=Bearer ").into_bytes();
    message.extend_from_slice(token.expose());
    let mut rest = CONTROL_A.to_string();
    for (name, value) in extensions {
        let _ = write!(rest, "{name}={value}{CONTROL_A}");
    }
    rest.push(CONTROL_A);
    message.extend_from_slice(rest.as_bytes());
    message
}

#[cfg(test)]
mod tests;
