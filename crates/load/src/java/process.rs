//! The Java process of a stream: it is started with its end of a socket pair as descriptor 0, what it writes goes on to the
//! worker's standard error and is remembered, and it never outlives the process that started it.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Lines of its output that are remembered.
const LINES_MAX: usize = 12;
/// Bytes of each of them.
const LINE_BYTES_MAX: u64 = 400;
/// How long one that ends by itself may take for it, and how often it is looked at.
const EXIT_LOOKS: u32 = 100;
const EXIT_LOOK: Duration = Duration::from_millis(20);
/// How long its last lines are waited for once it has ended, ns.
const LINES_WAIT_NS: u64 = 500_000_000;
/// Exit code of a Java process that ran out of memory, with the option to exit then.
const OUT_OF_MEMORY: i32 = 3;

/// The process in which a stream's clients are.
pub(super) trait Process: fmt::Debug {
    /// How it ended, in words, once it has.
    fn ended(&mut self, now_ns: u64) -> Option<String>;
    /// The last lines that it wrote, in words; empty where it wrote none.
    fn lines(&self) -> String;
    /// Its number; `None`: it is no process of its own.
    fn pid(&self) -> Option<u32>;
    /// It said that it ends by itself, and is given the time for it.
    fn ends_by_itself(&mut self);
}

/// A process that was started, and the worker's end of the socket pair.
pub(super) type Started = (Box<dyn Process>, UnixStream);

/// Starts a program with its arguments.
///
/// # Errors
/// When the operating system refuses.
pub(super) fn start(command: &[String]) -> io::Result<Started> {
    let (program, arguments) =
        command.split_first().ok_or_else(|| io::Error::other("there is no command for it"))?;
    let (ours, theirs) = UnixStream::pair()?;
    let (reader, writer) = io::pipe()?;
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    let mut java = JavaProcess { child, last: Arc::default(), reading: None, ended: None, is_ending: false };
    let last = Arc::clone(&java.last);
    // A failure to start it ends the process by `drop`.
    java.reading =
        Some(thread::Builder::new().name("java-output".to_owned()).spawn(move || pass_on(reader, &last))?);
    Ok((Box::new(java), ours))
}

#[derive(Debug)]
struct JavaProcess {
    child: Child,
    last: Arc<Mutex<VecDeque<String>>>,
    reading: Option<JoinHandle<()>>,
    /// How it ended, and when that was seen first, ns.
    ended: Option<(ExitStatus, u64)>,
    is_ending: bool,
}

/// Passes lines on to standard error and keeps the last ones.
fn pass_on(reader: PipeReader, last: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        // A longer line goes on as the next one.
        match reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // The pipe may have no reader; what it wrote is remembered in any case.
        let _ = io::stderr().write_all(&line);
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if text.is_empty() {
            continue;
        }
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() == LINES_MAX {
            last.pop_front();
        }
        last.push_back(text);
    }
}

impl Process for JavaProcess {
    fn pid(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn ended(&mut self, now_ns: u64) -> Option<String> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten().map(|status| (status, now_ns));
        }
        let (status, seen_ns) = self.ended?;
        let is_read = self.reading.as_ref().is_none_or(JoinHandle::is_finished);
        (is_read || now_ns >= seen_ns.saturating_add(LINES_WAIT_NS)).then(|| in_words(status))
    }

    fn lines(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_empty() {
            return String::new();
        }
        let lines: Vec<&str> = last.iter().map(String::as_str).collect();
        format!("; it wrote last: {}", lines.join(" / "))
    }

    fn ends_by_itself(&mut self) {
        self.is_ending = true;
    }
}

/// How a process ended.
fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(OUT_OF_MEMORY), _) => format!("with exit code {OUT_OF_MEMORY}: it was out of memory"),
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(9)) => {
            "by signal 9 (SIGKILL): somebody killed it, or the host was out of memory".to_owned()
        }
        (None, signal) => format!("by signal {}", signal.unwrap_or_default()),
    }
}

impl Drop for JavaProcess {
    fn drop(&mut self) {
        let has_ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        if self.is_ending {
            for _ in 0..EXIT_LOOKS {
                if has_ended(&mut self.child) {
                    break;
                }
                thread::sleep(EXIT_LOOK);
            }
        }
        if !has_ended(&mut self.child) {
            // It fails only where there is no process any more.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if let Some(reading) = self.reading.take().filter(JoinHandle::is_finished) {
            let _ = reading.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::monotonic_ns;

    fn shell(script: &str) -> Started {
        let command = ["sh", "-c", script].map(str::to_owned);
        start(&command).expect("a shell")
    }

    /// How a shell with this script ended, and what it wrote last.
    fn end_of(script: &str) -> (String, String) {
        let (mut process, _ours) = shell(script);
        loop {
            if let Some(how) = process.ended(monotonic_ns()) {
                return (how, process.lines());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn the_exit_and_the_last_output_are_reported() {
        let (how, lines) = end_of("echo one; echo two >&2; exit 4");
        assert_eq!((how.as_str(), lines.as_str()), ("with exit code 4", "; it wrote last: one / two"));
        assert!(end_of("exit 3").0.contains("out of memory"));
        assert!(end_of("kill -9 $$").0.contains("SIGKILL"));
        assert_eq!(end_of("kill -15 $$"), ("by signal 15".to_owned(), String::new()));
        let (_, lines) = end_of("for i in $(seq 1 100); do echo line $i; done; printf '%01000d' 7");
        assert!(lines.len() < LINES_MAX * (LINE_BYTES_MAX as usize + 3) + 40, "{}", lines.len());
        assert!(lines.contains("line 100") && !lines.contains("line 1 "), "{lines}");
    }

    #[test]
    fn the_process_has_its_socket_as_descriptor_0_and_ends_with_us() {
        let (process, mut ours) = shell("read line; echo \"$line\" >&0; exec sleep 1000");
        ours.write_all(b"hello\n").expect("written");
        let mut said = [0; 6];
        ours.read_exact(&mut said).expect("an answer");
        assert_eq!(&said, b"hello\n");
        drop(process);
        assert_eq!(ours.read(&mut said).expect("read"), 0, "nobody holds the other end any more");
        assert!(start(&["/nonexistent/java".to_owned()]).is_err());
        assert!(start(&[]).is_err());
    }
}
