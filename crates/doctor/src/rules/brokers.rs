//! Settings of brokers, by their processors where these are known, and options of their JVMs.

use super::{Reason, advice, source};
use crate::advice::Severity::{High, Low, Medium};
use crate::advice::{Advice, Change};
use crate::expect::Expect;
use crate::observed::{Broker, Jvm, Setting};
use crate::quote::quoted;

/// A broker's setting whose recommended value is the same everywhere.
struct Rule {
    setting: &'static str,
    /// Kafka's default, in force where a plan does not set it.
    default: &'static str,
    expect: Expect,
    reason: Reason,
    /// Whether it can be changed while the broker runs.
    is_dynamic: bool,
}

const fn rule(
    setting: &'static str,
    default: &'static str,
    expect: Expect,
    (severity, why, source): (crate::Severity, &'static str, &'static str),
    is_dynamic: bool,
) -> Rule {
    Rule { setting, default, expect, reason: Reason { severity, why, source }, is_dynamic }
}

const SOCKETS: &str =
    "keeps a fast or distant network busy; the kernel's net.core.rmem_max and wmem_max must allow it";

const RULES: &[Rule] = &[
    rule(
        "num.replica.fetchers",
        "1",
        Expect::AtLeast(2),
        (Medium, "one thread that fetches from a leader limits how fast followers keep up", source::INTEL),
        true,
    ),
    rule(
        "socket.receive.buffer.bytes",
        "102400",
        Expect::AtLeast(102_400_000),
        (Low, SOCKETS, source::INTEL),
        false,
    ),
    rule(
        "socket.send.buffer.bytes",
        "102400",
        Expect::AtLeast(102_400_000),
        (Low, SOCKETS, source::INTEL),
        false,
    ),
    rule(
        "unclean.leader.election.enable",
        "false",
        Expect::Is("false"),
        (
            High,
            "a replica that lacks acknowledged records must not become the leader: they would be lost",
            source::KAFKA_BROKER,
        ),
        true,
    ),
    rule(
        "ssl.enabled.protocols",
        "TLSv1.2,TLSv1.3",
        Expect::Is("TLSv1.2,TLSv1.3"),
        (Low, "1.3 takes a round trip less to connect, and older clients still find 1.2", source::INTEL),
        false,
    ),
];

/// Settings that a cluster of three brokers or more must keep three replicas by.
const REPLICATED: &[(&str, &str, &str, &str)] = &[
    (
        "default.replication.factor",
        "1",
        "topics that are made without a number of replicas have this one",
        source::INTEL,
    ),
    (
        "offsets.topic.replication.factor",
        "3",
        "without its replicas groups forget what they have read",
        source::KAFKA_BROKER,
    ),
    (
        "transaction.state.log.replication.factor",
        "3",
        "without its replicas transactions stop",
        source::KAFKA_BROKER,
    ),
];

/// Holds brokers against the tables. What all of them have in common is told once.
pub(crate) fn examine(brokers: &[Broker], bootstrap: Option<&str>) -> Vec<Advice> {
    let mut all: Vec<Advice> = Vec::new();
    for broker in brokers {
        let of = format!("broker {}", broker.id);
        all.extend(RULES.iter().map(|rule| fixed(&of, broker, rule, bootstrap)));
        all.extend(threads(&of, broker, bootstrap));
        if brokers.len() >= 3 {
            all.extend(REPLICATED.iter().map(|row| replicated(&of, broker, row, bootstrap)));
            all.extend(broker.has_controller.map(|has| controller(&of, has)));
        }
        all.extend(broker.jvm.iter().flat_map(|jvm| of_jvm(&of, jvm)));
    }
    merged(all, brokers.len())
}

/// Advice that every broker gets in the same words becomes one of `brokers`; its change is then for all of them.
fn merged(all: Vec<Advice>, brokers: usize) -> Vec<Advice> {
    if brokers < 2 {
        return all;
    }
    let mut merged: Vec<Advice> = Vec::new();
    for advice in &all {
        let is_alike = |other: &&Advice| other.setting == advice.setting && other.current == advice.current;
        let together = Advice { of: "brokers".to_owned(), ..advice.clone() };
        if all.iter().filter(is_alike).count() < brokers {
            merged.push(advice.clone());
        } else if !merged.iter().any(|other| other.of == together.of && other.setting == together.setting) {
            merged.push(together);
        }
    }
    merged
}

