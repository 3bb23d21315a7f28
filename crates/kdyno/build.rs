//! Gives the program its version: the package's, and the commit where the source is a git checkout. Neither git
//! nor a network is needed, and a source without a checkout builds the same way every time. Changes that were
//! not committed do not show.
#![allow(clippy::print_stdout, reason = "a build script speaks to cargo on standard output")]

#[path = "../testbed/src/git.rs"]
mod git;

use std::path::PathBuf;

/// Digits of a commit that distinguish it from any other of one repository.
const COMMIT_DIGITS: usize = 12;

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let version = variable("CARGO_PKG_VERSION");
    let checkout = git::folder(&PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../.git"));
    let commit = checkout.as_deref().and_then(git::head);
    let commit = commit.and_then(|commit| commit.get(..COMMIT_DIGITS).map(str::to_owned));
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=KDYNO_VERSION={version}");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../testbed/src/git.rs");
    for path in checkout.iter().flat_map(|git| git::watched(git)) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}
