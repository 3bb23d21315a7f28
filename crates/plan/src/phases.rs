//! How long the phases of a trial are, and the load for clusters that were just started.

use crate::choices::PlanError;
use crate::reader::CaseReader;
pub(crate) use kdyno_model::plan::PHASE_NS_MAX;
use kdyno_model::plan::{Conditioning, LoadPlan, PhasesPlan, ProducePlan, Rate, WarmupAuto};
use kdyno_scenario::file::MeasureFile;
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// Shortest drain of `auto`, for loads that only consume.
const DRAIN_NS_MIN: u64 = 1_000_000_000;

/// The `phases` section.
pub(crate) fn phases(
    reader: &CaseReader<'_>,
    load: &BTreeMap<String, LoadPlan>,
) -> Result<PhasesPlan, PlanError> {
    let typed = &reader.scenario.typed().phases;
    let producers = || producers(load);
    let measure_ns = match &typed.measure {
        MeasureFile::Time(measure) => reader.ns(measure, "measure", 1..=PHASE_NS_MAX)?,
        MeasureFile::Records { records, within } => {
            if producers().next().is_none() {
                let hint = "give a duration";
                return Err(reader.wrong(records, "`records` needs a load item that produces").hint(hint));
            }
            reader.ns(within, "within", 1..=PHASE_NS_MAX)?
        }
        MeasureFile::Until { within, .. } => reader.ns(within, "within", 1..=PHASE_NS_MAX)?,
    };
    let drain_ns = match reader.text(&typed.drain)?.as_str() {
        "auto" => {
            producers().map(|produce| produce.client.delivery_timeout_ns).max().unwrap_or(0).max(DRAIN_NS_MIN)
        }
        _ => reader.ns(&typed.drain, "drain", 0..=PHASE_NS_MAX)?,
    };
    let mut warmup = Span::read(reader, &typed.warmup, "warmup", WARMUP_AUTO)?;
    if warmup.is_open && load.is_empty() {
        // Nothing runs before the measure phase that could settle.
        warmup = Span { least_ns: 0, most_ns: 0, is_open: false };
    }
    let warmup_auto = warmup
        .is_open
        .then(|| WarmupAuto { least_ns: warmup.least_ns, records_min: warmup_records(load, warmup.most_ns) });
    Ok(PhasesPlan { warmup_ns: warmup.most_ns, warmup_auto, measure_ns, drain_ns })
}

fn producers(load: &BTreeMap<String, LoadPlan>) -> impl Iterator<Item = &ProducePlan> {
    load.values().filter_map(|item| item.role.as_produce())
}

/// `warmup: auto`.
const WARMUP_AUTO: &str = "5s..60s";
/// `condition: auto`: brokers that were just started compile what they run for a minute and more under load; most of
/// that is over by then.
const CONDITION_AUTO: &str = "20s..60s";
/// Records after which a warm-up may end: what the JVM compiles, it compiles after some ten thousand calls.
const WARMUP_RECORDS: u64 = 20_000;

/// Slow loads do not reach the usual number in time: half of what they offer in the longest warm-up is enough then.
pub(crate) fn warmup_records(load: &BTreeMap<String, LoadPlan>, most_ns: u64) -> u64 {
    let at_t0 = load.values().filter(|item| !item.span.is_late());
    let first_rates = at_t0.filter_map(|item| item.role.as_produce()).map(|produce| match &produce.rate {
        Rate::Open { pieces, .. } => pieces.first().map(|piece| piece.from_per_s),
        Rate::Max { .. } => None,
    });
    let offered = first_rates.sum::<Option<f64>>().filter(|per_s| *per_s > 0.0);
    offered.map_or(WARMUP_RECORDS, |per_s| WARMUP_RECORDS.min((per_s * most_ns as f64 / 1e9 / 2.0) as u64))
}

/// The load for clusters that were just started; `None`: they get none.
pub(crate) fn conditioning(reader: &CaseReader<'_>) -> Result<Option<Conditioning>, PlanError> {
    let typed = &reader.scenario.typed().phases.condition;
    if reader.text(typed)? == "none" {
        return Ok(None);
    }
    let span = Span::read(reader, typed, "condition", CONDITION_AUTO)?;
    Ok(Some(Conditioning { least_ns: span.least_ns, most_ns: span.most_ns }))
}

/// A phase that lasts a given time, or ends by evidence between two bounds.
struct Span {
    least_ns: u64,
    most_ns: u64,
    is_open: bool,
}

impl Span {
    fn read(reader: &CaseReader<'_>, typed: &Scalar, key: &str, auto: &str) -> Result<Self, PlanError> {
        let text = reader.text(typed)?;
        let text = if text == "auto" { auto } else { &text };
        let (least_ns, most_ns) = reader.span(typed, key, text)?;
        Ok(Self { least_ns, most_ns: most_ns.unwrap_or(least_ns), is_open: most_ns.is_some() })
    }
}
