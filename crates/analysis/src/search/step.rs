//! Which trial of a search comes next.

use super::bracket::{TestedLoad, fit_points, inverted, loads, same};
use super::line::{SearchLine, fit};
use super::question::{PointSoFar, RAMP_FACTOR, SearchSettings, TrialAnswer};
use kdyno_model::conclusion::{Inversion, SearchOutcome};
use kdyno_model::trial::SearchStage;

/// Above this excess (a factor of 3) a short trial shows overload; below, the ramp looks one load further.
const MILD_EXCESS: f64 = 1.1;
/// The bracket is narrow when the line rises so much across it.
const BRACKET_EXCESS: f64 = 0.5;
/// Trials alternate around the crossing, so far that the line is expected to rise by this.
const SPREAD_EXCESS: f64 = 0.15;
/// Farthest of such steps, ln(load).
const SPREAD_MAX: f64 = 0.1;
/// Trials near the crossing after which the estimate is final.
const NEAR_TRIALS: usize = 8;
/// A load that failed in one trial is tried again after so many loads below it passed.
const DISPUTED_BY: usize = 2;
/// The next load is at most so much beyond all that were tried.
const BEYOND: f64 = 1.25;

/// What a search wants.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchStep {
    /// One more trial.
    Trial {
        /// What for.
        stage: SearchStage,
        /// Its load, records/s.
        load_per_s: f64,
    },
    /// It is over.
    Done(Box<SearchEnd>),
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchEnd {
    /// How it ended.
    pub outcome: SearchOutcome,
    /// The fitted line; its crossing is the estimate. `None`: no line, or the end of the range was reached before it.
    pub line: Option<SearchLine>,
    /// Lowest load that failed, as the majority of its trials says; records/s.
    pub first_failing_per_s: Option<f64>,
    /// Loads that failed by two trials though a higher one passed: the curve is not monotone.
    pub inversions: Vec<Inversion>,
}

/// The next trial, or the end, given all trials so far in order. Settings that [`SearchSettings::check`] refuses end at once.
pub fn next_step(settings: &SearchSettings, points: &[PointSoFar]) -> SearchStep {
    if settings.check().is_err() {
        let outcome = SearchOutcome::Unfinished;
        return SearchStep::Done(Box::new(SearchEnd {
            outcome,
            line: None,
            first_failing_per_s: None,
            inversions: vec![],
        }));
    }
    let search = Search::new(settings, points);
    match search.choose() {
        Choice::Trial(stage, load_per_s) if search.has_room_for(stage) => {
            SearchStep::Trial { stage, load_per_s: settings.offered(load_per_s) }
        }
        Choice::Trial(..) => SearchStep::Done(Box::new(search.found(search.end_early()))),
        Choice::End(end) => SearchStep::Done(Box::new(search.found(end))),
    }
}

/// What trials show of a search that has not ended.
pub fn found_so_far(settings: &SearchSettings, points: &[PointSoFar]) -> SearchEnd {
    match next_step(settings, points) {
        SearchStep::Done(found) => *found,
        SearchStep::Trial { .. } => Search::new(settings, points).found(SearchOutcome::Unfinished),
    }
}

/// A load to try, not yet rounded to one that can be offered, or the end.
pub(super) enum Choice {
    Trial(SearchStage, f64),
    End(SearchOutcome),
}

/// The trials so far, put in order.
pub(super) struct Search<'a> {
    pub(super) settings: &'a SearchSettings,
    pub(super) points: &'a [PointSoFar],
    pub(super) loads: Vec<TestedLoad>,
    pub(super) line: Option<SearchLine>,
    /// Highest load that the generator can offer as far as is known; `None`: not even the first.
    top: Option<f64>,
}

impl<'a> Search<'a> {
    fn new(settings: &'a SearchSettings, points: &'a [PointSoFar]) -> Self {
        let loads = loads(points);
        let line = fit(&fit_points(points));
        let top = top(settings, points, &loads);
        Self { settings, points, loads, line, top }
    }

