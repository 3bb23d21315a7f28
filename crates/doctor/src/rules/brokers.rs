//! Settings of brokers, by their processors where these are known.

use super::{Reason, advice, jvm, source};
use crate::advice::AdviceSeverity::{High, Low, Medium};
use crate::advice::{Advice, SettingChange};
use crate::expect::Expect;
use crate::kafka_tool::{self, Entity};
use crate::observed::{Cluster, ObservedBroker, ObservedSetting, SettingLevel};

/// A broker's setting whose recommended value is the same everywhere.
struct BrokerRule {
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
    (severity, why, source): (crate::AdviceSeverity, &'static str, &'static str),
    is_dynamic: bool,
) -> BrokerRule {
    BrokerRule { setting, default, expect, reason: Reason { severity, why, source }, is_dynamic }
}

const SOCKETS: &str = "keeps a fast or distant network busy; the kernel grants no more than its net.core.rmem_max and \
     wmem_max, so of these 100 MB only what they allow";

const FETCHERS: &str = "num.replica.fetchers";

const RULES: &[BrokerRule] = &[
    rule(
        FETCHERS,
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

/// Where a change is made: of a running cluster by Kafka's tool, for one broker or for all; of a plan in the scenario.
#[derive(Clone, Copy)]
struct ChangeTarget<'a> {
    cluster: Option<&'a Cluster>,
    entity: Entity<'a>,
    /// Memory of the host of all of them.
    memory_bytes: Option<u64>,
}

/// Compares brokers with the tables, with the memory of the host that all of them run on. What they have in common is
/// reported once.
pub(crate) fn examine(
    brokers: &[ObservedBroker],
    cluster: Option<&Cluster>,
    memory_bytes: Option<u64>,
) -> Vec<Advice> {
    let in_common = in_common(brokers, cluster, memory_bytes);
    let is_common = |setting: &str| in_common.iter().any(|advice| advice.setting == setting);
    let mut all = Vec::new();
    for (index, broker) in brokers.iter().enumerate() {
        let place = ChangeTarget { cluster, entity: Entity::Broker(broker.id), memory_bytes };
        for advice in of_broker(&format!("broker {}", broker.id), broker, brokers.len(), place) {
            if !is_common(&advice.setting) {
                all.push(advice);
            } else if index == 0 {
                all.extend(in_common.iter().find(|common| common.setting == advice.setting).cloned());
            }
        }
    }
    all.extend(memory_bytes.and_then(|memory_bytes| jvm::heaps(brokers, memory_bytes)));
    all
}

/// Advice that every one of several brokers gets in the same words; its change is then for all of them.
fn in_common(
    brokers: &[ObservedBroker],
    cluster: Option<&Cluster>,
    memory_bytes: Option<u64>,
) -> Vec<Advice> {
    let place = ChangeTarget { cluster, entity: Entity::AllBrokers, memory_bytes };
    let of_each: Vec<Vec<Advice>> =
        brokers.iter().map(|broker| of_broker("brokers", broker, brokers.len(), place)).collect();
    let Some((first, others)) = of_each.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Vec::new();
    };
    // What a broker has for itself hides what is set for all.
    let has_own = |broker: &ObservedBroker, name: &str| {
        broker.settings.get(name).is_some_and(|setting| setting.level == SettingLevel::Broker)
    };
    let is_common = |advice: &&Advice| {
        others.iter().all(|other| other.contains(advice))
            && !brokers.iter().any(|broker| has_own(broker, &advice.setting))
    };
    first.iter().filter(is_common).cloned().collect()
}

fn of_broker(of: &str, broker: &ObservedBroker, brokers: usize, place: ChangeTarget<'_>) -> Vec<Advice> {
    // A broker by itself replicates nothing; a cluster that runs may grow.
    let is_asked = |rule: &&BrokerRule| brokers > 1 || !broker.is_planned || rule.setting != FETCHERS;
    let mut all: Vec<Advice> =
        RULES.iter().filter(is_asked).map(|rule| fixed(of, broker, rule, place)).collect();
    all.extend(threads(of, broker, place));
    if brokers >= 3 {
        all.extend(REPLICATED.iter().map(|row| replicated(of, broker, row, place)));
        all.extend(broker.has_controller.map(|has| controller(of, has)));
    }
    let memory_bytes = place.memory_bytes.map(|all| all / brokers.max(1) as u64);
    all.extend(broker.jvm.iter().flat_map(|of_it| jvm::examine(of, of_it, memory_bytes, broker.is_planned)));
    all
}

fn fixed(of: &str, broker: &ObservedBroker, rule: &BrokerRule, place: ChangeTarget<'_>) -> Advice {
    let setting = in_force(broker, rule.setting, rule.default);
    let value = setting.as_ref().map(|setting| setting.value.clone());
    let is_followed = value.as_deref().and_then(|value| rule.expect.is_followed(value));
    let change =
        |_: &str| Some(change(rule.setting, &rule.expect.value(), setting.as_ref(), rule.is_dynamic, place));
    advice(of, rule.setting, (value, is_followed), rule.expect.words(), rule.reason, change)
}

