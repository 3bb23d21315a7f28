//! The handshake with a login, against answers that are written here.

use super::*;
use crate::errors::ErrorCode;
use crate::messages::{
    Message, m00_produce, m03_metadata, m17_sasl_handshake, m18_api_versions, m36_sasl_authenticate,
};
use crate::security::Hidden;
use crate::wire::Writer as _;

const SECOND: u64 = 1_000_000_000;

fn login() -> Option<Arc<Login>> {
    Some(Arc::new(Login::plain("me", Hidden::new(b"hunter2".to_vec())).unwrap()))
}

fn opened(login: Option<Arc<Login>>) -> Connection<u32> {
    let mut connection = Connection::new("me".into(), &[m03_metadata::API], 1 << 20);
    connection.open(None, login, 0);
    connection
}

/// Writes all there is; the API keys and correlation ids of the requests.
fn written(connection: &mut Connection<u32>, now_ns: u64) -> Vec<(i16, i32)> {
    let mut bytes = Vec::new();
    while connection.write_to(&mut bytes).unwrap() != WriteProgress::Nothing {
        connection.stamp_written(now_ns);
    }
    let mut requests = Vec::new();
    let mut reader = Reader::new(&bytes);
    while reader.remaining() > 0 {
        let length = reader.i32().unwrap() as usize;
        let mut request = Reader::new(reader.take(length).unwrap());
        let key = request.i16().unwrap();
        request.i16().unwrap();
        requests.push((key, request.i32().unwrap()));
    }
    requests
}

fn answer<M: Message>(
    connection: &mut Connection<u32>,
    correlation_id: i32,
    version: i16,
    response: &M,
    now_ns: u64,
) -> Result<Vec<u32>, ConnectionError> {
    let mut frame = Vec::new();
    write_frame(&mut frame, |out| {
        out.put_i32(correlation_id);
        out.put_no_tags(M::API.is_flexible(version) && M::API.key != m18_api_versions::API.key);
        response.encode(version, out);
    });
    connection.input.push(&frame);
    let mut answered = Vec::new();
    connection.receive(now_ns, |request, _| {
        answered.push(request.token);
        Ok(())
    })?;
    Ok(answered)
}

fn versions() -> m18_api_versions::Response {
    let range = |api: Api, min, max| m18_api_versions::ApiVersion {
        api_key: api.key,
        min_version: min,
        max_version: max,
    };
    let api_keys = vec![
        range(m03_metadata::API, 0, m03_metadata::API.version_max),
        range(m17_sasl_handshake::API, 0, 1),
        range(m36_sasl_authenticate::API, 0, 2),
    ];
    m18_api_versions::Response { api_keys, ..Default::default() }
}

fn known(session_lifetime_ms: i64) -> m36_sasl_authenticate::Response {
    m36_sasl_authenticate::Response { session_lifetime_ms, ..Default::default() }
}

fn mechanism(error_code: ErrorCode) -> m17_sasl_handshake::Response {
    m17_sasl_handshake::Response { error_code, mechanisms: vec!["SCRAM-SHA-512".to_owned()] }
}

/// Up to SaslHandshake written.
fn up_to_mechanism() -> Connection<u32> {
    let mut connection = opened(login());
    assert_eq!(written(&mut connection, 1), [(18, 0)]);
    answer(&mut connection, 0, m18_api_versions::API.version_max, &versions(), 2).unwrap();
    assert!(!connection.is_up());
    assert_eq!(written(&mut connection, 3), [(17, 1)]);
    connection
}

/// Logged in at 6 ns, for a session of this length.
fn logged_in(session_lifetime_ms: i64) -> Connection<u32> {
    let mut connection = up_to_mechanism();
    answer(&mut connection, 1, 1, &mechanism(ErrorCode::NONE), 4).unwrap();
    assert_eq!(written(&mut connection, 5), [(36, 2)]);
    assert!(!connection.is_up());
    answer(&mut connection, 2, 2, &known(session_lifetime_ms), 6).unwrap();
    assert!(connection.is_up());
    connection
}

fn ask(connection: &mut Connection<u32>, token: u32, now_ns: u64) {
    connection.ask(token, &m03_metadata::Request::of_topics(None), now_ns).unwrap();
}

#[test]
fn nothing_is_asked_before_the_broker_knows_us() {
    let mut connection = logged_in(0);
    ask(&mut connection, 7, 10_000 * SECOND);
    assert_eq!(written(&mut connection, 8), [(3, 3)]);
}

