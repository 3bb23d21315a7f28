//! For how long limits on CPU time (cgroups, both versions) have held a process, and whom one on memory has ended.

use super::parse;
use std::path::{Path, PathBuf};

/// Where the hierarchies are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// A file that has it, and the label and the unit of the number in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CgroupFile {
    path: PathBuf,
    label: &'static str,
    per_s: u64,
}

/// The files of a process's groups: its own and those above it, since a limit may be at each.
pub(super) fn limits_of(pid: u32) -> Vec<CgroupFile> {
    let groups = parse::read(&format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let mut limits = files(&groups);
    limits.retain(|limit| limit.read().is_some());
    limits
}

/// Seconds for which the limits have held it, added up; `None` without such a file.
pub(super) fn held_s(limits: &[CgroupFile]) -> Option<f64> {
    let held = limits.iter().filter_map(|limit| Some(limit.read()? as f64 / limit.per_s as f64));
    held.reduce(|sum, one| sum + one)
}

impl CgroupFile {
    fn read(&self) -> Option<u64> {
        parse::field(&parse::read(self.path.to_str()?)?, self.label)
    }
}

/// How many processes of this one's group the kernel has ended for lack of memory; `None`: it does not say.
pub fn memory_kills() -> Option<u64> {
    let groups = parse::read("/proc/self/cgroup")?;
    folders(&groups, "memory").into_iter().find_map(|(folder, has_controllers)| {
        let name = if has_controllers { "memory.oom_control" } else { "memory.events" };
        parse::field(&parse::read(folder.join(name).to_str()?)?, "oom_kill ")
    })
}

/// Every file that may have it.
fn files(groups: &str) -> Vec<CgroupFile> {
    let file = |(folder, has_controllers): (PathBuf, bool)| {
        let (label, per_s) =
            if has_controllers { ("throttled_time ", 1_000_000_000) } else { ("throttled_usec ", 1_000_000) };
        CgroupFile { path: folder.join("cpu.stat"), label, per_s }
    };
    folders(groups, "cpu").into_iter().map(file).collect()
}

/// Folders of a process's groups of a controller and of those above them, by the lines `ID:CONTROLLERS:PATH` of
/// `/proc/PID/cgroup`, and whether controllers are named there: version 2 has none.
fn folders(groups: &str, controller: &str) -> Vec<(PathBuf, bool)> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let has_controllers = !controllers.is_empty();
        let mount = if !has_controllers {
            PathBuf::from(MOUNT)
        } else if controllers.split(',').any(|one| one == controller) {
            Path::new(MOUNT).join(controller)
        } else {
            continue;
        };
        let relative = Path::new(path.trim_start_matches('/'));
        if relative.components().any(|part| matches!(part, std::path::Component::ParentDir)) {
            // A group outside of what this process may see.
            continue;
        }
        found.extend(relative.ancestors().map(|group| (mount.join(group), has_controllers)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(groups: &str) -> Vec<String> {
        files(groups).into_iter().map(|limit| limit.path.display().to_string()).collect()
    }

    #[test]
    fn a_limit_may_stand_at_a_group_and_at_each_above_it() {
        assert_eq!(
            paths("0::/user.slice/run.scope\n"),
            [
                "/sys/fs/cgroup/user.slice/run.scope/cpu.stat",
                "/sys/fs/cgroup/user.slice/cpu.stat",
                "/sys/fs/cgroup/cpu.stat"
            ]
        );
        assert_eq!(
            paths("4:memory:/x\n1:cpu,cpuacct:/box\n"),
            ["/sys/fs/cgroup/cpu/box/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"]
        );
        assert_eq!(paths("0::/../../elsewhere\nnonsense\n2:cpuacct:/\n"), [""; 0]);
        let of_memory = folders("4:memory:/x\n1:cpu:/box\n", "memory");
        let wanted = ["/sys/fs/cgroup/memory/x", "/sys/fs/cgroup/memory/"];
        assert_eq!(of_memory, wanted.map(|folder| (PathBuf::from(folder), true)));
    }

    #[test]
    fn what_limits_held_is_added_up_in_seconds() {
        let folder = tempfile::tempdir().expect("a folder");
        let limit = |name: &str, text: &str, label, per_s| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            CgroupFile { path, label, per_s }
        };
        let limits = [
            limit("a", "nr_throttled 7\nthrottled_usec 1500000\n", "throttled_usec ", 1_000_000),
            limit("b", "throttled_time 250000000\n", "throttled_time ", 1_000_000_000),
        ];
        assert_eq!(held_s(&limits), Some(1.75));
        assert_eq!(held_s(&[]), None);
    }
}
