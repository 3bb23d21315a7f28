//! Users: what is reported of an application that hangs, TLS, and unusable settings.

use crate::{GENEROUS, LoadReport, MS, answer, each_connection, run, serve, step, target};
use kdyno_model::plan::http_load::{HttpLoad, UsersPlan};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Two users who go through steps of these names and paths.
fn users(address: String, trust: Option<&Path>, steps: &[(&str, &str)]) -> UsersPlan {
    UsersPlan {
        target: target(address, trust),
        users: 2,
        per_s: None,
        think_ns: (20 * MS, 20 * MS),
        ramp_ns: 200 * MS,
        warmup_ns: 0,
        chain: "turn".to_owned(),
        steps: steps.iter().map(|(name, path)| step(name, path)).collect(),
        data: None,
        seed: 7,
    }
}

/// Lets users go on until this comes back.
fn reported(users: UsersPlan, is_enough: impl FnOnce()) -> LoadReport {
    let reported = run(&HttpLoad::Users(Box::new(users)), is_enough);
    assert_eq!(reported.ended, None, "users end well");
    reported
}

/// Left out they would make an application that hangs look fast in the figures of that step.
#[test]
fn requests_without_an_answer_at_the_end_are_reported_as_failed() {
    let (tell, stuck) = channel();
    let port = each_connection(move |mut stream| {
        serve(&mut stream, |path| {
            if path != "/hang" {
                return Some(answer("200 OK", "{}"));
            }
            // The client may be gone.
            let _ = tell.send(());
            None
        });
    });
    let plan = users(format!("http://127.0.0.1:{port}"), None, &[("find", "/find"), ("hang", "/hang")]);
    let reported = reported(plan, || {
        for _ in 0..2 {
            stuck.recv_timeout(GENEROUS).expect("each of two users asks");
        }
    });
    assert_eq!((reported.count("find", true), reported.count("hang", true)), (2, 0));
    assert_eq!(reported.count("hang", false), 2, "{:?}", reported.requests);
    assert_eq!((reported.count("turn", false), reported.count("turn", true)), (2, 0));
    assert!(reported.words.contains("turn: 2 turns were not done when the load ended"), "{}", reported.words);
}

/// An authority: what it signs with, and its certificate as PEM.
fn authority(name: &str) -> (Issuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("no hosts");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let pem = params.self_signed(&key).expect("a certificate").pem();
    (Issuer::new(params, key), pem)
}

/// What a server with TLS saw: each connection, then how it came about, then each request.
struct TlsServerLog {
    address: String,
    connected: Receiver<()>,
    agreed: Receiver<Option<HandshakeKind>>,
    asked: Receiver<()>,
}

impl TlsServerLog {
    fn start(issuer: &Issuer<'static, KeyPair>) -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a host");
        let certificate = params.signed_by(&key, issuer).expect("a certificate").der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a certificate");
        let config = Arc::new(config);
        let ((connects, connected), (agrees, agreed), (asks, asked)) = (channel(), channel(), channel());
        let port = each_connection(move |stream| {
            let _ = connects.send(());
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            let mut stream = StreamOwned::new(session, stream);
            while stream.conn.is_handshaking() {
                // A client that does not trust it goes away.
                if stream.conn.complete_io(&mut stream.sock).is_err() {
                    return;
                }
            }
            let _ = agrees.send(stream.conn.handshake_kind());
            serve(&mut stream, |_| asks.send(()).is_ok().then(|| answer("200 OK", "{}")));
        });
        Self { address: format!("https://127.0.0.1:{port}"), connected, agreed, asked }
    }
}

#[test]
fn over_tls_each_user_keeps_its_own_session_and_connection() {
    let dir = tempfile::tempdir().expect("a folder");
    let (issuer, pem) = authority("own");
    let trust = dir.path().join("own.pem");
    std::fs::write(&trust, pem).expect("written");
    let server = TlsServerLog::start(&issuer);
    let mut kinds = Vec::new();
    let plan = users(server.address.clone(), Some(&trust), &[("find", "/find"), ("look", "/look")]);
    let reported = reported(plan, || {
        for _ in 0..2 {
            kinds.push(server.agreed.recv_timeout(GENEROUS).expect("each of two users connects"));
        }
        for _ in 0..12 {
            server.asked.recv_timeout(GENEROUS).expect("they ask again and again");
        }
    });
    assert!(reported.count("find", true) > 2 && reported.count("look", true) > 2, "{:?}", reported.requests);
    assert!(reported.requests.iter().all(|(_, is_good)| *is_good), "{}", reported.words);
    assert!(!kinds.contains(&Some(HandshakeKind::Resumed)), "a new user is one that nobody knows: {kinds:?}");
    assert!(server.agreed.try_recv().is_err(), "no connection is made twice");
}

#[test]
fn a_server_of_another_authority_is_reported_in_one_sentence() {
    let dir = tempfile::tempdir().expect("a folder");
    let ((issuer, _), (_, other)) = (authority("own"), authority("other"));
    let trust = dir.path().join("other.pem");
    std::fs::write(&trust, other).expect("written");
    let server = TlsServerLog::start(&issuer);
    let plan = users(server.address.clone(), Some(&trust), &[("find", "/find")]);
    let reported = reported(plan, || {
        for _ in 0..6 {
            server.connected.recv_timeout(GENEROUS).expect("they try again and again");
        }
    });
    assert!(
        reported.count("find", false) >= 4 && reported.count("find", true) == 0,
        "{:?}",
        reported.requests
    );
    let words: Vec<&str> = reported.words.lines().collect();
    let sentence =
        format!("find: the server's certificate is of no authority in {} (`trust`)", trust.display());
    assert_eq!(words[0], sentence);
    assert!(words.len() == 2 && words[1].ends_with(" more failures"), "{words:?}");
}

#[test]
fn unusable_settings_are_reported_before_anything_is_sent() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    let why = |load: UsersPlan| {
        kdyno_http_load::check(&HttpLoad::Users(Box::new(load))).expect_err("of no use").to_string()
    };
    let with = |rows: &Path| {
        let mut load =
            users("http://127.0.0.1:1".to_owned(), None, &[("find", "/users/{{crad}}?x={{user}}")]);
        load.data = Some(rows.to_string_lossy().into_owned());
        load
    };
    let reported = why(with(&file("rows.csv", "card,item\n1,2\n")));
    let words = "it has no column `crad`, which the step `find` asks for (its columns are card, item)";
    assert!(reported.ends_with(words), "{reported}");
    let reported = why(with(&file("broken.csv", "crad,item\n1\n")));
    assert!(reported.contains("broken.csv") && reported.contains("1 fields"), "{reported}");
    let trust = file("broken.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    let reported = why(users("https://127.0.0.1:1".to_owned(), Some(&trust), &[("find", "/")]));
    assert!(reported.starts_with("certificates: ") && reported.contains("broken.pem"), "{reported}");
    let trust = file("empty.pem", "");
    let reported = why(users("https://127.0.0.1:1".to_owned(), Some(&trust), &[("find", "/")]));
    assert!(reported.ends_with("empty.pem has none of an authority"), "{reported}");
    let good = HttpLoad::Users(Box::new(with(&file("good.csv", "crad\n1\n"))));
    assert!(kdyno_http_load::check(&good).is_ok());
}
