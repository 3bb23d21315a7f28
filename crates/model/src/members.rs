//! How the members of a consumer group fared, one by one.

use crate::finding::Scope;
use serde::{Deserialize, Serialize};

/// What each member of a load item's group was handed and had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Members {
    /// The trial.
    pub scope: Scope,
    /// The load item.
    pub item: String,
    /// Members that are listed one by one, by ascending number: all, or of many those that fared least like the others.
    #[serde(rename = "told")]
    pub reported: Vec<MemberFigures>,
    /// What the others had in common; `None`: there are none.
    pub others: Option<OtherMembers>,
}

/// One member.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemberFigures {
    /// Its number among the clients of the load item.
    pub client: u32,
    /// Records that it was handed in the measure phase.
    pub records: u64,
    /// What that is of an equal share, 1: it was handed as many as every member in the mean; `None`: none was handed any.
    pub of_equal_share: Option<f64>,
    /// Partitions that it had when the load ended.
    pub partitions: u32,
    /// How often it was assigned partitions again since T0.
    pub rebalances: u32,
    /// How often it lost partitions without giving them up since T0.
    pub losses: u32,
}

/// Several members: of each figure the least and the most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OtherMembers {
    /// How many they are.
    pub members: u32,
    /// Records that one was handed in the measure phase.
    pub records: [u64; 2],
    /// What that is of an equal share.
    pub of_equal_share: Option<[f64; 2]>,
    /// Partitions that one had when the load ended.
    pub partitions: [u32; 2],
    /// How often one was assigned partitions again since T0.
    pub rebalances: [u32; 2],
    /// How often one lost partitions without giving them up since T0.
    pub losses: [u32; 2],
}
