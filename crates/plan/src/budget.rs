//! The time that a run may take. It shortens repeats, looks and searches; never a trial. What is planned fits also where
//! every warm-up takes its longest time.

use crate::cases::Chosen;
use crate::choices::{Choices, PlanError};
use crate::phases::PHASE_NS_MAX;
use crate::reader::CaseReader;
use kdyno_model::plan::CasePlan;
use kdyno_model::units::duration;
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, TextPosition};

/// How long a quick look takes at most, ns.
const QUICK_NS: u64 = 600 * 1_000_000_000;

/// Time, and who gave it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub ns: u64,
    given: BudgetSource,
}

/// Who limits the time.
#[derive(Debug, Clone, Copy)]
enum BudgetSource {
    /// The option, or the scenario at this place.
    Asked(Option<TextPosition>),
    /// A quick look is a quick one.
    QuickLook,
    /// The target's cap on `time`.
    Target,
}

impl Budget {
    /// As chosen, else as the scenario says.
    pub fn read(scenario: &Scenario, choices: &Choices, chosen: &Chosen) -> Result<Option<Self>, PlanError> {
        match (choices.budget_ns, &scenario.typed().budget) {
            (Some(ns), _) => Ok(Some(Self { ns, given: BudgetSource::Asked(None) })),
            (None, Some(typed)) => {
                let reader = CaseReader::new(scenario, &chosen.cases[0]);
                let ns = reader.ns(typed, "budget", 1..=PHASE_NS_MAX)?;
                Ok(Some(Self { ns, given: BudgetSource::Asked(Some(typed.place)) }))
            }
            (None, None) => Ok(None),
        }
    }

    /// That of a quick look: ten minutes, or a budget that is smaller.
    pub fn of_quick_look(budget: Option<Self>) -> Self {
        let own = Self { ns: QUICK_NS, given: BudgetSource::QuickLook };
        budget.filter(|budget| budget.ns < own.ns).unwrap_or(own)
    }

    /// The budget, or the shortest time that the targets of these cases allow where that is less.
    pub fn within_caps<'c>(
        budget: Option<Self>,
        cases: impl IntoIterator<Item = &'c CasePlan>,
    ) -> Option<Self> {
        let caps = cases.into_iter().filter_map(|case| case.system.caps()?.time_ns);
        let cap = caps.min().map(|ns| Self { ns, given: BudgetSource::Target });
        budget.into_iter().chain(cap).min_by_key(|one| one.ns)
    }

    /// The most of `least` to `most` that fits, where so many take `longest_ns` at the longest and each further one takes
    /// time; `None`: not even the least does.
    pub fn most(self, least: u32, most: u32, longest_ns: impl Fn(u32) -> u64) -> Option<u32> {
        if longest_ns(least) > self.ns {
            return None;
        }
        let (mut fits, mut high) = (least, most.max(least));
        while fits < high {
            let middle = fits + (high - fits).div_ceil(2);
            if longest_ns(middle) <= self.ns { fits = middle } else { high = middle - 1 }
        }
        Some(fits)
    }

    /// The error when even the least does not fit; `why` goes on with the sentence.
    pub fn too_small(self, what: &str, why: &str, needed_ns: u64) -> PlanError {
        let (name, place) = match self.given {
            BudgetSource::Asked(place) => ("the budget", place),
            BudgetSource::QuickLook => ("a quick look's budget", None),
            BudgetSource::Target => ("the target's cap on `time`", None),
        };
        let minutes = needed_ns.div_ceil(60_000_000_000);
        let needed = match self.given {
            // No option makes it longer.
            BudgetSource::QuickLook => format!("it takes up to {minutes} min"),
            BudgetSource::Asked(_) | BudgetSource::Target => {
                format!("`{minutes}m` is the smallest that would do")
            }
        };
        let message = format!("{name} of {} is too small for {what}{why}", duration(self.ns));
        InputError { place, ..InputError::whole(message) }
            .hint(format!("{needed}; fewer cases or shorter phases need less"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_that_fits_is_found() {
        let budget = |ns| Budget { ns, given: BudgetSource::QuickLook };
        let most = |ns: u64, most: u32| budget(ns).most(3, most, |number| 10 + u64::from(number) * 7);
        assert_eq!((most(30, 8), most(31, 8), most(37, 8), most(38, 8)), (None, Some(3), Some(3), Some(4)));
        assert_eq!((most(65, 8), most(66, 8), most(1_000, 8)), (Some(7), Some(8), Some(8)));
        assert_eq!(most(1_000, 1), Some(3), "never fewer than the least");
    }
}
