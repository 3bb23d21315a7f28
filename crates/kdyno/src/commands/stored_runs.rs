//! Stored runs set against each other: a metric over many, two groups of them.

use crate::cli::{CompareArgs, OutputForm};
use crate::evidence::{RunEvidence, file_name, find_run, runs_of_scenario};
use crate::failure::{CommandResult, Exit, Failure};
use crate::gate::gated;
use crate::out;
use kdyno_analysis::comparison::StoredRun;
use kdyno_model::finding::{Quantity, Scope};
use kdyno_model::metric::Address;
use kdyno_model::run::Session;
use kdyno_report::ReportInput;
use kdyno_report::course::{self, CourseRun};
use kdyno_report::judged::RunAnswer;
use kdyno_report::stored::StoredComparison;
use kdyno_scenario::input::nearest;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Most runs that are read at once.
const RUNS_MAX: usize = 1_000;

/// Refuses options that say how trials are run or judged: what is stored has run, and a metric that is named afterwards was
/// not named to be judged.
fn refuse_options_of_runs(args: &CompareArgs) -> Result<(), Failure> {
    let CompareArgs { a, b, judge, may_differ, quick, choices, execution, .. } = args;
    let sides = "what differs between stored runs cannot be chosen any more";
    let judged = "nothing of stored runs is judged: a metric to be judged is named before its trials run";
    let ran = "stored runs have run already";
    let typed = [
        ("--a", !a.is_empty(), sides),
        ("--b", !b.is_empty(), sides),
        ("--may-differ", !may_differ.is_empty(), sides),
        ("--judge", !judge.is_empty(), judged),
        ("--junit", execution.junit.is_some(), judged),
        ("--quick", *quick, ran),
        ("--profile", choices.profile.is_some(), ran),
        ("--set", !choices.set.is_empty(), ran),
        ("--rate", choices.params.rate.is_some(), ran),
        ("--duration", choices.params.duration.is_some(), ran),
        ("--size", choices.params.size.is_some(), ran),
        ("--driver", choices.driver.is_some(), ran),
        ("--target", !choices.target.is_empty(), ran),
        ("--seed", choices.seed.is_some(), ran),
        ("--budget", choices.budget.is_some(), ran),
        ("--sustain", choices.sustain.is_some(), ran),
        ("--dry-run", choices.dry_run, ran),
        ("--out", execution.out.is_some(), ran),
        ("--generators", execution.generators.is_some(), ran),
        ("--share", execution.share, ran),
        ("--wait", execution.wait.is_some(), ran),
        ("--yes", execution.yes, ran),
    ];
    match typed.into_iter().find(|(_, is_given, _)| *is_given) {
        None => Ok(()),
        Some((option, _, why)) => Err(Failure::usage(format!("{option}: {why}"))
            .hint("with stored runs go --dir, --details, --format, --json and --gate; `kdyno compare SCENARIO` takes the others")),
    }
}

/// One metric of every run that is named; a scenario's name means all of its runs.
pub(crate) fn course(metric: &str, named: &[String], args: &CompareArgs) -> CommandResult {
    refuse_options_of_runs(args)?;
    let of = Address::parse(metric).ok_or_else(|| {
        Failure::usage(format!("--course: `{metric}` is no metric"))
            .hint("SUBJECT.METRIC, e.g. writers.acked_per_s")
    })?;
    let runs = read(named, args)?;
    let runs: Vec<CourseRun<'_>> =
        runs.iter().map(|(path, run)| CourseRun { file: file_name(path), input: run.input() }).collect();
    let table = course::table(&of, &runs);
    if !table.has_figures() {
        let none = match runs.len() {
            1 => "the run has no".to_owned(),
            count => format!("none of the {count} runs has a"),
        };
        let meant = meant(&of, &runs).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        return Err(Failure::usage(format!("{none} figure of {of}"))
            .hint(format!("{meant}`kdyno export RUN --format csv` lists what a run has")));
    }
    if args.execution.json {
        out::json(&table.json())?;
    } else {
        out::painted(&match args.execution.format {
            OutputForm::Text => table.text(&out::options()),
            OutputForm::Markdown => table.markdown(),
        })?;
    }
    Ok(Exit::Done)
}

