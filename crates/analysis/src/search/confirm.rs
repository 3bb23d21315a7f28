//! Long trials just below the estimate, all of which must pass.

use super::step::{Choice, End, Search};
use super::{Settings, Stage};
use crate::search::bracket::same;

/// The first load is this far below the estimate, as a share, or by so many standard deviations of a trial.
const MARGIN: (f64, f64) = (0.02, 1.0);
/// After a trial that failed the load is lowered by this, or by so many standard deviations of a trial.
const LOWER: (f64, f64) = (0.03, 0.5);
/// Lowest share of the estimate at which it is still called that.
const MARGIN_MAX: f64 = 0.2;

/// Trials that are kept for confirming: two rounds and one more.
pub(super) fn reserved(settings: &Settings) -> usize {
    match settings.confirm_trials {
        0 => 0,
        trials => 2 * trials as usize + 1,
    }
}

impl Search<'_> {
    pub(super) fn confirm(&self, top: f64) -> Choice {
        let needed = self.settings.confirm_trials as usize;
        let all_passed = self.first_failing().is_none();
        if needed == 0 {
            return Choice::End(if all_passed { End::EveryLoadPasses(top) } else { self.end_early() });
        }
        let Some(last) = self.trials(Stage::Confirm).last() else {
            return match self.first_confirmed_load(top) {
                Some(load) => Choice::Trial(Stage::Confirm, load),
                None => Choice::End(self.end_early()),
            };
        };
        let here = || self.trials(Stage::Confirm).filter(|point| same(point.load_per_s, last.load_per_s));
        let passed = here().filter(|point| point.passed() == Some(true)).count();
        if here().any(|point| point.passed() == Some(false)) {
            let lower = last.load_per_s * (1.0 - self.scaled(LOWER));
            if lower < self.settings.from_per_s {
                return Choice::End(self.end_early());
            }
            let estimate = self.line.as_ref().map_or(lower, |_| self.first_confirmed_load(top).unwrap_or(lower));
            return Choice::Trial(Stage::Confirm, lower.min(estimate));
        }
        match passed >= needed {
            true if same(last.load_per_s, top) && all_passed => Choice::End(End::EveryLoadPasses(top)),
            true => Choice::End(End::Confirmed(last.load_per_s)),
            false => Choice::Trial(Stage::Confirm, last.load_per_s),
        }
    }

    fn first_failing(&self) -> Option<f64> {
        self.loads.iter().find(|load| !load.passed()).map(|load| load.per_s)
    }

    fn first_confirmed_load(&self, top: f64) -> Option<f64> {
        if self.first_failing().is_none() {
            return Some(top);
        }
        match &self.line {
            Some(line) => Some((line.crossing.exp() * (1.0 - self.scaled(MARGIN))).min(top)),
            None => self.highest_passed(),
        }
    }

    /// A share of the load: the first, or the second in standard deviations of a trial, whichever is more.
    fn scaled(&self, (least, deviations): (f64, f64)) -> f64 {
        let noise = self.line.as_ref().map_or(0.0, |line| deviations * line.scatter / line.slope);
        least.max(noise).min(MARGIN_MAX)
    }
}
