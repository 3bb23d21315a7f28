//! Long trials just below the estimate, all of which must pass; after a failure the load goes down until one holds.

use super::bracket::{TestedLoad, fit_points, same};
use super::line::SearchLine;
use super::question::{PointSoFar, SearchSettings, TrialAnswer};
use super::step::{Choice, Search};
use super::wander;
use kdyno_model::conclusion::SearchOutcome;
use kdyno_model::trial::SearchStage;

/// The first load is this far below the estimate, as a share, or by so many standard deviations of a trial.
const MARGIN: (f64, f64) = (0.02, 1.0);
/// After the first trial that failed the load is lowered by this, or by so many standard deviations of a trial; after
/// each further one by twice as much as before, so that the few trials there are reach a load that holds.
const LOWER: (f64, f64) = (0.03, 0.5);
/// Trials scatter by this much at least, as a standard deviation of ln(metric): few trials may lie on a line by chance.
const SCATTER_MIN: f64 = 0.1;
/// What capacity that changes adds to the first margin: half of the width that holds its mean in so many of all cases.
const WANDER_LEVEL: f64 = 0.9;
/// A load is lowered by at most this share at once.
const MARGIN_MAX: f64 = 0.2;

impl Search<'_> {
    pub(super) fn confirm(&self, top: f64) -> Choice {
        let needed = self.settings.confirm_trials as usize;
        let all_passed = self.all_passed_up_to(top);
        if needed == 0 {
            return Choice::End(if all_passed { self.end_at(top) } else { self.end_early() });
        }
        let Some(last) = self.trials(SearchStage::Confirm).last() else {
            return self.confirm_at(self.first_confirmed_load(top), 0);
        };
        let here = self.trials(SearchStage::Confirm).filter(|point| same(point.load_per_s, last.load_per_s));
        let passed = here.filter(|point| point.passed() == Some(true)).count();
        // A load that failed is left at once, and so is one that the generator twice could not offer.
        if last.passed() == Some(false) || last.reading == TrialAnswer::GeneratorLimit {
            return self.confirm_at(self.lower(last, top), 0);
        }
        match passed >= needed {
            true if all_passed => Choice::End(self.end_at(top)),
            true => Choice::End(SearchOutcome::Confirmed { load_per_s: last.load_per_s }),
            false => self.confirm_at(Some(last.load_per_s), passed),
        }
    }

    /// One more trial at a load with some trials that passed; the end, where too few are left for the rest or no load
    /// is.
    fn confirm_at(&self, load: Option<f64>, passed: usize) -> Choice {
        let needed = (self.settings.confirm_trials as usize).saturating_sub(passed);
        match load.filter(|_| needed <= self.confirming_left()) {
            Some(load) => Choice::Trial(SearchStage::Confirm, load),
            None => Choice::End(self.end_early()),
        }
    }

    /// Trials that may still confirm.
    fn confirming_left(&self) -> usize {
        let run = self.trials(SearchStage::Confirm).count();
        let kept = (self.settings.confirm_trials_max() as usize).saturating_sub(run);
        let counted = SearchSettings::counted(self.points.iter().map(|point| point.stage));
        kept.min(self.settings.trials_max.saturating_sub(counted) as usize)
    }

    /// The load after one that failed; `None` below the first load of the range.
    fn lower(&self, last: &PointSoFar, top: f64) -> Option<f64> {
        let failed = self.trials(SearchStage::Confirm).filter(|point| point.passed() == Some(false)).count();
        let (share, deviations) = LOWER;
        let times = 2_f64.powi(i32::try_from(failed).unwrap_or(i32::MAX).saturating_sub(1).clamp(0, 10));
        let below = last.load_per_s * (1.0 - self.scaled((share * times, deviations * times)));
        let lower = self.settings.at_most(below).min(top);
        // With the new trials in it the line may cross lower still.
        let estimate = self.line.as_ref().and_then(|_| self.first_confirmed_load(top));
        (lower >= self.settings.from_per_s).then(|| estimate.map_or(lower, |estimate| lower.min(estimate)))
    }

    /// Whether the end of the range was tried by whole trials and nothing failed.
    fn all_passed_up_to(&self, top: f64) -> bool {
        self.loads.iter().all(TestedLoad::passed)
            && self.loads.iter().any(|load| same(load.per_s, top) && load.passed_whole())
    }

    fn first_confirmed_load(&self, top: f64) -> Option<f64> {
        match &self.line {
            _ if self.all_passed_up_to(top) => Some(top),
            Some(line) => {
                let wandering = wander::widening(&fit_points(self.points), line, WANDER_LEVEL);
                let margin = self.scaled(MARGIN).hypot(wandering).min(MARGIN_MAX);
                Some(self.settings.at_most(line.crossing.exp() * (1.0 - margin)).min(top))
            }
            None => self.held(),
        }
    }

    /// A share of the load: the first, or the second in standard deviations of a trial, whichever is more.
    fn scaled(&self, (least, deviations): (f64, f64)) -> f64 {
        let noise = |line: &SearchLine| deviations * line.scatter.max(SCATTER_MIN) / line.slope;
        least.max(self.line.as_ref().map_or(0.0, noise)).min(MARGIN_MAX)
    }
}
