//! The script of changes, run by a shell that finds programs of this test's in place of the host's.

use kdyno_doctor::observed::{
    Cluster, Disk, Observed, ObservedBroker, ObservedHost, ObservedSetting, ObservedTopic, SettingLevel,
};
use kdyno_doctor::{examine, script};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Programs that note how they were called, with what came on standard input, and fail where their words hold `$FAILS`.
const PROGRAM: &str = r#"#!/bin/sh
name=${0##*/}
case "$name" in
    tee) words="$* < $(/bin/cat)" ;;
    kafka-leader-election.sh) words="$* < $(/bin/cat)" ;;
    *) words="$*" ;;
esac
echo "$name $words" >> "$NOTES"
case "$words" in *"$FAILS"*) exit 1 ;; esac
"#;

const PROGRAMS: [&str; 6] =
    ["sysctl", "tee", "mount", "tuned-adm", "kafka-configs.sh", "kafka-leader-election.sh"];

/// What was called, and what the shell said: its exit code and standard error.
fn run(script: &str, what: &str, fails: &str) -> (Vec<String>, i32, String) {
    let folder = tempfile::tempdir().expect("a folder");
    for name in PROGRAMS {
        let path = folder.path().join(name);
        std::fs::write(&path, PROGRAM).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("may be run");
    }
    let (file, notes) = (folder.path().join("changes.sh"), folder.path().join("notes"));
    std::fs::write(&file, script).expect("written");
    let ran = Command::new("/bin/sh")
        .args([file.as_path(), Path::new(what)])
        .env_clear()
        .envs([("PATH", folder.path()), ("NOTES", &notes)])
        .env("FAILS", fails)
        .output()
        .expect("sh");
    let notes = std::fs::read_to_string(notes).unwrap_or_default();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    (notes.lines().map(str::to_owned).collect(), ran.status.code().expect("a code"), said)
}

const NOTHING: &str = "no command has these words";

fn observed() -> Observed {
    let host = ObservedHost {
        settings: [
            ("tuned profile", "balanced"),
            ("vm.swappiness", "60"),
            ("net.ipv4.tcp_rmem", "4096\t131072\t6291456"),
            ("swap", "4096"),
        ]
        .map(|(name, value)| (name, value.to_owned()))
        .into(),
        files: [("scaling_governor", vec![("/c/0".to_owned(), "powersave".to_owned())])].into(),
        ..ObservedHost::default()
    };
    let disk = Disk {
        mount_point: "/data 1".to_owned(),
        filesystem: "xfs".to_owned(),
        options: vec!["rw".to_owned(), "relatime".to_owned()],
        device: Some("sda".to_owned()),
        scheduler: Some("bfq".to_owned()),
        rotational: Some("0".to_owned()),
        ..Disk::default()
    };
    let threads = ObservedSetting { value: "32".to_owned(), level: SettingLevel::Broker };
    let broker = ObservedBroker {
        id: 4,
        processors: Some(2),
        settings: [("num.io.threads".to_owned(), threads)].into(),
        ..ObservedBroker::default()
    };
    Observed {
        host: Some(host),
        disks: vec![disk],
        brokers: vec![broker],
        cluster: Some(Cluster { bootstrap: "h:1".to_owned(), is_secured: false }),
        ..Observed::default()
    }
}

