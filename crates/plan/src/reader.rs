//! Reads one case's values: params inserted, units checked, ranges kept; the errors say which value and why.

use crate::cases::UnresolvedCase;
use crate::choices::{FileReader, PathCheck, PlanError, Schemas};
use kdyno_model::plan::PHASE_NS_MAX;
use kdyno_scenario::Scenario;
use kdyno_scenario::input::{InputError, not_allowed, quoted};
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Scalar;
use std::ops::RangeInclusive;

/// One case's view of the scenario.
pub(crate) struct CaseReader<'a> {
    pub scenario: &'a Scenario,
    pub case: &'a UnresolvedCase,
    /// Reads the files that the scenario names.
    pub files: FileReader,
    /// Makes the values of schemas that the scenario names.
    pub schemas: Schemas,
    /// Looks for the Java clients that the scenario names.
    pub paths: PathCheck,
}

impl<'a> CaseReader<'a> {
    pub fn new(scenario: &'a Scenario, case: &'a UnresolvedCase) -> Self {
        Self {
            scenario,
            case,
            files: FileReader::default(),
            schemas: Schemas::default(),
            paths: PathCheck::default(),
        }
    }

    /// An error at a value, which names the case when there are several.
    pub fn wrong(&self, typed: &Scalar, message: impl Into<String>) -> PlanError {
        let mut message = message.into();
        if !self.case.label.is_empty() {
            message.push_str(&format!(" (case {})", self.case.label));
        }
        InputError::at(typed.place, message)
    }

    /// An error about the text a value came to, which names the formula when there was one.
    fn bad(&self, typed: &Scalar, text: &str, what: &str, message: &str) -> PlanError {
        let from =
            if text == typed.text { String::new() } else { format!(" (from {})", quoted(&typed.text)) };
        self.wrong(typed, format!("`{what}`{from}: {message}")).of_value()
    }

    /// The text that a value evaluates to.
    pub fn text(&self, typed: &Scalar) -> Result<String, PlanError> {
        self.case.values.text(typed)
    }

    /// A non-empty text.
    pub fn filled(&self, typed: &Scalar, what: &str) -> Result<String, PlanError> {
        let text = self.text(typed)?;
        match text.trim().is_empty() {
            true => Err(self.wrong(typed, format!("`{what}` is empty")).of_value()),
            false => Ok(text),
        }
    }

    fn quantity(
        &self,
        typed: &Scalar,
        what: &str,
        dimension: Dimension,
        range: RangeInclusive<u64>,
    ) -> Result<u64, PlanError> {
        let text = self.text(typed)?;
        let value =
            units::whole(&text, dimension).map_err(|message| self.bad(typed, &text, what, &message))?;
        if range.contains(&value) {
            return Ok(value);
        }
        let show = |value: u64| units::UnitValue { value: value as f64, dimension };
        let (least, most) = (show(*range.start()), show(*range.end()));
        Err(self.bad(typed, &text, what, &format!("{} is outside {least} to {most}", quoted(&text))))
    }

    /// A plain whole number.
    pub fn whole(&self, typed: &Scalar, what: &str, range: RangeInclusive<u64>) -> Result<u64, PlanError> {
        self.quantity(typed, what, Dimension::Plain, range)
    }

    /// A plain number.
    pub fn number(&self, typed: &Scalar, what: &str, range: RangeInclusive<f64>) -> Result<f64, PlanError> {
        let text = self.text(typed)?;
        let found = units::parse_as(&text, Dimension::Plain)
            .map_err(|message| self.wrong(typed, format!("`{what}`: {message}")).of_value())?;
        if range.contains(&found) {
            return Ok(found);
        }
        let (least, most) = (range.start(), range.end());
        let message = format!("`{what}`: {} is outside {least} to {most}", quoted(&text));
        Err(self.wrong(typed, message).of_value())
    }

    /// A plain whole number of 32 bits; the range must fit.
    pub fn small(&self, typed: &Scalar, what: &str, range: RangeInclusive<u32>) -> Result<u32, PlanError> {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        Ok(self.whole(typed, what, wide)? as u32)
    }

    /// A size in bytes.
    pub fn bytes(&self, typed: &Scalar, what: &str, range: RangeInclusive<u64>) -> Result<u64, PlanError> {
        self.quantity(typed, what, Dimension::Bytes, range)
    }

    /// A duration in ns.
    pub fn ns(&self, typed: &Scalar, what: &str, range: RangeInclusive<u64>) -> Result<u64, PlanError> {
        self.quantity(typed, what, Dimension::Ns, range)
    }

    /// A time, or the shortest and the longest one as `LEAST..MOST`, ns; `text` is what is read, which may be a default's.
    pub fn span(&self, typed: &Scalar, what: &str, text: &str) -> Result<(u64, Option<u64>), PlanError> {
        let Some((least, most)) = text.split_once("..") else {
            return Ok((self.ns(typed, what, 0..=PHASE_NS_MAX)?, None));
        };
        let bound = |text: &str| {
            units::whole(text.trim(), Dimension::Ns).map_err(|message| {
                let error = self.wrong(typed, format!("`{what}`: {message}"));
                error.hint("write `LEAST..MOST`, e.g. `10s..60s`").of_value()
            })
        };
        let (least_ns, most_ns) = (bound(least)?, bound(most)?);
        if least_ns >= most_ns || most_ns > PHASE_NS_MAX {
            let message = format!("`{what}`: {} has no room between its bounds", quoted(text));
            return Err(self.wrong(typed, message).hint("the shorter time comes first, e.g. `10s..60s`"));
        }
        Ok((least_ns, Some(most_ns)))
    }

    /// One of some words.
    pub fn word(&self, typed: &Scalar, what: &str, words: &[&str]) -> Result<String, PlanError> {
        let text = self.text(typed)?;
        if words.contains(&text.as_str()) {
            return Ok(text);
        }
        let (message, hint) = not_allowed(&text, words);
        Err(self.bad(typed, &text, what, &message).maybe_hint(hint))
    }

    /// A share in percent, from none to all: 0 to 1.
    pub fn share(&self, typed: &Scalar, what: &str) -> Result<f64, PlanError> {
        let text = self.text(typed)?;
        let percent = text.trim().strip_suffix('%').and_then(|text| units::parse(text.trim()));
        let percent = percent.filter(|percent| percent.dimension == Dimension::Plain);
        match percent.map(|percent| percent.value / 100.0) {
            Some(share) if (0.0..=1.0).contains(&share) => Ok(share),
            _ => {
                let message = format!("{} is not a share in percent", quoted(&text));
                Err(self.bad(typed, &text, what, &message).hint("from 0% to 100%, e.g. `1%`"))
            }
        }
    }
}
