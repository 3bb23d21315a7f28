//! An agent that runs a whole lab, in the pod of `--in kubernetes`: it starts that lab, passes on what it says, stops it on request
//! and sends its run file.
//!
//! Each connection carries one question. So one that breaks is simply asked again, and the run goes on without any.

use super::agent::{AgentOptions, refuse};
use super::lab_task::{LabFailure, REQUEST_BYTES_MAX};
use super::outgoing::locked;
use super::session::{self, Arrived, BEAT, BYTES, FRAME_BYTES_MAX, Frame, PIECE_BYTES, Watched};
use crate::error::LabError;
use kdyno_model::secret::Secret;
use kdyno_store::{RunFile, StoreError};
use kdyno_testbed::{folder, leftovers};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long an ended run waits for being fetched, and how long one that goes on is tried to be reached.
pub(super) const STAYS: Duration = Duration::from_secs(3600);

/// How soon new output, or the end, is seen.
const LOOK: Duration = Duration::from_millis(200);

/// How long a lab may take to end once its agent is to.
const END_DEADLINE: Duration = Duration::from_secs(8);

/// Files in its folder: what the lab says, and what stopped it.
const OUTPUT: &str = "output";
const FAILURE: &str = "failure";

/// What the name of a run file ends in.
const ENDING: &str = ".kdyno";

/// With what a lab ends that was stopped.
const INTERRUPTED: u8 = 130;

/// Most names of run files in an answer.
const NAMES_MAX: usize = 20;

/// What is asked on a connection, after the greeting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum LabAsk {
    /// Run what follows as so many bytes, unless something runs already.
    Run { bytes: u64 },
    /// Pass on what the lab says, from this byte on, and how it ends.
    Output { from: u64 },
    /// Stop the run and keep its evidence.
    Stop,
    /// Pass on the run file of this name.
    File { name: String },
}

/// The answer, in words that an agent of another version has too where it refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum LabAnswer {
    /// It is done.
    Taken,
    /// It is not.
    Refused { why: String },
    /// The lab has ended; what stopped it, unless it went to its end.
    Ended { failure: Option<LabFailure> },
    /// There is no such run file, but these.
    NoFile { there: Vec<String> },
    /// The file follows as so many bytes.
    File { bytes: u64 },
}

/// The lab of this agent.
pub(super) struct LabHost<'a> {
    options: &'a AgentOptions,
    /// Where run files are.
    runs: &'a Path,
    folder: PathBuf,
    child: Mutex<Option<Child>>,
    is_stopped: AtomicBool,
}

impl<'a> LabHost<'a> {
    /// One that has not started yet.
    ///
    /// # Errors
    /// Its folder cannot be made.
    pub(super) fn new(options: &'a AgentOptions, runs: &'a Path) -> Result<Self, LabError> {
        let folder = options.temp_dir.join(format!("kdyno-agent-lab-{}", std::process::id()));
        folder::create_private(&folder)?;
        leftovers::claim(&folder);
        Ok(Self { options, runs, folder, child: Mutex::default(), is_stopped: AtomicBool::new(false) })
    }

    /// Answers what a lab that has greeted asks.
    pub(super) fn answer(&self, reader: &mut Watched<UnixStream>, stream: &UnixStream) -> io::Result<()> {
        let Some(Arrived::Note(ask)) = session::read::<LabAsk>(reader)? else {
            return refuse(&mut &*stream, "runs a lab, and was not asked as one");
        };
        match ask {
            LabAsk::Run { bytes } => {
                let request = received(reader, bytes)?;
                self.start(&request)?;
                say(stream, &LabAnswer::Taken)?;
            }
            LabAsk::Output { from } => self.pass_output(from, stream)?,
            LabAsk::Stop => {
                self.stop();
                say(stream, &LabAnswer::Taken)?;
            }
            LabAsk::File { name } => self.pass_file(&name, stream)?,
        }
        // The peer closes first: what it has not read yet would be lost.
        let _ = reader.read(&mut [0]);
        Ok(())
    }

    fn start(&self, request: &Secret) -> io::Result<()> {
        let mut child = locked(&self.child);
        if child.is_some() {
            return Ok(());
        }
        let file = |name: &str| File::create(self.folder.join(name));
        let mut started = Command::new(&self.options.self_exe)
            .arg("lab")
            .arg(self.runs)
            .stdin(Stdio::piped())
            .stdout(file(FAILURE)?)
            .stderr(file(OUTPUT)?)
            .spawn()?;
        let stdin = started.stdin.take();
        *child = Some(started);
        // One that ends before it has read all of it says why.
        stdin.map_or(Ok(()), |mut stdin| stdin.write_all(request.expose())).or(Ok(()))
    }

    /// How it ended; `None`: it goes on.
    fn ended(&self) -> io::Result<Option<LabAnswer>> {
        let mut child = locked(&self.child);
        let Some(child) = child.as_mut() else {
            return Ok(Some(LabAnswer::Refused { why: "runs nothing".to_owned() }));
        };
        Ok(child.try_wait()?.map(|status| LabAnswer::Ended { failure: self.failure(status) }))
    }

