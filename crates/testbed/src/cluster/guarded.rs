//! The processes that the guard of a cluster starts and ends.

use super::launch;
use super::layout::ClusterLayout;
use super::node::ClusterNode;
use super::zones::RelayNode;
use crate::guard::ProcessSpec;
use kdyno_model::event::Subject;
use kdyno_model::plan::ClusterPlan;
use std::collections::BTreeMap;

/// Its processes, in the order in which they are started: relays listen before anybody asks for them.
pub(super) fn processes(
    plan: &ClusterPlan,
    layout: &ClusterLayout,
    command_lines: &BTreeMap<Subject, Vec<String>>,
) -> Vec<ProcessSpec> {
    let process = |node: &ClusterNode| ProcessSpec {
        subject: node.subject.clone(),
        command_line: command_lines.get(&node.subject).cloned().unwrap_or_default(),
        unset_variables: launch::jvm_variables(),
        folder: node.folder.clone(),
        console: node.folder.join(launch::CONSOLE_FILE),
        cpus: node.cpus.clone(),
        cpu_limit: plan.cpu_limit.filter(|_| node.kind.is_broker()),
        end_order: u8::from(!node.kind.is_broker()),
    };
    let relay = |relay: &RelayNode| ProcessSpec {
        subject: relay.subject.clone(),
        command_line: command_lines.get(&relay.subject).cloned().unwrap_or_default(),
        unset_variables: Vec::new(),
        folder: relay.folder.clone(),
        console: relay.folder.join(launch::CONSOLE_FILE),
        cpus: Vec::new(),
        cpu_limit: None,
        end_order: 1,
    };
    layout.relays.iter().map(relay).chain(layout.nodes.iter().map(process)).collect()
}
