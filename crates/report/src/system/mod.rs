//! What reports say of the system under test: of a cluster and of a target more than the plan does of any system.

mod attached;
mod local;

pub(crate) use local::ignored;

use crate::topology::{Frame, Tier, TopologyNode};
use kdyno_model::plan::{CasePlan, SystemPlan};
use kdyno_model::run::TrialStart;

/// A system in the words of reports.
pub(crate) trait SystemWords {
    /// What a plan says of it, each a line.
    fn lines(&self, case: &CasePlan) -> Vec<String>;

    /// Its brokers in a topology; `link` says how the tier above reaches them.
    fn tier(&self, start: &TrialStart, link: String) -> Tier;
}

/// Who speaks for a system.
pub(crate) fn shown(system: &SystemPlan) -> &dyn SystemWords {
    match (system.cluster(), system.target()) {
        (Some(cluster), _) => cluster,
        (None, Some(target)) => target,
        (None, None) => system,
    }
}

/// What any system says of itself.
impl SystemWords for SystemPlan {
    fn lines(&self, _case: &CasePlan) -> Vec<String> {
        (**self).lines()
    }

    fn tier(&self, _start: &TrialStart, link: String) -> Tier {
        let title = if self.is_kafka() { "Kafka" } else { "No Kafka" };
        let lines = self.peculiarity().map(str::to_owned).into_iter().collect();
        let nodes = vec![TopologyNode { name: (**self).kind(), lines }];
        Tier { link: Some(link), frames: vec![Frame { title: title.to_owned(), nodes }] }
    }
}