fn fixed(of: &str, broker: &Broker, rule: &Rule, bootstrap: Option<&str>) -> Advice {
    let setting = in_force(broker, rule.setting, rule.default);
    let value = setting.as_ref().map(|setting| setting.value.clone());
    let is_followed = value.as_deref().and_then(|value| rule.expect.is_followed(value));
    let change = |_: &str| {
        Some(change(rule.setting, &rule.expect.value(), setting.as_ref(), rule.is_dynamic, bootstrap))
    };
    advice(of, rule.setting, (value, is_followed), rule.expect.words(), rule.reason, change)
}

fn replicated(
    of: &str,
    broker: &Broker,
    &(setting, default, why, source): &(&'static str, &'static str, &'static str, &'static str),
    bootstrap: Option<&str>,
) -> Advice {
    let reason = Reason { severity: Medium, why, source };
    let rule = Rule { setting, default, expect: Expect::AtLeast(3), reason, is_dynamic: false };
    fixed(of, broker, &rule, bootstrap)
}

fn controller(of: &str, has_controller: bool) -> Advice {
    let reason = Reason {
        severity: Low,
        why: "a controller that shares a process with a busy broker answers late, and goes down with it",
        source: source::INTEL,
    };
    let now = if has_controller { "in the broker" } else { "elsewhere" };
    let how = |_: &str| {
        Some(Change::by_hand("controllers of their own; in a scenario: system.mode: controllers=3"))
    };
    let current = (Some(now.to_owned()), Some(!has_controller));
    advice(of, "controller", current, "a process of its own".to_owned(), reason, how)
}

fn in_force(broker: &Broker, name: &str, default: &str) -> Option<Setting> {
    let default = || Setting { value: default.to_owned(), is_dynamic: false };
    broker.settings.get(name).cloned().or_else(|| broker.is_planned.then(default))
}

/// Threads, by the processors that a broker has: of 16, 6 for the network (at most half) and 8 for requests.
fn threads(of: &str, broker: &Broker, bootstrap: Option<&str>) -> [Advice; 2] {
    let network = Reason {
        severity: Medium,
        why: "network threads carry TLS and copies; of 16 processors 6, and at most half of them, so that requests find one",
        source: source::INTEL,
    };
    let io = Reason {
        severity: Medium,
        why: "request handlers work on processors; of 16 processors 8, and never more of them than processors",
        source: source::INTEL,
    };
    let network_range = broker.processors.map(|all| {
        let most = u64::from(all / 2).max(1);
        ((u64::from(all) * 6 + 8) / 16).clamp(1, most)..=most
    });
    let io_range = broker.processors.map(|all| u64::from(all).min(8)..=u64::from(all).max(1));
    [("num.network.threads", "3", network, network_range), ("num.io.threads", "8", io, io_range)].map(
        |(name, default, reason, range)| {
            let setting = in_force(broker, name, default);
            let value = setting.as_ref().map(|setting| setting.value.clone());
            let number = value.as_deref().and_then(|value| value.trim().parse::<u64>().ok());
            let is_followed = range.as_ref().zip(number).map(|(range, number)| range.contains(&number));
            let recommended = match &range {
                Some(range) if range.start() == range.end() => range.start().to_string(),
                Some(range) => format!("{} to {}", range.start(), range.end()),
                None => "by the processors of a broker, which the target's facts may declare (vcpus: 16)"
                    .to_owned(),
            };
            let best =
                range.as_ref().map_or(0, |range| number.unwrap_or(0).clamp(*range.start(), *range.end()));
            let change = |_: &str| Some(change(name, &best.to_string(), setting.as_ref(), true, bootstrap));
            advice(of, name, (value, is_followed), recommended, reason, change)
        },
    )
}

/// Of a running cluster by Kafka's tool, of a plan in the scenario.
fn change(
    name: &str,
    value: &str,
    now: Option<&Setting>,
    is_dynamic: bool,
    bootstrap: Option<&str>,
) -> Change {
    let Some(bootstrap) = bootstrap else {
        return Change::by_hand(format!("in the scenario: system.config: {{{name}: {value}}}"));
    };
    if !is_dynamic {
        return Change::by_hand(format!(
            "in each broker's server.properties: {name}={value}; then restart one after the other"
        ));
    }
    let tool = |what: &str| {
        format!(
            "kafka-configs.sh --bootstrap-server {} --alter --entity-type brokers --entity-default {what}",
            quoted(bootstrap)
        )
    };
    let set = |value: &str| tool(&format!("--add-config {}", quoted(&format!("{name}={value}"))));
    // What nobody had set while the cluster ran comes back by itself once this is taken away.
    let undo = match now.filter(|now| now.is_dynamic) {
        Some(now) => set(&now.value),
        None => tool(&format!("--delete-config {}", quoted(name))),
    };
    Change::commands(set(value), undo)
}

