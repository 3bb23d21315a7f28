//! What the trials of a run say together: of each case the median over its trials, and beside published figures
//! the ratio of either to the first row.
//!
//! Nothing that is compared spans two sessions: a case's figures come from the session with most of its trials, the
//! newest of several, and a ratio is stated only of rows of one session.

use crate::median::Median;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::{
    Finding, Interval, Judgement, Mark, NotResolvable, Quantity, Scope, ScopedCaveat, Severity, TrialOutcome,
    Value,
};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::Plan;
use kdyno_model::table::TableRow;
use kdyno_model::trial::Trial;
use std::collections::{BTreeMap, BTreeSet};

/// A trial with what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct AnalysedTrial<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Number of the session it ran in.
    pub session: u32,
    /// Its numbers.
    pub findings: &'a [Finding],
    /// The reasons to doubt them.
    pub caveats: &'a [ScopedCaveat],
    /// What they say.
    pub conclusions: &'a [Conclusion],
}

impl<'a> AnalysedTrial<'a> {
    /// A trial that has just ended in a session.
    pub fn of(outcome: &'a TrialOutcome, session: u32) -> Self {
        Self {
            trial: &outcome.trial,
            session,
            findings: &outcome.findings,
            caveats: &outcome.caveats,
            conclusions: &outcome.conclusions,
        }
    }

    fn is_invalid(&self) -> bool {
        self.caveats.iter().any(|doubt| doubt.severity == Severity::Invalid)
    }
}

/// Everything that a run's trials say, each with the number of its session: of each trial, and of all together.
pub fn all(plan: &Plan, outcomes: Vec<(TrialOutcome, u32)>) -> Judgement {
    let trials: Vec<AnalysedTrial<'_>> =
        outcomes.iter().map(|(outcome, session)| AnalysedTrial::of(outcome, *session)).collect();
    let mut all = judge(plan, &trials);
    for (outcome, _) in outcomes {
        all.findings.extend(outcome.findings);
        all.caveats.extend(outcome.caveats);
        all.conclusions.extend(outcome.conclusions);
    }
    all
}

