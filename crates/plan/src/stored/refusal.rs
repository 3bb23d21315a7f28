//! Where in a stored plan something is, and how it is refused.

use crate::choices::PlanError;
use kdyno_scenario::input::{InputError, quoted};
use std::fmt;
use std::ops::RangeInclusive;

/// What to do about every refusal.
const HINT: &str =
    "run the scenario again; where you made the run file yourself and it is unchanged, add `--trust`";

/// What the gate says of a part of the plan.
pub(crate) type Passed = Result<(), PlanError>;

/// A key of a stored plan with those above it: `cases.0.system.brokers`.
pub(crate) struct KeyPath<'a> {
    up: Option<&'a KeyPath<'a>>,
    name: &'a str,
}

impl<'a> KeyPath<'a> {
    pub(crate) fn top(name: &'a str) -> Self {
        Self { up: None, name }
    }

    /// A key below this one.
    pub(crate) fn key(&'a self, name: &'a str) -> Self {
        Self { up: Some(self), name }
    }

    /// The refusal of what is here; `what` goes on after "the stored plan".
    pub(crate) fn refused(&self, what: impl fmt::Display) -> PlanError {
        InputError::whole(format!("the stored plan {what} (`{self}`)")).hint(HINT)
    }

    /// A number that scenarios may have, too.
    pub(crate) fn within<T: PartialOrd + fmt::Display>(&self, value: T, range: RangeInclusive<T>) -> Passed {
        if range.contains(&value) {
            return Ok(());
        }
        let (least, most) = (range.start(), range.end());
        Err(self.refused(format!("has {value}, which is outside {least} to {most}")))
    }

    /// Looks at what may be left out.
    pub(crate) fn may_be_within<T: PartialOrd + fmt::Display>(
        &self,
        value: Option<T>,
        range: RangeInclusive<T>,
    ) -> Passed {
        value.map_or(Ok(()), |value| self.within(value, range))
    }

    /// A text that `fits` what it names.
    pub(crate) fn named(&self, text: &str, fits: bool, what: &str) -> Passed {
        if fits { Ok(()) } else { Err(self.refused(format!("has {}, which cannot be {what}", quoted(text)))) }
    }

    /// Something that has to be so.
    pub(crate) fn holds(&self, is_so: bool, otherwise: &str) -> Passed {
        if is_so { Ok(()) } else { Err(self.refused(otherwise)) }
    }
}

impl fmt::Display for KeyPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(up) = self.up {
            write!(f, "{up}.")?;
        }
        f.write_str(self.name)
    }
}
