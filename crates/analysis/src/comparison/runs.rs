//! Stored runs before and after a change: what such evidence says, and what it cannot carry.
//!
//! Runs that were not planned as a comparison ran at different times, on hosts and clusters as they were that day, in no
//! drawn order. So the run is the unit, the two sides are not paired, and whatever else changed between them is part of
//! the difference; each such thing that can be seen is named.

use crate::comparison::hosts::host;
use crate::comparison::metrics::{FALSE_SHARE, better, compared_runs, margin};
use crate::comparison::verdicts::{of_ratio, says};
use crate::median::Median;
use crate::statistics::{Margin, WelchMean, benjamini_hochberg, compare_unpaired};
use kdyno_model::caveat::{Caveat, Degree, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, MetricRole, Ratio, Says, Verdict};
use kdyno_model::finding::{
    Finding, Interval, IntervalMethod, NotResolvable, Quantity, Scope, Value, marks_of_both,
};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{Better, CasePlan, Depth, EvidenceUnit, GivenSource};
use kdyno_model::run::{RunHeader, Session};
use std::collections::BTreeSet;

/// What the sum of errors of an interval is.
const ALPHA: f64 = 0.05;
/// Fewest runs of each side that an interval can be made from.
const RUNS_MIN: u32 = 3;

/// One stored run.
#[derive(Debug, Clone, Copy)]
pub struct StoredRun<'a> {
    /// What it is called, e.g. its file's name.
    pub name: &'a str,
    /// Its head, with its plan.
    pub header: &'a RunHeader,
    /// Its sessions, with the hosts they ran on.
    pub sessions: &'a [Session],
    /// What was found of its cases.
    pub findings: &'a [Finding],
    /// What speaks against its figures.
    pub caveats: &'a [ScopedCaveat],
}

/// What the runs after a change say against those before, for each case that all of them have, and where all of them
/// compare two sides for each side of it; `case` of a scope is that of the first run before. Nothing was named beforehand, so
/// every metric is exploratory.
pub fn of_runs(before: &[StoredRun<'_>], after: &[StoredRun<'_>]) -> Judgement {
    let mut found = Judgement::default();
    let Some(first) = before.first() else { return found };
    let all: Vec<&StoredRun<'_>> = before.iter().chain(after).collect();
    for run in &all {
        found.caveats.extend(losses(run));
    }
    let unlike: Vec<String> = all.iter().filter_map(|run| measures_another(run, first)).collect();
    if unlike.is_empty() {
        differences(before, after, &mut found.caveats);
    }
    found.caveats.extend(unlike.into_iter().filter_map(|detail| evidence(Degree::Grave, detail)));
    let reason = found.caveats.iter().find_map(|of| match &of.caveat {
        Caveat::EvidenceOfRuns { detail } if of.severity == Severity::Invalid => Some(detail.clone()),
        _ => None,
    });
    let sides = if all.iter().all(|run| sides(run).is_some()) { 2 } else { 1 };
    for (case, plan) in (0u32..).zip(&first.header.plan.cases) {
        for side in 0..sides {
            let of_runs = |runs: &[StoredRun<'_>]| -> Option<Vec<Vec<Finding>>> {
                runs.iter().map(|run| figures(run, plan, side)).collect()
            };
            let (Some(a), Some(b)) = (of_runs(before), of_runs(after)) else {
                let detail = without(&all, plan, side);
                found.caveats.extend(evidence(Degree::Usual, detail));
                break;
            };
            let scope = match (sides, side) {
                (1, _) => Scope::Comparison { case },
                (_, 0) => Scope::Case(case),
                _ => Scope::SideB { case },
            };
            CaseOfRuns { scope, sides: [a, b], reason: reason.clone() }.judge(first, &mut found);
        }
    }
    found
}

/// That a run is one of another scenario.
fn measures_another(run: &StoredRun<'_>, first: &StoredRun<'_>) -> Option<String> {
    let [scenario, of_first] = [run, first].map(|run| &run.header.plan.scenario);
    (scenario != of_first).then(|| {
        format!(
            "the runs measure different things: {} is of {scenario}, {} of {of_first}",
            run.name, first.name
        )
    })
}

/// What the sides of a run are called that is a comparison itself.
fn sides<'a>(run: &StoredRun<'a>) -> Option<&'a [String; 2]> {
    run.header.plan.strategy.as_compare().map(|compare| &compare.labels)
}

