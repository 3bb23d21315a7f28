//! The parts of a topology.

use super::tiers::{Frame, Tier, TopologyNode, frame, shown};
use crate::system::shown as shown_system;
use crate::units;
use kdyno_model::event::Subject;
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::plan::{CasePlan, CommandPlan, Mode, SystemPlan, WorkerPlan};
use kdyno_model::run::TrialStart;
use std::collections::BTreeMap;

/// What produces the load: workers with their clients, and commands.
pub(super) fn load(case: &CasePlan) -> Vec<Frame> {
    let workers = case.workers.iter().map(|worker| self::worker(worker, case));
    let commands = case.commands.iter().map(|(name, command)| TopologyNode {
        name: name.clone(),
        lines: vec![match command.http.as_ref().map(HttpLoad::target) {
            // The only components that load goes to are shown by name; addresses may be private.
            Some(target) if target.is_component => format!("load over HTTP to {}", target.address),
            Some(_) => "load over HTTP".to_owned(),
            None => command.line(),
        }],
    });
    let frames = [("Load generator, kdyno", shown(workers)), ("Commands", shown(commands))];
    frames.into_iter().filter_map(|(title, nodes)| frame(title.to_owned(), nodes)).collect()
}

fn worker(worker: &WorkerPlan, case: &CasePlan) -> TopologyNode {
    let lines = worker.shares.iter().map(|share| {
        let plan = case.load.get(&share.item);
        let zone = plan.and_then(|plan| plan.zone.as_ref()).map(|zone| format!(" in zone {zone}"));
        let java = plan.and_then(|plan| plan.driver.as_java()).map(|_| ", Java");
        let clients = units::plural(share.client_count, "client");
        format!("{}: {clients}{}{}", share.item, zone.unwrap_or_default(), java.unwrap_or_default())
    });
    TopologyNode { name: Subject::Worker(worker.worker).to_string(), lines: lines.collect() }
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
    let node = TopologyNode { name: proxy.name.clone(), lines: vec![proxy.line()] };
    let frames = vec![Frame { title: "Proxy".to_owned(), nodes: vec![node] }];
    Some(Tier { link: Some(format!("{who} connect: {}", protocol(&case.system))), frames })
}

/// The brokers, by zone where there are some, and who does what to reach them.
pub(super) fn cluster(start: &TrialStart, reach: &str) -> Tier {
    let system = &start.trial.effective.system;
    shown_system(system).tier(start, format!("{reach}: {}", protocol(system)))
}

/// Controllers of their own, or ZooKeeper's nodes.
pub(super) fn nodes_without_broker(start: &TrialStart) -> Option<Tier> {
    let mode = start.trial.effective.system.mode()?;
    let of = |is_it: fn(&Subject) -> bool| start.command_lines.keys().filter(move |subject| is_it(subject));
    let (title, found): (&str, Vec<String>) = match mode {
        Mode::KraftCombined => return None,
        Mode::KraftControllers { .. } => {
            ("Controllers", of(|it| matches!(it, Subject::Controller(_))).map(ToString::to_string).collect())
        }
        Mode::Zookeeper { .. } => {
            ("ZooKeeper", of(|it| matches!(it, Subject::Zookeeper(_))).map(ToString::to_string).collect())
        }
    };
    // For a run with unknown processes their number is known.
    let names =
        if found.is_empty() { vec![units::plural(mode.nodes_without_broker(), "node")] } else { found };
    let nodes = shown(names.into_iter().map(|name| TopologyNode { name, lines: Vec::new() }));
    Some(Tier {
        link: Some("metadata of the cluster".to_owned()),
        frames: frame(title.to_owned(), nodes).into_iter().collect(),
    })
}

/// What ran next to the cluster, in the order in which it was started, and what else load over HTTP went to.
pub(super) fn components(case: &CasePlan) -> Option<Tier> {
    let others = case.components.iter().filter(|component| !component.is_proxy());
    let nodes =
        others.map(|component| TopologyNode { name: component.name.clone(), lines: vec![component.line()] });
    let here = frame("Components, on this host".to_owned(), shown(nodes));
    let mut loaded: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (item, command) in &case.commands {
        let target = command.http.as_ref().map(HttpLoad::target).filter(|target| !target.is_component);
        target.into_iter().for_each(|target| loaded.entry(&target.address).or_default().push(item));
    }
    // Their addresses may be private.
    let nodes = loaded
        .into_values()
        .map(|items| TopologyNode { name: format!("target of {}", items.join(", ")), lines: Vec::new() });
    let there = frame("Under load over HTTP, not started by kdyno".to_owned(), shown(nodes));
    let frames: Vec<Frame> = here.into_iter().chain(there).collect();
    (!frames.is_empty()).then_some(Tier { link: None, frames })
}

/// How clients reach a system.
fn protocol(system: &SystemPlan) -> String {
    let (protocol, mechanism) = system.protocol();
    let mechanism = mechanism.map(|mechanism| format!(" {mechanism}"));
    format!("{protocol}{}", mechanism.unwrap_or_default())
}
