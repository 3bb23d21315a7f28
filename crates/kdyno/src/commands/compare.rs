//! `kdyno compare`: two sides of a scenario, or runs that are stored.

use crate::cli::CompareArgs;
use crate::commands::{resume, run, stored_runs};
use crate::execution::{PlannedExecution, TargetFiles};
use crate::failure::{CommandResult, Failure};
use crate::{scenario_source, target_source};
use kdyno_model::plan::Depth;
use kdyno_plan::{CompareChoices, PlanQuestion, SideChange, SideChoices};
use std::path::{Path, PathBuf};

/// Does what the arguments mean.
pub(crate) fn compare(args: &CompareArgs) -> CommandResult {
    if let Some(metric) = &args.course {
        return stored_runs::course(metric, &args.what, args);
    }
    match (args.before.as_slice(), args.what.as_slice(), &args.choices.resume) {
        ([], [], None) => Err(Failure::usage("nothing was named to compare")
            .hint("a scenario with --a and --b, or two stored runs; `kdyno compare --help` has examples")),
        ([], what, Some(named)) => {
            resume::refuse_scenario(what.first().map(String::as_str))?;
            resume::refuse_questions(&[
                ("--a", !args.a.is_empty()),
                ("--b", !args.b.is_empty()),
                ("--judge", !args.judge.is_empty()),
                ("--may-differ", !args.may_differ.is_empty()),
                ("--design", args.design.is_some()),
                ("--quick", args.quick),
            ])?;
            let planned = resume::plan(named, args.dir.as_deref(), &args.choices)?;
            start(planned, args)
        }
        ([], [run], None) if scenario_source::is_run(run) => {
            Err(Failure::usage(format!("{run} is a stored run, and nothing was named to compare it with"))
                .hint("name a second run, or `--course METRIC` for a metric over several"))
        }
        ([], [scenario], None) => start(plan(scenario, args)?, args),
        ([], [before, after], None) => {
            let one = |run: &String| vec![run.clone()];
            stored_runs::compare(&one(before), &one(after), args)
        }
        ([], ..) => Err(Failure::usage(format!("{} things were named to compare", args.what.len()))
            .hint("two stored runs; for more of them `--before RUN… --after RUN…`")),
        (before, ..) => stored_runs::compare(before, &args.after, args),
    }
}

fn start(planned: PlannedExecution, args: &CompareArgs) -> CommandResult {
    if args.details {
        return Err(Failure::usage("--details: it is of stored runs")
            .hint("`kdyno show latest --details` prints everything of a run that has ended"));
    }
    run::carry_out(planned, args.choices.dry_run, &args.execution)
}

fn plan(scenario: &str, args: &CompareArgs) -> Result<PlannedExecution, Failure> {
    let mut files = TargetFiles::new();
    let ask = PlanQuestion::Compare(CompareChoices {
        a: side(&args.a, "--a", &mut files)?,
        b: side(&args.b, "--b", &mut files)?,
        judge: args.judge.clone(),
        may_differ: args.may_differ.clone(),
        design: args.design.map(Into::into),
    });
    let depth = if args.quick { Depth::Quick } else { Depth::Verdict };
    let mut planned = run::plan_choices(scenario, &args.choices, ask, depth, &[])?;
    planned.target_files.extend(files);
    Ok(planned)
}

/// What one side is: `NAME=VALUE`, `target=FILE` (with commas several files that take turns; in YAML they need no `target=`)
/// or `@FILE`, each as often as wanted. Files of targets are added to `files`.
fn side(typed: &[String], option: &str, files: &mut TargetFiles) -> Result<SideChoices, Failure> {
    let mut side = SideChoices::default();
    for one in typed {
        match (one.strip_prefix('@'), one.split_once('=')) {
            (Some(file), _) => {
                let bytes = scenario_source::read_bytes(Path::new(file), "patch")?;
                let text = String::from_utf8(bytes)
                    .map_err(|_| Failure::usage(format!("the patch {file} is not UTF-8")))?;
                side.changes.push(SideChange::Patch { file: file.to_owned(), text });
            }
            _ if target_files(one).is_some() => {
                let mut targets = Vec::new();
                for file in target_files(one).unwrap_or_default() {
                    let target = target_source::read_target(Path::new(file))?;
                    files.insert(target.attached.cluster_id.clone(), PathBuf::from(file));
                    targets.push(target);
                }
                if side.target.is_some() {
                    return Err(Failure::usage(format!("{option}: a second target for one side"))
                        .hint("several that take turns are named together: `target=one.yaml,two.yaml`"));
                }
                let mut targets = targets.into_iter();
                side.target = targets.next();
                side.more_targets = targets.collect();
            }
            (None, Some((name, value))) if !name.is_empty() => {
                side.changes.push(SideChange::Set { name: name.to_owned(), value: value.to_owned() });
            }
            _ => {
                return Err(Failure::usage(format!("{option}: `{one}` is no change"))
                    .hint("PARAM=VALUE, a path of the scenario with its value, home=DIR, source=DIR, target=FILE or @PATCH.yaml"));
            }
        }
    }
    Ok(side)
}

/// The files of what names targets: `target=one.yaml,two.yaml`, or the files alone.
fn target_files(typed: &str) -> Option<Vec<&str>> {
    let is_yaml = |file: &str| {
        let ending = Path::new(file).extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("yaml" | "yml"))
    };
    if let Some(files) = typed.strip_prefix("target=") {
        return Some(files.split(',').collect());
    }
    let files: Vec<&str> = typed.split(',').collect();
    let are_targets =
        !typed.contains('=') && !typed.starts_with('@') && files.iter().all(|file| is_yaml(file));
    are_targets.then_some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_differ_from_other_changes() {
        assert_eq!(target_files("target=a,b.yaml"), Some(vec!["a", "b.yaml"]));
        assert_eq!(target_files("a.yaml,dir/b.yml"), Some(vec!["a.yaml", "dir/b.yml"]));
        for other in ["kafka=3.7.2", "home=a.yaml", "@a.yaml", "a.yaml,b", "mode"] {
            assert_eq!(target_files(other), None, "{other}");
        }
    }
}
