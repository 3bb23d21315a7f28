//! Exchanges, against a broker's side that is written here.

use super::*;
use aws_lc_rs::{digest, hmac};
use base64::engine::general_purpose::STANDARD;

fn hidden(text: &str) -> Hidden {
    Hidden::new(text.as_bytes().to_vec())
}

fn sent(step: SaslStep) -> Vec<u8> {
    match step {
        SaslStep::Send(message) => message,
        SaslStep::Over => panic!("it is over"),
    }
}

#[test]
fn plain_sends_user_and_password_and_is_over() {
    let login = Arc::new(Login::plain("me", hidden("hunter2")).unwrap());
    let (mut exchange, message) = Exchange::begin(login).unwrap();
    assert_eq!(message, b"\0me\0hunter2");
    assert!(matches!(exchange.on_challenge(b"").unwrap(), SaslStep::Over));
}

#[test]
fn what_cannot_be_sent_is_reported_without_the_secret() {
    let long = "the OAUTHBEARER token has a character that none has at place 1: is it the token alone, and not \
                JSON around it?";
    let none = BTreeMap::new;
    let extensions = BTreeMap::from([("auth".to_owned(), String::new())]);
    for (made, reported) in [
        (Login::plain("m\0e", hidden("x")), "PLAIN cannot carry a user or password with a NUL character"),
        (Login::plain("", hidden("x")), "the user of the SASL login is empty"),
        (Login::scram(Hash::Sha256, "me", hidden(""), false), "the password of the SASL login is empty"),
        (Login::oauth_bearer(hidden(""), none()), "the OAUTHBEARER token is empty"),
        (Login::oauth_bearer(hidden("{\"access_token\":\"secret\"}"), none()), long),
        (
            Login::oauth_bearer(hidden("abc"), extensions),
            "\"auth\" cannot be a SASL extension: the name has letters only and is not \"auth\", the value printable \
             ASCII",
        ),
    ] {
        assert_eq!(made.unwrap_err().to_string(), reported);
    }
}