#[test]
fn a_login_that_fails_is_a_refusal_in_the_brokers_words() {
    let refused = |error_code, words: &str| {
        let mut connection = up_to_mechanism();
        answer(&mut connection, 1, 1, &mechanism(ErrorCode::NONE), 4).unwrap();
        written(&mut connection, 5);
        let error_message = Some(words.to_owned());
        let response = m36_sasl_authenticate::Response { error_code, error_message, ..Default::default() };
        answer(&mut connection, 2, 2, &response, 6).unwrap_err()
    };
    let error = refused(ErrorCode::SASL_AUTHENTICATION_FAILED, "no hunter2 here");
    assert!(matches!(error, ConnectionError::Refused(PermanentError::Login(_))), "{error:?}");
    assert_eq!(error.to_string(), "the broker refused the login by PLAIN: no (hidden) here");
    let error = refused(ErrorCode::SASL_AUTHENTICATION_FAILED, "");
    assert_eq!(error.to_string(), "the broker refused the login by PLAIN: it does not say why");
    let error = refused(ErrorCode::REQUEST_TIMED_OUT, "");
    assert!(matches!(error, ConnectionError::Handshake { api: "SaslAuthenticate", .. }), "{error:?}");
}

#[test]
fn a_listener_with_other_mechanisms_or_none_is_distinguished() {
    for (code, reported) in [
        (
            ErrorCode::UNSUPPORTED_SASL_MECHANISM,
            "the broker's listener takes no login by PLAIN, only by SCRAM-SHA-512",
        ),
        (
            ErrorCode::ILLEGAL_SASL_STATE,
            "the broker's listener takes no login: its security protocol is PLAINTEXT or SSL, ours has SASL \
             (security.protocol)",
        ),
    ] {
        let error = answer(&mut up_to_mechanism(), 1, 1, &mechanism(code), 4).unwrap_err();
        assert!(matches!(error, ConnectionError::Refused(PermanentError::Login(_))), "{error:?}");
        assert_eq!(error.to_string(), reported);
    }
    let mut without = opened(login());
    written(&mut without, 1);
    let mut versions = versions();
    versions.api_keys.truncate(2);
    let error = answer(&mut without, 0, m18_api_versions::API.version_max, &versions, 2).unwrap_err();
    assert!(error.to_string().ends_with("does not offer versions 0 to 2 of SaslAuthenticate"), "{error}");
}

#[test]
fn reauthentication_precedes_the_session_end_and_requests_wait() {
    for _ in 0..50 {
        let mut connection = logged_in(100_000);
        let send = |connection: &mut Connection<u32>, token, now_ns| {
            let api = (m00_produce::API, 8);
            connection.send(token, api, true, now_ns, |id, out| {
                let mut frame = Vec::new();
                write_frame(&mut frame, |out| {
                    out.put_i16(0);
                    out.put_i16(8);
                    out.put_i32(id);
                });
                let bytes = frame.len();
                out.push_back(frame.into());
                bytes
            });
        };
        send(&mut connection, 7, 84 * SECOND);
        assert_eq!(written(&mut connection, 84 * SECOND), [(0, 3)], "not before 85 % of it");
        let (due, later) = (96 * SECOND, 97 * SECOND);
        send(&mut connection, 8, due);
        ask(&mut connection, 9, due);
        assert!(connection.is_up());
        assert_eq!(connection.in_flight(), 4);
        assert_eq!(written(&mut connection, due), [(17, 4)], "requests wait, after 95 % of it at the latest");
        assert_eq!(
            answer(&mut connection, 3, 0, &m17_sasl_handshake::Response::default(), due).unwrap(),
            [7]
        );
        answer(&mut connection, 4, 1, &mechanism(ErrorCode::NONE), due).unwrap();
        assert_eq!(written(&mut connection, due), [(36, 7)]);
        answer(&mut connection, 7, 2, &known(100_000), due).unwrap();
        assert_eq!(written(&mut connection, later), [(0, 5), (3, 6)], "in the order in which they were sent");
        assert_eq!(connection.oldest_sent_ns(), Some(due));
        assert_eq!(connection.in_flight(), 2);
        send(&mut connection, 10, due + 84 * SECOND);
        assert_eq!(written(&mut connection, later), [(0, 8)], "a new session has its own end");
    }
}

