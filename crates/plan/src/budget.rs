//! The time that a run may take. It shortens repeats, looks and searches; never a trial.

use crate::cases::Chosen;
use crate::phases::PHASE_NS_MAX;
use crate::reader::Reader;
use crate::{Choices, PlanError};
use kdyno_model::units::duration;
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, Place};

/// Time, and where the scenario says so; chosen by hand it has no place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub ns: u64,
    place: Option<Place>,
}

impl Budget {
    /// As chosen, else as the scenario says.
    pub fn read(scenario: &Scenario, choices: &Choices, chosen: &Chosen) -> Result<Option<Self>, PlanError> {
        match (choices.budget_ns, &scenario.typed().budget) {
            (Some(ns), _) => Ok(Some(Self { ns, place: None })),
            (None, Some(typed)) => {
                let reader = Reader::new(scenario, &chosen.cases[0]);
                let ns = reader.ns(typed, "budget", 1..=PHASE_NS_MAX)?;
                Ok(Some(Self { ns, place: Some(typed.place) }))
            }
            (None, None) => Ok(None),
        }
    }

    /// The error when even the least does not fit; `why` goes on with the sentence.
    pub fn too_small(self, what: &str, why: &str, needed_ns: u64) -> PlanError {
        let message = format!("the budget of {} is too small for {what}{why}", duration(self.ns));
        let minutes = needed_ns.div_ceil(60_000_000_000);
        InputError { place: self.place, ..InputError::whole(message) }.hint(format!(
            "`{minutes}m` is the smallest that would do; fewer cases or shorter phases need less"
        ))
    }
}
