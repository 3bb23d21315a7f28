//! What records are made of: keys, values, headers, tombstones.

use crate::units::{count, significant, size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes at the end of a generated value that say where the record comes from: run (8), producer (4), partition (4),
/// sequence (8), t0 in ns since 1970 (8), all big-endian.
pub const TRAILER_BYTES: u32 = 32;
/// Name of the header that holds them where the value has no room for them, or is not kdyno's to change.
pub const TRAILER_HEADER: &str = "kdyno";
/// Largest key, bytes.
pub const KEY_BYTES_MAX: u32 = 4096;
/// Most headers of a record in addition to [`TRAILER_HEADER`]: their number takes one byte.
pub const HEADERS_MAX: usize = 32;
/// Largest value of a header, and longest name, bytes.
pub const HEADER_BYTES_MAX: u32 = 4096;
/// Most bytes of keys or values that are given: workers hold them in memory.
pub const GIVEN_BYTES_MAX: u64 = 32 << 20;
/// Most keys or values that are given.
pub const GIVEN_COUNT_MAX: usize = 1 << 20;

/// What records are made of, apart from how many bytes their values have in the mean. Records without all of this have
/// neither key nor headers, and values of random capital letters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordPlan {
    /// Their keys; none: they have no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyPlan>,
    /// Sizes of their values, or the values themselves.
    pub values: ValuesPlan,
    /// How well values compress: bytes of records ÷ bytes of the compressed batch; 1: random bytes. None: values are
    /// random capital letters, or given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressible: Option<f64>,
    /// Share of records whose value is null, 0 to 1.
    pub tombstone_share: f64,
    /// Their headers, with values of random capital letters.
    pub headers: Vec<HeaderPlan>,
    /// The partition of all of them; none: keys or the partitioner choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
}

impl RecordPlan {
    /// Whether there is nothing to say of the records.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether all values have the same size.
    pub fn has_equal_values(&self) -> bool {
        self.values == ValuesPlan::Fixed && self.tombstone_share == 0.0
    }

    /// Most bytes of a record's key and headers, the trailer's among them; `value_bytes`: of its value.
    pub fn bytes_around_value(&self, value_bytes: u32) -> u64 {
        /// More than the lengths of a header's name and value take.
        const LENGTHS_BYTES: u64 = 4;
        let key = match &self.key {
            None => 0,
            Some(KeyPlan::Numbered { bytes, .. }) => u64::from(*bytes),
            Some(KeyPlan::File(file)) => u64::from(file.piece_bytes_max),
        };
        let header = |name: &str, bytes: u32| name.len() as u64 + u64::from(bytes) + LENGTHS_BYTES;
        let headers: u64 = self.headers.iter().map(|own| header(&own.name, own.bytes)).sum();
        let has_room = match &self.values {
            ValuesPlan::Fixed => value_bytes >= TRAILER_BYTES,
            ValuesPlan::Uniform { bytes_min, .. } => *bytes_min >= TRAILER_BYTES,
            ValuesPlan::Lognormal { .. } | ValuesPlan::Numbered => false,
            ValuesPlan::File(_) | ValuesPlan::Sample(_) | ValuesPlan::Avro(_) => false,
        };
        let is_always_in_value = has_room && self.tombstone_share == 0.0;
        key + headers + if is_always_in_value { 0 } else { header(TRAILER_HEADER, TRAILER_BYTES) }
    }

    /// Bytes of the largest value; `value_bytes`: of all, or in the mean.
    pub fn largest_value_bytes(&self, value_bytes: u32) -> u32 {
        match &self.values {
            ValuesPlan::Fixed | ValuesPlan::Numbered => value_bytes,
            ValuesPlan::Uniform { bytes_max, .. } | ValuesPlan::Lognormal { bytes_max, .. } => *bytes_max,
            ValuesPlan::File(file) => file.piece_bytes_max,
            ValuesPlan::Sample(sample) => sample.value_bytes_max,
            ValuesPlan::Avro(avro) => avro.value_bytes_max,
        }
    }

    /// Whether values are not kdyno's to change.
    pub fn has_given_values(&self) -> bool {
        matches!(self.values, ValuesPlan::File(_) | ValuesPlan::Sample(_) | ValuesPlan::Avro(_))
    }

