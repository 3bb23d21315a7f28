//! `--metrics-listen`: what a monitoring system reads while a run goes on.

use crate::NullBroker;
use crate::common::{RUN_DEADLINE, TestFolder, ran};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The answer to a request for a path: head and body. `None` while there is no listener.
fn asked(port: u16, path: &str) -> Option<(String, String)> {
    asked_of("localhost", port, path)
}

/// The answer for a client that calls this host so.
fn asked_of(host: &str, port: u16, path: &str) -> Option<(String, String)> {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    socket.set_read_timeout(Some(RUN_DEADLINE)).ok()?;
    write!(socket, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    socket.read_to_string(&mut text).ok()?;
    text.split_once("\r\n\r\n").map(|(head, body)| (head.to_owned(), body.to_owned()))
}

/// The values of a series, by line.
fn values(body: &str, series: &str) -> Vec<f64> {
    let of_it = body.lines().filter(|line| line.starts_with(&format!("{series}{{")));
    of_it.filter_map(|line| line.rsplit_once(' ')?.1.parse().ok()).collect()
}

#[test]
fn a_run_exposes_its_state_until_it_ends() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let (port_text, load) = (port.to_string(), ["--duration", "60s", "--rate", "500/s", "--share"]);
    let args = ["quick", "--bootstrap-server", &broker.address, "--metrics-listen", &port_text];
    let args: Vec<&str> = args.into_iter().chain(["--metrics-host", "lab.example"]).chain(load).collect();
    // The port is taken: nothing is started.
    let said = place.kdyno(&args);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("cannot listen for metrics") && said.stderr.contains("hint:"), "{said:?}");
    drop(listener);
    let running = place.start(place.command(&args));
    let mut left_open = Vec::new();
    let deadline = Instant::now() + RUN_DEADLINE;
    let (mut counted, mut answers) = (Vec::new(), 0);
    while counted.len() < 3 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
        let Some((head, body)) = asked(port, "/metrics") else { continue };
        answers += 1;
        // A client that connects and asks nothing does not block another one for long.
        while !counted.is_empty() && left_open.len() < 20 {
            left_open.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens"));
        }
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"), "{head}");
        assert!(body.ends_with("# EOF\n") && body.contains("kdyno_run_info{scenario="), "{body}");
        let acknowledged = values(&body, "kdyno_records_acknowledged_total");
        let is_news = acknowledged.first().is_some_and(|now| counted.last().is_none_or(|last| now > last));
        if is_news {
            // The first answer that knows the load item is from before T0.
            if counted.is_empty() {
                assert_eq!(acknowledged, [0.0], "{body}");
                assert_eq!(values(&body, "kdyno_records_failed_total"), [0.0; 2], "{body}");
            } else {
                assert!(!values(&body, "kdyno_process_cpu_seconds_total").is_empty(), "{body}");
                assert_eq!(values(&body, "kdyno_phase").iter().sum::<f64>(), 1.0, "{body}");
            }
            counted.extend(acknowledged);
        }
    }
    assert_eq!(counted.len(), 3, "{answers} answers, counted {counted:?}");
    seen_while_it_runs(&place);
    for (host, status) in [("rebound.example", 403), ("lab.example:80", 200), ("127.0.0.1", 200)] {
        let (head, body) = asked_of(host, port, "/metrics").expect("an answer");
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {head}");
        assert_eq!(body.contains("kdyno_"), status == 200, "{host}: {body}");
    }
    assert!(asked(port, "/").is_some_and(|(head, _)| head.starts_with("HTTP/1.1 404")));
    running.signal(Signal::INT);
    assert_eq!(running.wait(RUN_DEADLINE).code, Some(130));
    assert!(asked(port, "/metrics").is_none(), "it ends with the run");
    // Nor does it keep a run that ends by itself.
    let args = [
        "quick",
        "--bootstrap-server",
        &broker.address,
        "--metrics-listen",
        "0",
        "--duration",
        "2s",
        "--share",
    ];
    ran(&place.start(place.command(&args)).wait(RUN_DEADLINE));
    broker.stop();
}

/// `kdyno serve` shows a run that goes on as one, with figures of its trial, and has browsers ask again.
fn seen_while_it_runs(place: &TestFolder) {
    let mut serving = place.start(place.command(&["serve", "--port", "0"]));
    let address = serving.wait_for_line();
    let port = address.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok());
    let port = port.expect("a port");
    let (_, list) = asked(port, "/").expect("the list");
    assert!(list.contains("words live\">running"), "{list}");
    let file = list.split("href=\"/run/").nth(1).and_then(|rest| rest.split('"').next()).expect("a run");
    let (head, page) = asked(port, &format!("/run/{file}")).expect("its page");
    assert!(head.starts_with("HTTP/1.1 200") && head.to_lowercase().contains("\r\nrefresh: "), "{head}");
    assert!(page.contains("<svg") && page.contains("the run goes on"), "its course so far");
    let shown = place.kdyno(&["show", "latest"]);
    assert!(
        shown.stdout.contains("the run goes on") && !shown.stdout.contains("ended before its plan"),
        "{shown:?}"
    );
    serving.signal(Signal::INT);
    ran(&serving.wait(RUN_DEADLINE));
}

#[test]
fn an_address_that_is_none_is_refused() {
    let place = TestFolder::new();
    let said = place.kdyno(&["run", "first-light", "--metrics-listen", "localhost"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("expected a port"), "{said:?}");
}
