//! What a search is asked, and what its trials said: plain numbers.

use kdyno_model::trial::SearchStage;

/// Each load of the ramp is so many times the one before it.
pub const RAMP_FACTOR: f64 = 1.6;

/// What a search is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchSettings {
    /// First load that is tried, records/s.
    pub from_per_s: f64,
    /// Highest load that may be tried, records/s.
    pub to_per_s: f64,
    /// Loads that lie closer together than this share are the same: 0.02 is 2 %.
    pub within: f64,
    /// How many trials must pass at the confirmed load; 0: none is run.
    pub confirm_trials: u32,
    /// Most trials in all; two of the ramp count as one, for they are short.
    pub trials_max: u32,
    /// Loads are whole multiples of it, records/s; `None`: any load can be offered.
    pub step_per_s: Option<f64>,
}

/// A trial that was run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointSoFar {
    /// What it was for.
    pub stage: SearchStage,
    /// Its load, records/s.
    pub load_per_s: f64,
    /// What it said.
    pub reading: TrialAnswer,
}

/// What a trial says about its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrialAnswer {
    /// It ran as planned.
    Complete {
        /// All conditions held.
        passed: bool,
        /// ln(metric ÷ limit) of the condition that binds, the largest one; above 0 it is not met. −∞ where the metric
        /// is 0, +∞ where it is not known how bad it was.
        excess: f64,
    },
    /// It certainly failed, but ended early or was too overloaded for figures: nothing for a fit.
    Failed,
    /// There is no figure to judge by.
    Nothing,
    /// The load generator could not offer the load in time: nothing is said of the system.
    GeneratorLimit,
}

impl PointSoFar {
    /// Whether all conditions held; `None`: inconclusive.
    pub fn passed(&self) -> Option<bool> {
        match self.reading {
            TrialAnswer::Complete { passed, .. } => Some(passed),
            TrialAnswer::Failed => Some(false),
            TrialAnswer::Nothing | TrialAnswer::GeneratorLimit => None,
        }
    }
}

impl SearchSettings {
    /// Whether a search can be made of them.
    ///
    /// # Errors
    /// The first thing that is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        let Self { from_per_s, to_per_s, within, trials_max, .. } = *self;
        let step_per_s = self.step_per_s.unwrap_or(from_per_s);
        for (what, value) in [("from", from_per_s), ("to", to_per_s), ("step", step_per_s)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(format!("`{what}` is {value}; a load is above zero"));
            }
        }
        if from_per_s > to_per_s {
            return Err(format!("the search would begin at {from_per_s}/s, above its end at {to_per_s}/s"));
        }
        if self.step_per_s.is_some() && (from_per_s / step_per_s).ceil() * step_per_s > to_per_s {
            return Err(format!(
                "no whole multiple of {step_per_s}/s lies between {from_per_s}/s and {to_per_s}/s"
            ));
        }
        if !(0.001..=0.5).contains(&within) {
            return Err(format!("`within` is {within}; it lies between 0.001 (0.1 %) and 0.5 (50 %)"));
        }
        let needed = trials_min(self.confirm_trials);
        if trials_max < needed {
            return Err(format!("{trials_max} trials are too few for a search; it takes at least {needed}"));
        }
        Ok(())
    }

    /// Most trials before those that are kept for confirming.
    pub fn search_trials_max(&self) -> u32 {
        self.trials_max.saturating_sub(reserved(self.confirm_trials))
    }

    /// Most trials that confirm.
    pub fn confirm_trials_max(&self) -> u32 {
        reserved(self.confirm_trials)
    }

    /// How many trials these are; two of the ramp count as one.
    pub fn counted(stages: impl Iterator<Item = SearchStage>) -> u32 {
        let (ramp, whole) = stages.fold((0_u32, 0_u32), |(ramp, whole), stage| match stage {
            SearchStage::Ramp => (ramp + 1, whole),
            SearchStage::Bisect | SearchStage::Confirm => (ramp, whole + 1),
        });
        whole.saturating_add(ramp.div_ceil(2))
    }

    /// The highest load that can be offered and is not above this one: a whole number of clients.
    pub(super) fn at_most(&self, load_per_s: f64) -> f64 {
        // A multiple that rounding put a little below itself is still that multiple.
        let whole = |step: f64| (load_per_s / step + 1e-9).floor() * step;
        self.step_per_s.map_or(load_per_s, whole)
    }

    /// The nearest load inside the range that can be offered: a whole multiple of the step, or one of four digits.
    pub(super) fn offered(&self, load_per_s: f64) -> f64 {
        let inside = load_per_s.clamp(self.from_per_s, self.to_per_s);
        let Some(step) = self.step_per_s else {
            let digit = 10_f64.powf(inside.log10().floor() - 3.0);
            return ((inside / digit).round() * digit).clamp(self.from_per_s, self.to_per_s);
        };
        // The nearest multiple may lie beyond an end of the range that is none; `check` saw that there is one inside.
        let least = (self.from_per_s / step).ceil();
        let most = (self.to_per_s / step).floor().max(least);
        (inside / step).round().clamp(least, most) * step
    }
}

/// Fewest trials from which a search can say anything but that it is not finished.
const TRIALS_MIN: u32 = 4;

/// Trials that are kept for confirming: three rounds, so that two loads may fail.
pub(super) fn reserved(confirm_trials: u32) -> u32 {
    confirm_trials.saturating_mul(3)
}

/// Fewest trials with which a search that confirms by so many can be made.
pub fn trials_min(confirm_trials: u32) -> u32 {
    TRIALS_MIN.saturating_add(reserved(confirm_trials))
}
