//! Garbage collections and safepoints of a JVM, from the log that its command line names (`-Xlog`, Java 9 and later).

use super::parse::{self, SeriesValue};
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
    reported: GcTotals,
}

/// Sums of the lines so far.
#[derive(Debug, Default, PartialEq)]
struct GcTotals {
    pauses: u64,
    paused_s: f64,
    /// The longest pause since the last reading.
    longest_s: f64,
    /// Share after the last collection that has it.
    heap_after_share: Option<f64>,
    /// Bytes after that collection.
    heap_after_bytes: Option<f64>,
    /// What the heap may grow to; `None`: the command line does not say.
    heap_most_bytes: Option<f64>,
    /// `None` where the JVM was not asked to log safepoints.
    safepoint_s: Option<f64>,
}

impl GcLog {
    /// The log of a process, from its end on; `None` where its command line names none that can be read.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let command_line = parse::read(&format!("/proc/{pid}/cmdline"))?;
        let mut log = Self::at(&command_line.split('\0').find_map(named)?)?;
        log.reported.heap_most_bytes = command_line.split('\0').filter_map(heap_most_bytes).next_back();
        Some(log)
    }

    fn at(named: &GcLogOption<'_>) -> Option<Self> {
        let path = Path::new(named.file);
        let log = path.metadata().ok().filter(|log| log.is_file() && path.is_absolute())?;
        let (inode, read_bytes) = (log.ino(), log.len());
        // From the first reading on: without one before it the first safepoint would count for nothing.
        let reported = GcTotals { safepoint_s: named.has_safepoints.then_some(0.0), ..GcTotals::default() };
        Some(Self { path: path.to_owned(), inode, read_bytes, reported })
    }

    /// Reads what was written since, and returns the sums of all that was read.
    pub(super) fn values(&mut self) -> Vec<SeriesValue> {
        self.reported.longest_s = 0.0;
        if let Some(text) = self.read() {
            text.lines().for_each(|line| self.reported.take(line));
        }
        let GcTotals { pauses, paused_s, longest_s, heap_after_share, heap_after_bytes, safepoint_s, .. } =
            self.reported;
        let mut values: Vec<SeriesValue> = vec![
            (series::GC_PAUSES_TOTAL.into(), pauses as f64),
            (series::GC_PAUSE_S_TOTAL.into(), paused_s),
            (series::GC_PAUSE_S_LONGEST.into(), longest_s),
        ];
        values.extend(heap_after_share.map(|share| (series::HEAP_AFTER_GC_SHARE.into(), share)));
        values.extend(heap_after_bytes.map(|bytes| (series::HEAP_AFTER_GC_BYTES.into(), bytes)));
        values.extend(safepoint_s.map(|seconds| (series::SAFEPOINT_S_TOTAL.into(), seconds)));
        values
    }

    /// The whole lines that were written since; `None`: there are none, or the log is gone.
    fn read(&mut self) -> Option<String> {
        let log = self.path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        // A full log is moved aside and started again.
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

impl GcTotals {
    fn take(&mut self, line: &str) {
        if let Some(pause_s) = pause_s(line) {
            self.pauses += 1;
            self.paused_s += pause_s;
            self.longest_s = self.longest_s.max(pause_s);
            if let Some((used, heap)) = line.split(' ').find_map(heap_after) {
                let most = heap.max(self.heap_most_bytes.unwrap_or(0.0));
                self.heap_after_bytes = Some(used);
                self.heap_after_share = Some((used / most).min(1.0));
            }
        } else if let (Some(sum_s), Some(stopped_s)) = (&mut self.safepoint_s, safepoint_s(line)) {
            *sum_s += stopped_s;
        }
    }
}

/// What an option of the command line says of a log.
#[derive(Debug, PartialEq)]
struct GcLogOption<'a> {
    file: &'a str,
    has_safepoints: bool,
}

/// Reads `-Xlog:gc*,safepoint:file=/path/gc.log:time,tags:…`.
fn named(argument: &str) -> Option<GcLogOption<'_>> {
    let (what, output) = argument.strip_prefix("-Xlog:")?.split_once(":file=")?;
    what.contains("gc").then_some(())?;
    let has_safepoints = what.split(',').any(|tags| tags.starts_with("safepoint"));
    output.split(':').next().map(|file| GcLogOption { file, has_safepoints })
}

