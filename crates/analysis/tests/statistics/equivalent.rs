//! Test 16: sides that are alike are called equivalent, those a margin apart are not.

use crate::world::FigureModel;
use kdyno_analysis::statistics::{Decision, Family, Margin, looks};

const COMPARISONS: u32 = 10_000;
/// Other metrics leave no significance.
const NOT_CARRIED: Family = Family { p: 1.0, together: 2 };

/// Share that ends as equivalent, percent, and the mean number of pairs of all.
fn equivalent(
    comparisons: u32,
    run_sd: f64,
    [effect, margin]: [f64; 2],
    family: Option<Family>,
) -> (f64, f64) {
    let looks = looks(&[8, 16, 24], 1);
    let mut world = FigureModel::new(run_sd, effect, 16);
    let (mut equivalent, mut pairs) = (0, 0);
    for _ in 0..comparisons {
        let (units, compared) = world.comparison(&looks, Margin::of(margin), family);
        pairs += units;
        equivalent += u32::from(compared.decision == Decision::Equivalent);
    }
    let each = f64::from(comparisons);
    (100.0 * f64::from(equivalent) / each, f64::from(pairs) / each)
}

#[test]
fn sides_a_margin_apart_are_equivalent_as_rarely_as_promised() {
    for (run_sd, margin) in [(0.01, 0.03), (0.002, 0.03), (0.03, 0.1)] {
        for (side, effect) in [("above", f64::ln_1p(margin)), ("below", f64::ln_1p(-margin))] {
            let (either, _) = equivalent(COMPARISONS / 4, run_sd, [effect, margin], None);
            // Where other metrics leave no significance nothing is found different first.
            let (alone, _) = equivalent(COMPARISONS, run_sd, [effect, margin], Some(NOT_CARRIED));
            println!(
                "{margin} {side}, spread of runs {run_sd}: equivalent {either:.2} %, never found different {alone:.2} %"
            );
            assert!(either <= 5.4 && alone <= 5.4, "{either} {alone}");
            assert!(alone >= 2.5, "a test that never decides never errs: {alone}");
        }
    }
}

#[test]
fn alike_sides_are_called_equivalent_where_the_noise_allows_it() {
    println!("spread of runs | margin | equivalent | pairs, mean");
    let mut shares = Vec::new();
    for (run_sd, margin) in [(0.01, 0.03), (0.02, 0.03), (0.03, 0.1), (0.05, 0.1), (0.1, 0.1), (0.1, 0.05)] {
        let (share, pairs) = equivalent(2_000, run_sd, [0.0, margin], None);
        println!("{:>12.0} % | {:>4.0} % | {share:>8.1} % | {pairs:>6.1}", 100.0 * run_sd, 100.0 * margin);
        shares.push(share);
    }
    assert!(shares[0] > 90.0 && shares[5] < 20.0, "{shares:?}");
}
