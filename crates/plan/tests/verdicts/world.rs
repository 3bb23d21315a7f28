//! Figures of simulated trials: what runs differ by although nothing was changed.

use crate::row;
use kdyno_model::trial::Trial;
use rand::RngExt;
use rand_pcg::Pcg64;

/// What makes runs differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Variation {
    /// Each run by itself, each metric by itself.
    Normal,
    /// The machine gets slower by a tenth of a spread with each run, and wanders by three tenths.
    Drift,
    /// One run in ten is disturbed by 5 to 15 spreads.
    HeavyTails,
    /// What slows one run slows the next one by nine tenths of it.
    Autocorrelated,
    /// The second run of each pair is faster by so many spreads.
    Order(f64),
    /// Starts of a side's cluster differ as much as runs do.
    Starts,
    /// The metrics share nine tenths of what moves them.
    Correlated,
}

/// The rates that comparisons must keep.
pub const WORLDS: [Variation; 8] = [
    Variation::Normal,
    Variation::Drift,
    Variation::HeavyTails,
    Variation::Autocorrelated,
    Variation::Order(3.0),
    Variation::Order(10.0),
    Variation::Starts,
    Variation::Correlated,
];

impl Variation {
    /// Pairs on one start of the clusters: more than one where starts differ.
    pub fn pairs_per_start(self) -> u32 {
        if self == Self::Starts { 2 } else { 1 }
    }
}

impl std::fmt::Display for Variation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Normal => f.write_str("normal noise"),
            Self::Drift => f.write_str("drift"),
            Self::HeavyTails => f.write_str("heavy tails"),
            Self::Autocorrelated => f.write_str("autocorrelated"),
            Self::Order(spreads) => write!(f, "second of a pair faster by {spreads:.0} sd"),
            Self::Starts => f.write_str("starts differ as runs do"),
            Self::Correlated => f.write_str("correlated metrics"),
        }
    }
}

/// A machine on which comparisons run, one after the other.
pub struct SimulatedHost {
    kind: Variation,
    /// Spread of one run's figure, in logarithms.
    run_sd: f64,
    /// ln(B ÷ A) of each metric.
    effects: [f64; 3],
    random: Pcg64,
    /// What the last run left to the next one, in spreads.
    state: [f64; 3],
    /// The newest start, and what it adds to each side's metrics, in spreads.
    start: (u32, [[f64; 3]; 2]),
}

impl SimulatedHost {
    pub fn new(kind: Variation, run_sd: f64, stream: u64, effects: [f64; 3]) -> Self {
        let start = (0, [[0.0; 3]; 2]);
        Self { kind, run_sd, effects, random: row::random(stream), state: [0.0; 3], start }
    }

    fn normal(&mut self) -> f64 {
        let (u, v): (f64, f64) = (self.random.random(), self.random.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn normals(&mut self) -> [f64; 3] {
        [(); 3].map(|()| self.normal())
    }

    /// Nothing is left of what ran before.
    pub fn rest(&mut self) {
        (self.state, self.start) = ([0.0; 3], (0, [[0.0; 3]; 2]));
    }

    /// The figures of a trial of a pair.
    pub fn figures(&mut self, trial: &Trial) -> [f64; 3] {
        let side = usize::from(trial.variant.as_deref() == Some("B"));
        let is_second = trial.pair.is_some_and(|place| place.place == 2);
        if self.start.0 != trial.start {
            self.start = (trial.start, [self.normals(), self.normals()]);
        }
        let noise = self.spreads(side, is_second);
        let effects = self.effects;
        std::array::from_fn(|at| {
            let effect = if side == 1 { effects[at] } else { 0.0 };
            1e6 * (self.run_sd * noise[at] + effect).exp()
        })
    }

    /// What a run has of its own, in spreads.
    fn spreads(&mut self, side: usize, is_second: bool) -> [f64; 3] {
        let own = self.normals();
        match self.kind {
            Variation::Normal => own,
            Variation::Drift => {
                let wander = self.normal();
                self.state = self.state.map(|state| state + 0.1 + 0.3 * wander);
                std::array::from_fn(|at| self.state[at] + own[at])
            }
            Variation::HeavyTails => {
                let disturbed = self.random.random::<f64>() < 0.1;
                let disturbance = if disturbed { 5.0 + 10.0 * self.random.random::<f64>() } else { 0.0 };
                own.map(|own| own + disturbance)
            }
            Variation::Autocorrelated => {
                let new = (1.0_f64 - 0.9 * 0.9).sqrt();
                self.state = std::array::from_fn(|at| 0.9 * self.state[at] + new * own[at]);
                self.state
            }
            Variation::Order(spreads) => own.map(|own| if is_second { own - spreads } else { own }),
            Variation::Starts => std::array::from_fn(|at| own[at] + self.start.1[side][at]),
            Variation::Correlated => {
                let shared = self.normal();
                own.map(|own| 0.9_f64.sqrt() * shared + 0.1_f64.sqrt() * own)
            }
        }
    }
}
