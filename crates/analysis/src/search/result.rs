//! What a search shows: how it ended, the estimate with its interval, every point of the curve.

use super::bracket::{fit_points, same};
use super::interval::{LEVEL, interval};
use super::line::{LINE_MIN, SearchLine};
use super::question::{PointSoFar, TrialAnswer};
use super::step::{SearchEnd, found_so_far};
use super::trials::{JudgedTrial, judge, settings};
use crate::analysed::AnalysedTrial;
use kdyno_model::conclusion::{Conclusion, Ratio, SearchOutcome, SearchPoint, SearchResult};
use kdyno_model::finding::{Finding, Interval, IntervalMethod, Mark, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{FindPlan, Plan, Vary};
use kdyno_model::seed::mix;
use kdyno_model::trial::{SearchStage, Trial, TrialId, TrialReason};
use std::collections::BTreeSet;

/// Metric of the finding with the estimate: the load at which the conditions just hold.
pub const HIGHEST: &str = "highest_per_s";
/// Metric of the finding with the load that was confirmed.
pub const CONFIRMED: &str = "confirmed_per_s";
/// Metric of the finding with the lowest load that failed.
pub const FIRST_FAILING: &str = "first_failing_per_s";

/// What the trials of a plan that searches show, also before their end: of each case that has a trial a
/// [`Conclusion::Search`], and findings of the estimate, the confirmed load and the first one that failed, those that
/// there are.
pub fn result(plan: &Plan, find: &FindPlan, trials: &[AnalysedTrial<'_>]) -> Judgement {
    let mut all = Judgement::default();
    for case in (0_u32..).zip(&plan.cases).map(|(case, _)| case) {
        let of_case = trials.iter().filter(|said| said.trial.case == case);
        let judged: Vec<(AnalysedTrial<'_>, JudgedTrial)> =
            of_case.filter_map(|said| Some((*said, judge(find, *said)?))).collect();
        if judged.is_empty() {
            continue;
        }
        let search = CaseSearch::of(plan, find, case, &judged);
        all.findings.extend(search.findings());
        all.conclusions.push(Conclusion::Search(search.conclusion(plan)));
    }
    all
}

/// Whether a case's row of the table may rest on a trial: one of a search only at the load that it ended with, for a
/// median over different loads means nothing.
pub fn is_in_table(conclusions: &[Conclusion], trial: &Trial) -> bool {
    let TrialReason::Search { stage, load_per_s } = trial.reason else { return true };
    conclusions.iter().any(|conclusion| match conclusion {
        Conclusion::Search(search) if search.scope == (Scope::Search { case: trial.case }) => {
            match search.outcome {
                SearchOutcome::Confirmed { load_per_s: load } => {
                    stage == SearchStage::Confirm && same(load_per_s, load)
                }
                SearchOutcome::NotConfirmed { highest_passed_per_s: load }
                | SearchOutcome::EveryLoadPasses { highest_per_s: load }
                | SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(load) } => {
                    stage != SearchStage::Ramp && same(load_per_s, load)
                }
                SearchOutcome::GeneratorLimit { highest_passed_per_s: None }
                | SearchOutcome::EveryLoadFails { .. }
                | SearchOutcome::NoFigures { .. }
                | SearchOutcome::Unfinished => false,
            }
        }
        _ => false,
    })
}

/// The search of one case.
struct CaseSearch<'a> {
    case: u32,
    find: &'a FindPlan,
    judged: &'a [(AnalysedTrial<'a>, JudgedTrial)],
    found: SearchEnd,
    estimate: Option<Ratio>,
}

