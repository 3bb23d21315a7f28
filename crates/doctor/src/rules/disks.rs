//! Disks of the folders in which logs lie.

use super::{Reason, advice, source};
use crate::advice::AdviceSeverity::{Low, Medium};
use crate::advice::{Advice, SettingChange};
use crate::expect::Expect;
use crate::observed::Disk;
use crate::quote::quoted;

/// A file of a block device's queue.
struct QueueRule {
    file: &'static str,
    read: fn(&Disk) -> Option<&String>,
    expect: Expect,
    reason: Reason,
    how: How,
}

/// How a file of a queue is changed.
#[derive(PartialEq)]
enum How {
    /// By a command, of drives that do not rotate; of others it is not asked.
    OfSolidState,
    /// By hand, as these words have it.
    ByHand(&'static str),
}

const QUEUE_RULES: &[QueueRule] = &[
    QueueRule {
        file: "scheduler",
        read: |disk| disk.scheduler.as_ref(),
        expect: Expect::Is("none"),
        reason: Reason {
            severity: Low,
            why: "a solid-state drive orders requests itself; a scheduler before it costs time",
            source: source::INTEL,
        },
        how: How::OfSolidState,
    },
    QueueRule {
        file: "rotational",
        read: |disk| disk.rotational.as_ref(),
        expect: Expect::Is("0"),
        reason: Reason {
            severity: Low,
            why: "the kernel must not plan for a moving head where there is none; of a drive that rotates leave it",
            source: source::INTEL,
        },
        how: How::ByHand("if the drive is a solid-state or virtual one"),
    },
    QueueRule {
        file: "read_ahead_kb",
        read: |disk| disk.read_ahead_kib.as_ref(),
        expect: Expect::AtMost(8),
        reason: Reason {
            severity: Low,
            why: "taken over from a database with small random reads: consumers that lag read logs in order, and a small \
                  read-ahead may slow them",
            source: source::INTEL,
        },
        how: How::ByHand("once a drain was measured with both"),
    },
];

/// File systems that keep nothing, or whose disk is elsewhere: no advice on mounts.
const NOT_DISKS: [&str; 4] = ["tmpfs", "ramfs", "overlay", "proc"];

/// Holds each disk against the table.
pub(crate) fn examine(disks: &[Disk]) -> Vec<Advice> {
    let mut all = Vec::new();
    for disk in disks {
        let of = format!("disk {}", disk.device.as_deref().unwrap_or(&disk.mount_point));
        if !NOT_DISKS.contains(&disk.filesystem.as_str()) {
            all.extend([filesystem(&of, disk), access_times(&of, disk)]);
        }
        all.extend(QUEUE_RULES.iter().filter_map(|rule| queue(&of, disk, rule)));
        if disk.brokers > 0 {
            all.push(sharing(&of, disk.brokers));
        }
    }
    all
}

fn queue(of: &str, disk: &Disk, rule: &QueueRule) -> Option<Advice> {
    let device = disk.device.as_ref()?;
    let rotates = disk.rotational.as_deref().is_none_or(|text| text.trim() != "0");
    if rotates && rule.how == How::OfSolidState {
        return None;
    }
    let current = (rule.read)(disk).map(|text| text.trim().to_owned());
    let is_followed = current.as_deref().and_then(|current| rule.expect.is_followed(current));
    let file = quoted(&format!("/sys/block/{device}/queue/{}", rule.file));
    let set = |value: &str| format!("echo {} | tee {file} > /dev/null", quoted(value));
    let apply = set(&rule.expect.value());
    let change = |current: &str| {
        Some(match rule.how {
            How::OfSolidState => SettingChange::commands(apply, set(current)),
            How::ByHand(when) => SettingChange::by_hand(format!("{when}: {apply}")),
        })
    };
    Some(advice(of, rule.file, (current, is_followed), rule.expect.words(), rule.reason, change))
}

fn filesystem(of: &str, disk: &Disk) -> Advice {
    let expect = Expect::OneOf(&["xfs", "ext4"]);
    let reason = Reason {
        severity: Low,
        why: "the two that most brokers run on; of these XFS needs less tuning",
        source: source::KAFKA_HOST,
    };
    let current = (Some(disk.filesystem.clone()), expect.is_followed(&disk.filesystem));
    let how = |_: &str| Some(SettingChange::by_hand("make a new file system: mkfs.xfs DEVICE"));
    advice(of, "file system", current, expect.words(), reason, how)
}

fn access_times(of: &str, disk: &Disk) -> Advice {
    let reason = Reason {
        severity: Low,
        why: "reading a log need not write when it was read",
        source: source::KAFKA_HOST,
    };
    let has = |option: &str| disk.options.iter().any(|own| own == option);
    // `noatime` includes directories (mount(8)).
    let found = ["noatime", "relatime", "strictatime"].into_iter().find(|option| has(option));
    let current = found.unwrap_or("atime").to_owned();
    let remount = |options: &str| format!("mount -o remount,{options} {}", quoted(&disk.mount_point));
    // The kernel takes all options of access times again; `atime` takes `noatime` away.
    let before = if found == Some("relatime") { "relatime" } else { "strictatime" };
    let of_folders = if has("nodiratime") { ",nodiratime" } else { "" };
    let undo = format!("atime,{before}{of_folders}");
    let change = |_: &str| Some(SettingChange::commands(remount("noatime"), remount(&undo)));
    advice(of, "mount", (Some(current), Some(found == Some("noatime"))), "noatime".to_owned(), reason, change)
}

fn sharing(of: &str, brokers: usize) -> Advice {
    let reason = Reason {
        severity: Medium,
        why: "brokers on one drive wait for each other's writes, and replicas share its failure",
        source: source::INTEL,
    };
    let how = |_: &str| {
        Some(SettingChange::by_hand("a drive for each broker; of a scenario's brokers: system.storage"))
    };
    let current = (Some(brokers.to_string()), Some(brokers == 1));
    advice(of, "number of brokers", current, "1".to_owned(), reason, how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdviceStatus;

    fn disk() -> Disk {
        Disk {
            mount_point: "/data 1".to_owned(),
            filesystem: "ext4".to_owned(),
            options: vec!["rw".to_owned(), "relatime".to_owned()],
            device: Some("sda".to_owned()),
            scheduler: Some("mq-deadline".to_owned()),
            rotational: Some("0\n".to_owned()),
            read_ahead_kib: None,
            brokers: 0,
        }
    }

    fn of<'a>(all: &'a [Advice], setting: &str) -> &'a Advice {
        all.iter().find(|advice| advice.setting == setting).expect("a rule of that name")
    }