#[test]
fn timeouts_behind_a_login_start_later_also_when_throttled() {
    let mut connection = logged_in(1_000);
    ask(&mut connection, 1, 2 * SECOND);
    connection.hold_back(5 * SECOND);
    assert_eq!(written(&mut connection, 2 * SECOND), [(17, 3)]);
    answer(&mut connection, 3, 1, &mechanism(ErrorCode::NONE), 2 * SECOND).unwrap();
    assert_eq!(written(&mut connection, 2 * SECOND), [(36, 5)]);
    answer(&mut connection, 5, 2, &known(1_000), 2 * SECOND).unwrap();
    assert_eq!(connection.oldest_sent_ns(), Some(7 * SECOND));
}

#[test]
fn a_second_login_waits_a_second_and_its_refusal_is_passed_on() {
    let mut connection = logged_in(200);
    ask(&mut connection, 7, 6 + SECOND - 1);
    assert_eq!(written(&mut connection, SECOND), [(3, 3)]);
    ask(&mut connection, 8, 6 + SECOND);
    assert_eq!(written(&mut connection, SECOND + 6), [(17, 4)]);
    let metadata = m03_metadata::Response::default();
    answer(&mut connection, 3, m03_metadata::API.version_max, &metadata, 2 * SECOND).unwrap();
    let refused = mechanism(ErrorCode::ILLEGAL_SASL_STATE);
    let error = answer(&mut connection, 4, 1, &refused, 2 * SECOND).unwrap_err();
    assert!(matches!(error, ConnectionError::Handshake { api: "SaslHandshake", .. }), "{error:?}");
}

#[test]
fn a_broker_that_takes_bare_tokens_only_is_refused() {
    let mut connection = opened(login());
    written(&mut connection, 1);
    let mut spoken = versions();
    spoken.api_keys[1].max_version = 0;
    let error = answer(&mut connection, 0, m18_api_versions::API.version_max, &spoken, 2).unwrap_err();
    assert!(matches!(error, ConnectionError::Refused(PermanentError::Version(_))), "{error:?}");
}

#[test]
fn what_waits_for_a_login_comes_back_when_the_connection_ends() {
    let mut connection = logged_in(1_000);
    ask(&mut connection, 1, 2);
    ask(&mut connection, 2, 2 * SECOND);
    assert_eq!(connection.close().collect::<Vec<_>>(), [1, 2]);
    assert!(!connection.is_up());
}

#[test]
fn the_end_of_a_connection_is_reported_by_what_it_interrupted() {
    let reported = |connection: &Connection<u32>| connection.closed_by_peer().to_string();
    let mut plain = opened(None);
    written(&mut plain, 1);
    assert!(reported(&plain).contains("its listener is probably SSL or SASL_SSL"), "{}", reported(&plain));
    answer(&mut plain, 0, m18_api_versions::API.version_max, &versions(), 2).unwrap();
    assert_eq!(reported(&plain), "the broker closed the connection");
    ask(&mut plain, 1, 3);
    assert!(reported(&plain).contains("its listener may ask for a login"), "{}", reported(&plain));
    written(&mut plain, 4);
    answer(&mut plain, 1, m03_metadata::API.version_max, &m03_metadata::Response::default(), 5).unwrap();
    ask(&mut plain, 2, 6);
    assert_eq!(reported(&plain), "the broker closed the connection", "it was of use");
    assert!(reported(&up_to_mechanism()).contains("during the login (SASL)"));
    let reset = up_to_mechanism().socket_failed(io::ErrorKind::ConnectionReset.into());
    assert!(reset.to_string().contains("during the login (SASL)"), "{reset}");
    let other = up_to_mechanism().socket_failed(io::ErrorKind::HostUnreachable.into());
    assert!(matches!(other, ConnectionError::Io(_)), "{other}");
}

#[test]
fn a_tls_alert_in_answer_to_frames_is_recognised() {
    let mut plain = opened(None);
    written(&mut plain, 1);
    plain.input.push(&[21, 3, 3, 0, 2, 2, 80]);
    let error = plain.receive(2, |_, _| Ok(())).unwrap_err();
    assert!(matches!(error, ConnectionError::Refused(PermanentError::Session(_))), "{error:?}");
    assert!(error.to_string().contains("the broker's listener requires TLS"), "{error}");
}
