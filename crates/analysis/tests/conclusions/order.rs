//! The second trial of a pair differs from the first one, whichever side it is.

use crate::fixture::{CPU, RunFixture, comparing, settings};
use kdyno_model::caveat::Caveat;
use kdyno_model::finding::Value;
use kdyno_model::plan::PairDesign;
use kdyno_model::trial::PairPlace;

/// Pairs of sides that differ by `ratio`, the second trial of each by `left` (with a little noise), in this order of sides.
fn run(a_first: [bool; 8], ratio: f64, left: f64) -> RunFixture {
    let mut run = RunFixture::default();
    for (pair, is_a_first) in (1..).zip(a_first) {
        let noise = 1.0 + 0.01 * f64::from(pair % 3);
        let [a, b] = if is_a_first { [1.0, left * noise] } else { [left * noise, 1.0] };
        run.pair(pair, pair, [&[(CPU, Value::Is(500.0 * a))], &[(CPU, Value::Is(500.0 * b * ratio))]]);
        let places = if is_a_first { [1, 2] } else { [2, 1] };
        for (outcome, place) in run.outcomes.iter_mut().rev().take(2).rev().zip(places) {
            outcome.trial.pair = Some(PairPlace { pair, place });
        }
    }
    run
}

const MIXED: [bool; 8] = [true, false, true, true, false, true, false, true];

fn orders(run: &RunFixture, design: PairDesign) -> Vec<(String, f64)> {
    let mut plan = comparing(&[CPU], &[8], &[]);
    settings(&mut plan).design = design;
    let caveats = run.judged(&plan).caveats.into_iter();
    let found = caveats.filter_map(|one| match one.caveat {
        Caveat::PairOrder(of) => Some((of.metric, of.ratio)),
        _ => None,
    });
    found.collect()
}

#[test]
fn what_a_trial_leaves_to_the_next_one_is_reported() {
    let found = orders(&run(MIXED, 1.0, 0.62), PairDesign::Turns);
    assert!(
        matches!(found.as_slice(), [(of, ratio)] if of == CPU && (0.61..0.65).contains(ratio)),
        "{found:?}"
    );
    // The sides differ, too.
    let found = orders(&run(MIXED, 1.4, 0.62), PairDesign::Turns);
    assert!(matches!(found.as_slice(), [(_, ratio)] if (0.61..0.65).contains(ratio)), "{found:?}");
}

#[test]
fn sides_that_differ_are_no_order() {
    assert_eq!(orders(&run(MIXED, 1.4, 1.0), PairDesign::Turns), []);
    // Below the margin of 10 %.
    assert_eq!(orders(&run(MIXED, 1.0, 0.95), PairDesign::Turns), []);
    // What cannot be separated from the sides.
    assert_eq!(orders(&run([true; 8], 1.0, 0.62), PairDesign::Turns), []);
    // In a duet no trial comes after the other.
    assert_eq!(orders(&run(MIXED, 1.0, 0.62), PairDesign::Duet), []);
}
