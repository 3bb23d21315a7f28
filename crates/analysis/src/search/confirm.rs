//! Long trials just below the estimate, all of which must pass.

use super::bracket::{Load, same};
use super::step::{Choice, Search};
use kdyno_model::conclusion::SearchOutcome;
use kdyno_model::trial::SearchStage;

/// The first load is this far below the estimate, as a share, or by so many standard deviations of a trial.
const MARGIN: (f64, f64) = (0.02, 1.0);
/// After a trial that failed the load is lowered by this, or by so many standard deviations of a trial.
const LOWER: (f64, f64) = (0.03, 0.5);
/// Lowest share of the estimate at which it is still called that.
const MARGIN_MAX: f64 = 0.2;

impl Search<'_> {
    pub(super) fn confirm(&self, top: f64) -> Choice {
        let needed = self.settings.confirm_trials as usize;
        let all_passed = self.all_passed_up_to(top);
        if needed == 0 {
            let all = SearchOutcome::EveryLoadPasses { highest_per_s: top };
            return Choice::End(if all_passed { all } else { self.end_early() });
        }
        let Some(last) = self.trials(SearchStage::Confirm).last() else {
            return match self.first_confirmed_load(top) {
                Some(load) => Choice::Trial(SearchStage::Confirm, load),
                None => Choice::End(self.end_early()),
            };
        };
        let here =
            || self.trials(SearchStage::Confirm).filter(|point| same(point.load_per_s, last.load_per_s));
        let passed = here().filter(|point| point.passed() == Some(true)).count();
        if here().any(|point| point.passed() == Some(false)) {
            let lower = self.settings.at_most(last.load_per_s * (1.0 - self.scaled(LOWER)));
            if lower < self.settings.from_per_s {
                return Choice::End(self.end_early());
            }
            let estimate =
                self.line.as_ref().map_or(lower, |_| self.first_confirmed_load(top).unwrap_or(lower));
            return Choice::Trial(SearchStage::Confirm, lower.min(estimate));
        }
        match passed >= needed {
            true if all_passed => Choice::End(SearchOutcome::EveryLoadPasses { highest_per_s: top }),
            true => Choice::End(SearchOutcome::Confirmed { load_per_s: last.load_per_s }),
            false => Choice::Trial(SearchStage::Confirm, last.load_per_s),
        }
    }

    /// Whether the end of the range was tried by whole trials and nothing failed.
    fn all_passed_up_to(&self, top: f64) -> bool {
        self.loads.iter().all(Load::passed)
            && self.loads.iter().any(|load| same(load.per_s, top) && load.passed_whole())
    }

    fn first_confirmed_load(&self, top: f64) -> Option<f64> {
        match &self.line {
            _ if self.all_passed_up_to(top) => Some(top),
            Some(line) => {
                Some(self.settings.at_most(line.crossing.exp() * (1.0 - self.scaled(MARGIN))).min(top))
            }
            None => self.highest_passed(),
        }
    }

    /// A share of the load: the first, or the second in standard deviations of a trial, whichever is more.
    fn scaled(&self, (least, deviations): (f64, f64)) -> f64 {
        let noise = self.line.as_ref().map_or(0.0, |line| deviations * line.scatter / line.slope);
        least.max(noise).min(MARGIN_MAX)
    }
}
