//! The whole machine's processors and memory.

use super::parse::{self, SeriesValue};
use kdyno_model::sample::series;

/// What is read of `/proc/meminfo`.
const MEMORY: [(&str, &str); 5] = [
    (series::MEMORY_TOTAL_BYTES, "MemTotal:"),
    (series::MEMORY_AVAILABLE_BYTES, "MemAvailable:"),
    (series::MEMORY_CACHED_BYTES, "Cached:"),
    (series::MEMORY_DIRTY_BYTES, "Dirty:"),
    (series::MEMORY_WRITEBACK_BYTES, "Writeback:"),
];

/// What `/proc/pressure` shows.
const PRESSURE: [(&str, &str); 3] = [
    (series::CPU_PRESSURE_S_TOTAL, "cpu"),
    (series::IO_PRESSURE_S_TOTAL, "io"),
    (series::MEMORY_PRESSURE_S_TOTAL, "memory"),
];

/// Processors whose own time is read; the sums hold all of them.
const PROCESSORS_MAX: usize = 1024;

/// Every series of processors and memory that this machine has.
pub(super) fn values() -> Vec<SeriesValue> {
    let mut values = processors().unwrap_or_default();
    let memory = parse::read("/proc/meminfo").unwrap_or_default();
    values.extend(
        MEMORY.into_iter().filter_map(|(series, label)| {
            Some((series.into(), parse::field(&memory, label)? as f64 * 1024.0))
        }),
    );
    values.extend(PRESSURE.into_iter().filter_map(|(series, resource)| {
        let text = parse::read(&format!("/proc/pressure/{resource}"))?;
        Some((series.into(), pressure_s(&text)?))
    }));
    values
}

/// CPU time, in ticks. Guest time is contained in user and nice.
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
        self.busy() + self.idle + self.iowait
    }

    fn busy(&self) -> u64 {
        self.user + self.system + self.steal
    }
}

impl From<&procfs::CpuTime> for HostCpu {
    fn from(cpu: &procfs::CpuTime) -> Self {
        let or_none = |ticks: Option<u64>| ticks.unwrap_or(0);
        Self {
            user: cpu.user + cpu.nice,
            system: cpu.system + or_none(cpu.irq) + or_none(cpu.softirq),
            idle: cpu.idle,
            iowait: or_none(cpu.iowait),
            steal: or_none(cpu.steal),
        }
    }
}

/// What `/proc/stat` says of all processors together; `None` where the kernel does not say.
pub(crate) fn cpu() -> Option<HostCpu> {
    Some(HostCpu::from(&kernel_stats()?.total))
}

fn kernel_stats() -> Option<procfs::KernelStats> {
    use procfs::CurrentSI;
    procfs::KernelStats::current().ok()
}

/// Time of all processors together by kind, and of each of them by itself, seconds.
fn processors() -> Option<Vec<SeriesValue>> {
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let stats = kernel_stats()?;
    let cpu = HostCpu::from(&stats.total);
    let kinds = [
        (series::CPU_USER_S_TOTAL, cpu.user),
        (series::CPU_SYSTEM_S_TOTAL, cpu.system),
        (series::CPU_IOWAIT_S_TOTAL, cpu.iowait),
        (series::CPU_STEAL_S_TOTAL, cpu.steal),
        (series::CPU_IDLE_S_TOTAL, cpu.idle),
    ];
    let together = kinds.into_iter().map(|(series, ticks)| (series.into(), ticks as f64 / ticks_per_s));
    let each = stats.cpu_time.iter().take(PROCESSORS_MAX).enumerate().map(|(number, cpu)| {
        let name = format!("{}{number}", series::CPU_BUSY_S_TOTAL_OF);
        (name.into(), HostCpu::from(cpu).busy() as f64 / ticks_per_s)
    });
    Some(together.chain(each).collect())
}

/// Time for which at least one task waited for a resource (PSI): the total of the line `some`, which is in µs.
fn pressure_s(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total_us: u64 =
        some.split_ascii_whitespace().find_map(|part| part.strip_prefix("total="))?.parse().ok()?;
    Some(total_us as f64 / 1e6)
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

    #[test]
    fn each_processor_is_busy_for_its_share_of_the_sum() {
        let values = processors().expect("/proc/stat");
        let of = |is_asked: &dyn Fn(&str) -> bool| -> f64 {
            values.iter().filter(|(series, _)| is_asked(series)).map(|(_, value)| value).sum()
        };
        let kinds = [series::CPU_USER_S_TOTAL, series::CPU_SYSTEM_S_TOTAL, series::CPU_STEAL_S_TOTAL];
        let busy = of(&|series| kinds.contains(&series));
        let each = of(&|series| series.starts_with(series::CPU_BUSY_S_TOTAL_OF));
        // A processor that was taken offline is in the sum alone, and each is rounded to ticks.
        assert!(each > 0.0 && each <= busy + 1.0, "{each} of {busy} s");
    }
}