    /// What it says that it was stopped by.
    fn failure(&self, status: ExitStatus) -> Option<LabFailure> {
        let mut said = Vec::new();
        // The other half is what an answer has around it.
        let most = u64::from(FRAME_BYTES_MAX / 2);
        let read = File::open(self.folder.join(FAILURE))
            .and_then(|file| file.take(most).read_to_end(&mut said))
            .map_err(|error| error.to_string());
        let parsed = read.and_then(|_| serde_json::from_slice(&said).map_err(|error| error.to_string()));
        match parsed {
            Ok(failure) if status.success() => failure,
            // It had not begun: from then on it ends by itself, with a result.
            _ if self.is_stopped.load(Ordering::Relaxed)
                && status.signal() == Some(Signal::TERM.as_raw()) =>
            {
                Some(LabFailure { exit: INTERRUPTED, message: "interrupted".to_owned(), hint: None })
            }
            _ => {
                let message = format!("the lab in the pod ended without a result ({status})");
                Some(LabFailure { exit: 1, message, hint: None })
            }
        }
    }

    /// Whether its run goes on.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.ended(), Ok(None))
    }

    /// Asks it to stop, once: a second signal would end it without its evidence.
    fn stop(&self) {
        let mut child = locked(&self.child);
        let Some(child) = child.as_mut() else { return };
        let is_there = matches!(child.try_wait(), Ok(None));
        if is_there && !self.is_stopped.swap(true, Ordering::Relaxed) {
            // It may just have ended.
            let _ = kill_process(Pid::from_child(child), Signal::TERM);
        }
    }

    /// Ends it at once.
    fn kill(&self) {
        if let Some(child) = locked(&self.child).as_mut() {
            // Fails where it has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn pass_output(&self, from: u64, mut stream: &UnixStream) -> io::Result<()> {
        let Ok(mut output) = File::open(self.folder.join(OUTPUT)) else {
            return say(stream, &LabAnswer::Refused { why: "runs nothing".to_owned() });
        };
        output.seek(SeekFrom::Start(from))?;
        let mut beaten = Instant::now();
        let mut stopped_at = None;
        loop {
            if self.options.stop.load(Ordering::Relaxed) {
                self.stop();
                // The agent's own end waits for this connection.
                if stopped_at.get_or_insert_with(Instant::now).elapsed() >= END_DEADLINE {
                    self.kill();
                }
            }
            // Asked before the output is read, so that the last words are passed on.
            let ended = self.ended()?;
            pass(&mut output, stream)?;
            if let Some(answer) = ended {
                return say(stream, &answer);
            }
            if beaten.elapsed() >= BEAT {
                stream.write_all(session::received(0).expose())?;
                beaten = Instant::now();
            }
            std::thread::sleep(LOOK);
        }
    }

    fn pass_file(&self, name: &str, stream: &UnixStream) -> io::Result<()> {
        let path = self.runs.join(name);
        if name.contains('/') || !name.ends_with(ENDING) || !path.is_file() {
            return say(stream, &LabAnswer::NoFile { there: self.run_files() });
        }
        // What a killed lab left next to the file becomes a part of it; what one that runs has there would be missing in a copy.
        if let Err(error) = RunFile::make_whole(&path) {
            let why = match error {
                StoreError::InUse { .. } => {
                    format!("does not send {name}, which is still written: fetch it when its run has ended")
                }
                error => error.to_string(),
            };
            return say(stream, &LabAnswer::Refused { why });
        }
        let file = File::open(&path)?;
        let bytes = file.metadata()?.len();
        say(stream, &LabAnswer::File { bytes })?;
        pass(&mut file.take(bytes), stream)
    }

    /// Names of run files, the newest ones.
    fn run_files(&self) -> Vec<String> {
        let found = self.runs.read_dir().into_iter().flatten().flatten();
        let names = found.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(ENDING)).collect();
        // They begin with the time.
        names.sort_unstable();
        names.reverse();
        names.truncate(NAMES_MAX);
        names
    }
}

impl Drop for LabHost<'_> {
    fn drop(&mut self) {
        self.stop();
        let until = Instant::now() + END_DEADLINE;
        while self.is_running() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn say(mut stream: &UnixStream, answer: &LabAnswer) -> io::Result<()> {
    stream.write_all(session::note(answer)?.expose())
}

/// Bytes as frames.
pub(super) fn pass(from: &mut impl Read, mut to: &UnixStream) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = from.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        let frame = session::encoded(BYTES, &[&0u64.to_be_bytes(), &0u16.to_be_bytes(), &piece[..count]]);
        to.write_all(frame.expose())?;
    }
}

/// What follows, so many bytes.
fn received(reader: &mut Watched<UnixStream>, bytes: u64) -> io::Result<Secret> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes <= REQUEST_BYTES_MAX);
    let bytes = bytes.ok_or_else(|| wrong("a run has more bytes than are taken".to_owned()))?;
    // With all its room from the start: bytes that are moved would stay behind.
    let mut all = Vec::with_capacity(bytes);
    while all.len() < bytes {
        match session::read::<LabAsk>(reader)? {
            Some(Arrived::Numbered(_, Frame::Bytes(_, piece)))
                if piece.expose().len() <= bytes - all.len() =>
            {
                all.extend_from_slice(piece.expose());
            }
            _ => return Err(wrong(format!("of {bytes} bytes of a run only {} came", all.len()))),
        }
    }
    Ok(Secret::new(all))
}
