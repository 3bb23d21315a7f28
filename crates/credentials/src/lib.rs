//! Makes of a plan's [`Security`](kdyno_model::plan::Security), and of the values of its secrets, what connections
//! need: certificates and keys read, checked and put together, once for all connections of a process.
//!
//! The one place that opens certificate files and asks the platform for its roots; who needs connections (worker,
//! testbed, lab) asks here. No error repeats a secret.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

use kdyno_kafka::security::sasl::{CredentialError, Login, scram::Hash};
use kdyno_kafka::security::tls::stores::{self, ClientIdentity, STORE_BYTES_MAX, StoreKind, TlsStoreError};
use kdyno_kafka::security::tls::{TlsConfig, TlsError, TlsSessions, TlsVersion};
use kdyno_kafka::security::{ConnectionSecurity, Hidden};
use kdyno_kafka::session::SessionFactory;
use kdyno_model::plan::{self, Sasl, ScramHash, Store, StoreContent};
use kdyno_model::secret::Secret;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustls::pki_types::CertificateDer;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why connections cannot be secured as the plan says.
#[derive(Debug, Error)]
pub enum CredentialsError {
    /// A secret of the plan has no value.
    #[error("secret `{0}` has no value")]
    NoSecret(String),
    /// A certificate file cannot be read.
    #[error("{setting}: {path} cannot be read: {source}")]
    File {
        /// The setting that names it.
        setting: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A store is of no use.
    #[error("{setting}: {place}: {source}")]
    Store {
        /// The setting that names it.
        setting: &'static str,
        /// The file, or `its PEM text`.
        place: String,
        /// Why.
        source: TlsStoreError,
    },
    /// The platform has no roots.
    #[error(
        "ssl.truststore.location is not set, and this host has no certificates of authorities that all trust{0}"
    )]
    NoRoots(String),
    /// TLS settings do not go together.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// A login that cannot be sent.
    #[error("{0}")]
    Login(#[from] CredentialError),
}

impl CredentialsError {
    /// Whether other settings, files or passwords would help, rather than another host.
    #[must_use]
    pub fn is_of_what_was_given(&self) -> bool {
        !matches!(self, Self::NoRoots(_))
    }
}

