//! What a quick look says that sees one start of several that could be.

use crate::fixture::{RATE, RunFixture, comparing, settings};
use kdyno_model::conclusion::{Says, Verdict};
use kdyno_model::finding::{Interval, IntervalMethod};
use kdyno_model::plan::{Depth, EvidenceUnit};

/// Verdicts for pairs with such ratios around the first number; whether both sides have one system.
fn looked(centre: f64, pairs: usize, is_shared: bool) -> Verdict {
    let mut plan = comparing(&[RATE], &[8], &[]);
    plan.depth = Depth::Quick;
    let system = plan.cases[0].system.clone();
    let of_plan = settings(&mut plan);
    of_plan.unit = EvidenceUnit::Pair;
    if is_shared {
        of_plan.b[0].system = system;
    }
    let mut run = RunFixture::default();
    let ratios: Vec<f64> = (0..pairs).map(|at| centre * (1.0 + 0.001 * (at % 3) as f64 - 0.001)).collect();
    run.pairs(RATE, &ratios);
    run.verdicts(&plan).remove(0)
}

#[test]
fn a_difference_as_small_as_between_starts_is_for_this_start() {
    for pairs in [3, 4, 8] {
        // Rates of pairs with a start each typically spread by 6 %: half of that variance lies between starts, 4.2 %.
        let verdict = looked(1.07, pairs, false);
        let Says::OnThisStart { worse: true, starts_differ } = verdict.says else { panic!("{verdict:?}") };
        assert!((starts_differ - 0.0433).abs() < 0.001, "{starts_differ}");
        let Some(Interval::Bounds { low, high, level, method }) = verdict.ratio.map(|ratio| ratio.interval)
        else {
            panic!("{verdict:?}")
        };
        assert!((low - 0.984).abs() < 0.002 && (high - 1.164).abs() < 0.003, "{low} {high}");
        assert!((level - 0.95).abs() < 1e-9 && method == IntervalMethod::StudentT);
        // One system has one start, for both sides.
        assert_eq!(looked(1.07, pairs, true).says, Says::Different { material: false, worse: true });
    }
}

#[test]
fn a_larger_difference_gets_a_verdict_and_no_more_pairs() {
    assert_eq!(looked(1.3, 4, false).says, Says::Different { material: true, worse: true });
    assert_eq!(looked(1.13, 4, false).says, Says::MaybeMaterial { worse: true, more_needed: None });
    assert_eq!(looked(1.0, 4, false).says, Says::Equivalent, "±7.3 % at 90 %, and 10 % matter");
    assert_eq!(looked(1.0, 2, false).says, Says::Inconclusive { more_needed: None });
}
