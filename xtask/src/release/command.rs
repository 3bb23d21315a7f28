//! Commands that are asked something.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::bench::process::{tail, words};

/// Git in the workspace's folder. A checkout may belong to another user (a container); reading it is harmless.
pub fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*"]).current_dir(root);
    git
}

/// What a command says, without the space around it.
pub fn said(command: &mut Command) -> anyhow::Result<String> {
    let words = words(command);
    let output = command.output().with_context(|| format!("cannot start {words}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{words}: {}\n{}", output.status, tail(complaint.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
