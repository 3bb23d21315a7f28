//! The verdicts of a comparison: what the pairs so far say of each metric.

use crate::analysed::AnalysedTrial;
use crate::comparison::metrics::{ComparedMetric, FALSE_SHARE, better, compared, is_of_shift, margin};
use crate::comparison::order::order_effect;
use crate::comparison::pairs::{CasePairs, PairedTrials};
use crate::comparison::stage::{ComparisonStage, can_tell, together};
use crate::comparison::typical::starts_sd;
use crate::median::Median;
use crate::statistics::{
    self, Bounds, Decision, Family, MEAN_UNITS_MIN, Margin, UNITS_MIN, WelchMean, benjamini_hochberg,
    family_wise, holm, units_least,
};
use kdyno_model::caveat::{Caveat, Degree, PairsTied, ScopedCaveat};
use kdyno_model::conclusion::{Conclusion, MetricRole, Ratio, Says, Verdict};
use kdyno_model::finding::{
    Finding, Interval, IntervalMethod, Mark, NotResolvable, Quantity, Scope, Value, marks_of_both,
};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{Better, ComparePlan, EvidenceUnit, PairDesign, Plan};
use std::collections::{BTreeMap, BTreeSet};

/// What the pairs say of each case that has a trial: CPU time per record first, then the metrics to be judged,
/// then the other columns of the table and what was imported. `trials` are those of all sessions in the order in which they ran.
pub fn verdicts(plan: &Plan, settings: &ComparePlan, trials: &[AnalysedTrial<'_>]) -> Judgement {
    judged(plan, settings, trials, ComparisonStage::of)
}

/// The verdicts where the budget lets no further trial begin: units enough are judged as at the look that was to come,
/// whose part of the error is then spent, so that the run cannot go on. Therefore not while another case has too few of
/// them: with more time it could have its verdict too.
pub fn verdicts_out_of_time(plan: &Plan, settings: &ComparePlan, trials: &[AnalysedTrial<'_>]) -> Judgement {
    let is_open = |case| {
        let pairs = CasePairs::of(plan, settings, case, trials);
        !can_tell(settings, pairs.units)
            && matches!(ComparisonStage::of(plan, settings, &pairs), ComparisonStage::Between { .. })
    };
    let may_go_on = plan.case_numbers().any(is_open);
    judged(plan, settings, trials, |plan, settings, pairs| match ComparisonStage::of(plan, settings, pairs) {
        ComparisonStage::Between { alpha, .. } if !may_go_on => ComparisonStage::Look { alpha },
        stage => stage,
    })
}

fn judged(
    plan: &Plan,
    settings: &ComparePlan,
    trials: &[AnalysedTrial<'_>],
    stage: impl Fn(&Plan, &ComparePlan, &CasePairs<'_>) -> ComparisonStage,
) -> Judgement {
    let mut found = Judgement::default();
    let metrics = compared(plan, settings, trials);
    for case in plan.case_numbers() {
        let pairs = CasePairs::of(plan, settings, case, trials);
        if pairs.whole.is_empty() && pairs.lost.is_empty() {
            continue;
        }
        let judging = Judging { plan, settings, case, stage: stage(plan, settings, &pairs), pairs };
        judging.judge(&metrics, &mut found);
    }
    found
}

/// The pairs of one case, about to be judged.
struct Judging<'a> {
    plan: &'a Plan,
    settings: &'a ComparePlan,
    case: u32,
    stage: ComparisonStage,
    pairs: CasePairs<'a>,
}

/// One metric of all pairs.
struct MeasuredMetric<'m> {
    metric: &'m ComparedMetric,
    unit: Unit,
    sides: [Vec<Value>; 2],
    marks: [BTreeSet<Mark>; 2],
    /// ln(B ÷ A) of each unit of evidence, `None` of a tie; or why there are none.
    differences: Result<Vec<Option<f64>>, String>,
    /// Why pairs are ties.
    ties: Vec<String>,
}

impl MeasuredMetric<'_> {
    /// Ties are of no difference.
    fn with_ties(&self) -> Option<Vec<f64>> {
        let differences = self.differences.as_ref().ok()?;
        Some(differences.iter().map(|difference| difference.unwrap_or(0.0)).collect())
    }
}

/// p values of one metric: its own, and that among the metrics of its role.
type Probabilities = (f64, Family);

impl Judging<'_> {
    fn scope(&self) -> Scope {
        Scope::Comparison { case: self.case }
    }

    fn judge(&self, metrics: &[ComparedMetric], found: &mut Judgement) {
        self.tell_caveats(found);
        let measured: Vec<MeasuredMetric<'_>> =
            metrics.iter().filter_map(|metric| self.measure(metric)).collect();
        let probabilities = self.probabilities(&measured);
        for (measured, p) in measured.iter().zip(probabilities) {
            self.tell_ties(measured, found);
            self.tell_order(measured.metric, found);
            let verdict = self.verdict(measured, p);
            found.findings.extend(self.finding(measured, &verdict));
            found.conclusions.push(Conclusion::Verdict(verdict));
        }
        for metric in &self.shifted(metrics) {
            let Some(measured) = self.measure(metric) else { continue };
            let verdict = self.verdict(&measured, None);
            found.findings.extend(self.finding(&measured, &verdict));
        }
    }

    /// The other quantiles that trials have. Their ratios, each with an interval of its own, show by how much a
    /// distribution is shifted; nothing is judged by them.
    fn shifted(&self, metrics: &[ComparedMetric]) -> Vec<ComparedMetric> {
        let Some(first) = self.pairs.whole.first() else { return Vec::new() };
        let reported = first.sides[0].findings.iter().map(|finding| &finding.of).filter(|of| is_of_shift(of));
        let others = reported.filter(|of| !metrics.iter().any(|known| known.of == **of));
        others.map(|of| ComparedMetric { of: of.clone(), judge: None }).collect()
    }

    fn tell_caveats(&self, found: &mut Judgement) {
        let mut tell = |caveat| {
            found.caveats.extend(ScopedCaveat::compared(self.scope(), Degree::Usual, caveat));
        };
        if let Some(first) = self.pairs.lost.first() {
            let alike = self.pairs.lost.iter().skip(1).filter(|one| one.why == first.why).count();
            let [pairs, likewise] =
                [self.pairs.lost.len(), alike].map(|many| u32::try_from(many).unwrap_or(u32::MAX));
            let ended_after = self.pairs.ended_after(self.settings);
            tell(Caveat::PairsLost { pairs, first: first.to_string(), likewise, ended_after });
        }
        let pairs = self.pairs.unconditioned();
        if pairs > 0 {
            tell(Caveat::PairsUnconditioned { pairs });
        }
        let starts = self.pairs.starts();
        if self.settings.unit == EvidenceUnit::Pair && starts > 0 && starts < self.pairs.units {
            tell(Caveat::TheseStartsOnly { starts });
        }
    }

    fn tell_ties(&self, measured: &MeasuredMetric<'_>, found: &mut Judgement) {
        let Some(first) = measured.ties.first() else { return };
        let caveat = Caveat::PairsTied(PairsTied {
            metric: measured.metric.of.to_string(),
            pairs: u32::try_from(measured.ties.len()).unwrap_or(u32::MAX),
            first: first.clone(),
        });
        found.caveats.extend(ScopedCaveat::compared(self.scope(), Degree::Usual, caveat));
    }

    /// Judges trials in turns only: in a duet no trial of a pair comes after the other.
    fn tell_order(&self, metric: &ComparedMetric, found: &mut Judgement) {
        let Some(judge) = metric.judge.as_ref().filter(|_| self.settings.design == PairDesign::Turns) else {
            return;
        };
        let differences =
            self.pairs.whole.iter().filter_map(|pair| Some((pair, difference(&metric.of, pair).ok()?)));
        let caveat = order_effect(&metric.of, judge.margin, differences);
        let caveat = caveat.and_then(|caveat| ScopedCaveat::compared(self.scope(), Degree::Usual, caveat));
        found.caveats.extend(caveat);
    }

    /// `None`: there is nothing to compare, and it was not requested beforehand.
    fn measure<'m>(&self, metric: &'m ComparedMetric) -> Option<MeasuredMetric<'m>> {
        let of = &metric.of;
        let mut measured = MeasuredMetric {
            metric,
            unit: Unit::Ratio,
            sides: [Vec::new(), Vec::new()],
            marks: [BTreeSet::new(), BTreeSet::new()],
            differences: Ok(Vec::new()),
            ties: Vec::new(),
        };
        let mut units: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
        let mut problem = None;
        for pair in &self.pairs.whole {
            let is_tie = metric.judge.is_some() && is_tie(of, pair);
            let sides = measured.sides.iter_mut().zip(&mut measured.marks);
            for (trial, (values, marks)) in pair.sides.iter().zip(sides) {
                if let Some(finding) = trial.finding(of) {
                    measured.unit = finding.unit;
                    // Nothing of a tie is in the sides' figures.
                    if is_tie {
                        continue;
                    }
                    marks.extend(&finding.marks);
                    values.push(finding.estimate);
                }
            }
            match difference(of, pair) {
                Ok(difference) => units.entry(pair.unit).or_default().push(Some(difference)),
                Err(NoRatio::Unusable(why)) if metric.judge.is_some() => {
                    units.entry(pair.unit).or_default().push(None);
                    measured.ties.push(why);
                }
                Err(NoRatio::Unusable(why) | NoRatio::Ever(why)) => problem = problem.or(Some(why)),
            }
        }
        // One with a tie among its pairs is a tie: the mean of fewer pairs is another kind of unit.
        let mean = |of: Vec<Option<f64>>| Some(of.iter().copied().sum::<Option<f64>>()? / of.len() as f64);
        measured.differences = problem.map_or_else(|| Ok(units.into_values().map(mean).collect()), Err);
        let says_nothing = |value: &Value| matches!(value, Value::None | Value::Is(0.0));
        let nothing = measured.sides.iter().flatten().all(says_nothing) || measured.unit == Unit::YesNo;
        (metric.judge.is_some() || !nothing).then_some(measured)
    }

    /// In the order of `measured`; `None` where there are no differences to test.
    fn probabilities(&self, measured: &[MeasuredMetric<'_>]) -> Vec<Option<Probabilities>> {
        let mut found = vec![None; measured.len()];
        for role in [MetricRole::Judged, MetricRole::Exploratory, MetricRole::Imported] {
            let places: Vec<usize> = (0..measured.len())
                .filter(|at| measured[*at].metric.role() == role)
                .filter(|at| measured[*at].differences.as_ref().is_ok_and(|of| !of.is_empty()))
                .collect();
            let differences = places.iter().filter_map(|at| measured[*at].with_ties());
            let differences: Vec<Vec<f64>> = differences.collect();
            let own = places.iter().zip(&differences);
            let own: Vec<f64> = own.map(|(at, of)| self.p_value(&measured[*at].metric.of, of)).collect();
            let by_mean = |at: &usize| self.by_mean(&measured[*at].metric.of).is_some();
            let together = match (role == MetricRole::Judged, differences.as_slice()) {
                (_, [_]) => own.clone(),
                (true, _) if places.iter().all(by_mean) => holm(&own),
                (true, _) => family_wise(&differences, self.plan.seed),
                (false, _) => benjamini_hochberg(&own),
            };
            let many = u32::try_from(places.len()).unwrap_or(u32::MAX);
            for ((at, own), p) in places.into_iter().zip(own).zip(together) {
                found[at] = Some((own, Family { p, together: many }));
            }
        }
        found
    }

    /// Whether a quick look judges a metric by its mean: where starts differ by so much and it has one of them, or where it
    /// has so few pairs that no rank test could detect a difference in one of its metrics (then starts count as alike).
    fn by_mean(&self, of: &Address) -> Option<f64> {
        let least = units_least(self.stage.alpha(), together(self.settings));
        let is_short = matches!(self.stage, ComparisonStage::Quick) && self.pairs.units < least;
        starts_sd(of, self.plan, self.settings, self.case).or(is_short.then_some(0.0))
    }

    fn p_value(&self, of: &Address, differences: &[f64]) -> f64 {
        match self.by_mean(of).and_then(|starts_sd| WelchMean::on_one_start(differences, starts_sd)) {
            Some(mean) => mean.p_value(),
            None => statistics::p_value(differences),
        }
    }

    fn verdict(&self, measured: &MeasuredMetric<'_>, p: Option<Probabilities>) -> Verdict {
        let of = &measured.metric.of;
        let judge = measured.metric.judge.as_ref();
        let better = judge.map_or_else(|| better(of), |judge| judge.better);
        let margin = judge.map_or_else(|| margin(measured.unit), |judge| judge.margin);
        let differences = measured.differences.as_deref();
        let (ratio, equivalence_interval, says) = match differences {
            Err(reason) => (None, None, Says::Invalid { reason: reason.clone() }),
            Ok([]) => (None, None, self.too_few()),
            Ok(differences) if !measured.ties.is_empty() && self.has_too_few(of, differences) => {
                (None, None, self.too_few_but_ties(differences, measured))
            }
            Ok(differences) => self.decide(measured.metric, differences, (margin, better), p),
        };
        let [a, b] = measured.sides.each_ref().map(|values| Median::of(values).estimate);
        Verdict {
            scope: self.scope(),
            of: of.clone(),
            unit: measured.unit,
            better,
            margin,
            depth: self.plan.depth,
            role: measured.metric.role(),
            ratio,
            equivalence_interval,
            a,
            b,
            marks: measured.marks.clone(),
            n: differences.map_or(0, |of| u32::try_from(of.len()).unwrap_or(u32::MAX)),
            unit_of_evidence: self.settings.unit,
            unit_ns: None,
            p: p.filter(|_| !self.stage.is_between()).map(|(own, family)| (own, family.p)),
            says,
        }
    }

    fn too_few(&self) -> Says {
        if let ComparisonStage::Between { more, .. } = self.stage {
            return Says::Inconclusive { more_needed: Some(more) };
        }
        let lost = match self.pairs.lost.first() {
            Some(first) => format!("; {} were lost, the first: {first}", self.pairs.lost.len()),
            None => String::new(),
        };
        let unit = self.settings.unit;
        let units = self.pairs.units;
        Says::Invalid {
            reason: format!("{units} {unit}s can be used, a verdict needs {UNITS_MIN} at least{lost}"),
        }
    }

    /// Whether what is left without ties is less than any verdict needs.
    fn has_too_few(&self, of: &Address, differences: &[Option<f64>]) -> bool {
        let least = if self.by_mean(of).is_some() { MEAN_UNITS_MIN } else { UNITS_MIN };
        differences.iter().flatten().count() < least as usize
    }

    /// Nothing yet, while further units can come.
    fn too_few_but_ties(&self, differences: &[Option<f64>], measured: &MeasuredMetric<'_>) -> Says {
        if !self.pairs.progress(self.settings).is_exhausted {
            return Says::Inconclusive { more_needed: None };
        }
        let [left, all] = [differences.iter().flatten().count(), differences.len()];
        let first = measured.ties.first().map_or("", String::as_str);
        Says::Invalid {
            reason: format!(
                "only {left} of {all} {}s are not ties; the first tie: {first}",
                self.settings.unit
            ),
        }
    }

    fn decide(
        &self,
        metric: &ComparedMetric,
        differences: &[Option<f64>],
        (margin, better): (f64, Better),
        p: Option<Probabilities>,
    ) -> (Option<Ratio>, Option<Interval>, Says) {
        let alpha = self.stage.alpha();
        let family = p.map(|(_, family)| match metric.judge.is_some() {
            true => family,
            // What is exploratory may err more often together, and its interval says as much as any other.
            false => Family { p: if family.p <= FALSE_SHARE { 0.0 } else { 1.0 }, ..family },
        });
        let margin = Margin::of(margin);
        let by_mean = self.by_mean(&metric.of);
        let quick = by_mean
            .map(|starts_sd| statistics::compare_by_mean(differences, starts_sd, margin, alpha, family));
        let by_ranks = || statistics::compare_with_ties(differences, margin, alpha, family);
        let Some(compared) = quick.flatten().or_else(by_ranks) else { return (None, None, self.too_few()) };
        let method = if by_mean.is_some() { IntervalMethod::StudentT } else { IntervalMethod::SignedRank };
        let why_not = || Interval::NotResolvable(self.why_no_interval(by_mean.is_some(), differences.len()));
        let at_look = |bounds: Option<Bounds>| bounds.filter(|_| !self.stage.is_between());
        let interval = at_look(compared.interval).map_or_else(why_not, |bounds| of_ratio(bounds, method));
        let equivalence_interval =
            at_look(compared.equivalence_interval).map(|bounds| of_ratio(bounds, method));
        let ratio = Ratio { estimate: compared.estimate.exp(), interval };
        let says = match self.stage {
            ComparisonStage::Between { .. } | ComparisonStage::TooFew => self.too_few(),
            ComparisonStage::Look { .. } | ComparisonStage::Quick => {
                let worse = (compared.estimate > 0.0) == (better == Better::Lower);
                let together = family.map_or(1, |family| family.together);
                let of_start = self.on_this_start(&metric.of, differences, (compared.decision, worse));
                of_start.unwrap_or_else(|| says(compared.decision, worse, differences.len(), together))
            }
        };
        (Some(ratio), equivalence_interval, says)
    }

    /// What pairs say that ran on one start of several that could be: more of them would not show more of these.
    /// `None`: it is what pairs with a start each would say.
    fn on_this_start(
        &self,
        of: &Address,
        differences: &[Option<f64>],
        (decision, worse): (Decision, bool),
    ) -> Option<Says> {
        let starts_sd = starts_sd(of, self.plan, self.settings, self.case)?;
        let own = statistics::compare_by_mean(differences, 0.0, Margin::of(0.0), self.stage.alpha(), None)?;
        let differs = matches!(own.decision, Decision::Different { .. });
        match decision {
            Decision::Inconclusive { .. } | Decision::DifferentAlone { .. } if differs => {
                Some(Says::OnThisStart { worse, starts_differ: starts_sd.exp_m1() })
            }
            Decision::Inconclusive { .. } => Some(Says::Inconclusive { more_needed: None }),
            Decision::MaybeMaterial { .. } => Some(Says::MaybeMaterial { worse, more_needed: None }),
            _ => None,
        }
    }

    fn why_no_interval(&self, is_by_mean: bool, units: usize) -> NotResolvable {
        let needed = match self.stage {
            ComparisonStage::Between { more, .. } => self.pairs.units.saturating_add(more),
            _ if is_by_mean => MEAN_UNITS_MIN,
            _ => UNITS_MIN,
        };
        if units == 1 { NotResolvable::OneTrial } else { NotResolvable::TooFewTrials { needed } }
    }

    /// The ratio as a number with its scope.
    fn finding(&self, measured: &MeasuredMetric<'_>, verdict: &Verdict) -> Option<Finding> {
        let ratio = verdict.ratio?;
        let differences = measured.differences.as_ref().ok()?.iter().copied().flatten();
        let of_all = |fold: fn(f64, f64) -> f64| differences.clone().reduce(fold).map(f64::exp);
        let range = of_all(f64::min).map(Value::Is).zip(of_all(f64::max).map(Value::Is));
        Some(Finding {
            scope: self.scope(),
            of: verdict.of.clone(),
            quantity: Quantity::RatioBToA,
            unit: Unit::Ratio,
            estimate: Value::Is(ratio.estimate),
            n: verdict.n,
            range: range.filter(|_| differences.clone().count() > 1),
            interval: ratio.interval,
            marks: marks_of_both(&verdict.marks),
        })
    }
}

