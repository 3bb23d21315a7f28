//! What the differences of one metric say: different, equivalent, or neither yet.

use crate::statistics::bounds::Bounds;
use crate::statistics::hodges_lehmann::WalshAverages;
use crate::statistics::looks::{MEAN_UNITS_MIN, p_least, units_least};
use crate::statistics::signed_rank::p_value;
use crate::statistics::student::WelchMean;

/// Further than any difference: where a tie is put that may lie anywhere.
const FAR: f64 = 1e6;

/// No run has more units than this.
const UNITS_NEEDED_MAX: f64 = 100_000.0;

/// Ratios that make no difference that matters, as logarithms: from 1 − m to 1 + m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// ln(1 − m).
    pub low: f64,
    /// ln(1 + m).
    pub high: f64,
}

impl Margin {
    /// For a share, e.g. 0.1 for 10 %: B may be 10 % less or 10 % more than A. In logarithms the lower side is the
    /// wider.
    pub fn of(share: f64) -> Self {
        Self { low: (1.0 - share.clamp(0.0, 1.0)).ln(), high: share.max(0.0).ln_1p() }
    }

    pub(super) fn holds(&self, bounds: Bounds) -> bool {
        self.low < bounds.low && bounds.high < self.high
    }

    pub(super) fn lies_outside(&self, bounds: Bounds) -> bool {
        bounds.high < self.low || self.high < bounds.low
    }

    /// How far a difference may still move before it leaves the margin; negative outside of it: how far it lies beyond.
    fn room(&self, difference: f64) -> f64 {
        (difference - self.low).min(self.high - difference)
    }
}

/// The metrics that a metric is judged together with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Family {
    /// p value of the metric among them, see [`family_wise`](super::family_wise).
    pub p: f64,
    /// How many they are, with the metric itself.
    pub together: u32,
}

/// What the evidence carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The sides differ.
    Different {
        /// By more than the margin; else by less.
        material: bool,
    },
    /// They differ; whether by more than the margin cannot be said.
    MaybeMaterial {
        /// About how many units in all would decide that, if the estimate is right; `None`: no number of them.
        units_needed: Option<u32>,
    },
    /// They would differ if no other metric were judged: with all of them such a difference may be by chance.
    DifferentAlone {
        /// About how many units in all would detect it among them, if the estimate is right; `None`: no number of them.
        units_needed: Option<u32>,
    },
    /// They differ by less than the margin, if at all.
    Equivalent,
    /// Neither can be said.
    Inconclusive {
        /// About how many units in all would decide it, if the estimate is right; `None`: no number of them.
        units_needed: Option<u32>,
    },
}

/// What the differences of one metric say at one look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LookOutcome {
    /// ln(B ÷ A): the Hodges–Lehmann estimate, or the mean.
    pub estimate: f64,
    /// Its interval at the look's level; `None` when there are too few differences for one.
    pub interval: Option<Bounds>,
    /// The interval at twice the error, by which it is judged whether a difference matters.
    pub equivalence_interval: Option<Bounds>,
    /// Two-sided p value of no difference, of this metric alone.
    pub p: f64,
    /// What follows.
    pub decision: Decision,
}

/// Judges the differences at a look that may spend `alpha`: of calling alike sides different, and of calling sides
/// equivalent that lie a margin apart (two one-sided tests, each of `alpha`).
///
/// A metric without a family is judged alone. `None` when there is no difference, or one that is not finite.
pub fn compare(
    differences: &[f64],
    margin: Margin,
    alpha: f64,
    family: Option<Family>,
) -> Option<LookOutcome> {
    let known: Vec<Option<f64>> = differences.iter().copied().map(Some).collect();
    compare_with_ties(&known, margin, alpha, family)
}

/// The test where units are ties (`None`): nothing is known of their differences. They count as 0 where a difference is
/// looked for, and may lie anywhere where the sides are to be equivalent.
pub fn compare_with_ties(
    differences: &[Option<f64>],
    margin: Margin,
    alpha: f64,
    family: Option<Family>,
) -> Option<LookOutcome> {
    let with = |tie: f64| -> Vec<f64> { differences.iter().map(|known| known.unwrap_or(tie)).collect() };
    let even = with(0.0);
    let walsh = WalshAverages::of(&even)?;
    let p = p_value(&even);
    let narrower = |tie: f64| WalshAverages::of(&with(tie))?.interval(2.0 * alpha);
    let around = if differences.contains(&None) {
        narrower(-FAR).zip(narrower(FAR)).map(|(low, high)| Bounds { low: low.low, ..high })
    } else {
        walsh.interval(2.0 * alpha)
    };
    let evidence = LookEvidence {
        units: differences.len(),
        estimate: walsh.estimate(),
        p,
        family: family.unwrap_or(Family { p, together: 1 }),
        interval: walsh.interval(alpha),
        // The mean of a tie and any difference lies half as far.
        narrower: around.filter(|bounds| bounds.high.max(-bounds.low) < FAR / 4.0),
    };
    Some(evidence.judge(margin, alpha))
}

