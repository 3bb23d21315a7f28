//! The machine's whole drives: partitions and mapped devices (dm, md, loop) would count the same bytes again.

use super::parse::SeriesValue;
use kdyno_model::sample::series;
use procfs::DiskStat;
use std::path::Path;

/// The unit of sizes in `/proc/diskstats`, whatever the device's own sectors are.
const SECTOR_BYTES: f64 = 512.0;
/// The unit of times in it.
const MS_PER_S: f64 = 1e3;

/// Most drives whose own series are read; the sums hold all of them.
const DRIVES_MAX: usize = 64;

/// Bytes read and written, of all drives together and of each; of each its operations and times too.
pub(super) fn values() -> Vec<SeriesValue> {
    let Ok(all) = procfs::diskstats() else { return Vec::new() };
    let whole: Vec<DiskStat> = all.into_iter().filter(|drive| is_whole(&drive.name)).collect();
    let sum = |of: fn(&DiskStat) -> u64| whole.iter().map(|drive| of(drive) as f64 * SECTOR_BYTES).sum();
    let together = [
        (series::DISK_READ_BYTES_TOTAL.into(), sum(|drive| drive.sectors_read)),
        (series::DISK_WRITE_BYTES_TOTAL.into(), sum(|drive| drive.sectors_written)),
    ];
    together.into_iter().chain(whole.iter().take(DRIVES_MAX).flat_map(of_one)).collect()
}

fn of_one(drive: &DiskStat) -> Vec<SeriesValue> {
    let bytes = |sectors: u64| sectors as f64 * SECTOR_BYTES;
    let seconds = |ms: u64| ms as f64 / MS_PER_S;
    let values = [
        (series::DISK_READ_BYTES_TOTAL_OF, bytes(drive.sectors_read)),
        (series::DISK_WRITE_BYTES_TOTAL_OF, bytes(drive.sectors_written)),
        (series::DISK_READS_TOTAL_OF, drive.reads as f64),
        (series::DISK_WRITES_TOTAL_OF, drive.writes as f64),
        (series::DISK_READ_S_TOTAL_OF, seconds(drive.time_reading)),
        (series::DISK_WRITE_S_TOTAL_OF, seconds(drive.time_writing)),
        (series::DISK_BUSY_S_TOTAL_OF, seconds(drive.time_in_progress)),
    ];
    values.into_iter().map(|(series, value)| (format!("{series}{}", drive.name).into(), value)).collect()
}

fn is_whole(name: &str) -> bool {
    let mapped = ["loop", "ram", "zram", "dm-", "md"].iter().any(|prefix| name.starts_with(prefix));
    !mapped && Path::new("/sys/block").join(name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_described_in_bytes_and_seconds() {
        let line = " 254 0 vda 10 1 2048 500 20 2 4096 1500 0 900 2000 0 0 0 0";
        let drive = DiskStat::from_line(line).expect("a line of the kernel's");
        let reported = of_one(&drive);
        let value = |name: &str| reported.iter().find(|(series, _)| series == name).map(|(_, value)| *value);
        for (name, expected) in [
            ("disk_read_bytes_total.vda", 1_048_576.0),
            ("disk_write_bytes_total.vda", 2_097_152.0),
            ("disk_reads_total.vda", 10.0),
            ("disk_writes_total.vda", 20.0),
            ("disk_read_s_total.vda", 0.5),
            ("disk_write_s_total.vda", 1.5),
            ("disk_busy_s_total.vda", 0.9),
        ] {
            assert_eq!(value(name), Some(expected), "{name}");
        }
        assert_eq!(reported.len(), 7);
    }
}