    fn choose(&self) -> Choice {
        if let Some(choice) = self.again().filter(|choice| self.leaves_those_that_confirm(choice)) {
            return choice;
        }
        let Some(top) = self.top else {
            return Choice::End(SearchOutcome::GeneratorLimit { highest_passed_per_s: None });
        };
        if self.trials(SearchStage::Confirm).next().is_some() {
            return self.confirm(top);
        }
        let choice = self.search(top).filter(|choice| self.leaves_those_that_confirm(choice));
        choice.unwrap_or_else(|| self.confirm(top))
    }

    /// Whether a choice takes none of the trials that are kept for confirming.
    fn leaves_those_that_confirm(&self, choice: &Choice) -> bool {
        match choice {
            Choice::Trial(SearchStage::Confirm, _) | Choice::End(_) => true,
            Choice::Trial(stage, _) => self.fits(*stage, self.settings.search_trials_max()),
        }
    }

    /// Up to the estimate; `None`: nothing more is needed for it.
    fn search(&self, top: f64) -> Option<Choice> {
        if let Some(load) = self.disputed() {
            return Some(Choice::Trial(SearchStage::Bisect, load));
        }
        if let Some(load) = self.ramp(top) {
            return Some(Choice::Trial(SearchStage::Ramp, load));
        }
        let Some(high) = self.loads.iter().find(|load| !load.passed()) else { return self.all_passed(top) };
        let low = self.loads.iter().rfind(|load| load.passed() && load.per_s < high.per_s);
        match low {
            Some(low) => self.narrow(low, high, top).map(|load| Choice::Trial(SearchStage::Bisect, load)),
            None if high.settled() == Some(false) => {
                Some(Choice::End(SearchOutcome::EveryLoadFails { lowest_per_s: high.per_s }))
            }
            None => Some(Choice::Trial(SearchStage::Bisect, high.per_s)),
        }
    }

    /// Whether one more trial of a stage is among the first so many.
    fn fits(&self, stage: SearchStage, trials_max: u32) -> bool {
        let stages = self.points.iter().map(|point| point.stage).chain([stage]);
        SearchSettings::counted(stages) <= trials_max
    }

    /// Whether one more trial of a stage may be run at all.
    fn has_room_for(&self, stage: SearchStage) -> bool {
        let confirming = self.trials(SearchStage::Confirm).count();
        let is_over =
            stage == SearchStage::Confirm && confirming >= self.settings.confirm_trials_max() as usize;
        !is_over && self.fits(stage, self.settings.trials_max)
    }

    /// A trial without a figure is run once more; so is one that the generator could not offer.
    fn again(&self) -> Option<Choice> {
        let last = self.points.last()?;
        let before = self.points.len().checked_sub(2).map(|at| &self.points[at]);
        let is_repeated = before
            .is_some_and(|before| before.reading == last.reading && same(before.load_per_s, last.load_per_s));
        match (last.reading, is_repeated) {
            (TrialAnswer::Nothing | TrialAnswer::GeneratorLimit, false) => {
                Some(Choice::Trial(last.stage, last.load_per_s))
            }
            (TrialAnswer::Nothing, true) => Some(Choice::End(SearchOutcome::NoFigures {
                load_per_s: last.load_per_s,
                highest_passed_per_s: self.held(),
            })),
            _ => None,
        }
    }

    /// The lowest load that failed below one that passed, until two trials agree on it.
    fn disputed(&self) -> Option<f64> {
        let mut inverted = inverted(&self.loads, self.settings, self.line.as_ref());
        inverted.find(|(load, _)| load.settled().is_none()).map(|(load, _)| load.per_s)
    }

