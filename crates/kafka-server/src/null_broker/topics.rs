//! What the null broker remembers: names, partition counts and the offset each partition has come to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Topics remembered at most. Names come from the network, so their number must have an end.
const TOPICS_MAX: usize = 10_000;

/// Partitions remembered at most, over all topics: 8 MB of offsets.
const PARTITIONS_TOTAL_MAX: usize = 1 << 20;

/// Partitions of one topic at most.
pub(super) const PARTITIONS_MAX: u32 = 100_000;

/// Names a topic for as long as it lives; never used again after its deletion.
pub(super) type TopicId = u64;

#[derive(Debug)]
struct TopicState {
    partitions: u32,
    /// Next offset of each partition; grows to the highest partition written to.
    next_offsets: Vec<i64>,
}

/// All topics.
#[derive(Debug)]
pub(super) struct HostedTopics {
    default_partitions: u32,
    ids: BTreeMap<Box<str>, TopicId>,
    topics: HashMap<TopicId, TopicState>,
    next_id: TopicId,
    partitions_kept: usize,
    /// Names deleted and not used since: they exist no longer, unlike names never heard of.
    deleted: BTreeSet<Box<str>>,
}

impl HostedTopics {
    /// No topics yet; one not created exists with `default_partitions` partitions.
    pub fn new(default_partitions: u32) -> Self {
        Self {
            default_partitions: default_partitions.clamp(1, PARTITIONS_MAX),
            ids: BTreeMap::new(),
            topics: HashMap::new(),
            next_id: 0,
            partitions_kept: 0,
            deleted: BTreeSet::new(),
        }
    }

    /// Partitions of a topic of this name: as created, or the default.
    pub fn partitions(&self, name: &str) -> u32 {
        self.id(name).and_then(|id| self.topics.get(&id)).map_or(self.default_partitions, |t| t.partitions)
    }

    /// Names created or written to.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.ids.keys().map(AsRef::as_ref)
    }

    /// The topic, if it was created or written to.
    pub fn id(&self, name: &str) -> Option<TopicId> {
        self.ids.get(name).copied()
    }

    /// The topic; made on the spot unless too many are remembered.
    pub fn id_or_new(&mut self, name: &str) -> Option<TopicId> {
        self.id(name).or_else(|| self.create(name, self.default_partitions))
    }

    /// Remembers a new topic; `None` when the name is taken or too many are remembered.
    pub fn create(&mut self, name: &str, partitions: u32) -> Option<TopicId> {
        if self.ids.len() >= TOPICS_MAX || self.ids.contains_key(name) {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.ids.insert(name.into(), id);
        self.deleted.remove(name);
        self.topics.insert(id, TopicState { partitions, next_offsets: Vec::new() });
        Some(id)
    }

    /// Forgets a topic and says whether it was remembered.
    pub fn delete(&mut self, name: &str) -> bool {
        let topic = self.ids.remove(name).and_then(|id| self.topics.remove(&id));
        if let Some(topic) = &topic {
            self.partitions_kept -= topic.next_offsets.len();
            if self.deleted.len() >= TOPICS_MAX {
                self.deleted.pop_first();
            }
            self.deleted.insert(name.into());
        }
        topic.is_some()
    }

    /// Whether the name was deleted and not used since.
    pub fn is_deleted(&self, name: &str) -> bool {
        self.deleted.contains(name)
    }

    /// Next offset of a partition: 0 if it was never written to; `None` if there is no such partition.
    pub fn next_offset(&self, name: &str, partition: i32) -> Option<i64> {
        let index = u32::try_from(partition).ok().filter(|index| *index < self.partitions(name))?;
        let topic = self.id(name).and_then(|id| self.topics.get(&id));
        Some(topic.and_then(|t| t.next_offsets.get(index as usize)).copied().unwrap_or(0))
    }

    /// Takes `records` records into a partition: the offset of the first, or `None` if there is no such
    /// partition or too many are remembered.
    pub fn append(&mut self, id: TopicId, partition: i32, records: u64) -> Option<i64> {
        let topic = self.topics.get_mut(&id)?;
        let index = u32::try_from(partition).ok().filter(|index| *index < topic.partitions)? as usize;
        if index >= topic.next_offsets.len() {
            let more = index + 1 - topic.next_offsets.len();
            if self.partitions_kept + more > PARTITIONS_TOTAL_MAX {
                return None;
            }
            self.partitions_kept += more;
            topic.next_offsets.resize(index + 1, 0);
        }
        let next = &mut topic.next_offsets[index];
        let base = *next;
        *next = next.saturating_add_unsigned(records);
        Some(base)
    }
}