/// What a run lost of what was acknowledged to it, then that it did: nothing that rests on it may be used.
fn losses(run: &StoredRun<'_>) -> Vec<ScopedCaveat> {
    let lost = run.caveats.iter().filter(|of| matches!(of.caveat, Caveat::Lost { .. }));
    let mut found: Vec<ScopedCaveat> =
        lost.map(|of| ScopedCaveat { scope: Scope::Run, ..of.clone() }).collect();
    if !found.is_empty() {
        let detail = format!("{} lost acknowledged records: its figures count what is gone", run.name);
        found.extend(evidence(Degree::Grave, detail));
    }
    found
}

fn evidence(degree: Degree, detail: String) -> Option<ScopedCaveat> {
    ScopedCaveat::compared(Scope::Run, degree, Caveat::EvidenceOfRuns { detail })
}

/// What can be seen to differ apart from the change, and what the numbers of runs cannot support.
fn differences(before: &[StoredRun<'_>], after: &[StoredRun<'_>], found: &mut Vec<ScopedCaveat>) {
    let fewest = before.len().min(after.len());
    if fewest < RUNS_MIN as usize {
        let detail = format!(
            "there is no interval of {} before and {} after: it takes {RUNS_MIN} of each to know how much runs differ",
            runs(before.len()),
            runs(after.len())
        );
        found.extend(evidence(Degree::Usual, detail));
    }
    found.extend(ScopedCaveat::compared(Scope::Run, Degree::Usual, Caveat::RunsUnpaired));
    let mut tell = |detail| found.extend(evidence(Degree::Usual, detail));
    which_sides(before, after, &mut tell);
    let mut differs = |what: &str, of: &dyn Fn(&StoredRun<'_>) -> BTreeSet<String>| {
        let values: BTreeSet<String> = before.iter().chain(after).flat_map(of).collect();
        if values.len() > 1 {
            tell(format!("{what}: {}", values.into_iter().collect::<Vec<_>>().join(", ")));
        }
    };
    let of_sessions = |run: &StoredRun<'_>, of: &dyn Fn(&Session) -> String| -> BTreeSet<String> {
        run.sessions.iter().map(of).filter(|text| !text.is_empty()).collect()
    };
    differs("the profiles differ", &|run| BTreeSet::from([run.header.plan.profile.clone()]));
    differs("parameters set by hand differ", &|run| {
        let changed = run.header.plan.changed.iter().map(|(name, value)| format!("{name}={value}"));
        BTreeSet::from([format!("({})", changed.collect::<Vec<_>>().join(" "))])
    });
    differs("files of keys and values differ", &|run| BTreeSet::from([files(run)]));
    differs("the hosts differ", &|run| of_sessions(run, &host));
    differs("versions of kdyno differ", &|run| of_sessions(run, &|session| session.kdyno_version.clone()));
    let boots: BTreeSet<&str> = before
        .iter()
        .chain(after)
        .flat_map(|run| run.sessions)
        .map(|session| session.boot_id.as_str())
        .collect();
    if boots.len() > 1 {
        tell(format!("the host was restarted in between: {} boots", boots.len()));
    }
}

/// The files that a run's keys and values come from, in parentheses.
fn files(run: &StoredRun<'_>) -> String {
    let items = run.header.plan.every_case().flat_map(|case| case.load.values());
    let given = items.filter_map(|item| item.role.as_produce()).flat_map(|produce| produce.records.given());
    let files: BTreeSet<String> = given
        .filter_map(|source| match source {
            GivenSource::File(file) => Some(file.content()),
            GivenSource::Avro(avro) => Some(avro.content()),
            GivenSource::Sample(_) => None,
        })
        .collect();
    format!("({})", files.into_iter().collect::<Vec<_>>().join("; "))
}

/// Where runs are comparisons themselves and their sides are not called the same: what is set against what.
fn which_sides(before: &[StoredRun<'_>], after: &[StoredRun<'_>], tell: &mut impl FnMut(String)) {
    let called: BTreeSet<Option<&[String; 2]>> = before.iter().chain(after).map(sides).collect();
    if called.len() < 2 {
        return;
    }
    let of_run = |run: &StoredRun<'_>| match sides(run) {
        Some([a, b]) => format!("{} compares {a} (its side A) with {b} (its side B)", run.name),
        None => format!("{} has no sides", run.name),
    };
    let each: Vec<String> = before.iter().chain(after).map(of_run).collect();
    let taken = match called.contains(&None) {
        true => "of those that have sides A is taken",
        false => "sides A are set against each other, and sides B",
    };
    tell(format!("not all of the runs have the same sides, and {taken}: {}", each.join("; ")));
}

