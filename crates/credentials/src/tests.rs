//! From plans to connections' security, with certificates that are made here.

use super::*;
use kdyno_model::plan::Protocol;
use std::collections::BTreeMap;

fn made() -> (String, String) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn store(content: StoreContent) -> Store {
    Store { content, password: None, key_password: None }
}

fn tls(trust: Option<Store>, identity: Option<Store>) -> plan::Security {
    let versions = vec![plan::TlsVersion::Tls12, plan::TlsVersion::Tls13];
    let tls = plan::Tls { trust, identity, hostname_check: true, versions, ciphers: Vec::new() };
    plan::Security { protocol: Protocol::Ssl, tls: Some(tls), sasl: None }
}

fn reported(plan: &plan::Security, secrets: &BTreeMap<&str, Secret>) -> String {
    let error = security(plan, &|name| secrets.get(name)).expect_err("an error").to_string();
    assert!(!error.contains("hunter2"), "{error}");
    error
}

#[test]
fn certificates_come_from_files_or_plan_and_keys_from_secrets() {
    let (certificate, key) = made();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.pem");
    std::fs::write(&path, format!("{key}{certificate}")).unwrap();
    let secrets = BTreeMap::from([("key", Secret::new(key.into_bytes()))]);
    let text = StoreContent::Pem { certificates: certificate, key: Some("key".to_owned()) };
    for content in [StoreContent::PemFile(path), text] {
        let plan = tls(Some(store(content.clone())), Some(store(content)));
        let made = security(&plan, &|name| secrets.get(name)).unwrap();
        assert!(made.sessions.is_some() && made.login.is_none());
    }
}

#[test]
fn an_error_names_setting_and_file() {
    let none = tls(Some(store(StoreContent::PemFile("/none/ca.pem".into()))), None);
    assert!(reported(&none, &BTreeMap::new()).starts_with("ssl.truststore: /none/ca.pem cannot be read: "));
    let text = StoreContent::Pem { certificates: "hunter2".to_owned(), key: None };
    assert_eq!(
        reported(&tls(Some(store(text)), None), &BTreeMap::new()),
        "ssl.truststore: its PEM text: it is of no known form, and not PEM text as its type says"
    );
    let certificates = StoreContent::Pem { certificates: made().0, key: Some("key".to_owned()) };
    let mine = tls(Some(store(certificates.clone())), Some(store(certificates)));
    assert_eq!(reported(&mine, &BTreeMap::new()), "secret `key` has no value");
    let other_key = BTreeMap::from([("key", Secret::new(made().1.into_bytes()))]);
    assert_eq!(
        reported(&mine, &other_key),
        "ssl.keystore: its PEM text: its private key is not the key of its certificate"
    );
}

#[test]
fn logins_are_made_of_their_secrets() {
    let secrets = BTreeMap::from([("pw", Secret::new(b"hunter2 ".to_vec()))]);
    let of = |sasl| plan::Security { protocol: Protocol::SaslPlaintext, tls: None, sasl: Some(sasl) };
    let (username, password) = ("me".to_owned(), "pw".to_owned());
    let plain = of(Sasl::Plain { username: username.clone(), password: password.clone() });
    for (hash, name) in [(ScramHash::Sha256, "SCRAM-SHA-256"), (ScramHash::Sha512, "SCRAM-SHA-512")] {
        let (username, password) = (username.clone(), password.clone());
        let scram = of(Sasl::Scram { hash, username, password, is_delegation_token: false });
        let made = security(&scram, &|name| secrets.get(name)).unwrap();
        assert_eq!(made.login.unwrap().mechanism().name(), name);
    }
    assert!(security(&plain, &|name| secrets.get(name)).unwrap().sessions.is_none());
    assert_eq!(reported(&plain, &BTreeMap::new()), "secret `pw` has no value");
    let bearer = of(Sasl::OauthBearer { token: "pw".to_owned(), extensions: BTreeMap::new() });
    assert!(reported(&bearer, &secrets).contains("at place 8"), "a space is in no token");
}
