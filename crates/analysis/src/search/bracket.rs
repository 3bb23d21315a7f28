//! What the trials so far say of each load: passed, failed, or disputed.

use super::line::{FitPoint, SearchLine};
use super::question::{PointSoFar, RAMP_FACTOR, SearchSettings, TrialAnswer};
use kdyno_model::trial::SearchStage;

/// Trials that must agree on a load that is disputed: two of at most three.
const AGREE: usize = 2;

/// All trials of one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TestedLoad {
    pub(super) per_s: f64,
    /// Whole trials that passed, of any stage but the ramp: a short trial that passes proves nothing.
    passes: usize,
    fails: usize,
    /// A trial of the ramp passed.
    ramp_passed: bool,
    pub(super) in_ramp: bool,
    /// Smallest excess of a trial that failed.
    pub(super) mildest_fail: f64,
}

impl TestedLoad {
    /// What it looks like; a tie has not passed.
    pub(super) fn passed(&self) -> bool {
        self.passes > self.fails || (self.passes + self.fails == 0 && self.ramp_passed)
    }

    /// What two trials agree on.
    pub(super) fn settled(&self) -> Option<bool> {
        match (self.passes >= AGREE, self.fails >= AGREE) {
            (true, _) if self.passes > self.fails => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// A whole trial passed and not more of them failed.
    pub(super) fn passed_whole(&self) -> bool {
        self.passes > self.fails
    }
}

/// The loads that were judged, lowest first.
pub(super) fn loads(points: &[PointSoFar]) -> Vec<TestedLoad> {
    let mut found: Vec<TestedLoad> = Vec::new();
    for point in points {
        let Some(passed) = point.passed() else { continue };
        let at = found.iter().position(|load| same(load.per_s, point.load_per_s)).unwrap_or_else(|| {
            found.push(TestedLoad {
                per_s: point.load_per_s,
                passes: 0,
                fails: 0,
                ramp_passed: false,
                in_ramp: false,
                mildest_fail: f64::INFINITY,
            });
            found.len() - 1
        });
        let load = &mut found[at];
        let in_ramp = point.stage == SearchStage::Ramp;
        load.in_ramp |= in_ramp;
        match (passed, in_ramp) {
            (true, true) => load.ramp_passed = true,
            (true, false) => load.passes += if is_clear(point.reading) { 2 } else { 1 },
            (false, _) => load.fails += 1,
        }
        if let (false, TrialAnswer::Complete { excess, .. }) = (passed, point.reading) {
            load.mildest_fail = load.mildest_fail.min(excess);
        }
    }
    found.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
    found
}

/// Whether the metric is below half its limit. What disturbs a trial makes it worse, so such a pass counts twice.
fn is_clear(reading: TrialAnswer) -> bool {
    matches!(reading, TrialAnswer::Complete { passed: true, excess } if excess < -std::f64::consts::LN_2)
}

/// Loads are the same up to what rounding does.
pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// The lowest load that failed though one above it, farther off than the noise explains, passed.
pub(super) fn inverted<'a>(
    loads: &'a [TestedLoad],
    settings: &SearchSettings,
    line: Option<&SearchLine>,
) -> impl Iterator<Item = (&'a TestedLoad, f64)> {
    // Near the crossing every second trial fails. Three standard deviations of a trial are no such chance.
    let noise = line.map_or(0.0, |line| 3.0 * line.scatter / line.slope);
    let apart = settings.within.max(noise).exp();
    let highest = loads.iter().filter(|load| load.passed()).map(|load| load.per_s).fold(0.0, f64::max);
    loads
        .iter()
        .filter(move |load| !load.passed() && load.per_s * apart < highest)
        .map(move |load| (load, highest))
}

/// What a fit may use: trials that ran as planned, near the lowest load that failed, for far below it a curve is as good as
/// flat. From the ramp only those next to its own first failure, and only where no whole trial has said more. A trial
/// that failed is left out where another one of the same load was far below the limit: it was disturbed.
pub fn fit_points(points: &[PointSoFar]) -> Vec<FitPoint> {
    let failing: Vec<TestedLoad> = loads(points).into_iter().filter(|load| !load.passed()).collect();
    let below = |load: &TestedLoad| load.per_s / (RAMP_FACTOR * 1.1);
    let least = failing.first().map_or(0.0, below);
    let least_of_ramp = failing.iter().find(|load| load.in_ramp).map_or(f64::INFINITY, below);
    let fits = |point: &&PointSoFar| {
        let here = || points.iter().filter(|other| same(other.load_per_s, point.load_per_s));
        let has_whole = here().any(|other| other.stage != SearchStage::Ramp && other.passed().is_some());
        match point.stage {
            SearchStage::Ramp => point.load_per_s > least_of_ramp && !has_whole,
            _ if point.load_per_s <= least => false,
            _ => point.passed() != Some(false) || !here().any(|other| is_clear(other.reading)),
        }
    };
    points
        .iter()
        .filter(fits)
        .filter_map(|point| match point.reading {
            TrialAnswer::Complete { excess, .. } => {
                let is_whole = point.stage != SearchStage::Ramp;
                Some(FitPoint { ln_load: point.load_per_s.ln(), excess, is_whole })
            }
            _ => None,
        })
        .collect()
}
