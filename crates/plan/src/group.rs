//! Consumer groups: the settings of their members, and what has to be alike among them.

use crate::choices::PlanError;
use crate::given::TypedSetting;
use crate::reader::CaseReader;
use kdyno_model::plan::{CasePlan, GroupAssignor, GroupPlan, GroupProtocol, LoadPlan, Plan, SystemPlan};
use kdyno_model::version::Version;
use kdyno_scenario::client::{OF_ONE_PROTOCOL, group_defaults};
use kdyno_scenario::file::RoleFile;
use kdyno_scenario::input::{InputError, listed, not_allowed, quoted};
use kdyno_scenario::yaml::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// Longest name of a group: its id also has the prefix, the run and the trial.
const NAME_BYTES_MAX: usize = 100;
/// The first release whose brokers have the consumer protocol by default.
const CONSUMER_FROM: (u32, u32) = (4, 0);
/// The first one that has it where this setting says so.
const CONSUMER_EARLY: (u32, u32) = (3, 7);
const PROTOCOLS: &str = "group.coordinator.rebalance.protocols";

/// The group of an item, with its members' settings.
pub(crate) fn group(
    reader: &CaseReader<'_>,
    name: &Scalar,
    version: &Version,
    given: &[TypedSetting<'_>],
) -> Result<GroupPlan, PlanError> {
    let mut group = group_defaults(version, self::name(reader, name)?);
    let word = |name: &str| given.iter().find(|given| given.name == name).map(|given| given.word.as_str());
    if word("group.protocol") == Some("consumer") {
        group.protocol = GroupProtocol::Consumer { assignor: None };
    }
    let is_committing = word("enable.auto.commit") != Some("false");
    for given in given {
        of_other_protocol(reader, given, &group.protocol)?;
        match given.name {
            "group.instance.id" => group.instance_id = Some(given.word.clone()),
            "max.poll.interval.ms" => group.poll_interval_max_ns = given.ns(),
            "auto.commit.interval.ms" => group.auto_commit_ns = Some(given.ns()),
            _ => of_protocol(reader, given, &mut group.protocol)?,
        }
    }
    group.auto_commit_ns = group.auto_commit_ns.filter(|_| is_committing);
    let within = |given: &&TypedSetting<'_>| matches!(given.name, HEARTBEAT | SESSION);
    if let GroupProtocol::Classic { session_timeout_ns, heartbeat_interval_ns, .. } = group.protocol
        && heartbeat_interval_ns >= session_timeout_ns
        && let Some(given) = given.iter().find(within)
    {
        let message = format!("`{HEARTBEAT}` must be below `{SESSION}`, as in Java");
        return Err(reader
            .wrong(given.typed, message)
            .hint("a third of it leaves room for two that are lost"));
    }
    Ok(group)
}

const HEARTBEAT: &str = "heartbeat.interval.ms";
const SESSION: &str = "session.timeout.ms";

/// Whether a text can be the name of a group.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

fn name(reader: &CaseReader<'_>, typed: &Scalar) -> Result<String, PlanError> {
    let name = reader.filled(typed, "group")?;
    if is_name(&name) {
        return Ok(name);
    }
    let message = format!("`group`: {} is not a usable name", quoted(&name));
    Err(reader.wrong(typed, message).hint("letters, digits, `.`, `_` and `-`, at most 100 of them"))
}

/// As in Java, a setting of the other protocol is refused.
fn of_other_protocol(
    reader: &CaseReader<'_>,
    given: &TypedSetting<'_>,
    protocol: &GroupProtocol,
) -> Result<(), PlanError> {
    let own = protocol.name();
    match OF_ONE_PROTOCOL.iter().find(|(name, _)| *name == given.name) {
        Some((name, whose)) if *whose != own => {
            let message = format!("`{name}` cannot be set with `group.protocol: {own}`, as in Java");
            Err(reader
                .wrong(given.typed, message)
                .hint(format!("leave it out, or write `group.protocol: {whose}`")))
        }
        _ => Ok(()),
    }
}

fn of_protocol(
    reader: &CaseReader<'_>,
    given: &TypedSetting<'_>,
    protocol: &mut GroupProtocol,
) -> Result<(), PlanError> {
    match (given.name, protocol) {
        ("partition.assignment.strategy", GroupProtocol::Classic { assignors, .. }) => {
            *assignors = self::assignors(reader, given)?;
        }
        (SESSION, GroupProtocol::Classic { session_timeout_ns, .. }) => *session_timeout_ns = given.ns(),
        (HEARTBEAT, GroupProtocol::Classic { heartbeat_interval_ns, .. }) => {
            *heartbeat_interval_ns = given.ns();
        }
        ("group.remote.assignor", GroupProtocol::Consumer { assignor }) => {
            *assignor = Some(given.word.clone());
        }
        _ => {}
    }
    Ok(())
}

/// Java's list of classes, or the names that members know them by.
fn assignors(reader: &CaseReader<'_>, given: &TypedSetting<'_>) -> Result<Vec<GroupAssignor>, PlanError> {
    let mut found = Vec::new();
    for text in given.word.split(',').map(str::trim) {
        let Some(assignor) = GroupAssignor::of(text) else {
            let names: Vec<&str> = GroupAssignor::ALL.iter().map(|assignor| assignor.name()).collect();
            let (message, hint) = not_allowed(text, &names);
            let message = format!("`{}`: {message}", given.name);
            return Err(reader.wrong(given.typed, message).maybe_hint(hint));
        };
        if found.contains(&assignor) {
            let message = format!("`{}` names {} twice", given.name, assignor.name());
            return Err(reader.wrong(given.typed, message));
        }
        found.push(assignor);
    }
    Ok(found)
}

/// What brokers do not have, or would refuse.
pub(crate) fn check(
    reader: &CaseReader<'_>,
    system: &SystemPlan,
    load: &BTreeMap<String, LoadPlan>,
) -> Result<(), PlanError> {
    let mut seen: BTreeMap<&str, (&str, &LoadPlan, &GroupPlan)> = BTreeMap::new();
    for (item, typed) in &reader.scenario.typed().load {
        let RoleFile::Consume(consume) = &typed.role else { continue };
        let Some(typed) = &consume.group else { continue };
        let Some(plan) = load.get(&item.text) else { continue };
        let Some(group) = plan.role.group() else { continue };
        if matches!(group.protocol, GroupProtocol::Consumer { .. })
            && let Some(message) = without_consumer_protocol(system)
        {
            let hint = format!("leave `group.protocol` out, or take a release from {}.0 on", CONSUMER_FROM.0);
            return Err(reader.wrong(typed, message).hint(hint));
        }
        if let Some(message) = named_by_target(system, group) {
            return Err(reader.wrong(typed, message).hint("rename the scenario's group"));
        }
        let (first, other_plan, other) = *seen.entry(&group.name).or_insert((&item.text, plan, group));
        if let Some(what) = not_alike(other, group).or_else(|| not_shared_alike(other_plan, plan)) {
            let message = format!("group `{}`: `{first}` and `{}` {what}", group.name, item.text);
            return Err(reader
                .wrong(typed, message)
                .hint("give both the same `client`, or groups of their own"));
        }
    }
    Ok(())
}

/// Refuses a stored case with a group that its target names.
pub(crate) fn check_on_target(case: &CasePlan) -> Result<(), PlanError> {
    let mut groups = case.load.values().filter_map(|item| item.role.group());
    let Some(message) = groups.find_map(|group| named_by_target(&case.system, group)) else { return Ok(()) };
    Err(InputError::whole(message).hint(
        "`kdyno export RUN --format scenario > FILE`, rename the scenario's group, and `kdyno run FILE --target` on it",
    ))
}

/// Why a group may not run on its target: figures of both would be of one subject.
fn named_by_target(system: &SystemPlan, group: &GroupPlan) -> Option<String> {
    let (target, name) = (system.target()?, &group.name);
    let is_named = target.groups.contains(name);
    is_named.then(|| {
        format!("group `{name}`: target `{}` lists a group of this name under `groups`", target.target)
    })
}

/// Why the coordinator would refuse one of two members.
fn not_alike(a: &GroupPlan, b: &GroupPlan) -> Option<&'static str> {
    match (&a.protocol, &b.protocol) {
        (GroupProtocol::Classic { assignors: a, .. }, GroupProtocol::Classic { assignors: b, .. }) => {
            let has_common = a.iter().any(|assignor| b.contains(assignor));
            (!has_common).then_some("have no assignor in common (`partition.assignment.strategy`)")
        }
        (GroupProtocol::Consumer { .. }, GroupProtocol::Consumer { .. }) => None,
        _ => Some("differ in `group.protocol`"),
    }
}

