//! How records are fetched, and what is done with them.

use super::group::GroupPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// How records are fetched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConsumePlan {
    /// Where to begin.
    pub from: StartOffset,
    /// `fetch.max.bytes`.
    pub fetch_bytes_max: u32,
    /// `max.partition.fetch.bytes`.
    pub partition_bytes_max: u32,
    /// `fetch.min.bytes`.
    pub fetch_bytes_min: u32,
    /// `fetch.max.wait.ms`, as ns.
    pub fetch_wait_ns: u64,
    /// `request.timeout.ms`, as ns.
    pub request_timeout_ns: u64,
    /// `retry.backoff.ms`, as ns.
    pub retry_backoff_ns: u64,
    /// `isolation.level`.
    #[serde(default)]
    pub isolation_level: IsolationLevel,
    /// `client.rack`; empty: it is not sent.
    #[serde(default)]
    pub rack: String,
    /// How far what is fetched is read.
    #[serde(default)]
    pub read: ReadDepth,
    /// `max.poll.records`: most records that its application takes at once.
    #[serde(default = "poll_records_max_default")]
    pub poll_records_max: u32,
    /// How long the application works on each record; `None`: no time at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkPlan>,
    /// The group whose members the clients are; `None`: partition p is client p mod clients'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupPlan>,
    /// The load ends once the item's clients on a worker have consumed so many records, whole polls counted; `None`: by
    /// time alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records_max: Option<u64>,
    /// The load ends once no record was consumed by any of the item's clients on a worker for so long, ns; `None`: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
}

impl ConsumePlan {
    /// Whether the load may end before the measure phase does, by what is there to be read.
    pub fn ends_by_itself(&self) -> bool {
        self.records_max.is_some() || self.idle_ns.is_some()
    }
}

/// What Java's consumer has, and consumers of plans that lack it.
fn poll_records_max_default() -> u32 {
    500
}

/// How long the application of a consumer works on each record, in time that passes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkPlan {
    /// A constant time for each record.
    Constant {
        /// How long, ns.
        ns: u64,
    },
    /// Exponentially distributed.
    Exponential {
        /// In the mean, ns.
        mean_ns: u64,
    },
    /// Multiples of the least time, by Zipf's law: k times as long with a probability proportional to k to the power
    /// of minus `exponent`.
    Zipf {
        /// Once, ns.
        least_ns: u64,
        /// No longer than this, ns.
        most_ns: u64,
        /// Exponent of the law.
        exponent: f64,
    },
}

impl WorkPlan {
    /// How many multiples of the least time there are.
    pub fn multiples(self) -> u64 {
        match self {
            Self::Zipf { least_ns, most_ns, .. } => (most_ns / least_ns.max(1)).max(1),
            Self::Constant { .. } | Self::Exponential { .. } => 1,
        }
    }

    /// Most records per second that so many clients work on in the mean.
    pub fn records_per_s(self, clients: u32) -> f64 {
        f64::from(clients) * 1e9 / self.mean_ns()
    }

    /// How long in the mean, ns.
    pub fn mean_ns(self) -> f64 {
        match self {
            Self::Constant { ns } => ns as f64,
            Self::Exponential { mean_ns } => mean_ns as f64,
            Self::Zipf { least_ns, exponent, .. } => {
                let sum = |power: f64| (1..=self.multiples()).map(|k| (k as f64).powf(power)).sum::<f64>();
                least_ns as f64 * sum(1.0 - exponent) / sum(-exponent)
            }
        }
    }
}

/// Which records a consumer gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum IsolationLevel {
    /// All that all in-sync replicas have.
    #[default]
    ReadUncommitted,
    /// Only transactions that were committed, and nothing behind the first that is open.
    ReadCommitted,
}

impl IsolationLevel {
    /// Kafka's word for it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// How far a consumer reads what it fetched.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ReadDepth {
    /// The headers of batches.
    Header,
    /// These, and each batch's checksum is computed: what consumers of earlier plans did.
    #[default]
    Crc,
    /// As an application does: batches are decompressed, and key, value and headers of each record found.
    Decode,
}

impl ReadDepth {
    /// As a scenario writes it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Where a consumer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Display, EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum StartOffset {
    /// The first record kept.
    Earliest,
    /// After the last record there.
    Latest,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs that were stored before consumers had these settings are read as what consumers did then.
    #[test]
    fn settings_that_a_stored_plan_lacks_are_off() {
        let stored = serde_json::json!({
            "from": "latest", "fetch_bytes_max": 1, "partition_bytes_max": 1, "fetch_bytes_min": 1, "fetch_wait_ns": 1,
            "request_timeout_ns": 1, "retry_backoff_ns": 1,
        });
        let consume: ConsumePlan = serde_json::from_value(stored).expect("settings");
        assert_eq!(
            (consume.read, consume.isolation_level),
            (ReadDepth::Crc, IsolationLevel::ReadUncommitted)
        );
        assert_eq!(consume.group, None);
        assert_eq!((consume.work, consume.poll_records_max), (None, 500));
        assert!(!consume.ends_by_itself());
    }
}
