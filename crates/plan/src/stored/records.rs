//! What records are made of.

use super::refusal::{KeyPath, Passed};
use crate::records::{DELIMITER_BYTES_MAX, EXPONENT_MAX, RATIO_MAX};
use kdyno_model::plan::{
    AvroPlan, CasePlan, GIVEN_BYTES_MAX, GIVEN_COUNT_MAX, GivenFile, HEADER_BYTES_MAX, HEADERS_MAX,
    HeaderPlan, KEY_BYTES_MAX, KeyLaw, KeyPlan, RecordPlan, SamplePlan, VALUE_BYTES_MAX, ValuesPlan,
};
use kdyno_scenario::input::quoted;

/// Largest standard deviation of a lognormal size: beyond it all sizes are 0 or cut off.
const SIGMA_MAX: f64 = 100.0;

pub(super) fn records(at: &KeyPath<'_>, of: &RecordPlan, case: &CasePlan) -> Passed {
    let RecordPlan { key, values, compressible, tombstone_share, headers, partition } = of;
    key.as_ref().map_or(Ok(()), |of| keys(&at.key("key"), of))?;
    sizes(&at.key("values"), values, case)?;
    at.key("compressible").may_be_within(*compressible, 1.0..=RATIO_MAX)?;
    at.key("tombstone_share").within(*tombstone_share, 0.0..=1.0)?;
    at.key("headers").within(headers.len(), 0..=HEADERS_MAX)?;
    headers.iter().try_for_each(|HeaderPlan { name, bytes }| {
        at.key("headers").within(name.len(), 1..=HEADER_BYTES_MAX as usize)?;
        at.key("headers").within(*bytes, 0..=HEADER_BYTES_MAX)
    })?;
    at.key("partition").may_be_within(*partition, 0..=i32::MAX as u32)
}

fn keys(at: &KeyPath<'_>, of: &KeyPlan) -> Passed {
    match of {
        KeyPlan::Numbered { law, of, bytes } => {
            at.key("of").within(*of, 1..=u32::MAX)?;
            let digits = (of - 1).checked_ilog10().unwrap_or(0) + 1;
            at.key("bytes").within(*bytes, digits..=KEY_BYTES_MAX)?;
            match law {
                KeyLaw::Sequential | KeyLaw::Uniform => Ok(()),
                KeyLaw::Zipf { exponent } => {
                    at.key("exponent").within(*exponent, f64::MIN_POSITIVE..=EXPONENT_MAX)
                }
            }
        }
        KeyPlan::File(file) => given(at, file, KEY_BYTES_MAX),
    }
}

fn sizes(at: &KeyPath<'_>, of: &ValuesPlan, case: &CasePlan) -> Passed {
    match of {
        ValuesPlan::Fixed | ValuesPlan::Numbered => Ok(()),
        ValuesPlan::Uniform { bytes_min, bytes_max } => {
            at.key("bytes_max").within(*bytes_max, 0..=VALUE_BYTES_MAX)?;
            at.key("bytes_min").within(*bytes_min, 0..=*bytes_max)
        }
        ValuesPlan::Lognormal { median_bytes, sigma, bytes_max } => {
            at.key("bytes_max").within(*bytes_max, 1..=VALUE_BYTES_MAX)?;
            at.key("median_bytes").within(*median_bytes, 1..=*bytes_max)?;
            at.key("sigma").within(*sigma, 0.0..=SIGMA_MAX)
        }
        ValuesPlan::File(file) => given(at, file, VALUE_BYTES_MAX),
        ValuesPlan::Sample(SamplePlan { topic, bytes_max, value_bytes_max }) => {
            // Which topic of the target that is, the target says.
            let is_there = case.system.target().is_some() && case.topics.contains_key(topic);
            at.key("topic").named(topic, is_there, "a topic that values are taken from")?;
            at.key("bytes_max").within(u64::from(*bytes_max), 1..=GIVEN_BYTES_MAX)?;
            at.key("value_bytes_max").within(*value_bytes_max, 0..=VALUE_BYTES_MAX)
        }
        ValuesPlan::Avro(AvroPlan { path, .. }) => Err(of_file(at, path)),
    }
}

fn of_file(at: &KeyPath<'_>, path: &str) -> crate::PlanError {
    at.refused(format!("sends what the file {} holds", quoted(path)))
}

/// Only what is part of the program: it is looked up by name there.
fn given(at: &KeyPath<'_>, of: &GivenFile, bytes_max: u32) -> Passed {
    let GivenFile { path, delimiter, crc: _, pieces, piece_bytes_max } = of;
    if !of.is_bundled() {
        return Err(of_file(at, path));
    }
    at.key("delimiter").within(delimiter.len(), 1..=DELIMITER_BYTES_MAX)?;
    at.key("pieces").within(*pieces as usize, 1..=GIVEN_COUNT_MAX)?;
    at.key("piece_bytes_max").within(*piece_bytes_max, 0..=bytes_max)
}