/// The interval of B ÷ A by that of its logarithm.
pub(super) fn of_ratio(bounds: Bounds, method: IntervalMethod) -> Interval {
    let Bounds { low, high, level } = bounds;
    Interval::Bounds { low: low.exp(), high: high.exp(), level, method }
}

/// A decision that rests on so many units, in the words of a verdict.
pub(super) fn says(decision: Decision, worse: bool, units: usize, together: u32) -> Says {
    let more = |needed: Option<u32>| {
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        needed.map(|needed| needed.saturating_sub(units))
    };
    match decision {
        Decision::Different { material } => Says::Different { material, worse },
        Decision::MaybeMaterial { units_needed } => {
            Says::MaybeMaterial { worse, more_needed: more(units_needed) }
        }
        Decision::DifferentAlone { units_needed } => {
            Says::DifferentAlone { worse, together, more_needed: more(units_needed) }
        }
        Decision::Equivalent => Says::Equivalent,
        Decision::Inconclusive { units_needed } => Says::Inconclusive { more_needed: more(units_needed) },
    }
}

/// Why a pair has no ratio of a metric.
enum NoRatio {
    /// A figure must not be used: of another pair it may be.
    Unusable(String),
    /// There is none for what the figures are: to do without this pair would be to choose.
    Ever(String),
}

