//! Load over HTTP against servers of our own.

mod jobs;
mod users;

use kdyno_model::plan::http_load::{HttpLoad, HttpStep, HttpTarget};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const GENEROUS: Duration = Duration::from_secs(60);
const MS: u64 = 1_000_000;

/// What was written, while somebody else writes.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl SharedBuffer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic")).into_owned()
    }
}

fn target(address: String, trust: Option<&Path>) -> HttpTarget {
    HttpTarget {
        address,
        is_component: false,
        timeout_ns: 60_000 * MS,
        headers: BTreeMap::new(),
        trust: trust.map(|path| path.to_string_lossy().into_owned()),
    }
}

fn step(name: &str, path: &str) -> HttpStep {
    HttpStep {
        name: name.to_owned(),
        method: "GET".to_owned(),
        url: path.to_owned(),
        body: None,
        status: None,
        holds: BTreeMap::new(),
        keep: BTreeMap::new(),
    }
}

/// What a load printed: of each request and turn its name and whether it was good; in words; and why it did not end
/// well.
struct LoadReport {
    requests: Vec<(String, bool)>,
    words: String,
    ended: Option<String>,
}

impl LoadReport {
    fn count(&self, name: &str, is_good: bool) -> usize {
        self.requests.iter().filter(|(own, good)| own == name && *good == is_good).count()
    }
}

/// Lets a load go on until this comes back, and then until it has ended.
fn run(load: &HttpLoad, is_enough: impl FnOnce()) -> LoadReport {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("load.json");
    kdyno_http_load::check(load).expect("of use");
    std::fs::write(&path, serde_json::to_vec(load).expect("JSON")).expect("written");
    let (stop, out, err) =
        (Arc::new(AtomicBool::new(false)), SharedBuffer::default(), SharedBuffer::default());
    let (stopped, to_out, to_err) = (Arc::clone(&stop), out.clone(), err.clone());
    let running = std::thread::spawn(move || kdyno_http_load::main(&path, stopped, to_out, to_err));
    is_enough();
    stop.store(true, Ordering::Relaxed);
    let ended = running.join().expect("no panic").err().map(|error| error.to_string());
    let row = |line: &str| {
        let mut fields = line.split(',').skip(2);
        (fields.next().unwrap_or_default().to_owned(), fields.next() == Some("true"))
    };
    LoadReport { requests: out.text().lines().skip(1).map(row).collect(), words: err.text(), ended }
}

/// An answer as it is written.
fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Reads the requests of a connection and answers those for which there is an answer, by their path.
fn serve(stream: &mut (impl Read + Write), answer: impl Fn(&str) -> Option<String>) {
    loop {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            if !stream.read(&mut byte).is_ok_and(|read| read == 1) {
                return;
            }
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        if let Some(answer) = answer(head.split(' ').nth(1).unwrap_or_default()) {
            let written = stream.write_all(answer.as_bytes());
            // Who asked may be gone by then.
            let _ = written.and_then(|()| stream.flush());
        }
    }
}

/// Serves each connection to a port of its own in a thread; gives the port.
fn each_connection(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}
