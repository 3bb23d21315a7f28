//! How unsure the crossing is because what a cluster carries changes from trial to trial.
//!
//! Each trial near the crossing names a place on the line, so a search visits one load again and again, and the places in
//! their order show drift and spread. Beforehand capacity keeps still with a probability of 0.4, or wanders by one of
//! [`WANDERS`]; how likely each is afterwards, what the places say ([`Fit::of`]). Few trials cannot separate chance
//! from wandering for certain, so what is left of its likelihood widens the interval.

use super::line::{EXCESS_MAX, FitPoint, LINE_MIN, SearchLine};

/// Standard deviations of capacity about its mean, ln(load), with their probabilities before the search.
const WANDERS: [(f64, f64); 3] = [(0.0, 0.4), (0.05, 0.3), (0.1, 0.3)];
/// How much of a deviation is left at the next trial.
const KEPT: f64 = 0.9;
/// Standard deviations of the trials' own noise, in those of their places; each as likely as the others.
const NOISES: [f64; 8] = [0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8];
/// Least standard deviation of places, ln(load): figures come in grains.
const SD_MIN: f64 = 1e-4;
/// Places so many standard deviations off do not count: something else disturbed these trials.
const OUTLIER: f64 = 3.0;
/// Least standard deviation of a trial's excess for that: a few may lie close together by chance.
const EXCESS_SD_MIN: f64 = 0.1;

/// By how much the half-width of the crossing's interval of this level grows, ln(load): √(½-width² + this²). 0 where there are
/// too few trials for a line. `trials` in their order.
pub(super) fn widening(trials: &[FitPoint], line: &SearchLine, level: f64) -> f64 {
    let places = places(trials, line);
    if places.len() < LINE_MIN {
        return 0.0;
    }
    let centre = places.iter().map(|place| place.1).sum::<f64>() / places.len() as f64;
    let half_width = |wanders: &[(f64, f64)]| half_width(&fits(&places, wanders), centre, level);
    let (still, all) = (half_width(&WANDERS[..1]), half_width(&WANDERS));
    (all.powi(2) - still.powi(2)).max(0.0).sqrt()
}

/// Where each whole trial near the crossing says that it lies, with the trial's number in their order.
fn places(trials: &[FitPoint], line: &SearchLine) -> Vec<(f64, f64)> {
    let whole = |(_, at): &(usize, &FitPoint)| at.is_whole && at.excess.abs() < EXCESS_MAX;
    let mut near: Vec<(usize, &FitPoint)> = trials.iter().enumerate().filter(whole).collect();
    let apart = |at: &FitPoint| (at.ln_load - line.crossing).abs();
    near.sort_by(|a, b| apart(a.1).total_cmp(&apart(b.1)));
    let inside = near.iter().filter(|(_, at)| apart(at) <= line.window()).count();
    near.truncate(inside.max(LINE_MIN));
    near.sort_by_key(|(number, _)| *number);
    let place = |(number, at): (usize, &FitPoint)| (number as f64, at.ln_load - at.excess / line.slope);
    let mut places: Vec<(f64, f64)> = near.into_iter().map(place).collect();
    let median = |mut values: Vec<f64>| crate::steady::median(&mut values).unwrap_or(0.0);
    let middle = median(places.iter().map(|place| place.1).collect());
    let deviation = median(places.iter().map(|place| (place.1 - middle).abs()).collect());
    let far = OUTLIER * (1.4826 * deviation).max(EXCESS_SD_MIN / line.slope);
    places.retain(|place| (place.1 - middle).abs() <= far);
    places
}

/// What the places say if capacity wanders by so much and trials have so much noise of their own.
struct Fit {
    /// Its probability, or while it is not yet one of several its logarithm but for a constant.
    weight: f64,
    /// Mean capacity, ln(load), by generalised least squares.
    mean: f64,
    /// Its standard error.
    error: f64,
}

