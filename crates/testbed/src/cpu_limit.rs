//! Limits on the CPU time of single processes, each by a control group of its own (both versions of cgroups).
//!
//! A group is made by the guard that owns the process, is named by that guard, and is removed by it at the end. Where the
//! guard was killed, the next kdyno finds from the name that its owner is gone, and removes it.

use crate::error::TestbedError;
use crate::leftovers::FOLDER_PREFIX;
use crate::probe::parse;
use crate::process::ProcessId;
use kdyno_model::event::Subject;
use kdyno_model::units;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Where the hierarchies are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The time within which a process may use its share, µs; the kernel's own default.
const PERIOD_US: f64 = 100_000.0;

/// How often the removal of a group is tried: the kernel takes a moment to forget the process that was in it.
const REMOVAL_ATTEMPTS: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// Most groups that are looked at for leftovers.
const GROUPS_MAX: usize = 10_000;

/// A group with a limit, for one process; removed when it goes, which is when its process has ended or was never started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CpuGroup {
    folder: PathBuf,
}

/// A folder in which groups may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CgroupFolder {
    folder: PathBuf,
    /// The second version, with all controllers in one hierarchy.
    is_unified: bool,
}

impl CpuGroup {
    /// Makes the group of a process of this one's, which may use so many processors' time.
    ///
    /// # Errors
    /// Why this host does not allow it, one lowercase clause.
    pub(crate) fn make(of: &Subject, processors: f64) -> Result<Self, String> {
        make_in(&places(), &name(ProcessId::current(), &of.to_string()), processors)
    }

    /// The file that a process joins it by.
    pub(crate) fn members(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        for _ in 0..REMOVAL_ATTEMPTS {
            match std::fs::remove_dir(&self.folder) {
                Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                    std::thread::sleep(REMOVAL_PAUSE);
                }
                // What cannot be removed for another reason is left to the next run (`sweep`).
                _ => return,
            }
        }
    }
}

/// Makes sure that processes can be limited here.
///
/// # Errors
/// They cannot: why, and what does.
pub fn check(processors: f64) -> Result<(), TestbedError> {
    let probe = name(ProcessId::current(), "check");
    let made = make_in(&places(), &probe, processors);
    made.map(drop).map_err(|why| TestbedError::hinted(
        format!("brokers cannot be limited to {} (`limits.cpus`): {why}", units::processors(processors)),
        "run as root, or where the `cpu` controller of cgroups is delegated to this user (`systemd-run --user --scope -p \
               Delegate=yes`); or pin brokers to CPUs (`limits: {pin: [[0], [1]]}`)",
    ))
}

/// Removes groups whose owner is gone and that hold no process any more.
pub fn sweep() {
    places().iter().for_each(sweep_in);
}

