//! Cases: what is started in them, what their clients know, how long they last.

use super::refusal::{KeyPath, Passed};
use super::{load, system};
use crate::item_topics::STREAMS_MAX;
use crate::phases::PHASE_NS_MAX;
use crate::system_kind;
use crate::workers::workers;
use kdyno_model::generator::{GeneratorsPlan, HOSTS_MAX};
use kdyno_model::plan::{
    COMPONENT_WAIT_NS_MAX, CasePlan, CommandPlan, ComponentPlan, LoadPlan, PhasesPlan, WarmupAuto,
};
use kdyno_model::secret::SecretRef;
use kdyno_scenario::generators::is_generator_name;
use kdyno_scenario::input::quoted;
use std::collections::{BTreeMap, BTreeSet};

/// The cases of a plan, or of a side.
pub(super) fn all(at: &KeyPath<'_>, cases: &[CasePlan]) -> Passed {
    (0..).zip(cases).try_for_each(|(number, case): (u32, _)| one(&at.key(&number.to_string()), case))
}

fn one(at: &KeyPath<'_>, case: &CasePlan) -> Passed {
    let CasePlan {
        label: _,
        // Printed; only commands and components get them.
        params: _,
        system,
        topics,
        load,
        commands,
        components,
        phases,
        workers: shares,
        generators,
        secrets,
    } = case;
    commands.iter().try_for_each(|(item, command)| no_command(&at.key("commands"), item, command))?;
    components.iter().try_for_each(|of| component(&at.key("components"), of))?;
    at.key("components").within(components.len(), 0..=1)?;
    system_kind::gate(&at.key("system"), system)?;
    topics.iter().try_for_each(|(name, topic)| system::topic(&at.key("topics"), name, topic))?;
    load.iter().try_for_each(|(name, item)| load::item(&at.key("load").key(name), name, item, case))?;
    let is_of_others = load.values().any(|item| !has_all_in_common(item, load));
    at.key("load").holds(!is_of_others, "has load items with some topics in common, and not all")?;
    let streams = load.values().map(|item| u64::from(item.stream_count())).sum::<u64>();
    at.key("load").within(streams, 0..=u64::from(STREAMS_MAX))?;
    // How clients are shared out among workers follows from the load.
    on_hosts(&at.key("generators"), generators)?;
    let is_so = *shares == workers(load, generators);
    at.key("workers").holds(is_so, "has workers that are not those of its load")?;
    lengths(&at.key("phases"), phases)?;
    // A target brings its own.
    let is_attached = system.target().is_some();
    let mut secrets = secrets.iter().filter(|_| !is_attached);
    secrets.try_for_each(|(name, reference)| secret(&at.key("secrets"), name, reference))
}

/// Whether each other load item has all of an item's topics, in the same order, or none of them.
fn has_all_in_common(item: &LoadPlan, load: &BTreeMap<String, LoadPlan>) -> bool {
    let own: BTreeSet<&str> = item.topics().collect();
    let is_same = |other: &LoadPlan| (&other.topic, &other.more_topics) == (&item.topic, &item.more_topics);
    load.values().all(|other| is_same(other) || !other.topics().any(|topic| own.contains(topic)))
}

/// Names alone: how they are reached is in a file of the user's own.
fn on_hosts(at: &KeyPath<'_>, of: &GeneratorsPlan) -> Passed {
    // A word.
    let GeneratorsPlan { hosts, shares, lost_workers: _ } = of;
    at.within(hosts.len(), 0..=HOSTS_MAX)?;
    at.within(shares.len(), 0..=HOSTS_MAX)?;
    let mut names = hosts.iter().chain(shares.values().flatten());
    names.try_for_each(|name| at.named(name, is_generator_name(name), "a load generator"))
}

fn no_command(at: &KeyPath<'_>, item: &str, command: &CommandPlan) -> Passed {
    Err(at.refused(format!("runs a command: {item}: {}", quoted(&command.line()))))
}

/// What kdyno itself names and fetches, started as kdyno starts it, and nothing else.
fn component(at: &KeyPath<'_>, of: &ComponentPlan) -> Passed {
    let ComponentPlan {
        name,
        // kdyno's own proxy is named by its release.
        kind: _,
        environment,
        // Questions to its own port, and lines of its own.
        ready: _,
        ready_within_ns,
        stop_signal: _,
        stop_within_ns,
    } = of;
    // A variable may hold options of its JVM.
    if !of.is_kdynos_own() || !environment.is_empty() {
        return Err(at.refused(format!("starts a component: {name}: {}", quoted(&of.line()))));
    }
    at.key("ready_within_ns").within(*ready_within_ns, 0..=COMPONENT_WAIT_NS_MAX)?;
    at.key("stop_within_ns").within(*stop_within_ns, 0..=COMPONENT_WAIT_NS_MAX)
}

fn secret(at: &KeyPath<'_>, name: &str, reference: &SecretRef) -> Passed {
    let kind = match reference {
        SecretRef::Made => return Ok(()),
        SecretRef::Env(_) => "an environment variable",
        SecretRef::File(_) | SecretRef::Property { .. } => "a file",
        SecretRef::Exec(_) => "a command",
    };
    Err(at.refused(format!("takes secret {} from {kind}", quoted(name))))
}

fn lengths(at: &KeyPath<'_>, phases: &PhasesPlan) -> Passed {
    let PhasesPlan { warmup_ns, warmup_auto, measure_ns, drain_ns } = phases;
    at.key("warmup_ns").within(*warmup_ns, 0..=PHASE_NS_MAX)?;
    if let Some(WarmupAuto { least_ns, records_min: _ }) = warmup_auto {
        at.key("warmup_auto").within(*least_ns, 0..=*warmup_ns)?;
    }
    at.key("measure_ns").within(*measure_ns, 1..=PHASE_NS_MAX)?;
    at.key("drain_ns").within(*drain_ns, 0..=PHASE_NS_MAX)
}
