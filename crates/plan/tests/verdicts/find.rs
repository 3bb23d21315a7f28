//! Searches on five curves with five noises: how often the interval holds the truth, and how often a load above it is
//! confirmed.

#[path = "../../../analysis/tests/search/simulate.rs"]
#[allow(dead_code, reason = "the tests of the analysis use the rest")]
mod simulate;

use crate::row::{allowed, count, percent, random, show};
use kdyno_analysis::search::fit_points;
use kdyno_analysis::search::interval::interval;
use kdyno_model::conclusion::SearchOutcome;
use kdyno_model::plan::Depth;
use kdyno_model::trial::SearchStage;
use rand_pcg::Pcg64;
use simulate::{Curve, Noise, TRUTH, normal, planned, search};

/// What becomes of a cluster's capacity from trial to trial.
#[derive(Debug, Clone, Copy)]
enum Capacity {
    Still,
    /// About its mean, as a first-order autoregression.
    Wanders {
        /// How much of a deviation is left at the next trial.
        kept: f64,
        /// Standard deviation of its logarithm.
        sd: f64,
    },
    /// By this share with each trial.
    Falls {
        each: f64,
    },
}

impl Capacity {
    /// ln(capacity ÷ mean capacity) before the first trial.
    fn first(self, random: &mut Pcg64) -> f64 {
        if let Self::Wanders { sd, .. } = self { sd * normal(random) } else { 0.0 }
    }

    /// The load at the next trial.
    fn next(self, now: f64, random: &mut Pcg64) -> f64 {
        match self {
            Self::Still => now,
            Self::Wanders { kept, sd } => kept * now + sd * (1.0 - kept * kept).sqrt() * normal(random),
            Self::Falls { each } => now - each,
        }
    }
}

const CURVES: [Curve; 5] = [
    Curve::Straight(1.8),
    Curve::Straight(4.0),
    Curve::Straight(10.0),
    Curve::Queue(4.0),
    Curve::Queue(10.0),
];

/// What trials scatter by, and what becomes of the cluster's capacity.
const NOISES: [(&str, f64, Capacity); 5] = [
    ("noise 0.1", 0.1, Capacity::Still),
    ("noise 0.2", 0.2, Capacity::Still),
    ("noise 0.4", 0.4, Capacity::Still),
    ("capacity wanders (0.9, 8 %)", 0.1, Capacity::Wanders { kept: 0.9, sd: 0.08 }),
    ("capacity falls by 1 % a trial", 0.1, Capacity::Falls { each: 0.01 }),
];

/// Searches whose interval holds the truth, percent.
const HELD: f64 = 90.0;

/// What the searches of one noise and depth came to.
#[derive(Default)]
struct Found {
    /// With an interval.
    reported: u32,
    /// The searches among them that hold the truth.
    held: u32,
    /// Half of their widths.
    half_widths: Vec<f64>,
    confirmed: u32,
    /// Above the truth.
    above: u32,
    trials: usize,
    searches: u32,
}

impl Found {
    fn add(&mut self, depth: Depth, curve: Curve, sd: f64, capacity: Capacity, seed: u64) {
        let mut random = random(seed);
        let mut now = capacity.first(&mut random);
        let settings = planned(&mut random, depth, 10.0);
        let noise = Noise { sd, disturbed: 0.05 };
        let (points, found) = search(&settings, |stage, load| {
            now = capacity.next(now, &mut random);
            noise.reading(curve, stage, load / now.exp(), &mut random)
        });
        // Where it wanders, its mean; where it falls, what is left of it in the end.
        let truth = TRUTH.ln() + if let Capacity::Falls { .. } = capacity { now } else { 0.0 };
        self.searches += 1;
        self.trials += points.iter().filter(|point| point.stage != SearchStage::Ramp).count();
        if let SearchOutcome::Confirmed { load_per_s } = found.outcome {
            self.confirmed += 1;
            self.above += u32::from(load_per_s.ln() > truth);
        }
        let Some((low, high)) = found.line.and_then(|line| interval(&fit_points(&points), &line, seed))
        else {
            return;
        };
        self.reported += 1;
        self.held += u32::from((low..=high).contains(&truth));
        self.half_widths.push(50.0 * (high - low));
    }
}

#[test]
fn search_intervals_cover_the_truth_also_where_capacity_varies() {
    searches("verdict", Depth::Verdict);
}

#[test]
fn quick_search_intervals_cover_the_truth_where_capacity_varies() {
    searches("quick", Depth::Quick);
}

/// Searches of one depth, with each noise: a test for each, so that both have a CPU.
fn searches(depth_name: &str, depth: Depth) {
    for (stream, (name, sd, capacity)) in (50_000..).step_by(10_000).zip(NOISES) {
        let mut found = Found::default();
        for (place, curve) in (0..).zip(CURVES) {
            for one in 0..u64::from(count(100, 12)) {
                found.add(depth, curve, sd, capacity, stream + 1_000 * place + one);
            }
        }
        let held = percent(found.held, found.reported);
        found.half_widths.sort_by(f64::total_cmp);
        let half_width = found.half_widths[found.half_widths.len() / 2];
        let world = format!("find, {depth_name}, {name}, five curves");
        let trials = found.trials as f64 / f64::from(found.searches);
        let says = format!("half-width {half_width:.1} % in the median, {trials:.1} trials after the ramp");
        show(&world, "95 % interval holds the truth, %", "≥ 90", &format!("{held:.1}"), &says);
        assert!(100.0 - held <= allowed(100.0 - HELD, found.reported), "{world}: {held}");
        let above = percent(found.above, found.confirmed);
        show(&world, "confirmed above the truth, %", "≤ 10", &format!("{above:.1}"), "of all confirmed");
        assert!(above <= allowed(10.0, found.confirmed), "{world}: {above}");
    }
}
