//! `kdyno find`: the highest load at which conditions hold.

use crate::cli::FindArgs;
use crate::commands::{resume, run};
use crate::execution::PlannedExecution;
use crate::failure::Failure;
use kdyno_model::plan::Depth;
use kdyno_plan::{FindChoices, PlanQuestion};

/// Plans the search.
pub(crate) fn plan(args: &FindArgs) -> Result<PlannedExecution, Failure> {
    if let Some(named) = &args.choices.resume {
        resume::refuse_scenario(args.scenario.as_deref())?;
        resume::refuse_questions(&[
            ("--highest", args.highest.is_some()),
            ("--while", !args.conditions.is_empty()),
            ("--from", args.from.is_some()),
            ("--to", args.to.is_some()),
            ("--within", args.within.is_some()),
            ("--each", args.each.is_some()),
            ("--side", args.side.is_some()),
            ("--quick", args.quick),
        ])?;
        return resume::plan(named, args.dir.as_deref(), &args.choices);
    }
    let ask = PlanQuestion::Find(FindChoices {
        highest: args.highest.clone(),
        conditions: args.conditions.clone(),
        from: args.from.clone(),
        to: args.to.clone(),
        within: args.within.clone(),
        each: args.each.clone(),
        side: args.side.clone(),
    });
    let depth = if args.quick { Depth::Quick } else { Depth::Verdict };
    let scenario = args.scenario.as_deref().unwrap_or_default();
    run::plan_choices(scenario, &args.choices, ask, depth, &[])
}
