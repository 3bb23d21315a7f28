//! Appends to a run file while the run lasts, from a thread of its own.
//!
//! What a crash costs: rows are committed at least every [`COMMIT_INTERVAL`], into the WAL, by plain
//! writes. After a kill of the process the WAL is whole up to the last commit, so at most that interval
//! is lost. `synchronous=NORMAL` syncs only at checkpoints: a power failure may also lose the commits
//! since the last checkpoint (a few MB of rows), never the file.
//!
//! What a failed write costs: the failure is remembered and every later call returns it; [`RunWriter::finish`]
//! gives the reserve back, writes the end record with it, and returns the failure.

use crate::error::StoreError;
use crate::rows::{self, RowError};
use crate::{fold, reserve, schema};
use kdyno_model::finding::{Caveat, Finding, Severity};
use kdyno_model::plan::TrialRef;
use kdyno_model::run::{Event, RunEnd, RunHeader, TrialStart};
use kdyno_model::sample::{NoiseReading, ProbeReading, Sample, StreamTotals};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Messages that may wait for the writer. At some ten rows per second and stream this is minutes of a
/// stuck disk for a small run; a full queue makes the caller wait rather than grow.
const QUEUE_MAX: usize = 1024;

/// Longest time a row waits for its commit: half of the second that a kill may cost.
const COMMIT_INTERVAL: Duration = Duration::from_millis(500);

/// Messages in one transaction at most: about 1 MB of rows. SQLite keeps that in its cache; what had spilled
/// into the WAL it would give up by itself on a full disk.
const COMMIT_MESSAGES_MAX: u32 = 256;

/// Writes one run file. Every call but [`RunWriter::create`] only queues; a failure shows at the next call.
/// Dropping it without [`RunWriter::finish`] leaves a whole file without an end record.
#[derive(Debug)]
pub struct RunWriter {
    path: PathBuf,
    queue: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<()>>,
    failure: Failure,
}

/// The first failure of the writer thread.
type Failure = Arc<Mutex<Option<StoreError>>>;

enum Message {
    TrialStarted(Box<TrialStart>),
    Sample(TrialRef, Box<Sample>),
    Probe(TrialRef, Vec<ProbeReading>),
    Event(Option<TrialRef>, Box<Event>),
    Noise(TrialRef, Box<NoiseReading>),
    Totals(TrialRef, Vec<StreamTotals>),
    Log(String, String),
    Findings(Vec<Finding>, Vec<(TrialRef, Severity, Caveat)>),
    End(Box<RunEnd>),
}

