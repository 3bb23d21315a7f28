//! Relays of a cluster with zones: which there are, and how brokers' listeners lead through them.
//!
//! A client connects to what brokers advertise under the listener by which it asked them. So each zone from which a broker is
//! reached over a relay has a listener of its own at every broker, advertised as the relay's port where the broker is in
//! another zone.

use super::node::{ClusterNode, ZoneListener};
use super::ports::HeldPorts;
use crate::error::TestbedError;
use crate::folder::create_folder;
use crate::relay::{self, LinkSpec, RELAY_COMMAND, RelayPort, RelaySpec, RelayTally};
use kdyno_model::event::Subject;
use kdyno_model::plan::{ClusterPlan, LinkPlan, ZonesPlan};
use kdyno_model::seed::mix;
use std::path::{Path, PathBuf};

/// Files in a relay's folder.
const SPEC_FILE: &str = "relay.json";
const TALLY_FILE: &str = "tally";
/// What the jitter of a cluster's relays is drawn from: the same in every start, so that sides of a comparison have the same.
const SEED: u64 = 0x7a6f_6e65;
/// The broker that connects over the relay between brokers, and the one that it connects to.
const BETWEEN_BROKERS: [&str; 2] = ["connecting", "listening"];

/// A relay process.
#[derive(Debug, Clone)]
pub(crate) struct RelayNode {
    pub subject: Subject,
    pub folder: PathBuf,
    /// What is at end 0 of its links and at end 1.
    pub ends: [String; 2],
    pub spec: RelaySpec,
}

impl RelayNode {
    fn new(number: usize, ends: [&str; 2], work_dir: &Path) -> Self {
        let subject = Subject::Relay(u32::try_from(number).unwrap_or(u32::MAX));
        let folder = work_dir.join(subject.to_string());
        let spec =
            RelaySpec { links: Vec::new(), tally: folder.join(TALLY_FILE), seed: mix(SEED, number as u64) };
        Self { subject, folder, ends: ends.map(str::to_owned), spec }
    }

    /// What it has done so far.
    pub(super) fn relayed(&self) -> Relayed {
        let tallies = relay::read(&self.spec.tally);
        Relayed { subject: self.subject.clone(), ends: self.ends.clone(), tallies }
    }

    /// Makes its folder with what it is to do; returns its command line.
    pub(super) fn write(&self, exe: &Path, exe_arguments: &[String]) -> Result<Vec<String>, TestbedError> {
        create_folder(&self.folder)?;
        let path = self.folder.join(SPEC_FILE);
        let text = serde_json::to_string(&self.spec).map_err(|e| TestbedError::Relay(e.to_string()))?;
        std::fs::write(&path, text).map_err(|e| TestbedError::io("cannot write", &path, e))?;
        let exe = exe.display().to_string();
        let last = [RELAY_COMMAND.to_owned(), path.display().to_string()];
        Ok([exe].into_iter().chain(exe_arguments.iter().cloned()).chain(last).collect())
    }
}

/// What a relay has done so far.
#[derive(Debug, Clone)]
pub struct Relayed {
    /// Which relay.
    pub subject: Subject,
    /// What is at end 0 of its links and at end 1: zones.
    pub ends: [String; 2],
    /// Second by second.
    pub tallies: Vec<RelayTally>,
}

/// Whether brokers have a listener for each other in addition to that for clients.
pub(super) fn has_internal_listener(plan: &ClusterPlan) -> bool {
    !plan.listeners.are_plain() || plan.zones.as_ref().is_some_and(|zones| zones.between_brokers)
}

/// An upper bound of the ports that zones need for each broker.
pub(super) fn ports_per_broker(plan: &ClusterPlan) -> usize {
    plan.zones.as_ref().map_or(0, |zones| 2 * zones.names().len() + usize::from(zones.between_brokers))
}

/// Gives brokers their listeners for zones, and returns the relays to which these lead.
pub(super) fn lay_out(
    plan: &ClusterPlan,
    nodes: &mut [ClusterNode],
    work_dir: &Path,
    ports: &mut HeldPorts,
) -> Vec<RelayNode> {
    nodes_of_brokers(nodes).for_each(|node| node.internal_advertised = node.internal_port);
    let Some(zones) = &plan.zones else { return Vec::new() };
    let mut relays = of_clients(plan, zones, nodes, work_dir, ports);
    if zones.between_brokers {
        let mut relay = RelayNode::new(relays.len(), BETWEEN_BROKERS, work_dir);
        // Each broker has a link of its own: a relay does not see who connects to it, and so from where.
        for node in nodes_of_brokers(nodes) {
            node.internal_advertised = ports.next();
            let entry = RelayPort { listen: node.internal_advertised, to: node.internal_port, from: 0 };
            relay.spec.links.push(LinkSpec { link: zones.link, entries: vec![entry] });
        }
        relays.push(relay);
    }
    relays
}

fn nodes_of_brokers(nodes: &mut [ClusterNode]) -> impl Iterator<Item = &mut ClusterNode> {
    nodes.iter_mut().filter(|node| node.kind.is_broker())
}

