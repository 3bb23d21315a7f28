//! Reads the text files of `/proc`, bounded and lenient.

use std::fs::File;
use std::io::Read;

/// The largest files read here (`/proc/stat` of a machine with hundreds of processors) stay below this.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The text of a file; `None` when it cannot be read.
pub(crate) fn read(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number after a line's label, e.g. `MemAvailable:` in `MemAvailable:  123 kB`.
pub(crate) fn field(text: &str, label: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(label))?.split_ascii_whitespace().next()?.parse().ok()
}

/// Fields of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub rss_pages: u64,
}

/// proc(5) counts the fields from 1 with the name as the second; after the name's closing parenthesis the third
/// is index 0 here, so utime (14) is 11, stime (15) 12, rss (24) 21.
pub(super) fn process_stat(text: &str) -> Option<ProcessStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse().ok();
    Some(ProcessStat { user_ticks: number(11)?, system_ticks: number(12)?, rss_pages: number(21)? })
}

/// The name in `/proc/PID/stat`, or in that of a thread: between the first parenthesis and the last.
pub(super) fn process_name(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('(')?;
    Some(rest.rsplit_once(')')?.0)
}

/// The first line of `/proc/stat`, in ticks. Guest time is contained in user and nice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HostCpu {
    pub user: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub steal: u64,
}

impl HostCpu {
    pub(crate) fn total(&self) -> u64 {
        self.user + self.system + self.idle + self.iowait + self.steal
    }
}

pub(super) fn host_cpu(text: &str) -> Option<HostCpu> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line.split_ascii_whitespace().map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| fields.get(index).copied().unwrap_or(0);
    // user nice system idle iowait irq softirq steal
    (fields.len() >= 4).then(|| HostCpu {
        user: at(0) + at(1),
        system: at(2) + at(5) + at(6),
        idle: at(3),
        iowait: at(4),
        steal: at(7),
    })
}

/// Bytes read and written of one line of `/proc/diskstats`, with the device's name.
pub(super) fn disk_line(line: &str) -> Option<(&str, u64, u64)> {
    /// The unit of this file, whatever the device's own sectors are.
    const SECTOR_BYTES: u64 = 512;
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let sectors = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some((fields.get(2)?, sectors(5)?.saturating_mul(SECTOR_BYTES), sectors(9)?.saturating_mul(SECTOR_BYTES)))
}

/// Bytes received and sent of one line of `/proc/net/dev`, with the interface's name.
pub(super) fn net_line(line: &str) -> Option<(&str, u64, u64)> {
    let (name, counters) = line.split_once(':')?;
    let fields: Vec<&str> = counters.split_ascii_whitespace().collect();
    Some((name.trim(), fields.first()?.parse().ok()?, fields.get(8)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stat_line_with_an_evil_name() {
        let text = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 7 8 0 0 20 0 1 0 12345 1000000 250 18446744073709551615\n";
        assert_eq!(process_stat(text), Some(ProcessStat { user_ticks: 7, system_ticks: 8, rss_pages: 250 }));
        assert_eq!(process_name(text), Some("a) b (c"));
    }

    #[test]
    fn host_lines() {
        let cpu = host_cpu("cpu  10 1 5 100 3 2 4 6 0 0\ncpu0 1 1\n").expect("cpu");
        assert_eq!(cpu, HostCpu { user: 11, system: 11, idle: 100, iowait: 3, steal: 6 });
        assert_eq!(disk_line("254 0 vda 10 0 8 1 20 0 16 2 0 3 4"), Some(("vda", 4096, 8192)));
        assert_eq!(net_line("  eth0: 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0"), Some(("eth0", 100, 200)));
        assert_eq!(field("MemTotal: 5 kB\nMemAvailable:   7 kB\n", "MemAvailable:"), Some(7));
    }

    proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "\\PC{0,300}") {
            let _ = (process_stat(&text), process_name(&text), host_cpu(&text), disk_line(&text), net_line(&text), field(&text, "a"));
        }
    }
}