fn replicated(
    of: &str,
    broker: &ObservedBroker,
    &(setting, default, why, source): &(&'static str, &'static str, &'static str, &'static str),
    place: ChangeTarget<'_>,
) -> Advice {
    let reason = Reason { severity: Medium, why, source };
    let rule = BrokerRule { setting, default, expect: Expect::AtLeast(3), reason, is_dynamic: false };
    fixed(of, broker, &rule, place)
}

fn controller(of: &str, has_controller: bool) -> Advice {
    let reason = Reason {
        severity: Low,
        why: "a controller that shares a process with a busy broker answers late, and goes down with it",
        source: source::INTEL,
    };
    let now = if has_controller { "in the broker" } else { "elsewhere" };
    let how = |_: &str| {
        Some(SettingChange::by_hand("controllers of their own; in a scenario: system.mode: controllers=3"))
    };
    let current = (Some(now.to_owned()), Some(!has_controller));
    advice(of, "controller", current, "a process of its own".to_owned(), reason, how)
}

fn in_force(broker: &ObservedBroker, name: &str, default: &str) -> Option<ObservedSetting> {
    let default = || ObservedSetting { value: default.to_owned(), level: SettingLevel::Start };
    broker.settings.get(name).cloned().or_else(|| broker.is_planned.then(default))
}

/// Threads, by the processors that a broker has: of 16, 6 for the network (at most half) and 8 for requests.
fn threads(of: &str, broker: &ObservedBroker, place: ChangeTarget<'_>) -> [Advice; 2] {
    let network = Reason {
        severity: Medium,
        why: "network threads carry TLS and copies; of 16 CPUs 6, and at most half of them, so that requests find one",
        source: source::INTEL,
    };
    let io = Reason {
        severity: Medium,
        why: "request handlers work on CPUs, and wait for disks: 8 are Kafka's default also on few CPUs, and of more \
              CPUs no more than these",
        source: source::INTEL,
    };
    let network_range = broker.processors.map(|all| {
        let most = u64::from(all / 2).max(1);
        ((u64::from(all) * 6 + 8) / 16).clamp(1, most)..=most
    });
    let io_range = broker.processors.map(|all| u64::from(all).clamp(1, 8)..=u64::from(all).max(8));
    [("num.network.threads", "3", network, network_range), ("num.io.threads", "8", io, io_range)].map(
        |(name, default, reason, range)| {
            let setting = in_force(broker, name, default);
            let value = setting.as_ref().map(|setting| setting.value.clone());
            let number = value.as_deref().and_then(|value| value.trim().parse::<u64>().ok());
            let is_followed = range.as_ref().zip(number).map(|(range, number)| range.contains(&number));
            let recommended = match &range {
                Some(range) if range.start() == range.end() => range.start().to_string(),
                Some(range) => format!("{} to {}", range.start(), range.end()),
                None => {
                    "by the CPUs of a broker, which the target's facts may declare (vcpus: 16)".to_owned()
                }
            };
            let best =
                range.as_ref().map_or(0, |range| number.unwrap_or(0).clamp(*range.start(), *range.end()));
            let change = |_: &str| Some(change(name, &best.to_string(), setting.as_ref(), true, place));
            advice(of, name, (value, is_followed), recommended, reason, change)
        },
    )
}

