//! What binds a request: its API, the versions we speak, and the response that answers it.

use super::field::{Field, Form};
use crate::wire::{Reader, Result};

/// An API of the protocol, as far as we speak it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// The number in the request's header.
    pub key: i16,
    /// Kafka's name, for messages to the user.
    pub name: &'static str,
    /// Lowest version we speak.
    pub version_min: i16,
    /// Highest version we speak.
    pub version_max: i16,
    /// First version with compact lengths and tagged fields.
    pub flexible_from: i16,
}

impl Api {
    /// Whether a version has compact lengths and tagged fields.
    pub fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }

    /// How fields are laid out in a version.
    pub fn form(&self, version: i16) -> Form {
        Form { version, flexible: self.is_flexible(version) }
    }
}

/// The body of a request or a response.
pub trait Message: Field {
    /// The API it belongs to.
    const API: Api;

    /// Appends the body.
    fn encode(&self, version: i16, out: &mut Vec<u8>) {
        self.write(out, Self::API.form(version));
    }

    /// Reads the body to its end.
    ///
    /// # Errors
    /// When the bytes are not such a message.
    fn decode(bytes: &[u8], version: i16) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let message = Self::read(&mut reader, Self::API.form(version))?;
        reader.finish()?;
        Ok(message)
    }

    /// Reads the body from the front of `bytes`. Whatever follows it is ignored, as the Java client ignores what
    /// other makers' brokers put there.
    ///
    /// # Errors
    /// When the bytes do not begin with such a message.
    fn decode_front(bytes: &[u8], version: i16) -> Result<Self> {
        Self::read(&mut Reader::new(bytes), Self::API.form(version))
    }
}

/// A request and what answers it.
pub trait Request: Message {
    /// What answers it.
    type Response: Message;

    /// Reads the body of the response to a request of `version`, whatever follows it.
    ///
    /// # Errors
    /// When the bytes are not such a response.
    fn decode_response(bytes: &[u8], version: i16) -> Result<Self::Response> {
        Self::Response::decode_front(bytes, version)
    }
}
