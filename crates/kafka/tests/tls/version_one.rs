//! Certificates of X.509 version 1, which `openssl x509 -req` makes where it is given no file of extensions: those of many
//! tutorials. Made by OpenSSL 3.0; of no use elsewhere.

use super::{BOTH, Impostor, agree, hidden, refused};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use kdyno_kafka::security::tls::TlsConfig;
use kdyno_kafka::security::tls::stores::{self, ClientIdentity, StoreKind};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, ServerConnection, SignatureScheme};
use std::sync::Arc;

/// An authority, `openssl x509 -req -signkey`.
const AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----
MIIBFjCBvQIUKGVQz2GykranN9WZuJuEd2UURU4wCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCY2EwIBcNMjYxMTI5MTI0MzE4WhgPMjEyNjExMDUxMjQzMThaMA0xCzAJ
BgNVBAMMAmNhMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExHtmr73Eb8BVNm+s
7ySS5hZrp7j8Z2vWkoDDOPxcAHg1PXKnXHch5IqZEHcDrwX2nFbs+lgbyz+oRUIv
cJzFLTAKBggqhkjOPQQDAgNIADBFAiAVoiV7ZDDQxN82uvjUE+jRPbuHQbnWuysk
qFO9q3xR8gIhAJJCdwwNsYFOSKp+Kr4s3l5SeIb3ZsiZiQ8SHNo9LNuW
-----END CERTIFICATE-----
";

/// A certificate of it for the common name `localhost`.
const CERTIFICATE: &str = "\
-----BEGIN CERTIFICATE-----
MIIBHTCBxAIUFBCjst3kScqPu72jPpoXAGVnvkAwCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCY2EwIBcNMjYxMTI5MTI0MzE4WhgPMjEyNjExMDUxMjQzMThaMBQxEjAQ
BgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABOjReH1z
MT9RbVJ63HggkdxH6Hv2ZEiYRZW1uaXu5YOfQSSDaAw0jmECxhu0fA0Y2b4bYCbU
kGb9rRDq687WJpYwCgYIKoZIzj0EAwIDSAAwRQIhALfgS6QwSzKwtRwdPRYDS7wz
o5Pnk/pgu9I2X6qpcUrQAiBTrehHx+vdOyu5W2MO/peAbTpHuTicH24hmuWo51WC
mw==
-----END CERTIFICATE-----
";

/// Its key.
const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvRAmrpKArPn4AX93
l5j3MG8GDVQgJ3NYqwbGQyo3rtShRANCAATo0Xh9czE/UW1Setx4IJHcR+h79mRI
mEWVtbml7uWDn0Ekg2gMNI5hAsYbtHwNGNm+G2Am1JBm/a0Q6uvO1iaW
-----END PRIVATE KEY-----
";

/// Both as `openssl pkcs12 -export -passout pass:changeit` writes them.
const PKCS12: &str = concat!(
    "MIIDrAIBAzCCA2IGCSqGSIb3DQEHAaCCA1MEggNPMIIDSzCCAgIGCSqGSIb3DQEHBqCCAfMwggHvAgEAMIIB6AYJKoZIhvcNAQcBMFcGCSqGSIb3DQEF",
    "DTBKMCkGCSqGSIb3DQEFDDAcBAjt4+FjZFFauQICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDRORe1/TWGMmaaGzArhCRiAggGA/m8hE95q",
    "E+uNUDAKKweWqDUMD9xiSOXY7XPL6C3h5jb0BvcyXLkN5ajrREYIB+p/v8Wmd56v59kMqMt7P8X7d/qJVEQ+qusPqX2qgAdRP6Lwv0DZcxaYZNk6GxMW",
    "1vzO5xwY2rl4hc7t29bbRvUGr14TAoFoBGJxSXzsmVj/gwOfCRY+iVVsy2IJZby1CyNPyg2Z8g7dscj3lo+kyRUxkbwKcerqvlgjzZYSIDXCuSnIKP6y",
    "/DJhyRS8SYmXywbkR0QnaL/MHbHhywbSgi+2696jZWU6WdXGDr8wm7/+3qWJGZY3VpyO1uN2PaKYJTDTRuJUYHDKCh31Y9yHXjUMRVfy8Q8WCG4XEIUd",
    "OQRXg2FJO0b3taaO+cs8zy0EktCurqe9p8xAcWPh7RUR9IzBzU57hbEoNwS5s6guBGkIIO/fXVdrPmER/4DUmMybIKkJhqwv6pXPzI9HWGQlI1hX1iTE",
    "I4ocDUA0Pe7LdK1PKMI94xLA/ZLvla4zIbsQ9lUiMIIBQQYJKoZIhvcNAQcBoIIBMgSCAS4wggEqMIIBJgYLKoZIhvcNAQwKAQKgge8wgewwVwYJKoZI",
    "hvcNAQUNMEowKQYJKoZIhvcNAQUMMBwECLxX9qqJ4VX2AgIIADAMBggqhkiG9w0CCQUAMB0GCWCGSAFlAwQBKgQQ1FZPPDnVLpBojeEfRD2prASBkJGM",
    "UnARs654Ih7nvmzETzxB6MIloGg+tV/Tf4m/wMUhWAug+Bbtrk+GWVCkQlREd9V9jo9S3esbE42HuICHWZXNS1SiB4+0CbYNSDJBFaCPXhz3nCT2LJJU",
    "7gcXcHA1jBbiGOZ0+yEOr7ZNTY4YgKNyAsiWjRaXtCBh0mvZwKVG/+Uxq89zRMzfGmOmFKfDKzElMCMGCSqGSIb3DQEJFTEWBBQKs3SXGtFRDGztQWHc",
    "MgpEsRxHwDBBMDEwDQYJYIZIAWUDBAIBBQAEIBuaOQoUpahkLpu+tepi74Qm3hSaPzIQ0LS74JKy5J2MBAj0BIRxb+I2KwICCAA=",
);

