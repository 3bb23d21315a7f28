//! What members of a classic group exchange through the coordinator, which does not read it: Java's
//! `ConsumerProtocol`, versions 0 to 3, and the user data of its sticky assignors.
//!
//! Any member may write anything, so every length is checked against the bytes that are there.

use super::TopicPartition;
use crate::wire::{Reader, Result, WireError, Writer};
use std::sync::Arc;

/// The protocol type that members join with.
pub const PROTOCOL_TYPE: &str = "consumer";

/// The newest version we know; what is newer begins with the same fields.
const VERSION: i16 = 3;
/// The first versions with owned partitions, a generation, a rack.
const OWNED_FROM: i16 = 1;
const GENERATION_FROM: i16 = 2;
const RACK_FROM: i16 = 3;

/// What a member says when it joins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscription {
    /// Topics it wants partitions of.
    pub topics: Vec<Arc<str>>,
    /// For its assignor.
    pub user_data: Option<Vec<u8>>,
    /// Partitions that it did not give up.
    pub owned: Vec<TopicPartition>,
    /// The generation in which it got them; negative: none.
    pub generation_id: i32,
    /// `client.rack`.
    pub rack: Option<String>,
}

impl Subscription {
    /// The generation in which it got what it owns, if it says so.
    pub fn generation(&self) -> Option<i32> {
        Some(self.generation_id).filter(|generation| *generation >= 0)
    }

    /// Appends it in the newest version, topics sorted.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_as(VERSION)
    }

    pub(super) fn encode_as(&self, version: i16) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_i16(version);
        let mut topics = self.topics.clone();
        topics.sort_unstable();
        out.put_i32(topics.len() as i32);
        topics.iter().for_each(|topic| out.put_string(topic, false));
        put_bytes(&mut out, self.user_data.as_deref());
        if version >= OWNED_FROM {
            put_partitions(&mut out, &self.owned);
        }
        if version >= GENERATION_FROM {
            out.put_i32(self.generation_id);
        }
        if version >= RACK_FROM {
            out.put_nullable_string(self.rack.as_deref(), false);
        }
        out
    }

    /// Reads it, whatever follows it.
    ///
    /// # Errors
    /// When the bytes do not begin with such a thing.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let version = read_version(&mut reader)?;
        let topics = reader.array_length(false, size_of::<i16>())?;
        let topics = (0..topics).map(|_| reader.string(false).map(Arc::from)).collect::<Result<_>>()?;
        let user_data = reader.nullable_bytes(false)?.map(<[u8]>::to_vec);
        let owned = if version >= OWNED_FROM { read_partitions(&mut reader)? } else { Vec::new() };
        let generation_id = if version >= GENERATION_FROM { reader.i32()? } else { -1 };
        let rack = if version >= RACK_FROM { reader.nullable_string(false)? } else { None };
        let rack = rack.filter(|rack| !rack.is_empty()).map(str::to_owned);
        Ok(Self { topics, user_data, owned, generation_id, rack })
    }
}

/// What the leader gives a member, as that one reads it.
///
/// # Errors
/// When the bytes do not begin with an assignment.
pub fn decode_assignment(bytes: &[u8]) -> Result<Vec<TopicPartition>> {
    let mut reader = Reader::new(bytes);
    read_version(&mut reader)?;
    let partitions = read_partitions(&mut reader)?;
    reader.nullable_bytes(false)?;
    Ok(partitions)
}

/// What the leader gives a member.
pub fn encode_assignment(partitions: &[TopicPartition]) -> Vec<u8> {
    let mut out = Vec::new();
    out.put_i16(VERSION);
    put_partitions(&mut out, partitions);
    put_bytes(&mut out, None);
    out
}

/// What a member with the sticky assignor says of its last assignment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StickyData {
    /// What it had.
    pub partitions: Vec<TopicPartition>,
    /// In which generation; `None`: it does not say.
    pub generation: Option<i32>,
}

impl StickyData {
    /// As user data.
    pub fn encode(partitions: &[TopicPartition], generation: i32) -> Vec<u8> {
        let mut out = Vec::new();
        put_partitions(&mut out, partitions);
        out.put_i32(generation);
        out
    }

