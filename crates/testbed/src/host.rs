//! Facts about the host that a reader of a result needs: processor, memory, kernel, disk, and what disturbs timing.

use crate::error::TestbedError;
use crate::host_settings;
use crate::probe::parse;
use std::collections::BTreeMap;
use std::path::Path;

/// Processors that this process may use.
#[must_use]
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

/// The kernel's random id of this boot; empty where it has none.
#[must_use]
pub fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// Memory that programs could take without others being swapped out, bytes; `None` where the kernel does not say.
#[must_use]
pub fn memory_available_bytes() -> Option<u64> {
    memory("MemAvailable:")
}

/// Memory of the host, bytes.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    memory("MemTotal:")
}

fn memory(label: &str) -> Option<u64> {
    parse::field(&parse::read("/proc/meminfo")?, label).map(|kib| kib.saturating_mul(1024))
}

/// Bytes that an unprivileged program may still write below the folder, which need not exist yet.
///
/// # Errors
/// No part of the path can be looked at.
pub fn free_bytes(folder: &Path) -> Result<u64, TestbedError> {
    let existing = existing(folder);
    let stat =
        rustix::fs::statvfs(existing).map_err(|e| TestbedError::io("cannot look at", existing, e.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// The folder itself or the nearest one above it that is there.
pub(crate) fn existing(folder: &Path) -> &Path {
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    if existing.as_os_str().is_empty() { Path::new(".") } else { existing }
}

/// All facts; `folder` is where the brokers' logs will lie. A fact that this host does not have is left out. No fact
/// names the host or its user.
#[must_use]
pub fn facts(folder: &Path) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut fact = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.insert(key.to_string(), value);
        }
    };
    let cpuinfo = parse::read("/proc/cpuinfo").unwrap_or_default();
    let meminfo = parse::read("/proc/meminfo").unwrap_or_default();
    let bytes = |label: &str| parse::field(&meminfo, label).map(|kib| kib.saturating_mul(1024).to_string());
    fact("cpu_model", cpu_model(&cpuinfo));
    fact("processors", Some(processors().to_string()));
    fact("processors_of_host", host_processors(&cpuinfo));
    fact("memory_bytes", bytes("MemTotal:"));
    fact("swap_bytes", bytes("SwapTotal:"));
    fact("dirty_background_bytes", dirty_background_bytes(&meminfo));
    let system = rustix::system::uname();
    fact("kernel", Some(system.release().to_string_lossy().into_owned()));
    fact("architecture", Some(system.machine().to_string_lossy().into_owned()));
    fact("os", os_name());
    fact("disk_filesystem", host_settings::mount_of(folder).map(|mount| mount.filesystem));
    fact("cpu_governor", line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    fact("transparent_huge_pages", host_settings::value("/sys/kernel/mm/transparent_hugepage/enabled"));
    fact("virtualisation", virtualisation(&cpuinfo));
    fact("cgroup_cpu_max", line("/sys/fs/cgroup/cpu.max").filter(|text| !text.starts_with("max")));
    facts
}

fn line(path: &str) -> Option<String> {
    parse::read(path).map(|text| text.trim().to_string())
}

/// Bytes of dirty pages from which the kernel writes them: set, or a share of the memory that is available now.
fn dirty_background_bytes(meminfo: &str) -> Option<String> {
    let number = |path| line(path)?.parse::<u64>().ok();
    let set = number("/proc/sys/vm/dirty_background_bytes").filter(|bytes| *bytes > 0);
    let share = || {
        let percent = number("/proc/sys/vm/dirty_background_ratio")?;
        let available = parse::field(meminfo, "MemAvailable:")?.saturating_mul(1024);
        Some(available.saturating_mul(percent) / 100)
    };
    set.or_else(share).map(|bytes| bytes.to_string())
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let labels = ["model name", "Model", "Hardware"];
    labels.iter().find_map(|label| cpuinfo.lines().find(|line| line.starts_with(label))).and_then(after_colon)
}

fn after_colon(line: &str) -> Option<String> {
    line.split_once(':').map(|(_, value)| value.trim().to_string())
}

fn host_processors(cpuinfo: &str) -> Option<String> {
    let count = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    (count > 0).then(|| count.to_string())
}

fn os_name() -> Option<String> {
    let text = parse::read("/etc/os-release")?;
    let line = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_string())
}

/// What says that this is a virtual machine or a container; steal and shared disks are then likely.
fn virtualisation(cpuinfo: &str) -> Option<String> {
    let mut signs = Vec::new();
    if cpuinfo
        .lines()
        .any(|line| line.starts_with("flags") && line.split(' ').any(|flag| flag == "hypervisor"))
    {
        signs.push("virtual machine".to_string());
    }
    signs.extend(line("/sys/class/dmi/id/product_name").filter(|name| !name.is_empty()));
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        signs.push("container".to_string());
    }
    (!signs.is_empty()).then(|| signs.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_the_facts_every_host_has() {
        let facts = facts(Path::new("/tmp/not/there/yet"));
        for key in ["processors", "memory_bytes", "kernel", "architecture"] {
            assert!(facts.contains_key(key), "{key} in {facts:?}");
        }
        // Below a changed root the mount that holds everything is not listed.
        let mounts = parse::read("/proc/self/mountinfo").expect("/proc");
        let is_root_listed = mounts.lines().any(|mount| mount.split(' ').nth(4) == Some("/"));
        assert_eq!(facts.contains_key("disk_filesystem"), is_root_listed, "{facts:?}");
        assert!(memory_available_bytes().is_some_and(|bytes| bytes > 1 << 20));
        assert!(memory_available_bytes() <= memory_bytes());
    }
}