/// The time in `[…][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) 35M->22M(47M) 0.932ms`. The line of a pause
/// that begins has none. ZGC with generations says before it which of them: `GC(3) Y: Pause Mark End 0.025ms`.
fn pause_s(line: &str) -> Option<f64> {
    let (_, collection) = line.split_once("] GC(")?;
    let (_, what) = collection.split_once(") ")?;
    let of_generation =
        ["Y: ", "y: ", "O: "].into_iter().find_map(|generation| what.strip_prefix(generation));
    let pause = of_generation.unwrap_or(what).strip_prefix("Pause ")?;
    let (_, time) = pause.trim_end().rsplit_once(' ')?;
    let ms: f64 = time.strip_suffix("ms")?.parse().ok()?;
    (0.0..=PAUSE_MS_MAX).contains(&ms).then_some(ms / MS_PER_S)
}

/// The bytes in `-Xmx4G`.
fn heap_most_bytes(argument: &str) -> Option<f64> {
    bytes(&argument.strip_prefix("-Xmx")?.to_ascii_uppercase())
}

/// For `35M->22M(47M)` what is in use afterwards, and what the heap has, which may be less than it may grow to; bytes.
fn heap_after(word: &str) -> Option<(f64, f64)> {
    let (_, after) = word.split_once("->")?;
    let (used, heap) = after.strip_suffix(')')?.split_once('(')?;
    let (used, heap) = (bytes(used)?, bytes(heap)?);
    (heap > 0.0).then_some((used, heap))
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

/// The total time in `[…][safepoint] Safepoint "G1CollectFull", Time since last: … ns, …, Total: 1666822 ns`; from Java
/// 25 on more follows. Before Java 14: `Total time for which application threads were stopped: 0.0010093 seconds,
/// Stopping …`.
fn safepoint_s(line: &str) -> Option<f64> {
    let seconds = match line.split_once("] Safepoint \"") {
        Some((_, safepoint)) => {
            let (ns, _) = safepoint.rsplit_once("Total: ")?.1.split_once(" ns")?;
            ns.parse::<u64>().ok()? as f64 / NS_PER_S
        }
        None => {
            let (_, stopped) = line.split_once("application threads were stopped: ")?;
            stopped.split_once(" seconds")?.0.parse().ok()?
        }
    };
    (0.0..=PAUSE_MS_MAX / MS_PER_S).contains(&seconds).then_some(seconds)
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

    // As Java 25 has them.
    const YOUNG_Z: &str =
        "[2026-11-25T09:12:03.101+0000][gc,phases   ] GC(4) Y: Pause Mark Start (Major) 0.010ms\n";
    const MINOR_Z: &str = "[2026-11-25T09:12:03.102+0000][gc,phases   ] GC(5) y: Pause Mark End 0.025ms\n";
    const OLD_Z: &str =
        "[2026-11-25T09:12:03.103+0000][gc,phases   ] GC(4) O: Pause Relocate Start 0.005ms\n";
    const STOPPED_25: &str = "[2026-11-25T09:12:03.103+0000][safepoint   ] Safepoint \"ZMarkEndYoung\", Time since last: \
        1546618 ns, Reaching safepoint: 85618 ns, At safepoint: 34241 ns, Leaving safepoint: 8783 ns, Total: 3000000 ns, \
        Threads: 1 runnable, 10 total\n";
    const STOPPED_11: &str = "[13:59][safepoint   ] Total time for which application threads were stopped: 0.0050000 \
        seconds, Stopping threads took: 0.0001973 seconds\n";

    fn reported(text: &str) -> GcTotals {
        let mut reported = GcTotals { safepoint_s: Some(0.0), ..GcTotals::default() };
        text.lines().for_each(|line| reported.take(line));
        reported
    }

    fn value(values: &[SeriesValue], series: &str) -> Option<f64> {
        values.iter().find(|(name, _)| name == series).map(|(_, value)| *value)
    }

    #[test]
    fn pauses_of_each_collector_and_safepoints_add_up() {
        let all = reported(&[YOUNG, BEGINS, FULL, Z, STOPPED, STOPPED].concat());
        assert_eq!(all.pauses, 3);
        assert!((all.paused_s - 0.022_586).abs() < 1e-12, "{all:?}");
        assert_eq!(
            (all.longest_s, all.heap_after_share, all.safepoint_s),
            (0.02165, Some(0.25), Some(0.004))
        );
        let generations = reported(&[YOUNG_Z, MINOR_Z, OLD_Z].concat());
        assert_eq!(generations.pauses, 3);
        assert!(
            (generations.paused_s - 40e-6).abs() < 1e-12 && generations.longest_s == 25e-6,
            "{generations:?}"
        );
        assert_eq!(reported(STOPPED_25).safepoint_s, Some(0.003));
        assert_eq!(reported(STOPPED_11).safepoint_s, Some(0.005));
        let mut may_grow = GcTotals { heap_most_bytes: heap_most_bytes("-Xmx88m"), ..GcTotals::default() };
        may_grow.take(YOUNG);
        assert_eq!(may_grow.heap_after_share, Some(0.25), "22 of 88, though 44 are there now");
        let phases = "[1][gc,phases   ] GC(1429)   Pre Evacuate Collection Set: 0.1ms\n\
            [1][gc,cpu      ] GC(1429) User=0.00s Sys=0.00s Real=0.00s\n[1][gc] GC(2) Pause Full nanms\n\
            [1][gc] GC(2) Pause Full -1ms\n[1][gc,stats    ] Pause Init Mark (N) = 0.000 s (a = 7 us)\n";
        assert_eq!(reported(phases), reported(""));
    }

    #[test]
    fn a_log_is_read_on_from_its_end_and_afresh_after_rotation() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gc.log");
        let append = |text: &str| {
            let mut file = File::options().append(true).create(true).open(&path).expect("a log");
            file.write_all(text.as_bytes()).expect("written");
        };
        append(FULL);
        let named = |has_safepoints| GcLogOption { file: path.to_str().expect("plain path"), has_safepoints };
        let mut log = GcLog::at(&named(false)).expect("a log");
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
        let mut with_safepoints = GcLog::at(&named(true)).expect("a log");
        assert_eq!(
            value(&with_safepoints.values(), series::SAFEPOINT_S_TOTAL),
            Some(0.0),
            "told before the first"
        );
        append(STOPPED_25);
        assert_eq!(value(&with_safepoints.values(), series::SAFEPOINT_S_TOTAL), Some(0.003));
        assert_eq!(value(&log.values(), series::SAFEPOINT_S_TOTAL), None, "not asked for");
        std::fs::rename(&path, folder.path().join("gc.log.0")).expect("moved");
        assert_eq!(value(&log.values(), series::GC_PAUSES_TOTAL), Some(2.0), "nothing is there");
        append(YOUNG);
        assert_eq!(value(&log.values(), series::GC_PAUSES_TOTAL), Some(3.0));
    }

    #[test]
    fn the_log_is_the_one_that_the_command_line_names() {
        let log = |file, has_safepoints| Some(GcLogOption { file, has_safepoints });
        let with_options = "-Xlog:gc*,safepoint:file=/w/gc.log:time,tags:filecount=10";
        assert_eq!(named(with_options), log("/w/gc.log", true));
        assert_eq!(named("-Xlog:gc*:file=/w/gc.log"), log("/w/gc.log", false));
        for other in ["-Xlog:gc*", "-Xlog:class+load:file=/w/c.log", "-Xloggc:/w/gc.log", "kafka.Kafka"] {
            assert_eq!(named(other), None, "{other}");
        }
        for file in ["gc.log", "/dev/null"] {
            assert!(GcLog::at(&GcLogOption { file, has_safepoints: true }).is_none(), "{file}");
        }
        assert!(GcLog::of(std::process::id()).is_none(), "no JVM");
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(
            text in "\\PC{0,200}",
            line in "(\\[gc\\] GC\\(|[0-9]{0,3}|\\) Pause |->|[0-9]M|\\(|\\)| |ms|] Safepoint \"|Total: | ns|were stopped: | seconds|é){0,20}",
        ) {
            let reported = reported(&[text, line].join("\n"));
            prop_assert!(reported.paused_s.is_finite() && reported.safepoint_s.is_some_and(f64::is_finite));
            prop_assert!(reported.heap_after_share.is_none_or(|share| (0.0..=1.0).contains(&share)));
        }
    }
}
