//! The examples of the RFCs, and readers that are fed with anything.

use super::*;
use proptest::prelude::*;

struct Example {
    hash: Hash,
    nonce: &'static str,
    server_first: &'static str,
    client_final: &'static str,
    server_final: &'static str,
}

/// The example of RFC 7677, and the same exchange with SHA-512, which has no example of its own: computed with an
/// implementation in another language.
const EXAMPLES: [Example; 2] = [
    Example {
        hash: Hash::Sha256,
        nonce: "rOprNGfwEbeRWgbNEkqO",
        server_first: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        client_final: "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                       p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        server_final: "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    },
    Example {
        hash: Hash::Sha512,
        nonce: "rOprNGfwEbeRWgbNEkqO",
        server_first: "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        client_final: "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                       p=gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ==",
        server_final: "v=ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw==",
    },
];

#[test]
fn the_examples_of_the_rfc_are_met() {
    for example in EXAMPLES {
        let bare = client_first_bare("user", example.nonce, false);
        assert_eq!(client_first(&bare), format!("n,,n=user,r={}", example.nonce).into_bytes());
        let server = ServerFirst::read(example.server_first.as_bytes(), example.nonce).unwrap();
        let keys = example.hash.keys(b"pencil", &server.salt, server.iterations);
        let (message, expected) = client_final(example.hash, &keys, &bare, &server);
        assert_eq!(String::from_utf8(message).unwrap(), example.client_final);
        check_server_final(example.server_final.as_bytes(), &expected).unwrap();
        let other = example.hash.keys(b"pencils", &server.salt, server.iterations);
        let (_, other) = client_final(example.hash, &other, &bare, &server);
        assert_eq!(check_server_final(example.server_final.as_bytes(), &other), Err(ScramError::Signature));
    }
}

#[test]
fn names_are_escaped_and_equals_signs_first() {
    assert_eq!(client_first_bare("a=b,c=2C", "n", false), "n=a=3Db=2Cc=3D2C,r=n");
    assert_eq!(client_first_bare("id", "n", true), "n=id,r=n,tokenauth=true");
}

#[test]
fn a_first_message_of_the_broker_is_read_strictly() {
    let read = |text: &str| ServerFirst::read(text.as_bytes(), "abc").map(|first| first.iterations.get());
    assert_eq!(read("r=abcd,s=AAAA,i=4096"), Ok(4096));
    assert_eq!(read("r=abcd,s=AAAA,i=131072,x=what comes later may be passed over"), Ok(131_072));
    assert_eq!(read("r=abcd,s=AAAA,i=4095"), Err(ScramError::Iterations(4095)));
    assert_eq!(read("r=abcd,s=AAAA,i=131073"), Err(ScramError::Iterations(131_073)));
    assert_eq!(read("r=abcd,s=AAAA,i=4294971392"), Err(ScramError::Iterations(4_294_971_392)));
    assert_eq!(read("r=abc,s=AAAA,i=4096"), Err(ScramError::Nonce), "nothing of the broker's own");
    assert_eq!(read("r=abd0,s=AAAA,i=4096"), Err(ScramError::Nonce));
    let long = format!("r=abcd,s={},i=4096", "A".repeat(2_000));
    for (text, what) in [
        ("", "no nonce (r=) where it belongs"),
        ("m=must,r=abcd,s=AAAA,i=4096", "no nonce (r=) where it belongs"),
        ("r=abcd,i=4096,s=AAAA", "no salt (s=) where it belongs"),
        ("r=abcd,s=AAAA", "no iterations (i=) where they belong"),
        ("r=abcd,s=A,i=4096", "a salt that is not base64"),
        ("r=abcd,s=,i=4096", "an empty salt"),
        ("r=abcd,s=AAAA,i=+4096", "a number of iterations that is none"),
        ("r=abcd,s=AAAA,i=99999999999999999999", "a number of iterations that is none"),
        (&long, "a salt that is too long"),
    ] {
        assert_eq!(read(text), Err(ScramError::Message { message: "first", what }), "{text}");
    }
}

#[test]
fn a_final_message_of_the_broker_must_sign() {
    let check = |text: &str| check_server_final(text.as_bytes(), b"abc");
    assert_eq!(check("v=YWJj"), Ok(()));
    assert_eq!(check("v=YWJj,x=later"), Ok(()));
    assert_eq!(check("v=YWJk"), Err(ScramError::Signature));
    assert_eq!(check("v="), Err(ScramError::Signature));
    assert_eq!(check("v=YWJjYWJj"), Err(ScramError::Signature));
    assert_eq!(check("e=other-error"), Err(ScramError::Server("other-error".to_owned())));
    let what = "neither a signature (v=) nor an error (e=)";
    assert_eq!(check(""), Err(ScramError::Message { message: "final", what }));
    let what = "a signature that is not base64";
    assert_eq!(check("v=!!!!"), Err(ScramError::Message { message: "final", what }));
}

/// Texts that are near to a message.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("r=abc".to_owned()),
        Just("s=".to_owned()),
        Just("i=".to_owned()),
        Just("v=".to_owned()),
        Just("e=".to_owned()),
        Just(",".to_owned()),
        "[0-9]{1,24}",
        "[A-Za-z0-9+/=]{0,24}",
        ".{0,4}",
    ];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes()),
    ]
}

proptest! {
    #[test]
    fn no_message_of_a_broker_ends_the_process(bytes in messages()) {
        if let Ok(first) = ServerFirst::read(&bytes, "abc") {
            prop_assert!(first.nonce.starts_with("abc"));
            prop_assert!((ITERATIONS_MIN..=ITERATIONS_MAX).contains(&first.iterations.get()));
            prop_assert!((1..=SALT_BYTES_MAX + 2).contains(&first.salt.len()));
        }
        prop_assert!(check_server_final(&bytes, &[7; 32]).is_err());
    }
}
