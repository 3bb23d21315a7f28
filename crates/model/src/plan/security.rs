//! How clients reach brokers safely: the protocol of a listener with its TLS and SASL settings.
//!
//! Values of passwords, keys and tokens are not here: a name stands for each, which
//! [`CasePlan::secrets`](super::CasePlan::secrets) maps to where its value comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use strum::{Display, EnumString, IntoStaticStr, VariantNames};

/// Stands for what is sent and never stored.
pub(super) const REDACTED: &str = "redacted";

/// How clients connect to a system, as `security.protocol` and what belongs to it say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Security {
    /// `security.protocol`.
    pub protocol: Protocol,
    /// There exactly when [`Protocol::has_tls`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// There exactly when [`Protocol::has_sasl`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sasl: Option<Sasl>,
}

impl Security {
    /// Whether nothing but plain bytes is requested.
    pub fn is_plaintext(&self) -> bool {
        self.protocol == Protocol::Plaintext
    }

    /// Removes what a run file, which may be shown around, must not hold: paths, names of users, what says whose
    /// certificates they are.
    pub fn redact(&mut self) {
        let stores = self.tls.iter_mut().flat_map(|tls| tls.trust.iter_mut().chain(&mut tls.identity));
        for store in stores {
            match &mut store.content {
                StoreContent::PemFile(path) | StoreContent::Pkcs12File(path) => *path = REDACTED.into(),
                StoreContent::Pem { certificates, .. } => REDACTED.clone_into(certificates),
            }
        }
        match &mut self.sasl {
            Some(Sasl::Plain { username, .. } | Sasl::Scram { username, .. }) => {
                REDACTED.clone_into(username);
            }
            Some(Sasl::OauthBearer { extensions, .. }) => {
                extensions.values_mut().for_each(|value| REDACTED.clone_into(value));
            }
            None => {}
        }
    }
}

/// Kafka's `security.protocol`, in its own words.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Protocol {
    /// Neither.
    #[default]
    Plaintext,
    /// TLS.
    Ssl,
    /// SASL on an open connection.
    SaslPlaintext,
    /// SASL within TLS.
    SaslSsl,
}

impl Protocol {
    /// Their names.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// Whether the connection is encrypted.
    pub fn has_tls(self) -> bool {
        matches!(self, Self::Ssl | Self::SaslSsl)
    }

    /// Whether the client says who it is by SASL.
    pub fn has_sasl(self) -> bool {
        matches!(self, Self::SaslPlaintext | Self::SaslSsl)
    }

    /// How clients of a local cluster log in if nothing else is said.
    pub fn default_mechanism(self) -> Option<Mechanism> {
        self.has_sasl().then_some(Mechanism::ScramSha512)
    }

    /// Versions of TLS of a local cluster's listener if nothing else is said.
    pub fn default_tls(self) -> Vec<TlsVersion> {
        if self.has_tls() { TlsVersion::ALL.to_vec() } else { Vec::new() }
    }
}

/// TLS of a client (`ssl.*`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tls {
    /// Certificates that are trusted (`ssl.truststore.*`); `None`: the platform's roots, as Java's cacerts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Store>,
    /// The client's own certificate and key (`ssl.keystore.*`), for mutual TLS; `None`: it shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Store>,
    /// Whether a broker's certificate must be for the host that was dialled
    /// (`ssl.endpoint.identification.algorithm` is `https`, and not empty).
    pub hostname_check: bool,
    /// Versions that may be agreed on (`ssl.enabled.protocols`), each once; not empty.
    pub versions: Vec<TlsVersion>,
    /// Cipher suites in the order of preference (`ssl.cipher.suites`), by their names in Java; empty: those that the
    /// provider offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ciphers: Vec<String>,
}

impl Tls {
    /// Sessions with brokers whose certificate, or whose authority's, is among these: names of hosts are checked, and we
    /// show no certificate.
    pub fn trusting(certificates: StoreContent, versions: Vec<TlsVersion>) -> Self {
        let trust = Some(Store::of(certificates));
        Self { trust, identity: None, hostname_check: true, versions, ciphers: Vec::new() }
    }
}

/// A version of TLS, by its name in Java.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    EnumString,
    IntoStaticStr,
    VariantNames,
)]
pub enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "TLSv1.2")]
    #[strum(serialize = "TLSv1.2")]
    Tls12,
    /// TLS 1.3.
    #[serde(rename = "TLSv1.3")]
    #[strum(serialize = "TLSv1.3")]
    Tls13,
}

impl TlsVersion {
    /// Their names.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// All that are spoken, which is what a listener or a client speaks if nothing else is said.
    pub const ALL: [Self; 2] = [Self::Tls12, Self::Tls13];
}

/// Certificates, with or without a private key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Store {
    /// Where they are.
    pub content: StoreContent,
    /// Name of the secret that opens a PKCS#12 store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Name of the secret that opens the private key (`ssl.key.password`), where that is not the store's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_password: Option<String>,
}

impl Store {
    /// One that opens without a password.
    pub fn of(content: StoreContent) -> Self {
        Self { content, password: None, key_password: None }
    }
}

/// Where certificates and keys are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StoreContent {
    /// A PEM file; for a client's own certificate it also holds the key (PKCS#8).
    PemFile(PathBuf),
    /// A PKCS#12 file.
    Pkcs12File(PathBuf),
    /// PEM text from the settings themselves.
    Pem {
        /// `ssl.truststore.certificates` or `ssl.keystore.certificate.chain`.
        certificates: String,
        /// Name of the secret that is `ssl.keystore.key` (PKCS#8).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
}

