//! Certificates and private keys, from the bytes of PEM texts and PKCS#12 stores.

use crate::security::Hidden;
use p12_keystore::{KeyStore, KeyStoreEntry, Pkcs12ImportPolicy};
use pkcs8::pkcs5::Error as EncryptionError;
use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use std::ops::Range;
use thiserror::Error;

/// Largest store that is read, bytes: a platform's roots have some 200 KiB.
pub const STORE_BYTES_MAX: usize = 4 << 20;

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_DASHES: &str = "-----";
/// Longest line of base64 in PEM (RFC 7468).
const PEM_LINE: usize = 64;
const ENCRYPTED_BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const ENCRYPTED_END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
/// The first bytes of Java's own format, and the first one of a DER sequence, which PKCS#12 is.
const JKS_MAGIC: [u8; 4] = [0xfe, 0xed, 0xfe, 0xed];
const DER_SEQUENCE: u8 = 0x30;

/// Longest header of a DER sequence of less than 64 KiB, bytes.
const SEQUENCE_HEADER_BYTES_MAX: usize = 4;

/// The form of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// PEM text: certificates, and a PKCS#8 key where there is one.
    Pem,
    /// PKCS#12, as keytool and OpenSSL make it.
    Pkcs12,
}

/// Why a store is of no use. No text of it is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsStoreError {
    /// It is of another form than its type says.
    #[error("it is {found}, and not {expected} as its type says")]
    Kind {
        /// As stated.
        expected: &'static str,
        /// The kind by the bytes.
        found: &'static str,
    },
    /// It is too large.
    #[error("it has {0} bytes, at most {STORE_BYTES_MAX} are read")]
    Large(usize),
    /// It cannot be read as what it is.
    #[error("{0}")]
    Unreadable(String),
    /// There is no certificate in it.
    #[error("it holds no {0}")]
    Lacks(&'static str),
    /// A password is needed, or another one.
    #[error("{0}")]
    Password(&'static str),
}

/// A certificate with those that vouch for it, and the key that belongs to it.
#[derive(Debug)]
pub struct ClientIdentity {
    /// Our own first.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key; its `Debug` does not show it.
    pub key: PrivateKeyDer<'static>,
}

impl ClientIdentity {
    /// The form in which a session shows it. As with Java any certificate will do, also one of X.509 version 1: what to
    /// accept is the broker's business.
    ///
    /// # Errors
    /// When the certificate or the key cannot be read, or they do not belong together.
    pub fn certified(&self) -> Result<CertifiedKey, TlsStoreError> {
        let unreadable = |what: &str| TlsStoreError::Unreadable(what.to_owned());
        let key = any_supported_type(&self.key).map_err(|_| {
            unreadable(
                "its private key is of no kind that is used here: RSA of 2048 to 8192 bits, ECDSA on P-256, P-384 or \
                 P-521, or Ed25519",
            )
        })?;
        let own = self.chain.first().ok_or(TlsStoreError::Lacks("certificate"))?;
        let certified =
            public_key(own).ok_or_else(|| unreadable("its certificate cannot be read as X.509"))?;
        let is_of_key = key.public_key().is_none_or(|of_key| {
            let header = of_key.as_ref().strip_suffix(&certified[..]);
            header.is_some_and(|header| header.len() <= SEQUENCE_HEADER_BYTES_MAX)
        });
        match is_of_key {
            true => Ok(CertifiedKey::new(self.chain.clone(), key)),
            false => Err(unreadable("its private key is not the key of its certificate")),
        }
    }
}

/// Whether a certificate can be that of an authority which is trusted.
fn is_readable(certificate: &CertificateDer<'static>) -> bool {
    public_key(certificate).is_some()
}

/// What a certificate says of its key: the content of its `SubjectPublicKeyInfo`. Asked of the reader of trusted
/// authorities, for the library's other reader refuses certificates of version 1.
fn public_key(certificate: &CertificateDer<'static>) -> Option<Vec<u8>> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).ok()?;
    Some(roots.roots.first()?.subject_public_key_info.as_ref().to_vec())
}

fn check(kind: StoreKind, bytes: &[u8]) -> Result<(), TlsStoreError> {
    if bytes.len() > STORE_BYTES_MAX {
        return Err(TlsStoreError::Large(bytes.len()));
    }
    let is_pem = bytes.windows(PEM_BEGIN.len()).any(|window| window == PEM_BEGIN.as_bytes());
    let found = match bytes {
        [] => "empty",
        _ if bytes.starts_with(&JKS_MAGIC) => "a JKS store",
        _ if is_pem => "PEM text",
        [DER_SEQUENCE, ..] => "a PKCS#12 store (or other DER)",
        _ => "of no known form",
    };
    let (expected, fits) = match kind {
        StoreKind::Pem => ("PEM text", is_pem),
        StoreKind::Pkcs12 => ("a PKCS#12 store", !is_pem && bytes.first() == Some(&DER_SEQUENCE)),
    };
    if fits { Ok(()) } else { Err(TlsStoreError::Kind { expected, found }) }
}

/// The certificates of a truststore.
///
/// # Errors
/// When there are none, or the store cannot be opened.
pub fn trusted(
    kind: StoreKind,
    bytes: &[u8],
    password: Option<&Hidden>,
) -> Result<Vec<CertificateDer<'static>>, TlsStoreError> {
    check(kind, bytes)?;
    let certificates = match kind {
        StoreKind::Pem => pem_certificates(bytes)?,
        StoreKind::Pkcs12 => {
            // One that is not encrypted needs no password.
            let none = Hidden::new(Vec::new());
            let store = open(bytes, password.unwrap_or(&none), Pkcs12ImportPolicy::Relaxed);
            let store = store.map_err(|error| match error {
                TlsStoreError::Password(_) if password.is_none() => NO_PASSWORD,
                error => error,
            })?;
            // From a key's chain Java trusts the first one too.
            let certificates = store.entries().filter_map(|(_, entry)| match entry {
                KeyStoreEntry::Certificate(certificate) => Some(certificate),
                KeyStoreEntry::PrivateKeyChain(chain) => chain.certs().first(),
                KeyStoreEntry::Secret(_) => None,
            });
            certificates.map(|certificate| certificate.as_der().to_vec().into()).collect()
        }
    };
    if certificates.is_empty() {
        return Err(TlsStoreError::Lacks("certificate"));
    }
    match certificates.iter().any(is_readable) {
        true => Ok(certificates),
        false => {
            let count = certificates.len();
            Err(TlsStoreError::Unreadable(format!("none of its certificates ({count}) can be read as X.509")))
        }
    }
}

