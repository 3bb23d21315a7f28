//! What the plan makes of consumer groups.

use crate::common::{BASE, facts, planned, target};
use kdyno_model::plan::{GroupAssignor, GroupPlan, GroupProtocol, Role};
use kdyno_model::run::SettingOrigin;
use kdyno_plan::{Choices, clients_in_force, retarget};

const SECOND: u64 = 1_000_000_000;

/// The base scenario whose consumers are described otherwise.
fn with(readers: &str) -> String {
    BASE.replace("{consume: t}", readers)
}

fn group(readers: &str) -> GroupPlan {
    let plan = planned(&with(readers), &Choices::default()).unwrap();
    let Role::Consume(consume) = &plan.cases[0].load["readers"].role else { panic!("a consumer") };
    consume.group.clone().unwrap()
}

fn wrong(readers: &str) -> String {
    planned(&with(readers), &Choices::default()).unwrap_err()
}

#[test]
fn defaults_are_those_of_the_java_consumer_of_the_version() {
    let newest = group("{consume: t, group: billing}");
    let assignors = vec![GroupAssignor::Range, GroupAssignor::CooperativeSticky];
    let protocol = GroupProtocol::Classic {
        assignors,
        session_timeout_ns: 45 * SECOND,
        heartbeat_interval_ns: 3 * SECOND,
    };
    let expected = GroupPlan {
        name: "billing".to_owned(),
        id: None,
        protocol,
        instance_id: None,
        poll_interval_max_ns: 300 * SECOND,
        auto_commit_ns: Some(5 * SECOND),
    };
    assert_eq!(newest, expected);
    let old = group("{consume: t, group: billing, client: {defaults: '2.8'}}");
    let protocol = GroupProtocol::Classic {
        assignors: vec![GroupAssignor::Range],
        session_timeout_ns: 10 * SECOND,
        heartbeat_interval_ns: 3 * SECOND,
    };
    assert_eq!(old, GroupPlan { protocol, ..expected });
}

#[test]
fn settings_have_kafkas_names_and_words() {
    let strategy = "org.apache.kafka.clients.consumer.StickyAssignor, roundrobin";
    let group = group(&format!(
        "{{consume: t, group: g, client: {{partition.assignment.strategy: '{strategy}', session.timeout.ms: 6000, \
         heartbeat.interval.ms: 2s, max.poll.interval.ms: 1m, enable.auto.commit: FALSE, group.instance.id: static}}}}"
    ));
    assert_eq!((group.auto_commit_ns, group.poll_interval_max_ns), (None, 60 * SECOND));
    assert_eq!(group.instance_id.as_deref(), Some("static"));
    let protocol = GroupProtocol::Classic {
        assignors: vec![GroupAssignor::Sticky, GroupAssignor::RoundRobin],
        session_timeout_ns: 6 * SECOND,
        heartbeat_interval_ns: 2 * SECOND,
    };
    assert_eq!(group.protocol, protocol);
}

#[test]
fn the_brokers_assign_where_they_can() {
    let readers = "{consume: t, group: g, client: {group.protocol: consumer, group.remote.assignor: range}}";
    let reported = wrong(readers);
    assert!(reported.contains("brokers of Kafka 3.7.2 do not have `group.protocol: consumer`"), "{reported}");
    assert!(reported.contains("from 4.0 on"), "{reported}");
    let early = with(readers)
        .replace("num.io.threads: 8", "group.coordinator.rebalance.protocols: 'classic,consumer'");
    for text in [with(readers).replace("3.7.2", "4.1.1"), early] {
        let plan = planned(&text, &Choices::default()).unwrap();
        let Role::Consume(consume) = &plan.cases[0].load["readers"].role else { panic!("a consumer") };
        let protocol = &consume.group.as_ref().unwrap().protocol;
        assert_eq!(*protocol, GroupProtocol::Consumer { assignor: Some("range".to_owned()) });
    }
}

