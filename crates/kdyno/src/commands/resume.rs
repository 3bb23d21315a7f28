//! `--resume RUN`: the plan of an interrupted run, gone on with in its own file.

use crate::commands::rerun::with_target;
use crate::evidence::find_run;
use crate::execution::{Planned, Resumed};
use crate::failure::Failure;
use kdyno_model::run::RunStatus;
use kdyno_store::RunFile;
use std::path::{Path, PathBuf};

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
    let target = match targets {
        [] => None,
        [one] => Some(PathBuf::from(one)),
        _ => {
            return Err(Failure::usage("a run is resumed on one target, not on several")
                .hint("name the one that the run used"));
        }
    };
    let header = file.header()?;
    Ok(Planned {
        plan: with_target(header.plan, target.as_deref())?,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        target_file: target,
        remarks: Vec::new(),
        resumed: Some(Resumed { path, run_id: header.run_id }),
    })
}
