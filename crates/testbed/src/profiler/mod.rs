//! Samples the stacks of running JVMs by async-profiler: started and stopped when the caller says so, in each process by
//! itself, each time into a file of its own.

mod attach;
mod library;

use kdyno_model::stacks::{CPU_SAMPLE_MS, FlameKind};
pub use library::make_ready;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes that are read of what the profiler wrote: text of stacks that is longer says that something is wrong.
const TEXT_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a Flight Recorder file that are kept: what one row of a run file holds.
pub const JFR_BYTES_MAX: u64 = 16 << 20;
/// Bytes of its log that are read.
const LOG_BYTES_MAX: u64 = 64 << 10;
/// Added to the time after which the profiler stops by itself, in case nothing is left to stop it, s.
const TIMEOUT_EXTRA_S: u64 = 60;

/// One sampling of one process.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// The process.
    pub pid: u32,
    /// What it is sampled for.
    pub kind: FlameKind,
    /// async-profiler's library.
    pub library: PathBuf,
    /// The file that the process itself writes; it must be one that the process may write.
    pub file: PathBuf,
}

/// What was sampled.
#[derive(Debug)]
pub enum Sampled {
    /// Collapsed stacks, as they were written.
    Collapsed(String),
    /// A recording of Java's Flight Recorder.
    Jfr(Vec<u8>),
}

impl Sampling {
    /// Samples for a moment and throws away what was seen: the library is loaded and has read the process's symbols, which
    /// takes a tenth of a second of its processors, before anything is measured; and what does not work shows.
    ///
    /// # Errors
    /// In words, why the process cannot be sampled.
    pub fn try_out(&self) -> Result<(), String> {
        self.start(0)?;
        self.stop().map(drop)
    }

    /// Begins. It ends by itself some time after `most_s` seconds, in case nothing is left to end it.
    ///
    /// # Errors
    /// In words; e.g. somebody else samples the process.
    pub fn start(&self, most_s: u64) -> Result<(), String> {
        let timeout_s = most_s.saturating_add(TIMEOUT_EXTRA_S);
        self.command(&format!("start,{},timeout={timeout_s},file={}", self.events(), self.file.display()))
    }

    fn events(&self) -> String {
        // CPU time per sample; bytes allocated per sample; waits that are shorter are not recorded.
        let cpu = format!("event=cpu,interval={CPU_SAMPLE_MS}ms");
        let (alloc, lock) = ("alloc=256k", "lock=10us");
        match self.kind {
            FlameKind::Cpu => format!("{cpu},threads"),
            FlameKind::Alloc => format!("{alloc},threads"),
            FlameKind::Lock => format!("{lock},threads"),
            FlameKind::Jfr => format!("{cpu},{alloc},{lock},jfr"),
        }
    }

    /// Ends it and returns what was sampled since the start; the file is removed.
    ///
    /// # Errors
    /// In words: nothing was started, the process has ended, or what it wrote cannot be read.
    pub fn stop(&self) -> Result<Sampled, String> {
        let file = self.file.display();
        self.command(&match self.kind {
            // Names of hidden classes hold addresses, which are others in each process.
            FlameKind::Cpu => format!("stop,collapsed,samples,threads,norm,file={file}"),
            FlameKind::Alloc | FlameKind::Lock => format!("stop,collapsed,total,threads,norm,file={file}"),
            FlameKind::Jfr => format!("stop,jfr,file={file}"),
        })?;
        let read = self.read();
        self.remove();
        read
    }

    /// Gives the profiler a command. Why it refuses one is in a log.
    fn command(&self, options: &str) -> Result<(), String> {
        if self.file.to_string_lossy().contains(',') {
            return Err(format!("the folder of {} has a comma in its name", self.file.display()));
        }
        let log = self.file.with_extension("log");
        let done = attach::load(self.pid, &self.library, &format!("{options},log={}", log.display()));
        let reported = read(&log, LOG_BYTES_MAX).unwrap_or_default();
        // There is none where the library was not reached.
        let _ = std::fs::remove_file(&log);
        done.map_err(|code| match error_of(&String::from_utf8_lossy(&reported)) {
            Some(error) => error,
            None => code,
        })
    }

    fn read(&self) -> Result<Sampled, String> {
        match self.kind {
            FlameKind::Jfr => Ok(Sampled::Jfr(read(&self.file, JFR_BYTES_MAX)?)),
            FlameKind::Cpu | FlameKind::Alloc | FlameKind::Lock => {
                let text = read(&self.file, TEXT_BYTES_MAX)?;
                Ok(Sampled::Collapsed(String::from_utf8_lossy(&text).into_owned()))
            }
        }
    }

    fn remove(&self) {
        // There is none where nothing was written.
        let _ = std::fs::remove_file(&self.file);
    }
}

/// The first error in a log of the profiler's.
fn error_of(log: &str) -> Option<String> {
    let line = log.lines().find_map(|line| line.strip_prefix("[ERROR]"))?;
    Some(format!("async-profiler: {}", line.trim()))
}

fn read(file: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("what the profiler wrote cannot be read: {error}");
    let mut bytes = Vec::new();
    File::open(file).map_err(failed)?.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("the profiler wrote more than {} MiB", bytes_max >> 20));
    }
    Ok(bytes)
}
