//! Garbage collections and safepoints of a JVM, from the log that its command line names (`-Xlog`, Java 9 and later).

use super::parse::{self, Value};
use kdyno_model::sample::series;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Most that is read of a log at once; what is longer is read the next time.
const READ_BYTES_MAX: u64 = 1 << 20;

/// Longest pause that is believed, ms: an hour.
const PAUSE_MS_MAX: f64 = 3_600_000.0;

const MS_PER_S: f64 = 1e3;
const NS_PER_S: f64 = 1e9;

/// A log that is read on from where it was read to. What it held before is left out.
#[derive(Debug)]
pub(super) struct GcLog {
    path: PathBuf,
    inode: u64,
    read_bytes: u64,
    told: Told,
}

/// What the lines have told so far.
#[derive(Debug, Default, PartialEq)]
struct Told {
    pauses: u64,
    paused_s: f64,
    /// The longest pause since the last reading.
    longest_s: f64,
    /// Of the last collection that told it.
    heap_after_share: Option<f64>,
    /// Safepoints have a line of their own only where the JVM logs them.
    safepoint_s: Option<f64>,
}

impl GcLog {
    /// The log of a process, from its end on; `None` where its command line names none that can be read.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let command_line = parse::read(&format!("/proc/{pid}/cmdline"))?;
        Self::at(Path::new(command_line.split('\0').find_map(file_of)?))
    }

    fn at(path: &Path) -> Option<Self> {
        let log = path.metadata().ok().filter(|log| log.is_file() && path.is_absolute())?;
        let (inode, read_bytes) = (log.ino(), log.len());
        Some(Self { path: path.to_owned(), inode, read_bytes, told: Told::default() })
    }

    /// Reads what was written since, and tells what came of all that was read.
    pub(super) fn values(&mut self) -> Vec<Value> {
        self.told.longest_s = 0.0;
        if let Some(text) = self.read() {
            text.lines().for_each(|line| self.told.take(line));
        }
        let Told { pauses, paused_s, longest_s, heap_after_share, safepoint_s } = self.told;
        let mut values: Vec<Value> = vec![
            (series::GC_PAUSES_TOTAL.into(), pauses as f64),
            (series::GC_PAUSE_S_TOTAL.into(), paused_s),
            (series::GC_PAUSE_S_LONGEST.into(), longest_s),
        ];
        values.extend(heap_after_share.map(|share| (series::HEAP_AFTER_GC_SHARE.into(), share)));
        values.extend(safepoint_s.map(|seconds| (series::SAFEPOINT_S_TOTAL.into(), seconds)));
        values
    }

    /// The whole lines that were written since; `None`: there are none, or the log is gone.
    fn read(&mut self) -> Option<String> {
        let log = self.path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        // A full log is moved aside and begun anew.
        if log.ino() != self.inode || log.len() < self.read_bytes {
            (self.inode, self.read_bytes) = (log.ino(), 0);
        }
        let mut file = File::open(&self.path).ok()?;
        file.seek(SeekFrom::Start(self.read_bytes)).ok()?;
        let mut bytes = Vec::new();
        file.take(READ_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let whole = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => end + 1,
            // So long a line is none of a garbage collector's.
            None if bytes.len() as u64 == READ_BYTES_MAX => bytes.len(),
            None => return None,
        };
        self.read_bytes += whole as u64;
        Some(String::from_utf8_lossy(&bytes[..whole]).into_owned())
    }
}

impl Told {
    fn take(&mut self, line: &str) {
        if let Some(pause_s) = pause_s(line) {
            self.pauses += 1;
            self.paused_s += pause_s;
            self.longest_s = self.longest_s.max(pause_s);
            self.heap_after_share = line.split(' ').find_map(heap_after_share).or(self.heap_after_share);
        } else if let Some(stopped_s) = safepoint_s(line) {
            *self.safepoint_s.get_or_insert(0.0) += stopped_s;
        }
    }
}

/// The path in `-Xlog:gc*:file=/path/gc.log:time,tags:…`.
fn file_of(argument: &str) -> Option<&str> {
    let (what, output) = argument.strip_prefix("-Xlog:")?.split_once(":file=")?;
    what.contains("gc").then_some(())?;
    output.split(':').next()
}

/// Of `[…][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 35M->22M(47M) 0.932ms` the time. The line of a pause that
/// begins has none.
fn pause_s(line: &str) -> Option<f64> {
    let (_, collection) = line.split_once("] GC(")?;
    let (_, what) = collection.split_once(") ")?;
    let pause = what.strip_prefix("Pause ")?;
    let (_, time) = pause.trim_end().rsplit_once(' ')?;
    let ms: f64 = time.strip_suffix("ms")?.parse().ok()?;
    (0.0..=PAUSE_MS_MAX).contains(&ms).then_some(ms / MS_PER_S)
}

/// Of `35M->22M(47M)` what is in use afterwards, of the heap.
fn heap_after_share(word: &str) -> Option<f64> {
    let (_, after) = word.split_once("->")?;
    let (used, heap) = after.strip_suffix(')')?.split_once('(')?;
    let (used, heap) = (bytes(used)?, bytes(heap)?);
    (heap > 0.0).then(|| (used / heap).min(1.0))
}