fn sweep_in(place: &CgroupFolder) {
    let entries = place.folder.read_dir().into_iter().flatten().take(GROUPS_MAX);
    for entry in entries.filter_map(Result::ok) {
        let owner = entry.file_name().to_str().and_then(owner);
        if owner.is_some_and(|owner| !owner.is_alive()) {
            // A group with processes cannot be removed.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// `kdyno-PID-START-WHOSE`.
fn name(owner: ProcessId, whose: &str) -> String {
    format!("{FOLDER_PREFIX}{}-{}-{whose}", owner.pid, owner.start_ticks)
}

fn owner(name: &str) -> Option<ProcessId> {
    let mut parts = name.strip_prefix(FOLDER_PREFIX)?.splitn(3, '-');
    let (pid, start_ticks) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().map(|_| ProcessId { pid, start_ticks })
}

/// Where groups may be made, the nearest to this process's own first: limits above it count for them too.
fn places() -> Vec<CgroupFolder> {
    places_in(Path::new(MOUNT), &parse::read("/proc/self/cgroup").unwrap_or_default())
}

/// By the lines `ID:CONTROLLERS:PATH` of `/proc/self/cgroup`. Where the first version has the controller, the second one has
/// it not.
fn places_in(mount: &Path, groups: &str) -> Vec<CgroupFolder> {
    let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let first = lines().find(|(controllers, _)| controllers.split(',').any(|one| one == "cpu"));
    let second = lines().find(|(controllers, _)| controllers.is_empty());
    let (root, path, is_unified) = match (first, second) {
        (Some((_, path)), _) => (mount.join("cpu"), path, false),
        (None, Some((_, path))) => (mount.to_owned(), path, true),
        (None, None) => return Vec::new(),
    };
    let own = Path::new(path.trim_start_matches('/'));
    // A group outside of what this process may see.
    let own =
        if own.components().all(|part| matches!(part, Component::Normal(_))) { own } else { Path::new("") };
    own.ancestors().map(|group| CgroupFolder { folder: root.join(group), is_unified }).collect()
}

/// Makes a group in the first place where that can be done.
fn make_in(places: &[CgroupFolder], name: &str, processors: f64) -> Result<CpuGroup, String> {
    let mut why = "there are no control groups for CPUs".to_owned();
    for place in places {
        match place.make(name, processors) {
            Ok(group) => return Ok(group),
            Err(error) => why = error,
        }
    }
    Err(why)
}

impl CgroupFolder {
    fn make(&self, name: &str, processors: f64) -> Result<CpuGroup, String> {
        let shown = self.folder.display();
        if self.is_unified {
            let given = std::fs::read_to_string(self.folder.join("cgroup.subtree_control"));
            let given = given.map_err(|error| format!("{shown}: {error}"))?;
            if !given.split_ascii_whitespace().any(|controller| controller == "cpu") {
                return Err(format!("{shown} gives the `cpu` controller to none of its groups"));
            }
        }
        let group = CpuGroup { folder: self.folder.join(name) };
        std::fs::create_dir(&group.folder)
            .map_err(|error| format!("a control group cannot be made in {shown}: {error}"))?;
        // A share of a period is a whole number of µs.
        let quota_us = (processors * PERIOD_US).round();
        let files = match self.is_unified {
            true => vec![("cpu.max", format!("{quota_us} {PERIOD_US}"))],
            false => {
                vec![("cpu.cfs_period_us", PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota_us.to_string())]
            }
        };
        for (file, text) in files {
            std::fs::write(group.folder.join(file), text)
                .map_err(|error| format!("`{file}` of a control group in {shown} cannot be set: {error}"))?;
        }
        Ok(group)
    }
}

/// The groups that this process has made for one of its own and that are there.
#[cfg(test)]
pub(crate) fn groups_of(of: &Subject) -> Vec<PathBuf> {
    let name = name(ProcessId::current(), &of.to_string());
    places().into_iter().map(|place| place.folder.join(&name)).filter(|group| group.exists()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_made_next_to_this_process_or_above_it() {
        let folders = |groups: &str| -> Vec<(String, bool)> {
            let places = places_in(Path::new("/m"), groups).into_iter();
            places.map(|place| (place.folder.display().to_string(), place.is_unified)).collect()
        };
        let first = |path: &str| (path.to_owned(), false);
        let second = |path: &str| (path.to_owned(), true);
        assert_eq!(
            folders("4:memory:/x\n1:cpu,cpuacct:/box/a\n0::/y\n"),
            [first("/m/cpu/box/a"), first("/m/cpu/box"), first("/m/cpu/")]
        );
        assert_eq!(
            folders("0::/user.slice/a.scope\n"),
            [second("/m/user.slice/a.scope"), second("/m/user.slice"), second("/m/")]
        );
        assert_eq!(folders("0::/../outside\n"), [second("/m/")]);
        assert_eq!(folders("2:cpuacct:/\nnonsense\n"), []);
    }

    /// A tree of the second version in which the controller is given to the groups of one folder.
    #[test]
    fn a_cgroup_of_version_2_is_made_where_the_controller_is_given() {
        let mount = tempfile::tempdir().expect("a folder");
        let own = mount.path().join("user.slice/a.scope");
        std::fs::create_dir_all(&own).expect("folders");
        let give = |folder: &Path, controllers: &str| {
            std::fs::write(folder.join("cgroup.subtree_control"), controllers).expect("written");
        };
        give(&own, "");
        give(&mount.path().join("user.slice"), "memory pids");
        give(mount.path(), "cpuset memory");
        let places = places_in(mount.path(), "0::/user.slice/a.scope\n");
        let why = make_in(&places, "kdyno-1-2-broker-0", 1.5).expect_err("nobody gives it");
        assert!(why.contains("gives the `cpu` controller to none"), "{why}");
        give(&mount.path().join("user.slice"), "cpu memory pids");
        let group = make_in(&places, "kdyno-1-2-broker-0", 1.5).expect("a group");
        assert_eq!(group.folder, mount.path().join("user.slice/kdyno-1-2-broker-0"));
        let set = std::fs::read_to_string(group.folder.join("cpu.max")).expect("it was set");
        assert_eq!(set, "150000 100000");
        assert!(group.members().ends_with("kdyno-1-2-broker-0/cgroup.procs"));
        assert!(make_in(&[], "kdyno-1-2-x", 1.0).is_err());
    }

    #[test]
    fn of_the_first_version_quota_and_period_are_set() {
        let mount = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(mount.path().join("cpu")).expect("a folder");
        // This process's own group is not there, as in a container: then one is made above it.
        let places = places_in(mount.path(), "1:cpu:/docker/abc\n");
        let group = make_in(&places, "kdyno-1-2-broker-0", 0.5).expect("a group");
        assert_eq!(group.folder, mount.path().join("cpu/kdyno-1-2-broker-0"));
        let read = |file: &str| std::fs::read_to_string(group.folder.join(file)).expect("it was set");
        assert_eq!((read("cpu.cfs_quota_us"), read("cpu.cfs_period_us")), ("50000".into(), "100000".into()));
    }

    #[test]
    fn only_groups_of_owners_that_are_gone_are_removed() {
        let mount = tempfile::tempdir().expect("a folder");
        let ended = ProcessId { start_ticks: u64::MAX, ..ProcessId::current() };
        let folder = |name: &str| {
            let folder = mount.path().join(name);
            std::fs::create_dir(&folder).expect("a folder");
            folder
        };
        let abandoned = folder(&name(ended, "broker-0"));
        let kept =
            [folder(&name(ProcessId::current(), "broker-0")), folder("kdyno-box"), folder("other-1-2-x")];
        sweep_in(&CgroupFolder { folder: mount.path().to_owned(), is_unified: true });
        assert!(!abandoned.exists() && kept.iter().all(|folder| folder.exists()));
        drop(CpuGroup { folder: kept[0].clone() });
        assert!(!kept[0].exists());
    }
}
