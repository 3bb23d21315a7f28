//! The assignors compared with Java's own, by `vectors.txt`, which `AssignorVectors.java` wrote; and what any
//! assignment must be.

use super::*;
use crate::group::protocol::Subscription;
use crate::group::protocol::{decode_assignment, encode_assignment};
use proptest::prelude::*;

const VECTORS: &str = include_str!("vectors.txt");

/// A member of a case: what it says depends on the assignor.
#[derive(Debug)]
struct CaseMember {
    id: String,
    instance: Option<String>,
    generation: i32,
    topics: Vec<Arc<str>>,
    owned: Vec<TopicPartition>,
}

impl CaseMember {
    /// What it says when it joins; `is_old`: without a generation of its own.
    fn joined(&self, assignor: Assignor, is_old: bool) -> JoinedMember {
        let has_joined = self.generation >= 0;
        let is_cooperative = assignor == Assignor::CooperativeSticky;
        let user_data = match assignor {
            Assignor::Sticky => has_joined.then(|| StickyData::encode(&self.owned, self.generation)),
            Assignor::CooperativeSticky => Some(self.generation.to_be_bytes().to_vec()),
            Assignor::Range | Assignor::RoundRobin => None,
        };
        let subscription = Subscription {
            topics: self.topics.clone(),
            user_data,
            owned: if is_cooperative { self.owned.clone() } else { Vec::new() },
            generation_id: if is_old { -1 } else { self.generation },
            rack: None,
        };
        JoinedMember { member_id: self.id.clone(), instance_id: self.instance.clone(), subscription }
    }
}

fn topics(text: &str) -> Vec<Arc<str>> {
    text.split(',').map(Arc::from).collect()
}

fn partitions(text: &str) -> Vec<TopicPartition> {
    let one = |text: &str| {
        let (topic, partition) = text.split_once('/').expect("topic/partition");
        TopicPartition::new(topic, partition.parse().expect("a number"))
    };
    if text == "-" { Vec::new() } else { text.split(',').map(one).collect() }
}

fn reported(line: &str) -> CaseMember {
    let fields: Vec<&str> = line.split(' ').collect();
    CaseMember {
        id: fields[0].to_owned(),
        instance: Some(fields[1].to_owned()).filter(|instance| instance != "-"),
        generation: fields[2].parse().expect("a number"),
        topics: topics(fields[3]),
        owned: partitions(fields[4]),
    }
}

#[test]
fn every_assignment_is_javas() {
    let (mut is_old, mut counts, mut members) = (false, PartitionCounts::new(), Vec::new());
    let mut compared = [0; 4];
    for (number, line) in VECTORS.lines().enumerate() {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match what {
            "case" => (is_old, members) = (rest == "old", Vec::new()),
            "counts" => {
                let count = |one: &str| {
                    let (topic, count) = one.split_once('=').expect("topic=partitions");
                    (Arc::from(topic), count.parse().expect("a number"))
                };
                counts = rest.split(' ').map(count).collect();
            }
            "member" => members.push(reported(rest)),
            name => {
                let Some(assignor) = Assignor::of_name(name) else { continue };
                let joined: Vec<_> =
                    members.iter().map(|reported| reported.joined(assignor, is_old)).collect();
                let ours = assign(assignor, &counts, &joined);
                for (member, theirs) in members.iter().zip(rest.split(' ')) {
                    assert_eq!(
                        ours[&member.id],
                        partitions(theirs),
                        "line {}, {name}, {}",
                        number + 1,
                        member.id
                    );
                }
                compared[assignor as usize] += 1;
            }
        }
    }
    assert!(compared.iter().all(|cases| *cases >= 100), "{compared:?}");
}

#[test]
fn the_bytes_are_javas() {
    let mut lines = VECTORS.lines().skip_while(|line| !line.starts_with("wire ")).take(8);
    let reported = reported(&format!("m - {}", &lines.next().expect("a member")[5..]));
    let all = Subscription {
        user_data: Some(vec![1, 2]),
        rack: Some("rack".to_owned()),
        owned: reported.owned.clone(),
        ..reported.joined(Assignor::Range, false).subscription
    };
    let hex = |line: Option<&str>| {
        let text = line.and_then(|line| line.split(' ').nth(1)).expect("bytes");
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
        (0..text.len()).step_by(2).map(byte).collect::<Vec<u8>>()
    };
    for version in 0..=3 {
        let theirs = hex(lines.next());
        assert_eq!(all.encode_as(version), theirs, "version {version}");
        assert_eq!(Subscription::decode(&theirs).expect("a subscription").topics, all.topics);
    }
    let assignment = hex(lines.next());
    assert_eq!(encode_assignment(&reported.owned), assignment);
    assert_eq!(decode_assignment(&assignment).expect("an assignment"), reported.owned);
    let data = |assignor| reported.joined(assignor, false).subscription.user_data;
    // The order of topics in it is that of a Java map; what it says is compared.
    assert_eq!(
        StickyData::read(Some(&hex(lines.next()))),
        StickyData::read(data(Assignor::Sticky).as_deref())
    );
    assert_eq!(Some(hex(lines.next())), data(Assignor::CooperativeSticky));
}

fn members() -> impl Strategy<Value = Vec<CaseMember>> {
    let topic = |at: usize| Arc::from(["a", "b", "c", "d"][at]);
    let owned = prop::collection::btree_set((0..4usize, 0..6), 0..8);
    let owned = owned.prop_map(move |all| {
        all.into_iter().map(|(at, partition)| TopicPartition { topic: topic(at), partition }).collect()
    });
    let topics = prop::collection::btree_set(0..4usize, 1..4);
    let topics = topics.prop_map(move |all| all.into_iter().map(topic).collect());
    let member = (topics, -1..3, owned).prop_map(|(topics, generation, owned)| CaseMember {
        id: String::new(),
        instance: None,
        generation,
        topics,
        owned,
    });
    prop::collection::vec(member, 1..7).prop_map(|mut all| {
        for (at, member) in all.iter_mut().enumerate() {
            member.id = format!("m{at}");
            member.instance = (at % 5 == 0).then(|| format!("i{at}"));
        }
        all
    })
}

proptest! {
    /// Whatever members claim to own: none gets what it does not subscribe to or what there is not, nothing goes to
    /// two, and nothing is left out but what a cooperative member has to give up first.
    #[test]
    fn any_claims_give_an_assignment(reported in members(), counts in prop::collection::vec(0..6i32, 4)) {
        let counts: PartitionCounts = ["a", "b", "c", "d"].map(Arc::from).into_iter().zip(counts).collect();
        for assignor in Assignor::ALL {
            let joined: Vec<_> = reported.iter().map(|one| one.joined(assignor, false)).collect();
            let assigned = assign(assignor, &counts, &joined);
            prop_assert_eq!(assigned.len(), joined.len());
            let mut seen = BTreeSet::new();
            for member in &joined {
                for partition in &assigned[&member.member_id] {
                    prop_assert!(member.is_subscribed(&partition.topic) && partition.partition < counts[&partition.topic]);
                    prop_assert!(seen.insert(partition.clone()), "{} goes to two", partition);
                }
            }
            for partition in all_partitions(&counts) {
                let is_wanted = joined.iter().any(|member| member.is_subscribed(&partition.topic));
                let is_owned = joined.iter().any(|member| member.subscription.owned.contains(&partition));
                let may_wait = assignor == Assignor::CooperativeSticky && is_owned;
                prop_assert!(!is_wanted || may_wait || seen.contains(&partition), "{} goes to nobody", partition);
            }
        }
    }
}
