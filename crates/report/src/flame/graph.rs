//! What a flame graph is drawn of.

use kdyno_model::plan::ComparePlan;
use kdyno_model::stacks::{FlameKind, Stacks};

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Above it.
    pub title: String,
    /// What was counted.
    pub kind: FlameKind,
    /// Of a difference the two sides, A first; otherwise one.
    pub sides: Vec<Stacks>,
}

impl Graph {
    /// Whether it has something to show.
    pub fn is_empty(&self) -> bool {
        self.sides.iter().all(Stacks::is_empty)
    }

    /// What was counted in all, in words.
    pub(crate) fn counted(&self) -> String {
        let one = |stacks: &Stacks| self.number(stacks.total());
        match self.sides.as_slice() {
            [a, b] => {
                let [name_a, name_b] = ComparePlan::SIDES;
                format!("{name_a}: {}, {name_b}: {}", one(a), one(b))
            }
            sides => sides.first().map(one).unwrap_or_default(),
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