#[test]
fn what_java_or_the_coordinator_would_refuse_is_refused() {
    for (client, reported) in [
        ("group.remote.assignor: uniform", "cannot be set with `group.protocol: classic`, as in Java"),
        (
            "group.protocol: consumer, session.timeout.ms: 10s",
            "cannot be set with `group.protocol: consumer`",
        ),
        ("partition.assignment.strategy: stiky", "`stiky` is none of `range`"),
        ("partition.assignment.strategy: 'range,range'", "names range twice"),
        ("heartbeat.interval.ms: 45s", "must be below `session.timeout.ms`"),
        ("group.id: mine", "client setting `group.id` is not supported"),
    ] {
        let error = wrong(&format!("{{consume: t, group: g, client: {{{client}}}}}"));
        assert!(error.contains(reported), "{client}: {error}");
    }
    let error = wrong("{consume: t, group: 'my group'}");
    assert!(error.contains("`my group` is not a usable name"), "{error}");
    let two = |a: &str, b: &str| {
        let late = format!(
            "{{consume: t, group: g, client: {{{a}}}}}\n  late: {{consume: t, group: g, client: {{{b}}}}}"
        );
        wrong(&late)
    };
    let error = two("partition.assignment.strategy: range", "partition.assignment.strategy: sticky");
    assert!(error.contains("group `g`: `readers` and `late` have no assignor in common"), "{error}");
}

/// In results both would be `group:billing`.
#[test]
fn a_target_names_no_group_of_the_scenario() {
    let there = |groups: &str| target("there", &format!("groups: [{groups}]\n"));
    let on = |target| Choices { target: Some(target), ..Choices::default() };
    let text = with("{consume: t, group: billing}");
    let error = planned(&text, &on(there("orders, billing"))).unwrap_err();
    assert!(error.starts_with("s.yaml:"), "{error}");
    let words = "group `billing`: target `there` lists a group of this name under `groups` | rename the scenario's group";
    assert!(error.contains(words), "{error}");
    let mut stored = planned(&text, &on(there("orders"))).unwrap();
    retarget(&mut stored, &[there("orders")]).unwrap();
    let error = retarget(&mut stored, &[there("billing")]).unwrap_err();
    assert!(error.message.contains("target `there` lists a group of this name"), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("rename the scenario's group")));
}

#[test]
fn members_that_must_be_idle_and_settings_without_group_warn() {
    let (reported, _) = facts(&with("{consume: t, group: g, clients: 3}"), &Choices::default());
    let idle = "group `g` has 3 members for 2 partitions of `t`: 1 of them reads nothing".to_owned();
    assert!(reported.contains(&idle), "{reported:?}");
    let (reported, _) = facts(&with("{consume: t, group: g, clients: 2}"), &Choices::default());
    assert!(!reported.iter().any(|text| text.contains("members")), "{reported:?}");
    let (reported, _) = facts(&with("{consume: t, client: {session.timeout.ms: 10s}}"), &Choices::default());
    let without = "`session.timeout.ms` of `readers` has no effect here: it has no `group`".to_owned();
    assert!(reported.contains(&without), "{reported:?}");
}

/// What is typed with the default's value has that value by default too.
#[test]
fn settings_of_a_group_are_held_against_its_defaults() {
    let others = |readers: &str| {
        let plan = planned(&with(readers), &Choices::default()).unwrap();
        let settings = clients_in_force(&plan.cases[0]).remove("readers").unwrap();
        assert!(settings.contains_key("max.poll.interval.ms"), "{settings:?}");
        let others = settings.into_iter().filter(|(_, setting)| setting.origin != SettingOrigin::Default);
        others.map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(others("{consume: t, group: g}"), [""; 0]);
    assert_eq!(others("{consume: t, group: g, client: {session.timeout.ms: 45000}}"), [""; 0]);
    assert_eq!(others("{consume: t, group: g, client: {defaults: \"2.8\"}}"), [""; 0]);
    assert_eq!(
        others("{consume: t, group: g, client: {session.timeout.ms: 40000, fetch.min.bytes: 5}}"),
        ["fetch.min.bytes", "session.timeout.ms"]
    );
}
