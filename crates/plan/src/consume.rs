//! Load items that consume.

use crate::choices::PlanError;
use crate::client;
use crate::reader::CaseReader;
use kdyno_model::plan::{CasePlan, ConsumePlan, LoadPlan, Plan, ReadDepth, StartOffset, WorkPlan};
use kdyno_model::units::{count, duration, exact_duration, size};
use kdyno_scenario::client::consumer_defaults;
use kdyno_scenario::file::{ConsumeFile, LoadFile, WorkFile};
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeSet;

/// Longest work on a record: an hour.
pub(crate) const WORK_NS_MAX: u64 = 3_600_000_000_000;
/// Most multiples of the least work by Zipf's law.
pub(crate) const MULTIPLES_MAX: u64 = 1_000_000;
/// Highest exponent of Zipf's law: beyond it all work is the least.
const EXPONENT_MAX: f64 = 20.0;

/// What a consume item says.
pub(crate) fn consume_plan(
    reader: &CaseReader<'_>,
    item: &LoadFile,
    typed: &ConsumeFile,
) -> Result<ConsumePlan, PlanError> {
    let from = reader.word(&typed.from, "from", &["latest", "earliest"])?;
    let from = from.parse().unwrap_or(StartOffset::Latest);
    let read = reader.word(&typed.read, "read", &["decode", "crc", "header"])?;
    let read = read.parse().unwrap_or(ReadDepth::Decode);
    let work = work(reader, &typed.work)?;
    if work.is_some() && read != ReadDepth::Decode {
        let message = "an application that works on records reads them: `work` takes `read: decode`";
        return Err(reader.wrong(&typed.read, message).hint("leave `read` out"));
    }
    let defaults = ConsumePlan { work, ..consumer_defaults(from, read) };
    client::consumer(reader, defaults, &item.client, typed.group.as_ref())
}

fn work(reader: &CaseReader<'_>, typed: &WorkFile) -> Result<Option<WorkPlan>, PlanError> {
    let time = |typed: &Scalar, what: &str| reader.ns(typed, what, 1..=WORK_NS_MAX);
    Ok(Some(match typed {
        WorkFile::Constant(typed) => match reader.ns(typed, "work", 0..=WORK_NS_MAX)? {
            0 => return Ok(None),
            ns => WorkPlan::Constant { ns },
        },
        WorkFile::Exponential(mean) => WorkPlan::Exponential { mean_ns: time(mean, "exponential")? },
        WorkFile::Zipf { least, most, s } => {
            let (least_ns, most_ns) = (time(least, "least")?, time(most, "most")?);
            if most_ns < least_ns {
                return Err(reader.wrong(most, "`most` is less than `least`"));
            }
            if most_ns / least_ns > MULTIPLES_MAX {
                let message = format!("`most` is more than {MULTIPLES_MAX} times `least`");
                return Err(reader.wrong(most, message));
            }
            let exponent = reader.number(s, "s", 0.0..=EXPONENT_MAX)?;
            WorkPlan::Zipf { least_ns, most_ns, exponent }
        }
    }))
}

/// A sentence for each item that consumes what the load writes and has no end-to-end latency.
pub(crate) fn remarks(plan: &Plan) -> BTreeSet<String> {
    plan.every_case().flat_map(without_end_to_end).collect()
}

fn without_end_to_end(case: &CasePlan) -> Vec<String> {
    let why = |(name, item): (&String, &LoadPlan)| {
        let consume = item.role.as_consume().filter(|_| !case.has_end_to_end(item))?;
        let writers = || case.load.values().filter(|other| other.topic == item.topic);
        if !writers().any(|other| other.role.as_produce().is_some()) {
            return None;
        }
        let why = match writers().any(|other| other.role.carries_intended()) {
            true => format!("with `read: {}` it looks at no record", consume.read.name()),
            false => "records of a pool do not say when they were intended".to_owned(),
        };
        Some(format!("`{name}` has no end-to-end latency: {why}"))
    };
    case.load.iter().filter_map(why).collect()
}

