//! Members and a coordinator in simulated time: every request and answer goes as bytes.

mod classic;
mod coordinator;
mod faults;
mod kip848;
mod wire;

use super::*;
use crate::connection::Connection;
use crate::messages::{Message as _, m18_api_versions, write_frame};
use crate::wire::Writer as _;
use coordinator::TestCoordinator;
use std::collections::{BTreeMap, BTreeSet};
use wire::{MS, SECOND, TOPIC, TOPIC_ID};

/// How far time goes with each step.
const STEP_NS: u64 = 50 * MS;

fn config(protocol: GroupProtocol) -> GroupConfig {
    GroupConfig {
        group_id: "g".to_owned(),
        instance_id: None,
        topics: vec![TOPIC.into()],
        protocol,
        session_timeout_ns: 10 * SECOND,
        heartbeat_interval_ns: 3 * SECOND,
        poll_interval_max_ns: 60 * SECOND,
        auto_commit_ns: Some(5 * SECOND),
        retry_backoff: ExponentialBackoff { first_ns: 100 * MS, max_ns: SECOND },
        leave_timeout_ns: 5 * SECOND,
        seed: 1,
    }
}

fn classic(assignor: Assignor) -> GroupConfig {
    config(GroupProtocol::Classic { assignors: vec![assignor] })
}

fn consumer() -> GroupConfig {
    config(GroupProtocol::Consumer { assignor: None })
}

/// What waits to be written, which then counts as written.
fn written(connection: &mut Connection<GroupRequest>) -> Vec<u8> {
    let mut bytes = Vec::new();
    connection.write_to(&mut bytes).expect("a vector takes all");
    connection.stamp_written(1);
    bytes
}

/// A connection to a broker that speaks every version there is.
fn connection() -> Connection<GroupRequest> {
    let mut connection = Connection::new("me".into(), &[], 1 << 20);
    connection.open(None, None, 0);
    written(&mut connection);
    let apis = Member::NEEDS_CLASSIC.iter().chain(Member::NEEDS_CONSUMER);
    let apis = apis.chain(&[crate::messages::m03_metadata::API]);
    let range = |api: &crate::messages::Api| m18_api_versions::ApiVersion {
        api_key: api.key,
        min_version: 0,
        max_version: i16::MAX,
    };
    let by_key: BTreeMap<i16, _> = apis.map(|api| (api.key, range(api))).collect();
    let answer =
        m18_api_versions::Response { api_keys: by_key.into_values().collect(), ..Default::default() };
    let mut frame = Vec::new();
    write_frame(&mut frame, |out| {
        out.put_i32(0); // correlation id
        answer.encode(m18_api_versions::API.version_max, out);
    });
    connection.input_space()[..frame.len()].copy_from_slice(&frame);
    connection.advance_read(frame.len()).expect("a plain connection");
    connection.receive(0, |_, _| Ok(())).expect("a handshake");
    connection
}

/// A consumer: a member, and how far it has read.
struct TestConsumer {
    member: Member,
    connection: Connection<GroupRequest>,
    /// Whether its application polls, and whether its process lives.
    polls: bool,
    lives: bool,
    /// Requests without an answer.
    asked: Vec<GroupRequest>,
    /// What it may hand over, and the next offset of each.
    reading: BTreeMap<TopicPartition, Option<i64>>,
    stopped: BTreeSet<TopicPartition>,
    /// What it handed over.
    read: Vec<(TopicPartition, i64)>,
    events: Vec<(u64, GroupEvent)>,
}

impl TestConsumer {
    fn new(config: GroupConfig) -> Self {
        Self {
            member: Member::new(config),
            connection: connection(),
            polls: true,
            lives: true,
            asked: Vec::new(),
            reading: BTreeMap::new(),
            stopped: BTreeSet::new(),
            read: Vec::new(),
            events: Vec::new(),
        }
    }

    fn take_events(&mut self) {
        for (at_ns, event) in self.member.take_events() {
            match &event {
                GroupEvent::Assigned(rebalanced) => {
                    self.reading.extend(rebalanced.added.iter().map(|one| (one.clone(), None)));
                    self.stopped.clear();
                }
                GroupEvent::Start(starts) => {
                    let start =
                        |position: &Option<Position>| Some(position.map_or(0, |position| position.offset));
                    self.reading.extend(starts.iter().map(|(one, position)| (one.clone(), start(position))));
                }
                GroupEvent::Revoking(all) => self.stopped.extend(all.iter().cloned()),
                GroupEvent::Revoked(all) | GroupEvent::Lost(all) => {
                    self.reading.retain(|one, _| !all.contains(one));
                }
                _ => {}
            }
            self.events.push((at_ns, event));
        }
    }

    /// Hands over one record of each partition.
    fn read(&mut self) {
        for (partition, next) in &mut self.reading {
            if let Some(offset) = next.as_mut().filter(|_| !self.stopped.contains(partition)) {
                self.read.push((partition.clone(), *offset));
                *offset += 1;
            }
        }
    }

    fn count(&self, which: impl Fn(&GroupEvent) -> bool) -> usize {
        self.events.iter().filter(|(_, event)| which(event)).count()
    }

