//! Quotas of the clients of a local cluster.

use crate::units::exact_bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::{EnumString, VariantNames};

/// What each broker of a local cluster lets each client, or each user, do at most: Kafka's quotas of the default client id
/// or user. Printed, it is a clause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct QuotasPlan {
    /// Whom they bind.
    pub each: QuotaEach,
    /// Bytes per second that it may produce to a broker; `None`: not limited, as those below.
    pub producer_bytes_per_s: Option<u64>,
    /// Bytes per second that it may fetch from a broker.
    pub consumer_bytes_per_s: Option<u64>,
    /// Time that its requests may take of a broker's request handlers and network processors, percent of one thread.
    pub request_percent: Option<f64>,
}

/// Whom a quota binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, EnumString, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum QuotaEach {
    /// Each client id. Every client of kdyno's has one of its own.
    Client,
    /// Each user. All clients of kdyno's are one.
    User,
}

impl QuotaEach {
    /// The words for them in scenarios.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;
}

impl QuotasPlan {
    /// Quotas that are set, by Kafka's names and in Kafka's units.
    pub fn by_name(&self) -> Vec<(&'static str, f64)> {
        let bytes = |rate: Option<u64>| rate.map(|bytes| bytes as f64);
        [
            ("producer_byte_rate", bytes(self.producer_bytes_per_s)),
            ("consumer_byte_rate", bytes(self.consumer_bytes_per_s)),
            ("request_percentage", self.request_percent),
        ]
        .into_iter()
        .filter_map(|(name, limit)| Some((name, limit?)))
        .collect()
    }
}

impl fmt::Display for QuotasPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = match self.each {
            QuotaEach::Client => "each client",
            QuotaEach::User => "all clients together",
        };
        let rate = |bytes: Option<u64>, verb: &str| {
            bytes.map(|bytes| format!("{verb} {}/s", exact_bytes(bytes as f64)))
        };
        let share = self.request_percent.map(|percent| format!("take {percent} % of a thread"));
        let limits =
            [rate(self.producer_bytes_per_s, "produce"), rate(self.consumer_bytes_per_s, "fetch"), share];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        write!(f, "{each} may {} at each broker", limits.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_have_kafkas_names_and_are_described() {
        let quotas = QuotasPlan {
            each: QuotaEach::Client,
            producer_bytes_per_s: Some(400_000),
            consumer_bytes_per_s: None,
            request_percent: Some(12.5),
        };
        assert_eq!(quotas.by_name(), [("producer_byte_rate", 400_000.0), ("request_percentage", 12.5)]);
        assert_eq!(
            quotas.to_string(),
            "each client may produce 400000B/s, take 12.5 % of a thread at each broker"
        );
        let of_users = QuotasPlan { each: QuotaEach::User, consumer_bytes_per_s: Some(1 << 20), ..quotas };
        assert!(of_users.to_string().starts_with("all clients together may produce 400000B/s, fetch 1MiB/s"));
        assert_eq!(QuotaEach::NAMES, ["client", "user"]);
    }
}