/// Keeps this process's memory from other programs of its user, and out of core dumps: no debugger attaches, and what `/proc`
/// shows of memory, environment and open files is root's. To be called before a secret's value is read; programs that
/// this process starts are not concerned.
pub fn close_memory() {
    // It fails only where a kernel does not know it.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Gives a secret's value by its name in the plan.
pub type SecretLookup<'a> = &'a dyn Fn(&str) -> Option<&'a Secret>;

/// What connections need to be secured as the plan says.
///
/// # Errors
/// A secret lacks, a file cannot be read or is of no use, or settings do not go together.
pub fn security(
    plan: &plan::Security,
    values: SecretLookup<'_>,
) -> Result<ConnectionSecurity, CredentialsError> {
    let sessions = plan.tls.as_ref().map(|tls| tls_of(tls, values)).transpose()?;
    let sessions = sessions.map(|tls| Arc::new(tls) as Arc<dyn SessionFactory>);
    let login = plan.sasl.as_ref().map(|sasl| login_of(sasl, values)).transpose()?;
    Ok(ConnectionSecurity { sessions, login: login.map(Arc::new) })
}

fn hidden(name: &str, values: SecretLookup<'_>) -> Result<Hidden, CredentialsError> {
    let value = values(name).ok_or_else(|| CredentialsError::NoSecret(name.to_owned()))?;
    Ok(Hidden::new(value.expose().to_vec()))
}

fn login_of(sasl: &Sasl, values: SecretLookup<'_>) -> Result<Login, CredentialsError> {
    Ok(match sasl {
        Sasl::Plain { username, password } => Login::plain(username, hidden(password, values)?)?,
        Sasl::Scram { hash, username, password, is_delegation_token } => {
            let hash = match hash {
                ScramHash::Sha256 => Hash::Sha256,
                ScramHash::Sha512 => Hash::Sha512,
            };
            Login::scram(hash, username, hidden(password, values)?, *is_delegation_token)?
        }
        Sasl::OauthBearer { token, extensions } => {
            Login::oauth_bearer(hidden(token, values)?, extensions.clone())?
        }
    })
}

fn tls_of(plan: &plan::Tls, values: SecretLookup<'_>) -> Result<TlsSessions, CredentialsError> {
    const TRUST: &str = "ssl.truststore";
    let trusted = match &plan.trust {
        Some(store) => {
            let opened = StoreBytes::new(TRUST, store, values)?;
            let trusted = stores::trusted(opened.kind, &opened.bytes, opened.password.as_ref());
            trusted.map_err(|source| opened.failed(source))?
        }
        None => platform_roots()?,
    };
    let version = |version: &plan::TlsVersion| match version {
        plan::TlsVersion::Tls12 => TlsVersion::Tls12,
        plan::TlsVersion::Tls13 => TlsVersion::Tls13,
    };
    Ok(TlsSessions::new(TlsConfig {
        trusted,
        identity: plan.identity.as_ref().map(|store| identity_of(store, values)).transpose()?,
        checks_hostname: plan.hostname_check,
        versions: plan.versions.iter().map(version).collect(),
        ciphers: plan.ciphers.clone(),
    })?)
}

/// Certificates of the authorities that HTTPS trusts, as DER: those of a PEM file, or the platform's.
///
/// # Errors
/// The file cannot be read or is of no use, or the platform has no roots.
pub fn trusted(pem: Option<&Path>) -> Result<Vec<Vec<u8>>, CredentialsError> {
    let found = match pem {
        None => platform_roots()?,
        Some(path) => {
            const SETTING: &str = "metrics.trust";
            let bytes = read(path).map_err(|source| CredentialsError::File {
                setting: SETTING,
                path: path.to_owned(),
                source,
            })?;
            stores::trusted(StoreKind::Pem, &bytes, None).map_err(|source| CredentialsError::Store {
                setting: SETTING,
                place: path.display().to_string(),
                source,
            })?
        }
    };
    Ok(found.into_iter().map(|certificate| certificate.as_ref().to_vec()).collect())
}

fn platform_roots() -> Result<Vec<CertificateDer<'static>>, CredentialsError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let why = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(CredentialsError::NoRoots(why));
    }
    Ok(found.certs)
}

fn identity_of(store: &Store, values: SecretLookup<'_>) -> Result<ClientIdentity, CredentialsError> {
    let opened = StoreBytes::new("ssl.keystore", store, values)?;
    let key = match &store.content {
        StoreContent::Pem { key, .. } => key.as_deref().map(|name| hidden(name, values)).transpose()?,
        _ => None,
    };
    let key_password = store.key_password.as_deref().map(|name| hidden(name, values)).transpose()?;
    let password = opened.password.as_ref();
    let identity =
        stores::identity(opened.kind, &opened.bytes, key.as_ref(), password, key_password.as_ref());
    identity.map_err(|source| opened.failed(source))
}

/// A store's bytes, as far as they can be had without looking into them.
struct StoreBytes {
    setting: &'static str,
    place: String,
    kind: StoreKind,
    bytes: Vec<u8>,
    password: Option<Hidden>,
}

impl StoreBytes {
    fn new(setting: &'static str, store: &Store, values: SecretLookup<'_>) -> Result<Self, CredentialsError> {
        let of_file = |path: &Path| {
            let failed = |source| CredentialsError::File { setting, path: path.to_owned(), source };
            read(path).map(|bytes| (path.display().to_string(), bytes)).map_err(failed)
        };
        let (kind, (place, bytes)) = match &store.content {
            StoreContent::PemFile(path) => (StoreKind::Pem, of_file(path)?),
            StoreContent::Pkcs12File(path) => (StoreKind::Pkcs12, of_file(path)?),
            StoreContent::Pem { certificates, .. } => {
                (StoreKind::Pem, ("its PEM text".to_owned(), certificates.clone().into_bytes()))
            }
        };
        let password = store.password.as_deref().map(|name| hidden(name, values)).transpose()?;
        Ok(Self { setting, place, kind, bytes, password })
    }

    fn failed(&self, source: TlsStoreError) -> CredentialsError {
        CredentialsError::Store { setting: self.setting, place: self.place.clone(), source }
    }
}

/// Reads just enough to see that it is too much.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(STORE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
