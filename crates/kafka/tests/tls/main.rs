//! The client's TLS against a server of the same library in memory: what is agreed on, and the sentence for each
//! mistake of set-up.

mod certificates;
mod openssl;
mod version_one;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use certificates::{Authority, Leaf};
use kdyno_kafka::security::Hidden;
use kdyno_kafka::security::tls::stores::{self, ClientIdentity, StoreKind};
use kdyno_kafka::security::tls::{TlsConfig, TlsSessions, TlsVersion, provider};
use kdyno_kafka::session::{SecureSession, SessionError, SessionFactory};
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{ProtocolVersion, RootCertStore, ServerConfig, ServerConnection};
use std::io::{IoSlice, Read, Write};
use std::sync::Arc;

const BOTH: [TlsVersion; 2] = [TlsVersion::Tls12, TlsVersion::Tls13];

fn config(authority: &Authority) -> TlsConfig {
    TlsConfig {
        trusted: vec![authority.certificate.clone()],
        identity: None,
        checks_hostname: true,
        versions: BOTH.to_vec(),
        ciphers: Vec::new(),
    }
}

fn identity(leaf: &Leaf) -> Option<ClientIdentity> {
    Some(ClientIdentity { chain: vec![leaf.certificate.clone()], key: leaf.key() })
}

/// A server that, where an authority is given, wants a client's certificate of it.
fn server(leaf: &Leaf, versions: &[TlsVersion], clients: Option<&Authority>) -> ServerConnection {
    let provider = Arc::new(provider(&[]).expect("all suites"));
    let versions: Vec<_> = versions.iter().map(|version| version.supported()).collect();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(&versions).expect("versions");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.certificate.clone()).expect("a root");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
        }
    };
    let config = builder.with_single_cert(vec![leaf.certificate.clone()], leaf.key()).expect("a certificate");
    ServerConnection::new(Arc::new(config)).expect("a server")
}

/// Passes bytes until both ends are silent; what the server read.
fn pass(
    client: &mut dyn SecureSession,
    server: &mut ServerConnection,
    plaintext: &mut Vec<u8>,
) -> Result<Vec<u8>, SessionError> {
    let mut read = Vec::new();
    loop {
        let mut bytes = Vec::new();
        client.write_to(&mut bytes).expect("a vector takes all");
        let mut to_client = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            server.read_tls(&mut rest).expect("room");
            // An error has become an alert, which is for the client.
            if server.process_new_packets().is_err() {
                rest = &[];
            }
            let _ = server.reader().read_to_end(&mut read);
        }
        while server.wants_write() {
            server.write_tls(&mut to_client).expect("room");
        }
        if bytes.is_empty() && to_client.is_empty() {
            return Ok(read);
        }
        // Cut anywhere.
        for piece in to_client.chunks(97) {
            client.receive(piece, plaintext)?;
        }
    }
}

fn agree(
    config: TlsConfig,
    host: &str,
    server: &mut ServerConnection,
) -> Result<Box<dyn SecureSession>, SessionError> {
    let mut client = TlsSessions::new(config).expect("sessions").open(host)?;
    assert!(client.is_handshaking() && client.waiting() > 0, "the client speaks first");
    pass(&mut *client, server, &mut Vec::new())?;
    assert!(!client.is_handshaking());
    Ok(client)
}

/// The one sentence of a refusal.
fn refused(config: TlsConfig, host: &str, mut server: ServerConnection) -> String {
    match agree(config, host, &mut server) {
        Err(SessionError::Refused(why)) => why,
        other => panic!("no refusal: {other:?}"),
    }
}

