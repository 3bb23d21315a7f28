//! Simulated comparisons: pairs of adjacent runs on a machine that drifts, some runs disturbed.

use kdyno_analysis::statistics::{Decision, Family, Look, LookOutcome, Margin, compare};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Seed of all statistical tests: the date, never searched for.
const SEED: u64 = 20_261_122;

/// What a run's figure is made of, in logarithms.
pub struct FigureModel {
    /// Spread of a run's own figure.
    pub run_sd: f64,
    /// ln(B ÷ A).
    pub effect: f64,
    /// Share of runs that are disturbed, by 5 to 15 spreads.
    pub disturbed: f64,
    random: Pcg64,
    drift: f64,
}

impl FigureModel {
    /// One run in twenty is disturbed.
    pub fn new(run_sd: f64, effect: f64, stream: u64) -> Self {
        Self { run_sd, effect, disturbed: 0.05, random: Pcg64::seed_from_u64(SEED + stream), drift: 0.0 }
    }

    pub fn normal(&mut self) -> f64 {
        // Box and Muller; the second of the two is not needed often enough to be kept.
        let (u, v): (f64, f64) = (self.random.random(), self.random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// The machine gets slower by a tenth of a spread with every run, and wanders by three tenths.
    fn run(&mut self) -> f64 {
        self.drift += self.run_sd * (0.1 + 0.3 * self.normal());
        let disturbed = self.random.random::<f64>() < self.disturbed;
        let disturbance =
            if disturbed { self.run_sd * (5.0 + 10.0 * self.random.random::<f64>()) } else { 0.0 };
        self.drift + self.run_sd * self.normal() + disturbance
    }

    /// ln(B ÷ A) of adjacent pairs, each in the order that a coin gave.
    pub fn pairs(&mut self, count: u32) -> Vec<f64> {
        let mut differences = Vec::new();
        for _ in 0..count {
            let (first, second) = (self.run(), self.run());
            let is_a_first = self.random.random::<bool>();
            differences.push(self.effect + if is_a_first { second - first } else { first - second });
        }
        differences
    }

    /// A comparison that ends at the first look that decides it, or at the last: how many pairs it took, and what it
    /// says. `family`: what the other metrics leave of its significance.
    pub fn comparison(
        &mut self,
        looks: &[Look],
        margin: Margin,
        family: Option<Family>,
    ) -> (u32, LookOutcome) {
        self.drift = 0.0;
        let differences = self.pairs(looks.last().unwrap().units);
        let judged = |look: &Look| {
            let compared = compare(&differences[..look.units as usize], margin, look.alpha, family).unwrap();
            (look.units, compared)
        };
        let is_decided = |compared: &LookOutcome| {
            matches!(compared.decision, Decision::Different { .. } | Decision::Equivalent)
        };
        let decided = looks.iter().map(judged).find(|(_, compared)| is_decided(compared));
        decided.unwrap_or_else(|| judged(looks.last().unwrap()))
    }
}

/// That a share of so many trials lies within 5 standard errors of the truth.
pub fn assert_share(found: u32, of: u32, truth: f64, what: &str) {
    let share = f64::from(found) / f64::from(of);
    let standard_error = (truth * (1.0 - truth) / f64::from(of)).sqrt();
    assert!(
        (share - truth).abs() <= 5.0 * standard_error,
        "{what}: {share} is not {truth} ± {standard_error}"
    );
}
