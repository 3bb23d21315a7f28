//! The connections of a case's load, and whether this host carries them.

use crate::replicas::partition_replicas;
use kdyno_load::connecting::CONNECTING_MAX;
use kdyno_model::plan::{CasePlan, LoadPlan, Plan, Role};
use kdyno_testbed::TestbedError;
use kdyno_testbed::capacity::{Capacity, Connections, ItemConnections};

/// From so many clients on, a load's needs are described.
const DESCRIBED_FROM: u64 = 100;

/// Makes sure that the clients of a case have open files and local ports enough.
///
/// # Errors
/// They have not; says how many fit.
pub(crate) fn check(plan: &Plan, case: &CasePlan, capacity: &Capacity) -> Result<(), TestbedError> {
    match capacity.shortage(&needed(plan, case)) {
        None => Ok(()),
        Some(shortage) => Err(TestbedError::hinted(shortage.message(), shortage.hint())),
    }
}

/// What many clients need and what there is, in words; `None` for few.
pub(crate) fn describe(plan: &Plan, case: &CasePlan, capacity: &Capacity) -> Option<String> {
    let needed = needed(plan, case);
    let clients: u64 = needed.items.iter().map(|item| item.clients).sum();
    let sockets: u64 = needed.items.iter().map(|item| item.clients * item.each).sum();
    let files = capacity.process_files.filter(|_| clients > DESCRIBED_FROM)?;
    let shown = |number: u64| kdyno_model::units::count(number as f64);
    Some(format!(
        "clients: {} with up to {} connections, {} open files for the worker",
        shown(clients),
        shown(sockets + needed.while_connecting),
        shown(files)
    ))
}

fn needed(plan: &Plan, case: &CasePlan) -> Connections {
    let is_loopback = case.system.runs_here();
    // How many brokers a target has shows when it is asked; each replica is on another one.
    let of_target = || {
        let replicas = case.topics.values().map(|topic| u64::from(topic.replicas)).max().unwrap_or(1);
        replicas.max(case.system.target().map_or(0, |target| target.bootstrap.len() as u64))
    };
    let brokers = case.system.brokers().map_or_else(of_target, |brokers| u64::from(brokers).max(1));
    let of_each = || partition_replicas(plan, &case.system).div_ceil(brokers);
    let broker_replicas = (case.system.starts_brokers() && case.system.runs_here()).then(of_each);
    let connecting = |item: &LoadPlan| {
        let clients = u64::from(item.clients);
        if item.span.is_late() { clients } else { clients.min(CONNECTING_MAX as u64) }
    };
    Connections {
        items: case.load.iter().map(|(name, item)| connections(name, item, case, brokers)).collect(),
        while_connecting: case.load.values().map(connecting).sum(),
        broker_replicas,
        is_loopback,
    }
}

/// A producer has a connection to each leader, a consumer to those of its partitions, and both one more to a coordinator.
fn connections(name: &str, item: &LoadPlan, case: &CasePlan, brokers: u64) -> ItemConnections {
    let clients = u64::from(item.clients);
    let partitions = case.partitions_of_client(item).max(1);
    let (leaders, coordinators) = match &item.role {
        Role::Produce(produce) => (partitions.min(brokers), u64::from(produce.transactions.is_some())),
        Role::Consume(consume) => {
            let of_topic = u64::from(item.clients_of_topic()).max(1);
            (partitions.div_ceil(of_topic).min(brokers), u64::from(consume.group.is_some()))
        }
        // Its producer and its consumer each reach every leader.
        Role::EndToEnd(_) => (2 * partitions.min(brokers), 0),
    };
    let bootstrap = u64::from(item.driver.keeps_first_connection());
    let to_leader = if matches!(item.role, Role::EndToEnd(_)) { 2 } else { 1 };
    ItemConnections {
        name: name.to_owned(),
        clients,
        each: leaders + coordinators + bootstrap,
        each_to_broker: to_leader + coordinators + bootstrap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_plan::Choices;
    use kdyno_scenario::Scenario;

    fn planned(load: &str) -> Plan {
        let text = format!(
            "kdyno: 1\nid: small\nquestion: Do they fit?\nsystem: {{kafka: 4.1.1, brokers: 3}}\n\
             topics: {{perf: {{partitions: 300, replicas: 2}}}}\nload: {{{load}}}\nphases: {{measure: 30s}}\n"
        );
        let scenario = Scenario::parse(&text, "test").expect("a scenario");
        kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan")
    }

    const CAPACITY: Capacity = Capacity {
        process_files: Some(20_000),
        host_files: None,
        ports: Some(28_000),
        waiting_ports: 0,
        reuses_ports: (true, true),
    };

    /// Producers reach three brokers each, consumers of one partition one; late ones come all at once.
    #[test]
    fn many_clients_are_refused_before_anything_starts() {
        let few = planned("w: {produce: perf, rate: 1k/s, value: 100B}");
        assert_eq!(describe(&few, &few.cases[0], &CAPACITY), None);
        let plan = planned(
            "writers: {produce: perf, clients: 1000, rate: 1k/s, value: 100B}, \
             readers: {consume: perf, clients: 300}, late: {consume: perf, clients: 600, at: 5s}",
        );
        check(&plan, &plan.cases[0], &CAPACITY).expect("they fit");
        let describe = describe(&plan, &plan.cases[0], &CAPACITY).expect("they are many");
        // 3 × 1,000 + 300 + 600, and while they connect 200 + 200 + 600.
        assert_eq!(describe, "clients: 1,900 with up to 4,900 connections, 20,000 open files for the worker");
        let plan = planned("writers: {produce: perf, clients: 10000, rate: 1k/s, value: 100B}");
        let error = check(&plan, &plan.cases[0], &CAPACITY).expect_err("30,000 connections");
        let describe = "the load needs 30,300 open files in the worker, and a process of this user may have 20,000: of the 10,000 \
                    clients of `writers` 6,566 fit";
        assert_eq!(error.to_string(), describe);
        assert!(error.hint().is_some_and(|hint| hint.contains("ulimit")));
    }
}
