//! Topics: replicas, spread over brokers, who leads.

use super::{Reason, advice, source};
use crate::advice::Severity::{High, Low, Medium};
use crate::advice::{Advice, Change, Severity};
use crate::observed::{Placement, Topic};
use crate::quote::quoted;
use std::collections::BTreeMap;

/// Holds topics against what is recommended for a cluster of so many brokers.
pub(crate) fn examine(topics: &[Topic], brokers: usize, bootstrap: Option<&str>) -> Vec<Advice> {
    topics.iter().flat_map(|topic| of_topic(topic, brokers, bootstrap)).collect()
}

fn of_topic(topic: &Topic, brokers: usize, bootstrap: Option<&str>) -> Vec<Advice> {
    let of = format!("topic {}", topic.name);
    let mut all = vec![replicas(&of, topic, brokers)];
    // Of its own topics Kafka chooses settings and partitions.
    if !topic.is_internal {
        all.push(in_sync(&of, topic, bootstrap));
        if brokers > 1 {
            all.push(spread(&of, topic, brokers));
        }
    }
    if let Some(placement) = &topic.placement {
        all.extend([without_leader(&of, placement), out_of_sync(&of, placement)]);
        if brokers > 1 {
            all.push(leaders(&of, placement, bootstrap));
        }
    }
    all
}

fn replicas(of: &str, topic: &Topic, brokers: usize) -> Advice {
    let reason = Reason {
        severity: if topic.replicas < 2 { High } else { Medium },
        why: "with three, one broker can be down for work and another one fail",
        source: source::INTEL,
    };
    let wanted = brokers.min(3);
    let how = |_: &str| Some(Change::by_hand("kafka-reassign-partitions.sh with a new list of replicas"));
    let current = (Some(topic.replicas.to_string()), Some(topic.replicas >= wanted));
    advice(of, "replication factor", current, format!("at least {wanted}"), reason, how)
}

/// `min.insync.replicas`: two of three.
fn in_sync(of: &str, topic: &Topic, bootstrap: Option<&str>) -> Advice {
    const NAME: &str = "min.insync.replicas";
    let wanted = (topic.replicas.saturating_sub(1)).max(1);
    let setting = topic.settings.get(NAME);
    // Of a plan it is Kafka's default unless it is set.
    let default = topic.placement.is_none().then(|| "1".to_owned());
    let value = setting.map(|setting| setting.value.clone()).or(default);
    let number = value.as_deref().and_then(|value| value.trim().parse::<usize>().ok());
    let is_blocking = number.is_some_and(|number| number >= topic.replicas && topic.replicas > 1);
    let reason = Reason {
        severity: if is_blocking { High } else { Medium },
        why: if is_blocking {
            "with acks=all nothing can be written while one replica is away"
        } else {
            "with acks=all a record is then on more than one broker before it is acknowledged"
        },
        source: source::KAFKA_TOPIC,
    };
    let change = |_: &str| {
        let Some(bootstrap) = bootstrap else {
            return Some(Change::by_hand(format!(
                "in the scenario: topics.{}.config: {{{NAME}: {wanted}}}",
                topic.name
            )));
        };
        let tool = |what: &str| {
            format!(
                "kafka-configs.sh --bootstrap-server {} --alter --entity-type topics --entity-name {} {what}",
                quoted(bootstrap),
                quoted(&topic.name)
            )
        };
        let set = |value: &str| tool(&format!("--add-config {}", quoted(&format!("{NAME}={value}"))));
        let undo = match setting.filter(|setting| setting.is_dynamic) {
            Some(setting) => set(&setting.value),
            None => tool(&format!("--delete-config {NAME}")),
        };
        Some(Change::commands(set(&wanted.to_string()), undo))
    };
    let is_followed = number.map(|number| number == wanted);
    advice(of, NAME, (value, is_followed), wanted.to_string(), reason, change)
}

fn spread(of: &str, topic: &Topic, brokers: usize) -> Advice {
    let reason = Reason {
        severity: Low,
        why: "otherwise some brokers lead one partition more than others and are the first at their limit",
        source: source::INTEL,
    };
    let next = topic.partitions.div_ceil(brokers) * brokers;
    let how = |_: &str| Some(Change::by_hand(format!("{next} partitions; keys then go to other partitions")));
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
    advice(of, what, current, "0".to_owned(), reason, |_| Some(Change::by_hand(how)))
}