#[test]
fn what_is_sent_arrives_in_both_versions() {
    let authority = Authority::new("authority");
    let leaf = authority.leaf(&["localhost", "127.0.0.1"], |_| {});
    for (version, agreed) in
        [(TlsVersion::Tls12, ProtocolVersion::TLSv1_2), (TlsVersion::Tls13, ProtocolVersion::TLSv1_3)]
    {
        for host in ["localhost", "127.0.0.1"] {
            let mut server = server(&leaf, &[version], None);
            let mut client = agree(config(&authority), host, &mut server).unwrap();
            assert_eq!(server.protocol_version(), Some(agreed));
            let sent = vec![7; 100_000];
            client.send(&[IoSlice::new(&sent[..10]), IoSlice::new(&sent[10..])]);
            server.writer().write_all(&sent[..40_000]).unwrap();
            let mut received = Vec::new();
            assert_eq!(pass(&mut *client, &mut server, &mut received).unwrap(), sent);
            assert_eq!(received, sent[..40_000]);
            assert_eq!(client.waiting(), 0);
        }
    }
}

#[test]
fn after_the_end_of_a_session_nothing_is_read_and_nothing_hangs() {
    let authority = Authority::new("authority");
    let leaf = authority.leaf(&["localhost"], |_| {});
    for version in BOTH {
        let mut server = server(&leaf, &[version], None);
        let mut client = agree(config(&authority), "localhost", &mut server).unwrap();
        server.writer().write_all(b"last words").unwrap();
        server.send_close_notify();
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).expect("room");
        }
        let mut received = Vec::new();
        client.receive(&bytes, &mut received).unwrap();
        client.receive(&[23, 3, 3, 0, 1, 0], &mut received).unwrap();
        assert_eq!(received, b"last words");
    }
}

#[test]
fn a_client_shows_its_certificate_where_it_is_asked_for() {
    let authority = Authority::new("authority");
    let leaf = authority.leaf(&["localhost"], |_| {});
    let own = authority.leaf(&[], |_| {});
    for version in BOTH {
        let mut asking = server(&leaf, &[version], Some(&authority));
        agree(TlsConfig { identity: identity(&own), ..config(&authority) }, "localhost", &mut asking)
            .unwrap();
        assert_eq!(asking.peer_certificates().unwrap(), std::slice::from_ref(&own.certificate));

        let none = refused(config(&authority), "localhost", server(&leaf, &[version], Some(&authority)));
        assert!(none.starts_with("the broker asks for a client certificate, and we have none"), "{none}");
        let stranger = Authority::new("stranger").leaf(&[], |_| {});
        let other = TlsConfig { identity: identity(&stranger), ..config(&authority) };
        let other = refused(other, "localhost", server(&leaf, &[version], Some(&authority)));
        assert!(other.starts_with("the broker does not accept our certificate (TLS alert "), "{other}");
    }
}

#[test]
fn each_wrong_certificate_has_a_sentence_of_its_own() {
    let authority = Authority::new("authority");
    let reported = |leaf: Leaf| refused(config(&authority), "localhost", server(&leaf, &BOTH, None));
    let expired = reported(authority.leaf(&["localhost"], certificates::expired));
    assert!(expired.starts_with("the broker's certificate, or one it rests on, expired 2"), "{expired}");
    let untrusted = reported(Authority::new("stranger").leaf(&["localhost"], |_| {}));
    assert!(untrusted.starts_with("no trusted authority signed the broker's certificate"), "{untrusted}");
    let other = reported(authority.leaf(&["broker-1", "10.0.0.1"], |_| {}));
    assert!(
        other.starts_with(
            "the broker's certificate is for broker-1, 10.0.0.1, and not for the host \"localhost\" that was dialled"
        ),
        "{other}"
    );
    let unnamed = reported(authority.leaf(&[], |_| {}));
    assert!(
        unnamed.starts_with("the broker's certificate has no subject alternative name (SAN)"),
        "{unnamed}"
    );
    let of_authority = reported(authority.leaf(&["localhost"], certificates::authority));
    assert!(of_authority.contains("one of an authority (basic constraints CA:TRUE)"), "{of_authority}");
    let of_client = reported(authority.leaf(&["localhost"], certificates::client_only));
    assert!(of_client.contains("not one for servers"), "{of_client}");
}

