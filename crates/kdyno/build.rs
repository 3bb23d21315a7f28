//! Gives the program its version: the package's, and where the source is a git checkout the commit and its day, which is the
//! same for every build of it. Without git the day is left out; a source without a checkout builds the same way every
//! time. Changes that were not committed do not show.
#![allow(clippy::print_stdout, reason = "a build script speaks to cargo on standard output")]

#[path = "../testbed/src/git.rs"]
mod git;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Digits of a commit that distinguish it from any other of one repository.
const COMMIT_DIGITS: usize = 12;

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let version = variable("CARGO_PKG_VERSION");
    let checkout = git::folder(&PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../.git"));
    let commit = checkout.as_deref().and_then(git::head);
    let built_from = checkout.as_deref().zip(commit.as_deref()).and_then(|(git, commit)| {
        let day = day(git, commit).map(|day| format!(" {day}")).unwrap_or_default();
        Some(format!(" ({}{day})", commit.get(..COMMIT_DIGITS)?))
    });
    let version = version + &built_from.unwrap_or_default();
    println!("cargo::rustc-env=KDYNO_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../testbed/src/git.rs");
    for path in checkout.iter().flat_map(|git| git::watched(git)) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// The day on which a commit was made, UTC. A checkout may belong to another user (a container); reading it is harmless.
fn day(folder: &Path, commit: &str) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "--git-dir"]).arg(folder).env("TZ", "UTC0");
    let said =
        git.args(["log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%d", commit]).output().ok()?;
    let day = String::from_utf8(said.stdout).ok()?.trim().to_owned();
    (said.status.success() && !day.is_empty()).then_some(day)
}
