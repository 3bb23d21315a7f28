//! What a plan is to answer beyond a table: comparisons, searches, claims.

use crate::command_metrics::{ERROR_SHARE, ERRORS};
use crate::metric::{Address, BROKER_ALLOCATED, Unit};
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr};

use super::{CasePlan, Plan};

/// How deep an answer goes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Depth {
    /// Few starts, short trials: what these starts showed, no verdict.
    Quick,
    /// Enough for a verdict.
    #[default]
    Verdict,
}

/// Load that is not reported, for a cluster that was just started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditioning {
    /// It lasts so long at least, ns.
    pub least_ns: u64,
    /// It ends then at the latest, settled or not, ns.
    pub most_ns: u64,
}

/// Pairs of trials of two sides, A and B. The cases of the plan are those of side A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparePlan {
    /// What the sides are called, A first, e.g. `kafka=3.7.2`.
    pub labels: [String; 2],
    /// Side B of each case of the plan.
    pub b: Vec<CasePlan>,
    /// The metrics that were named to be judged, the first one first.
    pub judge: Vec<Judge>,
    /// Units of evidence after which it is looked whether the verdict is clear: 8, 16, 24, or a single number.
    pub looks: Vec<u32>,
    /// Pairs that run on one start of the clusters.
    pub pairs_per_start: u32,
    /// What counts as one unit.
    pub unit: EvidenceUnit,
    /// How the two of a pair run.
    pub design: PairDesign,
    /// Settings that may differ in addition to those that are compared.
    pub may_differ: Vec<String>,
    /// What was asked to differ, in words: `system.kafka: 3.7.2 → 4.4.0`.
    pub changes: Vec<String>,
    /// Both sides on further clusters: pairs take turns, pair by pair. Empty: each side has one system.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<OnClusters>,
}

/// Both sides of each case of the plan on one cluster of either side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnClusters {
    /// Side A.
    pub a: Vec<CasePlan>,
    /// Side B.
    pub b: Vec<CasePlan>,
}

impl ComparePlan {
    /// The sides as a trial's `variant` names them.
    pub const SIDES: [&'static str; 2] = ["A", "B"];

    /// Clusters of each side that take turns.
    pub fn clusters(&self) -> u32 {
        u32::try_from(self.further.len() + 1).unwrap_or(u32::MAX)
    }

    /// Which of these a pair of a case runs on, from 0; pairs count from 1.
    pub fn turn(&self, pair: u32) -> u32 {
        pair.saturating_sub(1) % self.clusters()
    }

    /// What a side (0 is A, 1 is B) of a case runs in a pair. `cases` are those of the plan.
    pub fn effective<'a>(
        &'a self,
        cases: &'a [CasePlan],
        side: usize,
        case: u32,
        pair: u32,
    ) -> Option<&'a CasePlan> {
        let cases = match (self.turn(pair).checked_sub(1), side) {
            (None, 0) => cases,
            (None, _) => &self.b,
            (Some(turn), 0) => &self.further.get(turn as usize)?.a,
            (Some(turn), _) => &self.further.get(turn as usize)?.b,
        };
        cases.get(case as usize)
    }

    /// Pairs that run on one start of the clusters: where these are the unit, once around as often as each has pairs.
    pub fn pairs_on_a_start(&self) -> u32 {
        let pairs = self.pairs_per_start.max(1);
        if self.unit == EvidenceUnit::Cluster { pairs.saturating_mul(self.clusters()) } else { pairs }
    }

    /// All that its trials run in addition to the cases of the plan.
    pub fn other_cases(&self) -> impl Iterator<Item = &CasePlan> {
        self.b.iter().chain(self.further.iter().flat_map(|of| of.a.iter().chain(&of.b)))
    }

    /// The same, to be changed.
    pub fn other_cases_mut(&mut self) -> impl Iterator<Item = &mut CasePlan> {
        self.b.iter_mut().chain(self.further.iter_mut().flat_map(|of| of.a.iter_mut().chain(&mut of.b)))
    }
}

impl Plan {
    /// How clusters that were just started are conditioned, where that is unthrottled, so that what it writes is
    /// unknown beforehand. Those of a duet get the rates of its pairs.
    pub fn unpaced_conditioning(&self) -> Option<Conditioning> {
        let is_duet = self.strategy.as_compare().is_some_and(|of| of.design == PairDesign::Duet);
        let starts_clusters = self.every_case().any(|case| case.system.starts_brokers());
        self.conditioning.filter(|_| starts_clusters && !is_duet)
    }
}

/// A metric to be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judge {
    /// The metric.
    pub of: Address,
    /// Which direction is better.
    pub better: Better,
    /// The smallest change that matters, as a share: 0.1 is 10 %.
    pub margin: f64,
}

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Better {
    /// Less is better: latency, CPU time.
    Lower,
    /// More is better: rates.
    Higher,
}

impl Better {
    /// Which direction of a metric is better, where that goes without saying.
    pub fn of(metric: &str, unit: Unit) -> Option<Self> {
        match (metric, unit) {
            (_, Unit::Ns | Unit::CpuUsPerRecord | Unit::PercentOfCore) => Some(Self::Lower),
            (_, Unit::CostPerGb | Unit::CostPerMillion) => Some(Self::Lower),
            ("offered_per_s", _) => None,
            (_, unit) if unit.is_rate() => Some(Self::Higher),
            (
                "failed"
                | "failed_share"
                | "unresolved"
                | "retries"
                | "aborted"
                | "throttled_share"
                | "lag"
                | "memory_rss_bytes_max"
                | BROKER_ALLOCATED
                | ERRORS
                | ERROR_SHARE,
                _,
            ) => Some(Self::Lower),
            ("committed", _) => Some(Self::Higher),
            _ => None,
        }
    }
}

