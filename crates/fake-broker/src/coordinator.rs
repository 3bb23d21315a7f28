//! What the fake cluster's coordinator keeps.

use super::membership::ConsumerGroup;
use std::collections::{BTreeMap, BTreeSet};

/// What the cluster knows of transactional producers and of consumer groups.
#[derive(Debug, Clone, Default)]
pub(super) struct FakeCoordinator {
    /// The broker that coordinates; one that is not there cannot be found.
    pub(super) broker: i32,
    /// Until when it reads its log, ns.
    pub(super) loads_until_ns: u64,
    pub(super) producers: BTreeMap<String, Transactional>,
    /// By their ids.
    pub(super) groups: BTreeMap<String, ConsumerGroup>,
}

/// A transactional producer.
#[derive(Debug, Clone, Default)]
pub(super) struct Transactional {
    pub(super) id: i64,
    pub(super) epoch: i16,
    /// The epoch with which it requested the present one: it may ask again, since an answer can be lost.
    pub(super) renewed: Option<i16>,
    /// Partitions of the open transaction.
    pub(super) partitions: BTreeSet<(String, usize)>,
    /// How the one before ended.
    pub(super) before: Option<bool>,
    /// Until when the markers of that are being written, ns.
    pub(super) completes_ns: u64,
}