impl<'a> CaseSearch<'a> {
    fn of(
        plan: &Plan,
        find: &'a FindPlan,
        case: u32,
        judged: &'a [(AnalysedTrial<'a>, JudgedTrial)],
    ) -> Self {
        let points: Vec<PointSoFar> = judged.iter().map(|(_, judged)| judged.point).collect();
        let found = found_so_far(&settings(find), &points);
        let estimate = found.line.as_ref().map(|line| {
            let bounds = interval(&fit_points(&points), line, mix(plan.seed, u64::from(case)));
            let interval = match bounds {
                Some((low, high)) => {
                    let method = IntervalMethod::Bootstrap;
                    Interval::Bounds { low: low.exp(), high: high.exp(), level: LEVEL, method }
                }
                None => Interval::NotResolvable(NotResolvable::TooFewTrials {
                    needed: u32::try_from(LINE_MIN + 1).unwrap_or(u32::MAX),
                }),
            };
            Ratio { estimate: line.crossing.exp(), interval }
        });
        Self { case, find, judged, found, estimate }
    }

    fn conclusion(&self, plan: &Plan) -> SearchResult {
        let varied = match self.find.vary {
            Vary::Rate => "rate",
            Vary::Clients { .. } => "clients",
        };
        SearchResult {
            scope: Scope::Search { case: self.case },
            varied: Address { subject: self.find.item.clone(), metric: varied.to_owned() },
            depth: plan.depth,
            outcome: self.found.outcome,
            estimate: self.estimate,
            first_failing_per_s: self.found.first_failing_per_s,
            slope: self.found.line.as_ref().map(|line| line.slope),
            binds: self.binds(),
            inversions: self.found.inversions.clone(),
            points: self.judged.iter().map(|(said, judged)| point(said.trial.id, judged)).collect(),
        }
    }

    /// The condition that binds in most of the trials that fail or lie near the crossing; of equals the first.
    fn binds(&self) -> Option<u32> {
        let is_near = |judged: &JudgedTrial| match &self.found.line {
            Some(SearchLine { crossing, .. }) => {
                (judged.point.load_per_s.ln() - crossing).abs() <= self.window()
            }
            None => judged.point.passed() == Some(false),
        };
        let mut counts = vec![0_u32; self.find.conditions.len()];
        for (_, judged) in self.judged {
            let is_complete = matches!(judged.point.reading, TrialAnswer::Complete { .. });
            if let Some(binds) = judged.binds.filter(|_| is_complete && is_near(judged)) {
                counts[binds as usize] += 1;
            }
        }
        let most = counts.iter().copied().max().filter(|most| *most > 0)?;
        counts.iter().position(|count| *count == most).and_then(|at| u32::try_from(at).ok())
    }

    fn window(&self) -> f64 {
        self.found.line.as_ref().map_or(0.0, SearchLine::window)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let (Some(estimate), Some(line)) = (self.estimate, &self.found.line) {
            let whole = |judged: &JudgedTrial| {
                judged.point.stage != SearchStage::Ramp
                    && (judged.point.load_per_s.ln() - line.crossing).abs() <= line.window()
            };
            let n = u32::try_from(line.near).unwrap_or(u32::MAX);
            findings.push(self.finding(HIGHEST, estimate.estimate, estimate.interval, n, whole));
        }
        let single = Interval::NotResolvable(NotResolvable::NoMethod);
        if let SearchOutcome::Confirmed { load_per_s } = self.found.outcome {
            let confirming = |judged: &JudgedTrial| {
                judged.point.stage == SearchStage::Confirm && same(judged.point.load_per_s, load_per_s)
            };
            let n = self.find.confirm_trials;
            findings.push(self.finding(CONFIRMED, load_per_s, single, n, confirming));
        }
        if let Some(load) = self.found.first_failing_per_s {
            let failing = |judged: &JudgedTrial| same(judged.point.load_per_s, load);
            let n = self.judged.iter().filter(|(_, judged)| failing(judged)).count();
            let n = u32::try_from(n).unwrap_or(u32::MAX);
            findings.push(self.finding(FIRST_FAILING, load, single, n, failing));
        }
        findings
    }

    /// A load, with the marks of the conditions' figures of the trials that it rests on.
    fn finding(
        &self,
        metric: &str,
        load_per_s: f64,
        interval: Interval,
        n: u32,
        rests_on: impl Fn(&JudgedTrial) -> bool,
    ) -> Finding {
        let resting = self.judged.iter().filter(|(_, judged)| rests_on(judged));
        let figures = resting
            .flat_map(|(said, _)| said.findings)
            .filter(|finding| self.find.conditions.iter().any(|condition| condition.of == finding.of));
        let mut marks: BTreeSet<Mark> = figures.flat_map(|finding| finding.marks.iter().copied()).collect();
        // A trial whose figures must not be used has been judged without them.
        marks.remove(&Mark::Invalid);
        Finding {
            scope: Scope::Search { case: self.case },
            of: Address { subject: self.find.item.clone(), metric: metric.to_owned() },
            quantity: Quantity::Value,
            unit: Unit::RecordsPerS,
            estimate: Value::Is(load_per_s),
            n,
            range: None,
            interval,
            marks,
        }
    }
}

fn point(trial: TrialId, judged: &JudgedTrial) -> SearchPoint {
    SearchPoint {
        trial,
        load_per_s: judged.point.load_per_s,
        stage: judged.point.stage,
        passed: judged.point.passed(),
        values: judged.values.clone(),
        marks: judged.marks.clone(),
    }
}