/// The test by Student's t, for so few differences that no rank test could say anything, or for those on one start
/// where starts are known to differ by `starts_sd` (else 0). It takes them for normal.
pub fn compare_by_mean(
    differences: &[Option<f64>],
    starts_sd: f64,
    margin: Margin,
    alpha: f64,
    family: Option<Family>,
) -> Option<LookOutcome> {
    let has_ties = differences.contains(&None);
    let differences: Vec<f64> = differences.iter().map(|known| known.unwrap_or(0.0)).collect();
    if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
        return None;
    }
    let mean = WelchMean::on_one_start(&differences, starts_sd);
    let mean = mean.filter(|_| differences.len() >= MEAN_UNITS_MIN as usize);
    let p = mean.map_or(1.0, |mean| mean.p_value());
    let evidence = LookEvidence {
        units: differences.len(),
        estimate: differences.iter().sum::<f64>() / differences.len() as f64,
        p,
        family: family.unwrap_or(Family { p, together: 1 }),
        interval: mean.map(|mean| mean.interval(alpha)),
        narrower: mean.filter(|_| !has_ties).map(|mean| mean.interval(2.0 * alpha)),
    };
    Some(evidence.judge(margin, alpha))
}

/// The test of two sides that are not paired.
pub fn compare_unpaired(means: &WelchMean, margin: Margin, alpha: f64) -> LookOutcome {
    let p = means.p_value();
    let evidence = LookEvidence {
        units: means.n,
        estimate: means.estimate,
        p,
        family: Family { p, together: 1 },
        interval: Some(means.interval(alpha)),
        narrower: Some(means.interval(2.0 * alpha)),
    };
    evidence.judge(margin, alpha)
}

struct LookEvidence {
    units: usize,
    estimate: f64,
    p: f64,
    family: Family,
    interval: Option<Bounds>,
    /// At twice the error.
    narrower: Option<Bounds>,
}

impl LookEvidence {
    fn judge(self, margin: Margin, alpha: f64) -> LookOutcome {
        let Self { units, estimate, p, family, interval, narrower } = self;
        let excludes_none = |bounds: &Bounds| bounds.low > 0.0 || bounds.high < 0.0;
        let differs = interval.filter(excludes_none);
        let is_carried = p.max(family.p) <= alpha;
        let is_within = narrower.is_some_and(|bounds| margin.holds(bounds));
        let room = margin.room(estimate);
        let needed = |way| interval.and_then(|bounds| units_needed(units, bounds, way));
        let decision = match differs {
            Some(bounds) if is_carried && margin.lies_outside(bounds) => {
                Decision::Different { material: true }
            }
            Some(_) if is_carried && is_within => Decision::Different { material: false },
            // The margin's edge has to come to lie outside of the interval.
            Some(_) if is_carried => Decision::MaybeMaterial { units_needed: needed(room.abs()) },
            _ if is_within => Decision::Equivalent,
            Some(_) => {
                Decision::DifferentAlone { units_needed: units_carried(units, p, alpha, family.together) }
            }
            // Until the half-width is shorter than the way to 0 or out of the margin, whichever is longer.
            None => Decision::Inconclusive { units_needed: needed(estimate.abs().max(room)) },
        };
        LookOutcome { estimate, interval, equivalence_interval: narrower, p, decision }
    }
}

/// The half-width shrinks with the root of the units: so many until it is shorter than `way`.
fn units_needed(units: usize, bounds: Bounds, way: f64) -> Option<u32> {
    let half_width = (bounds.high - bounds.low) / 2.0;
    let needed = (units as f64 * (half_width / way).powi(2)).ceil().max(units as f64 + 1.0);
    (needed <= UNITS_NEEDED_MAX).then_some(needed as u32)
}

/// How many standard errors a two-sided p value of the normal law lies off 0, to 0.001: by Abramowitz and Stegun (1964), 26.2.23.
fn errors(p: f64) -> f64 {
    let t = (-2.0 * (p / 2.0).ln()).sqrt();
    t - (2.515_517 + t * (0.802_853 + t * 0.010_328))
        / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
}

