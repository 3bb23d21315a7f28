//! `--resume RUN`: the plan of a run that was interrupted or ran out of time, gone on with in its own file.

use crate::cli::ChoiceArgs;
use crate::commands::rerun::admitted;
use crate::evidence::find_run;
use crate::execution::{PlannedExecution, Resumed};
use crate::failure::Failure;
use crate::target_source;
use kdyno_analysis::comparison::can_tell;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::plan::{Depth, Plan, Strategy};
use kdyno_model::run::RunStatus;
use kdyno_model::units::duration;
use kdyno_store::RunFile;
use std::path::{Path, PathBuf};

/// Refuses a scenario that was named: a run that is resumed has its own with it.
pub(crate) fn refuse_scenario(named: Option<&str>) -> Result<(), Failure> {
    match named {
        None => Ok(()),
        Some(named) => {
            Err(Failure::usage(format!("{named}: a run that is resumed has its scenario with it"))
                .hint("leave the scenario out"))
        }
    }
}

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

/// Takes plan, seed and id from the run file; from the other choices of the run its targets, and how long all of it may
/// take.
pub(crate) fn plan(
    named: &str,
    dir: Option<&Path>,
    chosen: &ChoiceArgs,
) -> Result<PlannedExecution, Failure> {
    let path = find_run(named, dir)?;
    let file = RunFile::open(&path)?;
    if file.is_live() {
        return Err(Failure::usage(format!("{} is still being written: its run goes on", path.display())));
    }
    let ended = file.sessions()?.pop().and_then(|(_, end)| end);
    let is = |status| ended.as_ref().is_some_and(|end| end.status == status);
    if is(RunStatus::Completed) {
        return Err(Failure::usage(format!(
            "the run {} was completed: nothing of it is left to do",
            path.display()
        ))
        .hint("`kdyno rerun` runs its plan again"));
    }
    let header = file.header()?;
    if is(RunStatus::OutOfTime) && is_judged_early(&header.plan, &file.judgement()?.conclusions) {
        let message = format!(
            "the verdict of the run {} was drawn when its budget ended: trials after it would judge it once more",
            path.display()
        );
        return Err(Failure::usage(message).hint("`kdyno rerun` runs its plan again"));
    }
    let budget_ns = time_left(&file, &header.plan, chosen, is(RunStatus::OutOfTime))?;
    // Which cases a target is for is in the plan.
    let files: Vec<PathBuf> =
        chosen.target.iter().map(|one| PathBuf::from(target_source::of_cases(one).1)).collect();
    let plan = Plan { budget_ns, ..header.plan };
    let (plan, target_files) = admitted(plan, (&path, chosen.trust), &files, false)?;
    Ok(PlannedExecution {
        plan,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        target_files,
        remarks: Vec::new(),
        resumed: Some(Resumed { path, run_id: header.run_id }),
    })
}

/// The budget of all sessions together, ns: as it is given now, else as it was planned. Refused when sessions before have
/// used it.
fn time_left(
    file: &RunFile,
    plan: &Plan,
    chosen: &ChoiceArgs,
    is_out_of_time: bool,
) -> Result<Option<u64>, Failure> {
    let new_budget = chosen.budget;
    let Some(budget_ns) = new_budget.or(plan.budget_ns) else { return Ok(None) };
    let spent_ns = kdyno_lab::spent_ns(&file.sessions()?, &file.trials()?);
    // What ended it would end it at once.
    let is_as_before = is_out_of_time && new_budget.is_none();
    if budget_ns > spent_ns && !is_as_before {
        return Ok(Some(budget_ns));
    }
    let message = format!(
        "the run {} took {} until now, and a budget of {} holds no further trial",
        file.path().display(),
        duration(spent_ns),
        duration(budget_ns),
    );
    let minutes = spent_ns.saturating_add(plan.budget_ns.unwrap_or(budget_ns)).div_ceil(60_000_000_000);
    Err(Failure::usage(message)
        .hint(format!("`--budget {minutes}m` gives it a new total, what it took included")))
}

/// Whether a comparison was judged where no look had been planned: to judge it again later would spend more than its
/// error.
fn is_judged_early(plan: &Plan, conclusions: &[Conclusion]) -> bool {
    let Strategy::Compare(comparison) = &plan.strategy else { return false };
    let is_early = |one: &Conclusion| match one {
        Conclusion::Verdict(of) => {
            of.depth == Depth::Verdict && can_tell(comparison, of.n) && !comparison.looks.contains(&of.n)
        }
        _ => false,
    };
    conclusions.iter().any(is_early)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::conclusion::{MetricRole, Says, Verdict};
    use kdyno_model::finding::{Scope, Value};
    use kdyno_model::metric::{Address, Unit};
    use kdyno_model::plan::{Better, EvidenceUnit};
    use kdyno_plan::{Choices, CompareChoices, PlanQuestion, SideChange, SideChoices};
    use kdyno_scenario::Scenario;

    /// A comparison of two releases.
    fn small_comparison() -> kdyno_model::plan::Plan {
        let text = "kdyno: 1\nid: small\nquestion: How?\nsystem: {kafka: 4.1.1}\n\
                    topics: {perf: {partitions: 1}}\nload: {writers: {produce: perf, rate: 1/s, value: 100B}}\n\
                    phases: {warmup: 0s, measure: 1s}\n";
        let scenario = Scenario::parse(text, "test").expect("a scenario");
        let kafka = SideChange::Set { name: "kafka".to_owned(), value: "4.3.1".to_owned() };
        let b = SideChoices { changes: vec![kafka], ..SideChoices::default() };
        let ask = PlanQuestion::Compare(CompareChoices { b, ..CompareChoices::default() });
        kdyno_plan::plan(&scenario, &Choices { ask, ..Choices::default() }).expect("a plan")
    }

    #[test]
    fn a_verdict_that_was_drawn_before_its_look_is_the_last_one() {
        let plan = small_comparison();
        let is_early = |n: u32, depth: Depth| {
            let verdict = Verdict {
                scope: Scope::Comparison { case: 0 },
                of: Address { subject: "writers".to_owned(), metric: "acked_per_s".to_owned() },
                unit: Unit::RecordsPerS,
                better: Better::Higher,
                margin: 0.03,
                depth,
                role: MetricRole::Judged,
                ratio: None,
                equivalence_interval: None,
                a: Value::None,
                b: Value::None,
                marks: Default::default(),
                n,
                unit_of_evidence: EvidenceUnit::Start,
                unit_ns: None,
                p: None,
                says: Says::Equivalent,
            };
            is_judged_early(&plan, &[Conclusion::Verdict(verdict)])
        };
        // Looks after 8, 16 and 24 starts; with nine the part of the second one detects no metric of three by itself.
        assert_eq!(
            [6, 8, 9, 14, 16].map(|n| is_early(n, Depth::Verdict)),
            [false, false, false, true, false]
        );
        assert!(!is_early(14, Depth::Quick), "a quick look is never a verdict");
    }
}
