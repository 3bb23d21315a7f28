//! The calls by which a run hands its evidence over while it lasts. The writing is done by a thread of its own
//! (`writing.rs`).

use crate::error::StoreError;
use crate::reader::RunFile;
use crate::writing::{self, WriteRequest, WriterFailure, WriterMessage, Writing};
use crate::{fold, opening, reserve};
use kdyno_model::event::{Event, Subject};
use kdyno_model::evidence::{TrialEvidence, TrialStacks};
use kdyno_model::outcome::Judgement;
use kdyno_model::run::{RunHeader, Session, SessionEnd, TrialStart};
use kdyno_model::sample::{NoiseReading, ProbeReading, Sample, StreamTotals};
use kdyno_model::series::TrialSeries;
use kdyno_model::trial::TrialId;
use kdyno_model::worker::PhaseSpan;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Messages that may wait for the writer. At some ten rows per second and stream this is minutes of a
/// stuck disk for a small run; a full queue makes the caller wait rather than grow.
const QUEUE_MAX: usize = 1024;

/// Writes one run file. Every call but those that start it and [`RunWriter::evidence`] only queues; a failure
/// shows at the next call. Dropping it without [`RunWriter::finish`] leaves a whole file whose session has no end.
#[derive(Debug)]
pub struct RunWriter {
    path: PathBuf,
    queue: Option<SyncSender<WriterMessage>>,
    thread: Option<JoinHandle<()>>,
    failure: WriterFailure,
}

impl RunWriter {
    /// Makes the run file, which must not exist, with its head and its first session, and starts the writer.
    ///
    /// # Errors
    /// When the path is taken, the folder is missing or not writable, or there is no space for the reserve; then
    /// nothing is left behind.
    pub fn create(path: &Path, header: &RunHeader, session: &Session) -> Result<Self, StoreError> {
        // Only this makes sure that no existing run is touched: SQLite itself would open it.
        std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(path)
            .map_err(|error| StoreError::write_io(path, &error))?;
        let made = writing::prepare(path, header, session)
            .and_then(|connection| Self::start(path, connection, session.number));
        made.inspect_err(|_| {
            for suffix in ["", "-wal", "-shm", "-journal", "-reserve"] {
                // Best effort: the error that is returned matters more than a leftover.
                let _ = std::fs::remove_file(reserve::sibling(path, suffix));
            }
        })
    }

    /// Appends a session to a run file that no other process has open. Everything in it stays but what the trials so
    /// far said together; a session that was cut off stays without an end.
    ///
    /// # Errors
    /// When the file cannot be read or written, is in use, or the session's number does not follow the last one:
    /// then another process was faster. The file is left as it was.
    pub fn resume(path: &Path, session: &Session) -> Result<Self, StoreError> {
        RunFile::open_unused(path)?;
        let connection = opening::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if let Err(error) = writing::append_session(path, &connection, session) {
            // Gives the reserve back as well, unless it belongs to another process that was faster.
            fold::fold_left_over(&connection, path);
            return Err(error);
        }
        Self::start(path, connection, session.number)
    }

