//! Folders that users of a host share: what others plant there, who may look into what a run writes, names that break options.

use crate::common::{RUN_DEADLINE, TestFolder, ran};
use crate::{CLUSTER_ID, NullBroker, files, run};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// A FIFO in the place of the name of a folder's owner, that of another user who waits for each start.
#[test]
fn planted_files_in_the_temporary_folder_do_not_block_a_run() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let planted = place.path().join("kdyno-planted");
    std::fs::create_dir(&planted).expect("a folder");
    let owner = planted.join(".kdyno-owner");
    mknodat(CWD, &owner, FileType::Fifo, Mode::from_raw_mode(0o666), 0).expect("a FIFO");
    let mut running = run(&place, &files, &["--set", "dur=3s"]);
    running.wait_for("· measure");
    let folders = std::fs::read_dir(place.path()).expect("the test's folder").flatten();
    let made = folders.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("kdyno-") && !["kdyno-planted", "kdyno-runs"].contains(&name.as_str())
    });
    let modes: Vec<u32> =
        made.map(|entry| entry.metadata().expect("there").permissions().mode() & 0o777).collect();
    assert_eq!(modes, [0o700], "the folder of the run");
    ran(&running.wait(RUN_DEADLINE));
    assert!(owner.exists(), "nothing of others is removed");
    broker.stop();
}

#[test]
fn a_dry_run_reports_a_temporary_folder_that_options_split() {
    let place = TestFolder::new();
    let odd = place.path().join("a,b");
    std::fs::create_dir(&odd).expect("a folder");
    let scenario = place.file(
        "local.yaml",
        "kdyno: 1\nid: local\nquestion: why?\nsystem: {kafka: 4.1.1}\ntopics: {t: {partitions: 1}}\n\
         load: {w: {produce: t, rate: 10/s, value: 10B}}\nphases: {measure: 1s}\n",
    );
    let scenario = scenario.to_str().expect("plain path");
    for args in [vec!["run", scenario, "--dry-run"], vec!["run", scenario, "--share"]] {
        let mut command = place.command(&args);
        command.env("TMPDIR", &odd);
        let said = place.start(command).wait(RUN_DEADLINE);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.stderr.contains("there is a ',' in it") && said.stderr.contains("hint:"), "{said:?}");
        assert!(said.stderr.contains("TMPDIR"), "{said:?}");
    }
    place.expect_no_processes();
}

/// As in a container that has nothing but the program.
#[test]
fn without_dev_null_the_error_names_it() {
    let place = TestFolder::new();
    let hidden = |program: &OsStr| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", "mount -t tmpfs none /dev && exec \"$0\" \"$@\""]).arg(program);
        command
    };
    if !hidden(OsStr::new("true")).output().is_ok_and(|probe| probe.status.success()) {
        eprintln!("skipped: /dev cannot be hidden here (needs root, util-linux)");
        return;
    }
    let broker = NullBroker::start(&place);
    let args = ["quick", "--bootstrap-server", &broker.address, "--duration", "2s", "--share"];
    let kdyno = place.command(&args);
    let mut command = hidden(kdyno.get_program());
    command.args(kdyno.get_args()).current_dir(place.path()).stdin(Stdio::null());
    command.envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let said = place.start(command).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let words = "no process can be started here: /dev/null cannot be opened: No such file";
    assert!(said.stderr.contains(words), "{said:?}");
    broker.stop();
}

/// Names of files on Linux are bytes.
#[test]
fn a_folder_of_runs_may_have_any_name() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let [scenario, _, target] = files(&place, &broker.address, CLUSTER_ID);
    let out = place.path().join(OsStr::from_bytes(b"runs-\xff"));
    let mut command = place.command(&["run", &scenario, "--target", &target, "--share", "--out"]);
    command.arg(&out);
    ran(&place.start(command).wait(RUN_DEADLINE));
    let made = std::fs::read_dir(&out).expect("a folder of runs").flatten();
    let ends: Vec<_> = made.filter_map(|entry| Some(entry.path().extension()?.to_owned())).collect();
    assert!(ends.iter().any(|end| end == "kdyno") && ends.iter().any(|end| end == "html"), "{ends:?}");
    broker.stop();
}
