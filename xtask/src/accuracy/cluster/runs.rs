//! Runs of the program that are kept, so that what was measured is not measured again.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use kdyno_model::conclusion::{Conclusion, Verdict};
use kdyno_model::outcome::Judgement;
use kdyno_model::run::RunStatus;
use kdyno_store::RunFile;

use crate::bench::broker::StandingCluster;
use crate::bench::load::write_privately;
use crate::bench::process::words;
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

/// A run that is kept.
pub struct Stored {
    pub path: PathBuf,
    pub file: RunFile,
}

impl Stored {
    /// Whether it has ended as its plan does.
    pub fn is_complete(&self) -> anyhow::Result<bool> {
        let sessions = self.file.sessions()?;
        let end = sessions.last().and_then(|(_, end)| end.as_ref());
        Ok(end.is_some_and(|end| end.status == RunStatus::Completed))
    }
}

/// The verdicts among what was concluded.
pub fn verdicts(judgement: &Judgement) -> impl Iterator<Item = &Verdict> {
    judgement.conclusions.iter().filter_map(|one| match one {
        Conclusion::Verdict(verdict) => Some(verdict),
        _ => None,
    })
}

impl RunSetup {
    /// A folder for the runs of one purpose.
    pub fn folder_of(&self, purpose: &str) -> anyhow::Result<PathBuf> {
        let folder = self.folder.join(purpose);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The run of a folder, if it has begun.
    pub fn run_of(&self, folder: &Path) -> anyhow::Result<Option<Stored>> {
        let Some(path) = run_file(folder)? else { return Ok(None) };
        let file = RunFile::open(&path)?;
        Ok(Some(Stored { path, file }))
    }

    /// Runs a command that leaves one run file in the folder, with what it says on the terminal, and reads that run. Its
    /// exit code is that of its answer: whatever that is, the run is there afterwards.
    pub fn complete(&self, command: &mut Command, folder: &Path) -> anyhow::Result<Stored> {
        println!("  {}", words(command));
        let status = command.status().with_context(|| words(command))?;
        let run = self.run_of(folder)?.context("the program left no run file")?;
        ensure!(run.is_complete()?, "{}: the run did not end ({status})", run.path.display());
        Ok(run)
    }

    /// A target file of a standing cluster that allows whatever is done here.
    pub fn target(&self, broker: &StandingCluster) -> anyhow::Result<PathBuf> {
        let path = self.folder_of("targets")?.join(format!("{}.yaml", broker.name()));
        write_privately(&path, &allowed(&broker.target_text()?)?)?;
        Ok(path)
    }
}

/// The printed target, with searches allowed and what must end them.
fn allowed(printed: &str) -> anyhow::Result<String> {
    const PLAIN: &str = "allow: [rate-max]";
    ensure!(printed.contains(PLAIN), "kdyno cluster target printed no `{PLAIN}`:\n{printed}");
    Ok(printed.replace(PLAIN, "allow: [rate-max, find], abort_if: [offline_brokers > 0]"))
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
        let folder = tempfile::tempdir().expect("a folder");
        let found = || run_file(folder.path());
        assert_eq!(found().expect("read"), None);
        std::fs::write(folder.path().join("a.kdyno"), "").expect("a file");
        std::fs::write(folder.path().join("a.kdyno-wal"), "").expect("a file");
        assert_eq!(found().expect("read"), Some(folder.path().join("a.kdyno")));
        std::fs::write(folder.path().join("b.kdyno"), "").expect("a file");
        assert!(found().is_err_and(|error| error.to_string().contains("several run files")));
    }
}