/// `22M`, `512K`, `4G`, `0B`.
fn bytes(text: &str) -> Option<f64> {
    let unit = match text.chars().last()? {
        'B' => 1.0,
        'K' => 1024.0,
        'M' => 1024.0 * 1024.0,
        'G' => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let number: u64 = text[..text.len() - 1].parse().ok()?;
    Some(number as f64 * unit)
}

/// Of `[…][safepoint] Safepoint "G1CollectFull", Time since last: … ns, …, Total: 1666822 ns` the time in all.
fn safepoint_s(line: &str) -> Option<f64> {
    let (_, safepoint) = line.split_once("] Safepoint \"")?;
    let (_, total) = safepoint.rsplit_once("Total: ")?;
    let ns: u64 = total.trim_end().strip_suffix(" ns")?.parse().ok()?;
    let seconds = ns as f64 / NS_PER_S;
    (seconds <= PAUSE_MS_MAX / MS_PER_S).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const YOUNG: &str = "[2026-11-24T13:59:57.058+0000][gc          ] GC(1429) Pause Young (Normal) \
        (G1 Evacuation Pause) 35M->22M(44M) 0.932ms\n";
    const FULL: &str = "[13:59][gc             ] GC(1431) Pause Full (System.gc()) 35M->11M(44M) 21.650ms\n";
    const BEGINS: &str = "[13:59][gc,start    ] GC(1430) Pause Young (Normal) (G1 Preventive Collection)\n";
    const Z: &str = "[14:00][gc,phases   ] GC(379) Pause Mark End 0.004ms\n";
    const STOPPED: &str = "[13:59][safepoint   ] Safepoint \"G1CollectFull\", Time since last: 640906 ns, Reaching \
        safepoint: 1300 ns, Cleanup: 1553 ns, At safepoint: 1663969 ns, Total: 2000000 ns\n";

    fn told(text: &str) -> Told {
        let mut told = Told::default();
        text.lines().for_each(|line| told.take(line));
        told
    }

    fn value(values: &[Value], series: &str) -> Option<f64> {
        values.iter().find(|(name, _)| name == series).map(|(_, value)| *value)
    }

    #[test]
    fn pauses_of_each_collector_and_safepoints_add_up() {
        let all = told(&[YOUNG, BEGINS, FULL, Z, STOPPED, STOPPED].concat());
        assert_eq!(all.pauses, 3);
        assert!((all.paused_s - 0.022_586).abs() < 1e-12, "{all:?}");
        assert_eq!(
            (all.longest_s, all.heap_after_share, all.safepoint_s),
            (0.02165, Some(0.25), Some(0.004))
        );
        let phases = "[1][gc,phases   ] GC(1429)   Pre Evacuate Collection Set: 0.1ms\n\
            [1][gc,cpu      ] GC(1429) User=0.00s Sys=0.00s Real=0.00s\n[1][gc] GC(2) Pause Full nanms\n\
            [1][gc] GC(2) Pause Full -1ms\n[1][gc,stats    ] Pause Init Mark (N) = 0.000 s (a = 7 us)\n";
        assert_eq!(told(phases), Told::default());
    }

    #[test]
    fn a_log_is_read_on_from_its_end_and_begun_anew_when_it_was_moved_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gc.log");
        let append = |text: &str| {
            let mut file = File::options().append(true).create(true).open(&path).expect("a log");
            file.write_all(text.as_bytes()).expect("written");
        };
        append(FULL);
        let mut log = GcLog::at(&path).expect("a log");
        assert_eq!(value(&log.values(), series::GC_PAUSES_TOTAL), Some(0.0), "what was there before");
        let (half, rest) = FULL.split_at(30);
        append(&[YOUNG, half].concat());
        let longest_s = value(&log.values(), series::GC_PAUSE_S_LONGEST).expect("a pause");
        assert!((longest_s - 0.000_932).abs() < 1e-9, "no half of a line: {longest_s}");
        append(rest);
        let values = log.values();
        assert_eq!(value(&values, series::GC_PAUSES_TOTAL), Some(2.0));
        assert_eq!(value(&values, series::GC_PAUSE_S_LONGEST), Some(0.02165));
        assert_eq!(value(&values, series::HEAP_AFTER_GC_SHARE), Some(0.25));
        assert_eq!(value(&values, series::SAFEPOINT_S_TOTAL), None);
        assert_eq!(value(&log.values(), series::GC_PAUSE_S_LONGEST), Some(0.0), "none since");
        std::fs::rename(&path, folder.path().join("gc.log.0")).expect("moved");
        assert_eq!(value(&log.values(), series::GC_PAUSES_TOTAL), Some(2.0), "nothing is there");
        append(YOUNG);
        assert_eq!(value(&log.values(), series::GC_PAUSES_TOTAL), Some(3.0));
    }

    #[test]
    fn the_log_is_the_one_that_the_command_line_names() {
        assert_eq!(file_of("-Xlog:gc*,safepoint:file=/w/gc.log:time,tags:filecount=10"), Some("/w/gc.log"));
        assert_eq!(file_of("-Xlog:gc*:file=/w/gc.log"), Some("/w/gc.log"));
        for other in ["-Xlog:gc*", "-Xlog:class+load:file=/w/c.log", "-Xloggc:/w/gc.log", "kafka.Kafka"] {
            assert_eq!(file_of(other), None, "{other}");
        }
        assert!(GcLog::at(Path::new("gc.log")).is_none() && GcLog::at(Path::new("/dev/null")).is_none());
        assert!(GcLog::of(std::process::id()).is_none(), "no JVM");
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(
            text in "\\PC{0,200}",
            line in "(\\[gc\\] GC\\(|[0-9]{0,3}|\\) Pause |->|[0-9]M|\\(|\\)| |ms|] Safepoint \"|Total: | ns|é){0,20}",
        ) {
            let told = told(&[text, line].join("\n"));
            prop_assert!(told.paused_s.is_finite() && told.heap_after_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
    }
}