#[test]
fn both_ways_are_run_and_tuned_which_sets_others_is_first() {
    let script = script(&examine(&observed()));
    let broker = |value| {
        format!(
            "kafka-configs.sh --bootstrap-server h:1 --alter --entity-type brokers --entity-name 4 --add-config \
             num.io.threads={value}"
        )
    };
    let governors = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let (called, code, said) = run(&script, "apply", NOTHING);
    assert_eq!((code, said.as_str()), (0, ""), "{called:#?}");
    let expected = [
        "tuned-adm profile latency-performance",
        "sysctl -w vm.swappiness=1",
        "sysctl -w net.ipv4.tcp_rmem=4096 131072 16777216",
    ];
    assert_eq!(called[..3], expected);
    // The shell finds no such processors here, or this host's.
    assert!(called[3].starts_with("tee /sys/devices/system/cpu/cpu") && called[3].ends_with("< performance"));
    assert_eq!(
        called[4..],
        [
            "mount -o remount,noatime /data 1".to_owned(),
            "tee /sys/block/sda/queue/scheduler < none".to_owned(),
            broker(16),
            broker(8),
        ]
    );
    let (called, code, said) = run(&script, "undo", NOTHING);
    assert_eq!((code, said.as_str()), (0, ""), "{called:#?}");
    let expected = [
        "tuned-adm profile balanced",
        "sysctl -w vm.swappiness=60",
        "sysctl -w net.ipv4.tcp_rmem=4096 131072 6291456",
    ];
    assert_eq!(called[..3], expected);
    assert!(called[3].ends_with("< powersave"), "{called:?}");
    assert_eq!(
        called[4..],
        [
            "mount -o remount,atime,relatime /data 1".to_owned(),
            "tee /sys/block/sda/queue/scheduler < bfq".to_owned(),
            broker(16),
            broker(32),
        ]
    );
    assert!(script.contains(governors) && !script.contains("( swapoff"), "{script}");
}

#[test]
fn a_failing_command_is_reported_and_those_after_it_run() {
    let script = script(&examine(&observed()));
    for what in ["apply", "undo"] {
        let (all, _, _) = run(&script, what, NOTHING);
        let (called, code, said) = run(&script, what, "vm.swappiness");
        assert_eq!((called, code), (all, 1));
        assert_eq!(said, "failed: host: vm.swappiness\ncommands that failed: 1\n");
    }
    // The later ones of several steps would be refused.
    let (called, code, said) = run(&script, "apply", "num.io.threads=16");
    assert!(called.last().is_some_and(|last| last.ends_with("num.io.threads=16")), "{called:?}");
    assert!(code == 1 && said.starts_with("failed: broker 4: num.io.threads\n"), "{said}");
}

#[test]
fn a_secured_cluster_asks_for_its_client_settings() {
    let mut observed = Observed { host: None, disks: Vec::new(), ..observed() };
    observed.cluster.iter_mut().for_each(|cluster| cluster.is_secured = true);
    let script = script(&examine(&observed));
    let (called, code, said) = run(&script, "apply", NOTHING);
    assert!(called.is_empty() && code == 1, "{called:?}");
    assert!(said.contains("CLIENT_PROPERTIES: is to name a file of client settings"), "{said}");
    let with =
        script.replacen("failed=0", "failed=0\nCLIENT_PROPERTIES='/secret place/client.properties'", 1);
    let (called, code, _) = run(&with, "apply", NOTHING);
    assert_eq!((called.len(), code), (2, 0));
    assert!(called[0].contains("h:1 --command-config /secret place/client.properties --alter"), "{called:?}");
}

#[test]
fn leaders_are_elected_for_the_partitions_that_others_lead() {
    use kdyno_doctor::observed::Placement;
    let at = |leader| Placement { leader, replicas: vec![0, 1], isr: vec![0, 1] };
    let topic = ObservedTopic {
        name: "orders".to_owned(),
        partitions: 3,
        replicas: 2,
        placement: Some(vec![at(0), at(1), at(1)]),
        ..ObservedTopic::default()
    };
    let brokers = vec![ObservedBroker::default(), ObservedBroker { id: 1, ..ObservedBroker::default() }];
    let observed = Observed { host: None, disks: Vec::new(), topics: vec![topic], brokers, ..observed() };
    let (called, code, _) = run(&script(&examine(&observed)), "apply", NOTHING);
    let partition = |number| format!(r#"{{"partition":{number},"topic":"orders"}}"#);
    let file = format!(r#"{{"partitions":[{},{}]}}"#, partition(1), partition(2));
    let options = "--bootstrap-server h:1 --election-type preferred --path-to-json-file /dev/stdin";
    assert_eq!((called, code), (vec![format!("kafka-leader-election.sh {options} < {file}")], 0));
}