    /// What there is to say of the records, in words, by what it is of; `none` where there is none. `value_bytes`: of all
    /// values, or in the mean.
    pub fn described(&self, value_bytes: u32) -> [(&'static str, String); 6] {
        let none = || "none".to_owned();
        let headers: Vec<String> = self
            .headers
            .iter()
            .map(|header| format!("{} of {}", header.name, size(header.bytes.into())))
            .collect();
        [
            ("values", self.values.described(value_bytes)),
            ("compressible", self.compressible.map_or_else(none, significant)),
            ("keys", self.key.as_ref().map_or_else(none, KeyPlan::described)),
            (
                "tombstones",
                match self.tombstone_share {
                    0.0 => none(),
                    share => format!("{} %", significant(share * 100.0)),
                },
            ),
            ("headers", if headers.is_empty() { none() } else { headers.join(", ") }),
            ("partition", self.partition.map_or_else(none, |partition| partition.to_string())),
        ]
    }

    /// Where keys and values come from that workers are given.
    pub fn given(&self) -> impl Iterator<Item = GivenSource> {
        let keys = match &self.key {
            Some(KeyPlan::File(file)) => Some(GivenSource::File(file.clone())),
            _ => None,
        };
        let values = match &self.values {
            ValuesPlan::File(file) => Some(GivenSource::File(file.clone())),
            ValuesPlan::Sample(sample) => Some(GivenSource::Sample(sample.clone())),
            ValuesPlan::Avro(avro) => Some(GivenSource::Avro(avro.clone())),
            ValuesPlan::Fixed | ValuesPlan::Numbered => None,
            ValuesPlan::Uniform { .. } | ValuesPlan::Lognormal { .. } => None,
        };
        keys.into_iter().chain(values)
    }
}

/// Keys of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyPlan {
    /// Decimal numbers from 0 on, with zeros in front.
    Numbered {
        /// Which number comes next.
        law: KeyLaw,
        /// How many keys there are.
        of: u32,
        /// Bytes of each.
        bytes: u32,
    },
    /// Each piece of a file a key, each drawn with the same probability.
    File(GivenFile),
}

impl KeyPlan {
    /// In words.
    fn described(&self) -> String {
        match self {
            Self::Numbered { law, of, bytes } => {
                let law = match law {
                    KeyLaw::Sequential => "one after the other".to_owned(),
                    KeyLaw::Uniform => "uniform".to_owned(),
                    KeyLaw::Zipf { exponent } => format!("Zipf with exponent {}", significant(*exponent)),
                };
                format!("{} of {}, {law}", count(f64::from(*of)), size((*bytes).into()))
            }
            Self::File(file) => file.described(),
        }
    }
}

/// Which of the keys comes next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyLaw {
    /// One after the other, over all clients, and from the start again.
    Sequential,
    /// Each with the same probability.
    Uniform,
    /// Key number k (from 0) with a probability in proportion to (k + 1) to the power of −`exponent`.
    Zipf {
        /// Above 0; 1 is Zipf's own law.
        exponent: f64,
    },
}

/// Sizes of values, or the values.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValuesPlan {
    /// All have `value_bytes` of the load item.
    #[default]
    Fixed,
    /// Each size with the same probability.
    Uniform {
        /// Smallest, bytes.
        bytes_min: u32,
        /// Largest, bytes.
        bytes_max: u32,
    },
    /// A lognormal size, never more than `bytes_max`.
    Lognormal {
        /// Median, bytes.
        median_bytes: u32,
        /// Standard deviation of the size's natural logarithm.
        sigma: f64,
        /// Where the size is cut off, bytes.
        bytes_max: u32,
    },
    /// Decimal numbers from 0 on, one after the other of each client, without zeros in front: the values of Kafka's own tool
    /// with `--payload-monotonic`.
    Numbered,
    /// Each piece of a file a value, each drawn with the same probability.
    File(GivenFile),
    /// Values of a topic that is there when the run begins, each drawn with the same probability.
    Sample(SamplePlan),
    /// Values made from a schema before the run, each drawn with the same probability.
    Avro(AvroPlan),
}

/// Values by an Avro schema, framed as Confluent's serializer does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AvroPlan {
    /// Where the schema lies.
    pub path: String,
    /// CRC-32C of the file when the plan was made: every trial has the same records.
    pub crc: u32,
    /// The schema's id in its registry.
    pub id: u32,
    /// How many values are made.
    pub count: u32,
    /// Bytes of the largest of them.
    pub value_bytes_max: u32,
}

impl AvroPlan {
    /// The schema's name without the folder, its checksum and its id: the same wherever the file lies.
    pub fn content(&self) -> String {
        format!("{}, id {}", content(&self.path, self.crc), self.id)
    }
}

/// Values of a topic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SamplePlan {
    /// Address of the topic, which is an existing one of the target.
    pub topic: String,
    /// Most bytes of all values together.
    pub bytes_max: u32,
    /// Larger values are left out.
    pub value_bytes_max: u32,
}

/// Where keys or values come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GivenSource {
    /// A file.
    File(GivenFile),
    /// A topic.
    Sample(SamplePlan),
    /// A schema.
    Avro(AvroPlan),
}

