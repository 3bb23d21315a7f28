//! The writer's thread: writes rows as they are handed in, commits, and reads back on request.
//!
//! What a crash costs: rows are committed at least every [`COMMIT_INTERVAL`], into the WAL, by plain
//! writes. After a kill of the process the WAL is whole up to the last commit, so at most that interval
//! is lost. `synchronous=NORMAL` syncs only at checkpoints: a power failure may also lose the commits
//! since the last checkpoint (a few MB of rows), never the file.
//!
//! What a failed write costs: the failure is remembered and every later call returns it; the end gives
//! the reserve back, writes the session's end with it, and returns the failure.

use crate::error::StoreError;
use crate::reader::RunFile;
use crate::rows::{self, RowError};
use crate::{courses, fold, reserve, schema, stacks};
use kdyno_model::event::{Event, Subject};
use kdyno_model::evidence::{TrialEvidence, TrialStacks};
use kdyno_model::outcome::Judgement;
use kdyno_model::run::{RunHeader, Session, SessionEnd, TrialStart};
use kdyno_model::sample::{NoiseReading, ProbeReading, Sample, StreamTotals};
use kdyno_model::series::TrialSeries;
use kdyno_model::trial::TrialId;
use kdyno_model::worker::PhaseSpan;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest time a row waits for its commit: half of the second that a kill may cost.
const COMMIT_INTERVAL: Duration = Duration::from_millis(500);

/// Messages in one transaction at most: about 1 MB of rows. SQLite keeps that in its cache; what had spilled
/// into the WAL it would give up by itself on a full disk.
const COMMIT_MESSAGES_MAX: u32 = 256;

/// The first failure of the writer thread.
pub(crate) type WriterFailure = Arc<Mutex<Option<StoreError>>>;

/// A request to the thread.
pub(crate) enum WriterMessage {
    Write(WriteRequest),
    Evidence(TrialId, SyncSender<Result<TrialEvidence, StoreError>>),
    /// The rows written from that second on, and who takes them.
    Recent(TrialId, u32, Box<dyn FnOnce(TrialEvidence) + Send>),
    End(Box<SessionEnd>),
}

/// What one call hands in.
pub(crate) enum WriteRequest {
    TrialStarted(Box<TrialStart>),
    Phases(TrialId, Vec<PhaseSpan>),
    Sample(TrialId, Box<Sample>),
    Probe(TrialId, Vec<ProbeReading>),
    Event(Option<TrialId>, Box<Event>),
    Noise(TrialId, Box<NoiseReading>),
    Totals(TrialId, Vec<StreamTotals>),
    Log(String, String),
    Judgement(Box<Judgement>),
    Course(Box<TrialSeries>),
    Stacks(Box<TrialStacks>),
    FlightRecording(TrialId, Subject, Vec<u8>),
    Forget(TrialId),
}

/// Makes the tables and the head in rollback mode, so that they are in the main file, then turns to WAL.
pub(crate) fn prepare(path: &Path, header: &RunHeader, session: &Session) -> Result<Connection, StoreError> {
    take_reserve(path)?;
    write_head(path, header, session).map_err(|error| write_error(path, error))
}

fn write_head(path: &Path, header: &RunHeader, session: &Session) -> Result<Connection, RowError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", schema::FORMAT_VERSION)?;
    let transaction = Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(schema::TABLES)?;
    rows::header(&transaction, header)?;
    rows::session(&transaction, session)?;
    transaction.commit()?;
    turn_to_wal(&connection)?;
    Ok(connection)
}

/// First the WAL, which marks the file as in use, then the session: of two processes that would resume a file at
/// the same time, one finds it in use or the session's number taken. What the trials so far said together goes: no reader
/// is to take it for what the run says, which goes on.
pub(crate) fn append_session(
    path: &Path,
    connection: &Connection,
    session: &Session,
) -> Result<(), StoreError> {
    let append = || -> Result<(), RowError> {
        turn_to_wal(connection)?;
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        rows::session(&transaction, session)?;
        rows::forget_together(&transaction)?;
        Ok(transaction.commit()?)
    };
    take_reserve(path)?;
    append().map_err(|error| write_error(path, error))
}

fn take_reserve(path: &Path) -> Result<(), StoreError> {
    reserve::take(path, reserve::RESERVE_BYTES).map_err(|error| StoreError::write_io(path, &error))
}

fn turn_to_wal(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Only what uses the WAL holds the file: until the first row, a reader would take it for one that was left over.
    connection.query_row("SELECT count(*) FROM run", [], |_| Ok(()))
}

/// The transaction that gathers rows.
struct Gathering {
    commit_at: Instant,
    messages: u32,
}

impl Gathering {
    fn now() -> Self {
        Self { commit_at: Instant::now() + COMMIT_INTERVAL, messages: 0 }
    }

    fn is_due(&self) -> bool {
        self.messages >= COMMIT_MESSAGES_MAX || self.commit_at <= Instant::now()
    }
}

/// The writer thread's side.
pub(crate) struct Writing {
    file: RunFile,
    /// Number of the session that goes on.
    session: u32,
    failure: WriterFailure,
}

