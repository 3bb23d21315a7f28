//! Leaders and their addresses in the tagged fields of Produce and Fetch responses
//! ([KIP-951](https://cwiki.apache.org/confluence/display/KAFKA/KIP-951%3A+Leader+discovery+optimisations+for+the+client)).

use crate::wire::{Reader, Result};

/// Fewest bytes of an endpoint: id, host, port, rack, tags.
const ENDPOINT_BYTES_MIN: usize = 11;
/// Most endpoints of a response that are kept.
const ENDPOINTS_MAX: usize = 4096;

/// What a response says of leaders that are others than the client thought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaderHints {
    /// The leaders.
    pub leaders: Vec<LeaderHint>,
    /// Where these brokers listen.
    pub endpoints: Vec<BrokerEndpoint>,
}

impl LeaderHints {
    /// Adds those of another response.
    pub fn extend(&mut self, other: Self) {
        self.leaders.extend(other.leaders);
        self.endpoints.extend(other.endpoints);
    }
}

/// A partition's leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderHint {
    /// Place of the topic among those of the client.
    pub topic: u32,
    /// Partition.
    pub partition: i32,
    /// The broker's id; −1: it does not know the leader.
    pub leader: i32,
    /// Grows with each election; −1: not reported.
    pub epoch: i32,
}

impl LeaderHint {
    /// Reads a `LeaderIdAndEpoch`. Its partition is of the client's first topic until the caller sets another one.
    pub(super) fn read(partition: i32, reader: &mut Reader<'_>) -> Result<Self> {
        let hint = Self { topic: 0, partition, leader: reader.i32()?, epoch: reader.i32()? };
        reader.skip_tags(true)?;
        Ok(hint)
    }
}

/// Where a broker listens, as reported: not each number is a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerEndpoint {
    /// The broker's id.
    pub broker: i32,
    /// Host.
    pub host: String,
    /// Port.
    pub port: i32,
}

impl BrokerEndpoint {
    /// Adds one to those of a response, unless it names more of them than any cluster has.
    pub(crate) fn add_to(endpoints: &mut Vec<Self>, broker: i32, host: &str, port: i32) {
        if endpoints.len() < ENDPOINTS_MAX {
            endpoints.push(Self { broker, host: host.to_owned(), port });
        }
    }
}

/// Reads an array of `NodeEndpoint` and hands each to `each`: id, host, port.
pub(super) fn read_endpoints<'a>(
    reader: &mut Reader<'a>,
    mut each: impl FnMut(i32, &'a str, i32) -> Result<()>,
) -> Result<()> {
    for _ in 0..reader.array_length(true, ENDPOINT_BYTES_MIN)? {
        let (broker, host, port) = (reader.i32()?, reader.string(true)?, reader.i32()?);
        reader.nullable_string(true)?; // rack
        reader.skip_tags(true)?;
        each(broker, host, port)?;
    }
    Ok(())
}
