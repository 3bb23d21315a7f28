//! What is told of requests: lines of CSV, and on standard error the first few that failed.

use std::cell::{Cell, RefCell};
use std::io::{BufWriter, Write};
use std::time::{Duration, Instant, SystemTime};

/// The columns, as JMeter calls them.
const HEADER: &str = "timeStamp,elapsed,label,success\n";
/// How long a line may wait: what came before a kill is not lost.
const FLUSHED_EVERY: Duration = Duration::from_millis(200);
/// Failures that are told in words.
const FAILURES_TOLD: u32 = 20;

/// Where requests are told.
pub(crate) struct Lines {
    out: RefCell<BufWriter<Box<dyn Write>>>,
    err: RefCell<Box<dyn Write>>,
    /// One instant on both clocks.
    began: (Instant, SystemTime),
    /// What begins before it is not told.
    told_from: Cell<Instant>,
    failures: Cell<u64>,
}

impl Lines {
    pub(crate) fn of(out: impl Write + 'static, err: impl Write + 'static) -> Self {
        let now = Instant::now();
        let mut out = BufWriter::new(Box::new(out) as Box<dyn Write>);
        // When nobody listens nothing is lost.
        let _ = out.write_all(HEADER.as_bytes());
        Self {
            out: RefCell::new(out),
            err: RefCell::new(Box::new(err)),
            began: (now, SystemTime::now()),
            told_from: Cell::new(now),
            failures: Cell::new(0),
        }
    }

    /// Leaves out what begins within this time.
    pub(crate) fn leave_out(&self, warmup: Duration) {
        self.told_from.set(self.began.0 + warmup);
    }

    /// A request, or all of a turn, from its beginning until now.
    pub(crate) fn request(&self, began: Instant, label: &str, is_good: bool) {
        let took_ms = began.elapsed().as_secs_f64() * 1e3;
        if began < self.told_from.get() {
            return;
        }
        let since_unix = self.began.1.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let began_ms = (since_unix + began.saturating_duration_since(self.began.0)).as_secs_f64() * 1e3;
        let _ = writeln!(self.out.borrow_mut(), "{began_ms:.3},{took_ms:.3},{label},{is_good}");
    }

    /// Why something failed, a lowercase sentence.
    pub(crate) fn failure(&self, label: &str, why: &str) {
        let failures = self.failures.get() + 1;
        self.failures.set(failures);
        if failures <= u64::from(FAILURES_TOLD) {
            let _ = writeln!(self.err.borrow_mut(), "{label}: {why}");
        }
    }

    /// Hands lines on while nobody else does.
    pub(crate) async fn keep_flushed(&self) {
        loop {
            tokio::time::sleep(FLUSHED_EVERY).await;
            let _ = self.out.borrow_mut().flush();
        }
    }

    /// All has been told.
    pub(crate) fn finish(&self) {
        let more = self.failures.get().saturating_sub(u64::from(FAILURES_TOLD));
        if more > 0 {
            let _ = writeln!(self.err.borrow_mut(), "and {more} more failures");
        }
        let _ = self.out.borrow_mut().flush();
    }
}
