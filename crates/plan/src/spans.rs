//! When load items come and go.

use crate::choices::PlanError;
use crate::phases::PHASE_NS_MAX;
use crate::reader::CaseReader;
use kdyno_model::plan::{LoadPlan, LoadSpan, PhasesPlan};
use kdyno_model::units::duration;
use kdyno_scenario::file::{LoadFile, MeasureFile};
use kdyno_scenario::input::{known_hint, quoted};
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// When an item comes and goes; whether that lies in the measure phase is for [`check`].
pub(crate) fn span(reader: &CaseReader<'_>, name: &str, item: &LoadFile) -> Result<LoadSpan, PlanError> {
    let at_ns = match (&item.at, &item.after) {
        (Some(_), Some(after)) => {
            let error = reader.wrong(after, "`at` and `after` both say when the item begins");
            return Err(error.hint("leave one of them out"));
        }
        (Some(at), None) => Some(reader.ns(at, "at", 0..=PHASE_NS_MAX)?),
        (None, Some(after)) => Some(end_of(reader, name, after)?),
        (None, None) => None,
    };
    let until_ns = item.until.as_ref().map(|until| ends(reader, until)).transpose()?;
    if let (Some(at_ns), Some(until_ns), Some(typed)) = (at_ns, until_ns, &item.until)
        && until_ns <= at_ns
    {
        let message = format!("`until`: the item begins at {} and has ended by then", duration(at_ns));
        return Err(reader.wrong(typed, message).hint("both count from the beginning of the measure phase"));
    }
    Ok(LoadSpan { at_ns, until_ns })
}

fn ends(reader: &CaseReader<'_>, until: &Scalar) -> Result<u64, PlanError> {
    reader.ns(until, "until", 0..=PHASE_NS_MAX)
}

/// When the item ends after which another one begins.
fn end_of(reader: &CaseReader<'_>, own: &str, after: &Scalar) -> Result<u64, PlanError> {
    let before = reader.text(after)?;
    let load = &reader.scenario.typed().load;
    let Some((_, item)) = load.iter().find(|(name, _)| name.text == before && name.text != own) else {
        let others = load.iter().map(|(name, _)| name.text.as_str()).filter(|name| *name != own);
        let hint = known_hint(&before, others.collect::<Vec<_>>());
        return Err(reader
            .wrong(after, format!("`after`: {} is no other load item", quoted(&before)))
            .hint(hint));
    };
    let Some(until) = &item.until else {
        let message = format!("`after`: `{before}` lasts as long as the measure phase");
        return Err(reader.wrong(after, message).hint(format!("say with `until` when `{before}` ends")));
    };
    ends(reader, until)
}

/// Items come and go inside a measure phase of a given length.
pub(crate) fn check(
    reader: &CaseReader<'_>,
    load: &BTreeMap<String, LoadPlan>,
    phases: &PhasesPlan,
) -> Result<(), PlanError> {
    let scenario = reader.scenario.typed();
    for (name, item) in &scenario.load {
        let Some(LoadSpan { at_ns, until_ns }) = load.get(&name.text).map(|plan| plan.span) else { continue };
        let begins = [("at", &item.at), ("after", &item.after)].into_iter();
        let begins =
            begins.filter_map(|(key, typed)| Some((key, typed.as_ref()?, at_ns?, phases.measure_ns - 1)));
        let ends = item.until.iter().filter_map(|typed| Some(("until", typed, until_ns?, phases.measure_ns)));
        for (key, typed, ns, most_ns) in begins.chain(ends) {
            if let MeasureFile::Records { .. } = &scenario.phases.measure {
                let message = format!("`{key}` needs a measure phase of a given length");
                return Err(reader.wrong(typed, message).hint("give `measure` a duration"));
            }
            if ns > most_ns {
                let length = duration(phases.measure_ns);
                let message = format!(
                    "`{key}`: {} lies outside of the measure phase, which lasts {length}",
                    duration(ns)
                );
                return Err(reader.wrong(typed, message).hint("it counts from the beginning of that phase"));
            }
        }
    }
    Ok(())
}

/// A search chooses how long its trials are: nothing keeps its place in them.
pub(crate) fn none_in_search(reader: &CaseReader<'_>) -> Result<(), PlanError> {
    let items = reader.scenario.typed().load.iter();
    let mut typed =
        items.flat_map(|(_, item)| [("at", &item.at), ("after", &item.after), ("until", &item.until)]);
    match typed.find_map(|(key, typed)| Some((key, typed.as_ref()?))) {
        None => Ok(()),
        Some((key, typed)) => {
            let message = format!("`{key}` has no place in a search, which chooses how long its trials are");
            Err(reader.wrong(typed, message).hint("search without items that come or go"))
        }
    }
}
