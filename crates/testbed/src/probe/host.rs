//! The whole machine's counters.

use super::parse;
use kdyno_model::sample::series;
use procfs::CurrentSI;
use std::path::Path;

/// A series name and its value.
pub(super) type Value = (&'static str, f64);

/// All host series that this machine has.
pub(super) fn values() -> Vec<Value> {
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let mut values = Vec::new();
    if let Some(cpu) = cpu() {
        for (series, ticks) in [
            (series::CPU_USER_S_TOTAL, cpu.user),
            (series::CPU_SYSTEM_S_TOTAL, cpu.system),
            (series::CPU_IOWAIT_S_TOTAL, cpu.iowait),
            (series::CPU_STEAL_S_TOTAL, cpu.steal),
            (series::CPU_IDLE_S_TOTAL, cpu.idle),
        ] {
            values.push((series, ticks as f64 / ticks_per_s));
        }
    }
    let available = parse::read("/proc/meminfo").and_then(|text| parse::field(&text, "MemAvailable:"));
    values.extend(available.map(|kib| (series::MEMORY_AVAILABLE_BYTES, kib as f64 * 1024.0)));
    for (series, resource) in [(series::CPU_PRESSURE_S_TOTAL, "cpu"), (series::IO_PRESSURE_S_TOTAL, "io")] {
        let text = parse::read(&format!("/proc/pressure/{resource}"));
        values.extend(text.and_then(|text| pressure_s(&text)).map(|waited_s| (series, waited_s)));
    }
    if let Some((read, written)) = disks() {
        values.extend([(series::DISK_READ_BYTES_TOTAL, read), (series::DISK_WRITE_BYTES_TOTAL, written)]);
    }
    if let Some((received, sent)) = network() {
        values
            .extend([(series::NET_RECEIVE_BYTES_TOTAL, received), (series::NET_TRANSMIT_BYTES_TOTAL, sent)]);
    }
    values
}

/// Processor time of all processors together, in ticks. Guest time is contained in user and nice.
#[derive(Debug, Clone, Copy, Default)]
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

/// What `/proc/stat` says of all processors; `None` where the kernel does not say.
pub(crate) fn cpu() -> Option<HostCpu> {
    let cpu = procfs::KernelStats::current().ok()?.total;
    let or_none = |ticks: Option<u64>| ticks.unwrap_or(0);
    Some(HostCpu {
        user: cpu.user + cpu.nice,
        system: cpu.system + or_none(cpu.irq) + or_none(cpu.softirq),
        idle: cpu.idle,
        iowait: or_none(cpu.iowait),
        steal: or_none(cpu.steal),
    })
}

/// Bytes read and written, sums over whole drives: partitions and mapped devices (dm, md, loop) would count the
/// same bytes again.
fn disks() -> Option<(f64, f64)> {
    /// The unit of this file, whatever the device's own sectors are.
    const SECTOR_BYTES: u64 = 512;
    let is_whole = |name: &str| {
        let mapped = ["loop", "ram", "zram", "dm-", "md"].iter().any(|prefix| name.starts_with(prefix));
        !mapped && Path::new("/sys/block").join(name).exists()
    };
    let drives = procfs::diskstats().ok()?.into_iter().filter(|drive| is_whole(&drive.name));
    let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
    Some(sum(drives.map(|drive| (bytes(drive.sectors_read), bytes(drive.sectors_written)))))
}

/// Bytes received and sent, sums over interfaces other than loopback, those with hardware behind them where there
/// are any (bridges and virtual pairs would count the same bytes again).
fn network() -> Option<(f64, f64)> {
    let mut all = procfs::net::dev_status().ok()?;
    all.remove("lo");
    let hardware = |name: &str| Path::new("/sys/class/net").join(name).join("device").exists();
    let any = all.keys().any(|name| hardware(name));
    let counted = all.values().filter(|device| !any || hardware(&device.name));
    Some(sum(counted.map(|device| (device.recv_bytes, device.sent_bytes))))
}

/// Time for which at least one task waited for a resource (PSI): the total of the line `some`, which is in µs.
fn pressure_s(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total_us: u64 =
        some.split_ascii_whitespace().find_map(|part| part.strip_prefix("total="))?.parse().ok()?;
    Some(total_us as f64 / 1e6)
}

fn sum(counters: impl Iterator<Item = (u64, u64)>) -> (f64, f64) {
    counters.fold((0.0, 0.0), |(a, b), (x, y)| (a + x as f64, b + y as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=0.00 avg60=1.20 avg300=0.40 total=2500000\nfull avg10=0.00 total=9\n";
        assert_eq!(pressure_s(text), Some(2.5));
        assert_eq!(pressure_s("full avg10=0.00 total=9\n"), None);
        assert_eq!(pressure_s("some avg10=0.00\n"), None);
    }
}
