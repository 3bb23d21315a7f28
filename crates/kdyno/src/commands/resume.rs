//! `--resume RUN`: the plan of an interrupted run, gone on with in its own file.

use crate::commands::rerun::with_targets;
use crate::evidence::find_run;
use crate::execution::{Planned, Resumed};
use crate::failure::Failure;
use crate::target_source;
use kdyno_model::run::RunStatus;
use kdyno_store::RunFile;
use std::path::{Path, PathBuf};

/// Refuses options of a question, each with whether it was given: a run that is resumed has its own with it.
pub(crate) fn refuse_questions(options: &[(&str, bool)]) -> Result<(), Failure> {
    match options.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            Err(Failure::usage(format!("{option}: a run that is resumed has its question with it"))
                .hint("leave it out; targets are named again, each with a --target of its own"))
        }
    }
}

/// Takes plan, seed and id from the run file.
pub(crate) fn plan(named: &str, dir: Option<&Path>, targets: &[String]) -> Result<Planned, Failure> {
    let path = find_run(named, dir)?;
    let file = RunFile::open(&path)?;
    if file.is_live() {
        return Err(Failure::usage(format!("{} is still being written: its run goes on", path.display())));
    }
    let ended = file.sessions()?.pop().and_then(|(_, end)| end);
    if ended.is_some_and(|end| end.status == RunStatus::Completed) {
        return Err(Failure::usage(format!(
            "the run {} was completed: nothing of it is left to do",
            path.display()
        ))
        .hint("`kdyno rerun` runs its plan again"));
    }
    // Which cases a target is for stands in the plan.
    let files: Vec<PathBuf> =
        targets.iter().map(|one| PathBuf::from(target_source::of_cases(one).1)).collect();
    let header = file.header()?;
    let (plan, target_files) = with_targets(header.plan, &files)?;
    Ok(Planned {
        plan,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        target_files,
        remarks: Vec::new(),
        resumed: Some(Resumed { path, run_id: header.run_id }),
    })
}
