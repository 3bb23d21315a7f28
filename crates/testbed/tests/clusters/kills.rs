//! `kill -9` of kdyno and its guard: no broker survives. What happens where one of both is killed is part of the tests of whole
//! runs (`crates/kdyno/tests/real_cluster/faults.rs`).

use crate::holder::{HOLD, Held};
use crate::scene::{TestFolder, ensure, eventually, trial};
use crate::starts::kill;
use libtest_mimic::{Failed, Trial};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub fn trials() -> Vec<Trial> {
    vec![trial("no_broker_survives_kdyno_and_its_guard", both_killed)]
}

/// A process that plays kdyno, ended with the test.
struct Holder {
    child: Child,
    held: Held,
}

impl Holder {
    fn start(scene: &TestFolder) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(HOLD)
            .arg(scene.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().ok_or("its output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        match serde_json::from_str::<Held>(&line) {
            Ok(held) => Ok(Self { child, held }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(format!("the holder told \"{line}\": {error}").into())
            }
        }
    }

    fn brokers_end(&self) -> Result<(), Failed> {
        ensure(!self.held.brokers.is_empty(), "there was a broker")?;
        eventually("every broker ends", || self.held.brokers.iter().all(|broker| !broker.is_alive()))?;
        eventually("the guard ends", || !self.held.guard.is_alive())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Ended already, except when the test failed before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn both_killed() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let mut holder = Holder::start(&scene)?;
    // Stopped first, so that neither can act on the other's death.
    let guard = holder.held.guard.pid;
    kill(holder.child.id(), Signal::STOP)?;
    kill(guard, Signal::STOP)?;
    kill(guard, Signal::KILL)?;
    holder.child.kill()?;
    holder.brokers_end()
}