    fn ramp(&self, top: f64) -> Option<f64> {
        let ramp: Vec<&TestedLoad> = self.loads.iter().filter(|load| load.in_ramp).collect();
        let Some(highest) = ramp.last() else { return Some(self.settings.from_per_s.min(top)) };
        let is_settled = self.loads.iter().any(|load| load.settled() == Some(false));
        if highest.per_s >= top || is_settled {
            return None;
        }
        let failed = ramp.iter().filter(|load| !load.passed()).count();
        let goes_on = match failed {
            0 => true,
            // Perhaps it was disturbed, or the curve comes down again.
            1 => highest.passed() || (highest.mildest_fail < MILD_EXCESS && ramp.len() > 1),
            _ => false,
        };
        // With whole multiples of a step the next load may round to this one.
        let next = (highest.per_s * RAMP_FACTOR).max(highest.per_s + self.settings.step_per_s.unwrap_or(0.0));
        goes_on.then(|| next.min(top))
    }

    fn all_passed(&self, top: f64) -> Option<Choice> {
        let at_top = self.loads.iter().find(|load| same(load.per_s, top));
        match at_top.and_then(TestedLoad::settled) {
            None => Some(Choice::Trial(SearchStage::Bisect, top)),
            Some(_) if self.is_end(top) => None,
            Some(_) => Some(Choice::End(self.end_at(top))),
        }
    }

    /// Whether a load is the end of the range, which may have been rounded to a load that can be offered.
    fn is_end(&self, load: f64) -> bool {
        load >= self.settings.offered(self.settings.to_per_s)
    }

    /// The next load between those that pass and those that fail, or around the crossing of the line.
    fn narrow(&self, low: &TestedLoad, high: &TestedLoad, top: f64) -> Option<f64> {
        // Something else may have disturbed the one trial that failed: two whole ones just below it say so.
        let passed = |load: &&TestedLoad| load.passed_whole() && load.per_s < high.per_s;
        let below = self.loads.iter().filter(passed).filter(|load| load.per_s * RAMP_FACTOR > high.per_s);
        if high.settled().is_none() && below.count() >= DISPUTED_BY {
            return Some(high.per_s);
        }
        // And a short trial that passed proves nothing, least of all when two whole ones just above it fail.
        let failed = |load: &&TestedLoad| !load.passed() && load.per_s < low.per_s * RAMP_FACTOR;
        if !low.passed_whole()
            && self.loads.iter().filter(failed).filter(|load| load.per_s > low.per_s).count() > DISPUTED_BY
        {
            return Some(low.per_s);
        }
        let width = (high.per_s / low.per_s).ln();
        let Some(line) = &self.line else {
            return (width > self.settings.within).then(|| (low.per_s * high.per_s).sqrt());
        };
        if width > (BRACKET_EXCESS / line.slope).clamp(self.settings.within, 0.3) && line.near < NEAR_TRIALS {
            return Some((low.per_s * high.per_s).sqrt());
        }
        if line.near >= NEAR_TRIALS {
            return None;
        }
        let below = |at: &&PointSoFar| at.load_per_s.ln() < line.crossing;
        let near = || {
            let whole = self.points.iter().filter(|point| point.stage != SearchStage::Ramp);
            whole.filter(|point| (point.load_per_s.ln() - line.crossing).abs() <= line.window())
        };
        let side = if near().filter(below).count() * 2 > near().count() { 1.0 } else { -1.0 };
        let spread = (SPREAD_EXCESS / line.slope).clamp(self.settings.within / 2.0, SPREAD_MAX);
        let load = (line.crossing + side * spread).exp();
        // A line through few trials may lead astray: what two trials agree on bounds it.
        let highest = self.highest_passed().unwrap_or(low.per_s);
        let settled = |says| self.loads.iter().filter(move |load| load.settled() == Some(says));
        let fails = settled(false).map(|load| load.per_s).fold(highest * BEYOND, f64::min);
        let passes = settled(true).map(|load| load.per_s).filter(|load| *load < fails);
        let lowest = self.loads.first().map_or(low.per_s, |load| load.per_s);
        let passes = passes.fold(lowest, f64::max);
        Some(load.clamp(passes / spread.exp(), fails * spread.exp()).min(top))
    }

