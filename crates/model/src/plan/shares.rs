//! How the partitions of a topic are shared out among those who consume it, and what the one with the most of them can do.

use super::{CasePlan, LoadPlan};

/// The partitions of the client of an item that has the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullestShare {
    /// How many it has, at least 1.
    pub partitions: u32,
    /// How many the topic has.
    pub of: u32,
}

impl CasePlan {
    /// The share of the client of an item that has the most partitions of its topic. kdyno's own assignment and groups give each
    /// client as many as the others, or one more. `None` where that is not known before the run: how many partitions an
    /// existing topic of a target has, or whether any is left for this item's members of a group; nor with clients that have several
    /// topics each.
    pub fn fullest_share(&self, item: &LoadPlan) -> Option<FullestShare> {
        // Clients with several topics do not get equally many partitions, and assignors may share out each topic by itself.
        if self.is_existing(&item.topic) || item.shared_topics {
            return None;
        }
        let of = self.topics.get(&item.topic)?.partitions;
        let members = self.sharing_clients(item);
        let least = u64::from(of).checked_div(members)?;
        // So many of all have one more: those of other items first.
        let fuller = u64::from(of) % members;
        let has_one = fuller > members.saturating_sub(u64::from(item.clients_of_topic()));
        let partitions =
            u32::try_from(least + u64::from(has_one)).ok().filter(|partitions| *partitions > 0)?;
        Some(FullestShare { partitions, of })
    }

    /// Most records per second of its topics with which an item that works on each of them keeps up in the mean, where all
    /// partitions get equally many: the client that has the most of them falls behind first. `None`: it does not work on
    /// records, or may have no partition.
    pub fn keeps_up_to_per_s(&self, item: &LoadPlan) -> Option<f64> {
        let each_per_s = item.role.as_consume()?.work?.records_per_s(1);
        let times = match self.fullest_share(item) {
            Some(share) => f64::from(share.of) / f64::from(share.partitions),
            // Equal shares let the most through.
            None if self.is_existing(&item.topic) || item.shared_topics => self.sharing_clients(item) as f64,
            None => return None,
        };
        Some(each_per_s * times * f64::from(item.stream_count()))
    }

    /// Partitions of the topic that a client of an item has, or of all topics that it has, as planned.
    pub fn partitions_of_client(&self, item: &LoadPlan) -> u64 {
        let topics = item.topics_of_client().filter_map(|topic| self.topics.get(topic));
        topics.map(|topic| u64::from(topic.partitions)).sum()
    }

    /// Replicas of a record of an item in the mean, as planned: each of its topics gets as many records.
    pub fn replicas_mean(&self, item: &LoadPlan) -> f64 {
        let of = |topic: &str| self.topics.get(topic).map_or(1.0, |topic| f64::from(topic.replicas));
        item.topics().map(of).sum::<f64>() / f64::from(item.topic_count())
    }

    /// Most replicas of an item's topics, as planned.
    pub fn replicas_max(&self, item: &LoadPlan) -> u32 {
        let topics = item.topics().filter_map(|topic| self.topics.get(topic));
        topics.map(|topic| topic.replicas).max().unwrap_or(1)
    }

    /// Whether a topic is one that a target has.
    fn is_existing(&self, topic: &str) -> bool {
        self.system.existing_topic(topic).is_some()
    }

    /// Whether any topic of a load item is such a one, to which others may write.
    pub fn has_existing_topic(&self, item: &LoadPlan) -> bool {
        item.topics().any(|topic| self.is_existing(topic))
    }

    /// Whether any of its topics is such a one, which keeps what trials write.
    pub fn has_existing_topics(&self) -> bool {
        self.topics.keys().any(|topic| self.is_existing(topic))
    }

    /// Whether all of its topics are.
    pub fn has_only_existing_topics(&self) -> bool {
        self.topics.keys().all(|topic| self.is_existing(topic))
    }

    /// The clients among which a topic of an item is shared out: all members of its group that read this topic, or the
    /// item's own.
    fn sharing_clients(&self, item: &LoadPlan) -> u64 {
        if item.role.group().is_none() {
            return u64::from(item.clients_of_topic());
        }
        let is_of = |other: &&LoadPlan| other.topic == item.topic && other.role.is_in_group_of(&item.role);
        self.load.values().filter(is_of).map(|other| u64::from(other.clients_of_topic())).sum()
    }
}