/// The certificate chain and the key of a keystore. For PEM, `key` is the text that holds the key, where that is not
/// the store's own.
///
/// # Errors
/// When one of them lacks, the store or the key cannot be opened, or the key is not that of the certificate.
pub fn identity(
    kind: StoreKind,
    bytes: &[u8],
    key: Option<&Hidden>,
    password: Option<&Hidden>,
    key_password: Option<&Hidden>,
) -> Result<ClientIdentity, TlsStoreError> {
    check(kind, bytes)?;
    let identity = match kind {
        StoreKind::Pem => {
            let chain = pem_certificates(bytes)?;
            if chain.is_empty() {
                return Err(TlsStoreError::Lacks("certificate"));
            }
            let key = pem_key(key.map_or(bytes, Hidden::expose), key_password.or(password))?;
            ClientIdentity { chain, key }
        }
        StoreKind::Pkcs12 => {
            let password = password.or(key_password).ok_or(NO_PASSWORD)?;
            let store = open(bytes, password, Pkcs12ImportPolicy::Strict)?;
            let (_, chain) =
                store.private_key_chain().ok_or(TlsStoreError::Lacks("private key with its certificate"))?;
            let key = PrivatePkcs8KeyDer::from(chain.key().as_der().to_vec()).into();
            ClientIdentity {
                chain: chain.certs().iter().map(|one| one.as_der().to_vec().into()).collect(),
                key,
            }
        }
    };
    identity.certified()?;
    Ok(identity)
}

const NO_PASSWORD: TlsStoreError =
    TlsStoreError::Password("it is a PKCS#12 store, which a password opens, and none is given");

fn open(bytes: &[u8], password: &Hidden, policy: Pkcs12ImportPolicy) -> Result<KeyStore, TlsStoreError> {
    let password = str::from_utf8(password.expose());
    let password = password.map_err(|_| TlsStoreError::Password("its password is not UTF-8"))?;
    KeyStore::from_pkcs12(bytes, password, policy).map_err(|error| match error {
        p12_keystore::error::Error::MacError(_) => TlsStoreError::Password("its password is wrong"),
        // Its text has the form of the library's own values.
        p12_keystore::error::Error::X509Error(_) => {
            TlsStoreError::Unreadable("a certificate in it cannot be read as X.509".to_owned())
        }
        error => TlsStoreError::Unreadable(format!("it cannot be read as PKCS#12: {error}")),
    })
}