/// A relay for each pair of zones in which one has clients of the other's brokers.
fn of_clients(
    plan: &ClusterPlan,
    zones: &ZonesPlan,
    nodes: &mut [ClusterNode],
    work_dir: &Path,
    ports: &mut HeldPorts,
) -> Vec<RelayNode> {
    let names = zones.names();
    let mut relays: Vec<RelayNode> = Vec::new();
    for (place, zone) in names.iter().enumerate().filter(|(_, zone)| zones.is_relayed(zone, plan.brokers)) {
        for node in nodes_of_brokers(nodes) {
            let port = ports.next();
            let of_broker = zones.of_broker(node.id);
            let mut advertised = port;
            if of_broker != *zone {
                advertised = ports.next();
                // The zone that is named first is at end 0.
                let is_first = names.iter().position(|name| *name == of_broker) > Some(place);
                let ends = if is_first { [*zone, of_broker] } else { [of_broker, *zone] };
                let entry = RelayPort { listen: advertised, to: port, from: u8::from(!is_first) };
                add(&mut relays, ends, zones.link, entry, work_dir);
            }
            let name = format!("ZONE{}", place + 1);
            node.zones.push(ZoneListener { zone: (*zone).to_owned(), name, port, advertised });
        }
    }
    relays
}

/// Adds an entry to the relay between two zones.
fn add(relays: &mut Vec<RelayNode>, ends: [&str; 2], link: LinkPlan, entry: RelayPort, work_dir: &Path) {
    let place = relays.iter().position(|relay| relay.ends == ends).unwrap_or_else(|| {
        let mut relay = RelayNode::new(relays.len(), ends, work_dir);
        relay.spec.links.push(LinkSpec { link, entries: Vec::new() });
        relays.push(relay);
        relays.len() - 1
    });
    relays[place].spec.links[0].entries.push(entry);
}

#[cfg(test)]
mod tests {
    use super::super::layout::tests::{layout, plan};
    use kdyno_model::plan::{JitterLaw, LinkPlan, Mode, ZonesPlan};

    fn zones(brokers: &[&str], clients: &[&str]) -> ZonesPlan {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let link = LinkPlan { delay_ns: 1, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
        ZonesPlan { brokers: owned(brokers), clients: owned(clients), link, between_brokers: false }
    }

    #[test]
    fn only_clients_of_another_zone_go_through_the_relay() {
        let mut plan = plan(Mode::KraftCombined, 3);
        plan.zones = Some(zones(&["a", "a", "b"], &["c"]));
        let layout = layout(&plan);
        let pairs: Vec<String> = layout.relays.iter().map(|relay| relay.ends.join("-")).collect();
        assert_eq!(pairs, ["a-b", "a-c", "b-c"]);
        let racks: Vec<_> = layout.brokers().filter_map(|node| node.rack.as_deref()).collect();
        assert_eq!(racks, ["a", "a", "b"]);
        let first = layout.brokers().next().expect("a broker");
        let listener = |zone: &str| first.zones.iter().find(|of| of.zone == zone).expect("a listener");
        assert_eq!(listener("a").port, listener("a").advertised, "its own zone");
        assert_ne!(listener("b").port, listener("b").advertised);
        // Clients in a come in at end 0 of the link between a and b, those in b at end 1.
        let entries = &layout.relays[0].spec.links[0].entries;
        let from: Vec<u8> = entries.iter().map(|entry| entry.from).collect();
        assert_eq!(from, [0, 1, 1]);
        let to_first = entries.iter().find(|entry| entry.to == listener("b").port).expect("a way");
        assert_eq!(to_first.listen, listener("b").advertised);
        assert_eq!(layout.bootstrap_of("b")[0], format!("127.0.0.1:{}", listener("b").advertised));
        assert_eq!(layout.bootstrap_of("elsewhere"), layout.bootstrap());
    }

    #[test]
    fn one_zone_of_brokers_and_one_of_clients_have_one_relay() {
        let mut plan = plan(Mode::KraftCombined, 3);
        plan.zones = Some(zones(&["a"], &["b"]));
        let layout = layout(&plan);
        assert_eq!(layout.relays.len(), 1);
        assert_eq!(layout.relays[0].spec.links[0].entries.len(), 3);
        assert!(layout.brokers().all(|node| node.zones.len() == 1), "in a nobody goes through it");
        assert_eq!(layout.bootstrap_of("a"), layout.bootstrap());
    }

    #[test]
    fn brokers_reach_each_other_through_a_link_of_each_on_request() {
        let mut plan = plan(Mode::KraftCombined, 2);
        plan.zones = Some(ZonesPlan { between_brokers: true, ..zones(&["a", "b"], &[]) });
        let layout = layout(&plan);
        let between = layout.relays.last().expect("a relay");
        assert_eq!((layout.relays.len(), between.spec.links.len()), (2, 2));
        for (node, link) in layout.brokers().zip(&between.spec.links) {
            assert_eq!(link.entries[0].to, node.internal_port);
            assert_eq!(link.entries[0].listen, node.internal_advertised);
            assert_ne!(node.internal_port, 0);
        }
        plan.zones = None;
        let plain = super::super::layout::tests::layout(&plan);
        assert!(plain.relays.is_empty());
        assert!(plain.brokers().all(|node| node.internal_port == 0 && node.zones.is_empty()));
    }
}
