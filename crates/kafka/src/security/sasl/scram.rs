//! SCRAM as Kafka speaks it: [RFC 5802](https://www.rfc-editor.org/rfc/rfc5802) with SHA-256 or SHA-512, without
//! channel binding, names and passwords as their UTF-8 bytes (Kafka normalises neither).
//!
//! Pure but for the nonce, which comes from outside. The broker's messages are read strictly: no attribute is
//! expected in another place than its own, and none that is mandatory and unknown (`m=`) is passed over.

use crate::security::Hidden;
use aws_lc_rs::{constant_time, digest, hmac, pbkdf2};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::num::NonZeroU32;
use thiserror::Error;

/// Fewest iterations accepted: Kafka's own minimum, and that of RFC 7677.
pub const ITERATIONS_MIN: u32 = 4_096;
/// Most iterations accepted: eight times the most that Kafka lets anybody store (16384). They are the broker's to
/// choose and ours to carry out, about 0.3 µs each, on the thread that carries the load.
pub const ITERATIONS_MAX: u32 = 131_072;
/// Longest salt accepted, bytes; Kafka's own has about 26.
const SALT_BYTES_MAX: usize = 1_024;

/// GS2 header without channel binding and authorisation identity, and the same in base64.
const GS2_HEADER: &str = "n,,";
const GS2_HEADER_BASE64: &str = "biws";

/// Which hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Hash {
    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }

    fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    /// `SaltedPassword := Hi(password, salt, iterations)`.
    pub fn salted_password(self, password: &[u8], salt: &[u8], iterations: NonZeroU32) -> Hidden {
        let mut salted = vec![0; self.digest().output_len()];
        pbkdf2::derive(self.pbkdf2(), iterations, salt, password, &mut salted);
        Hidden::new(salted)
    }

    fn mac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        hmac::sign(&hmac::Key::new(self.hmac(), key), text).as_ref().to_vec()
    }

    /// What is made of a password once per salt and iterations.
    pub(super) fn keys(self, password: &[u8], salt: &[u8], iterations: NonZeroU32) -> ScramKeys {
        let salted = self.salted_password(password, salt, iterations);
        ScramKeys {
            client: Hidden::new(self.mac(salted.expose(), b"Client Key")),
            server: Hidden::new(self.mac(salted.expose(), b"Server Key")),
        }
    }
}

/// `ClientKey` and `ServerKey`.
#[derive(Debug, Clone)]
pub(super) struct ScramKeys {
    client: Hidden,
    server: Hidden,
}

/// What is wrong with the broker's part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScramError {
    /// A message does not have the form that it should have.
    #[error("the broker's {message} message has {what}")]
    Message {
        /// `first` or `final`.
        message: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The nonce does not begin with ours: the answer is to somebody else.
    #[error("the broker's nonce does not begin with ours")]
    Nonce,
    /// More or fewer iterations than are safe.
    #[error("the broker asks for {0} iterations, between {ITERATIONS_MIN} and {ITERATIONS_MAX} are accepted")]
    Iterations(u64),
    /// The broker says no, in these words; they may be long, and repeat a secret.
    #[error("the broker says {0}")]
    Server(String),
    /// The broker does not know the password.
    #[error("the broker's signature is wrong: the server there does not know the password")]
    Signature,
}

/// Text in which a name is sent: `=` and `,` mean something in messages.
fn sasl_name(name: &str) -> String {
    name.replace('=', "=3D").replace(',', "=2C")
}

/// The client's first message without its GS2 header. A delegation token says that it is one (KIP-48).
pub(super) fn client_first_bare(user: &str, nonce: &str, is_delegation_token: bool) -> String {
    let extension = if is_delegation_token { ",tokenauth=true" } else { "" };
    format!("n={},r={nonce}{extension}", sasl_name(user))
}

/// The client's first message.
pub(super) fn client_first(bare: &str) -> Vec<u8> {
    format!("{GS2_HEADER}{bare}").into_bytes()
}

