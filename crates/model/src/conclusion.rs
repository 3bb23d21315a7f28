//! What the numbers say: judgements that reports put into words.
//!
//! A finding is a number; a conclusion is what analysis makes of several: whether a window was steady, what the
//! limit was, whether B differs from A, what a cluster carries at an SLA, whether a claim holds. Each keeps the
//! numbers that it rests on. Definitions and thresholds are in docs/METHOD.md.

use crate::finding::{Interval, Mark, NotResolvable, Scope, Value};
use crate::health::Health;
pub use crate::limit::{
    AtLimit, Demand, Limit, LimitEvidence, LimitKind, LimitingDelay, ResourceDemand, ShareOf,
};
use crate::members::Members;
use crate::metric::{Address, Unit};
use crate::plan::{Better, Depth, EvidenceUnit};
use crate::processes::Processes;
pub use crate::settings::{SettingDiffers, WhyDiffers};
use crate::trial::{SearchStage, TrialId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use strum::{Display, IntoStaticStr};

/// One judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Conclusion {
    /// Whether a trial's window was steady.
    Steadiness(Steadiness),
    /// What kept a trial from going faster.
    Limit(Limit),
    /// What a record takes of each resource, and which of them is the next limit.
    Demand(Demand),
    /// Whether B differs from A in one metric.
    Verdict(Verdict),
    /// What the system carries while conditions hold.
    Search(SearchResult),
    /// Whether a claim of the scenario holds.
    Claim(JudgedClaim),
    /// Which rows of the table differ in a column.
    ToldApart(DistinctRows),
    /// A setting that is not the same on both sides of a comparison.
    SettingDiffers(SettingDiffers),
    /// What each member of a load item's group was handed and had.
    Members(Members),
    /// Whether a trial's system was healthy.
    Health(Health),
    /// What each process used in a trial.
    Processes(Processes),
    /// How far the parts of a trial's window lie apart.
    WindowParts(WindowParts),
}

impl Conclusion {
    /// What it speaks of.
    pub fn scope(&self) -> Scope {
        match self {
            Self::Steadiness(of) => of.scope,
            Self::Limit(of) => of.scope,
            Self::Demand(of) => of.scope,
            Self::Verdict(of) => of.scope,
            Self::Search(of) => of.scope,
            Self::SettingDiffers(of) => of.scope,
            Self::Members(of) => of.scope,
            Self::Health(of) => of.scope,
            Self::Processes(of) => of.scope,
            Self::WindowParts(of) => of.scope,
            Self::Claim(_) | Self::ToldApart(_) => Scope::Run,
        }
    }
}

/// What conclusions of one kind hold.
pub trait ConclusionKind {
    /// That of a conclusion; `None`: it is of another kind.
    fn of(one: &Conclusion) -> Option<&Self>;
}

macro_rules! kinds {
    ($($kind:ident($of:ty)),+) => {
        $(impl ConclusionKind for $of {
            fn of(one: &Conclusion) -> Option<&Self> {
                if let Conclusion::$kind(of) = one { Some(of) } else { None }
            }
        })+
    };
}

kinds!(Steadiness(Steadiness), Limit(Limit), Demand(Demand), Verdict(Verdict), Search(SearchResult));
kinds!(Claim(JudgedClaim), ToldApart(DistinctRows), SettingDiffers(SettingDiffers), Members(Members));
kinds!(Health(Health), Processes(Processes), WindowParts(WindowParts));

/// The conclusions of one kind, in their order.
pub fn of_kind<'a, T: ConclusionKind + 'a>(all: &'a [Conclusion]) -> impl Iterator<Item = &'a T> {
    all.iter().filter_map(T::of)
}

/// Whether the window of a trial was steady for one load item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// The trial.
    pub scope: Scope,
    /// The load item.
    pub item: String,
    /// What was found.
    pub state: SteadyState,
    /// The smallest detectable change of level, as a share of the mean; `None`: too short to determine.
    pub smallest_step: Option<f64>,
    /// What a claim of sustained load would need and the window did not hold.
    pub short_term: Vec<ShortTerm>,
}

/// How a window's series went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyState {
    /// No change that the series' own noise would have let be seen.
    Steady,
    /// It rose or fell throughout.
    Drifting {
        /// The metric.
        of: Address,
        /// Change per minute as a share of the median; negative: it fell.
        per_minute: f64,
    },
    /// It stayed at different levels.
    SeveralLevels {
        /// The metric.
        of: Address,
        /// The levels in order of time.
        levels: Vec<Level>,
    },
    /// The window is too short for any statement.
    TooShort {
        /// Seconds that it takes at least.
        needed_s: u32,
    },
}

/// A stretch of a window in which a series kept its level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// First second, from T0.
    pub from_s: u32,
    /// First second after it.
    pub to_s: u32,
    /// The mean of its seconds, in the metric's unit; of a quantile the mean of theirs, which is not the quantile of the
    /// whole stretch.
    pub value: f64,
}