#[test]
fn a_token_is_sent_with_extensions_and_may_be_renewed() {
    let extensions = BTreeMap::from([("lkc".to_owned(), "abc-1".to_owned())]);
    let login = Arc::new(Login::oauth_bearer(hidden("a.b.c"), extensions).unwrap());
    let (mut exchange, message) = Exchange::begin(Arc::clone(&login)).unwrap();
    assert_eq!(message, b"n,,\x01auth=Bearer a.b.c\x01lkc=abc-1\x01\x01");
    assert!(matches!(exchange.on_challenge(b"").unwrap(), SaslStep::Over));
    login.renew(hidden("d.e.f")).unwrap();
    assert!(login.renew(hidden("d e f")).is_err());
    let (mut exchange, message) = Exchange::begin(login).unwrap();
    assert_eq!(message, b"n,,\x01auth=Bearer d.e.f\x01lkc=abc-1\x01\x01");
    assert_eq!(sent(exchange.on_challenge(br#"{"status":"invalid_token"}"#).unwrap()), [1]);
    let error = exchange.on_challenge(b"").unwrap_err().to_string();
    assert_eq!(error, "the broker refused the login by OAUTHBEARER: it does not accept the token");
}

/// A broker's answer to the first message, and to the final one.
fn broker(password: &str, first: &[u8], salt: &[u8]) -> (String, impl FnOnce(&[u8]) -> String + use<>) {
    let bare = str::from_utf8(first).unwrap().strip_prefix("n,,").unwrap().to_owned();
    let nonce = bare.split_once(",r=").unwrap().1.to_owned() + "broker";
    let server_first = format!("r={nonce},s={},i=4096", STANDARD.encode(salt));
    let salted = Hash::Sha512.salted_password(password.as_bytes(), salt, NonZeroU32::new(4096).unwrap());
    let mac =
        |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA512, key), text).as_ref().to_vec();
    let client_key = mac(salted.expose(), b"Client Key");
    let stored_key = digest::digest(&digest::SHA512, &client_key);
    let server_key = mac(salted.expose(), b"Server Key");
    let answer = {
        let server_first = server_first.clone();
        move |last: &[u8]| {
            let (without_proof, proof) = str::from_utf8(last).unwrap().split_once(",p=").unwrap();
            let auth_message = format!("{bare},{server_first},{without_proof}");
            let signature = mac(stored_key.as_ref(), auth_message.as_bytes());
            let proof = STANDARD.decode(proof).unwrap();
            let shown: Vec<u8> = proof.iter().zip(signature).map(|(proof, sign)| proof ^ sign).collect();
            match shown == client_key {
                true => format!("v={}", STANDARD.encode(mac(&server_key, auth_message.as_bytes()))),
                false => "e=invalid-proof".to_owned(),
            }
        }
    };
    (server_first, answer)
}

#[test]
fn scram_convinces_both_ends() {
    let login = Arc::new(Login::scram(Hash::Sha512, "me", hidden("hunter2"), false).unwrap());
    for salt in [b"salt", b"salt", b"tlas"] {
        let (mut exchange, first) = Exchange::begin(Arc::clone(&login)).unwrap();
        let (challenge, answer) = broker("hunter2", &first, salt);
        let last = sent(exchange.on_challenge(challenge.as_bytes()).unwrap());
        let step = exchange.on_challenge(answer(&last).as_bytes()).unwrap();
        assert!(matches!(step, SaslStep::Over));
    }
    let Credentials::Scram { keys, .. } = &login.0 else { panic!("another login") };
    assert_eq!(keys.lock().unwrap().len(), 2, "keys are made once per salt");
}

#[test]
fn the_broker_reports_a_wrong_password_and_we_a_wrong_broker() {
    let login = Arc::new(Login::scram(Hash::Sha512, "me", hidden("hunter3"), false).unwrap());
    let (mut exchange, first) = Exchange::begin(Arc::clone(&login)).unwrap();
    let (challenge, answer) = broker("hunter2", &first, b"salt");
    let last = sent(exchange.on_challenge(challenge.as_bytes()).unwrap());
    let error = exchange.on_challenge(answer(&last).as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "the broker refused the login by SCRAM-SHA-512: invalid-proof");

    let (mut exchange, first) = Exchange::begin(login).unwrap();
    let (challenge, _) = broker("hunter3", &first, b"salt");
    sent(exchange.on_challenge(challenge.as_bytes()).unwrap());
    let error = exchange.on_challenge(b"v=AAAA").unwrap_err().to_string();
    assert!(error.ends_with("the server there does not know the password"), "{error}");
}

#[test]
fn salts_without_end_take_no_memory_without_end() {
    let login = Login::scram(Hash::Sha256, "me", hidden("hunter2"), false).unwrap();
    let Credentials::Scram { keys, hash, password, .. } = &login.0 else { panic!("another login") };
    for salt in 0..KEYS_MAX + 3 {
        let first = format!("r=ab,s={},i=4096", STANDARD.encode([salt as u8]));
        salted(keys, *hash, password, &ServerFirst::read(first.as_bytes(), "a").unwrap());
    }
    assert_eq!(keys.lock().unwrap().len(), KEYS_MAX);
}

#[test]
fn keys_are_those_of_salt_and_iterations() {
    let login = Login::scram(Hash::Sha256, "me", hidden("hunter2"), false).unwrap();
    let Credentials::Scram { keys, hash, password, .. } = &login.0 else { panic!("another login") };
    for iterations in [4096, 4097, 4096] {
        let text = format!("r=ab,s=c2FsdA==,i={iterations}");
        let first = ServerFirst::read(text.as_bytes(), "a").unwrap();
        let given = salted(keys, *hash, password, &first);
        let right = hash.keys(b"hunter2", b"salt", NonZeroU32::new(iterations).unwrap());
        let proof = |keys: &ScramKeys| scram::client_final(*hash, keys, "bare", &first);
        assert_eq!(proof(&given), proof(&right), "{iterations}");
    }
    assert_eq!(keys.lock().unwrap().len(), 2);
}

/// What is cut off before it is looked for cannot be found.
#[test]
fn a_secret_at_the_end_of_a_long_answer_is_hidden() {
    let login = Arc::new(Login::scram(Hash::Sha512, "me", hidden("hunter2"), false).unwrap());
    let (mut exchange, first) = Exchange::begin(login).unwrap();
    let (challenge, _) = broker("hunter2", &first, b"salt");
    sent(exchange.on_challenge(challenge.as_bytes()).unwrap());
    let echo = format!("e={}hunter2", "x".repeat(296));
    let error = exchange.on_challenge(echo.as_bytes()).unwrap_err().to_string();
    assert!(!error.contains("hunt"), "{error}");
}

#[test]
fn neither_debug_nor_a_brokers_echo_shows_a_secret() {
    for login in [
        Login::plain("me", hidden("hunter2")).unwrap(),
        Login::scram(Hash::Sha256, "me", hidden("hunter2"), false).unwrap(),
        Login::oauth_bearer(hidden("hunter2"), BTreeMap::new()).unwrap(),
    ] {
        assert!(!format!("{login:?}").contains("hunter2"));
        let error = login.refused("password hunter2 is wrong").to_string();
        assert!(error.ends_with("password (hidden) is wrong"), "{error}");
        let (exchange, _) = Exchange::begin(Arc::new(login)).unwrap();
        assert!(!format!("{exchange:?}").contains("hunter2"));
    }
}