impl RunWriter {
    /// Makes the run file, which must not exist, with its head, and starts the writer.
    ///
    /// Fails when the path is taken, the folder is missing or not writable, or there is no space for the
    /// reserve; then nothing is left behind.
    pub fn create(path: &Path, header: &RunHeader) -> Result<Self, StoreError> {
        // Only this makes sure that no existing run is touched: SQLite itself would open it.
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| StoreError::write_io(path, &error))?;
        match Self::start(path, header) {
            Ok(writer) => Ok(writer),
            Err(error) => {
                for suffix in ["", "-wal", "-shm", "-journal", "-reserve"] {
                    // Best effort: the error that is returned matters more than a leftover.
                    let _ = std::fs::remove_file(reserve::beside(path, suffix));
                }
                Err(error)
            }
        }
    }

    fn start(path: &Path, header: &RunHeader) -> Result<Self, StoreError> {
        reserve::take(path, reserve::RESERVE_BYTES).map_err(|error| StoreError::write_io(path, &error))?;
        let connection = prepare(path, header).map_err(|error| write_error(path, error))?;
        let (queue, messages) = sync_channel(QUEUE_MAX);
        let failure = Failure::default();
        let state = Writing { path: path.to_path_buf(), connection, failure: Arc::clone(&failure) };
        let thread = std::thread::Builder::new()
            .name("run-writer".to_owned())
            .spawn(move || state.run(&messages))
            .map_err(|error| StoreError::write_io(path, &error))?;
        Ok(Self { path: path.to_path_buf(), queue: Some(queue), thread: Some(thread), failure })
    }

    /// Where the run file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A trial's load starts. Each trial once, before anything else of it.
    pub fn trial_started(&self, start: &TrialStart) -> Result<(), StoreError> {
        self.send(Message::TrialStarted(Box::new(start.clone())))
    }

    /// One row of counts and histograms. The same (worker, sequence) of a trial counts once.
    pub fn sample(&self, trial: TrialRef, sample: Sample) -> Result<(), StoreError> {
        self.send(Message::Sample(trial, Box::new(sample)))
    }

    /// The readings of one round of probes.
    pub fn probe(&self, trial: TrialRef, readings: Vec<ProbeReading>) -> Result<(), StoreError> {
        self.send(Message::Probe(trial, readings))
    }

    /// Something happened, in a trial or outside of any.
    pub fn event(&self, trial: Option<TrialRef>, event: Event) -> Result<(), StoreError> {
        self.send(Message::Event(trial, Box::new(event)))
    }

    /// The noise probe before a trial.
    pub fn noise(&self, trial: TrialRef, reading: NoiseReading) -> Result<(), StoreError> {
        self.send(Message::Noise(trial, Box::new(reading)))
    }

    /// The accounts of streams that ended; a stream's later account replaces an earlier one.
    pub fn totals(&self, trial: TrialRef, totals: Vec<StreamTotals>) -> Result<(), StoreError> {
        self.send(Message::Totals(trial, totals))
    }

    /// The end of a log of something that went wrong. Of a text above 64 KiB the end is kept.
    pub fn log(&self, subject: &str, excerpt: &str) -> Result<(), StoreError> {
        self.send(Message::Log(subject.to_owned(), excerpt.to_owned()))
    }

    /// What the numbers of one or more trials mean; replaces what was stored for those trials.
    pub fn findings(
        &self,
        findings: &[Finding],
        caveats: &[(TrialRef, Severity, Caveat)],
    ) -> Result<(), StoreError> {
        self.send(Message::Findings(findings.to_vec(), caveats.to_vec()))
    }

    /// The failure that every call returns from now on, if there was one.
    pub fn failure(&self) -> Option<StoreError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes the end record, folds everything into the one file and closes it.
    ///
    /// After a failure the end record is still written, with the space held back for it; the failure is
    /// returned all the same.
    pub fn finish(mut self, end: RunEnd) -> Result<(), StoreError> {
        if let Some(queue) = &self.queue {
            // A thread that is gone has left its failure or has panicked; `close` tells.
            let _ = queue.send(Message::End(Box::new(end)));
        }
        self.close()
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        match self.queue.as_ref().map(|queue| queue.send(message)) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(self.failure().unwrap_or_else(|| self.gone())),
        }
    }

    fn close(&mut self) -> Result<(), StoreError> {
        drop(self.queue.take());
        let ended = self.thread.take().map(JoinHandle::join);
        match (self.failure(), ended) {
            (Some(failure), _) => Err(failure),
            (None, Some(Err(_))) => Err(self.gone()),
            (None, Some(Ok(())) | None) => Ok(()),
        }
    }

    fn gone(&self) -> StoreError {
        StoreError::Write { path: self.path.clone(), reason: "the writer thread has ended early".to_owned() }
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        // The failure has been returned by a call already, or the caller is past caring.
        let _ = self.close();
    }
}

/// Makes the tables and the head in rollback mode, so that they stand in the main file, then turns to WAL.
fn prepare(path: &Path, header: &RunHeader) -> Result<Connection, RowError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", schema::FORMAT_VERSION)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection.execute_batch(schema::TABLES)?;
    rows::header(&connection, header)?;
    connection.execute_batch("COMMIT")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Only what uses the WAL holds the file: until the first row, a reader would take it for one that was left over.
    connection.query_row("SELECT count(*) FROM run", [], |_| Ok(()))?;
    Ok(connection)
}

/// The open transaction.
struct Transaction {
    commit_at: Instant,
    messages: u32,
}

