//! Runs of the program that are kept, so that what was measured is not measured again.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::bench::broker::StandingCluster;
use crate::bench::process::{measured, words};
use crate::bench::setup::Setup;

/// Where the parts find what they need and keep what they measured.
pub struct RunSetup {
    /// The programs.
    pub bench: Setup,
    /// The scenarios.
    pub scenarios: PathBuf,
    /// What was measured.
    pub folder: PathBuf,
}

impl RunSetup {
    /// A folder for the runs of one purpose.
    pub fn folder_of(&self, purpose: &str) -> anyhow::Result<PathBuf> {
        let folder = self.folder.join(purpose);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// What `kdyno show` says of a run.
    pub fn show(&self, file: &Path) -> anyhow::Result<Value> {
        let shown = measured(Command::new(&self.bench.kdyno).args(["show", "--json"]).arg(file))?;
        serde_json::from_str(&shown.stdout).context("kdyno show printed no JSON")
    }

    /// The run of a folder, if it has begun, and what `kdyno show` says of it.
    pub fn run_of(&self, folder: &Path) -> anyhow::Result<Option<(PathBuf, Value)>> {
        let Some(file) = run_file(folder)? else { return Ok(None) };
        let document = self.show(&file)?;
        Ok(Some((file, document)))
    }

    /// Runs a command that leaves one run file in the folder, with what it says on the terminal, and reads that run. Its
    /// exit code is that of its answer: whatever that is, the run is there afterwards.
    pub fn complete(&self, command: &mut Command, folder: &Path) -> anyhow::Result<Value> {
        println!("  {}", words(command));
        let status = command.status().with_context(|| words(command))?;
        let (file, document) = self.run_of(folder)?.context("the program left no run file")?;
        ensure!(is_complete(&document), "{}: the run did not end ({status})", file.display());
        Ok(document)
    }

    /// A target file of a standing cluster that allows whatever is done here.
    pub fn target(&self, broker: &StandingCluster) -> anyhow::Result<PathBuf> {
        let path = self.folder_of("targets")?.join(format!("{}.yaml", broker.name()));
        broker.write_target(&path, allowed)?;
        Ok(path)
    }
}

/// The printed target, with searches allowed and what must end them.
fn allowed(printed: &str) -> anyhow::Result<String> {
    const PLAIN: &str = "allow: [rate-max]";
    ensure!(printed.contains(PLAIN), "kdyno cluster target printed no `{PLAIN}`:\n{printed}");
    Ok(printed.replace(PLAIN, "allow: [rate-max, find], abort_if: [offline_brokers > 0]"))
}

/// Whether the run has ended as its plan does.
pub fn is_complete(document: &Value) -> bool {
    document["status"] == "completed"
}

/// The only run file of a folder.
fn run_file(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "kdyno") {
            found.push(path);
        }
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => bail!("several run files in {}\nhint: keep the one to go on with", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_printed_with_what_is_done_here_allowed() {
        let text = allowed("kdyno: 1\nguard: {prefix: kdyno-, allow: [rate-max]}\n").expect("a target");
        assert!(text.contains("allow: [rate-max, find], abort_if: [offline_brokers > 0]}"), "{text}");
        assert!(allowed("kdyno: 1\n").is_err(), "another form must not pass silently");
    }

    #[test]
    fn a_folder_has_one_run() {
        let folder = std::env::temp_dir().join(format!("xtask-runs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        assert_eq!(run_file(&folder).expect("read"), None);
        std::fs::write(folder.join("a.kdyno"), "").expect("a file");
        std::fs::write(folder.join("a.kdyno-wal"), "").expect("a file");
        assert_eq!(run_file(&folder).expect("read"), Some(folder.join("a.kdyno")));
        std::fs::write(folder.join("b.kdyno"), "").expect("a file");
        let refused = run_file(&folder);
        std::fs::remove_dir_all(&folder).expect("it goes");
        assert!(refused.is_err_and(|error| error.to_string().contains("several run files")));
    }
}