/// How clients log in, by its name in Kafka.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, VariantNames)]
pub enum Mechanism {
    /// User and password.
    #[serde(rename = "PLAIN")]
    #[strum(serialize = "PLAIN")]
    Plain,
    /// A proof that the password is known, with SHA-256.
    #[serde(rename = "SCRAM-SHA-256")]
    #[strum(serialize = "SCRAM-SHA-256")]
    ScramSha256,
    /// SCRAM with SHA-512.
    #[serde(rename = "SCRAM-SHA-512")]
    #[strum(serialize = "SCRAM-SHA-512")]
    ScramSha512,
    /// A token; on a local cluster one without a signature.
    #[serde(rename = "OAUTHBEARER")]
    #[strum(serialize = "OAUTHBEARER")]
    OauthBearer,
}

impl Mechanism {
    /// Their names.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
}

/// How a client says who it is (`sasl.mechanism`, `sasl.jaas.config`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sasl {
    /// `PLAIN`: the password itself is sent.
    Plain {
        /// Name of the user.
        username: String,
        /// Name of the secret that is the password.
        password: String,
    },
    /// `SCRAM-SHA-256` or `SCRAM-SHA-512`.
    Scram {
        /// Which hash.
        hash: ScramHash,
        /// Name of the user, or id of a delegation token.
        username: String,
        /// Name of the secret that is the password, or the token's HMAC.
        password: String,
        /// The user is a delegation token (`tokenauth=true` in `sasl.jaas.config`).
        #[serde(default)]
        is_delegation_token: bool,
    },
    /// `OAUTHBEARER`.
    OauthBearer {
        /// Name of the secret that is the token. Tokens expire: its value is requested again before that.
        token: String,
        /// SASL extensions (KIP-342) that are sent with it.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        extensions: BTreeMap<String, String>,
    },
}

/// The hash of SCRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScramHash {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Sasl {
    /// Its mechanism.
    pub fn mechanism(&self) -> Mechanism {
        match self {
            Self::Plain { .. } => Mechanism::Plain,
            Self::Scram { hash: ScramHash::Sha256, .. } => Mechanism::ScramSha256,
            Self::Scram { hash: ScramHash::Sha512, .. } => Mechanism::ScramSha512,
            Self::OauthBearer { .. } => Mechanism::OauthBearer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_have_kafkas_names() {
        fn names<T>(names: &[&str]) -> Vec<T>
        where
            T: std::str::FromStr + std::fmt::Display + Serialize,
        {
            let read = |name: &&str| {
                let value: T = name.parse().ok().expect("its own name");
                let stored = serde_json::to_string(&value).expect("json");
                assert_eq!((value.to_string(), stored), ((*name).to_owned(), format!("\"{name}\"")));
                value
            };
            names.iter().map(read).collect()
        }
        use Protocol::{Plaintext, SaslPlaintext, SaslSsl, Ssl};
        assert_eq!(names::<Protocol>(Protocol::NAMES), [Plaintext, Ssl, SaslPlaintext, SaslSsl]);
        assert_eq!(names::<TlsVersion>(TlsVersion::NAMES), TlsVersion::ALL);
        let mechanisms = names::<Mechanism>(Mechanism::NAMES);
        assert_eq!(mechanisms[2], Mechanism::ScramSha512);
        assert_eq!("SASL_SSL".parse(), Ok(SaslSsl));
        assert_eq!("SCRAM-SHA-256".parse(), Ok(Mechanism::ScramSha256));
        assert_eq!("TLSv1.3".parse(), Ok(TlsVersion::Tls13));
    }

    #[test]
    fn what_is_stored_names_neither_files_nor_users() {
        let store = |content| Some(Store { content, password: Some("pw".to_owned()), key_password: None });
        let pem = StoreContent::Pem { certificates: "private".to_owned(), key: Some("key".to_owned()) };
        let sasl = [
            Sasl::Plain { username: "private".to_owned(), password: "pw".to_owned() },
            Sasl::Scram {
                hash: ScramHash::Sha512,
                username: "private".to_owned(),
                password: "pw".to_owned(),
                is_delegation_token: true,
            },
            Sasl::OauthBearer {
                token: "token".to_owned(),
                extensions: BTreeMap::from([("lkc".to_owned(), "private".to_owned())]),
            },
        ];
        let trusts = [
            StoreContent::PemFile("/private/ca.pem".into()),
            StoreContent::Pkcs12File("/private/ca.p12".into()),
            StoreContent::PemFile("/private/ca.pem".into()),
        ];
        for (sasl, trust) in sasl.into_iter().zip(trusts) {
            let mut security = Security {
                protocol: Protocol::SaslSsl,
                tls: Some(Tls {
                    trust: store(trust),
                    identity: store(pem.clone()),
                    hostname_check: true,
                    versions: vec![TlsVersion::Tls13],
                    ciphers: Vec::new(),
                }),
                sasl: Some(sasl),
            };
            security.redact();
            let stored = serde_json::to_string(&security).expect("json");
            assert!(!stored.contains("private"), "{stored}");
            assert_eq!(serde_json::from_str::<Security>(&stored).expect("it is read back"), security);
        }
    }
}
