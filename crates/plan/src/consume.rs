//! Load items that consume.

use crate::PlanError;
use crate::client;
use crate::reader::Reader;
use kdyno_model::plan::{ConsumePlan, Read, StartOffset, WorkPlan};
use kdyno_scenario::client::consumer_defaults;
use kdyno_scenario::file::{ConsumeFile, LoadFile, WorkFile};
use kdyno_scenario::yaml::Typed;

/// Longest work on a record: an hour.
const WORK_NS_MAX: u64 = 3_600_000_000_000;
/// Most multiples of the least work by Zipf's law.
const MULTIPLES_MAX: u64 = 1_000_000;
/// Highest exponent of Zipf's law: beyond it all work is the least.
const EXPONENT_MAX: f64 = 20.0;

/// What a consume item says.
pub(crate) fn consume_plan(
    reader: &Reader<'_>,
    item: &LoadFile,
    typed: &ConsumeFile,
) -> Result<ConsumePlan, PlanError> {
    let from = match reader.word(&typed.from, "from", &["latest", "earliest"])?.as_str() {
        "earliest" => StartOffset::Earliest,
        _ => StartOffset::Latest,
    };
    let read = match reader.word(&typed.read, "read", &["decode", "crc", "header"])?.as_str() {
        "header" => Read::Header,
        "crc" => Read::Crc,
        _ => Read::Decode,
    };
    let work = work(reader, &typed.work)?;
    if work.is_some() && read != Read::Decode {
        let message = "an application that works on records reads them: `work` takes `read: decode`";
        return Err(reader.wrong(&typed.read, message).hint("leave `read` out"));
    }
    let defaults = ConsumePlan { work, ..consumer_defaults(from, read) };
    client::consumer(reader, defaults, &item.client)
}

fn work(reader: &Reader<'_>, typed: &WorkFile) -> Result<Option<WorkPlan>, PlanError> {
    let time = |typed: &Typed, what: &str| reader.ns(typed, what, 1..=WORK_NS_MAX);
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
