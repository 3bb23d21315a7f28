//! What a comparison says at its looks while it goes on, and nothing between them: a ratio that is watched pair by pair
//! finds a difference sooner or later also where there is none.

use kdyno_analysis::comparison::{progress, verdicts};
use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::outcome::TrialOutcome;
use kdyno_model::plan::{Depth, Plan, Strategy};
use kdyno_report::terminal::{TextOptions, look_text};

/// The trials of a comparison so far.
pub(crate) struct ComparisonLooks {
    plan: Plan,
    outcomes: Vec<TrialOutcome>,
}

impl ComparisonLooks {
    /// `None` when the plan compares nothing, or is a quick look, which has no looks on the way.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let looks = matches!(plan.strategy, Strategy::Compare(_)) && plan.depth == Depth::Verdict;
        looks.then(|| Self { plan: plan.clone(), outcomes: Vec::new() })
    }

    /// Takes a trial that has ended; the sentences of a look, when this trial made it one.
    pub(crate) fn take(&mut self, outcome: &TrialOutcome, options: &TextOptions) -> Option<String> {
        let Strategy::Compare(settings) = &self.plan.strategy else { return None };
        let is_second = outcome.trial.pair.is_some_and(|place| place.place == 2);
        self.outcomes.push(outcome.clone());
        if !is_second {
            return None;
        }
        let trials: Vec<AnalysedTrial<'_>> = self.outcomes.iter().map(AnalysedTrial::of).collect();
        let case = outcome.trial.case;
        let now = progress(&self.plan, settings, case, &trials);
        // The pair before may have made the same units a look already.
        let before = progress(&self.plan, settings, case, &trials[..trials.len().saturating_sub(1)]);
        if !now.is_look || before.units == now.units {
            return None;
        }
        let judgement = verdicts(&self.plan, settings, &trials);
        let said = look_text(&self.plan, case, &judgement.conclusions, options);
        Some(format!("look after {} {}s:\n{said}", now.units, settings.unit))
    }
}
