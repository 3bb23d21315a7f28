//! How far a comparison has come, and what it may spend of the error.

use crate::comparison::pairs::CasePairs;
use crate::statistics::{self, Look, UNITS_MIN, units_least};
use kdyno_model::plan::{ComparePlan, Depth, Plan};

/// How many metrics share the error of a comparison.
pub(super) fn together(settings: &ComparePlan) -> u32 {
    u32::try_from(settings.judge.len()).unwrap_or(u32::MAX)
}

/// The look that so many units are judged at: that with as many, the next one, or the last.
fn look_of(settings: &ComparePlan, units: u32) -> Option<Look> {
    let looks = statistics::looks(&settings.looks, together(settings));
    looks.iter().find(|look| look.units >= units).or(looks.last()).copied()
}

/// Whether so many units can find each judged metric different by itself, with what the look that is to come may spend.
pub fn can_tell(settings: &ComparePlan, units: u32) -> bool {
    look_of(settings, units).is_some_and(|look| units >= units_least(look.alpha, together(settings)))
}

/// How far the evidence has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum ComparisonStage {
    /// A verdict may be drawn, and may spend so much of the error.
    Look { alpha: f64 },
    /// So many more units until the next look, which may spend so much.
    Between { alpha: f64, more: u32 },
    /// No more units come, and there are fewer than any verdict needs.
    TooFew,
    /// A quick look: at any time.
    Quick,
}

impl ComparisonStage {
    pub(super) fn of(plan: &Plan, settings: &ComparePlan, pairs: &CasePairs<'_>) -> Self {
        if plan.depth == Depth::Quick {
            return Self::Quick;
        }
        let progress = pairs.progress(settings);
        match look_of(settings, progress.units) {
            Some(look) if !progress.is_exhausted && !progress.is_look => {
                Self::Between { alpha: look.alpha, more: look.units - progress.units }
            }
            Some(look) if progress.units >= UNITS_MIN => Self::Look { alpha: look.alpha },
            _ => Self::TooFew,
        }
    }

    /// There is an estimate and nothing else yet: the looks share all of the error, so that an interval in between would be one
    /// that no error was kept for.
    pub(super) fn is_between(self) -> bool {
        matches!(self, Self::Between { .. })
    }

    pub(super) fn alpha(self) -> f64 {
        match self {
            Self::Look { alpha } | Self::Between { alpha, .. } => alpha,
            Self::TooFew | Self::Quick => 0.05,
        }
    }
}