/// How far a mean lies off 0 in standard errors grows with the root of the units: so many until its p value is small enough
/// among the metrics judged together. Where it is as small as so few units let it be, as many as let it be smaller.
fn units_carried(units: usize, p: f64, alpha: f64, together: u32) -> Option<u32> {
    let way = errors(alpha / f64::from(together.max(1))) / errors(p);
    let least = f64::from(units_least(alpha, together)).max(units as f64 + 1.0);
    let is_least = p <= p_least(u32::try_from(units).unwrap_or(u32::MAX), 1);
    let needed = if is_least { least } else { (units as f64 * way.powi(2)).ceil().max(least) };
    (needed <= UNITS_NEEDED_MAX).then_some(needed as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight differences, centred, with sizes from 1 to 8 times the step.
    fn around(centre: f64, step: f64) -> Vec<f64> {
        [1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -5.5].iter().map(|factor| centre + step * factor).collect()
    }

    fn decided(differences: &[f64], margin: f64) -> Decision {
        compare(differences, Margin::of(margin), 0.05, None).unwrap().decision
    }

    #[test]
    fn margins_are_shares_and_wider_below_in_logarithms() {
        let margin = Margin::of(0.1);
        assert!((margin.low - 0.9_f64.ln()).abs() < 1e-15 && (margin.high - 1.1_f64.ln()).abs() < 1e-15);
        assert!(-margin.low > margin.high);
        // +0.100 lies beyond ln 1.1 = 0.0953; −0.100 lies within ln 0.9 = −0.1054.
        assert_eq!(decided(&around(0.1, 1e-5), 0.1), Decision::Different { material: true });
        assert_eq!(decided(&around(-0.1, 1e-5), 0.1), Decision::Different { material: false });
        assert_eq!(decided(&around(-0.11, 1e-5), 0.1), Decision::Different { material: true });
    }

    #[test]
    fn the_interval_decides() {
        assert_eq!(decided(&around(0.0, 0.001), 0.05), Decision::Equivalent);
        assert_eq!(decided(&around(0.01, 0.000_5), 0.05), Decision::Different { material: false });
        // The margin ends at ln 1.05 = 0.0488. At 5 % the interval leaves out three Walsh averages at either end, and
        // reaches beyond; the estimate lies 0.004 within.
        let overlaps = decided(&around(0.045, 0.001), 0.05);
        assert!(matches!(overlaps, Decision::MaybeMaterial { units_needed: Some(9..) }), "{overlaps:?}");
        let beyond = decided(&around(0.052, 0.001), 0.05);
        assert!(matches!(beyond, Decision::MaybeMaterial { units_needed: Some(9..) }), "{beyond:?}");
        assert_eq!(decided(&around(-0.1, 0.001), 0.05), Decision::Different { material: true });
        // A difference that the family of metrics does not carry.
        let spread = around(0.01, 0.000_5);
        let compared =
            compare(&spread, Margin::of(0.05), 0.05, Some(Family { p: 0.06, together: 3 })).unwrap();
        assert_eq!(compared.decision, Decision::Equivalent);
        assert!((compared.p - 2.0 / 256.0).abs() < 1e-12);
        assert!(compare(&[], Margin::of(0.1), 0.05, None).is_none());
        assert!(compare(&[0.1, f64::NEG_INFINITY], Margin::of(0.1), 0.05, None).is_none());
    }

    #[test]
    fn equivalence_needs_bounds_inside_at_twice_the_error() {
        // With eight the interval at 5 % leaves out 3 Walsh averages at either end, at 10 % five.
        let differences = around(0.0, 0.01);
        let walsh = WalshAverages::of(&differences).unwrap();
        let (wide, narrow) = (walsh.interval(0.05).unwrap(), walsh.interval(0.1).unwrap());
        let margin = f64::midpoint(wide.high.max(-wide.low), narrow.high.max(-narrow.low));
        let margin = Margin { low: -margin, high: margin };
        assert!(!margin.holds(wide) && margin.holds(narrow));
        let compared = compare(&differences, margin, 0.05, None).unwrap();
        assert_eq!(compared.decision, Decision::Equivalent);
        assert_eq!((compared.interval, compared.equivalence_interval), (Some(wide), Some(narrow)));
        let at_bound = Margin { low: narrow.low, high: 1.0 };
        let decision = compare(&differences, at_bound, 0.05, None).unwrap().decision;
        assert!(matches!(decision, Decision::Inconclusive { .. }), "{decision:?}");
    }

    #[test]
    fn the_units_that_are_still_needed_follow_from_the_nearer_way() {
        let bounds = Bounds { low: -0.01, high: 0.03, level: 0.95 };
        let judged = |estimate: f64, bounds: Bounds, side: f64, p: f64| {
            let (interval, narrower) = (Some(bounds), Some(bounds));
            let family = Family { p, together: 1 };
            let evidence = LookEvidence { units: 8, estimate, p, family, interval, narrower };
            evidence.judge(Margin { low: -side, high: side }, 0.05).decision
        };
        let needed = |estimate, side| judged(estimate, bounds, side, 0.5);
        let open = |units_needed| Decision::Inconclusive { units_needed };
        // Half-width 0.02; to the margin 0.005, to zero 0.01: 8 · 2².
        assert_eq!(needed(0.01, 0.015), open(Some(32)));
        // To the margin 0.0299, so 8 · (2/3)² would do, and one more is the least.
        assert_eq!(needed(-0.000_1, 0.03), open(Some(9)));
        // Outside the margin only a difference can be found.
        assert_eq!(needed(0.01, 0.005), open(Some(32)));
        assert_eq!(needed(0.0, 0.0), open(None));
        // They differ: what is open is on which side of the margin's edge they do.
        let bounds = Bounds { low: 0.125, high: 0.625, level: 0.95 };
        let maybe = |units_needed| Decision::MaybeMaterial { units_needed };
        assert_eq!(
            judged(0.375, bounds, 0.5, 0.01),
            maybe(Some(32)),
            "half of the half-width below the edge"
        );
        assert_eq!(judged(0.375, bounds, 0.25, 0.01), maybe(Some(32)), "as much above it");
        assert_eq!(judged(0.375, bounds, 0.375, 0.01), maybe(None), "on it");
        assert_eq!(judged(0.375, bounds, 0.7, 0.01), Decision::Different { material: false });
        assert_eq!(judged(0.375, bounds, 0.1, 0.01), Decision::Different { material: true });
        let compared = compare(&[0.1, -0.1, 0.2], Margin::of(0.1), 0.05, None).unwrap();
        assert_eq!(compared.interval, None);
        assert_eq!(compared.decision, Decision::Inconclusive { units_needed: None });
    }

    #[test]
    fn a_tie_is_no_difference_and_no_equivalence() {
        let judged = |units: usize, ties: usize, centre: f64| {
            let known = (0..units).map(|at| Some(centre + 0.000_1 * (at % 4) as f64 - 0.000_15));
            let all: Vec<Option<f64>> = known.chain(vec![None; ties]).collect();
            compare_with_ties(&all, Margin::of(0.05), 0.05, None).unwrap()
        };
        assert_eq!(judged(7, 1, 0.2).decision, Decision::Different { material: true });
        assert_eq!((judged(7, 1, 0.2).p, judged(7, 3, 0.2).p), (2.0 / 128.0, 2.0 / 128.0));
        assert_eq!(judged(5, 3, 0.2).p, 2.0 / 32.0);
        assert_eq!(judged(8, 0, 0.0).decision, Decision::Equivalent);
        // With eight five averages at either end are left out at 10 %: a tie makes eight that lie anywhere.
        let tied = judged(7, 1, 0.0);
        assert!(
            matches!(tied.decision, Decision::Inconclusive { .. }) && tied.equivalence_interval.is_none()
        );
        assert_eq!(judged(23, 1, 0.0).decision, Decision::Equivalent, "of 24 more than 24 are left out");
        let mean = |last| {
            compare_by_mean(&[Some(0.01), Some(0.01), last], 0.0, Margin::of(0.05), 0.05, None).unwrap()
        };
        assert_eq!(mean(Some(0.01)).decision, Decision::Different { material: false });
        assert!(mean(None).equivalence_interval.is_none());
    }

    #[test]
    fn a_difference_hidden_by_the_other_metrics_is_reported_as_such() {
        let alone = |units: usize, p_family: f64| {
            let differences: Vec<f64> = (0..units).map(|at| 3.0 + 0.01 * at as f64).collect();
            let family = Some(Family { p: p_family, together: 3 });
            compare(&differences, Margin::of(0.1), 0.05, family).unwrap().decision
        };
        // Six of one sign: 2 ÷ 64 alone, 6 ÷ 64 among three.
        assert_eq!(alone(6, 6.0 / 64.0), Decision::DifferentAlone { units_needed: Some(7) });
        assert_eq!(alone(7, 6.0 / 128.0), Decision::Different { material: true });
        assert!((errors(0.05) - 1.960).abs() < 1e-3 && (errors(0.001) - 3.291).abs() < 1e-3);
        // By 1.96 of the 2.39 standard errors that three need: half as many units again.
        assert_eq!(units_carried(20, 0.05, 0.05, 3), Some(30));
        assert_eq!(units_carried(20, 0.01, 0.05, 3), Some(21), "one more is the least");
    }
}
