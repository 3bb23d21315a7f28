//! What records are made of: keys, values, headers, tombstones.

use crate::choices::{PlanError, UnusableSchema};
use crate::reader::CaseReader;
use kdyno_model::plan::{
    AvroPlan, Compression, GIVEN_BYTES_MAX, GIVEN_COUNT_MAX, GivenFile, HEADER_BYTES_MAX, HEADERS_MAX,
    HeaderPlan, KEY_BYTES_MAX, KeyLaw, KeyPlan, LoadPlan, Plan, RecordPlan, SamplePlan, TRAILER_HEADER,
    VALUE_BYTES_MAX, ValuesPlan, pieces,
};
use kdyno_model::units::size;
use kdyno_scenario::file::{GivenNameFile, KeyFile, NumberedFile, ProduceFile, ValuesFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::yaml::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// Standard deviations of the normal distribution that 99 % lie below.
const DEVIATIONS_P99: f64 = 2.326_347_874_040_841;
/// Where a lognormal size is cut off if nothing is said, in its 99th percentiles.
const MAX_IN_P99: u64 = 10;
/// Highest ratio of compression that can be meant.
pub(crate) const RATIO_MAX: f64 = 1_000.0;
/// Highest exponent of Zipf's law: beyond it there is one key.
pub(crate) const EXPONENT_MAX: f64 = 20.0;
/// Longest delimiter, bytes.
pub(crate) const DELIMITER_BYTES_MAX: usize = 64;

/// What a produce item says of its records, and the bytes of their values: of all, or in the mean.
pub(crate) fn records(reader: &CaseReader<'_>, typed: &ProduceFile) -> Result<(RecordPlan, u32), PlanError> {
    let (values, value_bytes) = values(reader, &typed.value.values)?;
    let key = key(reader, &typed.key)?;
    let compressible = match (&typed.value.compressible, &values) {
        (None, _) => None,
        (Some(ratio), ValuesPlan::File(_) | ValuesPlan::Sample(_) | ValuesPlan::Avro(_)) => {
            let message = "`compressible`: values of a file, a topic or a schema are what they are";
            return Err(reader
                .wrong(ratio, message)
                .hint("leave it out; the ratio that they reach is printed"));
        }
        (Some(ratio), _) => Some(reader.number(ratio, "compressible", 1.0..=RATIO_MAX)?),
    };
    let tombstone_share = match &typed.tombstones {
        None => 0.0,
        Some(share) => tombstones(reader, share, key.is_some())?,
    };
    let partition = match &typed.partition {
        None => None,
        Some(typed) => Some(reader.small(typed, "partition", 0..=i32::MAX as u32)?),
    };
    let headers = headers(reader, &typed.headers)?;
    Ok((RecordPlan { key, values, compressible, tombstone_share, headers, partition }, value_bytes))
}

/// Bytes of a batch before its first record.
const BATCH_HEADER_BYTES: u64 = 61;

/// A sentence for each item whose batches hold one record each: two do not fit in `batch.size`. `batch.size: 0` asks for that.
pub(crate) fn one_per_batch(plan: &Plan) -> BTreeSet<String> {
    let is_alone = |item: &LoadPlan| {
        let produce = item.role.as_produce()?;
        let (batch_bytes, records) = (u64::from(produce.client.batch_bytes), 2 * produce.record_bytes());
        let is_known = produce.records.values == ValuesPlan::Fixed && batch_bytes > 1;
        Some(is_known && BATCH_HEADER_BYTES + records > batch_bytes)
    };
    let mut found: BTreeMap<&str, (u32, u32, &LoadPlan)> = BTreeMap::new();
    for (name, item) in plan.every_case().flat_map(|case| &case.load) {
        let Some(is_alone) = is_alone(item) else { continue };
        let (alone, all, example) = found.entry(name).or_insert((0, 0, item));
        (*alone, *all) = (*alone + u32::from(is_alone), *all + 1);
        if is_alone && *alone == 1 {
            *example = item;
        }
    }
    let reported = |(name, (alone, all, example)): (&str, (u32, u32, &LoadPlan))| {
        let produce = example.role.as_produce().filter(|_| alone > 0)?;
        let cases = if alone == all { String::new() } else { format!(" in {alone} of {all} cases") };
        Some(format!(
            "each batch of `{name}` holds one record{cases}: `batch.size` is {}, a record has {}",
            size(produce.client.batch_bytes.into()),
            size(produce.record_bytes())
        ))
    };
    found.into_iter().filter_map(reported).collect()
}

/// A sentence for each item whose values are made to compress, and that compresses nothing.
pub(crate) fn uncompressed(plan: &Plan) -> BTreeSet<String> {
    let reported = |(name, item): (&String, &LoadPlan)| {
        let produce = item.role.as_produce()?;
        let is_idle =
            produce.records.compressible.is_some() && produce.client.compression == Compression::None;
        is_idle.then(|| format!("values of `{name}` are made to compress, and it has no `compression.type`"))
    };
    plan.every_case().flat_map(|case| case.load.iter().filter_map(reported)).collect()
}

fn value_size(reader: &CaseReader<'_>, typed: &Scalar, what: &str) -> Result<u32, PlanError> {
    Ok(reader.bytes(typed, what, 0..=u64::from(VALUE_BYTES_MAX))? as u32)
}

/// The sizes of values, and their mean.
fn values(reader: &CaseReader<'_>, typed: &ValuesFile) -> Result<(ValuesPlan, u32), PlanError> {
    match typed {
        ValuesFile::Size(size) => Ok((ValuesPlan::Fixed, value_size(reader, size, "value")?)),
        ValuesFile::Uniform { from, to } => {
            let (bytes_min, bytes_max) = (value_size(reader, from, "from")?, value_size(reader, to, "to")?);
            if bytes_min > bytes_max {
                let message = format!(
                    "`to` is {}, less than `from`, {}",
                    size(bytes_max.into()),
                    size(bytes_min.into())
                );
                return Err(reader.wrong(to, message));
            }
            let mean = (u64::from(bytes_min) + u64::from(bytes_max)).div_ceil(2) as u32;
            Ok((ValuesPlan::Uniform { bytes_min, bytes_max }, mean))
        }
        ValuesFile::Lognormal { median, p99, max } => lognormal(reader, (median, p99, max.as_ref())),
        ValuesFile::Sample { topic, mean, at_most } => {
            let mean = value_size(reader, mean, "mean")?;
            let bytes_max = reader.bytes(at_most, "at_most", 1..=GIVEN_BYTES_MAX)? as u32;
            let topic = reader.text(topic)?;
            Ok((ValuesPlan::Sample(SamplePlan { topic, bytes_max, value_bytes_max: bytes_max }), mean))
        }
        ValuesFile::File(file) => {
            let (file, bytes) = given(reader, file, VALUE_BYTES_MAX)?;
            let mean = bytes.div_ceil(u64::from(file.pieces)) as u32;
            Ok((ValuesPlan::File(file), mean))
        }
        ValuesFile::Avro { schema, id } => {
            let id = reader.small(id, "id", 0..=i32::MAX as u32)?;
            let (avro, mean) = avro(reader, schema, id)?;
            Ok((ValuesPlan::Avro(avro), mean))
        }
    }
}

fn lognormal(
    reader: &CaseReader<'_>,
    (median, p99, max): (&Scalar, &Scalar, Option<&Scalar>),
) -> Result<(ValuesPlan, u32), PlanError> {
    let most = u64::from(VALUE_BYTES_MAX);
    let median_bytes = reader.bytes(median, "median", 1..=most)?;
    let p99_bytes = reader.bytes(p99, "p99", 1..=most)?;
    if p99_bytes <= median_bytes {
        let message = format!("`p99` is {}, not more than `median`, {}", size(p99_bytes), size(median_bytes));
        return Err(reader.wrong(p99, message).hint("for values of one size write `value: SIZE`"));
    }
    let bytes_max = match max {
        None => (MAX_IN_P99 * p99_bytes).min(most),
        Some(max) => reader.bytes(max, "max", p99_bytes..=most)?,
    };
    let sigma = (p99_bytes as f64 / median_bytes as f64).ln() / DEVIATIONS_P99;
    let mean = cut_mean(median_bytes as f64, sigma, bytes_max as f64).ceil();
    let (median_bytes, bytes_max) = (median_bytes as u32, bytes_max as u32);
    Ok((ValuesPlan::Lognormal { median_bytes, sigma, bytes_max }, mean as u32))
}

/// Mean of a lognormal size that is cut off, summed over the normal distribution of its logarithm.
fn cut_mean(median: f64, sigma: f64, max: f64) -> f64 {
    const STEPS_PER_DEVIATION: i32 = 200;
    const DEVIATIONS: i32 = 8;
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in -DEVIATIONS * STEPS_PER_DEVIATION..=DEVIATIONS * STEPS_PER_DEVIATION {
        let z = f64::from(step) / f64::from(STEPS_PER_DEVIATION);
        let weight = (-z * z / 2.0).exp();
        sum += weight * (median * (sigma * z).exp()).min(max);
        weights += weight;
    }
    sum / weights
}

fn key(reader: &CaseReader<'_>, typed: &KeyFile) -> Result<Option<KeyPlan>, PlanError> {
    let numbered = match typed {
        KeyFile::Word(word) => {
            let reported = reader.word(word, "key", &["none"]);
            let hint = "`none`, or `{zipf: {of: 100k}}`, `{uniform: {of: 100k}}`, `{sequential: {of: 100k}}`, \
                        `{file: NAME}`";
            return reported.map(|_| None).map_err(|error| error.hint(hint));
        }
        KeyFile::File(file) => {
            return given(reader, file, KEY_BYTES_MAX).map(|(file, _)| Some(KeyPlan::File(file)));
        }
        KeyFile::Numbered(numbered) => numbered,
    };
    let NumberedFile { law, of, s, size: bytes } = numbered;
    let of = reader.small(of, "of", 1..=u32::MAX)?;
    let digits = (of - 1).checked_ilog10().unwrap_or(0) + 1;
    let bytes = match bytes {
        None => digits,
        Some(bytes) => reader.bytes(bytes, "size", u64::from(digits)..=u64::from(KEY_BYTES_MAX))? as u32,
    };
    let law = match (law.as_str(), s) {
        ("zipf", Some(s)) => KeyLaw::Zipf { exponent: exponent(reader, s)? },
        ("uniform", _) => KeyLaw::Uniform,
        _ => KeyLaw::Sequential,
    };
    Ok(Some(KeyPlan::Numbered { law, of, bytes }))
}

fn exponent(reader: &CaseReader<'_>, typed: &Scalar) -> Result<f64, PlanError> {
    let exponent = reader.number(typed, "s", 0.0..=EXPONENT_MAX)?;
    if exponent > 0.0 {
        return Ok(exponent);
    }
    Err(reader
        .wrong(typed, "`s`: with an exponent of 0 each key comes equally often")
        .hint("write `key: {uniform: {of: …}}`"))
}

/// A plain number between two others.
fn tombstones(reader: &CaseReader<'_>, typed: &Scalar, has_key: bool) -> Result<f64, PlanError> {
    let share = reader.share(typed, "tombstones")?;
    if share > 0.0 && !has_key {
        let message = "`tombstones` without `key`: a record without value deletes what has its key";
        return Err(reader
            .wrong(typed, message)
            .hint("give the item a `key`, e.g. `key: {uniform: {of: 100k}}`"));
    }
    Ok(share)
}

fn headers(reader: &CaseReader<'_>, typed: &[(Scalar, Scalar)]) -> Result<Vec<HeaderPlan>, PlanError> {
    if let Some((name, _)) = typed.get(HEADERS_MAX) {
        let message = format!("`headers` has {} entries; at most {HEADERS_MAX}", typed.len());
        return Err(reader.wrong(name, message));
    }
    let one = |(name, bytes): &(Scalar, Scalar)| {
        if name.text == TRAILER_HEADER {
            let message = format!("`{TRAILER_HEADER}` is the header that kdyno itself may add");
            return Err(reader.wrong(name, message).hint("choose another name"));
        }
        if name.text.is_empty() || name.text.len() > HEADER_BYTES_MAX as usize {
            let message = format!("{} cannot name a header", quoted(&name.text));
            return Err(reader.wrong(name, message).hint(format!("1 to {HEADER_BYTES_MAX} bytes")));
        }
        let bytes = reader.bytes(bytes, &name.text, 0..=u64::from(HEADER_BYTES_MAX))? as u32;
        Ok(HeaderPlan { name: name.text.clone(), bytes })
    };
    typed.iter().map(one).collect()
}

/// A file of keys or values, and the bytes of all its pieces.
fn given(
    reader: &CaseReader<'_>,
    typed: &GivenNameFile,
    piece_max: u32,
) -> Result<(GivenFile, u64), PlanError> {
    let delimiter = delimiter(reader, &typed.delimiter)?;
    let name = reader.filled(&typed.name, "file")?;
    let wrong = |why: String| reader.wrong(&typed.name, format!("the file {} {why}", quoted(&name)));
    let found = (reader.files.0)(reader.scenario.file_name(), &name).map_err(wrong)?;
    if found.content.len() as u64 > GIVEN_BYTES_MAX {
        let (bytes, most) = (size(found.content.len() as u64), size(GIVEN_BYTES_MAX));
        return Err(wrong(format!("has {bytes}, more than the {most} that are read")));
    }
    let pieces = pieces(&found.content, &delimiter);
    let Some(largest) = pieces.iter().max_by_key(|piece| piece.len()).filter(|piece| !piece.is_empty())
    else {
        return Err(wrong("is empty".to_owned()).hint("it takes at least one piece that is not empty"));
    };
    let shown = delimiter.escape_debug().to_string();
    let cut = || format!("it is cut at {}; `delimiter` says where", quoted(&shown));
    if pieces.len() > GIVEN_COUNT_MAX {
        return Err(wrong(format!("has {} pieces; at most {GIVEN_COUNT_MAX}", pieces.len())).hint(cut()));
    }
    if largest.len() > piece_max as usize {
        let (bytes, most) = (size(largest.len() as u64), size(piece_max.into()));
        return Err(wrong(format!("has a piece of {bytes}; at most {most}")).hint(cut()));
    }
    let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
    let file = GivenFile {
        path: found.path,
        crc: crc32c::crc32c(&found.content),
        pieces: pieces.len() as u32,
        piece_bytes_max: largest.len() as u32,
        delimiter,
    };
    Ok((file, bytes))
}

/// Values by a schema, and their mean size.
fn avro(reader: &CaseReader<'_>, typed: &Scalar, id: u32) -> Result<(AvroPlan, u32), PlanError> {
    let name = reader.filled(typed, "schema")?;
    let wrong = |why: String| reader.wrong(typed, format!("the schema {} {why}", quoted(&name)));
    let found = (reader.files.0)(reader.scenario.file_name(), &name).map_err(wrong)?;
    let values =
        (reader.schemas.0)(&found.content, id).map_err(|UnusableSchema { why, hint }| match hint {
            None => wrong(why),
            Some(hint) => wrong(why).hint(hint),
        })?;
    let avro = AvroPlan {
        path: found.path,
        crc: crc32c::crc32c(&found.content),
        id,
        count: values.count,
        value_bytes_max: values.bytes_max,
    };
    Ok((avro, values.bytes.div_ceil(u64::from(values.count.max(1))) as u32))
}

/// What separates two pieces, with `\n`, `\r` and `\t` for what they mean.
fn delimiter(reader: &CaseReader<'_>, typed: &Scalar) -> Result<String, PlanError> {
    let text = reader.text(typed)?.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t");
    match text.len() {
        0 => Err(reader.wrong(typed, "`delimiter` is empty").hint("leave it out to cut at line breaks")),
        1..=DELIMITER_BYTES_MAX => Ok(text),
        _ => Err(reader.wrong(typed, format!("`delimiter` is longer than {DELIMITER_BYTES_MAX} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a cut the mean of a lognormal size is median × e^(σ²/2).
    #[test]
    fn the_mean_of_lognormal_sizes_is_that_of_the_law() {
        let whole = cut_mean(600.0, 1.0, 1e12);
        assert!((whole / (600.0 * 0.5f64.exp()) - 1.0).abs() < 1e-3, "{whole}");
        let cut = cut_mean(600.0, 1.0, 600.0);
        assert!(cut < 600.0 && cut > 300.0, "half are cut to 600, the others are smaller: {cut}");
    }
}