    fn start(path: &Path, connection: Connection, session: u32) -> Result<Self, StoreError> {
        let (queue, messages) = sync_channel(QUEUE_MAX);
        let failure = WriterFailure::default();
        let state = Writing::new(path, connection, session, &failure);
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

    /// A trial's load starts. Each trial once; from then on its evidence can be read.
    pub fn trial_started(&self, start: &TrialStart) -> Result<(), StoreError> {
        self.write(WriteRequest::TrialStarted(Box::new(start.clone())))
    }

    /// Where the trial's phases lie; replaces what was said of them before.
    pub fn phases(&self, trial: TrialId, spans: &[PhaseSpan]) -> Result<(), StoreError> {
        self.write(WriteRequest::Phases(trial, spans.to_vec()))
    }

    /// One row of counts and histograms. The same (worker, stream, sequence) of a trial counts once.
    pub fn sample(&self, trial: TrialId, sample: Sample) -> Result<(), StoreError> {
        self.write(WriteRequest::Sample(trial, Box::new(sample)))
    }

    /// The readings of one round of probes.
    pub fn probe(&self, trial: TrialId, readings: Vec<ProbeReading>) -> Result<(), StoreError> {
        self.write(WriteRequest::Probe(trial, readings))
    }

    /// Something happened, in a trial or outside of any.
    pub fn event(&self, trial: Option<TrialId>, event: Event) -> Result<(), StoreError> {
        self.write(WriteRequest::Event(trial, Box::new(event)))
    }

    /// The noise probe before a trial.
    pub fn noise(&self, trial: TrialId, reading: NoiseReading) -> Result<(), StoreError> {
        self.write(WriteRequest::Noise(trial, Box::new(reading)))
    }

    /// The totals of streams that ended; a stream's later totals replace its earlier ones.
    pub fn totals(&self, trial: TrialId, totals: Vec<StreamTotals>) -> Result<(), StoreError> {
        self.write(WriteRequest::Totals(trial, totals))
    }

    /// The end of a log of something that went wrong. A text above 64 KiB keeps its end.
    pub fn log(&self, subject: &str, excerpt: &str) -> Result<(), StoreError> {
        self.write(WriteRequest::Log(subject.to_owned(), excerpt.to_owned()))
    }

    /// What the numbers mean; replaces what was stored for the scopes that are named here.
    pub fn judgement(&self, judgement: &Judgement) -> Result<(), StoreError> {
        self.write(WriteRequest::Judgement(Box::new(judgement.clone())))
    }

    /// The courses over time of a trial that is complete; later ones replace earlier ones.
    pub fn course(&self, series: TrialSeries) -> Result<(), StoreError> {
        self.write(WriteRequest::Course(Box::new(series)))
    }

    /// The stacks of a process in the measured window of a trial; later ones replace earlier ones.
    pub fn stacks(&self, stacks: TrialStacks) -> Result<(), StoreError> {
        self.write(WriteRequest::Stacks(Box::new(stacks)))
    }

    /// Stacks as a recording of Java's Flight Recorder.
    pub fn flight_recording(
        &self,
        trial: TrialId,
        subject: &Subject,
        bytes: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.write(WriteRequest::FlightRecording(trial, subject.clone(), bytes))
    }

    /// Takes a trial out of the file with all that was stored of it: it is run again under another number.
    pub fn forget(&self, trial: TrialId) -> Result<(), StoreError> {
        self.write(WriteRequest::Forget(trial))
    }

    /// Everything that was handed in of a trial before this call, once it is committed.
    ///
    /// # Errors
    /// When the trial has not started, or a write has failed.
    pub fn evidence(&self, trial: TrialId) -> Result<TrialEvidence, StoreError> {
        let (reply, answer) = sync_channel(1);
        self.send(WriterMessage::Evidence(trial, reply))?;
        answer.recv().unwrap_or_else(|_| Err(self.failure().unwrap_or_else(|| self.gone())))
    }

    /// The newest part of a trial, for display: the rows of one second that were written from that second on, and
    /// the readings of that time; neither totals nor events nor noise.
    ///
    /// `reply` is called by the writer's thread, so it must only hand on. It is dropped uncalled when the trial has
    /// not started or a write has failed.
    pub fn recent(
        &self,
        trial: TrialId,
        from_written_second: u32,
        reply: Box<dyn FnOnce(TrialEvidence) + Send>,
    ) -> Result<(), StoreError> {
        self.send(WriterMessage::Recent(trial, from_written_second, reply))
    }

    /// The failure that every call returns from now on, if there was one.
    pub fn failure(&self) -> Option<StoreError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes the session's end, folds everything into the one file and closes it.
    ///
    /// # Errors
    /// After a failure the end is still written, with the space held back for it; the failure is returned all the
    /// same.
    pub fn finish(mut self, end: SessionEnd) -> Result<(), StoreError> {
        if let Some(queue) = &self.queue {
            // A thread that is gone has left its failure or has panicked; `close` reports it.
            let _ = queue.send(WriterMessage::End(Box::new(end)));
        }
        self.close()
    }

    fn write(&self, row: WriteRequest) -> Result<(), StoreError> {
        self.send(WriterMessage::Write(row))
    }

    fn send(&self, message: WriterMessage) -> Result<(), StoreError> {
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