fn pem_certificates(bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsStoreError> {
    let lines = in_lines(bytes);
    let read: Result<_, _> = CertificateDer::pem_slice_iter(lines.expose()).collect();
    // What the reader says may repeat a line, and a key may be in the same text.
    read.map_err(|_| TlsStoreError::Unreadable("its certificates cannot be read as PEM".to_owned()))
}

/// PEM text as it is written mostly: each marker on a line of its own, and what lies between two of them in lines of
/// [`PEM_LINE`]. Java takes blanks for the ends of lines, as in a setting that is one line.
fn in_lines(text: &[u8]) -> Hidden {
    // With all its room from the start: bytes that are moved would stay behind.
    let mut lines = Vec::with_capacity(text.len() + text.len() / 4 + PEM_LINE);
    let (mut rest, mut is_inside) = (text, false);
    while let Some((marker, begins)) = next_marker(rest) {
        let before = &rest[..marker.start];
        // Lines such as `DEK-Info: …` are left as they are.
        if is_inside && !before.contains(&b':') {
            let base64 = before.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
            for (at, byte) in base64.enumerate() {
                if at > 0 && at % PEM_LINE == 0 {
                    lines.push(b'\n');
                }
                lines.push(byte);
            }
        } else {
            lines.extend_from_slice(before);
        }
        lines.push(b'\n');
        lines.extend_from_slice(&rest[marker.clone()]);
        lines.push(b'\n');
        (rest, is_inside) = (&rest[marker.end..], begins);
    }
    lines.extend_from_slice(rest);
    Hidden::new(lines)
}

/// Where the next marker of PEM lies, and whether it begins something.
fn next_marker(text: &[u8]) -> Option<(Range<usize>, bool)> {
    let [begin, end, dashes] = [PEM_BEGIN, PEM_END, PEM_DASHES].map(str::as_bytes);
    let start = (0..text.len()).find(|&at| text[at..].starts_with(begin) || text[at..].starts_with(end))?;
    let label = start + dashes.len();
    let length = text[label..].windows(dashes.len()).position(|window| window == dashes)?;
    Some((start..label + length + dashes.len(), text[start..].starts_with(begin)))
}

fn pem_key(bytes: &[u8], password: Option<&Hidden>) -> Result<PrivateKeyDer<'static>, TlsStoreError> {
    let lines = in_lines(bytes);
    let text = str::from_utf8(lines.expose())
        .map_err(|_| TlsStoreError::Unreadable("it is not UTF-8 text".to_owned()))?;
    if !text.contains(ENCRYPTED_BEGIN) {
        return PrivateKeyDer::from_pem_slice(lines.expose()).map_err(|error| match error {
            rustls::pki_types::pem::Error::NoItemsFound => TlsStoreError::Lacks("private key"),
            // What the reader says may repeat a line.
            _ => TlsStoreError::Unreadable("its private key cannot be read".to_owned()),
        });
    }
    let wrong = || TlsStoreError::Unreadable("its encrypted private key cannot be read".to_owned());
    let password =
        password.ok_or(TlsStoreError::Password("its private key is encrypted, and no password is given"))?;
    let from = text.find(ENCRYPTED_BEGIN).ok_or_else(wrong)?;
    let length = text[from..].find(ENCRYPTED_END).ok_or_else(wrong)? + ENCRYPTED_END.len();
    let (_, encrypted) = SecretDocument::from_pem(&text[from..from + length]).map_err(|_| wrong())?;
    let encrypted = EncryptedPrivateKeyInfoRef::try_from(encrypted.as_bytes()).map_err(|_| wrong())?;
    let key = encrypted.decrypt(password.expose()).map_err(|error| match error {
        pkcs8::Error::EncryptedPrivateKey(
            EncryptionError::UnsupportedAlgorithm { .. }
            | EncryptionError::AlgorithmParametersInvalid { .. }
            | EncryptionError::NoPbes1CryptSupport,
        ) => TlsStoreError::Unreadable(
            "its private key is encrypted in a way that is not read here; `openssl pkcs8 -topk8 -v2 aes-256-cbc` \
             writes one that is"
                .to_owned(),
        ),
        _ => TlsStoreError::Password("its private key cannot be opened with the password given"),
    })?;
    Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
}
