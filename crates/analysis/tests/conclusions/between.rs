//! What is said between looks, and that no verdict is open next to an interval that answers it.

use crate::fixture::{CPU, P99, RATE, RunFixture, comparing, late, settings};
use kdyno_analysis::run::{AnalysedTrial, judge};
use kdyno_model::conclusion::{Says, Verdict, of_kind};
use kdyno_model::finding::{Interval, NotResolvable, Value};
use kdyno_model::plan::{Depth, Plan};

#[test]
fn between_looks_there_is_an_estimate_and_no_interval() {
    let plan = comparing(&[P99], &[8, 16], &[RATE]);
    for (units, look) in [(3, 8), (7, 8), (11, 16), (15, 16)] {
        let mut run = RunFixture::default();
        for pair in 1..=units {
            let figures = |of: f64| [(P99, Value::Is(of)), (RATE, Value::Is(of))];
            run.pair(pair, pair, [&figures(5.0), &figures(6.0)]);
        }
        for verdict in run.verdicts(&plan) {
            assert_eq!(verdict.says, Says::Inconclusive { more_needed: Some(look - units) });
            let ratio = verdict.ratio.unwrap();
            assert!((ratio.estimate - 1.2).abs() < 1e-9);
            let until_look = NotResolvable::TooFewTrials { needed: look };
            assert_eq!(ratio.interval, Interval::NotResolvable(until_look), "{units} units");
            assert_eq!((verdict.equivalence_interval, verdict.p), (None, None), "they would tell it early");
        }
    }
}

/// One way in which pairs may come out.
#[derive(Debug, Clone, Copy)]
struct PairOutcome {
    units: u32,
    /// B ÷ A of the first metric; all others are alike.
    centre: f64,
    /// By how much pairs scatter, as a logarithm.
    spread: f64,
    has_ties: bool,
}

impl PairOutcome {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for units in [1, 2, 4, 6, 7, 8, 11, 16] {
            for centre in [0.8, 0.97, 1.02, 1.2] {
                for spread in [0.001, 0.05, 0.3] {
                    let world = Self { units, centre, spread, has_ties: false };
                    all.extend([world, Self { has_ties: true, ..world }]);
                }
            }
        }
        all
    }

    fn run(self) -> RunFixture {
        let mut run = RunFixture::default();
        let mut state = u64::from(self.units);
        let mut scattered = |centre: f64| {
            // Knuth's generator: the same numbers each time.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
            centre * (self.spread * uniform).exp()
        };
        for pair in 1..=self.units {
            let figures = |ratios: [f64; 3]| {
                [(P99, Value::Is(ratios[0])), (RATE, Value::Is(ratios[1])), (CPU, Value::Is(ratios[2]))]
            };
            let of_b = [scattered(self.centre), scattered(1.0), scattered(1.0)];
            run.pair(pair, pair, [&figures([1.0; 3]), &figures(of_b)]);
            if self.has_ties && pair % 4 == 1 {
                run.outcomes.last_mut().into_iter().for_each(late);
            }
        }
        run
    }
}

fn verdicts(plan: &Plan, run: &RunFixture, is_out_of_time: bool) -> Vec<Verdict> {
    let trials: Vec<AnalysedTrial<'_>> = run.outcomes.iter().map(AnalysedTrial::of).collect();
    of_kind(&judge(plan, &trials, &[], &[], is_out_of_time).conclusions).cloned().collect()
}

#[test]
fn no_inconclusive_verdict_has_an_interval_that_excludes_1() {
    let mut open = 0;
    for (judged, others) in [(&[P99][..], &[RATE, CPU][..]), (&[P99, RATE, CPU], &[])] {
        for (looks, depth) in
            [(&[8][..], Depth::Verdict), (&[8, 16, 24], Depth::Verdict), (&[8], Depth::Quick)]
        {
            let mut plan = comparing(judged, looks, others);
            plan.depth = depth;
            settings(&mut plan).judge.iter_mut().for_each(|judge| judge.margin = 0.05);
            for (world, is_out_of_time) in
                PairOutcome::all().into_iter().flat_map(|of| [(of, false), (of, true)])
            {
                for verdict in verdicts(&plan, &world.run(), is_out_of_time) {
                    let Some(Interval::Bounds { low, high, .. }) = verdict.ratio.map(|ratio| ratio.interval)
                    else {
                        continue;
                    };
                    let is_open = matches!(verdict.says, Says::Inconclusive { .. });
                    assert!(!is_open || (low <= 1.0 && 1.0 <= high), "{world:?}, {looks:?}: {verdict:?}");
                    open += u32::from(is_open);
                }
            }
        }
    }
    assert!(open > 100, "only {open} verdicts were open next to an interval");
}
