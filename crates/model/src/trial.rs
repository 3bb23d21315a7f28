//! A trial as a value: which one it is, what it runs and why it was chosen.

use crate::plan::CasePlan;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

/// A trial's number in its run, from 1, in the order in which the trials began: the key of all its evidence,
/// and what is printed wherever a trial is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TrialId(pub u32);

impl std::fmt::Display for TrialId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One load at one setting on one cluster: everything explicit, ready to be executed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its number.
    pub id: TrialId,
    /// Index of its case in [`Plan::cases`](crate::plan::Plan::cases): the row of the table it belongs to.
    pub case: u32,
    /// Which side of a comparison it is, e.g. `A`; `None` outside of comparisons.
    pub variant: Option<String>,
    /// Its place in a pair of a comparison.
    pub pair: Option<PairPlace>,
    /// Which of the case's repeats, from 1.
    pub repeat: u32,
    /// Which start of its cluster it runs on, from 1: trials of one system with the same number run on one cluster.
    pub start: u32,
    /// In words, as tables print it: the case's label and, of several repeats, `#` and which. Empty when the
    /// plan has one trial.
    pub label: String,
    /// Why it was chosen.
    pub reason: TrialReason,
    /// Seed of its schedules and of its choices of partitions.
    pub seed: u64,
    /// What it runs: the case as planned, or as a strategy has changed it.
    pub effective: CasePlan,
}

/// A trial's place in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairPlace {
    /// Which pair of the case, from 1.
    pub pair: u32,
    /// Whether it runs first or second of the two: 1 or 2. If they run at once the first one's workers are started
    /// first.
    pub place: u8,
}

/// The stages of a search (docs/METHOD.md, Throughput at an SLA).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SearchStage {
    /// Short trials, each at a higher load, until one fails.
    Ramp,
    /// Trials between the highest load that passed and the lowest that failed.
    Bisect,
    /// Long trials just below the estimate.
    Confirm,
}

/// Why a strategy chose a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialReason {
    /// The plan lists its trials before the first one runs.
    Listed {
        /// How many trials the list has.
        of: u32,
    },
    /// A cluster that was just started gets load that is not reported, so that no case meets cold brokers.
    Conditioning,
    /// One half of a pair of a comparison whose two trials run one after the other.
    Pair,
    /// One half of a pair whose two trials run at once, on clusters of their own
    /// ([`PairDesign::Duet`](crate::plan::PairDesign)).
    Duet,
    /// A load that a search wants to know about.
    Search {
        /// What for.
        stage: SearchStage,
        /// Records/s of the item that is varied.
        load_per_s: f64,
    },
}

impl Trial {
    /// Whether it only warms its cluster up: it is in no table and nothing is concluded from it.
    pub fn is_conditioning(&self) -> bool {
        self.reason == TrialReason::Conditioning
    }

    /// Whether it is half of a pair whose two trials run at once.
    pub fn is_of_duet(&self) -> bool {
        self.reason == TrialReason::Duet
    }
}