impl ValuesPlan {
    /// In words; `value_bytes` of all, or in the mean.
    fn described(&self, value_bytes: u32) -> String {
        let mean = size(value_bytes.into());
        match self {
            Self::Fixed => mean,
            Self::Numbered => format!("decimal numbers from 0 on, {mean} at most"),
            Self::Uniform { bytes_min, bytes_max } => {
                format!("{} to {}, uniform", size((*bytes_min).into()), size((*bytes_max).into()))
            }
            Self::Lognormal { median_bytes, bytes_max, .. } => {
                let (median, most) = (size((*median_bytes).into()), size((*bytes_max).into()));
                format!("{median} in the median (lognormal), {mean} in the mean, {most} at most")
            }
            Self::File(file) => format!("{}, {mean} in the mean", file.described()),
            Self::Sample(sample) => {
                let most = size(sample.bytes_max.into());
                format!("up to {most} of topic {}, {mean} in the mean as stated", sample.topic)
            }
            Self::Avro(avro) => {
                let (values, sum) = (count(f64::from(avro.count)), checksum(avro.crc));
                format!(
                    "{mean} in the mean, {values} made by the Avro schema {} ({sum}, id {})",
                    avro.path, avro.id
                )
            }
        }
    }
}

/// A file of keys or values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct GivenFile {
    /// Where it lies; of one that is part of the program its name behind [`Self::BUNDLED`].
    pub path: String,
    /// What separates two pieces.
    pub delimiter: String,
    /// CRC-32C of its content when the plan was made: every trial has the same records.
    pub crc: u32,
    /// Pieces that it is cut into.
    pub pieces: u32,
    /// Bytes of the largest of them.
    pub piece_bytes_max: u32,
}

impl GivenFile {
    /// Before the name of a file that is part of the program.
    pub const BUNDLED: &str = "bundled:";

    /// In words.
    fn described(&self) -> String {
        format!("{} of the file {} ({})", count(f64::from(self.pieces)), self.path, checksum(self.crc))
    }

    /// Its name without the folder, and its checksum: the same wherever the file lies.
    pub fn content(&self) -> String {
        content(&self.path, self.crc)
    }

    /// Whether it is part of the program.
    pub fn is_bundled(&self) -> bool {
        self.path.starts_with(Self::BUNDLED)
    }
}

/// What distinguishes a file's content from that of another one, or from what it held another day.
fn checksum(crc: u32) -> String {
    format!("CRC-32C {crc:08x}")
}

/// A file's name without the folder, and its checksum.
fn content(path: &str, crc: u32) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    format!("{name}, {}", checksum(crc))
}

/// A header of every record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeaderPlan {
    /// Its name.
    pub name: String,
    /// Bytes of its value.
    pub bytes: u32,
}

/// The pieces of a file of keys or values, as Kafka's own tool cuts its payload file since 4.1 (`java.util.Scanner`): what
/// is between two delimiters, also nothing, but a delimiter at the beginning or the end of the file has no piece
/// before or behind it.
pub fn pieces<'f>(content: &'f [u8], delimiter: &str) -> Vec<&'f [u8]> {
    let delimiter = delimiter.as_bytes();
    let is_delimiter = |window: &[u8]| !delimiter.is_empty() && window == delimiter;
    let mut found = Vec::new();
    let mut rest = content.strip_prefix(delimiter).unwrap_or(content);
    while !rest.is_empty() {
        let end = rest.windows(delimiter.len().max(1)).position(is_delimiter);
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        found.push(piece);
        rest = behind.strip_prefix(delimiter).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found with Java's `Scanner`.
    #[test]
    fn a_file_is_cut_at_its_delimiters() {
        let cut = |content: &'static str, delimiter| {
            let found = pieces(content.as_bytes(), delimiter).into_iter();
            found.map(|piece| std::str::from_utf8(piece).expect("text")).collect::<Vec<_>>()
        };
        assert_eq!(cut("a\nb\nc\n", "\n"), ["a", "b", "c"]);
        assert_eq!(cut("a\r\nb", "\n"), ["a\r", "b"]);
        assert_eq!(cut("a|b||c||", "|"), ["a", "b", "", "c", ""]);
        assert_eq!(cut("|a", "|"), ["a"]);
        assert_eq!(cut("||a", "|"), ["", "a"]);
        assert_eq!(cut("a--b-c", "--"), ["a", "b-c"]);
        assert_eq!(cut("a---b", "--"), ["a", "-b"]);
        assert_eq!(cut("a", "--"), ["a"]);
        assert_eq!(cut("a", ""), ["a"]);
        assert_eq!(cut("\n\n", "\n"), [""]);
        for nothing in ["", "\n"] {
            assert!(cut(nothing, "\n").is_empty(), "{nothing:?}");
        }
    }

    #[test]
    fn records_without_a_plan_are_plain() {
        let read: RecordPlan = serde_json::from_str("{}").expect("a plan");
        assert!(read.is_plain() && read.has_equal_values());
        assert!(!RecordPlan { tombstone_share: 0.1, ..RecordPlan::default() }.has_equal_values());
    }
}