/// Why a window says nothing about load that goes on for hours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ShortTerm {
    /// Log segments that were filled, per partition.
    SegmentRolls {
        /// How many.
        seen: f64,
        /// How many it takes.
        needed: u32,
    },
    /// Times that the kernel's limit of dirty pages was written.
    FlushCycles {
        /// How many.
        seen: f64,
        /// How many it takes.
        needed: u32,
    },
    /// The load ended before burst credits of rented machines and disks do.
    BurstCredits {
        /// Seconds under load.
        seen_s: u32,
        /// Seconds that it takes.
        needed_s: u32,
    },
}

/// Whether B differs from A in one metric of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The comparison.
    pub scope: Scope,
    /// The metric.
    pub of: Address,
    /// Its unit.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The smallest change that matters, as a share: 0.1 is 10 %.
    pub margin: f64,
    /// A quick look or a verdict.
    pub depth: Depth,
    /// Whether it was named beforehand.
    pub role: MetricRole,
    /// B ÷ A with its interval; `None` without a single pair of figures.
    pub ratio: Option<Ratio>,
    /// The interval of the same ratio at twice the error, as two one-sided tests take it: where it lies within the
    /// margin no difference matters. `None`: too few units for one.
    pub equivalence_interval: Option<Interval>,
    /// Median of side A.
    pub a: Value,
    /// Median of side B.
    pub b: Value,
    /// Marks of the figures of side A and of side B; the ratio has both.
    pub marks: [BTreeSet<Mark>; 2],
    /// Units of evidence that it rests on.
    pub n: u32,
    /// What a unit is.
    pub unit_of_evidence: EvidenceUnit,
    /// How long a unit took on average, ns: from the first T0 of one to that of the next one of its session. `None`: fewer
    /// than two of a session, or units that time does not make more of (clusters, runs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_ns: Option<u64>,
    /// Probability of such a difference without a cause, and that corrected for all metrics of its role.
    pub p: Option<(f64, f64)>,
    /// The verdict.
    pub says: Says,
}

impl Verdict {
    /// The ratio with the interval that [`says`](Self::says) rests on, which is the one to print with it: where no
    /// difference matters the one at twice the error, else the one at the error of the look.
    pub fn judged_by(&self) -> Option<Ratio> {
        let ratio = self.ratio?;
        let interval = match self.says {
            Says::Equivalent | Says::Different { material: false, .. } => {
                self.equivalence_interval.unwrap_or(Interval::NotResolvable(NotResolvable::NoMethod))
            }
            _ => ratio.interval,
        };
        Some(Ratio { interval, ..ratio })
    }
}

/// A ratio with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The estimate.
    pub estimate: f64,
    /// The interval, or why there is none.
    pub interval: Interval,
}

/// Whether a metric was named as the one to judge before the comparison ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricRole {
    /// It was: its verdict counts.
    Judged,
    /// It was not: worth a look, no more.
    Exploratory,
    /// It was not: somebody else measured it and it was imported when the comparison was over. Which direction is
    /// better is not stated.
    Imported,
}

/// A verdict on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// The interval excludes 1 and lies on one side of the margin's ends.
    Different {
        /// It lies wholly beyond the margin; else within.
        material: bool,
        /// B is the worse one.
        worse: bool,
    },
    /// The interval excludes 1 and holds an end of the margin: they differ, and whether it matters is inconclusive.
    MaybeMaterial {
        /// B is the worse one.
        worse: bool,
        /// How many more units it would take, about; `None`: no number of them would do.
        more_needed: Option<u32>,
    },
    /// The interval excludes 1, and with so many metrics judged together that may be by chance.
    DifferentAlone {
        /// B is the worse one.
        worse: bool,
        /// How many metrics are judged together.
        together: u32,
        /// How many more units it would take, about; `None`: it is not known, or no number of them would do.
        more_needed: Option<u32>,
    },
    /// In a quick look: the pairs differ, and the interval that also holds what starts differ by does not exclude 1.
    OnThisStart {
        /// B is the worse one.
        worse: bool,
        /// How much starts of the clusters typically differ by, as a share.
        starts_differ: f64,
    },
    /// The interval lies within the margin.
    Equivalent,
    /// Neither.
    Inconclusive {
        /// How many more units it would take, about; `None`: no number of them would do.
        more_needed: Option<u32>,
    },
    /// The evidence must not be used.
    Invalid {
        /// Why, one lowercase sentence.
        reason: String,
    },
}

impl Says {
    /// Whether more evidence may give an answer.
    pub fn is_open(&self) -> bool {
        matches!(
            self,
            Self::Inconclusive { .. }
                | Self::DifferentAlone { .. }
                | Self::OnThisStart { .. }
                | Self::MaybeMaterial { .. }
        )
    }
}

