//! What processes of this host used in a trial's window, and whether their memory keeps its size.

use crate::event::Subject;
use crate::finding::{Interval, Scope};
use serde::{Deserialize, Serialize};

/// What each process of this host that was probed used in the window of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Processes {
    /// The trial.
    pub scope: Scope,
    /// In the order of subjects: brokers first, those that `--probe` names last.
    pub processes: Vec<ProcessUse>,
}

/// What one of them used. What this user may not read, or the kernel does not report, is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Which one.
    pub of: Subject,
    /// User time, percent of one core.
    pub cpu_user_percent: Option<f64>,
    /// System time, percent of one core.
    pub cpu_system_percent: Option<f64>,
    /// Largest resident memory, bytes.
    pub memory_rss_bytes_max: Option<f64>,
    /// How resident memory went; `None`: too few readings for a slope.
    pub memory: Option<MemoryCourse>,
    /// How the heap in use after collections of garbage went, of brokers and controllers whose log has it.
    pub heap_after_gc: Option<MemoryCourse>,
    /// Read from drives, bytes per second.
    pub disk_read_bytes_per_s: Option<f64>,
    /// Written to drives, bytes per second: when the page cache is made dirty.
    pub disk_write_bytes_per_s: Option<f64>,
    /// Context switches per second, voluntary and not.
    pub context_switches_per_s: Option<f64>,
    /// Most files and sockets that were open.
    pub open_files_max: Option<f64>,
}

/// How memory went in a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryCourse {
    /// By how much it grew, MiB (2^20 bytes) per minute; negative: it shrank.
    pub mib_per_min: f64,
    /// Where the slope lies, MiB per minute.
    pub interval: Interval,
    /// What that says.
    pub says: MemorySays,
}

/// What the slope of memory says of a leak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySays {
    /// It grew throughout, by more than what is called stable.
    Growing,
    /// It did not: the whole interval lies within what is called stable.
    Stable,
    /// It shrank throughout.
    Shrinking,
    /// Nothing, and why.
    CannotTell(MemoryUntold),
}

/// Why a slope of memory says nothing of a leak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryUntold {
    /// A window so short is over before caches and pools have their size.
    WindowTooShort {
        /// Seconds that it takes.
        needed_s: u32,
    },
    /// It grew, and the longer the less, as after a start.
    LevellingOff,
    /// The interval holds both what is called stable and what is not.
    Noisy,
    /// What grew may be garbage: collections of young objects leave old ones behind.
    OldGarbage,
}
