//! A cluster that outlives the process that made it, and is ended by name.

use crate::holder::{STAND, STANDING};
use crate::scene::{PATIENCE, TestFolder, ensure, one_broker, options, trial};
use kdyno_kafka::admin::Admin;
use kdyno_testbed::{ProcessId, registry};
use libtest_mimic::{Failed, Trial};
use std::path::PathBuf;
use std::process::Command;

pub fn trials() -> Vec<Trial> {
    vec![trial("a_standing_cluster_outlives_its_maker_and_is_ended_by_name", up_and_down)]
}

/// Ends the cluster whatever becomes of the test.
struct Down<'a>(&'a TestFolder);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        // Already down when the test went well.
        let _ = registry::down(&self.0.environment, STANDING);
    }
}

fn up_and_down() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let down = Down(&scene);
    // The caller holds a file open that the cluster must not.
    let held = scene.folder.path().join("held");
    let mut made = Command::new("sh");
    made.args(["-c", "exec 9>\"$0\"; exec \"$@\""]).arg(&held).arg(std::env::current_exe()?);
    let made = made.arg(STAND).arg(scene.folder.path()).output()?;
    ensure(made.status.success(), String::from_utf8_lossy(&made.stderr))?;
    let made: registry::RunningCluster = serde_json::from_slice(&made.stdout)?;
    let listed = registry::list(&scene.environment)?;
    ensure(listed == [made.clone()], format!("{listed:?}"))?;
    ensure(made.dead().is_empty(), "its processes run")?;
    for pid in made.processes.iter().map(|process| process.pid).chain([made.guard.pid]) {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd"))?.flatten();
        let holds = open.filter_map(|file| file.path().read_link().ok()).any(|file| file == held);
        ensure(!holds, format!("process {pid} holds what its maker's caller had open"))?;
    }
    let brokers = Admin::connect(&made.bootstrap, "test", PATIENCE)?.cluster()?.brokers.len();
    ensure(brokers == 1, "it answers after its maker has ended")?;

    let again = registry::up(STANDING, &one_broker(), options(&scene.environment, PathBuf::new()));
    let error = again.err().ok_or("the name was given twice")?;
    ensure(error.to_string().contains("is running already"), error.to_string())?;

    let broker = ProcessId::of(made.processes[0].pid).ok_or("it runs")?;
    registry::down(&scene.environment, STANDING)?;
    ensure(!broker.is_alive() && !made.guard.is_alive(), "broker and guard have ended")?;
    ensure(!made.work_dir.exists(), "its data is removed")?;
    ensure(registry::list(&scene.environment)?.is_empty(), "it is listed no more")?;
    drop(down);
    Ok(())
}
