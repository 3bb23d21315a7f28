//! Endpoints of every kind, on sockets of our own.

use super::*;
use kdyno_model::sample::series;
use kdyno_model::secret::Secret;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const TOLD: &str = "kafka_server_BrokerTopicMetrics_Count{name=\"BytesInPerSec\"} 5\n";
const GENEROUS: Duration = Duration::from_secs(60);

/// A server for one connection; `answer` writes to it. Gives its port, and what was asked of it.
fn server(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (reported, asked) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_read_timeout(Some(GENEROUS)).expect("a bound");
        stream.set_write_timeout(Some(GENEROUS)).expect("a bound");
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
            request.push(byte[0]);
        }
        // The client may be gone.
        let _ = reported.send(String::from_utf8_lossy(&request).into_owned());
        answer(&mut stream);
    });
    (port, asked)
}

/// Writes an answer; the client may be gone by then.
fn says(status: &str, body: &str) -> impl FnOnce(&mut TcpStream) + Send + 'static {
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    move |stream| drop(stream.write_all(answer.as_bytes()))
}

fn source(port: u16, login: Option<HttpLogin<'_>>) -> MetricsSource {
    let from = MetricsFrom::PerBroker(format!("http://{{host}}:{port}/metrics"));
    let brokers = [(Subject::Broker(3), "127.0.0.1".to_owned())];
    MetricsSource::of_target(&from, &brokers, &[], login).expect("a source").remove(0)
}

fn why(answer: impl FnOnce(&mut TcpStream) + Send + 'static) -> String {
    let (port, _) = server(answer);
    let unread = source(port, None).read().expect_err("nothing of use");
    assert_eq!(unread.subject, Subject::Broker(3));
    assert!(unread.why.starts_with("metrics of broker 3 are not read: "), "{unread:?}");
    assert!(unread.why.ends_with(&format!(" (of 127.0.0.1:{port})")), "what was mistyped: {unread:?}");
    unread.why
}

#[test]
fn an_endpoints_metrics_are_readings_of_its_broker() {
    let (port, asked) = server(says("200 OK", TOLD));
    let found = source(port, None).read().expect("readings");
    let values = vec![(series::BYTES_IN_TOTAL.to_owned(), 5.0)];
    assert_eq!(found, [BrokerReading { subject: Subject::Broker(3), at_unix_ns: None, values }]);
    let asked = asked.recv_timeout(GENEROUS).expect("a request");
    assert!(
        asked.starts_with("GET /metrics HTTP/1.1\r\n") && !asked.to_lowercase().contains("authorization"),
        "{asked}"
    );
}

#[test]
fn an_agent_of_our_own_is_asked_by_name_alone() {
    let (port, asked) = server(says("200 OK", TOLD));
    let mbeans = vec!["kafka.server:type=ReplicaManager,name=LeaderCount/Value".to_owned()];
    let endpoint = LocalEndpoint { subject: Subject::Broker(0), port, counts_controller: true, mbeans };
    let found = MetricsSource::local(&endpoint).expect("a source").read().expect("readings");
    let [BrokerReading { values, .. }] = found.as_slice() else { panic!("{found:?}") };
    let answered = values.iter().find(|(name, _)| name == series::AGENT_ANSWERED_S_TOTAL);
    assert!(answered.is_some_and(|(_, s)| *s > 0.0 && *s < GENEROUS.as_secs_f64()), "{values:?}");
    let asked = asked.recv_timeout(GENEROUS).expect("a request");
    let line = asked.lines().next().unwrap_or_default();
    assert_eq!(line.matches("name").count(), names::OF_AGENT.len() + 1, "{line}");
    assert!(line.contains("kdyno_mbean_0"), "{line}");
    assert!(line.contains("jvm_memory_used_bytes") && !line.contains("process_cpu"), "{line}");
}

#[test]
fn logins_are_sent_and_never_printed() {
    let secret = Secret::new(b"hunter2".to_vec());
    for (login, header) in [
        (HttpLogin::Basic("kdyno", &secret), "Basic a2R5bm86aHVudGVyMg=="),
        (HttpLogin::Bearer(&secret), "Bearer hunter2"),
    ] {
        let (port, asked) = server(says("403 Forbidden", ""));
        let mut source = source(port, Some(login));
        assert!(!format!("{source:?}").contains("hunter2"));
        let unread = source.read().expect_err("refused");
        assert!(unread.why.contains("it refuses the login (HTTP status 403)"), "{unread:?}");
        let asked = asked.recv_timeout(GENEROUS).expect("a request");
        assert!(asked.contains(header), "{asked}");
    }
    let token = Secret::new(b"a\nb".to_vec());
    let from = MetricsFrom::PerBroker("http://{host}/".to_owned());
    let brokers = [(Subject::Broker(0), "h".to_owned())];
    let unread = MetricsSource::of_target(&from, &brokers, &[], Some(HttpLogin::Bearer(&token)))
        .expect_err("no header");
    assert!(unread.why.contains("characters that no header may have"), "{unread:?}");
}

