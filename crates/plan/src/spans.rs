//! When load items come and go.

use crate::choices::PlanError;
use crate::phases::PHASE_NS_MAX;
use crate::reader::CaseReader;
use kdyno_model::plan::{LoadPlan, LoadSpan, PhasesPlan};
use kdyno_model::units::duration;
use kdyno_scenario::file::{LoadFile, MeasureFile, MomentFile};
use kdyno_scenario::input::{known_hint, quoted};
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// When an item comes and goes; whether that lies in the measure phase is for [`check`]. One that comes with a backlog is late,
/// and [`resolve`](crate::backlog::resolve) says when.
pub(crate) fn span(reader: &CaseReader<'_>, name: &str, item: &LoadFile) -> Result<LoadSpan, PlanError> {
    let at_ns = match (&item.at, &item.after) {
        (Some(_), Some(after)) => {
            let error = reader.wrong(after, "`at` and `after` both say when the item begins");
            return Err(error.hint("leave one of them out"));
        }
        (Some(MomentFile::Time(at)), None) => Some(reader.ns(at, "at", 0..=PHASE_NS_MAX)?),
        (Some(MomentFile::Backlog(_)), None) => Some(0),
        (None, Some(after)) => Some(end_of(reader, name, after)?),
        (None, None) => None,
    };
    let until_ns = item.until.as_ref().map(|until| ends(reader, until)).transpose()?.flatten();
    Ok(LoadSpan { at_ns, until_ns })
}

/// `None`: with a backlog.
fn ends(reader: &CaseReader<'_>, until: &MomentFile) -> Result<Option<u64>, PlanError> {
    match until {
        MomentFile::Time(until) => reader.ns(until, "until", 0..=PHASE_NS_MAX).map(Some),
        MomentFile::Backlog(_) => Ok(None),
    }
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
    Ok(ends(reader, until)?.unwrap_or(0))
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
        let at = item.at.as_ref().map(MomentFile::typed);
        let begins = [("at", at), ("after", item.after.as_ref())].into_iter();
        let begins = begins.filter_map(|(key, typed)| Some((key, typed?, at_ns?, phases.measure_ns - 1)));
        let until = item.until.as_ref().map(MomentFile::typed);
        if let (Some(at_ns), Some(until_ns), Some(typed)) = (at_ns, until_ns, until)
            && until_ns <= at_ns
        {
            let message = format!("`until`: the item begins at {} and has ended by then", duration(at_ns));
            let hint = "both count from the beginning of the measure phase";
            return Err(reader.wrong(typed, message).hint(hint));
        }
        // One that goes with a backlog has no `until` yet where the length of the phase is not given.
        let ends = until.into_iter().map(|typed| ("until", typed, until_ns.unwrap_or(0), phases.measure_ns));
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
    let mut typed = items.flat_map(|(_, item)| {
        let [at, until] = [&item.at, &item.until].map(|one| one.as_ref().map(MomentFile::typed));
        [("at", at), ("after", item.after.as_ref()), ("until", until)]
    });
    match typed.find_map(|(key, typed)| Some((key, typed?))) {
        None => Ok(()),
        Some((key, typed)) => {
            let message = format!("`{key}` has no place in a search, which chooses how long its trials are");
            Err(reader.wrong(typed, message).hint("search without items that come or go"))
        }
    }
}
