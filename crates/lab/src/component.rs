//! One component: started by a keeper of its own, its output read while it runs, waited for until it is ready, ended.

use crate::clock::monotonic_ns;
use crate::output::{OutputTail, last_lines, read_lines};
use kdyno_model::event::Subject;
use kdyno_model::plan::ReadyWhen;
use kdyno_model::units::length;
use kdyno_testbed::command::{CommandExit, CommandSpec, RunningCommand, Stopper};
use kdyno_testbed::postgres;
use kdyno_testbed::process::ProcessRef;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is looked whether it is ready.
const LOOK: Duration = Duration::from_millis(20);
/// How long a connection to it, or an answer of its own, may take before it is tried again.
const ANSWER: Duration = Duration::from_secs(2);
/// How much of an answer is read: its first line says all.
const ANSWER_BYTES_MAX: u64 = 1 << 10;

/// What a component is waited for.
pub(crate) struct Awaited {
    pub(crate) ready: ReadyWhen,
    pub(crate) within_ns: u64,
    pub(crate) port: u16,
    /// Its folder.
    pub(crate) folder: PathBuf,
}

/// What the threads that read its output and wait for its end know of it.
#[derive(Default)]
struct ComponentState {
    tail: OutputTail,
    /// It has written the line that says that it is ready.
    has_line: bool,
    ended: Option<String>,
    is_killed: bool,
}

/// A component that was started. Dropping it ends it, with all that it started.
pub(crate) struct Component {
    name: String,
    keeper: u32,
    stopper: Stopper,
    known: Arc<Mutex<ComponentState>>,
    awaited: Awaited,
    /// Ends when nothing of it is left.
    end: Option<JoinHandle<()>>,
}

impl Component {
    /// Starts it.
    ///
    /// # Errors
    /// It cannot be started, one lowercase clause.
    pub(crate) fn start(
        name: &str,
        spec: &CommandSpec,
        hidden: &[String],
        awaited: Awaited,
    ) -> Result<Self, String> {
        let (mut running, outputs, _) = RunningCommand::start(spec, hidden)?;
        let failed = |error: std::io::Error| format!("it cannot be watched, so it is not run: {error}");
        let (keeper, stopper) = (running.keeper(), running.stopper().map_err(failed)?);
        let known = Arc::<Mutex<ComponentState>>::default();
        let line = match &awaited.ready {
            ReadyWhen::Line(text) => Some(text.clone()),
            ReadyWhen::Started | ReadyWhen::Port | ReadyWhen::Http(_) | ReadyWhen::Postgres => None,
        };
        read(outputs.stdout, line.clone(), &known).map_err(failed)?;
        read(outputs.stderr, line, &known).map_err(failed)?;
        let reported = Arc::clone(&known);
        let wait = move || {
            let ended = running.wait();
            let mut known = lock(&reported);
            known.is_killed = ended.as_ref().is_some_and(|ended| ended.is_killed);
            known.ended = Some(how(ended.as_ref()));
        };
        let end =
            std::thread::Builder::new().name("end-of-component".to_owned()).spawn(wait).map_err(failed)?;
        Ok(Self { name: name.to_owned(), keeper, stopper, known, awaited, end: Some(end) })
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// It has ended, its time is over, or `must_end` says so: one lowercase clause.
    pub(crate) fn wait_ready(&self, must_end: &dyn Fn() -> bool) -> Result<(), String> {
        let until_ns = monotonic_ns().saturating_add(self.awaited.within_ns);
        loop {
            if let Some(how) = self.ended() {
                return Err(format!("it ended before it was ready: {how}{}", last_lines(&self.tail())));
            }
            if self.is_ready() {
                return Ok(());
            }
            if must_end() {
                return Err("the run was ended before it was ready".to_owned());
            }
            if monotonic_ns() > until_ns {
                let (within, ready) = (length(self.awaited.within_ns), self.awaited.ready.described());
                let lines = last_lines(&self.tail());
                return Err(format!("it was not ready within {within} (when {ready}){lines}"));
            }
            std::thread::sleep(LOOK);
        }
    }

    fn is_ready(&self) -> bool {
        let Awaited { ready, port, folder, .. } = &self.awaited;
        match ready {
            ReadyWhen::Started => true,
            ReadyWhen::Port => connect(*port).is_ok(),
            ReadyWhen::Http(path) => answers(*port, path),
            ReadyWhen::Line(_) => lock(&self.known).has_line,
            ReadyWhen::Postgres => postgres::is_ready(folder),
        }
    }

    pub(crate) fn subject(&self) -> Subject {
        Subject::Component(self.name.clone())
    }

    /// For the probes: all of its processes.
    pub(crate) fn process(&self) -> ProcessRef {
        ProcessRef { is_keeper: true, ..ProcessRef::new(self.subject(), self.keeper) }
    }

    /// How it has ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        lock(&self.known).ended.clone()
    }

