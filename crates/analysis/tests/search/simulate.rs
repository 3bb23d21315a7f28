//! Curves of a known crossing, trials with noise, and whole searches on them.

use kdyno_analysis::search::lengths::settings_for;
use kdyno_analysis::search::{
    PointSoFar, RAMP_FACTOR, SearchEnd, SearchSettings, SearchStep, TrialAnswer, next_step,
};
use kdyno_model::plan::Depth;
use kdyno_model::trial::SearchStage;
use rand::{Rng, RngExt};
use rand_pcg::Pcg64;

/// The load at which ln(metric ÷ limit) is 0.
pub(crate) const TRUTH: f64 = 100_000.0;

/// A curve of ln(metric ÷ limit) over load.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Curve {
    /// A power of the load.
    Straight(f64),
    /// a ÷ (1 − load ÷ capacity) with this slope at the crossing; beyond the capacity as bad as it gets.
    Queue(f64),
    /// A power of the load, and 1.65 times the limit in a stretch of loads far below the crossing.
    Bump(f64),
}

impl Curve {
    pub(crate) fn excess(self, load: f64) -> f64 {
        let x = load / TRUTH;
        match self {
            Self::Straight(slope) => slope * x.ln(),
            Self::Queue(slope) => {
                // The slope at the crossing is u ÷ (1 − u), u the use there.
                let used = slope / (1.0 + slope);
                let left = 1.0 - used * x;
                if left <= 0.001 { 7.0 } else { ((1.0 - used) / left).ln() }
            }
            Self::Bump(slope) => {
                let bump = if (0.5..0.8).contains(&x) { 0.5 - slope * x.ln() } else { 0.0 };
                slope * x.ln() + bump
            }
        }
    }
}

/// Standard normal (Box–Muller).
pub(crate) fn normal(random: &mut Pcg64) -> f64 {
    let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// What trials add to the curve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noise {
    /// Standard deviation of ln(metric) of a whole trial.
    pub(crate) sd: f64,
    /// Share of trials that something else made worse by a factor of 1.6 to 7.
    pub(crate) disturbed: f64,
}

impl Noise {
    pub(crate) fn reading(
        self,
        curve: Curve,
        stage: SearchStage,
        load: f64,
        random: &mut Pcg64,
    ) -> TrialAnswer {
        // A short trial is noisier.
        let sd = if stage == SearchStage::Ramp { 1.5 * self.sd } else { self.sd };
        let disturbed = random.random::<f64>() < self.disturbed;
        let disturbance = if disturbed { random.random_range(0.5..2.0) } else { 0.0 };
        let excess = curve.excess(load) + sd * normal(random) + disturbance;
        TrialAnswer::Complete { passed: excess <= 0.0, excess }
    }
}

/// A search to its end.
pub(crate) fn search(
    settings: &SearchSettings,
    mut trial: impl FnMut(SearchStage, f64) -> TrialAnswer,
) -> (Vec<PointSoFar>, SearchEnd) {
    let mut points = Vec::new();
    loop {
        match next_step(settings, &points) {
            SearchStep::Done(found) => return (points, *found),
            SearchStep::Trial { stage, load_per_s } => {
                points.push(PointSoFar { stage, load_per_s, reading: trial(stage, load_per_s) });
            }
        }
        let stages = points.iter().map(|point: &PointSoFar| point.stage);
        assert!(SearchSettings::counted(stages) <= settings.trials_max);
    }
}

/// A search that confirms nothing, in a range in which the crossing lies where the ramp meets it by chance.
pub(crate) fn settings(random: &mut impl Rng) -> SearchSettings {
    SearchSettings {
        from_per_s: TRUTH / random.random_range(3.0..10.0),
        to_per_s: 100.0 * TRUTH,
        within: 0.02,
        confirm_trials: 0,
        trials_max: 12,
        step_per_s: None,
    }
}

/// The search that is planned for this depth; the crossing lies up to so many times above its first load.
pub(crate) fn planned(random: &mut impl Rng, depth: Depth, up_to: f64) -> SearchSettings {
    let lengths = settings_for(depth, &[]);
    SearchSettings {
        from_per_s: TRUTH / random.random_range(3.0..up_to),
        within: if depth == Depth::Quick { 0.05 } else { 0.02 },
        confirm_trials: lengths.confirm_trials,
        trials_max: lengths.trials_max,
        ..settings(random)
    }
}

/// What this search is compared with: the same ramp, then the middle of the bracket until it is 2 % wide, each load by
/// the majority of up to `votes` trials. The bracket and all trials.
pub(crate) fn bisect(
    from_per_s: f64,
    votes: usize,
    mut trial: impl FnMut(SearchStage, f64) -> TrialAnswer,
) -> (f64, f64, Vec<PointSoFar>) {
    let mut points = Vec::new();
    let mut passes = |stage, load_per_s| {
        let point = PointSoFar { stage, load_per_s, reading: trial(stage, load_per_s) };
        points.push(point);
        point.passed() == Some(true)
    };
    let (mut low, mut high) = (from_per_s, from_per_s);
    while passes(SearchStage::Ramp, high) {
        (low, high) = (high, high * RAMP_FACTOR);
    }
    while high > 1.02 * low {
        let middle = (low * high).sqrt();
        let (mut passed, mut failed) = (0, 0);
        while 2 * passed <= votes && 2 * failed <= votes {
            if passes(SearchStage::Bisect, middle) { passed += 1 } else { failed += 1 }
        }
        if passed > failed { low = middle } else { high = middle }
    }
    (low, high, points)
}