/// Why members of two items would not be in one group although it has one name.
fn not_shared_alike(a: &LoadPlan, b: &LoadPlan) -> Option<&'static str> {
    (a.topic == b.topic && a.shared_topics != b.shared_topics).then_some(
        "have the same topics, one of them in a list: its clients read all of them, those of the other are a group for each",
    )
}

/// Why the brokers of a system made for the run do not have the consumer protocol. What those of targets and of builds
/// have shows when clients connect.
fn without_consumer_protocol(system: &SystemPlan) -> Option<String> {
    let release = system.release()?;
    let version = Version::parse(release).ok()?;
    let is_reported = || {
        let protocols = system.broker_config().and_then(|config| config.get(PROTOCOLS));
        protocols.is_some_and(|protocols| protocols.contains("consumer"))
    };
    let at_least = |(major, minor)| version.at_least(major, minor);
    let has_it = at_least(CONSUMER_FROM) || (at_least(CONSUMER_EARLY) && is_reported());
    (!has_it).then(|| format!("brokers of Kafka {release} do not have `group.protocol: consumer`"))
}

/// A sentence for each group that has more members than there are partitions.
pub(crate) fn remarks(plan: &Plan) -> BTreeSet<String> {
    plan.every_case().flat_map(idle_members).collect()
}

fn idle_members(case: &CasePlan) -> Vec<String> {
    let mut groups: BTreeMap<&str, (u64, BTreeSet<&str>)> = BTreeMap::new();
    for item in case.load.values() {
        if let Some(group) = item.role.group() {
            let (members, topics) = groups.entry(&group.name).or_default();
            *members += u64::from(item.clients);
            topics.extend(item.topics());
        }
    }
    // How many partitions a topic of a target has is known when it is there.
    let partitions = |topic: &str| match case.system.existing_topic(topic) {
        Some(_) => None,
        None => Some(u64::from(case.topics.get(topic)?.partitions)),
    };
    let remarks = |(name, (members, topics)): (&str, (u64, BTreeSet<&str>))| {
        let partitions: u64 = topics.iter().map(|topic| partitions(topic)).sum::<Option<u64>>()?;
        let idle = members.checked_sub(partitions).filter(|idle| *idle > 0)?;
        let topics = listed(topics);
        let read = if idle == 1 { "reads" } else { "read" };
        Some(format!(
            "group `{name}` has {members} members for {partitions} partitions of {topics}: {idle} of them {read} nothing"
        ))
    };
    groups.into_iter().filter_map(remarks).collect()
}