/// The broker's first message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerFirst<'a> {
    text: &'a str,
    nonce: &'a str,
    pub(super) salt: Vec<u8>,
    pub(super) iterations: NonZeroU32,
}

impl<'a> ServerFirst<'a> {
    /// Reads the message that answers the nonce `ours`.
    pub(super) fn read(bytes: &'a [u8], ours: &str) -> Result<Self, ScramError> {
        let wrong = |what| ScramError::Message { message: "first", what };
        let text = str::from_utf8(bytes).map_err(|_| wrong("bytes that are not UTF-8"))?;
        let mut attributes = text.split(',');
        let mut attribute = |name: &str, lack| {
            attributes.next().and_then(|attribute| attribute.strip_prefix(name)).ok_or(wrong(lack))
        };
        let nonce = attribute("r=", "no nonce (r=) where it belongs")?;
        let salt = attribute("s=", "no salt (s=) where it belongs")?;
        let iterations = attribute("i=", "no iterations (i=) where they belong")?;
        if nonce.len() <= ours.len() || !nonce.starts_with(ours) {
            return Err(ScramError::Nonce);
        }
        if salt.len() > SALT_BYTES_MAX.div_ceil(3) * 4 {
            return Err(wrong("a salt that is too long"));
        }
        let salt = STANDARD.decode(salt).map_err(|_| wrong("a salt that is not base64"))?;
        if salt.is_empty() {
            return Err(wrong("an empty salt"));
        }
        let is_number = !iterations.is_empty() && iterations.bytes().all(|byte| byte.is_ascii_digit());
        let iterations = iterations.parse::<u64>().ok().filter(|_| is_number);
        let iterations = iterations.ok_or(wrong("a number of iterations that is none"))?;
        let accepted =
            u32::try_from(iterations).ok().filter(|count| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(count));
        let iterations = accepted.and_then(NonZeroU32::new).ok_or(ScramError::Iterations(iterations))?;
        Ok(Self { text, nonce, salt, iterations })
    }
}

/// The client's final message, and the signature that the broker must answer with.
pub(super) fn client_final(
    hash: Hash,
    keys: &ScramKeys,
    bare: &str,
    server: &ServerFirst<'_>,
) -> (Vec<u8>, Vec<u8>) {
    let without_proof = format!("c={GS2_HEADER_BASE64},r={}", server.nonce);
    let auth_message = format!("{bare},{},{without_proof}", server.text);
    let stored_key = digest::digest(hash.digest(), keys.client.expose());
    let signature = hash.mac(stored_key.as_ref(), auth_message.as_bytes());
    let proof: Vec<u8> = keys.client.expose().iter().zip(signature).map(|(key, sign)| key ^ sign).collect();
    let message = format!("{without_proof},p={}", STANDARD.encode(proof));
    (message.into_bytes(), hash.mac(keys.server.expose(), auth_message.as_bytes()))
}

/// Reads the broker's final message, which must have the signature `expected`.
pub(super) fn check_server_final(bytes: &[u8], expected: &[u8]) -> Result<(), ScramError> {
    let wrong = |what| ScramError::Message { message: "final", what };
    let text = str::from_utf8(bytes).map_err(|_| wrong("bytes that are not UTF-8"))?;
    let first = text.split(',').next().unwrap_or_default();
    if let Some(error) = first.strip_prefix("e=") {
        return Err(ScramError::Server(error.to_owned()));
    }
    let signature = first.strip_prefix("v=").ok_or(wrong("neither a signature (v=) nor an error (e=)"))?;
    if signature.len() > expected.len().div_ceil(3) * 4 {
        return Err(ScramError::Signature);
    }
    let signature = STANDARD.decode(signature).map_err(|_| wrong("a signature that is not base64"))?;
    constant_time::verify_slices_are_equal(&signature, expected).map_err(|_| ScramError::Signature)
}

#[cfg(test)]
#[path = "scram_tests.rs"]
mod tests;
