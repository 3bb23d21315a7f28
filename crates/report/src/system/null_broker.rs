//! A null broker in the words of reports.

use super::words::SystemWords;
use crate::topology::{Frame, Tier, TopologyNode};
use crate::units;
use kdyno_model::plan::{CasePlan, ClusterPlan, NullBrokerPlan};
use kdyno_model::run::TrialStart;

impl SystemWords for NullBrokerPlan {
    fn lines(&self, _case: &CasePlan) -> Vec<String> {
        let versions: Vec<String> = self.tls.iter().map(ToString::to_string).collect();
        let protocol = if versions.is_empty() { "PLAINTEXT".to_owned() } else { versions.join(" ") };
        let mut lines = vec![format!(
            "null broker, {protocol}: no Kafka; it acknowledges everything and keeps nothing, so figures are of the client \
             alone"
        )];
        let value = self.fetch_value_bytes.map(|bytes| units::size(u64::from(bytes)));
        lines.extend(value.map(|value| format!("consumers read made-up values of {value} without end")));
        lines
    }

    fn kind(&self) -> String {
        "null broker: it keeps nothing".to_owned()
    }

    fn tier(&self, _start: &TrialStart, link: String) -> Tier {
        let node = TopologyNode { name: "null broker".to_owned(), lines: vec!["keeps nothing".to_owned()] };
        Tier { link: Some(link), frames: vec![Frame { title: "No Kafka".to_owned(), nodes: vec![node] }] }
    }

    fn translated(&self) -> Result<&ClusterPlan, (String, Option<&'static str>)> {
        Err(("a null broker, which is no Kafka".to_owned(), None))
    }
}