impl Fit {
    /// The likelihood of the places with the mean integrated out: capacity as a first-order autoregression, and white noise.
    fn of(places: &[(f64, f64)], wander: f64, noise: f64) -> Self {
        let n = places.len();
        let covariance = |i: usize, j: usize| {
            let wandering = wander.powi(2) * KEPT.powf((places[i].0 - places[j].0).abs());
            wandering + if i == j { noise.powi(2) } else { 0.0 }
        };
        // The lower triangle whose product with itself is the covariance (Cholesky), and with it the whitened places and ones.
        let mut lower = vec![vec![0.0; n]; n];
        let (mut ones, mut values) = (vec![0.0; n], vec![0.0; n]);
        let mut ln_determinant = 0.0;
        for (i, (_, place)) in places.iter().enumerate() {
            for j in 0..=i {
                let rest = covariance(i, j) - (0..j).map(|k| lower[i][k] * lower[j][k]).sum::<f64>();
                lower[i][j] = if i == j { rest.max(f64::MIN_POSITIVE).sqrt() } else { rest / lower[j][j] };
            }
            ln_determinant += 2.0 * lower[i][i].ln();
            let whiten = |value: f64, known: &[f64]| {
                (value - (0..i).map(|k| lower[i][k] * known[k]).sum::<f64>()) / lower[i][i]
            };
            (ones[i], values[i]) = (whiten(1.0, &ones), whiten(*place, &values));
        }
        let precision: f64 = ones.iter().map(|one| one * one).sum();
        let mean = ones.iter().zip(&values).map(|(one, value)| one * value).sum::<f64>() / precision;
        let squares: f64 = ones.iter().zip(&values).map(|(one, value)| (value - mean * one).powi(2)).sum();
        let weight = -0.5 * (ln_determinant + precision.ln() + squares);
        Self { weight, mean, error: precision.powf(-0.5) }
    }
}

/// All of them, with their probabilities.
fn fits(places: &[(f64, f64)], wanders: &[(f64, f64)]) -> Vec<Fit> {
    let n = places.len() as f64;
    let mean = places.iter().map(|place| place.1).sum::<f64>() / n;
    let squares: f64 = places.iter().map(|place| (place.1 - mean).powi(2)).sum();
    let sd = (squares / (n - 1.0)).sqrt().max(SD_MIN);
    let each = wanders.iter().flat_map(|wander| NOISES.iter().map(move |noise| (wander, noise)));
    let mut fits: Vec<Fit> = each
        .map(|((wander, probability), noise)| {
            let fit = Fit::of(places, *wander, noise * sd);
            Fit { weight: fit.weight + probability.ln(), ..fit }
        })
        .collect();
    let top = fits.iter().map(|fit| fit.weight).fold(f64::NEG_INFINITY, f64::max);
    fits.iter_mut().for_each(|fit| fit.weight = (fit.weight - top).exp());
    let sum: f64 = fits.iter().map(|fit| fit.weight).sum();
    fits.iter_mut().for_each(|fit| fit.weight /= sum);
    fits
}

/// Half of the width about a centre that holds the mean capacity with this probability.
fn half_width(fits: &[Fit], centre: f64, level: f64) -> f64 {
    let below = |fit: &Fit, at: f64| normal((at - fit.mean) / fit.error);
    let held = |half: f64| -> f64 {
        fits.iter().map(|fit| fit.weight * (below(fit, centre + half) - below(fit, centre - half))).sum()
    };
    let (mut low, mut high) = (0.0, 2.0);
    // To a millionth of a load.
    for _ in 0..21 {
        let middle = f64::midpoint(low, high);
        if held(middle) < level { low = middle } else { high = middle }
    }
    high
}

/// The normal distribution function, within 10⁻⁷ (Abramowitz and Stegun, 26.2.17).
fn normal(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let series = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let above = series.iter().fold(0.0, |sum, factor| t * (sum + factor)) * (-x * x / 2.0).exp()
        / std::f64::consts::TAU.sqrt();
    if x > 0.0 { 1.0 - above } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_law_is_that_of_tables() {
        for (x, below) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.959_964, 0.025), (3.0, 0.998_650_1)] {
            assert!((normal(x) - below).abs() < 2e-7, "{x}: {}", normal(x));
        }
    }

    /// Trials at one load whose places are these.
    fn at(places: &[f64]) -> Vec<FitPoint> {
        places.iter().map(|place| FitPoint { ln_load: 0.0, excess: -10.0 * place, is_whole: true }).collect()
    }

    #[test]
    fn values_that_drift_one_way_widen_more_than_in_another_order() {
        let line = SearchLine { slope: 10.0, crossing: 0.0, scatter: 0.3, near: 9 };
        let of = |places: &[f64]| widening(&at(places), &line, 0.95);
        let rising: Vec<f64> = (0..16).map(|place| 0.005 * (f64::from(place) - 7.5)).collect();
        let shuffled: Vec<f64> = (0..16).map(|place| rising[place * 7 % 16]).collect();
        assert!(of(&rising) > 1.5 * of(&shuffled), "{} {}", of(&rising), of(&shuffled));
        // What lies within a thousandth did not wander by 5 %.
        let still: Vec<f64> = shuffled.iter().map(|place| place / 40.0).collect();
        assert!(of(&still) < 1e-3, "{}", of(&still));
        assert_eq!(of(&[0.01, 0.02]), 0.0);
    }
}
