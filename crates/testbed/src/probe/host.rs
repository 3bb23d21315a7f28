//! The whole machine's counters.

use super::Value;
use super::parse::{self, HostCpu};
use kdyno_model::sample::series;
use std::path::Path;

/// All host series that this machine has.
pub(super) fn values(ticks_per_s: f64) -> Vec<Value> {
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
    if let Some((read, written)) = disks() {
        values.extend([(series::DISK_READ_BYTES_TOTAL, read), (series::DISK_WRITE_BYTES_TOTAL, written)]);
    }
    if let Some((received, sent)) = network() {
        values
            .extend([(series::NET_RECEIVE_BYTES_TOTAL, received), (series::NET_TRANSMIT_BYTES_TOTAL, sent)]);
    }
    values
}

/// Processor time of all processors together.
pub(crate) fn cpu() -> Option<HostCpu> {
    parse::host_cpu(&parse::read("/proc/stat")?)
}

/// Sums over whole drives: partitions and mapped devices (dm, md, loop) would count the same bytes again.
fn disks() -> Option<(f64, f64)> {
    let text = parse::read("/proc/diskstats")?;
    Some(sum(text.lines().filter_map(parse::disk_line).filter(|(name, ..)| {
        let mapped = ["loop", "ram", "zram", "dm-", "md"].iter().any(|prefix| name.starts_with(prefix));
        !mapped && Path::new("/sys/block").join(name).exists()
    })))
}

/// Sums over interfaces other than loopback, those with hardware behind them where there are any (bridges and
/// virtual pairs would count the same bytes again).
fn network() -> Option<(f64, f64)> {
    let text = parse::read("/proc/net/dev")?;
    let all: Vec<_> = text.lines().filter_map(parse::net_line).filter(|(name, ..)| *name != "lo").collect();
    let hardware = |name: &str| Path::new("/sys/class/net").join(name).join("device").exists();
    let any = all.iter().any(|(name, ..)| hardware(name));
    Some(sum(all.into_iter().filter(|(name, ..)| !any || hardware(name))))
}

fn sum<'a>(counters: impl Iterator<Item = (&'a str, u64, u64)>) -> (f64, f64) {
    counters.fold((0.0, 0.0), |(a, b), (_, x, y)| (a + x as f64, b + y as f64))
}