/// Whether a judged figure of either side is invalid; one of a load that queued is a bound.
fn is_tie(of: &Address, pair: &PairedTrials<'_>) -> bool {
    pair.sides.iter().any(|trial| {
        let found = trial.finding(of);
        found.is_some_and(|finding| trial.is_invalid(finding) && !trial.is_queued(of))
    })
}

/// ln(B ÷ A) of one pair.
fn difference(of: &Address, pair: &PairedTrials<'_>) -> Result<f64, NoRatio> {
    let mut unusable = None;
    let mut logarithms = [0.0; 2];
    for (trial, logarithm) in pair.sides.iter().zip(&mut logarithms) {
        let id = trial.trial.id;
        let none = || NoRatio::Ever(format!("trial {id} has no {of}"));
        let finding = trial.finding(of).ok_or_else(none)?;
        if trial.is_queued(of) {
            let side = trial.trial.variant.as_deref().unwrap_or("a side");
            return Err(NoRatio::Ever(format!(
                "{side} did not keep up with the load in trial {id}, so {of} is the time in a queue"
            )));
        }
        if trial.is_invalid(finding) {
            let whose = if trial.is_generators_alone(of) { ", by the load generator's doing" } else { "" };
            unusable = unusable.or(Some(format!("{of} of trial {id} is invalid{whose}")));
            continue;
        }
        let no_ratio = |why: String| NoRatio::Ever(format!("{of} of trial {id} {why}"));
        *logarithm = match finding.estimate {
            Value::Is(number) if number > 0.0 && number.is_finite() => number.ln(),
            Value::Is(number) => return Err(no_ratio(format!("is {number}: there is no ratio"))),
            Value::AtLeast(_) => {
                return Err(no_ratio("lies among records that were not acknowledged".to_owned()));
            }
            Value::None => return Err(no_ratio("has no value".to_owned())),
        };
    }
    let [a, b] = logarithms;
    unusable.map_or(Ok(b - a), |why| Err(NoRatio::Unusable(why)))
}
