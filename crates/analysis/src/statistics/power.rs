//! The smallest difference that a comparison would find, computed before it begins.

use crate::statistics::bounds::Bounds;
use crate::statistics::hodges_lehmann::WalshAverages;
use crate::statistics::looks::{Look, MEAN_UNITS_MIN, looks, units_least};
use crate::statistics::signed_rank::critical;
use crate::statistics::student::{PairedMean, WelchMean, quantile};
use crate::statistics::verdict::Margin;
use kdyno_model::seed::mix;

/// A difference of this size is found in four comparisons of five.
const POWER: f64 = 0.8;
/// Comparisons that are simulated; the same for every question.
const DRAWN: usize = 1_000;
const SEED: u64 = 20_261_122;
/// Steps of the bisection: to 16 ÷ 2¹², far below the resolution of so many comparisons.
const STEPS: u32 = 12;
/// A difference of so many spreads is found by any comparison that finds any.
const SPREADS_MAX: f64 = 16.0;
/// More units than these have too many Walsh averages to be made a thousand times: Student's t replaces the ranks,
const WALSH_UNITS_MAX: usize = 60;
/// which find as much of as many units as t does of this share of them (π ÷ 3 times as many).
const RANKS_EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// What the units of one judged metric differ by without any cause, and what matters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitSpread {
    /// Standard deviation of ln(B ÷ A).
    pub sd: f64,
    /// Standard deviation between starts, for a quick look that sees one of them; else 0.
    pub starts_sd: f64,
    /// Share that matters.
    pub margin: f64,
}

impl UnitSpread {
    /// What starts differ by, in spreads of the pairs on one of them.
    fn starts(&self) -> f64 {
        if self.starts_sd > 0.0 { self.starts_sd / self.sd } else { 0.0 }
    }
}

/// For each metric judged the smallest change, as a share, that a comparison with these looks reports in four cases of
/// five: where it is the only one that differs, each moves by itself and nothing disturbs them. `None` when the looks
/// cannot find any. A comparison that ends since everything is clear, this metric as equivalent, has not found it.
pub fn smallest_visible(units: &[u32], judged: &[UnitSpread]) -> Vec<Option<f64>> {
    let together = u32::try_from(judged.len()).unwrap_or(u32::MAX);
    let looks = looks(units, together);
    let rules: Vec<LookRule> = looks.iter().filter_map(|look| LookRule::of(*look, together)).collect();
    let drawn: Vec<Vec<Vec<NullBounds>>> = (0..DRAWN)
        .map(|draw| {
            let of_metric = |at: usize| {
                let last = rules.iter().map(|rule| rule.units).max().unwrap_or(0);
                let starts = judged[at].starts();
                let mut noise = normals(draw * judged.len() + at, last + 1);
                if starts > 0.0 {
                    let start = starts * noise[last];
                    noise.iter_mut().for_each(|noise| *noise += start);
                }
                rules.iter().map(|rule| rule.seen(&noise[..rule.units], starts)).collect()
            };
            (0..judged.len()).map(of_metric).collect()
        })
        .collect();
    let of_metric = |at: usize| {
        let power = |spreads: f64| {
            let found = drawn.iter().filter(|metrics| is_found(metrics, judged, at, spreads)).count();
            found as f64 / DRAWN as f64
        };
        let (mut low, mut high) = (0.0, SPREADS_MAX * (1.0 + judged[at].starts()));
        if power(high) < POWER {
            return None;
        }
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if power(middle) < POWER { low = middle } else { high = middle }
        }
        Some((high * judged[at].sd).exp_m1())
    };
    (0..judged.len()).map(of_metric).collect()
}

/// Whether a comparison says that a metric differs when it is the only one that does, by so many spreads. It ends at the
/// first look at which every metric is clear.
fn is_found(metrics: &[Vec<NullBounds>], judged: &[UnitSpread], at: usize, spreads: f64) -> bool {
    let looks = metrics[at].len();
    let said = |metric: usize, look: usize| {
        let effect = if metric == at { spreads } else { 0.0 };
        metrics[metric][look].says(effect, judged[metric])
    };
    let is_end = |look: &usize| look + 1 == looks || (0..metrics.len()).all(|one| said(one, *look).is_clear);
    (0..looks).find(is_end).is_some_and(|look| said(at, look).differs)
}

