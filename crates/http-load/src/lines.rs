//! What is printed of requests: lines of CSV, and on standard error the first few that failed.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant, SystemTime};

/// The columns, as JMeter calls them.
const HEADER: &str = "timeStamp,elapsed,label,success\n";
/// How long a line may wait: what came before a kill is not lost.
const FLUSHED_EVERY: Duration = Duration::from_millis(200);
/// Failures that are printed in words, each once.
const FAILURES_MAX: usize = 20;

/// Where requests are printed.
pub(crate) struct RequestLines {
    out: RefCell<BufWriter<Box<dyn Write>>>,
    err: RefCell<Box<dyn Write>>,
    /// One instant on both clocks.
    began: (Instant, SystemTime),
    /// What begins before it is not printed.
    reported_from: Cell<Instant>,
    /// Failures that were printed.
    failures: RefCell<BTreeSet<String>>,
    /// How many were not: repeats, or more than are printed.
    more_failures: Cell<u64>,
}

impl RequestLines {
    pub(crate) fn of(out: impl Write + 'static, err: impl Write + 'static) -> Self {
        let now = Instant::now();
        let mut out = BufWriter::new(Box::new(out) as Box<dyn Write>);
        // When the receiver is gone nothing is lost.
        let _ = out.write_all(HEADER.as_bytes());
        Self {
            out: RefCell::new(out),
            err: RefCell::new(Box::new(err)),
            began: (now, SystemTime::now()),
            reported_from: Cell::new(now),
            failures: RefCell::default(),
            more_failures: Cell::new(0),
        }
    }

    /// Leaves out what begins within this time.
    pub(crate) fn leave_out(&self, warmup: Duration) {
        self.reported_from.set(self.began.0 + warmup);
    }

    /// A request, or all of a turn, from its beginning until now.
    pub(crate) fn request(&self, began: Instant, label: &str, is_good: bool) {
        let took_ms = began.elapsed().as_secs_f64() * 1e3;
        if began < self.reported_from.get() {
            return;
        }
        let since_unix = self.began.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let began_ms = (since_unix + began.saturating_duration_since(self.began.0)).as_secs_f64() * 1e3;
        let label = field(label);
        let _ = writeln!(self.out.borrow_mut(), "{began_ms:.3},{took_ms:.3},{label},{is_good}");
    }

    /// Why something failed, a lowercase sentence.
    pub(crate) fn failure(&self, label: &str, why: &str) {
        let line = format!("{label}: {why}");
        let mut reported = self.failures.borrow_mut();
        if reported.len() >= FAILURES_MAX || reported.contains(&line) {
            self.more_failures.set(self.more_failures.get() + 1);
            return;
        }
        let _ = writeln!(self.err.borrow_mut(), "{line}");
        reported.insert(line);
    }

    /// Hands lines on while no other task does.
    pub(crate) async fn keep_flushed(&self) {
        loop {
            tokio::time::sleep(FLUSHED_EVERY).await;
            let _ = self.out.borrow_mut().flush();
        }
    }

    /// Everything has been printed.
    pub(crate) fn finish(&self) {
        let more = self.more_failures.get();
        if more > 0 {
            let _ = writeln!(self.err.borrow_mut(), "and {more} more failures");
        }
        let _ = self.out.borrow_mut().flush();
    }
}

/// A text as a field of CSV.
fn field(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// What was written, while somebody else writes.
    #[derive(Clone, Default)]
    struct SharedBuffer(Rc<RefCell<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl SharedBuffer {
        fn text(&self) -> String {
            String::from_utf8_lossy(&self.0.borrow()).into_owned()
        }
    }

    #[test]
    fn a_repeated_failure_is_reported_once_and_leaves_others_room() {
        let (out, err) = (SharedBuffer::default(), SharedBuffer::default());
        let lines = RequestLines::of(out, err.clone());
        for _ in 0..100 {
            lines.failure("find", "status 500");
        }
        lines.failure("pay", "status 409");
        lines.finish();
        assert_eq!(err.text(), "find: status 500\npay: status 409\nand 99 more failures\n");
    }

    #[test]
    fn failures_that_all_differ_are_bounded() {
        let err = SharedBuffer::default();
        let lines = RequestLines::of(SharedBuffer::default(), err.clone());
        (0..1_000).for_each(|number| lines.failure("find", &format!("no answer to {number}")));
        lines.finish();
        assert_eq!(err.text().lines().count(), FAILURES_MAX + 1);
        assert!(err.text().ends_with("and 980 more failures\n"), "{}", err.text());
    }

    #[test]
    fn a_name_with_a_comma_is_one_field() {
        let out = SharedBuffer::default();
        let lines = RequestLines::of(out.clone(), SharedBuffer::default());
        lines.request(Instant::now(), "start, \"now\"", true);
        lines.finish();
        assert!(out.text().ends_with(",\"start, \"\"now\"\"\",true\n"), "{}", out.text());
    }
}
