//! Leaders and their addresses in the tagged fields of Produce and Fetch responses
//! ([KIP-951](https://cwiki.apache.org/confluence/display/KAFKA/KIP-951%3A+Leader+discovery+optimisations+for+the+client)).

use crate::wire::{Reader, Result};

/// Fewest bytes of an endpoint: id, host, port, rack, tags.
const ENDPOINT_BYTES_MIN: usize = 11;

/// What a response says of leaders that are others than the client thought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeaderHints {
    /// The leaders, of one topic's partitions.
    pub leaders: Vec<LeaderHint>,
    /// Where these brokers listen.
    pub endpoints: Vec<BrokerEndpoint>,
}

impl LeaderHints {
    /// Those that `read` hands out: leaders, and brokers' ids, hosts and ports.
    pub(super) fn collect(
        read: impl FnOnce(&mut dyn FnMut(Option<LeaderHint>), &mut dyn FnMut(i32, &str, i32)) -> Result<()>,
    ) -> Result<Self> {
        let mut hints = Self::default();
        let Self { leaders, endpoints } = &mut hints;
        read(&mut |leader| leaders.extend(leader), &mut |broker, host, port| {
            endpoints.push(BrokerEndpoint { broker, host: host.to_owned(), port });
        })?;
        Ok(hints)
    }

    /// Adds those of another response.
    pub fn extend(&mut self, other: Self) {
        self.leaders.extend(other.leaders);
        self.endpoints.extend(other.endpoints);
    }
}

/// A partition's leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderHint {
    /// Partition.
    pub partition: i32,
    /// The broker's id; −1: it does not know the leader.
    pub leader: i32,
    /// Grows with each election; −1: not told.
    pub epoch: i32,
}

impl LeaderHint {
    /// Reads a `LeaderIdAndEpoch`.
    pub(super) fn read(partition: i32, reader: &mut Reader<'_>) -> Result<Self> {
        let hint = Self { partition, leader: reader.i32()?, epoch: reader.i32()? };
        reader.skip_tags(true)?;
        Ok(hint)
    }
}

/// Where a broker listens, as it was told: not each number is a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerEndpoint {
    /// The broker's id.
    pub broker: i32,
    /// Host.
    pub host: String,
    /// Port.
    pub port: i32,
}

/// Reads an array of `NodeEndpoint` and hands each to `each`: id, host, port.
pub(super) fn read_endpoints(reader: &mut Reader<'_>, mut each: impl FnMut(i32, &str, i32)) -> Result<()> {
    for _ in 0..reader.array_length(true, ENDPOINT_BYTES_MIN)? {
        let (broker, host, port) = (reader.i32()?, reader.string(true)?, reader.i32()?);
        reader.nullable_string(true)?; // rack
        reader.skip_tags(true)?;
        each(broker, host, port);
    }
    Ok(())
}