/// How many partitions each broker leads, where they could be even.
fn leaders(of: &str, placement: &[Placement], bootstrap: Option<&str>) -> Advice {
    let moved = placement.iter().filter(|partition| {
        partition.leader >= 0 && partition.replicas.first().is_some_and(|first| *first != partition.leader)
    });
    let count = moved.count();
    let mut led: BTreeMap<i32, usize> = BTreeMap::new();
    for partition in placement.iter().filter(|partition| partition.leader >= 0) {
        *led.entry(partition.leader).or_default() += 1;
    }
    let severity: Severity = if count > 0 { Medium } else { Low };
    let reason = Reason {
        severity,
        why: "the preferred replicas are spread evenly; while others lead, some brokers carry more than their share",
        source: source::KAFKA_OPERATIONS,
    };
    let each: Vec<String> = led.iter().map(|(broker, count)| format!("{broker}: {count}")).collect();
    let now = format!("{count} of {} led by another (leaders: {})", placement.len(), each.join(", "));
    let change = |_: &str| {
        let bootstrap = bootstrap.unwrap_or("HOST:PORT");
        let apply = format!(
            "kafka-leader-election.sh --bootstrap-server {} --election-type preferred --all-topic-partitions",
            quoted(bootstrap)
        );
        Some(Change { apply, undo: None, by_hand: false })
    };
    advice(of, "preferred leaders", (Some(now), Some(count == 0)), "all lead".to_owned(), reason, change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::observed::Setting;

    fn of<'a>(all: &'a [Advice], setting: &str) -> &'a Advice {
        all.iter().find(|advice| advice.setting == setting).expect("a rule of that name")
    }

    fn topic(in_sync: Option<&str>) -> Topic {
        let value = |text: &str| Setting { value: text.to_owned(), is_dynamic: true };
        Topic {
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

    #[test]
    fn replicas_in_sync_are_two_of_three() {
        for (set, verdict, severity) in [
            (None, Verdict::NotFollowed, Medium),
            (Some("2"), Verdict::Followed, Medium),
            (Some("3"), Verdict::NotFollowed, High),
            (Some("x"), Verdict::Unknown, Medium),
        ] {
            let all = examine(&[topic(set)], 3, None);
            let found = of(&all, "min.insync.replicas");
            assert_eq!((found.verdict, found.severity), (verdict, severity), "{set:?}");
        }
        let all = examine(&[topic(Some("3"))], 3, Some("h:1"));
        let change = of(&all, "min.insync.replicas").change.as_ref().expect("a change");
        assert!(
            change.apply.ends_with("--entity-name orders --add-config min.insync.replicas=2"),
            "{change:?}"
        );
        assert!(change.undo.as_ref().is_some_and(|undo| undo.ends_with("min.insync.replicas=3")));
    }

    #[test]
    fn partitions_are_held_against_brokers_and_leaders() {
        let at = |leader, isr: &[i32]| Placement { leader, replicas: vec![0, 1, 2], isr: isr.to_vec() };
        let placement = vec![at(0, &[0, 1, 2]), at(1, &[1, 2]), at(-1, &[]), at(0, &[0, 1, 2])];
        let all = examine(&[Topic { placement: Some(placement), ..topic(None) }], 3, Some("h:1"));
        assert_eq!(of(&all, "partitions").verdict, Verdict::NotFollowed);
        assert_eq!(of(&all, "partitions without leader").current.as_deref(), Some("1"));
        assert_eq!(of(&all, "under-replicated partitions").current.as_deref(), Some("2"));
        let moved = of(&all, "preferred leaders");
        assert_eq!(moved.current.as_deref(), Some("1 of 4 led by another (leaders: 0: 2, 1: 1)"));
        // A running cluster that did not tell a setting has not the default of a plan.
        assert_eq!(of(&all, "min.insync.replicas").verdict, Verdict::Unknown);
        let one = examine(&[Topic { replicas: 1, ..topic(None) }], 1, None);
        assert_eq!(of(&one, "replication factor").verdict, Verdict::Followed);
    }
}