/// A sentence for each item whose applications cannot keep up with what is scheduled to be written.
pub(crate) fn too_slow(plan: &Plan) -> BTreeSet<String> {
    plan.every_case().flat_map(slow_items).collect()
}

/// A sentence for each item whose fetches all wait for as long as they may: less is offered to its topic in that time than
/// a fetch asks for.
pub(crate) fn fetches_wait(plan: &Plan) -> BTreeSet<String> {
    let waiting = |case: &CasePlan, name: &str, item: &LoadPlan| {
        let consume = item.role.as_consume().filter(|consume| consume.fetch_bytes_min > 1)?;
        let writers = case.load.values().filter(|other| other.topic == item.topic);
        let offered = writers.filter_map(|other| {
            let produce = other.role.as_produce()?;
            Some(produce.rate.peak_per_s().map(|per_s| per_s * produce.record_bytes() as f64))
        });
        // A maximum rate is not known beforehand.
        let bytes_per_s = offered.sum::<Option<f64>>().filter(|bytes| *bytes > 0.0)?;
        let within_wait = bytes_per_s * consume.fetch_wait_ns as f64 / 1e9;
        (within_wait < f64::from(consume.fetch_bytes_min)).then(|| {
            format!(
                "each fetch of `{name}` waits for {} (`fetch.max.wait.ms`): it asks for {} (`fetch.min.bytes`), and {}/s are \
                 offered to `{}` at the highest",
                exact_duration(consume.fetch_wait_ns as f64),
                size(consume.fetch_bytes_min.into()),
                size(bytes_per_s as u64),
                item.topic
            )
        })
    };
    let of_case = |case: &CasePlan| -> Vec<String> {
        case.load.iter().filter_map(|(name, item)| waiting(case, name, item)).collect()
    };
    plan.every_case().flat_map(of_case).collect()
}

/// A sentence for each item whose clients leave their group while they work on what one poll hands them.
pub(crate) fn polls_too_seldom(plan: &Plan) -> BTreeSet<String> {
    plan.every_case().flat_map(seldom_polling_items).collect()
}

fn seldom_polling_items(case: &CasePlan) -> Vec<String> {
    let seldom = |(name, item): (&String, &LoadPlan)| {
        let consume = item.role.as_consume()?;
        let (work, group) = (consume.work?, consume.group.as_ref()?);
        let poll_ns = work.mean_ns() * f64::from(consume.poll_records_max);
        (poll_ns > group.poll_interval_max_ns as f64).then(|| {
            format!(
                "`{name}` works for {} on a poll of {} records (`max.poll.records`), which it gets once so many wait, and a \
                 member that polls less often than every {} (`max.poll.interval.ms`) is put out of its group",
                duration(poll_ns as u64),
                count(f64::from(consume.poll_records_max)),
                duration(group.poll_interval_max_ns)
            )
        })
    };
    case.load.iter().filter_map(seldom).collect()
}

fn slow_items(case: &CasePlan) -> Vec<String> {
    let offered_to = |topic: &str| -> f64 {
        let writers = case.load.values().filter(|item| item.topic == topic);
        writers.filter_map(|item| item.role.as_produce()?.rate.peak_per_s()).sum()
    };
    let slow = |(name, item): (&String, &LoadPlan)| {
        let most_per_s = case.keeps_up_to_per_s(item)?;
        let offered_per_s = offered_to(&item.topic);
        let why = case.fullest_share(item).map_or_else(String::new, |share| {
            format!(", because one client has {} of {} partitions,", share.partitions, share.of)
        });
        (most_per_s < offered_per_s).then(|| {
            format!(
                "`{name}` keeps up with {} records/s of `{}` at most{why} and {} records/s are offered at the highest: \
                 its lag grows",
                count(most_per_s),
                item.topic,
                count(offered_per_s)
            )
        })
    };
    case.load.iter().filter_map(slow).collect()
}
