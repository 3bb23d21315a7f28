//! The interval that is shown with a verdict is the one that it rests on.

use crate::fixture::{P99, RunFixture, comparing, settings};
use kdyno_model::conclusion::Says;
use kdyno_model::finding::Interval;
use proptest::prelude::*;

proptest! {
    #[test]
    fn figures_next_to_a_verdict_are_those_that_it_was_judged_by(
        factors in prop::collection::vec(-1.0..1.0_f64, 6..20),
        (centre, spread, margin) in (-0.12..0.12_f64, 0.0..0.12_f64, 0.01..0.15_f64),
    ) {
        let mut plan = comparing(&[P99], &[u32::try_from(factors.len()).unwrap()], &[]);
        settings(&mut plan).judge[0].margin = margin;
        let mut run = RunFixture::default();
        let ratios: Vec<f64> = factors.iter().map(|factor| (centre + spread * factor).exp()).collect();
        run.pairs(P99, &ratios);
        let verdict = run.verdicts(&plan).remove(0);
        let ratio = verdict.ratio.unwrap();
        let judged_by = verdict.judged_by().unwrap();
        let Interval::Bounds { low, high, level, .. } = judged_by.interval else { panic!("{verdict:?}") };
        match verdict.says {
            Says::Equivalent | Says::Different { material: false, .. } => {
                prop_assert!(1.0 - margin < low && high < 1.0 + margin && level >= 0.9, "{:?}", verdict);
            }
            Says::Different { material: true, .. } => {
                prop_assert!((high < 1.0 - margin || 1.0 + margin < low) && level >= 0.95, "{:?}", verdict);
            }
            _ => prop_assert!(level >= 0.95, "{:?}", verdict),
        }
        prop_assert!(low <= ratio.estimate && ratio.estimate <= high, "{:?}", verdict);
        if matches!(verdict.says, Says::Different { .. }) {
            prop_assert!(high < 1.0 || low > 1.0, "{:?}", verdict);
        }
    }
}
