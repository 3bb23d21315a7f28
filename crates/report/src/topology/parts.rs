//! The parts of a topology.

use super::tiers::{Frame, Node, Tier};
use crate::units;
use kdyno_model::event::Subject;
use kdyno_model::link_words::link_words;
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::plan::{
    AttachedPlan, CasePlan, ClusterPlan, CommandPlan, Driver, Mode, SystemPlan, WorkerPlan,
};
use kdyno_model::run::TrialStart;
use std::collections::BTreeMap;

/// Processes of a frame that are told one by one.
const NODES_MAX: usize = 24;
/// Declared facts of a target that are told; the page lists them all elsewhere.
const FACTS_MAX: usize = 5;

/// Those who carry the load: workers with their clients, and commands.
pub(super) fn load(case: &CasePlan) -> Vec<Frame> {
    let workers = case.workers.iter().map(|worker| self::worker(worker, case));
    let commands = case.commands.iter().map(|(name, command)| Node {
        name: name.clone(),
        lines: vec![match command.http.as_ref().map(HttpLoad::target) {
            // The only components that load goes to are told by name; addresses may be private.
            Some(target) if target.is_component => format!("load over HTTP to {}", target.address),
            Some(_) => "load over HTTP".to_owned(),
            None => command.line(),
        }],
    });
    let frames = [("Load generator, kdyno", shown(workers)), ("Commands", shown(commands))];
    frames.into_iter().filter_map(|(title, nodes)| frame(title.to_owned(), nodes)).collect()
}

fn worker(worker: &WorkerPlan, case: &CasePlan) -> Node {
    let lines = worker.shares.iter().map(|share| {
        let plan = case.load.get(&share.item);
        let zone = plan.and_then(|plan| plan.zone.as_ref()).map(|zone| format!(" in zone {zone}"));
        let java = plan.filter(|plan| matches!(plan.driver, Driver::Java(_))).map(|_| ", Java");
        let clients = units::plural(share.client_count, "client");
        format!("{}: {clients}{}{}", share.item, zone.unwrap_or_default(), java.unwrap_or_default())
    });
    Node { name: Subject::Worker(worker.worker).to_string(), lines: lines.collect() }
}

/// Whether all load goes over HTTP to components, so that these are the clients of the brokers.
pub(super) fn is_http_alone(case: &CasePlan) -> bool {
    let is_to_component =
        |command: &CommandPlan| command.http.as_ref().is_some_and(|http| http.target().is_component);
    case.load.is_empty() && !case.commands.is_empty() && case.commands.values().all(is_to_component)
}

/// What clients, which are called `who`, connect to in the place of the brokers.
pub(super) fn proxy(case: &CasePlan, who: &str) -> Option<Tier> {
    let proxy = case.components.iter().find(|component| component.is_proxy())?;
    let node = Node { name: proxy.name.clone(), lines: vec![proxy.line()] };
    let frames = vec![Frame { title: "Proxy".to_owned(), nodes: vec![node] }];
    Some(Tier { link: Some(format!("{who} connect: {}", protocol(&case.system))), frames })
}

/// The brokers, by zone where there are some, and who does what to reach them.
pub(super) fn cluster(start: &TrialStart, reach: &str) -> Tier {
    let system = &start.trial.effective.system;
    let link = format!("{reach}: {}", protocol(system));
    match system {
        SystemPlan::Local(cluster) => local(start, cluster, link),
        SystemPlan::Attached(target) => {
            let frame = Frame { title: place(start, target), nodes: vec![attached(start, target)] };
            Tier { link: Some(link), frames: vec![frame] }
        }
        SystemPlan::NullBroker(_) => {
            let node = Node { name: "null broker".to_owned(), lines: vec!["keeps nothing".to_owned()] };
            Tier { link: Some(link), frames: vec![Frame { title: "No Kafka".to_owned(), nodes: vec![node] }] }
        }
    }
}

fn local(start: &TrialStart, cluster: &ClusterPlan, mut link: String) -> Tier {
    let version = start.cluster.get("kafka").map_or_else(String::new, |version| format!(" {version}"));
    let kafka = format!("Apache Kafka{version}");
    let all = || (0..cluster.brokers).map(move |id| (id, broker(cluster, id)));
    let Some(zones) = &cluster.zones else {
        let nodes = shown(all().map(|(_, node)| node));
        let frames = frame(format!("{kafka}, on this host"), nodes).into_iter().collect();
        return Tier { link: Some(link), frames };
    };
    let relays = start.command_lines.keys().filter(|subject| matches!(subject, Subject::Relay(_)));
    let relays: Vec<String> = relays.map(ToString::to_string).collect();
    let whose = if zones.between_brokers { "clients and brokers" } else { "clients" };
    let over = if relays.is_empty() { "a relay".to_owned() } else { relays.join(", ") };
    link.push_str(&format!("; {whose} of another zone over {over}: {}", link_words(&zones.link)));
    let of_zone = |zone: &str| {
        let there = all().filter(|(id, _)| zones.of_broker(*id) == zone).map(|(_, node)| node);
        frame(format!("Zone {zone}: {kafka}"), shown(there))
    };
    Tier { link: Some(link), frames: zones.names().into_iter().filter_map(of_zone).collect() }
}

