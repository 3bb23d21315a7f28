//! What the numbers mean: values with their scope and their marks, ready to be printed.

use crate::metric::{Address, Unit};
use crate::trial::TrialId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use strum::{Display, EnumString, IntoStaticStr};

/// A number, or the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// The number.
    Is(f64),
    /// The value is at least this: a quantile falls among records that were never acknowledged, or it is a latency of a
    /// load that queued.
    AtLeast(f64),
    /// Nothing was counted, or the metric has no meaning here.
    None,
}

impl Value {
    /// The number, where it is known exactly.
    pub fn exact(self) -> Option<f64> {
        if let Self::Is(number) = self { Some(number) } else { None }
    }

    /// The number that it is, or is at least.
    pub fn least(self) -> Option<f64> {
        if let Self::Is(number) | Self::AtLeast(number) = self { Some(number) } else { None }
    }
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::None, Self::Is)
    }
}

/// What a finding or a caveat speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// One trial, in its measure phase.
    Trial(TrialId),
    /// All trials of a case, by its index in the plan; of a comparison those of its side A.
    Case(u32),
    /// All trials of side B of a compared case.
    SideB {
        /// Index of the case.
        case: u32,
    },
    /// A pair of trials of a comparison.
    Pair {
        /// Index of the case.
        case: u32,
        /// Which pair, from 1.
        pair: u32,
    },
    /// All pairs of a case.
    Comparison {
        /// Index of the case.
        case: u32,
    },
    /// All trials of a search.
    Search {
        /// Index of the case.
        case: u32,
    },
    /// A row of the published table, by its index: what a source says of itself.
    PublishedRow(u32),
    /// The whole run.
    Run,
}

/// One number of one scope: the only form in which numbers reach a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What it speaks of.
    pub scope: Scope,
    /// Which metric it is about.
    pub of: Address,
    /// Whether it is the metric itself or something made of it.
    pub quantity: Quantity,
    /// Its unit.
    pub unit: Unit,
    /// The number: of a trial its figure, of a case the median over its trials.
    pub estimate: Value,
    /// How many values it rests on: trials, for a case; 1 for a trial.
    pub n: u32,
    /// Smallest and largest of those values, where there are several.
    pub range: Option<(Value, Value)>,
    /// Where the true value lies, or why that cannot be determined.
    pub interval: Interval,
    /// Marks of the number wherever it is printed. A case's finding has the marks of the trials that it rests on.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub marks: BTreeSet<Mark>,
}

impl Finding {
    /// Whether the number must not be used.
    pub fn is_invalid(&self) -> bool {
        self.marks.contains(&Mark::Invalid)
    }
}

/// A mark of one number. Its caveats and conclusions say more.
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
pub enum Mark {
    /// It must not be used.
    Invalid,
    /// What it sums up rose or fell throughout the window.
    Drifting,
    /// What it sums up stayed at several levels in the window.
    SeveralLevels,
    /// The window was too short to determine whether it is steady.
    TooShortToTell,
    /// It says nothing about load that goes on for hours.
    ShortTerm,
    /// A quantile with too few records beyond it.
    FewRecords,
    /// It holds what the load generator sent at once, after it had stood still.
    Backlog,
    /// A quantile: nearly all values beyond it come from few seconds of the window.
    FewSeconds,
}

/// The marks of a number that is made of both sides: all marks of either side.
pub fn marks_of_both([a, b]: &[BTreeSet<Mark>; 2]) -> BTreeSet<Mark> {
    a | b
}

/// What a finding states of its metric.
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
pub enum Quantity {
    /// The metric's value.
    Value,
    /// Its ratio to the first row of the table; with published figures, to the first that has both ours and theirs.
    RatioToFirstRow,
    /// Its ratio of side B to side A of a comparison.
    RatioBToA,
    /// Its ratio from one case to another, by a contrast of the scenario.
    RatioOfContrast,
}

/// An interval that holds the true value with a stated probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// From `low` to `high`.
    Bounds {
        /// Lower bound, in the finding's unit.
        low: f64,
        /// Upper bound.
        high: f64,
        /// Probability that intervals made so hold the true value, 0 to 1.
        level: f64,
        /// How it was made.
        method: IntervalMethod,
    },
    /// The evidence cannot carry one.
    NotResolvable(NotResolvable),
}

/// How an interval was made (docs/METHOD.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum IntervalMethod {
    /// Two order statistics around the median over trials; its level is exact, from the binomial law.
    OrderStatistics,
    /// Student's t on logarithms of paired ratios.
    StudentT,
    /// Walsh averages of logarithms of paired ratios; its level is exact, from the signed-rank law.
    SignedRank,
    /// Quantiles over trials drawn again and again from those that ran.
    Bootstrap,
    /// Order statistics of the slopes between every two stretches of a window (Sen, by Kendall's law); of a slope.
    Sen,
    /// Where a straight line through several loads meets a level (Fieller).
    LineCrossing,
}

/// Why there is no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotResolvable {
    /// A single trial says nothing about the next one.
    OneTrial,
    /// With fewer trials no interval of the wanted level exists.
    TooFewTrials {
        /// The least number of trials.
        needed: u32,
    },
    /// A bound would fall on a value that is only known to be "at least" something.
    Censored,
    /// Nothing was counted.
    NoValue,
    /// The window is too short.
    TooShort,
    /// No method for such a quantity is in this version.
    NoMethod,
}