/// How a look judges.
#[derive(Debug, Clone, Copy)]
struct LookRule {
    units: usize,
    /// The bounds that must exclude 0 for the whole family's sake, of those of the look and of those at twice its
    /// error.
    alphas: [f64; 3],
    /// Whether bounds are Walsh averages, `reach[…]` from either end; else they lie so many standard errors off the mean.
    is_by_ranks: bool,
    reach: [Option<f64>; 3],
}

impl LookRule {
    /// `None`: no difference can be found at such a look. Fewer units than the ranks of so many metrics need are judged by
    /// Student's t, as a quick look judges them.
    fn of(look: Look, together: u32) -> Option<Self> {
        let units = look.units as usize;
        // The least p among several is so many times its own (Bonferroni): about that of the step-down.
        let alphas = [look.alpha / f64::from(together), look.alpha, 2.0 * look.alpha];
        let t = |alpha: f64| quantile(look.units - 1, 1.0 - alpha);
        if look.units < units_least(0.05, together) {
            let reach = (look.units >= MEAN_UNITS_MIN).then(|| alphas.map(|alpha| Some(t(alpha))))?;
            return Some(Self { units, alphas, is_by_ranks: false, reach });
        }
        if units > WALSH_UNITS_MAX {
            let reach = alphas.map(|alpha| Some(t(alpha) / RANKS_EFFICIENCY.sqrt()));
            return Some(Self { units, alphas, is_by_ranks: false, reach });
        }
        let reach = alphas.map(|alpha| critical(units, alpha).map(|(rank, _)| rank as f64));
        Some(Self { units, alphas, is_by_ranks: true, reach })
    }

    /// `starts`: see [`UnitSpread::starts`].
    fn seen(&self, noise: &[f64], starts: f64) -> NullBounds {
        if starts > 0.0 {
            let mean =
                WelchMean::on_one_start(noise, starts).filter(|mean| mean.n >= MEAN_UNITS_MIN as usize);
            return NullBounds(self.alphas.map(|alpha| Some(mean?.interval(alpha))));
        }
        let bounds = |low: f64, high: f64| Bounds { low, high, level: 0.0 };
        if self.is_by_ranks {
            let walsh = WalshAverages::of(noise);
            let between = |rank: f64| walsh.as_ref().map(|walsh| walsh.between(rank as usize, 0.0));
            return NullBounds(self.reach.map(|rank| rank.and_then(between)));
        }
        let mean = PairedMean::of(noise);
        let around = |mean: PairedMean, reach: f64| {
            bounds(mean.estimate - reach * mean.standard_error, mean.estimate + reach * mean.standard_error)
        };
        NullBounds(self.reach.map(|reach| Some(around(mean?, reach?))))
    }
}

/// Bounds that a metric without any difference has at a look, in spreads: as in [`LookRule`].
#[derive(Debug, Clone, Copy)]
struct NullBounds([Option<Bounds>; 3]);

/// What is said of a metric at a look.
#[derive(Debug, Clone, Copy)]
struct LookDecision {
    differs: bool,
    /// More units would change nothing that matters.
    is_clear: bool,
}

impl NullBounds {
    fn says(&self, effect: f64, UnitSpread { sd, margin, .. }: UnitSpread) -> LookDecision {
        let margin = Margin::of(margin);
        let moved = |bounds: Bounds| Bounds {
            low: (bounds.low + effect) * sd,
            high: (bounds.high + effect) * sd,
            ..bounds
        };
        let [family, own, narrower] = self.0.map(|bounds| bounds.map(moved));
        let differs = family.is_some_and(|bounds| bounds.low > 0.0 || bounds.high < 0.0);
        let is_within = narrower.is_some_and(|bounds| margin.holds(bounds));
        let is_outside = own.is_some_and(|bounds| margin.lies_outside(bounds));
        LookDecision { differs, is_clear: is_within || (differs && is_outside) }
    }
}

