//! Whether the second trial of a pair differs from the first one, whichever side it is.

use super::pairs::PairedTrials;
use crate::statistics::student_p;
use kdyno_model::caveat::{Caveat, PairOrder};
use kdyno_model::metric::Address;

/// An order effect is reported at this level: below a verdict's 5 %, since each judged metric of a comparison is tested.
const ORDER_ALPHA: f64 = 0.01;

/// The caveat of a metric whose second trials differ from the first ones by more than `margin`. `differences`: ln(B ÷ A) of
/// each pair that has one.
///
/// With δ the effect of the side and γ that of the order, a pair in which A came first shows δ + γ, and the others δ − γ. So γ
/// is half the difference of their means, tested by Student's t for two samples of one variance. Where one side always came
/// first, γ is part of δ and cannot be known; the plan draws no such order up to its first look.
pub(super) fn order_effect<'a>(
    of: &Address,
    margin: f64,
    differences: impl Iterator<Item = (&'a PairedTrials<'a>, f64)>,
) -> Option<Caveat> {
    let mut by_first: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for (pair, difference) in differences {
        let is_a_first = pair.sides[0].trial.pair.is_some_and(|place| place.place == 1);
        by_first[usize::from(!is_a_first)].push(difference);
    }
    let [a_first, b_first] = by_first.each_ref().map(|of| of.len() as f64);
    let degrees = u32::try_from(by_first.iter().map(Vec::len).sum::<usize>().checked_sub(2)?).ok()?;
    if degrees == 0 || a_first == 0.0 || b_first == 0.0 {
        return None;
    }
    let means = by_first.each_ref().map(|of| of.iter().sum::<f64>() / of.len() as f64);
    let squares: f64 = by_first
        .iter()
        .zip(means)
        .flat_map(|(of, mean)| of.iter().map(move |one| (one - mean).powi(2)))
        .sum();
    let effect = (means[0] - means[1]) / 2.0;
    let standard_error = (squares / f64::from(degrees) * (1.0 / a_first + 1.0 / b_first)).sqrt() / 2.0;
    // Alike to the last bit: any effect is one.
    let p = if standard_error > 0.0 { student_p(effect / standard_error, degrees) } else { 0.0 };
    let ratio = effect.exp();
    let is_one = p <= ORDER_ALPHA && (ratio - 1.0).abs() > margin;
    is_one.then(|| Caveat::PairOrder(PairOrder { metric: of.to_string(), ratio }))
}