#[test]
fn without_the_check_any_name_will_do_and_nothing_else() {
    let authority = Authority::new("authority");
    let unchecked = || TlsConfig { checks_hostname: false, ..config(&authority) };
    for host in ["localhost", "10.1.2.3", "not a host name"] {
        for version in BOTH {
            let leaf = authority.leaf(&["broker-1"], |_| {});
            agree(unchecked(), host, &mut server(&leaf, &[version], None)).unwrap();
        }
    }
    let checked = TlsSessions::new(config(&authority)).unwrap().open("not a host name").unwrap_err();
    let checked = checked.to_string();
    assert!(checked.contains("the host \"not a host name\" can be named in no certificate"), "{checked}");
    let leaf = authority.leaf(&["broker-1"], certificates::expired);
    assert!(refused(unchecked(), "localhost", server(&leaf, &BOTH, None)).contains("expired"));
    let leaf = Authority::new("stranger").leaf(&["broker-1"], |_| {});
    assert!(refused(unchecked(), "localhost", server(&leaf, &BOTH, None)).contains("no trusted authority"));
}

/// Shows a certificate whose key it does not have.
#[derive(Debug)]
struct Impostor(Arc<CertifiedKey>);

impl ResolvesServerCert for Impostor {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

#[test]
fn a_client_certificate_needs_its_key_also_without_name_checks() {
    let authority = Authority::new("authority");
    let (shown, own) = (authority.leaf(&["localhost"], |_| {}), authority.leaf(&["localhost"], |_| {}));
    for version in BOTH {
        for checks_hostname in [true, false] {
            let key = any_supported_type(&own.key()).expect("a key");
            let shown = CertifiedKey::new(vec![shown.certificate.clone()], key);
            let builder = ServerConfig::builder_with_provider(Arc::new(provider(&[]).expect("all suites")));
            let builder = builder.with_protocol_versions(&[version.supported()]).expect("versions");
            let impostor = Arc::new(Impostor(Arc::new(shown)));
            let impostor = builder.with_no_client_auth().with_cert_resolver(impostor);
            let mut impostor = ServerConnection::new(Arc::new(impostor)).expect("a server");
            let client = TlsConfig { checks_hostname, ..config(&authority) };
            let error = agree(client, "localhost", &mut impostor).expect_err("an impostor");
            assert!(matches!(error, SessionError::Refused(_)), "{version:?} {checks_hostname}: {error}");
        }
    }
}

#[test]
fn ends_without_anything_in_common_say_so() {
    let authority = Authority::new("authority");
    let leaf = authority.leaf(&["localhost"], |_| {});
    let old = TlsConfig { versions: vec![TlsVersion::Tls12], ..config(&authority) };
    let reported = refused(old, "localhost", server(&leaf, &[TlsVersion::Tls13], None));
    assert!(
        reported.contains("none of the versions of TLS that we may speak (ssl.enabled.protocols)"),
        "{reported}"
    );

    let suite = "TLS_AES_128_GCM_SHA256".to_owned();
    let chosen = TlsConfig { ciphers: vec![suite], versions: vec![TlsVersion::Tls13], ..config(&authority) };
    let mut agreed = server(&leaf, &BOTH, None);
    agree(chosen, "localhost", &mut agreed).unwrap();
    let agreed = format!("{:?}", agreed.negotiated_cipher_suite().unwrap().suite());
    assert_eq!(agreed, "TLS13_AES_128_GCM_SHA256");

    let unknown = TlsConfig { ciphers: vec!["TLS_RSA_WITH_RC4_128_MD5".to_owned()], ..config(&authority) };
    let reported = TlsSessions::new(unknown).unwrap_err().to_string();
    assert!(
        reported.starts_with("ssl.cipher.suites: \"TLS_RSA_WITH_RC4_128_MD5\" is not supported, only TLS_"),
        "{reported}"
    );
    let suite = "TLS_AES_128_GCM_SHA256".to_owned();
    let apart = TlsConfig { ciphers: vec![suite], versions: vec![TlsVersion::Tls12], ..config(&authority) };
    let reported = TlsSessions::new(apart).unwrap_err().to_string();
    assert!(
        reported.contains("ssl.cipher.suites") && reported.contains("ssl.enabled.protocols"),
        "{reported}"
    );
}

#[test]
fn what_is_no_tls_is_recognised_by_its_first_byte() {
    let authority = Authority::new("authority");
    let mut client = TlsSessions::new(config(&authority)).unwrap().open("localhost").unwrap();
    let reported = client.receive(&[0, 0, 0, 10, 0, 0], &mut Vec::new()).unwrap_err().to_string();
    assert!(
        reported.contains("does not speak TLS: its listener is PLAINTEXT or SASL_PLAINTEXT"),
        "{reported}"
    );
}

#[test]
fn stores_of_pem_and_pkcs12_give_the_same() {
    let authority = Authority::new("authority");
    let own = authority.leaf(&["me"], |_| {});
    let trusted = stores::trusted(StoreKind::Pem, authority.pem.as_bytes(), None).unwrap();
    assert_eq!(trusted, std::slice::from_ref(&authority.certificate));
    let both = format!("{}{}", own.key_pem, own.certificate_pem);
    let apart = Hidden::new(own.key_pem.clone().into_bytes());
    for read in [
        stores::identity(StoreKind::Pem, both.as_bytes(), None, None, None),
        stores::identity(StoreKind::Pem, own.certificate_pem.as_bytes(), Some(&apart), None, None),
        stores::identity(StoreKind::Pkcs12, &pkcs12(&authority, &own), None, Some(&hidden("changeit")), None),
    ] {
        let read = read.unwrap();
        assert_eq!(read.chain[0], own.certificate);
        assert_eq!(read.key, own.key());
    }
    let trusted =
        stores::trusted(StoreKind::Pkcs12, &truststore(&authority), Some(&hidden("changeit"))).unwrap();
    assert_eq!(trusted, std::slice::from_ref(&authority.certificate));
}

/// As in a properties file, where a setting is one line.
#[test]
fn pem_may_stand_on_one_line() {
    let authority = Authority::new("authority");
    let own = authority.leaf(&["me"], |_| {});
    let on_one_line = |pem: &str| pem.lines().collect::<Vec<_>>().join(" ");
    let trusted = on_one_line(&format!("{}{}", authority.pem, own.certificate_pem));
    let trusted = stores::trusted(StoreKind::Pem, trusted.as_bytes(), None).unwrap();
    assert_eq!(trusted, [authority.certificate.clone(), own.certificate.clone()]);
    let (chain, key) = (on_one_line(&own.certificate_pem), hidden(&on_one_line(&own.key_pem)));
    let read = stores::identity(StoreKind::Pem, chain.as_bytes(), Some(&key), None, None).unwrap();
    assert_eq!((&read.chain[..], &read.key), (&[own.certificate.clone()][..], &own.key()));
    let key = hidden(&on_one_line(openssl::ENCRYPTED_KEY));
    let password = hidden(openssl::PASSWORD);
    let chain = openssl::CERTIFICATE.as_bytes();
    stores::identity(StoreKind::Pem, chain, Some(&key), None, Some(&password)).unwrap();
}

#[test]
fn no_line_of_a_text_that_cannot_be_read_is_repeated() {
    let authority = Authority::new("authority");
    let unended = "-----BEGIN PRIVATE KEY--- hunter2";
    let no_base64 = "-----BEGIN CERTIFICATE-----\nhunter2!\n-----END CERTIFICATE-----";
    for wrong in [unended, no_base64] {
        let text = format!("{}{wrong}\n", authority.pem);
        let reported = stores::trusted(StoreKind::Pem, text.as_bytes(), None).unwrap_err().to_string();
        assert_eq!(reported, "its certificates cannot be read as PEM");
    }
    let no_certificate = "-----BEGIN CERTIFICATE-----\naHVudGVyMg==\n-----END CERTIFICATE-----";
    let reported = stores::trusted(StoreKind::Pem, no_certificate.as_bytes(), None).unwrap_err().to_string();
    assert_eq!(reported, "none of its certificates (1) can be read as X.509");
    let own = authority.leaf(&["me"], |_| {});
    let identity = |key: &str, certificate: &str| {
        let both = format!("{key}{certificate}");
        stores::identity(StoreKind::Pem, both.as_bytes(), None, None, None).unwrap_err().to_string()
    };
    assert_eq!(identity(&own.key_pem, no_certificate), "its certificate cannot be read as X.509");
    let other = authority.leaf(&["me"], |_| {});
    assert_eq!(
        identity(&other.key_pem, &own.certificate_pem),
        "its private key is not the key of its certificate"
    );
    let no_key = "-----BEGIN PRIVATE KEY-----\naHVudGVyMg==\n-----END PRIVATE KEY-----\n";
    assert!(identity(no_key, &own.certificate_pem).starts_with("its private key is of no kind that is used"));
}

#[test]
fn a_truststore_is_read_as_java_reads_it() {
    let authority = Authority::new("authority");
    let own = authority.leaf(&["me"], |_| {});
    let of_key = stores::trusted(StoreKind::Pkcs12, &pkcs12(&authority, &own), Some(&hidden("changeit")));
    assert!(of_key.unwrap().contains(&own.certificate), "that of a key too");
    let certificate = p12_keystore::Certificate::from_der(&authority.certificate).expect("a certificate");
    let mut open = p12_keystore::KeyStore::new();
    open.add_entry("authority", p12_keystore::KeyStoreEntry::Certificate(certificate));
    let open = open.writer("").write().expect("a store");
    let trusted = stores::trusted(StoreKind::Pkcs12, &open, None).unwrap();
    assert_eq!(trusted, std::slice::from_ref(&authority.certificate));
    let reported = stores::trusted(StoreKind::Pkcs12, &truststore(&authority), None).unwrap_err().to_string();
    assert!(reported.contains("a password opens, and none is given"), "{reported}");
}

/// By PBES1 (PKCS #5), as old versions of OpenSSL and Java wrote it.
#[test]
fn an_outdated_key_encryption_is_not_called_a_wrong_password() {
    let own = Authority::new("authority").leaf(&["me"], |_| {});
    let mut der = vec![0x30, 39, 0x30, 27, 0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 3];
    der.extend([0x30, 14, 0x04, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x02, 2, 8, 0]);
    der.extend([0x04, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    let (begin, end) = ("-----BEGIN ENCRYPTED PRIVATE KEY-----", "-----END ENCRYPTED PRIVATE KEY-----");
    let both = format!("{begin}\n{}\n{end}\n{}", STANDARD.encode(der), own.certificate_pem);
    let reported = stores::identity(StoreKind::Pem, both.as_bytes(), None, None, Some(&hidden("hunter2")));
    let reported = reported.unwrap_err().to_string();
    assert!(
        reported.starts_with("its private key is encrypted in a way that is not read here"),
        "{reported}"
    );
}

#[test]
fn keys_that_openssl_encrypts_are_read_with_their_password() {
    let both = format!("{}{}", openssl::ENCRYPTED_KEY, openssl::CERTIFICATE);
    let store = STANDARD.decode(openssl::PKCS12).unwrap();
    let of_pem = |password: Option<&str>| {
        let password = password.map(hidden);
        stores::identity(StoreKind::Pem, both.as_bytes(), None, None, password.as_ref())
    };
    let password = hidden(openssl::PASSWORD);
    let of_store = stores::identity(StoreKind::Pkcs12, &store, None, Some(&password), None).unwrap();
    let of_pem_file = of_pem(Some(openssl::PASSWORD)).unwrap();
    assert_eq!((&of_pem_file.chain, &of_pem_file.key), (&of_store.chain, &of_store.key));
    // Key and certificate belong together.
    let trusted = of_store.chain.clone();
    let identity = Some(of_store);
    let both =
        TlsConfig { trusted, identity, checks_hostname: true, versions: BOTH.to_vec(), ciphers: Vec::new() };
    TlsSessions::new(both).unwrap();
    let reported = of_pem(Some("hunter2")).unwrap_err().to_string();
    assert_eq!(reported, "its private key cannot be opened with the password given");
    assert_eq!(
        of_pem(None).unwrap_err().to_string(),
        "its private key is encrypted, and no password is given"
    );
}

fn hidden(text: &str) -> Hidden {
    Hidden::new(text.as_bytes().to_vec())
}

fn truststore(authority: &Authority) -> Vec<u8> {
    let mut store = p12_keystore::KeyStore::new();
    let certificate = p12_keystore::Certificate::from_der(&authority.certificate).expect("a certificate");
    store.add_entry("authority", p12_keystore::KeyStoreEntry::Certificate(certificate));
    store.writer("changeit").write().expect("a store")
}

fn pkcs12(authority: &Authority, leaf: &Leaf) -> Vec<u8> {
    let certificate = |der: &[u8]| p12_keystore::Certificate::from_der(der).expect("a certificate");
    let key = p12_keystore::PrivateKey::from_der(leaf.key().secret_der()).expect("a key");
    let chain = [certificate(&leaf.certificate), certificate(&authority.certificate)];
    let chain = p12_keystore::PrivateKeyChain::new("id", key, chain);
    let mut store = p12_keystore::KeyStore::new();
    store.add_entry("me", p12_keystore::KeyStoreEntry::PrivateKeyChain(chain));
    store.writer("changeit").write().expect("a store")
}

#[test]
fn a_store_that_is_of_no_use_says_why_without_its_password() {
    let authority = Authority::new("authority");
    let own = authority.leaf(&["me"], |_| {});
    let store = pkcs12(&authority, &own);
    let of = |kind, bytes: &[u8], password: Option<&str>| {
        let password = password.map(hidden);
        stores::identity(kind, bytes, None, password.as_ref(), None).unwrap_err().to_string()
    };
    assert_eq!(of(StoreKind::Pkcs12, &store, Some("hunter2")), "its password is wrong");
    assert!(of(StoreKind::Pkcs12, &store, None).contains("a password opens, and none is given"));
    assert_eq!(
        of(StoreKind::Pem, &store, None),
        "it is a PKCS#12 store (or other DER), and not PEM text as its type says"
    );
    let pem = own.certificate_pem.as_bytes();
    assert_eq!(
        of(StoreKind::Pkcs12, pem, Some("x")),
        "it is PEM text, and not a PKCS#12 store as its type says"
    );
    assert_eq!(of(StoreKind::Pem, pem, None), "it holds no private key");
    assert_eq!(of(StoreKind::Pem, own.key_pem.as_bytes(), None), "it holds no certificate");
    let jks = [0xfe, 0xed, 0xfe, 0xed, 0, 0];
    assert_eq!(
        of(StoreKind::Pkcs12, &jks, Some("x")),
        "it is a JKS store, and not a PKCS#12 store as its type says"
    );
    assert!(
        of(StoreKind::Pkcs12, &[0x30, 0x80, 1, 2, 3], Some("x")).starts_with("it cannot be read as PKCS#12")
    );
    let mut large = own.certificate_pem.clone().into_bytes();
    large.resize(stores::STORE_BYTES_MAX + 1, b'\n');
    assert!(of(StoreKind::Pem, &large, None).starts_with("it has 4194305 bytes"));
}