impl Transaction {
    fn now() -> Self {
        Self { commit_at: Instant::now() + COMMIT_INTERVAL, messages: 0 }
    }

    fn is_due(&self) -> bool {
        self.messages >= COMMIT_MESSAGES_MAX || self.commit_at <= Instant::now()
    }
}

/// The writer thread's side.
struct Writing {
    path: PathBuf,
    connection: Connection,
    failure: Failure,
}

impl Writing {
    fn run(self, messages: &Receiver<Message>) {
        let mut open: Option<Transaction> = None;
        let mut end = None;
        loop {
            let message = match &open {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(open) => messages.recv_timeout(open.commit_at.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(Message::End(record)) => end = Some(record),
                Ok(message) => self.write(&message, &mut open),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Also looked at after each message: a steady stream of them must not put off the commit.
            if open.as_ref().is_some_and(Transaction::is_due) {
                self.commit(&mut open);
            }
        }
        self.commit(&mut open);
        self.end(end.as_deref());
    }

    /// Lays one message's rows; opens the transaction when none is open. Nothing is written after a failure.
    fn write(&self, message: &Message, open: &mut Option<Transaction>) {
        if self.has_failed() {
            return;
        }
        let begun = match open {
            Some(_) => Ok(()),
            None => self.connection.execute_batch("BEGIN IMMEDIATE").map_err(RowError::from),
        };
        let transaction = open.get_or_insert_with(Transaction::now);
        transaction.messages += 1;
        if let Err(error) = begun.and_then(|()| self.lay(message)) {
            self.fail(error);
            *open = None;
        }
    }

    fn lay(&self, message: &Message) -> Result<(), RowError> {
        let connection = &self.connection;
        match message {
            Message::TrialStarted(start) => rows::trial_start(connection, start),
            Message::Sample(trial, sample) => rows::sample(connection, *trial, sample),
            Message::Probe(trial, readings) => rows::probe(connection, *trial, readings),
            Message::Event(trial, event) => rows::event(connection, *trial, event),
            Message::Noise(trial, reading) => rows::noise(connection, *trial, reading),
            Message::Totals(trial, totals) => rows::totals(connection, *trial, totals),
            Message::Log(subject, excerpt) => rows::log(connection, subject, excerpt),
            Message::Findings(findings, caveats) => rows::findings(connection, findings, caveats),
            Message::End(end) => rows::run_end(connection, end),
        }
    }

    fn commit(&self, open: &mut Option<Transaction>) {
        if open.take().is_some()
            && let Err(error) = self.connection.execute_batch("COMMIT")
        {
            self.fail(error.into());
        }
    }

    /// Makes the best of a failure, then lets the callers know: the open transaction's rows are saved with
    /// the reserve's space if SQLite has not given them up already, and some is held back again for the end.
    /// That none of this can succeed changes nothing: the first failure is the one to report.
    fn fail(&self, error: RowError) {
        let _ = reserve::give_back(&self.path);
        if !self.connection.is_autocommit() && self.connection.execute_batch("COMMIT").is_err() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = reserve::take(&self.path, reserve::RESERVE_AFTER_FAILURE_BYTES);
        let failure = write_error(&self.path, error);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Gives the reserve back, writes the end record, folds the WAL and closes.
    fn end(self, end: Option<&RunEnd>) {
        let given_back =
            reserve::give_back(&self.path).map_err(|error| StoreError::write_io(&self.path, &error));
        let written = end
            .map_or(Ok(()), |end| rows::run_end(&self.connection, end))
            .map_err(|error| write_error(&self.path, error));
        let folded = fold::fold_own(&self.connection).map_err(|error| StoreError::write(&self.path, &error));
        if let Err(error) = given_back.and(written).and(folded) {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

fn write_error(path: &Path, error: RowError) -> StoreError {
    match error {
        RowError::Sql(error) => StoreError::write(path, &error),
        other => StoreError::Write { path: path.to_path_buf(), reason: other.to_string() },
    }
}
