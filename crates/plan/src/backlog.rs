//! When a backlog of so many bytes will be there, by the rates of the items that write it.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use crate::volume::records;
use kdyno_model::plan::{LoadPlan, LoadSpan, PhasesPlan, ProducePlan, StartOffset};
use kdyno_model::units::size;
use kdyno_scenario::file::{LoadFile, MeasureFile, MomentFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// Largest backlog that can be meant.
const BYTES_MAX: u64 = 1 << 50;

/// Sets the spans of items that come or go with a backlog. What is wrong with spans as such is for
/// [`check`](crate::spans::check).
pub(crate) fn resolve(
    reader: &CaseReader<'_>,
    load: &mut BTreeMap<String, LoadPlan>,
    phases: &PhasesPlan,
) -> Result<(), PlanError> {
    let scenario = reader.scenario.typed();
    if let MeasureFile::Records { .. } = scenario.phases.measure {
        return Ok(());
    }
    let items = || scenario.load.iter().map(|(name, item)| (name.text.as_str(), item));
    let mut spans = BTreeMap::new();
    for (name, item) in items() {
        let Some(plan) = load.get(name) else { continue };
        let mut span = plan.span;
        if let Some(MomentFile::Backlog(typed)) = &item.at {
            from_the_beginning(reader, typed, plan)?;
            span.at_ns = Some(there(reader, typed, &plan.topic, load, phases)?);
        }
        if let Some(MomentFile::Backlog(typed)) = &item.until {
            span.until_ns = Some(there(reader, typed, &plan.topic, load, phases)?);
        }
        spans.insert(name.to_owned(), span);
    }
    for (name, item) in items() {
        let before = item.after.as_ref().map(|after| reader.text(after)).transpose()?;
        let ends = before.and_then(|before| {
            let (_, before_file) = items().find(|(name, _)| *name == before)?;
            ends_with_backlog(before_file).then(|| spans.get(&before)?.until_ns).flatten()
        });
        if let (Some(ends_ns), Some(span)) = (ends, spans.get_mut(name)) {
            span.at_ns = Some(ends_ns);
        }
    }
    for (name, span) in spans {
        if let Some(plan) = load.get_mut(&name) {
            plan.span = span;
        }
    }
    Ok(())
}

fn ends_with_backlog(item: &LoadFile) -> bool {
    matches!(item.until, Some(MomentFile::Backlog(_)))
}

/// Readers that begin at the end of the log find nothing there.
fn from_the_beginning(reader: &CaseReader<'_>, typed: &Scalar, plan: &LoadPlan) -> Result<(), PlanError> {
    match plan.role.as_consume() {
        Some(consume) if consume.from == StartOffset::Latest => {
            let message = "`at: {backlog: …}`: readers that begin at the end of the log have no backlog";
            Err(reader.wrong(typed, message).hint("write `from: earliest`"))
        }
        _ => Ok(()),
    }
}

/// When the items that write to a topic will have sent so many bytes of values since the load began, ns from the beginning of
/// the measure phase.
fn there(
    reader: &CaseReader<'_>,
    typed: &Scalar,
    topic: &str,
    load: &BTreeMap<String, LoadPlan>,
    phases: &PhasesPlan,
) -> Result<u64, PlanError> {
    let bytes = reader.bytes(typed, "backlog", 1..=BYTES_MAX)? as f64;
    let wrong = |why: String, hint: &str| Err(reader.wrong(typed, format!("`backlog`: {why}")).hint(hint));
    if phases.warmup_auto.is_some() {
        let why = "it counts from the beginning of the load, and the warm-up ends by evidence".to_owned();
        return wrong(why, "give `warmup` a duration, e.g. `warmup: 30s`");
    }
    let writers = load.values().filter(|item| item.topic == topic);
    let writers: Vec<(&ProducePlan, LoadSpan)> =
        writers.filter_map(|item| Some((item.role.as_produce()?, item.span))).collect();
    if writers.is_empty() {
        let why = format!("no load item produces to {}", quoted(topic));
        return wrong(why, "`at` also takes a time, e.g. `30s`");
    }
    let written = |end_ns: u64| -> Option<f64> {
        let each = writers.iter().map(|(produce, span)| {
            let until_ns = Some(span.until_ns.map_or(end_ns, |own_ns| own_ns.min(end_ns)));
            let sent = records(produce, LoadSpan { until_ns, ..*span }, phases)?;
            // A tombstone has no value.
            Some(sent * f64::from(produce.value_bytes) * (1.0 - produce.records.tombstone_share))
        });
        each.sum()
    };
    let (Some(warm), Some(all)) = (written(0), written(phases.measure_ns)) else {
        let why = "how fast writers with `rate: max` send is not known".to_owned();
        return wrong(why, "give them a rate, or say a time, e.g. `30s`");
    };
    if warm >= bytes {
        let why = format!("the warm-up alone writes {}", size(warm as u64));
        return wrong(why, "shorten `warmup`, or have a larger backlog");
    }
    if all < bytes {
        let why = format!("the writers send {} until the measure phase ends", size(all as u64));
        return wrong(why, "lengthen `measure`, raise their rate, or have a smaller backlog");
    }
    let (mut before_ns, mut there_ns) = (0, phases.measure_ns);
    while there_ns - before_ns > 1 {
        let middle_ns = before_ns + (there_ns - before_ns) / 2;
        match written(middle_ns).is_some_and(|sent| sent >= bytes) {
            true => there_ns = middle_ns,
            false => before_ns = middle_ns,
        }
    }
    Ok(there_ns)
}