    fn rebalances(&self) -> Vec<&Rebalanced> {
        let assigned = self.events.iter().filter_map(|(_, event)| match event {
            GroupEvent::Assigned(rebalanced) => Some(rebalanced),
            _ => None,
        });
        assigned.collect()
    }

    fn has(&self) -> usize {
        self.member.assigned().len()
    }
}

/// All clients of a group, their coordinator, and time.
struct GroupFixture {
    clients: Vec<TestConsumer>,
    coordinator: TestCoordinator,
    now_ns: u64,
}

impl GroupFixture {
    fn new(partitions: i32) -> Self {
        Self { clients: Vec::new(), coordinator: TestCoordinator::new(partitions), now_ns: 1 }
    }

    fn add(&mut self, config: GroupConfig) -> usize {
        let config = GroupConfig { seed: self.clients.len() as u64 + 1, ..config };
        self.clients.push(TestConsumer::new(config));
        self.clients.len() - 1
    }

    /// Everything that happens at this instant.
    fn settle(&mut self) {
        for _ in 0..1_000 {
            let mut is_over = true;
            for at in 0..self.clients.len() {
                is_over &= !self.turn(at);
            }
            self.coordinator.on_time(self.now_ns);
            for (client, request, version, body) in self.coordinator.take_answers() {
                is_over = false;
                let TestConsumer { member, asked, lives: true, .. } = &mut self.clients[client] else {
                    continue;
                };
                asked.retain(|one| *one != request);
                member.on_answer(request, (version, &body), self.now_ns).expect("an answer");
            }
            if is_over {
                return;
            }
        }
        panic!("members and coordinator do not come to rest");
    }

    /// A client's turn. Returns whether it asked something.
    fn turn(&mut self, at: usize) -> bool {
        let Self { clients, coordinator, now_ns } = self;
        let client = &mut clients[at];
        if !client.lives {
            return false;
        }
        client.member.set_topic(&TOPIC.into(), TOPIC_ID, coordinator.partitions);
        if client.polls {
            let reading = &client.reading;
            let position = |offset: i64| Position { offset, leader_epoch: -1 };
            client.member.poll(&mut |one| reading.get(one).copied().flatten().map(position), *now_ns);
        }
        client.take_events();
        client.member.on_time(*now_ns);
        let mut has_asked = false;
        while let Some(request) =
            client.member.look_up(*now_ns).or_else(|| client.member.next_request(*now_ns))
        {
            has_asked = true;
            client.asked.push(request);
            client.member.send(request, request, &mut client.connection, *now_ns).expect("a common version");
            let bytes = written(&mut client.connection);
            // An answer of a broker that is no longer the coordinator.
            if client.member.coordinator().is_some_and(|asked| asked != coordinator.node) {
                let key = i16::from_be_bytes([bytes[4], bytes[5]]);
                coordinator.errors.insert(0, (key, ErrorCode::NOT_COORDINATOR));
            }
            coordinator.take(at, request, &bytes, *now_ns);
        }
        client.take_events();
        has_asked
    }

    fn run(&mut self, for_ns: u64) {
        let until_ns = self.now_ns + for_ns;
        self.settle();
        while self.now_ns < until_ns {
            self.clients
                .iter_mut()
                .filter(|client| client.lives && client.polls)
                .for_each(TestConsumer::read);
            self.now_ns += STEP_NS;
            self.settle();
        }
    }

    /// The client leaves in good order.
    fn leave(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let reading = client.reading.clone();
        let position = |offset: i64| Position { offset, leader_epoch: -1 };
        client.member.leave(&mut |one| reading.get(one).copied().flatten().map(position), self.now_ns);
        self.run(SECOND);
        assert!(self.clients[at].member.has_left());
        self.clients[at].lives = false;
    }

    /// The client's connection breaks: what it asked is not answered.
    fn disconnect(&mut self, at: usize) {
        self.coordinator.forget(at);
        let client = &mut self.clients[at];
        for request in std::mem::take(&mut client.asked) {
            client.member.on_lost(request, self.now_ns);
        }
    }

    /// Each partition is one member's.
    fn assert_shared(&self, partitions: i32) {
        let living = self.clients.iter().filter(|client| client.lives);
        let all: Vec<&TopicPartition> = living.flat_map(|client| client.member.assigned()).collect();
        let distinct: BTreeSet<_> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (partitions as usize, partitions as usize), "{all:?}");
    }

    /// How often each record of each partition was handed over, beyond once; nothing was left out.
    fn duplicates(&self) -> usize {
        let mut times: BTreeMap<&TopicPartition, BTreeMap<i64, usize>> = BTreeMap::new();
        for (partition, offset) in self.clients.iter().flat_map(|client| &client.read) {
            *times.entry(partition).or_default().entry(*offset).or_default() += 1;
        }
        for (partition, offsets) in &times {
            let last = *offsets.keys().next_back().expect("some") as usize;
            assert_eq!(offsets.len(), last + 1, "{partition}: some were left out");
        }
        times.values().flat_map(BTreeMap::values).map(|times| times - 1).sum()
    }
}