    pub(super) fn trials(&self, stage: SearchStage) -> impl Iterator<Item = &PointSoFar> {
        self.points.iter().filter(move |point| point.stage == stage)
    }

    /// The highest load at which a whole trial passed, below every load that two trials agree fails.
    pub(super) fn highest_passed(&self) -> Option<f64> {
        let end = self.loads.iter().find(|load| load.settled() == Some(false));
        let end = end.map_or(f64::INFINITY, |load| load.per_s);
        let passed = self.loads.iter().rfind(|load| load.passed_whole() && load.per_s < end);
        passed.map(|load| load.per_s)
    }

    /// The highest load that passed below every load that failed, by whole trials where there are such; where none did,
    /// the highest that passed at all.
    pub(super) fn held(&self) -> Option<f64> {
        let failing = self.first_failing().unwrap_or(f64::INFINITY);
        let below = || self.loads.iter().filter(|load| load.per_s < failing);
        let held = below().rfind(|load| load.passed_whole()).or_else(|| below().next_back());
        let held = held.map(|load| load.per_s).or_else(|| self.highest_passed());
        held.or_else(|| self.loads.iter().rfind(|load| load.passed()).map(|load| load.per_s))
    }

    /// The lowest load that failed, as the majority of its trials says.
    fn first_failing(&self) -> Option<f64> {
        self.loads.iter().find(|load| !load.passed()).map(|load| load.per_s)
    }

    /// The outcome when no trial is left.
    pub(super) fn end_early(&self) -> SearchOutcome {
        match (self.held(), self.loads.first()) {
            (Some(highest_passed_per_s), _) => SearchOutcome::NotConfirmed { highest_passed_per_s },
            (None, Some(lowest)) => SearchOutcome::EveryLoadFails { lowest_per_s: lowest.per_s },
            (None, None) => SearchOutcome::Unfinished,
        }
    }

    /// The outcome when every load up to `top` passed.
    pub(super) fn end_at(&self, top: f64) -> SearchOutcome {
        match self.is_end(top) {
            true => SearchOutcome::EveryLoadPasses { highest_per_s: top },
            false => SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(top) },
        }
    }

    fn found(&self, outcome: SearchOutcome) -> SearchEnd {
        let inversions = inverted(&self.loads, self.settings, self.line.as_ref())
            .filter(|(load, _)| load.settled() == Some(false))
            .map(|(load, passed_per_s)| Inversion { passed_per_s, failed_per_s: load.per_s })
            .collect();
        let has_crossed = matches!(
            outcome,
            SearchOutcome::Confirmed { .. }
                | SearchOutcome::NotConfirmed { .. }
                | SearchOutcome::NoFigures { .. }
                | SearchOutcome::Unfinished
        );
        SearchEnd {
            outcome,
            line: self.line.clone().filter(|_| has_crossed),
            first_failing_per_s: self.first_failing(),
            inversions,
        }
    }
}

/// The highest load that can be offered: the end of the range, or the highest judged one below a load that the
/// generator twice could not offer.
fn top(settings: &SearchSettings, points: &[PointSoFar], loads: &[TestedLoad]) -> Option<f64> {
    let limited = |load: f64| {
        let at = points.iter().filter(|point| same(point.load_per_s, load));
        at.filter(|point| point.reading == TrialAnswer::GeneratorLimit).count() > 1
    };
    let lowest = points.iter().map(|point| point.load_per_s).filter(|load| limited(*load)).reduce(f64::min);
    match lowest {
        None => Some(settings.offered(settings.to_per_s)),
        Some(limit) => loads.iter().map(|load| load.per_s).rfind(|load| *load < limit),
    }
}
