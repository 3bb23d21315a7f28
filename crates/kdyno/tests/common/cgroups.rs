//! Control groups (cgroups) of either version, found and made without kdyno's own code.
#![allow(dead_code, reason = "each test binary uses its own part of this")]

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A mounted hierarchy whose groups can limit CPU time.
struct Hierarchy {
    root: PathBuf,
    is_unified: bool,
}

/// As the kernel lists what is mounted: `cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0`.
fn hierarchies() -> Vec<Hierarchy> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, root, kind, options, ..] = words.as_slice() else { return None };
        let root = PathBuf::from(root);
        let is_unified = *kind == "cgroup2";
        let gives_cpu = match is_unified {
            true => std::fs::read_to_string(root.join("cgroup.subtree_control"))
                .is_ok_and(|given| given.split_whitespace().any(|controller| controller == "cpu")),
            false => *kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
        };
        gives_cpu.then_some(Hierarchy { root, is_unified })
    };
    mounts.lines().filter_map(of_line).collect()
}

/// Groups of brokers of any kdyno that are there, wherever in a hierarchy.
pub fn of_brokers() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = hierarchies().into_iter().map(|one| one.root).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()).filter(|path| path.is_dir()) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.starts_with("kdyno-") && name.contains("-broker-") {
                found.push(path.clone());
            }
            folders.push(path);
        }
    }
    found
}

/// A group with a limit on CPU time; removed at the end.
pub struct Group(PathBuf);

impl Group {
    /// One whose processes may use so many hundredths of a processor; `None` where this user or host cannot have it.
    pub fn of_hundredths(hundredths: u32) -> Option<Self> {
        let made = |one: Hierarchy| {
            let group = Self(one.root.join(format!("kdyno-test-{}", std::process::id())));
            std::fs::create_dir(&group.0).ok()?;
            let quota_us = hundredths * 1000;
            let (file, text) = match one.is_unified {
                true => ("cpu.max", format!("{quota_us} 100000")),
                false => ("cpu.cfs_quota_us", quota_us.to_string()),
            };
            std::fs::write(group.0.join(file), text).ok().map(|()| group)
        };
        hierarchies().into_iter().find_map(made)
    }

    /// The command as one that runs in the group, with all that it starts.
    pub fn starts(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        shell
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its process has ended by now, unless the test failed.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Whether what needs such a group is to be tested: where one can be made, a kdyno that says it cannot is wrong.
pub fn can_be_made() -> bool {
    Group::of_hundredths(50).is_some()
}
