//! Topics: replicas, spread over brokers, who leads.

use super::{Reason, advice, source};
use crate::advice::AdviceSeverity::{High, Low, Medium};
use crate::advice::{Advice, AdviceSeverity, SettingChange};
use crate::expect::Expect;
use crate::kafka_tool::{self, Entity};
use crate::observed::{Cluster, ObservedSetting, ObservedTopic, Placement};
use std::collections::BTreeMap;

/// Holds topics against what is recommended for a cluster of so many brokers; a null broker, where there are none, keeps
/// no replicas.
pub(crate) fn examine(topics: &[ObservedTopic], brokers: usize, cluster: Option<&Cluster>) -> Vec<Advice> {
    if brokers == 0 {
        return Vec::new();
    }
    topics.iter().flat_map(|topic| of_topic(topic, brokers, cluster)).collect()
}

fn of_topic(topic: &ObservedTopic, brokers: usize, cluster: Option<&Cluster>) -> Vec<Advice> {
    let of = format!("topic {}", topic.name);
    let mut all = vec![replicas(&of, topic, brokers)];
    // Kafka chooses settings and partitions of its own topics.
    if !topic.is_internal {
        all.extend(in_sync(&of, topic, cluster));
        all.extend(SETTINGS.iter().filter_map(|rule| setting(&of, topic, rule, cluster)));
        if brokers > 1 {
            all.push(spread(&of, topic, brokers));
        }
    }
    if let Some(placement) = &topic.placement {
        all.extend([without_leader(&of, placement), out_of_sync(&of, placement)]);
        if brokers > 1 {
            all.push(leaders(&of, topic, placement, cluster));
        }
    }
    all
}

/// Settings of topics that are good as they are by default, and harm where somebody set them.
const SETTINGS: [(&str, Expect, Reason); 3] = [
    (
        "unclean.leader.election.enable",
        Expect::Is("false"),
        Reason {
            severity: High,
            why: "a replica that lacks acknowledged records must not become the leader: they would be lost",
            source: source::KAFKA_TOPIC,
        },
    ),
    ("flush.messages", Expect::AtLeast(FLUSH_MESSAGES_MIN), FLUSH),
    ("flush.ms", Expect::AtLeast(FLUSH_MS_MIN), FLUSH),
];
const FLUSH: Reason = Reason {
    severity: Medium,
    why: "each flush waits for the disk; replicas keep records safe without, and the kernel writes them in the background",
    source: source::KAFKA_TOPIC,
};
/// What is written to the disk this seldom costs nothing to speak of.
const FLUSH_MESSAGES_MIN: u64 = 100_000;
const FLUSH_MS_MIN: u64 = 10_000;