    #[test]
    fn a_disk_is_held_against_the_table() {
        let all = examine(&[disk()]);
        assert_eq!(of(&all, "file system").verdict, AdviceStatus::Followed);
        assert_eq!(of(&all, "rotational").verdict, AdviceStatus::Followed);
        assert_eq!(of(&all, "read_ahead_kb").verdict, AdviceStatus::Unknown);
        let mount = of(&all, "mount").change.as_ref().expect("a change");
        assert_eq!(mount.apply, "mount -o remount,noatime '/data 1'");
        assert_eq!(mount.undo.as_deref(), Some("mount -o remount,atime,relatime '/data 1'"));
        let scheduler = of(&all, "scheduler").change.as_ref().expect("a change");
        let put = |word| format!("echo {word} | tee /sys/block/sda/queue/scheduler > /dev/null");
        assert_eq!(scheduler.apply, put("none"));
        assert_eq!(scheduler.undo, Some(put("mq-deadline")));
        assert!(!all.iter().any(|advice| advice.setting == "number of brokers"));
    }

    #[test]
    fn a_drive_that_may_rotate_is_left_to_hands() {
        let all = examine(&[Disk {
            rotational: Some("1".to_owned()),
            read_ahead_kib: Some("128".to_owned()),
            ..disk()
        }]);
        assert!(!all.iter().any(|advice| advice.setting == "scheduler"));
        for setting in ["rotational", "read_ahead_kb"] {
            let change = of(&all, setting).change.as_ref().expect("a change");
            assert!(change.by_hand && change.undo.is_none(), "{change:?}");
        }
        let mut with_option = disk();
        with_option.options.push("nodiratime".to_owned());
        let all = examine(&[with_option]);
        let undo = of(&all, "mount").change.as_ref().and_then(|change| change.undo.as_deref());
        assert_eq!(undo, Some("mount -o remount,atime,relatime,nodiratime '/data 1'"));
    }

    #[test]
    fn brokers_that_share_a_drive_are_named_tmpfs_has_no_advice() {
        let all = examine(&[Disk { brokers: 3, ..disk() }]);
        assert_eq!(of(&all, "number of brokers").verdict, AdviceStatus::NotFollowed);
        let memory = Disk { filesystem: "tmpfs".to_owned(), device: None, ..disk() };
        assert!(examine(&[memory]).is_empty());
    }
}