/// Normal deviates by Box and Muller.
fn normals(draw: usize, count: usize) -> Vec<f64> {
    let uniform = |place: usize| {
        let drawn = mix(SEED, (draw * 2 * count + place) as u64) >> 11;
        (drawn as f64 + 0.5) / (1_u64 << 53) as f64
    };
    let normal = |at: usize| {
        (-2.0 * uniform(2 * at).ln()).sqrt() * (std::f64::consts::TAU * uniform(2 * at + 1)).cos()
    };
    (0..count).map(normal).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In spreads, for several metrics none of which ends as equivalent.
    fn spreads(units: &[u32], together: usize) -> Option<f64> {
        let smallest =
            smallest_visible(units, &vec![UnitSpread { sd: 0.001, starts_sd: 0.0, margin: 0.0 }; together]);
        assert_eq!(smallest.len(), together);
        smallest[0].map(|share| share.ln_1p() / 0.001)
    }

    #[test]
    fn what_few_pairs_can_see_is_known_exactly() {
        // All six must have one sign: Φ(δ)⁶ = 0.8 at δ = 1.793 spreads. The density there is 0.08, so 5 standard
        // errors of 1,000 comparisons are 0.063 ÷ (6 · 0.83 · 0.08) = 0.16.
        let six = spreads(&[6], 1).unwrap();
        assert!((six - 1.793).abs() < 0.16, "{six}");
        // With three metrics seven pairs detect one by itself where all have one sign: Φ(δ)⁷ = 0.8 at δ = 1.858.
        let seven = spreads(&[7], 3).unwrap();
        assert!((seven - 1.858).abs() < 0.16, "{seven}");
        assert_eq!(spreads(&[2], 1), None);
        assert_eq!(spreads(&[], 1), None);
    }

    #[test]
    fn what_fewer_pairs_can_see_is_that_of_a_t_test() {
        // By the noncentral t the power is 0.8 at 3.264, 2.128 and 1.682 spreads, and rises there by 0.191, 0.330 and
        // 0.438 with each spread; 5 standard errors of 0.8 in 1,000 comparisons are 0.063.
        for (units, truth, slope) in [(3, 3.264, 0.191), (4, 2.128, 0.330), (5, 1.682, 0.438)] {
            let spreads = spreads(&[units], 1).unwrap();
            assert!((spreads - truth).abs() < 0.063 / slope, "{units} pairs: {spreads}, not {truth}");
        }
        assert!(spreads(&[6], 3).is_some(), "by t, since the ranks of six cannot tell one of three");
    }

    #[test]
    fn more_pairs_detect_more_and_noise_and_other_metrics_hide_it() {
        let visible = |units: &[u32], together| spreads(units, together).unwrap();
        assert!(visible(&[24], 1) < visible(&[16], 1) && visible(&[16], 1) < visible(&[8], 1));
        // A t test of 24 pairs would take (2.07 + 0.86) ÷ √24 = 0.60 spreads, a rank test a little more.
        let of_24 = visible(&[24], 1);
        assert!((0.54..0.70).contains(&of_24), "{of_24}");
        let of_looks = visible(&[8, 16, 24], 1);
        assert!((0.62..0.76).contains(&of_looks), "{of_looks}");
        assert!(visible(&[8, 16, 24], 3) > of_looks + 0.05);
        let of_61 = visible(&[61], 1) * (61.0_f64 / 60.0).sqrt();
        assert!((of_61 / visible(&[60], 1) - 1.0).abs() < 0.05, "by t or by ranks: {of_61}");
        let of = |sd: f64, starts_sd: f64| {
            smallest_visible(&[8, 16, 24], &[UnitSpread { sd, starts_sd, margin: 0.0 }])[0].unwrap().ln_1p()
        };
        let of_sd = |sd: f64| of(sd, 0.0);
        assert!((of_sd(0.01) * 10.0 - of_sd(0.1)).abs() < 1e-9);
    }

    #[test]
    fn on_one_start_no_number_of_pairs_sees_less_than_starts_differ() {
        let of = |pairs: u32, starts_sd: f64| {
            smallest_visible(&[pairs], &[UnitSpread { sd: 0.01, starts_sd, margin: 0.0 }])[0].unwrap().ln_1p()
        };
        // For starts that are known to differ by σ: (1.98 + 0.84) σ, and 5 standard errors of a rise by 0.28 ÷ σ.
        for pairs in [3, 8, 50] {
            let starts = of(pairs, 0.1) / 0.1;
            assert!((2.60..3.05).contains(&starts), "{pairs} pairs: {starts}");
        }
        assert!(of(8, 0.01) > 1.5 * of(8, 0.0));
    }

    #[test]
    fn what_may_end_as_equivalent_is_not_seen() {
        let of = |margin| {
            smallest_visible(&[8, 16, 24], &[UnitSpread { sd: 0.02, starts_sd: 0.0, margin }])[0].unwrap()
        };
        // Far below the margin the first look ends it, so that only what that one finds is seen.
        let first =
            smallest_visible(&[8], &[UnitSpread { sd: 0.02, starts_sd: 0.0, margin: 0.0 }])[0].unwrap();
        assert!(of(0.2) > first, "{} {first}", of(0.2));
        assert!(of(0.001) < 0.5 * of(0.2));
    }
}
