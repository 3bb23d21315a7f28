//! Settings of the host that somebody may want changed: kernel parameters, limits of processes, disks. Only read.

use crate::probe::parse;
use rustix::process::{Resource, getrlimit};
use std::path::Path;

/// A kernel parameter by the name that `sysctl` has for it, e.g. `vm.swappiness`; `None`: this kernel has none of that name,
/// or does not report it.
#[must_use]
pub fn sysctl(name: &str) -> Option<String> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if !is_plain || name.contains("..") {
        return None;
    }
    value(&format!("/proc/sys/{}", name.replace('.', "/")))
}

/// A file of one value, or of several with the one in force in brackets.
#[must_use]
pub fn value(path: &str) -> Option<String> {
    let text = parse::read(path)?;
    let text = text.trim();
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
    Some(chosen.unwrap_or(text).to_owned())
}

/// The parameter in each file of a pattern, with its path, in the order of their numbers: `*` is a number, and occurs
/// once or not at all.
#[must_use]
pub fn values(pattern: &str) -> Vec<(String, String)> {
    let Some((before, after)) = pattern.split_once('*') else {
        return value(pattern).map(|value| (pattern.to_owned(), value)).into_iter().collect();
    };
    let Some((folder, prefix)) = before.rsplit_once('/') else { return Vec::new() };
    let number = |entry: std::fs::DirEntry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok();
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut numbers: Vec<u32> = entries.filter_map(|entry| number(entry.ok()?)).collect();
    numbers.sort_unstable();
    let paths = numbers.into_iter().map(|number| format!("{before}{number}{after}"));
    paths.filter_map(|path| Some((path.clone(), value(&path)?))).collect()
}

/// How many files a process started from here may have open once it raised its own limit; `unlimited` as a shell says it.
#[must_use]
pub fn open_files() -> String {
    limit(Resource::Nofile)
}

/// Bytes of memory that it may lock.
#[must_use]
pub fn locked_memory() -> String {
    limit(Resource::Memlock)
}

/// Processes and threads that its user may have.
#[must_use]
pub fn processes() -> String {
    limit(Resource::Nproc)
}

fn limit(of: Resource) -> String {
    getrlimit(of).maximum.map_or_else(|| "unlimited".to_owned(), |most| most.to_string())
}

/// Swap space, bytes.
#[must_use]
pub fn swap_bytes() -> Option<String> {
    let kib = parse::field(&parse::read("/proc/meminfo")?, "SwapTotal:")?;
    Some(kib.saturating_mul(1024).to_string())
}

/// Profile of the tuning daemon, where there is one.
#[must_use]
pub fn tuned_profile() -> Option<String> {
    value("/etc/tuned/active_profile").filter(|profile| !profile.is_empty())
}

/// Groups of processors with memory of their own.
#[must_use]
pub fn numa_nodes() -> Option<u32> {
    let names = std::fs::read_dir("/sys/devices/system/node").ok()?;
    let is_node = |name: &str| {
        name.strip_prefix("node")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    };
    let nodes = names
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_node)));
    u32::try_from(nodes.count()).ok().filter(|nodes| *nodes > 0)
}

/// The mount that a folder lies on, and the disk behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is mounted.
    pub point: String,
    /// Type of the file system.
    pub filesystem: String,
    /// Its options.
    pub options: Vec<String>,
    /// Name of the whole drive, not of its partition; `None`: the kernel names none.
    pub device: Option<String>,
}

/// The mount of a folder, which need not be there yet; `None` where the kernel does not say.
#[must_use]
pub fn mount_of(folder: &Path) -> Option<Mount> {
    let absolute = folder.ancestors().find_map(|path| path.canonicalize().ok())?;
    let (mut mount, number) = mount_in(&parse::read("/proc/self/mountinfo")?, &absolute)?;
    mount.device = device(&number);
    Some(mount)
}

/// The mount of an absolute path, and its device's number, `MAJOR:MINOR`.
pub(crate) fn mount_in(mountinfo: &str, absolute: &Path) -> Option<(Mount, String)> {
    let of_line = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let fields: Vec<&str> = left.split_ascii_whitespace().collect();
        let point = unescaped(fields.get(4)?);
        absolute.starts_with(&point).then_some(())?;
        let mount = Mount {
            filesystem: right.split_ascii_whitespace().next()?.to_owned(),
            options: fields.get(5)?.split(',').map(str::to_owned).collect(),
            device: None,
            point,
        };
        Some((mount, (*fields.get(2)?).to_owned()))
    };
    // Later lines lie over earlier ones of the same place.
    mountinfo.lines().filter_map(of_line).max_by_key(|(mount, _)| mount.point.len())
}

/// The kernel writes what would end a field as three octal digits.
fn unescaped(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (code, character)| text.replace(code, character))
}

/// The drive of a device number: of a partition the drive that it is part of.
fn device(number: &str) -> Option<String> {
    let path = Path::new("/sys/dev/block").join(number).canonicalize().ok()?;
    let is_partition = path.join("partition").exists();
    let drive = if is_partition { path.parent()? } else { &path };
    Some(drive.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_this_host_are_read() {
        assert!(sysctl("vm.swappiness").is_some_and(|text| text.parse::<u32>().is_ok()));
        assert_eq!((sysctl("vm.no_such_parameter"), sysctl("vm/../../../etc/hostname")), (None, None));
        assert!(open_files() == "unlimited" || open_files().parse::<u64>().is_ok());
        assert!(swap_bytes().is_some());
    }

    #[test]
    fn the_value_in_force_is_in_brackets() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let read = |text: &str| {
            std::fs::write(file.path(), text).expect("written");
            value(file.path().to_str().expect("a path"))
        };
        assert_eq!(read("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(read("60\n").as_deref(), Some("60"));
    }

    #[test]
    fn files_of_a_pattern_are_read_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("cpu10", "b"), ("cpu2", "a"), ("cpufreq", "x"), ("other", "x")] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
            std::fs::write(folder.path().join(name).join("governor"), text).expect("written");
        }
        std::fs::create_dir(folder.path().join("cpu3")).expect("one without the file");
        let path = |name: &str| format!("{}/{name}/governor", folder.path().display());
        let of = |path: String, value: &str| (path, value.to_owned());
        assert_eq!(values(&path("cpu*")), [of(path("cpu2"), "a"), of(path("cpu10"), "b")]);
        assert_eq!(values(&path("other")), [of(path("other"), "x")]);
        assert_eq!((values(&path("none")), values(&path("none*")), values("*")), (vec![], vec![], vec![]));
    }

    #[test]
    fn the_longest_mount_point_wins() {
        let mounts = "1 0 254:0 / / rw,relatime - ext4 /dev/vda rw\n2 1 0:5 / /data\\0401 rw,noatime - xfs x rw\n\
                      3 1 0:6 / /dat rw - tmpfs x rw\ngarbage\n1 2 - \n";
        let of = |path: &str| mount_in(mounts, Path::new(path)).expect("a mount");
        let (mount, number) = of("/data 1/logs");
        assert_eq!((mount.filesystem.as_str(), number.as_str()), ("xfs", "0:5"));
        assert_eq!(mount.options, ["rw", "noatime"]);
        assert_eq!(of("/data").0.filesystem, "ext4");
    }
}
