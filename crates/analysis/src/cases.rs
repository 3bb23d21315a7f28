//! What the trials of one case say together.

use crate::analysed::AnalysedTrial;
use crate::median::Median;
use kdyno_model::conclusion::{WindowParts, of_kind};
use kdyno_model::finding::{Finding, Mark, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::ComparePlan;
use std::collections::{BTreeMap, BTreeSet};

/// A case's figures and the session they come from.
pub(crate) struct CaseFigures<'a> {
    pub(crate) session: u32,
    pub(crate) findings: Vec<Finding>,
    /// For each metric the figures that may be used, as far as they may, by repeat.
    repeats: BTreeMap<&'a Address, BTreeMap<u32, Value>>,
    /// Upper bounds of metrics without a valid figure, and over how many repeats each is the median.
    at_most: BTreeMap<&'a Address, (f64, u32)>,
    /// Metrics with a repeat that has no figure that may be used: the others bound nothing.
    left_out: BTreeSet<&'a Address>,
    /// The smallest and the largest figure among the parts of a window, by metric and repeat.
    parts: BTreeMap<(&'a Address, u32), (f64, f64)>,
}

/// The values of one metric.
#[derive(Default)]
struct MetricValues {
    /// The trials whose figure may be used, as far as it may, and the others.
    known: [Vec<Value>; 2],
    marks: [BTreeSet<Mark>; 2],
    /// A trial's figure is invalid for what the system did: what is left is a choice among its trials.
    is_choice: bool,
    /// Trials whose figure is an upper bound.
    at_most: usize,
}

impl<'a> CaseFigures<'a> {
    /// `None` when it has no trial. In a comparison a case is its side A.
    pub(crate) fn of(index: u32, trials: &[AnalysedTrial<'a>]) -> Option<Self> {
        Self::in_scope(Scope::Case(index), index, trials)
    }

    /// The trials of side B of a compared case.
    pub(crate) fn of_side_b(index: u32, trials: &[AnalysedTrial<'a>]) -> Option<Self> {
        Self::in_scope(Scope::SideB { case: index }, index, trials)
    }

    fn in_scope(scope: Scope, index: u32, trials: &[AnalysedTrial<'a>]) -> Option<Self> {
        let is_wanted = |is_b: bool| is_b == matches!(scope, Scope::SideB { .. });
        let is_of_case = |trial: &&AnalysedTrial<'a>| {
            let is_b = trial.trial.variant.as_deref() == Some(ComparePlan::SIDES[1]);
            trial.trial.case == index && !trial.trial.is_conditioning() && is_wanted(is_b)
        };
        let mut sessions: BTreeMap<u32, Vec<&AnalysedTrial<'a>>> = BTreeMap::new();
        for trial in trials.iter().filter(is_of_case) {
            sessions.entry(trial.session).or_default().push(trial);
        }
        // Among equals the last is taken, which is the newest.
        let (session, trials) = sessions.into_iter().max_by_key(|(_, trials)| trials.len())?;
        let mut metrics: Vec<(&Address, Unit)> = Vec::new();
        let mut values: BTreeMap<&Address, MetricValues> = BTreeMap::new();
        let mut repeats: BTreeMap<&Address, BTreeMap<u32, Value>> = BTreeMap::new();
        let (mut parts, mut left_out) = (BTreeMap::new(), BTreeSet::new());
        for trial in trials {
            let of_window = of_kind::<WindowParts>(trial.conclusions).flat_map(|found| &found.of);
            parts.extend(of_window.map(|one| ((&one.of, trial.trial.repeat), (one.low, one.high))));
            for finding in trial.findings {
                let values = values.entry(&finding.of).or_insert_with(|| {
                    metrics.push((&finding.of, finding.unit));
                    MetricValues::default()
                });
                if finding.estimate == Value::None {
                    if trial.is_invalid(finding) {
                        left_out.insert(&finding.of);
                    }
                    continue;
                }
                let usable = trial.usable(finding);
                let group = usize::from(usable.is_none());
                values.known[group].push(usable.unwrap_or(finding.estimate));
                values.marks[group].extend(&finding.marks);
                values.is_choice |= trial.is_invalid(finding) && !trial.is_generators_alone(&finding.of);
                values.at_most += usize::from(trial.is_at_most(&finding.of));
                match usable {
                    Some(value) => {
                        repeats.entry(&finding.of).or_default().insert(trial.trial.repeat, value);
                    }
                    None => {
                        left_out.insert(&finding.of);
                    }
                }
            }
        }
        let at_most = values.iter().filter_map(|(of, values)| Some((*of, values.at_most()?))).collect();
        let findings = metrics.into_iter().map(|(of, unit)| values[of].stated(scope, of, unit)).collect();
        Some(Self { session, findings, repeats, at_most, left_out, parts })
    }

    /// Its figures of a metric that may be used, as far as they may, by repeat.
    pub(crate) fn repeats(&self, of: &Address) -> impl Iterator<Item = (u32, Value)> {
        self.repeats.get(of).into_iter().flatten().map(|(repeat, value)| (*repeat, *value))
    }

    /// The upper bound of a metric without a valid figure, and over how many repeats; `None`: not known.
    pub(crate) fn at_most(&self, of: &Address) -> Option<(f64, u32)> {
        self.at_most.get(of).copied()
    }

    /// Whether a metric is invalid, and what it is at least is known of each of its repeats.
    pub(crate) fn is_bounded(&self, of: &Address) -> bool {
        !self.left_out.contains(of)
            && self.repeats.contains_key(of)
            && self.finding(of).is_some_and(Finding::is_invalid)
    }

    /// Between which figures the parts of a repeat's window lie; `None` where that is not known.
    pub(crate) fn parts(&self, of: &Address, repeat: u32) -> Option<(f64, f64)> {
        self.parts.get(&(of, repeat)).copied()
    }

    /// The repeats with any figure that may be used.
    pub(crate) fn all_repeats(&self) -> BTreeSet<u32> {
        self.repeats.values().flat_map(BTreeMap::keys).copied().collect()
    }

    /// Its figure of a metric.
    pub(crate) fn finding(&self, of: &Address) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.of == *of)
    }
}

impl MetricValues {
    /// What it is at most where each trial's figure is an upper bound.
    fn at_most(&self) -> Option<(f64, u32)> {
        let [valid, invalid] = &self.known;
        let Median { estimate: Value::Is(most), n, .. } = Median::of(invalid) else { return None };
        (valid.is_empty() && self.at_most == invalid.len()).then_some((most, n))
    }

    fn stated(&self, scope: Scope, of: &Address, unit: Unit) -> Finding {
        // Figures that must not be used count only where there are no others.
        let [valid, invalid] = &self.known;
        let from_invalid = valid.is_empty() && !invalid.is_empty();
        let mut marks = self.marks[usize::from(from_invalid)].clone();
        if self.is_choice || from_invalid {
            marks.insert(Mark::Invalid);
        }
        let Median { estimate, n, range, interval } = Median::of(if from_invalid { invalid } else { valid });
        let (of, quantity) = (of.clone(), Quantity::Value);
        Finding { scope, of, quantity, unit, estimate, n, range, interval, marks }
    }
}
