//! The archive, tried as somebody has it who has nothing else: unpacked into an empty folder, with an empty environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use super::command::said;
use super::source::Release;
use crate::bench::process::{Background, tail, words};

/// Unpacks it, and measures a broker that keeps nothing. Real brokers need a JDK: with those it is tried by
/// `crates/kdyno/tests/real_cluster/bare_host.rs`.
pub fn run(archive: &Path, release: &Release) -> anyhow::Result<()> {
    let place = tempfile::tempdir().context("cannot make a folder to try the archive in")?;
    let bare = Bare { place: place.path(), program: place.path().join(&release.name).join("kdyno") };
    std::fs::create_dir(place.path().join("empty"))?;
    said(Command::new("tar").arg("--extract").arg("--file").arg(archive).arg("--directory").arg(bare.place))?;
    let says = bare.says(&["--version"], &[0])?;
    ensure!(says.trim() == release.says, "the program of the archive says `{}`", says.trim());
    // Advice that is not followed is no failure of the program.
    bare.says(&["doctor"], &[0, 3])?;
    bare.says(&["run", "first-light", "--dry-run"], &[0])?;
    let broker = Background::start(&mut bare.command(&["null-broker", "--port", "0"]))?;
    let address = broker.first_line.as_str();
    // Its figures are not used: a busy host may make them void.
    let quick = ["quick", "--bootstrap-server", address, "--rate", "100/s", "--duration", "1s"];
    bare.says(&quick, &[0, 6])?;
    drop(broker);
    let shown: Value = serde_json::from_str(&bare.says(&["show", "latest", "--json"], &[0])?)?;
    let findings = shown["findings"].as_array().context("a run without findings")?;
    let is_rate = |one: &&Value| one["metric"] == "acked_per_s" && one["quantity"] == "value";
    let rate = findings.iter().find(is_rate).and_then(|one| one["value"].as_f64());
    ensure!(rate.is_some_and(|rate| rate > 0.0), "no record was acknowledged: {rate:?}");
    bare.says(&["export", "latest", "--format", "csv"], &[0])?;
    let page = bare.says(&["report", "latest"], &[0])?;
    let page = std::fs::read_to_string(page.trim()).with_context(|| format!("no page {}", page.trim()))?;
    ensure!(page.contains("<script"), "its pages have no script: scripts/web.sh makes it, before the build");
    Ok(())
}

/// An unpacked archive.
struct Bare<'a> {
    place: &'a Path,
    program: PathBuf,
}

impl Bare<'_> {
    /// The program where no other program is found and there is no home.
    fn command(&self, args: &[&str]) -> Command {
        let empty = self.place.join("empty");
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.place).env_clear();
        command.env("PATH", &empty).env("HOME", &empty).env("TMPDIR", self.place);
        command
    }

    /// What it prints; it must end with one of these codes.
    fn says(&self, args: &[&str], codes: &[i32]) -> anyhow::Result<String> {
        let mut command = self.command(args);
        let output = command.output().with_context(|| format!("cannot start {}", words(&command)))?;
        let (out, complaint) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.code().is_some_and(|code| codes.contains(&code)) {
            bail!("{}: {}\n{}", words(&command), output.status, tail(&format!("{out}{complaint}")));
        }
        Ok(out.into_owned())
    }
}