    /// The last that it wrote.
    pub(crate) fn tail(&self) -> String {
        lock(&self.known).tail.text()
    }

    /// Ends it and waits until nothing of it is left; whether it had to be killed.
    pub(crate) fn stop(&mut self) -> bool {
        self.stopper.stop();
        // A panic of the thread is a defect that has been reported; its keeper has ended with it.
        self.end.take().map(JoinHandle::join);
        lock(&self.known).is_killed
    }
}

impl Drop for Component {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock(known: &Mutex<ComponentState>) -> MutexGuard<'_, ComponentState> {
    // Plain data; a panic elsewhere leaves it usable.
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads an output in a thread until it ends.
fn read(
    from: impl Read + Send + 'static,
    line: Option<String>,
    known: &Arc<Mutex<ComponentState>>,
) -> std::io::Result<()> {
    let known = Arc::clone(known);
    let each = move |written: Option<&[u8]>| {
        let mut known = lock(&known);
        known.tail.push(written);
        if let (Some(text), Some(written), false) = (&line, written, known.has_line) {
            known.has_line = String::from_utf8_lossy(written).contains(text.as_str());
        }
    };
    let read = move || {
        read_lines(from, each);
    };
    std::thread::Builder::new().name("output-of-component".to_owned()).spawn(read).map(drop)
}

/// How it ended, in words.
fn how(ended: Option<&CommandExit>) -> String {
    let Some(ended) = ended else { return "its keeper was killed, and it with that".to_owned() };
    match (ended.code, ended.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "how is not known".to_owned(),
    }
}

fn connect(port: u16) -> std::io::Result<TcpStream> {
    TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ANSWER)
}

/// Whether the port answers a GET of the path with a status from 200 to 399.
fn answers(port: u16, path: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = connect(port)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        let question = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(question.as_bytes())?;
        let mut answer = Vec::new();
        let mut part = [0; 256];
        while !answer.contains(&b'\n') && (answer.len() as u64) < ANSWER_BYTES_MAX {
            match stream.read(&mut part)? {
                0 => break,
                count => answer.extend_from_slice(&part[..count]),
            }
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().is_ok_and(|answer| is_good(&answer))
}

/// Whether an HTTP answer begins with a status from 200 to 399.
fn is_good(answer: &str) -> bool {
    let mut words = answer.lines().next().unwrap_or_default().split_ascii_whitespace();
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let status = words.next().and_then(|status| status.parse::<u16>().ok());
    is_http && status.is_some_and(|status| (200..400).contains(&status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn answers_are_judged_by_their_status() {
        for (answer, good) in [
            ("HTTP/1.1 200 OK\r\nx", true),
            ("HTTP/1.0 302 Found\r\n", true),
            ("HTTP/1.1 503 Service Unavailable\r\n", false),
            ("HTTP/1.1 100 Continue\r\n", false),
            ("SSH-2.0-x 200\r\n", false),
            ("HTTP/1.1 x", false),
            ("", false),
        ] {
            assert_eq!(is_good(answer), good, "{answer}");
        }
    }

    #[test]
    fn a_port_is_asked_for_the_path() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let server = std::thread::spawn(move || {
            for answer in ["HTTP/1.1 503 No\r\n\r\n", "HTTP/1.1 204 Yes\r\n\r\n"] {
                let (mut stream, _) = listener.accept().expect("asked");
                let mut asked = String::new();
                // It may come in pieces; what is left unread would reset the connection.
                while !asked.ends_with("\r\n\r\n") {
                    let mut part = [0; 64];
                    let count = stream.read(&mut part).expect("read");
                    asked.push_str(std::str::from_utf8(&part[..count]).expect("a head"));
                }
                assert!(asked.starts_with("GET /health HTTP/1.1\r\n"), "{asked}");
                stream.write_all(answer.as_bytes()).expect("answered");
            }
        });
        assert!(!answers(port, "/health"), "not yet");
        assert!(answers(port, "/health"));
        server.join().expect("no panic");
        assert!(!answers(port, "/health"), "nobody listens");
    }

    #[test]
    fn each_way_to_end_has_its_words() {
        let ended = |code, signal| CommandExit {
            at_ns: 0,
            code,
            signal,
            made: None,
            is_killed: false,
            cpu_s: 0.0,
            left: 0,
        };
        assert_eq!(how(Some(&ended(Some(1), None))), "exit code 1");
        assert_eq!(how(Some(&ended(None, Some(9)))), "signal 9");
        assert_eq!(how(None), "its keeper was killed, and it with that");
    }
}
