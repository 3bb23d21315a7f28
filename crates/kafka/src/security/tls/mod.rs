//! TLS of a client: which certificates are trusted, which is ours, what is agreed on.
//!
//! rustls speaks it, with the cryptography of aws-lc-rs; here are Kafka's settings and the sentences that name a
//! cause. One [`TlsSessions`] makes the sessions of all connections, so that later ones resume earlier ones.

mod session;
pub mod stores;
mod verifier;
mod words;

pub use words::CERTIFICATE_NAMES;

use crate::session::{SecureSession, SessionError, SessionFactory};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ClientConfig, ClientConnection, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::sign::SingleCertAndKey;
use rustls::{RootCertStore, SupportedProtocolVersion, version};
use session::TlsSession;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use stores::{ClientIdentity, TlsStoreError};
use thiserror::Error;
use verifier::AnyHost;

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsVersion {
    /// TLS 1.2.
    Tls12,
    /// TLS 1.3.
    Tls13,
}

impl TlsVersion {
    /// As rustls knows it.
    pub fn supported(self) -> &'static SupportedProtocolVersion {
        match self {
            Self::Tls12 => &version::TLS12,
            Self::Tls13 => &version::TLS13,
        }
    }
}

/// What sessions are made with.
#[derive(Debug)]
pub struct TlsConfig {
    /// Whose signatures are trusted (`ssl.truststore.*`).
    pub trusted: Vec<CertificateDer<'static>>,
    /// Our own certificate (`ssl.keystore.*`).
    pub identity: Option<ClientIdentity>,
    /// Whether a broker's certificate must be for the host that was dialled
    /// (`ssl.endpoint.identification.algorithm`).
    pub checks_hostname: bool,
    /// Versions that may be agreed on (`ssl.enabled.protocols`).
    pub versions: Vec<TlsVersion>,
    /// Cipher suites by Java's names, the first is preferred (`ssl.cipher.suites`); none: all that there are.
    pub ciphers: Vec<String>,
}

/// Why no sessions can be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsError {
    /// A cipher suite that is not spoken.
    #[error("ssl.cipher.suites: {name:?} is not supported, only {}", .spoken.join(", "))]
    Cipher {
        /// As typed.
        name: String,
        /// Certificates that are trusted.
        spoken: Vec<String>,
    },
    /// No certificate is trusted.
    #[error("none of the certificates that are to be trusted can be read as X.509")]
    NoneTrusted,
    /// None of the chosen cipher suites is of a chosen version.
    #[error("none of the suites in ssl.cipher.suites is one of a version in ssl.enabled.protocols")]
    Versions,
    /// A certificate and a key that do not go together.
    #[error(transparent)]
    Identity(#[from] TlsStoreError),
}

/// Makes sessions.
#[derive(Debug)]
pub struct TlsSessions {
    config: Arc<ClientConfig>,
    has_identity: bool,
    checks_hostname: bool,
}

impl TlsSessions {
    /// A factory of sessions.
    ///
    /// # Errors
    /// When the settings do not go together: a key that is not the certificate's, a suite that no version has.
    pub fn new(config: TlsConfig) -> Result<Self, TlsError> {
        let TlsConfig { trusted, identity, checks_hostname, versions, ciphers } = config;
        let provider = Arc::new(provider(&ciphers)?);
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(trusted);
        if added == 0 {
            return Err(TlsError::NoneTrusted);
        }
        let algorithms = provider.signature_verification_algorithms;
        let verifier: Arc<dyn ServerCertVerifier> = match checks_hostname {
            true => WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .build()
                .map_err(|_| TlsError::NoneTrusted)?,
            false => Arc::new(AnyHost { roots, algorithms }),
        };
        let versions: Vec<_> = versions.into_iter().map(TlsVersion::supported).collect();
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&versions);
        // The library knows no other reason.
        let builder = builder.map_err(|_| TlsError::Versions)?;
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let has_identity = identity.is_some();
        let config = match identity {
            Some(identity) => {
                let shown = SingleCertAndKey::from(identity.certified()?);
                builder.with_client_cert_resolver(Arc::new(shown))
            }
            None => builder.with_no_client_auth(),
        };
        Ok(Self { config: Arc::new(config), has_identity, checks_hostname })
    }
}

impl SessionFactory for TlsSessions {
    fn open(&self, host: &str) -> Result<Box<dyn SecureSession>, SessionError> {
        let refused = |what: String| SessionError::Refused(what);
        // Where names are not checked, a host that can be no name in a certificate is no obstacle.
        let name = match ServerName::try_from(host.to_owned()) {
            Err(_) if !self.checks_hostname => ServerName::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            name => name.map_err(|_| refused(format!("the host {host:?} can be named in no certificate")))?,
        };
        let tls = ClientConnection::new(Arc::clone(&self.config), name);
        let tls = tls.map_err(|error| refused(error.to_string()))?;
        Ok(Box::new(TlsSession::new(tls, self.has_identity)))
    }
}

/// The cryptography of a client or a server, with these cipher suites in this order; none: all.
///
/// # Errors
/// When a suite is not spoken.
pub fn provider(ciphers: &[String]) -> Result<CryptoProvider, TlsError> {
    let mut provider = aws_lc_rs::default_provider();
    if ciphers.is_empty() {
        return Ok(provider);
    }
    // rustls names the suites of TLS 1.3 apart; in Java, as at IANA, they begin as all others do.
    let java_name = |suite: &rustls::SupportedCipherSuite| words::suite_name(suite.suite());
    let all = std::mem::take(&mut provider.cipher_suites);
    for name in ciphers {
        let found = all.iter().find(|suite| java_name(suite) == *name);
        let spoken = || all.iter().map(java_name).collect();
        provider
            .cipher_suites
            .push(*found.ok_or_else(|| TlsError::Cipher { name: name.clone(), spoken: spoken() })?);
    }
    Ok(provider)
}
