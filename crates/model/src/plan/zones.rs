//! Zones of a local cluster, and the link between any two of them.

use crate::grouped::distinct;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// Longest one-way delay, ns: of two ends of the earth a tenth is enough, and what a relay must hold grows with it.
pub const DELAY_NS_MAX: u64 = 1_000_000_000;

/// Which broker is in which zone, and what lies between two zones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZonesPlan {
    /// Zone of each broker, and its rack; a shorter list repeats. Not empty.
    pub brokers: Vec<String>,
    /// Further zones, which have clients alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<String>,
    /// What lies between any two zones.
    pub link: LinkPlan,
    /// Whether brokers reach each other over it too; each is then in a zone of its own.
    #[serde(default)]
    pub between_brokers: bool,
}

/// What a relay does to what it passes on, in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkPlan {
    /// One-way delay, ns.
    pub delay_ns: u64,
    /// By how much the delay varies, ns; at most the delay.
    #[serde(default)]
    pub jitter_ns: u64,
    /// How it varies.
    #[serde(default)]
    pub jitter_law: JitterLaw,
    /// Bytes per second of each direction, of all connections together; `None`: as fast as it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
}

/// How the delay of a link varies. The order of bytes is kept whatever is drawn.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum JitterLaw {
    /// Evenly between delay − jitter and delay + jitter.
    #[default]
    Uniform,
    /// Normal, with the jitter as standard deviation, cut off at no delay and at delay + 3 × jitter.
    Normal,
}

impl JitterLaw {
    /// Their names.
    pub const NAMES: &'static [&'static str] = &["uniform", "normal"];
}

impl LinkPlan {
    /// The longest delay that can be drawn, ns.
    pub fn longest_delay_ns(&self) -> u64 {
        let jitters = match self.jitter_law {
            JitterLaw::Uniform => 1,
            JitterLaw::Normal => 3,
        };
        self.delay_ns.saturating_add(self.jitter_ns.saturating_mul(jitters))
    }
}

impl ZonesPlan {
    /// The zone of a broker.
    pub fn of_broker(&self, id: u32) -> &str {
        let place = id as usize % self.brokers.len().max(1);
        self.brokers.get(place).map_or("", String::as_str)
    }

    /// Every zone once: those of brokers first, in the order in which they are named.
    pub fn names(&self) -> Vec<&str> {
        distinct(self.brokers.iter().chain(&self.clients).map(String::as_str))
    }

    /// Whether clients of the zone reach any of so many brokers over a relay.
    pub fn is_relayed(&self, zone: &str, brokers: u32) -> bool {
        (0..brokers).any(|id| self.of_broker(id) != zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_of_zones_repeats_and_each_has_one_name() {
        let link =
            LinkPlan { delay_ns: 500_000, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
        let zones = ZonesPlan {
            brokers: vec!["a".to_owned(), "b".to_owned()],
            clients: vec!["c".to_owned()],
            link,
            between_brokers: false,
        };
        assert_eq!((zones.of_broker(2), zones.of_broker(3)), ("a", "b"));
        assert_eq!(zones.names(), ["a", "b", "c"]);
        assert!(!zones.is_relayed("a", 1) && zones.is_relayed("a", 2) && zones.is_relayed("c", 1));
    }
}
