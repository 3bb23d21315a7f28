//! An attached cluster in the words of reports.

use super::SystemWords;
use crate::terminal::security_line;
use crate::topology::{Frame, Tier, TopologyNode};
use crate::units;
use kdyno_model::plan::{AttachedPlan, CasePlan};
use kdyno_model::run::TrialStart;

/// Declared facts of a target that a topology has; the page lists them all elsewhere.
const FACTS_MAX: usize = 5;

impl SystemWords for AttachedPlan {
    fn lines(&self, case: &CasePlan) -> Vec<String> {
        // `quick` learns it once it is connected.
        let id = match self.cluster_id.as_str() {
            "" => String::new(),
            id => format!("; cluster id must be {id}"),
        };
        let mut lines = vec![format!(
            "attached to {} at {}{id}; every topic of ours starts with {}",
            self.target,
            self.bootstrap.join(","),
            self.prefix
        )];
        lines.extend(security_line(&self.security));
        let existing = self.topics.iter().filter(|(address, _)| case.topics.contains_key(*address));
        lines.extend(existing.map(|(address, name)| format!("topic {address} is the existing topic {name}")));
        if !self.groups.is_empty() {
            lines.push(format!("lag is read of the existing groups {}", self.groups.join(", ")));
        }
        lines.extend(self.facts.iter().map(|(name, value)| format!("declared: {name} = {value}")));
        let price = self.price.as_ref();
        lines.extend(price.map(|price| format!("declared: {} {} per hour", price.per_hour, price.currency)));
        lines
    }

    fn tier(&self, start: &TrialStart, link: String) -> Tier {
        let place = if start.is_attached_here() { "on this host" } else { "elsewhere" };
        let title = format!("Target {}, {place}", self.target);
        Tier { link: Some(link), frames: vec![Frame { title, nodes: vec![brokers(start, self)] }] }
    }
}

/// What is known of a target's brokers: their addresses are private.
fn brokers(start: &TrialStart, target: &AttachedPlan) -> TopologyNode {
    let fact = |name: &str| start.cluster.get(name);
    let name = match fact("brokers").and_then(|brokers| brokers.parse().ok()) {
        Some(brokers) => units::plural(brokers, "broker"),
        None => "brokers".to_owned(),
    };
    let mut lines: Vec<String> = Vec::new();
    lines.extend(fact("kafka_version").map(|version| format!("Kafka {version}")));
    lines.extend(fact("racks").map(|racks| format!("racks {racks}")));
    let declared = target.facts.iter().take(FACTS_MAX);
    lines.extend(declared.map(|(name, value)| format!("{name} = {value} (declared)")));
    TopologyNode { name, lines }
}