/// What counts as one piece of evidence in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EvidenceUnit {
    /// A start of both clusters with all of its pairs.
    Start,
    /// A pair; the interval then speaks of these starts only.
    Pair,
    /// A run: for stored ones.
    Run,
    /// A cluster: for several targets per side.
    Cluster,
}

/// How the two trials of a pair run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum PairDesign {
    /// One after the other: each has the machine for itself.
    #[default]
    Turns,
    /// At once, under the same arrivals, on clusters that each side has for itself: what disturbs the machine disturbs
    /// both.
    Duet,
}

/// A search for the highest load at which conditions hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindPlan {
    /// The load item that is varied.
    pub item: String,
    /// What of it is varied.
    pub vary: Vary,
    /// First load that is tried, records/s.
    pub from_per_s: f64,
    /// Highest load that may be tried, records/s.
    pub to_per_s: f64,
    /// Width of the bracket at which the search is narrow enough, as a share: 0.02 is 2 %.
    pub within: f64,
    /// What must hold.
    pub conditions: Vec<Condition>,
    /// Measured window of a trial of the ramp, ns.
    pub ramp_ns: u64,
    /// Measured window of a trial that decides, ns.
    pub trial_ns: u64,
    /// Measured window of a trial that confirms, ns.
    pub confirm_ns: u64,
    /// How many of these must pass; 0: none is run.
    pub confirm_trials: u32,
    /// Most trials in all.
    pub trials_max: u32,
}

/// What a search varies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vary {
    /// The item's rate, its clients as they are.
    Rate,
    /// The number of its clients, each at a fixed rate.
    Clients {
        /// Records/s of one client.
        per_client_per_s: f64,
    },
}

/// A condition that a trial of a search must meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The metric.
    pub of: Address,
    /// Which side of the limit is met.
    pub must_be: LimitSide,
    /// The limit, in the metric's unit.
    pub limit: f64,
    /// As typed, e.g. `writers.response.p99 <= 20ms`.
    pub text: String,
}

/// A side of a limit, the limit included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitSide {
    /// The limit or less.
    AtMost,
    /// The limit or more.
    AtLeast,
}

/// An expectation of the scenario, or a threshold of this run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// In words; of a threshold as typed, with its case where there are several.
    pub text: String,
    /// As typed: `writers.acked_per_s[batch=16KiB] >= 1.5 * writers.acked_per_s[batch=1KiB]`.
    pub that: String,
    /// A threshold (`fail_if`): it is about the figures of this run, not about the cluster, so one trial decides it. Its sides
    /// and operator are those of what must hold, the opposite of what is typed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_threshold: bool,
    /// Left side.
    pub left: ClaimExpr,
    /// How the sides are compared.
    pub op: ClaimOp,
    /// Right side.
    pub right: ClaimExpr,
}

impl Claim {
    /// The metric of a threshold that good figures make true, as it seems, and which direction of it is better: other tools'
    /// thresholds say what must hold. `unit` says in what a metric is counted.
    pub fn turned_round(&self, unit: impl Fn(&str) -> Unit) -> Option<(&Address, Better)> {
        let (of, op) = match (&self.left, &self.right) {
            (ClaimExpr::Metric { of, .. }, ClaimExpr::Number(_)) => (of, self.op),
            (ClaimExpr::Number(_), ClaimExpr::Metric { of, .. }) => (of, self.op.turned()),
            _ => return None,
        };
        let must_be = match op {
            ClaimOp::Less | ClaimOp::AtMost => Better::Lower,
            ClaimOp::Greater | ClaimOp::AtLeast => Better::Higher,
        };
        let better = Better::of(&of.metric, unit(&of.metric))?;
        (self.is_threshold && must_be != better).then_some((of, better))
    }
}

/// A side of a claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimExpr {
    /// A number, in the unit of the metric it is compared with.
    Number(f64),
    /// A metric of a case.
    Metric {
        /// The metric.
        of: Address,
        /// Index of the case.
        case: u32,
    },
    /// The sum of two.
    Sum(Box<ClaimExpr>, Box<ClaimExpr>),
    /// The first less the second.
    Difference(Box<ClaimExpr>, Box<ClaimExpr>),
    /// The product of two.
    Product(Box<ClaimExpr>, Box<ClaimExpr>),
    /// The first divided by the second.
    Quotient(Box<ClaimExpr>, Box<ClaimExpr>),
}

impl ClaimExpr {
    /// The metrics that it is made of, each with its case.
    pub fn metrics(&self) -> Box<dyn Iterator<Item = (&Address, u32)> + '_> {
        match self {
            Self::Number(_) => Box::new(std::iter::empty()),
            Self::Metric { of, case } => Box::new(std::iter::once((of, *case))),
            Self::Sum(a, b) | Self::Difference(a, b) | Self::Product(a, b) | Self::Quotient(a, b) => {
                Box::new(a.metrics().chain(b.metrics()))
            }
        }
    }
}

/// How the sides of a claim are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOp {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl ClaimOp {
    /// How the sides are compared the other way round.
    #[must_use]
    pub fn turned(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::Greater => Self::Less,
            Self::AtLeast => Self::AtMost,
        }
    }
}

/// A named ratio between two cases, all else equal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// Its name, e.g. `bigger batches`.
    pub name: String,
    /// Index of the case that it starts from.
    pub from: u32,
    /// Index of the case that it leads to.
    pub to: u32,
    /// The metrics.
    pub of: Vec<Address>,
}
