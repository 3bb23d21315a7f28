//! Series of a known shape with seeded noise.

use kdyno_analysis::steady::{FigureKind, Penalties, SeriesShape, SeriesSteadiness, course};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// The date; never searched for.
const SEED: u64 = 20_261_122;

/// A level to be in proportion to.
pub const LEVEL: f64 = 100_000.0;

/// White or first-order autoregressive noise, as shares of the level.
#[derive(Debug, Clone, Copy)]
pub struct Chance {
    pub correlation: f64,
    pub sd: f64,
    /// Share of the points that are halved, as in a second in which a collector ran.
    pub halved: f64,
}

impl Chance {
    pub fn of(correlation: f64, sd: f64) -> Self {
        Self { correlation, sd, halved: 0.0 }
    }
}

/// A source of series.
pub struct Maker(Pcg64);

impl Maker {
    pub fn new() -> Self {
        Self(Pcg64::seed_from_u64(SEED))
    }

    fn uniform(&mut self) -> f64 {
        self.0.random::<f64>()
    }

    /// Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// So many points of a shape, which is 1 where it is at the level.
    pub fn series(&mut self, n: usize, chance: Chance, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut deviate = self.normal();
        let fresh = (1.0 - chance.correlation.powi(2)).sqrt();
        let mut point = |at: usize| {
            deviate = chance.correlation * deviate + fresh * self.normal();
            let halved = if self.uniform() < chance.halved { 0.5 } else { 1.0 };
            LEVEL * shape(at as f64) * (1.0 + chance.sd * deviate) * halved
        };
        (0..n).map(&mut point).collect()
    }
}

/// How often each shape was found among series.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Shares {
    pub steady: f64,
    pub drifting: f64,
    pub levels: f64,
    pub too_short: f64,
    /// Mean of the smallest steps that would have been seen.
    pub smallest_step: f64,
}

impl Shares {
    /// Series that are marked as not steady.
    pub fn marked(&self) -> f64 {
        self.drifting + self.levels
    }
}

/// Percent of so many series of `n` points of a shape.
pub fn shares(count: u32, n: usize, chance: Chance, shape: impl Fn(f64) -> f64) -> Shares {
    let mut maker = Maker::new();
    let mut shares = Shares::default();
    let share = 1.0 / f64::from(count);
    for _ in 0..count {
        let found: SeriesSteadiness =
            course(&maker.series(n, chance, &shape), FigureKind::Rate, Penalties::MARK).unwrap();
        match found.shape {
            SeriesShape::Steady => shares.steady += share,
            SeriesShape::Drifting { .. } => shares.drifting += share,
            SeriesShape::SeveralLevels(_) => shares.levels += share,
            SeriesShape::TooShort { .. } => shares.too_short += share,
        }
        shares.smallest_step += share * found.smallest_step.unwrap();
    }
    shares
}