/// What the system carries while conditions hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// The search.
    pub scope: Scope,
    /// What was varied, e.g. `writers.rate`.
    pub varied: Address,
    /// A quick look or a verdict.
    pub depth: Depth,
    /// How it ended.
    pub outcome: SearchOutcome,
    /// Where the conditions just hold by the fitted line, with its interval: records/s.
    pub estimate: Option<Ratio>,
    /// Lowest load that failed, records/s.
    pub first_failing_per_s: Option<f64>,
    /// Percent by which the binding condition's metric grows when the load grows by one percent.
    pub slope: Option<f64>,
    /// Which condition binds, by its place in the plan.
    pub binds: Option<u32>,
    /// Pairs of loads in which the higher one passed.
    pub inversions: Vec<Inversion>,
    /// Every trial.
    pub points: Vec<SearchPoint>,
}

/// How a search ended. Loads are records/s of the item that was varied.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchOutcome {
    /// All confirming trials at this load passed.
    Confirmed {
        /// Records/s.
        load_per_s: f64,
    },
    /// Loads passed, and none was confirmed by trials of its own.
    NotConfirmed {
        /// The highest that passed below every load that failed, records/s.
        highest_passed_per_s: f64,
    },
    /// No load passed.
    EveryLoadFails {
        /// The lowest that was tried.
        lowest_per_s: f64,
    },
    /// Every load passed, up to the end of the range.
    EveryLoadPasses {
        /// The highest that was tried.
        highest_per_s: f64,
    },
    /// Above this load the generator was the limit, not the system.
    GeneratorLimit {
        /// The highest load that it offered in time.
        highest_passed_per_s: Option<f64>,
    },
    /// Trials at this load had no figure to judge by, once and once more.
    NoFigures {
        /// Records/s.
        load_per_s: f64,
        /// The highest that passed before, below every load that failed.
        highest_passed_per_s: Option<f64>,
    },
    /// It was interrupted, or its budget held no further trial.
    Unfinished,
}

/// A higher load passed where a lower one failed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Inversion {
    /// The higher load, which passed, records/s.
    pub passed_per_s: f64,
    /// The lower load, which failed, records/s.
    pub failed_per_s: f64,
}

/// One trial of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchPoint {
    /// The trial.
    pub trial: TrialId,
    /// Its load, records/s.
    pub load_per_s: f64,
    /// What it was for.
    pub stage: SearchStage,
    /// Whether all conditions held; `None`: inconclusive.
    pub passed: Option<bool>,
    /// The metric of each condition, in the plan's order.
    pub values: Vec<Value>,
    /// Marks of each of them.
    pub marks: Vec<BTreeSet<Mark>>,
}

/// How far the parts of a trial's window, tenths or seconds, lie apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WindowParts {
    /// The trial.
    pub scope: Scope,
    /// For each metric that has figures per second.
    pub of: Vec<PartsOf>,
}

/// Figures of one metric in the parts of a window, in its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartsOf {
    /// The metric.
    pub of: Address,
    /// The smallest; more than 0.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// Whether a claim of the scenario holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgedClaim {
    /// Its index in [`Plan::claims`](crate::plan::Plan::claims).
    pub claim: u32,
    /// The answer.
    pub says: ClaimSays,
    /// Value of the left side: the median over the repeats.
    pub left: Value,
    /// Value of the right side.
    pub right: Value,
    /// Marks of the left and the right side, by the figures that they are made of; what compares them has both.
    pub marks: [BTreeSet<Mark>; 2],
    /// Left ÷ right, or left − right where a ratio has no meaning, with its interval.
    pub compared: Option<Ratio>,
    /// Repeats that it rests on.
    pub n: u32,
    /// Why it is inconclusive, or how it can be determined without an interval, one lowercase sentence.
    pub reason: Option<String>,
    /// A figure of the threshold is invalid, and a bound of that figure decides it all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_bound: bool,
}

/// The answer to a claim.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
pub enum ClaimSays {
    /// The whole interval is on the claimed side.
    #[strum(serialize = "holds")]
    Holds,
    /// The whole interval is on the other side.
    #[strum(serialize = "does not hold")]
    DoesNot,
    /// It is on both, or there is none.
    #[strum(serialize = "cannot tell")]
    CannotTell,
}

/// Which rows of the table differ in one column from the row that its ratios are to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DistinctRows {
    /// The column.
    pub of: Address,
    /// The case that the others are compared with.
    pub base: u32,
    /// Cases that surely differ from it.
    pub differ: Vec<u32>,
    /// Cases for which a difference from it is inconclusive.
    pub same: Vec<u32>,
    /// Why nothing can be determined, one lowercase sentence.
    pub why_not: Option<String>,
}