impl Writing {
    pub(crate) fn new(path: &Path, connection: Connection, session: u32, failure: &WriterFailure) -> Self {
        Self { file: RunFile::of_writer(path, connection), session, failure: Arc::clone(failure) }
    }

    /// Writes rows and answers until all senders are gone, then ends the session.
    pub(crate) fn run(self, messages: &Receiver<WriterMessage>) {
        let mut open: Option<Gathering> = None;
        let mut end = None;
        loop {
            let message = match &open {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(open) => messages.recv_timeout(open.commit_at.saturating_duration_since(Instant::now())),
            };
            match message {
                Ok(WriterMessage::Write(row)) => self.write(&row, &mut open),
                Ok(WriterMessage::Evidence(trial, reply)) => {
                    self.commit(&mut open);
                    let found = self.failed().map_or_else(|| self.file.evidence(trial), Err);
                    // Who does not wait for the answer any more does not need it.
                    let _ = reply.send(found);
                }
                Ok(WriterMessage::Recent(trial, from_second, reply)) => {
                    if let Ok(found) = self.file.recent(trial, from_second) {
                        reply(found);
                    }
                }
                Ok(WriterMessage::End(record)) => end = Some(record),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Also looked at after each message: a steady stream of them must not put off the commit.
            if open.as_ref().is_some_and(Gathering::is_due) {
                self.commit(&mut open);
            }
        }
        self.commit(&mut open);
        self.end(end.as_deref());
    }

    /// Writes what was handed in by one call; opens the transaction when none is open. Nothing is written after a failure.
    fn write(&self, row: &WriteRequest, open: &mut Option<Gathering>) {
        if self.failed().is_some() {
            return;
        }
        let begun = match open {
            Some(_) => Ok(()),
            None => self.file.connection().execute_batch("BEGIN IMMEDIATE").map_err(RowError::from),
        };
        let transaction = open.get_or_insert_with(Gathering::now);
        transaction.messages += 1;
        if let Err(error) = begun.and_then(|()| self.insert(row)) {
            self.fail(error);
            *open = None;
        }
    }

    fn insert(&self, row: &WriteRequest) -> Result<(), RowError> {
        let connection = self.file.connection();
        match row {
            WriteRequest::TrialStarted(start) => rows::trial_start(connection, start),
            WriteRequest::Phases(trial, spans) => rows::phases(connection, *trial, spans),
            WriteRequest::Sample(trial, sample) => rows::sample(connection, *trial, sample),
            WriteRequest::Probe(trial, readings) => rows::probe(connection, *trial, readings),
            WriteRequest::Event(trial, event) => rows::event(connection, *trial, event),
            WriteRequest::Noise(trial, reading) => rows::noise(connection, *trial, reading),
            WriteRequest::Totals(trial, totals) => rows::totals(connection, *trial, totals),
            WriteRequest::Log(subject, excerpt) => rows::log(connection, subject, excerpt),
            WriteRequest::Judgement(judgement) => rows::judgement(connection, judgement),
            WriteRequest::Course(series) => courses::write(connection, series),
            WriteRequest::Stacks(stacks) => stacks::write(connection, stacks),
            WriteRequest::FlightRecording(trial, subject, bytes) => {
                stacks::write_recording(connection, *trial, subject, bytes)
            }
            WriteRequest::Forget(trial) => rows::forget(connection, *trial),
        }
    }

    fn commit(&self, open: &mut Option<Gathering>) {
        if open.take().is_some()
            && let Err(error) = self.file.connection().execute_batch("COMMIT")
        {
            self.fail(error.into());
        }
    }

    /// Makes the best of a failure, then lets the callers know: the open transaction's rows are saved with
    /// the reserve's space if SQLite has not given them up already, and some is held back again for the end.
    /// That none of this can succeed changes nothing: the first failure is the one to report.
    fn fail(&self, error: RowError) {
        let (path, connection) = (self.file.path(), self.file.connection());
        let _ = reserve::give_back(path);
        if !connection.is_autocommit() && connection.execute_batch("COMMIT").is_err() {
            let _ = connection.execute_batch("ROLLBACK");
        }
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = reserve::take(path, reserve::RESERVE_AFTER_FAILURE_BYTES);
        let failure = write_error(path, error);
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    fn failed(&self) -> Option<StoreError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives the reserve back, writes the session's end, folds the WAL and closes.
    fn end(self, end: Option<&SessionEnd>) {
        let (path, connection) = (self.file.path(), self.file.connection());
        let given_back = reserve::give_back(path).map_err(|error| StoreError::write_io(path, &error));
        let written = end
            .map_or(Ok(()), |end| rows::session_end(connection, self.session, end))
            .map_err(|error| write_error(path, error));
        let folded = fold::fold_own(connection).map_err(|error| StoreError::write(path, &error));
        if let Err(error) = given_back.and(written).and(folded) {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}

fn write_error(path: &Path, error: RowError) -> StoreError {
    match error {
        RowError::Sql(error) => StoreError::write(path, &error),
        RowError::SessionNumber { last, number } => {
            StoreError::SessionNumber { path: path.to_path_buf(), last, number }
        }
        other => StoreError::Write { path: path.to_path_buf(), reason: other.to_string() },
    }
}
