//! `kdyno rerun`: a stored run's plan, executed again.

use crate::cli::RerunArgs;
use crate::evidence::find_run;
use crate::execution::Planned;
use crate::failure::Failure;
use crate::target_source::read_target;
use kdyno_model::plan::{Plan, SystemPlan};
use kdyno_store::RunFile;
use std::path::Path;

/// Takes the plan, its seed included, from the run file.
pub(crate) fn plan(args: &RerunArgs) -> Result<Planned, Failure> {
    let path = find_run(&args.run.run, args.run.dir.as_deref())?;
    let header = RunFile::open(&path)?.header()?;
    Ok(Planned {
        plan: with_target(header.plan, args.target.as_deref())?,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        target_file: args.target.clone(),
        remarks: Vec::new(),
        resumed: None,
    })
}

/// The stored plan; one of an attached cluster with the addresses that the run file does not keep.
pub(crate) fn with_target(mut plan: Plan, target: Option<&Path>) -> Result<Plan, Failure> {
    let attached = plan.cases.iter().any(|case| matches!(case.system, SystemPlan::Attached(_)));
    match target {
        Some(path) => kdyno_plan::retarget(&mut plan, &read_target(path)?)?,
        None if attached => {
            return Err(Failure::usage(
                "the run used an existing cluster, whose addresses are not kept with it",
            )
            .hint("name its target file again with --target"));
        }
        None => kdyno_plan::check_stored(&plan)?,
    }
    Ok(plan)
}
