//! `kdyno serve`: stored runs as pages, for browsers of this host only.

use crate::common::{RUN_DEADLINE, Running, TestFolder};
use crate::{measured, store};
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A server of a place's runs.
struct Served<'a> {
    running: Running<'a>,
    address: String,
}

/// What is answered: the status, the head in lower case, the body.
struct HttpResponse {
    status: u16,
    head: String,
    body: String,
}

impl<'a> Served<'a> {
    fn start(place: &'a TestFolder) -> Self {
        let mut running = place.start(place.command(&["serve", "--port", "0", "--host", "lab.example"]));
        let line = running.wait_for_line();
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        Self { address: address.expect("an address").to_owned(), running }
    }

    fn get(&self, path: &str) -> HttpResponse {
        self.asked(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.address))
    }

    fn asked(&self, request: &str) -> HttpResponse {
        let mut socket = TcpStream::connect(&self.address).expect("it listens");
        socket.set_read_timeout(Some(RUN_DEADLINE)).expect("a time-out");
        write!(socket, "{request}Connection: close\r\n\r\n").expect("asked");
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).expect("an answer");
        let text = String::from_utf8_lossy(&answer);
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        HttpResponse { status, head: head.to_lowercase(), body: body.to_owned() }
    }
}

#[test]
fn the_list_leads_to_pages_comparisons_and_courses() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    measured(&place, 2, 60_000.0, &[]);
    let served = Served::start(&place);
    let list = served.get("/");
    assert!(list.status == 200 && list.head.contains("content-type: text/html"), "{}", list.head);
    let files: Vec<&str> =
        list.body.split("href=\"/run/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let [newest, oldest] = files[..] else { panic!("two runs: {}", list.body) };
    let page = served.get(&format!("/run/{newest}"));
    assert!(page.status == 200 && page.body.contains("Does rate work?"), "{}", page.body);
    assert!(!page.head.contains("\r\nrefresh:"), "a run that has ended does not change: {}", page.head);
    let chosen = served.get(&format!("/?a={oldest}"));
    let link = format!("href=\"/compare?a={oldest}&amp;b={newest}\"");
    assert!(chosen.body.contains(&link), "two clicks: {}", chosen.body);
    let compared = served.get(&format!("/compare?a={oldest}&b={newest}"));
    let says = ["(A) against", "50,000/s", "60,000/s"].map(|words| compared.body.contains(words));
    assert_eq!((compared.status, says), (200, [true; 3]), "{}", compared.body);
    let course = served.get("/course?scenario=rate&of=writers.acked_per_s");
    assert_eq!(
        (course.status, course.body.matches("class=\"dot look-0\"").count()),
        (200, 2),
        "{}",
        course.body
    );
    let none = served.get("/course?scenario=rate&of=writers.nothing");
    assert!(
        none.body.contains("No run of rate has a figure") && none.body.contains("<code>writers.acked_per_s"),
        "{}",
        none.body
    );
    let found = served.get("/?q=NoSuchWord");
    assert!(found.body.contains("0 of 2 runs"), "{}", found.body);
    let document = served.get(&format!("/export/json/{newest}"));
    let json: serde_json::Value = serde_json::from_str(&document.body).expect("JSON");
    assert_eq!(json["scenario"], "rate", "{json}");
    assert!(document.head.contains("content-disposition: attachment"), "{}", document.head);
    let parquet = served.get(&format!("/export/series-parquet/{newest}"));
    assert!(parquet.status == 200 && parquet.body.starts_with("PAR1"), "{}", parquet.head);

    // What is there later is seen without starting again.
    store(&place, "20990101-000000-later.kdyno", "later", 4_070_908_800_000_000_000);
    assert!(served.get("/").body.contains("20990101-000000-later.kdyno"), "a new run");
    served.running.signal(Signal::INT);
    let said = served.running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(0), "{said:?}");
    place.expect_no_processes();
}

#[test]
fn only_runs_of_the_folder_are_served_and_only_to_this_host() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    place.file("secret.txt", "nobody's business");
    place.file("kdyno-runs/garbage.kdyno", "this is no run file");
    let served = Served::start(&place);
    let outside = [
        "/run/..%2Fsecret.txt",
        "/run/../secret.txt",
        "/run/%2Fetc%2Fpasswd",
        "/run/%00",
        "/export/json/..%2Fsecret.txt",
    ];
    let nothing = [
        "/run/nothing.kdyno",
        "/run/garbage.kdyno",
        "/nowhere",
        "/export/hlog/x",
        "/export/exe/x",
        "/compare?a=x",
        "/course",
    ];
    for path in outside.into_iter().chain(nothing) {
        let answer = served.get(path);
        let is_refused = [400, 404].contains(&answer.status);
        assert!(is_refused && !answer.body.contains("business"), "{path}: {} {}", answer.status, answer.body);
    }
    let garbage = served.get("/run/garbage.kdyno");
    assert!(garbage.body.contains("is not a run file of kdyno"), "it is there: {}", garbage.body);
    let list = served.get("/?q=%3Cscript%3Ealert(1)%3C/script%3E");
    let text = list.body.replace(kdyno_report::html::SCRIPT, "");
    assert!(text.contains("&lt;script&gt;") && !text.contains("<script"), "{text}");
    assert!(list.body.contains("garbage.kdyno"), "what cannot be read is told: {}", list.body);
    assert!(list.head.contains("default-src 'none'") && list.head.contains("nosniff"), "{}", list.head);
    let address = &served.address;
    let requests = [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n".to_owned(), 403),
        (format!("GET / HTTP/1.1\r\nHost: {address}\r\nOrigin: https://evil.example\r\n"), 403),
        (
            format!(
                "GET / HTTP/1.1\r\nHost: {address}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"
            ),
            403,
        ),
        (format!("POST / HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n"), 403),
        ("GET / HTTP/1.1\r\nHost: lab.example\r\n".to_owned(), 200),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n".to_owned(), 200),
    ];
    for (request, status) in requests {
        assert_eq!(served.asked(&request).status, status, "{request}");
    }
}

#[test]
fn silent_connections_block_no_other_and_end_soon() {
    let place = TestFolder::new();
    measured(&place, 1, 50_000.0, &[]);
    let served = Served::start(&place);
    let mut silent: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(&served.address).expect("it listens")).collect();
    // Half a head is no request. One that has been closed already takes none.
    silent.iter_mut().for_each(|socket| drop(socket.write_all(b"GET / HTTP/1.1\r\nHost:")));
    assert_eq!(served.get("/").status, 200);
    // One that has asked may last a minute.
    let began = Instant::now();
    for socket in &mut silent {
        socket.set_read_timeout(Some(RUN_DEADLINE)).expect("a time-out");
        let _ = socket.read_to_end(&mut Vec::new());
    }
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

#[test]
fn what_cannot_be_served_is_reported() {
    let place = TestFolder::new();
    let said = place.kdyno(&["serve", "nowhere"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("there is no folder") && said.stderr.contains("hint:"), "{said:?}");
    measured(&place, 1, 50_000.0, &[]);
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let said = place.kdyno(&["serve", "--port", &port]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("could not listen on") && said.stderr.contains("--port 0"), "{said:?}");
}
