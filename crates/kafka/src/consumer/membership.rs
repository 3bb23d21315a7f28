//! What a consuming client knows as a member of a group.

use crate::group::{GroupEvent, Member};
use std::sync::Arc;

/// A member, with the name of the one topic that it reads.
#[derive(Debug)]
pub(super) struct TopicMember {
    pub member: Member,
    pub topic: Arc<str>,
    /// What happened and has not been taken.
    pub events: Vec<(u64, GroupEvent)>,
    /// How many partitions the topic has, as the member knows it.
    pub partitions: usize,
}
