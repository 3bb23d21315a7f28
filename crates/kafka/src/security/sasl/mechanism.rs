//! The ways of logging in.

use std::fmt;

/// How a client says who it is (`sasl.mechanism`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// User and password as they are ([RFC 4616](https://www.rfc-editor.org/rfc/rfc4616)).
    Plain,
    /// A proof that the password is known ([RFC 7677](https://www.rfc-editor.org/rfc/rfc7677)).
    ScramSha256,
    /// SCRAM with SHA-512.
    ScramSha512,
    /// A token ([RFC 7628](https://www.rfc-editor.org/rfc/rfc7628)).
    OauthBearer,
}

impl Mechanism {
    /// Its registered name, as it is in Kafka's settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OauthBearer => "OAUTHBEARER",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