/// Findings of every case that has a trial, in the order of the plan, then the ratios of published figures and ours.
///
/// A case states each metric that one of its trials states, without a value where none of them has one. No caveat
/// is about more than one trial in this version.
pub fn judge(plan: &Plan, trials: &[AnalysedTrial<'_>]) -> Judgement {
    let cases: BTreeMap<u32, Case> =
        (0u32..).zip(&plan.cases).filter_map(|(index, _)| Some((index, Case::of(index, trials)?))).collect();
    let ratios = ratios(plan, &cases);
    let found = cases.into_values().flat_map(|case| case.findings).chain(ratios).collect();
    Judgement { findings: found, ..Judgement::default() }
}

/// A case's figures and the session they come from.
struct Case {
    session: u32,
    findings: Vec<Finding>,
}

impl Case {
    /// `None` when it has no trial.
    fn of(index: u32, trials: &[AnalysedTrial<'_>]) -> Option<Self> {
        let mut sessions: BTreeMap<u32, Vec<&AnalysedTrial<'_>>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.trial.case == index && !trial.trial.is_conditioning())
        {
            sessions.entry(trial.session).or_default().push(trial);
        }
        // Of equals the last is taken, which is the newest.
        let (session, trials) = sessions.into_iter().max_by_key(|(_, trials)| trials.len())?;
        let mut metrics: Vec<(&Address, Unit)> = Vec::new();
        let mut values: BTreeMap<&Address, [Vec<Value>; 2]> = BTreeMap::new();
        for trial in trials {
            for finding in trial.findings {
                let [valid, invalid] = values.entry(&finding.of).or_insert_with(|| {
                    metrics.push((&finding.of, finding.unit));
                    Default::default()
                });
                let known = (finding.estimate != Value::None).then_some(finding.estimate);
                if trial.is_invalid() { invalid } else { valid }.extend(known);
            }
        }
        let findings = metrics.into_iter().map(|(of, unit)| {
            // Figures that must not be used count only where there are no others.
            let [valid, invalid] = &values[of];
            let from_invalid = valid.is_empty() && !invalid.is_empty();
            let marks = from_invalid.then_some(Mark::Invalid).into_iter().collect();
            let Median { estimate, n, range, interval } =
                Median::of(if from_invalid { invalid } else { valid });
            let (scope, of, quantity) = (Scope::Case(index), of.clone(), Quantity::Value);
            Finding { scope, of, quantity, unit, estimate, n, range, interval, marks }
        });
        Some(Self { session, findings: findings.collect() })
    }
}

/// Of every published metric: each figure's ratio to that of the first row that has both.
fn ratios(plan: &Plan, cases: &BTreeMap<u32, Case>) -> Vec<Finding> {
    let rows = plan.table_rows();
    let published = plan.published.iter().flat_map(|published| &published.rows);
    let metrics: BTreeSet<Address> =
        published.flat_map(|row| row.values.keys()).filter_map(|name| Address::parse(name)).collect();
    metrics.iter().flat_map(|of| Column { plan, cases, of }.ratios(&rows)).collect()
}

/// One published metric in all rows.
struct Column<'a> {
    plan: &'a Plan,
    cases: &'a BTreeMap<u32, Case>,
    of: &'a Address,
}

/// Our figure of a row, known exactly and from valid trials, and where it comes from.
#[derive(Clone, Copy)]
struct Ours {
    session: u32,
    number: f64,
    n: u32,
}

impl Column<'_> {
    fn ratios(&self, rows: &[TableRow]) -> Vec<Finding> {
        let both = |row: &TableRow| {
            let (ours, theirs) = self.ours(row.case?).zip(self.theirs(row.published?))?;
            (ours.number != 0.0 && theirs != 0.0).then_some((ours, theirs))
        };
        let Some((base, base_theirs)) = rows.iter().find_map(both) else { return Vec::new() };
        let is_comparable = |ours: &Ours| ours.session == base.session;
        // A single row is its own base, and that is all it could say.
        if rows.iter().filter_map(both).filter(|(ours, _)| is_comparable(ours)).count() < 2 {
            return Vec::new();
        }
        let cases = rows.iter().filter_map(|row| row.case).filter_map(|case| {
            let ours = self.ours(case).filter(is_comparable)?;
            Some(self.ratio(Scope::Case(case), ours.number / base.number, ours.n))
        });
        let published: BTreeSet<u32> = rows.iter().filter_map(|row| row.published).collect();
        let published = published
            .into_iter()
            .filter_map(|row| Some(self.ratio(Scope::PublishedRow(row), self.theirs(row)? / base_theirs, 1)));
        cases.chain(published).collect()
    }

    /// A yes or a no has no ratio.
    fn ours(&self, case: u32) -> Option<Ours> {
        let case = self.cases.get(&case)?;
        let finding = case.findings.iter().find(|finding| finding.of == *self.of)?;
        match finding.estimate {
            Value::Is(number)
                if number.is_finite() && !finding.is_invalid() && finding.unit != Unit::YesNo =>
            {
                Some(Ours { session: case.session, number, n: finding.n })
            }
            _ => None,
        }
    }

    fn theirs(&self, row: u32) -> Option<f64> {
        let rows = &self.plan.published.as_ref()?.rows;
        *rows.get(row as usize)?.values.get(&self.of.to_string())?
    }

    fn ratio(&self, scope: Scope, ratio: f64, n: u32) -> Finding {
        Finding {
            scope,
            of: self.of.clone(),
            quantity: Quantity::RatioToFirstRow,
            unit: Unit::Ratio,
            estimate: Value::Is(ratio),
            n,
            range: None,
            interval: Interval::NotResolvable(NotResolvable::NoMethod),
            marks: BTreeSet::new(),
        }
    }
}