    /// What user data says; as in Java, that of a member which writes something else says nothing.
    pub fn read(user_data: Option<&[u8]>) -> Self {
        let Some(bytes) = user_data.filter(|bytes| !bytes.is_empty()) else { return Self::default() };
        let mut reader = Reader::new(bytes);
        match read_partitions(&mut reader) {
            // The first version had no generation.
            Ok(partitions) => Self { partitions, generation: reader.i32().ok() },
            Err(_) => Self { partitions: Vec::new(), generation: Some(-1) },
        }
    }
}

fn read_version(reader: &mut Reader<'_>) -> Result<i16> {
    let version = reader.i16()?;
    if version < 0 {
        return Err(WireError::Invalid("the version of a member's metadata is negative"));
    }
    Ok(version.min(VERSION))
}

fn put_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    out.put_i32(bytes.map_or(-1, |bytes| bytes.len() as i32));
    out.put(bytes.unwrap_or_default());
}

/// By topic, in order.
fn put_partitions(out: &mut Vec<u8>, partitions: &[TopicPartition]) {
    let mut sorted: Vec<&TopicPartition> = partitions.iter().collect();
    sorted.sort_unstable();
    let topics: Vec<_> = sorted.chunk_by(|a, b| a.topic == b.topic).collect();
    out.put_i32(topics.len() as i32);
    for partitions in topics {
        out.put_string(&partitions[0].topic, false);
        out.put_i32(partitions.len() as i32);
        partitions.iter().for_each(|partition| out.put_i32(partition.partition));
    }
}

fn read_partitions(reader: &mut Reader<'_>) -> Result<Vec<TopicPartition>> {
    let mut all = Vec::new();
    for _ in 0..reader.array_length(false, size_of::<i16>() + size_of::<i32>())? {
        let topic: Arc<str> = reader.string(false)?.into();
        for _ in 0..reader.array_length(false, size_of::<i32>())? {
            all.push(TopicPartition { topic: Arc::clone(&topic), partition: reader.i32()? });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn partitions() -> impl Strategy<Value = Vec<TopicPartition>> {
        let one = ("[a-c]{1,3}", 0..9).prop_map(|(topic, partition)| TopicPartition::new(&topic, partition));
        prop::collection::btree_set(one, 0..9).prop_map(|set| set.into_iter().collect())
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            topics in prop::collection::btree_set("[a-z]{1,9}", 0..4),
            user_data in prop::option::of(prop::collection::vec(any::<u8>(), 0..9)),
            owned in partitions(),
            generation_id in -1..9i32,
            rack in prop::option::of("[a-z]{1,9}"),
        ) {
            let topics = topics.iter().map(|topic| Arc::from(topic.as_str())).collect();
            let all = Subscription { topics, user_data, owned, generation_id, rack };
            for version in 0..=VERSION {
                let mut reported = all.clone();
                if version < OWNED_FROM { reported.owned.clear() }
                if version < GENERATION_FROM { reported.generation_id = -1 }
                if version < RACK_FROM { reported.rack = None }
                prop_assert_eq!(Subscription::decode(&all.encode_as(version)).unwrap(), reported);
            }
            prop_assert_eq!(decode_assignment(&encode_assignment(&all.owned)).unwrap(), all.owned.clone());
            let sticky = StickyData::read(Some(&StickyData::encode(&all.owned, generation_id)));
            prop_assert_eq!(sticky, StickyData { partitions: all.owned, generation: Some(generation_id) });
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            // A topic or a partition takes at least two of them.
            if let Ok(read) = Subscription::decode(&bytes) {
                prop_assert!(read.topics.len() + read.owned.len() <= bytes.len() / 2);
            }
            prop_assert!(decode_assignment(&bytes).map_or(0, |all| all.len()) <= bytes.len() / 4);
            prop_assert!(StickyData::read(Some(&bytes)).partitions.len() <= bytes.len() / 4);
        }
    }

    #[test]
    fn what_comes_after_the_newest_version_is_left_alone() {
        let newer = [Subscription::default().encode_as(VERSION), vec![1, 2, 3]].concat();
        let mut newer = newer;
        newer[1] = 9;
        assert!(Subscription::decode(&newer).is_ok());
        newer[0] = 0xff;
        assert!(Subscription::decode(&newer).is_err());
    }
}