fn of_jvm(of: &str, jvm: &Jvm) -> [Advice; 2] {
    const HEAP_BYTES: u64 = 4 << 30;
    let heap = Reason {
        severity: Low,
        why: "leaves garbage collections rare and short under production load; in a small test a smaller heap may do",
        source: source::INTEL,
    };
    let touch = Reason {
        severity: Low,
        why: "the kernel hands out all memory of the heap at the start, not under load",
        source: source::INTEL,
    };
    const TOUCH: &str = "-XX:+AlwaysPreTouch";
    let has_touch = jvm.options.iter().any(|option| option == TOUCH);
    let now = if has_touch { "on" } else { "off" };
    let in_scenario = |what: &str| Some(Change::by_hand(format!("in the scenario: {what}")));
    let heap_now = kdyno_model::units::bytes(jvm.heap_bytes as f64);
    [
        advice(
            of,
            "heap (-Xms = -Xmx)",
            (Some(heap_now), Some(jvm.heap_bytes >= HEAP_BYTES)),
            "at least 4 GiB".to_owned(),
            heap,
            |_| in_scenario("system.limits: {heap: 4GiB}"),
        ),
        advice(of, TOUCH, (Some(now.to_owned()), Some(has_touch)), "on".to_owned(), touch, |_| {
            in_scenario(&format!("system.jvm: [{TOUCH}]"))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    fn planned(id: i32, processors: Option<u32>) -> Broker {
        Broker { id, is_planned: true, processors, ..Broker::default() }
    }

    fn of(all: &[Advice], setting: &str) -> Advice {
        all.iter().find(|advice| advice.setting == setting).cloned().expect("a rule of that name")
    }

    #[test]
    fn threads_follow_the_processors() {
        for (processors, network, io) in
            [(16, "6 to 8", "8 to 16"), (8, "3 to 4", "8"), (2, "1", "2"), (1, "1", "1")]
        {
            let all = examine(&[planned(0, Some(processors))], None);
            assert_eq!(of(&all, "num.network.threads").recommended, network, "of {processors}");
            assert_eq!(of(&all, "num.io.threads").recommended, io, "of {processors}");
        }
        let unknown = of(&examine(&[planned(0, None)], None), "num.io.threads");
        assert_eq!((unknown.verdict, unknown.change), (Verdict::Unknown, None));
    }

    #[test]
    fn what_brokers_have_in_common_is_told_once() {
        let all = examine(&[planned(0, Some(4)), planned(1, Some(4)), planned(2, Some(8))], None);
        let of_fetchers: Vec<_> =
            all.iter().filter(|advice| advice.setting == "num.replica.fetchers").collect();
        assert_eq!(of_fetchers.iter().map(|advice| advice.of.as_str()).collect::<Vec<_>>(), ["brokers"]);
        assert_eq!(of(&all, "default.replication.factor").verdict, Verdict::NotFollowed);
        assert_eq!(of(&all, "offsets.topic.replication.factor").verdict, Verdict::Followed);
    }

    #[test]
    fn a_running_broker_is_changed_by_kafkas_tool_and_back() {
        let setting = |value: &str, is_dynamic| Setting { value: value.to_owned(), is_dynamic };
        let mut broker = Broker { id: 1, ..Broker::default() };
        broker.settings.insert("num.replica.fetchers".to_owned(), setting("1", false));
        broker.settings.insert("unclean.leader.election.enable".to_owned(), setting("true", true));
        let all = examine(&[broker], Some("host:9092"));
        let change = of(&all, "num.replica.fetchers").change.expect("a change");
        assert!(change.apply.ends_with("--entity-default --add-config num.replica.fetchers=2"), "{change:?}");
        assert!(change.undo.is_some_and(|undo| undo.ends_with("--delete-config num.replica.fetchers")));
        let change = of(&all, "unclean.leader.election.enable").change.expect("a change");
        assert!(
            change
                .undo
                .is_some_and(|undo| undo.ends_with("--add-config unclean.leader.election.enable=true"))
        );
        // Of a running broker, what it did not tell is not known.
        assert_eq!(of(&all, "socket.send.buffer.bytes").verdict, Verdict::Unknown);
    }
}