/// One of these, where it is set.
fn setting(
    of: &str,
    topic: &ObservedTopic,
    (name, expect, reason): &(&'static str, Expect, Reason),
    cluster: Option<&Cluster>,
) -> Option<Advice> {
    let setting = topic.settings.get(*name)?;
    let is_followed = expect.is_followed(&setting.value);
    let change = |_: &str| Some(topic_change(name, &expect.value(), topic, Some(setting), cluster));
    Some(advice(of, name, (Some(setting.value.clone()), is_followed), expect.words(), *reason, change))
}

fn replicas(of: &str, topic: &ObservedTopic, brokers: usize) -> Advice {
    let reason = Reason {
        severity: if topic.replicas < 2 { High } else { Medium },
        why: "with three, one broker can be down for work and another one fail",
        source: source::INTEL,
    };
    let wanted = brokers.min(3);
    let how =
        |_: &str| Some(SettingChange::by_hand("kafka-reassign-partitions.sh with a new list of replicas"));
    let current = (Some(topic.replicas.to_string()), Some(topic.replicas >= wanted));
    advice(of, "replication factor", current, format!("at least {wanted}"), reason, how)
}

/// `min.insync.replicas`: two of three, and of more at least two. With two replicas one must do, or a broker that is
/// away stops the writers: nothing is said unless it does.
fn in_sync(of: &str, topic: &ObservedTopic, cluster: Option<&Cluster>) -> Option<Advice> {
    const NAME: &str = "min.insync.replicas";
    let setting = topic.settings.get(NAME);
    // In a plan it is Kafka's default unless it is set.
    let default = topic.placement.is_none().then(|| "1".to_owned());
    let value = setting.map(|setting| setting.value.clone()).or(default);
    let number = value.as_deref().and_then(|value| value.trim().parse::<usize>().ok());
    let is_blocking = number.is_some_and(|number| number >= topic.replicas && topic.replicas > 1);
    if topic.replicas < 3 && !is_blocking {
        return None;
    }
    let most = topic.replicas - 1;
    let wanted = most.min(2)..=most;
    let reason = Reason {
        severity: if is_blocking { High } else { Medium },
        why: if is_blocking {
            "with acks=all nothing can be written while one replica is away"
        } else {
            "with acks=all a record is then on more than one broker before it is acknowledged"
        },
        source: source::KAFKA_TOPIC,
    };
    let least = wanted.start().to_string();
    let change = |_: &str| Some(topic_change(NAME, &least, topic, setting, cluster));
    let is_followed = number.map(|number| wanted.contains(&number));
    let words = if wanted.start() == wanted.end() { least.clone() } else { format!("{least} to {most}") };
    Some(advice(of, NAME, (value, is_followed), words, reason, change))
}

fn topic_change(
    name: &str,
    value: &str,
    topic: &ObservedTopic,
    now: Option<&ObservedSetting>,
    cluster: Option<&Cluster>,
) -> SettingChange {
    match cluster {
        Some(cluster) => kafka_tool::set(cluster, Entity::Topic(&topic.name), name, value, now),
        None => SettingChange::by_hand(format!(
            "in the scenario: topics.{}.config: {{{name}: {value}}}",
            topic.name
        )),
    }
}

fn spread(of: &str, topic: &ObservedTopic, brokers: usize) -> Advice {
    let reason = Reason {
        severity: Low,
        why: "otherwise some brokers lead one partition more than others and are the first at their limit",
        source: source::INTEL,
    };
    let next = topic.partitions.div_ceil(brokers) * brokers;
    let how = |_: &str| {
        Some(SettingChange::by_hand(format!("{next} partitions; keys then go to other partitions")))
    };
    let current = (Some(topic.partitions.to_string()), Some(topic.partitions.is_multiple_of(brokers)));
    advice(of, "partitions", current, format!("a multiple of {brokers} (the brokers)"), reason, how)
}

fn without_leader(of: &str, placement: &[Placement]) -> Advice {
    let count = placement.iter().filter(|partition| partition.leader < 0).count();
    let reason = Reason {
        severity: High,
        why: "nothing can be written to or read from it",
        source: source::KAFKA_OPERATIONS,
    };
    let how = "bring back the brokers that have its replicas";
    none_of(of, "partitions without leader", count, reason, how)
}

fn out_of_sync(of: &str, placement: &[Placement]) -> Advice {
    let count = placement.iter().filter(|partition| partition.isr.len() < partition.replicas.len()).count();
    let reason = Reason {
        severity: High,
        why: "replicas that lag are no safety, and their catching up takes disk and network from the load",
        source: source::KAFKA_OPERATIONS,
    };
    none_of(of, "under-replicated partitions", count, reason, "find out why their followers lag or are down")
}

fn none_of(of: &str, what: &str, count: usize, reason: Reason, how: &'static str) -> Advice {
    let current = (Some(count.to_string()), Some(count == 0));
    advice(of, what, current, "0".to_owned(), reason, |_| Some(SettingChange::by_hand(how)))
}

/// How many partitions each broker leads, where they could be even.
fn leaders(of: &str, topic: &ObservedTopic, placement: &[Placement], cluster: Option<&Cluster>) -> Advice {
    let is_moved = |partition: &Placement| {
        partition.leader >= 0 && partition.replicas.first().is_some_and(|first| *first != partition.leader)
    };
    let moved: Vec<usize> = (0..placement.len()).filter(|index| is_moved(&placement[*index])).collect();
    let mut led: BTreeMap<i32, usize> = BTreeMap::new();
    for partition in placement.iter().filter(|partition| partition.leader >= 0) {
        *led.entry(partition.leader).or_default() += 1;
    }
    let severity: AdviceSeverity = if moved.is_empty() { Low } else { Medium };
    let reason = Reason {
        severity,
        why: "the preferred replicas are spread evenly; while others lead, some brokers carry more than their share",
        source: source::KAFKA_OPERATIONS,
    };
    let each: Vec<String> = led.iter().map(|(broker, count)| format!("{broker}: {count}")).collect();
    let count = moved.len();
    let now = format!("{count} of {} led by another (leaders: {})", placement.len(), each.join(", "));
    let change = |_: &str| cluster.map(|cluster| kafka_tool::elect(cluster, &topic.name, &moved));
    let current = (Some(now), Some(moved.is_empty()));
    advice(of, "preferred leaders", current, "all lead".to_owned(), reason, change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AdviceStatus;
    use crate::observed::SettingLevel;

    fn of<'a>(all: &'a [Advice], setting: &str) -> &'a Advice {
        all.iter().find(|advice| advice.setting == setting).expect("a rule of that name")
    }

    fn topic(in_sync: Option<&str>) -> ObservedTopic {
        let value = |text: &str| ObservedSetting { value: text.to_owned(), level: SettingLevel::Topic };
        ObservedTopic {
            name: "orders".to_owned(),
            is_internal: false,
            partitions: 4,
            replicas: 3,
            settings: in_sync
                .map(|text| ("min.insync.replicas".to_owned(), value(text)))
                .into_iter()
                .collect(),
            placement: None,
        }
    }

    fn cluster() -> Cluster {
        Cluster { bootstrap: "h:1".to_owned(), is_secured: false }
    }

    #[test]
    fn a_topic_falls_back_to_its_brokers_value_without_its_own() {
        let mut topic = topic(Some("1"));
        for level in [SettingLevel::Start, SettingLevel::AllBrokers, SettingLevel::Broker] {
            topic.settings.values_mut().for_each(|setting| setting.level = level);
            let all = examine(std::slice::from_ref(&topic), 3, Some(&cluster()));
            let undo = of(&all, "min.insync.replicas").change.as_ref().and_then(|change| change.undo.clone());
            let undo = undo.expect("a way back");
            assert!(undo.ends_with("--entity-name orders --delete-config min.insync.replicas"), "{undo}");
        }
    }

    #[test]
    fn of_other_than_three_replicas_what_holds_of_three_is_not_said() {
        let with = |replicas, set| {
            let all = examine(&[ObservedTopic { replicas, ..topic(Some(set)) }], 5, None);
            let found = all.into_iter().find(|advice| advice.setting == "min.insync.replicas")?;
            Some((found.recommended, found.verdict))
        };
        assert_eq!(with(2, "1"), None);
        assert_eq!(with(2, "2"), Some(("1".to_owned(), AdviceStatus::NotFollowed)));
        for (set, verdict) in [
            ("1", AdviceStatus::NotFollowed),
            ("2", AdviceStatus::Followed),
            ("4", AdviceStatus::Followed),
            ("5", AdviceStatus::NotFollowed),
        ] {
            assert_eq!(with(5, set), Some(("2 to 4".to_owned(), verdict)), "{set}");
        }
        assert_eq!(with(1, "1"), None);
        assert_eq!(examine(&[topic(None)], 0, None), [], "a null broker");
    }

    #[test]
    fn replicas_in_sync_are_two_of_three() {
        for (set, verdict, severity) in [
            (None, AdviceStatus::NotFollowed, Medium),
            (Some("2"), AdviceStatus::Followed, Medium),
            (Some("3"), AdviceStatus::NotFollowed, High),
            (Some("x"), AdviceStatus::Unknown, Medium),
        ] {
            let all = examine(&[topic(set)], 3, None);
            let found = of(&all, "min.insync.replicas");
            assert_eq!((found.verdict, found.severity), (verdict, severity), "{set:?}");
        }
        let all = examine(&[topic(Some("3"))], 3, Some(&cluster()));
        let change = of(&all, "min.insync.replicas").change.as_ref().expect("a change");
        assert!(
            change.apply.ends_with("--entity-name orders --add-config min.insync.replicas=2"),
            "{change:?}"
        );
        assert!(change.undo.as_ref().is_some_and(|undo| undo.ends_with("min.insync.replicas=3")));
    }

    #[test]
    fn settings_that_lose_records_or_flush_often_name_their_source() {
        let with = |name: &str, value: &str| {
            let set = ObservedSetting { value: value.to_owned(), level: SettingLevel::Topic };
            let settings = [(name.to_owned(), set)].into();
            let all = examine(&[ObservedTopic { settings, ..topic(None) }], 3, Some(&cluster()));
            all.into_iter()
                .find(|advice| advice.setting == name)
                .map(|advice| (advice.verdict, advice.severity))
        };
        let unclean = "unclean.leader.election.enable";
        assert_eq!(with(unclean, "true"), Some((AdviceStatus::NotFollowed, High)));
        assert_eq!(with(unclean, "false"), Some((AdviceStatus::Followed, High)));
        assert_eq!(with("flush.messages", "1"), Some((AdviceStatus::NotFollowed, Medium)));
        assert_eq!(with("flush.messages", "9223372036854775807"), Some((AdviceStatus::Followed, Medium)));
        assert_eq!(with("flush.ms", "1000"), Some((AdviceStatus::NotFollowed, Medium)));
        let all = examine(&[topic(None)], 3, None);
        assert!(all.iter().all(|advice| advice.setting != unclean), "nobody set it");
    }

    #[test]
    fn partitions_are_held_against_brokers_and_leaders() {
        let at = |leader, isr: &[i32]| Placement { leader, replicas: vec![0, 1, 2], isr: isr.to_vec() };
        let placement = vec![at(0, &[0, 1, 2]), at(1, &[1, 2]), at(-1, &[]), at(0, &[0, 1, 2])];
        let all =
            examine(&[ObservedTopic { placement: Some(placement), ..topic(None) }], 3, Some(&cluster()));
        assert_eq!(of(&all, "partitions").verdict, AdviceStatus::NotFollowed);
        assert_eq!(of(&all, "partitions without leader").current.as_deref(), Some("1"));
        assert_eq!(of(&all, "under-replicated partitions").current.as_deref(), Some("2"));
        let moved = of(&all, "preferred leaders");
        assert_eq!(moved.current.as_deref(), Some("1 of 4 led by another (leaders: 0: 2, 1: 1)"));
        let elect = moved.change.as_ref().map(|change| change.apply.as_str()).expect("a change");
        assert!(
            elect.starts_with(
                r#"printf %s '{"partitions":[{"partition":1,"topic":"orders"}]}' | kafka-leader"#
            ),
            "that partition alone: {elect}"
        );
        // A running cluster that did not report a setting has not the default of a plan.
        assert_eq!(of(&all, "min.insync.replicas").verdict, AdviceStatus::Unknown);
        let one = examine(&[ObservedTopic { replicas: 1, ..topic(None) }], 1, None);
        assert_eq!(of(&one, "replication factor").verdict, AdviceStatus::Followed);
    }
}