fn of_pem() -> ClientIdentity {
    let both = format!("{KEY}{CERTIFICATE}");
    stores::identity(StoreKind::Pem, both.as_bytes(), None, None, None).expect("an identity")
}

fn config(checks_hostname: bool, identity: Option<ClientIdentity>) -> TlsConfig {
    let trusted = stores::trusted(StoreKind::Pem, AUTHORITY.as_bytes(), None).expect("an authority");
    TlsConfig { trusted, identity, checks_hostname, versions: BOTH.to_vec(), ciphers: Vec::new() }
}

/// Asks for a client's certificate and accepts any, as a broker may whose library reads such.
#[derive(Debug)]
struct AcceptsAny;

impl ClientCertVerifier for AcceptsAny {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}

#[test]
fn a_clients_own_certificate_may_be_of_version_1() {
    let store = STANDARD.decode(PKCS12).expect("base64");
    let of_store = || {
        let store = stores::identity(StoreKind::Pkcs12, &store, None, Some(&hidden("changeit")), None);
        store.expect("an identity")
    };
    let authority = super::Authority::new("authority");
    let leaf = authority.leaf(&["localhost"], |_| {});
    for identity in [of_pem(), of_store()] {
        let shown = identity.chain.clone();
        let server = ServerConfig::builder_with_provider(Arc::new(super::provider(&[]).expect("suites")));
        let server = server.with_safe_default_protocol_versions().expect("versions");
        let server = server.with_client_cert_verifier(Arc::new(AcceptsAny));
        let server = server.with_single_cert(vec![leaf.certificate.clone()], leaf.key()).expect("a server");
        let mut server = ServerConnection::new(Arc::new(server)).expect("a server");
        let client = TlsConfig { identity: Some(identity), ..super::config(&authority) };
        agree(client, "localhost", &mut server).expect("a session");
        assert_eq!(server.peer_certificates(), Some(&shown[..]));
    }
    // A key that belongs to another certificate is refused in this form too.
    let wrong = format!("{}{CERTIFICATE}", leaf.key_pem);
    let reported = stores::identity(StoreKind::Pem, wrong.as_bytes(), None, None, None).expect_err("no pair");
    assert_eq!(reported.to_string(), "its private key is not the key of its certificate");
}

#[test]
fn a_broker_certificate_of_version_1_is_refused_with_a_hint() {
    for checks_hostname in [true, false] {
        let certified = of_pem().certified().expect("key and certificate");
        let shown = CertifiedKey::new(certified.cert, certified.key);
        let server = ServerConfig::builder_with_provider(Arc::new(super::provider(&[]).expect("suites")));
        let server = server.with_safe_default_protocol_versions().expect("versions").with_no_client_auth();
        let server = server.with_cert_resolver(Arc::new(Impostor(Arc::new(shown))));
        let server = ServerConnection::new(Arc::new(server)).expect("a server");
        let reported = refused(config(checks_hostname, None), "localhost", server);
        for part in ["an old version of X.509", "-extfile FILE", "subjectAltName", "ssl.keystore.location"] {
            assert!(reported.contains(part), "{part}: {reported}");
        }
        assert!(!reported.contains("Unsupported"), "{reported}");
    }
}
