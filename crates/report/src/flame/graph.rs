//! What a flame graph is drawn of.

use crate::units;
use kdyno_model::finding::{Finding, Scope};
use kdyno_model::metric::SAMPLED_CPU_SHARE;
use kdyno_model::plan::ComparePlan;
use kdyno_model::stacks::{FlameKind, Stacks};
use kdyno_model::trial::TrialId;

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Above it.
    pub title: String,
    /// What was counted.
    pub kind: FlameKind,
    /// For a difference the two sides, A first; otherwise one.
    pub sides: Vec<Stacks>,
    /// For each side, as far as it is known: share of the CPU time that its processes used meanwhile which its stacks
    /// hold (`sampled_cpu_share`).
    pub held: Vec<Option<f64>>,
}

/// The share of its CPU time that the stacks of a subject hold in a trial.
pub fn held(findings: &[Finding], trial: TrialId, subject: &str) -> Option<f64> {
    let is_it = |one: &&Finding| {
        one.scope == Scope::Trial(trial) && one.of.subject == subject && one.of.metric == SAMPLED_CPU_SHARE
    };
    findings.iter().find(is_it)?.estimate.exact()
}

impl Graph {
    /// Whether it has something to show.
    pub fn is_empty(&self) -> bool {
        self.sides.iter().all(Stacks::is_empty)
    }

    /// What was counted in all, in words.
    pub(crate) fn counted(&self) -> String {
        let one = |side: usize| {
            let number = self.sides.get(side).map(|stacks| self.number(stacks.total())).unwrap_or_default();
            match self.held.get(side).copied().flatten() {
                Some(share) => {
                    format!("{number}, {} % of the CPU time used", units::significant(100.0 * share))
                }
                None => number,
            }
        };
        match self.sides.len() {
            2 => {
                let [name_a, name_b] = ComparePlan::SIDES;
                format!("{name_a}: {}; {name_b}: {}", one(0), one(1))
            }
            _ => one(0),
        }
    }

    /// A number of what is counted, with its unit.
    pub(super) fn number(&self, count: u64) -> String {
        let count = count as f64;
        match self.kind {
            FlameKind::Cpu => format!("{} samples", crate::units::count(count)),
            FlameKind::Alloc | FlameKind::Jfr => format!("{} allocated", crate::units::bytes(count)),
            FlameKind::Lock => format!("{} waited", crate::units::nanoseconds(count)),
        }
    }
}
