//! `kdyno rerun`: a stored run's plan, executed again.

use crate::cli::RerunArgs;
use crate::evidence::find_run;
use crate::execution::{PlannedExecution, TargetFiles};
use crate::failure::Failure;
use crate::out;
use crate::target_source::read_target;
use kdyno_model::plan::Plan;
use kdyno_scenario::target::Target;
use kdyno_store::RunFile;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Takes the plan, its seed included, from the run file.
pub(crate) fn plan(args: &RerunArgs) -> Result<PlannedExecution, Failure> {
    let path = find_run(&args.run.run, args.run.dir.as_deref())?;
    let header = RunFile::open(&path)?.header()?;
    let (plan, target_files) = admitted(header.plan, (&path, args.trust), &args.target, true)?;
    Ok(PlannedExecution {
        plan,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        target_files,
        remarks: Vec::new(),
        resumed: None,
    })
}

/// The stored plan, once it has passed the gate or its file is trusted; one of existing clusters with the addresses that the run
/// file does not keep, from a file for each. `may_move`: where it used one cluster, the file may be that of another.
pub(crate) fn admitted(
    mut plan: Plan,
    (run, is_trusted): (&Path, bool),
    files: &[PathBuf],
    may_move: bool,
) -> Result<(Plan, TargetFiles), Failure> {
    let checked = match is_trusted {
        true => {
            is_of_this_user(run)?;
            kdyno_plan::check_trusted_stored(&plan)
        }
        false => kdyno_plan::check_stored(&plan),
    };
    checked.map_err(|error| error.in_file(&run.display().to_string()))?;
    let targets = files.iter().map(|file| read_target(file)).collect::<Result<Vec<_>, _>>()?;
    if let ([target], true) = (targets.as_slice(), may_move)
        && let Some(before) = kdyno_plan::move_to(&mut plan, target)
    {
        let Target { attached, .. } = target;
        out::note(&format!(
            "warning: the run used cluster id {before}; on target `{}`, cluster id {}, its plan measures another cluster",
            attached.target, attached.cluster_id
        ));
    }
    if !targets.is_empty() {
        kdyno_plan::retarget(&mut plan, &targets)?;
    } else if let [first, more @ ..] = plan.targets().as_slice() {
        let names = more.iter().fold(first.target.clone(), |names, one| format!("{names}, {}", one.target));
        return Err(Failure::usage(format!(
            "the run used existing clusters ({names}), whose addresses are not kept with it"
        ))
        .hint("name the target file of each again with --target"));
    }
    let ids = targets.into_iter().map(|target| target.attached.cluster_id);
    Ok((plan, ids.zip(files.iter().cloned()).collect()))
}

/// A file of another user, or one that others can write to, cannot be trusted.
fn is_of_this_user(run: &Path) -> Result<(), Failure> {
    const WRITTEN_BY_OTHERS: u32 = 0o022;
    let found = std::fs::metadata(run).map_err(Failure::tool)?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if is_own && found.mode() & WRITTEN_BY_OTHERS == 0 {
        return Ok(());
    }
    Err(Failure::usage(format!("--trust: the run file {} belongs to another user, or others can write to it", run.display()))
        .hint("a run file that you made yourself belongs to you (`chmod go-w` takes others the right to write to it)"))
}