#[test]
fn each_endpoint_of_no_use_says_why() {
    for (status, body, part) in [
        ("401 Unauthorized", "", "it wants a login (HTTP status 401)"),
        ("404 Not Found", "", "nothing at this path"),
        ("302 Found\r\nLocation: http://127.0.0.1:1/", "", "refers elsewhere, which is not followed"),
        ("503 Unavailable", "", "HTTP status 503"),
        ("200 OK", "<html>sign in</html>\n", "line 1 of the answer is no line of Prometheus's text format"),
        ("200 OK", "node_cpu_seconds_total 1\n", "none of Kafka's metrics"),
        ("200 OK", "", "none of Kafka's metrics"),
    ] {
        let reported = why(says(status, body));
        assert!(reported.contains(part), "{status} {body}: {reported}");
    }
    let reported = why(|stream| drop(stream.write_all(b"\x16\x03\x01 no HTTP\r\n\r\n")));
    assert!(
        reported.contains("it does not answer as HTTP does") || reported.contains("cannot be reached"),
        "{reported}"
    );
    let reported =
        why(|stream| drop(stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nkafka")));
    assert!(reported.contains("broke off"), "{reported}");
}

#[test]
fn instants_of_a_server_whose_clock_is_off_are_put_right() {
    // As Prometheus answers, and as VictoriaMetrics does.
    put_right(|at| format!("\"resultType\":\"scalar\",\"result\":[{at},\"{at}\"]"), -5.0);
    put_right(
        |at| format!("\"resultType\":\"vector\",\"result\":[{{\"metric\":{{}},\"value\":[{at},\"{at}\"]}}]"),
        -5.0,
    );
    // One that does not report its clock is read all the same.
    put_right(|_| "\"resultType\":\"vector\",\"result\":[]".to_owned(), -125.0);
}

/// Reads a server whose clock is two minutes behind and that scraped 5 s ago, and checks that this is reported as
/// `expected_s` from now.
fn put_right(clock: impl Fn(f64) -> String, expected_s: f64) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let now_s = || {
        let since = std::time::UNIX_EPOCH.elapsed().expect("after 1970");
        since.as_secs_f64()
    };
    let reported_s = now_s() - 120.0;
    let clock = format!("{{\"data\":{{{}}}}}", clock(reported_s));
    let row = format!(
        "{{\"metric\":{{\"__name__\":\"kafka_server_BrokerTopicMetrics_Count\",\"name\":\"BytesInPerSec\",\
         \"instance\":\"127.0.0.1:7071\"}},\"values\":[[{},\"9\"]]}}",
        reported_s - 5.0
    );
    let scraped = format!("{{\"data\":{{\"result\":[{row}]}}}}");
    let answering = std::thread::spawn(move || {
        for body in [clock, scraped] {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            says("200 OK", &body)(&mut stream);
        }
    });
    let from = MetricsFrom::Prometheus(format!("http://127.0.0.1:{port}"));
    let brokers = [(Subject::Broker(3), "127.0.0.1".to_owned())];
    let mut source = MetricsSource::of_target(&from, &brokers, &[], None).expect("a source").remove(0);
    let found = source.read().expect("readings");
    answering.join().expect("both were asked for");
    let at_s = found[0].at_unix_ns.expect("an instant") as f64 / 1e9;
    assert!((now_s() + expected_s - at_s).abs() < 2.0, "{at_s} is not {expected_s} s from {}", now_s());
}

#[test]
fn a_vanished_endpoint_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let unread = source(port, None).read().expect_err("nobody");
    assert!(unread.why.contains("it cannot be reached"), "{unread:?}");
}

#[test]
fn one_without_end_is_left_in_time_and_takes_no_memory() {
    // One line without end, and lines without end.
    for (piece, part) in
        [("a".repeat(1 << 16), "longer than 65536 bytes"), ("# a\n".repeat(1 << 14), "longer than 64 MiB")]
    {
        let reported = why(move |stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            // It ends when the client has gone.
            while stream.write_all(piece.as_bytes()).is_ok() {}
        });
        // On a slow host the time is over first.
        assert!(reported.contains(part) || reported.contains("broke off"), "{reported}");
    }
}

#[test]
fn one_that_is_slow_is_left_when_its_time_is_over() {
    let begun = Instant::now();
    let reported = why(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
        // A byte now and then keeps no reading alive.
        while stream.write_all(b"#").is_ok() {
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    assert!(reported.contains("broke off") || reported.contains("within 5 s"), "{reported}");
    assert!(begun.elapsed() >= http::ANSWER_TIME_MAX, "it was given its time");
}

#[test]
fn brokers_at_one_host_are_not_mistaken_for_each_other() {
    let brokers = [0, 1].map(|id| (Subject::Broker(id), "h".to_owned()));
    for from in [MetricsFrom::PerBroker("http://{host}/".into()), MetricsFrom::Prometheus("http://p".into())]
    {
        let unread = MetricsSource::of_target(&from, &brokers, &[], None).expect_err("one host");
        assert!(unread.why.contains("cannot be distinguished"), "{unread:?}");
    }
}

#[test]
fn over_https_those_are_believed_that_are_trusted_and_no_others() {
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    let made = || rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let (own, other) = (made(), made());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .expect("a key");
    let config = std::sync::Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let session = rustls::ServerConnection::new(config.clone()).expect("a session");
            let mut stream = rustls::StreamOwned::new(session, stream.expect("a connection"));
            let mut request = [0; 4096];
            // A client that does not trust it sends nothing.
            if stream.read(&mut request).is_ok_and(|read| read > 0) {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", TOLD.len());
                let _ = stream.write_all([head.as_str(), TOLD].concat().as_bytes());
                let _ = stream.flush();
            }
        }
    });
    let from = MetricsFrom::PerBroker(format!("https://{{host}}:{port}/metrics"));
    let brokers = [(Subject::Broker(3), "127.0.0.1".to_owned())];
    let read = |trusted: &[u8]| {
        let sources = MetricsSource::of_target(&from, &brokers, &[trusted.to_vec()], None);
        sources.expect("a source").remove(0).read()
    };
    let unread = read(other.cert.der()).expect_err("not trusted");
    assert!(unread.why.contains("certificate"), "{unread:?}");
    assert_eq!(read(own.cert.der()).expect("trusted").len(), 1);
}