fn change(
    name: &str,
    value: &str,
    now: Option<&ObservedSetting>,
    is_dynamic: bool,
    place: ChangeTarget<'_>,
) -> SettingChange {
    match place.cluster {
        Some(cluster) if is_dynamic => kafka_tool::set(cluster, place.entity, name, value, now),
        Some(_) => SettingChange::by_hand(format!(
            "in each broker's server.properties: {name}={value}; then restart one after the other"
        )),
        None => SettingChange::by_hand(format!("in the scenario: system.config: {{{name}: {value}}}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdviceStatus;

    fn planned(id: i32, processors: Option<u32>) -> ObservedBroker {
        ObservedBroker { id, is_planned: true, processors, ..ObservedBroker::default() }
    }

    fn of(all: &[Advice], setting: &str) -> Advice {
        all.iter().find(|advice| advice.setting == setting).cloned().expect("a rule of that name")
    }

    #[test]
    fn threads_follow_the_processors() {
        for (processors, network, io) in
            [(16, "6 to 8", "8 to 16"), (8, "3 to 4", "8"), (2, "1", "2 to 8"), (1, "1", "1 to 8")]
        {
            let all = examine(&[planned(0, Some(processors))], None, None);
            assert_eq!(of(&all, "num.network.threads").recommended, network, "of {processors}");
            assert_eq!(of(&all, "num.io.threads").recommended, io, "of {processors}");
        }
        let unknown = of(&examine(&[planned(0, None)], None, None), "num.io.threads");
        assert_eq!((unknown.verdict, unknown.change), (AdviceStatus::Unknown, None));
    }

    #[test]
    fn advice_that_brokers_have_in_common_is_given_once() {
        let all = examine(&[planned(0, Some(4)), planned(1, Some(4)), planned(2, Some(8))], None, None);
        let of_fetchers: Vec<_> =
            all.iter().filter(|advice| advice.setting == "num.replica.fetchers").collect();
        assert_eq!(of_fetchers.iter().map(|advice| advice.of.as_str()).collect::<Vec<_>>(), ["brokers"]);
        assert_eq!(of(&all, "default.replication.factor").verdict, AdviceStatus::NotFollowed);
        assert_eq!(of(&all, "offsets.topic.replication.factor").verdict, AdviceStatus::Followed);
    }

    fn running(id: i32, settings: &[(&str, &str, SettingLevel)]) -> ObservedBroker {
        let setting = |&(name, value, level): &(&str, &str, SettingLevel)| {
            (name.to_owned(), ObservedSetting { value: value.to_owned(), level })
        };
        ObservedBroker { id, settings: settings.iter().map(setting).collect(), ..ObservedBroker::default() }
    }

    fn cluster() -> Cluster {
        Cluster { bootstrap: "host:9092".to_owned(), is_secured: false }
    }

    /// The change and the way back of one setting, without what every command begins with.
    fn commands(brokers: &[ObservedBroker], of: &str, setting: &str) -> (String, String) {
        let all = examine(brokers, Some(&cluster()), None);
        let advice = all.iter().find(|advice| advice.of == of && advice.setting == setting);
        let change = advice.and_then(|advice| advice.change.clone()).unwrap_or_else(|| panic!("{all:#?}"));
        let start = "kafka-configs.sh --bootstrap-server host:9092 --alter --entity-type brokers ";
        (change.apply.replace(start, ""), change.undo.expect("a way back").replace(start, ""))
    }

    #[test]
    fn a_setting_goes_back_to_where_it_was_set() {
        const NAME: &str = "unclean.leader.election.enable";
        let on = |id, level| running(id, &[(NAME, "true", level)]);
        let pair = |apply: String, undo: String| (apply, undo);
        let add = |entity: &str, value: &str| format!("{entity} --add-config {NAME}={value}");
        let delete = |entity: &str| format!("{entity} --delete-config {NAME}");
        // What is in the file or set for all comes back once the value of the one broker is gone.
        let one = "--entity-name 7";
        for level in [SettingLevel::Start, SettingLevel::AllBrokers] {
            assert_eq!(commands(&[on(7, level)], "broker 7", NAME), pair(add(one, "false"), delete(one)));
        }
        let own = pair(add(one, "false"), add(one, "true"));
        assert_eq!(commands(&[on(7, SettingLevel::Broker)], "broker 7", NAME), own);
        // The memory of several brokers.
        let all = "--entity-default";
        let several = |level| [on(7, level), on(8, level)];
        assert_eq!(
            commands(&several(SettingLevel::Start), "brokers", NAME),
            pair(add(all, "false"), delete(all))
        );
        let of_all = pair(add(all, "false"), add(all, "true"));
        assert_eq!(commands(&several(SettingLevel::AllBrokers), "brokers", NAME), of_all);
        assert_eq!(commands(&several(SettingLevel::Broker), "broker 7", NAME), own);
        // One that has its own does not hear what is set for all, and what is set for it must not be for the others.
        let mixed = [on(7, SettingLevel::Broker), on(8, SettingLevel::Start)];
        assert_eq!(commands(&mixed, "broker 7", NAME), own);
        let other = "--entity-name 8";
        assert_eq!(commands(&mixed, "broker 8", NAME), pair(add(other, "false"), delete(other)));
    }

    #[test]
    fn threads_go_by_half_or_double_both_ways() {
        let broker = ObservedBroker {
            processors: Some(1),
            ..running(0, &[("num.io.threads", "64", SettingLevel::Start)])
        };
        let add = |value: u32| format!("--entity-name 0 --add-config num.io.threads={value}");
        assert_eq!(
            commands(&[broker], "broker 0", "num.io.threads"),
            (
                [add(32), add(16), add(8)].join(" && "),
                [add(16), add(32), "--entity-name 0 --delete-config num.io.threads".to_owned()].join(" && ")
            )
        );
    }

    #[test]
    fn brokers_with_different_recommended_values_are_listed_apart() {
        let all = examine(&[planned(0, Some(4)), planned(1, Some(8))], None, None);
        let recommended = |of: &str| {
            let advice = all.iter().find(|advice| advice.of == of && advice.setting == "num.network.threads");
            advice.map(|advice| advice.recommended.as_str())
        };
        assert_eq!(recommended("brokers"), None);
        assert_eq!([recommended("broker 0"), recommended("broker 1")], [Some("2"), Some("3 to 4")]);
    }

    #[test]
    fn of_a_running_broker_what_it_did_not_tell_is_not_known() {
        let all = examine(&[running(1, &[])], Some(&cluster()), None);
        assert_eq!(of(&all, "socket.send.buffer.bytes").verdict, AdviceStatus::Unknown);
    }
}