fn runs(count: usize) -> String {
    if count == 1 { "one run".to_owned() } else { format!("{count} runs") }
}

/// Which runs lack a case, or a side of it.
fn without(all: &[&StoredRun<'_>], case: &CasePlan, side: usize) -> String {
    let lacking = all.iter().filter(|run| figures(run, case, side).is_none());
    let names: Vec<&str> = lacking.map(|run| run.name).collect();
    let has = if names.len() == 1 { "has" } else { "have" };
    let case = match case.label.as_str() {
        "" => "the scenario's one case".to_owned(),
        label => format!("a case called `{label}` (cases are matched by what they are called)"),
    };
    format!("{} {has} no figures of {case}: it is left out", names.join(", "))
}

/// The figures of a side (0 is A, or the case itself, 1 is B) of the case that is called like this one; `None`: the run has none.
fn figures(run: &StoredRun<'_>, of: &CasePlan, side: usize) -> Option<Vec<Finding>> {
    let cases = &run.header.plan.cases;
    // A label does not name every value (`+proxy`), so the parameters count first. They differ where some were set by hand.
    let same = cases
        .iter()
        .position(|case| case.label.is_empty() == of.label.is_empty() && case.params == of.params);
    let case = same.or_else(|| cases.iter().position(|case| case.label == of.label))?;
    let case = u32::try_from(case).ok()?;
    let scope = if side == 1 { Scope::SideB { case } } else { Scope::Case(case) };
    let of_case = |finding: &&Finding| (finding.scope, finding.quantity) == (scope, Quantity::Value);
    let found: Vec<Finding> = run.findings.iter().filter(of_case).cloned().collect();
    (!found.is_empty()).then_some(found)
}

/// One case, or one side of it, of all runs.
struct CaseOfRuns {
    scope: Scope,
    /// For each run of each side its figures.
    sides: [Vec<Vec<Finding>>; 2],
    /// Why nothing of it may be used.
    reason: Option<String>,
}

impl CaseOfRuns {
    fn judge(&self, first: &StoredRun<'_>, found: &mut Judgement) {
        for (role, metrics) in compared_runs(&first.header.plan, self.sides.iter().flatten().flatten()) {
            self.judge_of(role, metrics, found);
        }
    }

    /// Metrics of one role, which share the false ones.
    fn judge_of(&self, role: MetricRole, metrics: Vec<Address>, found: &mut Judgement) {
        let mut verdicts: Vec<Verdict> =
            metrics.into_iter().filter_map(|of| self.verdict(of, role)).collect();
        let p: Vec<f64> = verdicts.iter().map(|verdict| verdict.p.map_or(1.0, |(own, _)| own)).collect();
        let together = u32::try_from(verdicts.len()).unwrap_or(u32::MAX);
        for (verdict, adjusted) in verdicts.iter_mut().zip(benjamini_hochberg(&p)) {
            verdict.p = verdict.p.map(|(own, _)| (own, adjusted));
            if let Says::Different { worse, .. } | Says::MaybeMaterial { worse, .. } = verdict.says
                && adjusted > FALSE_SHARE
            {
                verdict.says = Says::DifferentAlone { worse, together, more_needed: None };
            }
        }
        for verdict in verdicts {
            found.findings.extend(Self::finding(&verdict));
            found.conclusions.push(Conclusion::Verdict(verdict));
        }
    }

    /// `None`: no run has a value.
    fn verdict(&self, of: Address, role: MetricRole) -> Option<Verdict> {
        let known = self.sides.iter().flatten().flatten().find(|finding| finding.of == of)?;
        let unit = known.unit;
        let of_metric = |runs: &Vec<Vec<Finding>>| -> Vec<Finding> {
            runs.iter().flatten().filter(|finding| finding.of == of).cloned().collect()
        };
        let figures = self.sides.each_ref().map(of_metric);
        let values = figures.each_ref().map(|of| of.iter().map(|one| one.estimate).collect::<Vec<Value>>());
        let marks = figures.map(|of| of.into_iter().flat_map(|one| one.marks).collect());
        let says_nothing = |value: &Value| matches!(value, Value::None | Value::Is(0.0));
        if unit == Unit::YesNo || values.iter().flatten().all(says_nothing) {
            return None;
        }
        let (better, margin) = (better(&of), margin(unit));
        let said = match self.logarithms(&of) {
            Ok([a, b]) => compare([&a, &b], margin, better),
            Err(reason) => MetricVerdict::nothing(Says::Invalid { reason }),
        };
        let said = match &self.reason {
            Some(reason) => MetricVerdict::nothing(Says::Invalid { reason: reason.clone() }),
            None => said,
        };
        let n = self.sides.iter().map(Vec::len).min().unwrap_or(0);
        let [a, b] = values.each_ref().map(|values| Median::of(values).estimate);
        Some(Verdict {
            scope: self.scope,
            of,
            unit,
            better,
            margin,
            depth: Depth::Verdict,
            role,
            ratio: said.ratio,
            equivalence_interval: said.equivalence_interval,
            a,
            b,
            marks,
            n: u32::try_from(n).unwrap_or(u32::MAX),
            unit_of_evidence: EvidenceUnit::Run,
            unit_ns: None,
            p: said.p.map(|p| (p, p)),
            says: said.says,
        })
    }

    /// For each side and run the logarithm of a figure.
    fn logarithms(&self, of: &Address) -> Result<[Vec<f64>; 2], String> {
        let logarithm = |run: &Vec<Finding>| {
            let finding = run.iter().find(|finding| finding.of == *of);
            let finding = finding.ok_or_else(|| format!("not every run has {of}"))?;
            match finding.estimate {
                _ if finding.is_invalid() => Err(format!("{of} of a run is invalid")),
                Value::Is(number) if number > 0.0 && number.is_finite() => Ok(number.ln()),
                Value::AtLeast(_) => {
                    Err(format!("{of} of a run lies among records that were not acknowledged"))
                }
                Value::Is(_) | Value::None => {
                    Err(format!("{of} of a run is 0 or has no value: there is no ratio"))
                }
            }
        };
        let [a, b] =
            self.sides.each_ref().map(|runs| runs.iter().map(logarithm).collect::<Result<Vec<_>, _>>());
        Ok([a?, b?])
    }

    fn finding(verdict: &Verdict) -> Option<Finding> {
        let ratio = verdict.ratio?;
        Some(Finding {
            scope: verdict.scope,
            of: verdict.of.clone(),
            quantity: Quantity::RatioBToA,
            unit: Unit::Ratio,
            estimate: Value::Is(ratio.estimate),
            n: verdict.n,
            range: None,
            interval: ratio.interval,
            marks: marks_of_both(&verdict.marks),
        })
    }
}

/// What the figures of one metric say.
struct MetricVerdict {
    ratio: Option<Ratio>,
    equivalence_interval: Option<Interval>,
    p: Option<f64>,
    says: Says,
}

impl MetricVerdict {
    fn nothing(says: Says) -> Self {
        Self { ratio: None, equivalence_interval: None, p: None, says }
    }
}

/// By Welch's t of the logarithms' means.
fn compare(sides: [&[f64]; 2], margin: f64, better: Better) -> MetricVerdict {
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let [a, b] = sides;
    let fewest = a.len().min(b.len());
    if fewest == 0 {
        return MetricVerdict::nothing(Says::Invalid { reason: "a side has no run".to_owned() });
    }
    let estimate = mean(b) - mean(a);
    let compared = WelchMean::of_two(a, b)
        .filter(|_| fewest >= RUNS_MIN as usize)
        .map(|means| compare_unpaired(&means, Margin::of(margin), ALPHA));
    let interval = |bounds| of_ratio(bounds, IntervalMethod::StudentT);
    let why_not = match fewest {
        1 => NotResolvable::OneTrial,
        _ => NotResolvable::TooFewTrials { needed: RUNS_MIN },
    };
    let bounds = compared.and_then(|compared| compared.interval);
    let worse = (estimate > 0.0) == (better == Better::Lower);
    MetricVerdict {
        ratio: Some(Ratio {
            estimate: estimate.exp(),
            interval: bounds.map_or(Interval::NotResolvable(why_not), interval),
        }),
        equivalence_interval: compared.and_then(|compared| compared.equivalence_interval).map(interval),
        p: compared.map(|compared| compared.p),
        says: compared.map_or(Says::Inconclusive { more_needed: None }, |compared| {
            says(compared.decision, worse, fewest, 1)
        }),
    }
}
