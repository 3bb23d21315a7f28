//! Load items that probe.

use crate::choices::PlanError;
use crate::client;
use crate::phases::PHASE_NS_MAX;
use crate::reader::CaseReader;
use kdyno_model::plan::{
    Arrivals, CasePlan, EndToEndPlan, LoadPlan, Partitioner, Payload, Plan, ProducePlan, ProducerSettings,
    Rate, RatePiece, ReadDepth, RecordPlan, Role, StartOffset,
};
use kdyno_scenario::client::consumer_defaults;
use kdyno_scenario::file::{ItemClientFile, MeasureFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// Fastest probe, records per second: what is faster is load.
const RATE_PER_S_MAX: f64 = 10_000.0;
/// Slowest one: ten records in a second, or a minute has too few of them for a p99.
const RATE_PER_S_MIN: f64 = 10.0;
/// Largest value, bytes: below the limits of every broker's defaults.
const VALUE_BYTES_MAX: u64 = 256 << 10;

/// What an end_to_end item says: records are sent as soon as they are there, and each partition has its turn.
pub(crate) fn probe_plan(
    reader: &CaseReader<'_>,
    rate: &Scalar,
    value: &Scalar,
) -> Result<EndToEndPlan, PlanError> {
    if let MeasureFile::Records { .. } = &reader.scenario.typed().phases.measure {
        let message = "a probe goes on as long as the load does: it takes a measure phase by time";
        return Err(reader.wrong(rate, message).hint("write `measure` as a time, e.g. `1m`"));
    }
    let text = reader.text(rate)?;
    let wrong = |message: String| {
        reader.wrong(rate, format!("`rate`: {message}")).hint("a probe takes 10/s to 10k/s, e.g. `200/s`")
    };
    let per_s = units::parse_as(&text, Dimension::PerS).map_err(wrong)?;
    if !(RATE_PER_S_MIN..=RATE_PER_S_MAX).contains(&per_s) {
        return Err(wrong(format!("{} is no rate of a probe", quoted(&text))));
    }
    let piece = RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: PHASE_NS_MAX };
    let defaults = client::producer(reader, &ItemClientFile::none(rate.place), false)?;
    Ok(EndToEndPlan {
        produce: ProducePlan {
            rate: Rate::Open { pieces: vec![piece], arrivals: Arrivals::Poisson },
            // At most 256 KiB.
            value_bytes: reader.bytes(value, "value", 1..=VALUE_BYTES_MAX)? as u32,
            payload: Payload::Unique,
            records: RecordPlan::default(),
            records_max: None,
            synchronous: false,
            transactions: None,
            tool_lines: None,
            client: ProducerSettings {
                acks: -1,
                linger_ns: 0,
                partitioner: Partitioner::RoundRobin,
                adaptive_partitioning: false,
                ..defaults
            },
        },
        consume: consumer_defaults(StartOffset::Latest, ReadDepth::Decode),
    })
}

/// A probe reads all that is in its topic: the load of others there would make it as heavy as that is, and its figures
/// would be of theirs.
pub(crate) fn have_own_topics(
    reader: &CaseReader<'_>,
    load: &BTreeMap<String, LoadPlan>,
) -> Result<(), PlanError> {
    for (name, typed) in &reader.scenario.typed().load {
        let Some(probe) = load.get(&name.text).filter(|item| matches!(item.role, Role::EndToEnd(_))) else {
            continue;
        };
        let is_other = |(other, item): &(&String, &LoadPlan)| {
            **other != name.text && item.topic == probe.topic && item.role.as_produce().is_some()
        };
        if let Some((other, _)) = load.iter().find(is_other) {
            let message = format!(
                "`{}` probes with topic `{}`, to which `{other}` sends too: its consumer would have to read all of that",
                name.text, probe.topic
            );
            let hint = "give the probe a topic of its own, with as many partitions as brokers; how long the records of a load \
                        take from end to end, the items that consume them tell";
            return Err(reader.wrong(&typed.topic, message).hint(hint));
        }
    }
    Ok(())
}

/// A sentence for each probe that does not reach every broker.
pub(crate) fn remarks(plan: &Plan) -> BTreeSet<String> {
    let of_case = |case: &CasePlan| {
        let remarks = |(name, item): (&String, &LoadPlan)| {
            let (partitions, brokers) = case.leaders_missed(item)?;
            Some(format!(
                "`{name}` sends to {partitions} of {brokers} brokers: its topic has no more partitions that they could lead"
            ))
        };
        case.load.iter().filter_map(remarks).collect::<Vec<_>>()
    };
    plan.every_case().flat_map(of_case).collect()
}