fn broker(cluster: &ClusterPlan, id: u32) -> Node {
    let nth = |len: usize| (len > 0).then(|| id as usize % len);
    let mut lines = vec![format!("heap {}", units::size(cluster.heap_bytes))];
    if cluster.mode.is_combined(id) {
        lines.push("controller too".to_owned());
    }
    if let Some(cpus) = nth(cluster.pinned_to.len()).and_then(|nth| cluster.pinned_to.get(nth)) {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        lines.push(format!("on processors {}", cpus.join(",")));
    }
    lines.extend(cluster.cpu_limit.map(|limit| format!("time of {}", units::processors(limit))));
    if let Some(rack) = nth(cluster.racks.len()).and_then(|nth| cluster.racks.get(nth)) {
        lines.push(format!("rack {rack}"));
    }
    Node { name: Subject::Broker(id).to_string(), lines }
}

fn place(start: &TrialStart, target: &AttachedPlan) -> String {
    let place = if start.is_attached_here() { "on this host" } else { "elsewhere" };
    format!("Target {}, {place}", target.target)
}

/// What is known of a target's brokers: their addresses are private.
fn attached(start: &TrialStart, target: &AttachedPlan) -> Node {
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
    Node { name, lines }
}

/// Controllers of their own, or ZooKeeper's nodes.
pub(super) fn beside_brokers(start: &TrialStart) -> Option<Tier> {
    let SystemPlan::Local(cluster) = &start.trial.effective.system else { return None };
    let of = |is_it: fn(&Subject) -> bool| start.command_lines.keys().filter(move |subject| is_it(subject));
    let (title, found): (&str, Vec<String>) = match cluster.mode {
        Mode::KraftCombined => return None,
        Mode::KraftControllers { .. } => {
            ("Controllers", of(|it| matches!(it, Subject::Controller(_))).map(ToString::to_string).collect())
        }
        Mode::Zookeeper { .. } => {
            ("ZooKeeper", of(|it| matches!(it, Subject::Zookeeper(_))).map(ToString::to_string).collect())
        }
    };
    // Of a run whose processes are not known their number is.
    let names =
        if found.is_empty() { vec![units::plural(cluster.mode.beside_brokers(), "node")] } else { found };
    let nodes = shown(names.into_iter().map(|name| Node { name, lines: Vec::new() }));
    Some(Tier {
        link: Some("metadata of the cluster".to_owned()),
        frames: frame(title.to_owned(), nodes).into_iter().collect(),
    })
}

/// What stood beside the cluster, in the order in which it was started, and what else load over HTTP went to.
pub(super) fn components(case: &CasePlan) -> Option<Tier> {
    let others = case.components.iter().filter(|component| !component.is_proxy());
    let nodes = others.map(|component| Node { name: component.name.clone(), lines: vec![component.line()] });
    let here = frame("Components, on this host".to_owned(), shown(nodes));
    let mut loaded: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (item, command) in &case.commands {
        let target = command.http.as_ref().map(HttpLoad::target).filter(|target| !target.is_component);
        target.into_iter().for_each(|target| loaded.entry(&target.address).or_default().push(item));
    }
    // Their addresses may be private.
    let nodes = loaded
        .into_values()
        .map(|items| Node { name: format!("target of {}", items.join(", ")), lines: Vec::new() });
    let there = frame("Under load over HTTP, not started by kdyno".to_owned(), shown(nodes));
    let frames: Vec<Frame> = here.into_iter().chain(there).collect();
    (!frames.is_empty()).then_some(Tier { link: None, frames })
}

/// How clients reach a system.
fn protocol(system: &SystemPlan) -> String {
    match system {
        SystemPlan::Local(cluster) => {
            let clients = &cluster.listeners.clients;
            let mechanism = clients.mechanism.map(|mechanism| format!(" {mechanism}"));
            format!("{}{}", clients.protocol, mechanism.unwrap_or_default())
        }
        SystemPlan::Attached(target) => {
            let mechanism = target.security.sasl.as_ref().map(|sasl| format!(" {}", sasl.mechanism()));
            format!("{}{}", target.security.protocol, mechanism.unwrap_or_default())
        }
        SystemPlan::NullBroker(broker) => {
            let protocol = if broker.tls.is_empty() { "PLAINTEXT" } else { "SSL" };
            protocol.to_owned()
        }
    }
}

fn frame(title: String, nodes: Vec<Node>) -> Option<Frame> {
    (!nodes.is_empty()).then_some(Frame { title, nodes })
}

/// The first ones, and how many more there are.
fn shown(nodes: impl Iterator<Item = Node>) -> Vec<Node> {
    let mut all: Vec<Node> = nodes.collect();
    let more = all.len().saturating_sub(NODES_MAX);
    if more > 0 {
        all.truncate(NODES_MAX);
        all.push(Node { name: format!("and {more} more"), lines: Vec::new() });
    }
    all
}