/// Metrics for which runs have a figure of a case.
pub(crate) fn metrics(runs: &[CourseRun<'_>]) -> BTreeSet<String> {
    let findings = runs.iter().flat_map(|run| run.input.findings);
    let of_case = findings.filter(|one| {
        one.quantity == Quantity::Value && matches!(one.scope, Scope::Case(_) | Scope::SideB { .. })
    });
    of_case.map(|finding| finding.of.to_string()).collect()
}

/// The metric that was meant instead of one that no run has: the response where its name was left out, else the nearest.
fn meant(of: &Address, runs: &[CourseRun<'_>]) -> Option<String> {
    let known = metrics(runs);
    let response = format!("{}.response.{}", of.subject, of.metric);
    if known.contains(&response) {
        return Some(response);
    }
    nearest(&of.to_string(), known.iter().map(String::as_str)).map(str::to_owned)
}

/// The runs that are named, each once, in the order of time.
fn read(named: &[String], args: &CompareArgs) -> Result<Vec<(PathBuf, RunEvidence)>, Failure> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for one in named {
        let of_scenario = runs_of_scenario(one, args.dir.as_deref())?;
        let found =
            if of_scenario.is_empty() { vec![find_run(one, args.dir.as_deref())?] } else { of_scenario };
        paths.extend(found);
    }
    if paths.len() > RUNS_MAX {
        return Err(Failure::usage(format!("{} runs are more than {RUNS_MAX}", paths.len())));
    }
    let mut runs = paths
        .into_iter()
        .map(|path| Ok((path.clone(), RunEvidence::read_judged(&path)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    runs.sort_by_key(|(_, run)| run.started_unix_ns());
    runs.dedup_by(|(a, _), (b, _)| a == b);
    Ok(runs)
}

/// Two groups of stored runs, the run as the unit.
pub(crate) fn compare(before: &[String], after: &[String], args: &CompareArgs) -> CommandResult {
    refuse_options_of_runs(args)?;
    let groups = [read(before, args)?, read(after, args)?];
    let (printed, judged) = against(&groups, |document| {
        if args.execution.json {
            return Printed::Json(document.json());
        }
        Printed::Text(match args.execution.format {
            OutputForm::Text if args.details => document.details(&out::options()),
            OutputForm::Text => document.text(&out::options()),
            OutputForm::Markdown => document.markdown(),
        })
    })?;
    match printed {
        Printed::Json(document) => out::json(&document)?,
        Printed::Text(text) => out::painted(&text)?,
    }
    // Nothing was named that has to be met.
    Ok(gated(judged, args.execution.gate, &[]))
}

/// A comparison as it is printed.
enum Printed {
    Json(serde_json::Value),
    Text(String),
}

/// Runs before and after with their files.
pub(crate) type RunGroups = [Vec<(PathBuf, RunEvidence)>; 2];

/// Two groups of runs, the run as the unit, handed to a printer; with what it comes to.
///
/// # Errors
/// There is no run before, or one is on both sides.
pub(crate) fn against<T>(
    groups: &RunGroups,
    print: impl FnOnce(&StoredComparison<'_>) -> T,
) -> Result<(T, RunAnswer), Failure> {
    let is_before = |run: &RunEvidence| groups[0].iter().any(|(_, other)| other.run_id() == run.run_id());
    if let Some((path, _)) = groups[1].iter().find(|(_, run)| is_before(run)) {
        return Err(Failure::usage(format!("{} is the same run on both sides", file_name(path)))
            .hint("name another one for either side; `kdyno runs` lists them"));
    }
    let named = groups.each_ref().map(|runs| runs.iter().map(NamedRun::of).collect::<Vec<_>>());
    let stored = named.each_ref().map(|runs| runs.iter().map(NamedRun::stored).collect::<Vec<_>>());
    let [before, after] = &stored;
    let judgement = kdyno_analysis::comparison::of_runs(before, after);
    let Some((_, first)) = groups[0].first() else {
        return Err(Failure::usage("no run was named for the side before"));
    };
    let document =
        StoredComparison { judgement: &judgement, first: &first.input(), labels: named.map(label) };
    Ok((print(&document), kdyno_report::judged::of_stored_runs(&judgement)))
}

/// A stored run with what a comparison asks of it.
struct NamedRun<'a> {
    name: String,
    run: &'a RunEvidence,
    sessions: Vec<Session>,
}

impl<'a> NamedRun<'a> {
    fn of((path, run): &'a (PathBuf, RunEvidence)) -> Self {
        Self { name: file_name(path), run, sessions: run.sessions().cloned().collect() }
    }

    fn stored(&self) -> StoredRun<'_> {
        let input = self.run.input();
        let ReportInput { header, findings, caveats, .. } = input;
        StoredRun { name: &self.name, header, sessions: &self.sessions, findings, caveats }
    }
}

/// What a side is called: its run, or how many runs they are.
fn label(runs: Vec<NamedRun<'_>>) -> String {
    match runs.as_slice() {
        [one] => one.name.clone(),
        runs => format!("{} runs from {}", runs.len(), runs.first().map_or("", |run| run.name.as_str())),
    }
}
