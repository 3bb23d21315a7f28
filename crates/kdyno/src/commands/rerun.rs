//! `kdyno rerun`: a stored run's plan, executed again.

use crate::cli::RerunArgs;
use crate::evidence::find_run;
use crate::execution::{Planned, TargetFiles};
use crate::failure::Failure;
use crate::target_source::read_target;
use kdyno_model::plan::Plan;
use kdyno_store::RunFile;
use std::path::PathBuf;

/// Takes the plan, its seed included, from the run file.
pub(crate) fn plan(args: &RerunArgs) -> Result<Planned, Failure> {
    let path = find_run(&args.run.run, args.run.dir.as_deref())?;
    let header = RunFile::open(&path)?.header()?;
    let (plan, target_files) = with_targets(header.plan, &args.target)?;
    Ok(Planned {
        plan,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        target_files,
        remarks: Vec::new(),
        resumed: None,
    })
}

/// The stored plan; one of existing clusters with the addresses that the run file does not keep, from a file for each.
pub(crate) fn with_targets(mut plan: Plan, files: &[PathBuf]) -> Result<(Plan, TargetFiles), Failure> {
    let targets = files.iter().map(|file| read_target(file)).collect::<Result<Vec<_>, _>>()?;
    if !targets.is_empty() {
        kdyno_plan::retarget(&mut plan, &targets)?;
    } else if let [first, more @ ..] = plan.targets().as_slice() {
        let names = more.iter().fold(first.target.clone(), |names, one| format!("{names}, {}", one.target));
        return Err(Failure::usage(format!(
            "the run used existing clusters ({names}), whose addresses are not kept with it"
        ))
        .hint("name the target file of each again with --target"));
    }
    kdyno_plan::check_stored(&plan)?;
    let ids = targets.into_iter().map(|target| target.attached.cluster_id);
    Ok((plan, ids.zip(files.iter().cloned()).collect()))
}
