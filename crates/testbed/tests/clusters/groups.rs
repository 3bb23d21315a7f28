//! A consumer of Kafka's own client and a member of ours share a group: by both protocols, an eager assignor and a cooperative
//! one; in the full table by each. What each assigns is compared with Java's in `kafka` (`group::assignors`).

use crate::matrix;
use crate::scene::{PATIENCE, TestFolder, ensure, one_broker, trial};
use kdyno_kafka::admin::Admin;
use kdyno_kafka::backoff::ExponentialBackoff;
use kdyno_kafka::broker_connections::{BrokerConnections, ConnectionsConfig};
use kdyno_kafka::connection::WriteProgress;
use kdyno_kafka::group::{Assignor, GroupConfig, GroupEvent, GroupProtocol, GroupRequest, Member, Position};
use kdyno_kafka::messages::{Api, m03_metadata, m08_offset_commit, m09_offset_fetch, m10_find_coordinator};
use kdyno_kafka::wire::FRAME_BYTES_MAX;
use kdyno_testbed::LocalCluster;
use libtest_mimic::{Failed, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const PARTITIONS: i32 = 6;
const TOPIC: &str = "shared";
const NEEDS: &[Api] =
    &[m03_metadata::API, m08_offset_commit::API, m09_offset_fetch::API, m10_find_coordinator::API];
const MS: u64 = 1_000_000;

pub fn trials() -> Vec<Trial> {
    vec![trial("a_java_consumer_and_a_member_of_ours_share_a_group", share)]
}

fn share() -> Result<(), Failed> {
    let scene = TestFolder::new()?;
    let mut plan = one_broker();
    plan.config.insert("group.initial.rebalance.delay.ms".to_owned(), "0".to_owned());
    plan.config.insert("group.consumer.heartbeat.interval.ms".to_owned(), "1000".to_owned());
    plan.config.insert("group.consumer.min.heartbeat.interval.ms".to_owned(), "500".to_owned());
    let cluster = scene.start(&plan)?;
    let mut admin = Admin::connect(&cluster.bootstrap(), "test", PATIENCE)?;
    admin.create_topic(TOPIC, PARTITIONS, 1, &BTreeMap::new())?;
    let strategies = [
        "org.apache.kafka.clients.consumer.RangeAssignor",
        "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "org.apache.kafka.clients.consumer.StickyAssignor",
        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    ];
    let classes = compiled(&scene, &cluster)?;
    for (assignor, class) in Assignor::ALL.into_iter().zip(strategies) {
        let is_one_of_few = matches!(assignor, Assignor::Range | Assignor::CooperativeSticky);
        if !is_one_of_few && !matrix::is_on() {
            continue;
        }
        let protocol = GroupProtocol::Classic { assignors: vec![assignor] };
        let settings =
            [format!("partition.assignment.strategy={class}"), "heartbeat.interval.ms=500".to_owned()];
        share_by(&cluster, &classes, (assignor.name(), &protocol), &settings)?;
    }
    let protocol = GroupProtocol::Consumer { assignor: None };
    share_by(&cluster, &classes, ("consumer", &protocol), &["group.protocol=consumer".to_owned()])?;
    cluster.stop()?;
    Ok(())
}

/// Ours alone; both; Java alone; both, and Java was there first; ours alone.
fn share_by(
    cluster: &LocalCluster,
    classes: &str,
    (group, protocol): (&str, &GroupProtocol),
    settings: &[String],
) -> Result<(), Failed> {
    let mut ours = Ours::new(cluster, group, protocol, 1);
    ours.run_until(&format!("{group}: ours alone"), |own| own.len() == PARTITIONS as usize)?;
    let java = JavaMember::start(cluster, classes, group, settings)?;
    let is_shared = |own: &BTreeSet<i32>| {
        let theirs = java.assigned();
        let is_apart = own.is_disjoint(&theirs) && !own.is_empty() && !theirs.is_empty();
        is_apart && own.len() + theirs.len() == PARTITIONS as usize
    };
    ours.run_until(&format!("{group}: Java joined"), is_shared)?;
    ours.leave(group)?;
    let mut again = Ours::new(cluster, group, protocol, 2);
    again.run_until(&format!("{group}: Java was there first"), is_shared)?;
    drop(java);
    again.run_until(&format!("{group}: Java left"), |own| own.len() == PARTITIONS as usize)?;
    again.leave(group)
}

/// The Java of the cluster's broker, and its class path.
fn java_and_jars(cluster: &LocalCluster) -> Result<(PathBuf, String), Failed> {
    let lines = cluster.command_lines();
    let line = lines.values().next().ok_or("a broker's command line")?;
    let class_path = line.iter().position(|word| word == "-cp" || word == "-classpath");
    let class_path = class_path.and_then(|at| line.get(at + 1)).ok_or(format!("{line:?}"))?;
    Ok((PathBuf::from(&line[0]), class_path.clone()))
}

/// The folder of the consumer's class, which is started five times.
fn compiled(scene: &TestFolder, cluster: &LocalCluster) -> Result<String, Failed> {
    let (java, jars) = java_and_jars(cluster)?;
    let classes = scene.folder.path().join("classes").display().to_string();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clusters/GroupMember.java");
    let mut javac = Command::new(java.with_file_name("javac"));
    let status = javac.args(["-cp", &jars, "-d", &classes, source]).status()?;
    ensure(status.success(), format!("javac ended with {status}"))?;
    Ok(classes)
}

/// A consumer of Kafka's own client; closed when dropped.
struct JavaMember {
    child: Child,
    reported: Arc<Mutex<BTreeSet<i32>>>,
}

impl JavaMember {
    fn start(
        cluster: &LocalCluster,
        classes: &str,
        group: &str,
        settings: &[String],
    ) -> Result<Self, Failed> {
        let (java, jars) = java_and_jars(cluster)?;
        let class_path = format!("{jars}:{classes}");
        let mut child = Command::new(java)
            .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", &class_path, "GroupMember"])
            .args([&cluster.bootstrap().join(","), group, TOPIC])
            .args(settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let reported = Arc::new(Mutex::new(BTreeSet::new()));
        let (out, heard) = (child.stdout.take().ok_or("its output")?, Arc::clone(&reported));
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let words = line.split(' ').skip(1).map_while(|word| word.parse().ok());
                *heard.lock().expect("nobody panics with it") = words.collect();
            }
        });
        Ok(Self { child, reported })
    }

    fn assigned(&self) -> BTreeSet<i32> {
        self.reported.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for JavaMember {
    fn drop(&mut self) {
        // A byte asks it to close; it is ended if it does not.
        let reported = self.child.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
        let until = Instant::now() + Duration::from_secs(30);
        while reported.is_some() && Instant::now() < until && !matches!(self.child.try_wait(), Ok(Some(_))) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A member of ours with its connections and sockets.
struct Ours {
    member: Member,
    connections: BrokerConnections<GroupRequest>,
    sockets: BTreeMap<usize, TcpStream>,
    started: Instant,
}

impl Ours {
    fn new(cluster: &LocalCluster, group: &str, protocol: &GroupProtocol, seed: u64) -> Self {
        let address = |text: &String| {
            let (host, port) = text.rsplit_once(':').expect("host:port");
            (host.to_owned(), port.parse().expect("a port"))
        };
        let retry_backoff = ExponentialBackoff { first_ns: 100 * MS, max_ns: 1_000 * MS };
        let connections = BrokerConnections::new(ConnectionsConfig {
            client_id: "ours".to_owned(),
            topics: vec![TOPIC.to_owned()],
            bootstrap: cluster.bootstrap().iter().map(address).collect(),
            needs: NEEDS,
            security: Default::default(),
            request_timeout_ns: 30_000 * MS,
            retry_backoff,
            reconnect_backoff: ExponentialBackoff::RECONNECT,
            setup_timeout: ExponentialBackoff::SETUP_TIMEOUT,
            idle_ns: ConnectionsConfig::IDLE_NS,
            metadata_max_age_ns: 300_000 * MS,
            frame_bytes_max: FRAME_BYTES_MAX,
            seed,
        });
        let member = Member::new(GroupConfig {
            group_id: group.to_owned(),
            instance_id: None,
            topics: vec![TOPIC.into()],
            protocol: protocol.clone(),
            session_timeout_ns: 45_000 * MS,
            heartbeat_interval_ns: 500 * MS,
            poll_interval_max_ns: 300_000 * MS,
            auto_commit_ns: Some(500 * MS),
            retry_backoff,
            leave_timeout_ns: 10_000 * MS,
            seed,
        });
        Self { member, connections, sockets: BTreeMap::new(), started: Instant::now() }
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    fn own(&self) -> BTreeSet<i32> {
        self.member.assigned().iter().map(|partition| partition.partition).collect()
    }

    /// Until it has what it is to have.
    fn run_until(&mut self, what: &str, is_it: impl Fn(&BTreeSet<i32>) -> bool) -> Result<(), Failed> {
        let until = Instant::now() + PATIENCE;
        let mut events: Vec<(u64, GroupEvent)> = Vec::new();
        while !is_it(&self.own()) || !self.member.is_settled() {
            let failure = self.member.failure().map(ToString::to_string);
            let is_late = Instant::now() > until;
            ensure(
                failure.is_none() && !is_late,
                format!("{what}: {failure:?}, {:?}, {events:?}", self.own()),
            )?;
            self.turn();
            events.extend(self.member.take_events());
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn leave(&mut self, group: &str) -> Result<(), Failed> {
        let now_ns = self.now_ns();
        self.member.leave(&mut |_| Some(Position { offset: 0, leader_epoch: -1 }), now_ns);
        let until = Instant::now() + PATIENCE;
        while !self.member.has_left() {
            ensure(Instant::now() < until, format!("{group}: it does not end to leave"))?;
            self.turn();
            std::thread::sleep(Duration::from_millis(5));
        }
        let events = self.member.take_events();
        let has_committed = events.iter().any(|(_, event)| matches!(event, GroupEvent::Committed { .. }));
        ensure(has_committed, format!("{group}: it commits where it leaves: {events:?}"))
    }

    fn turn(&mut self) {
        let now_ns = self.now_ns();
        self.connections.poll(now_ns);
        while let Some(connection) = self.connections.to_connect(now_ns) {
            let (host, port) = self.connections.address(connection);
            match TcpStream::connect((host, port)) {
                Ok(socket) => {
                    socket.set_nonblocking(true).expect("a socket");
                    self.sockets.insert(connection, socket);
                    self.connections.on_connected(connection, now_ns).expect("a plain connection");
                }
                Err(error) => self.connections.on_closed(connection, now_ns, error.into()),
            }
        }
        while let Some(surplus) = self.connections.take_surplus(now_ns) {
            self.sockets.remove(&surplus);
        }
        if let Some(id) = self.connections.topic_id(0) {
            let partitions = self.connections.partition_count(0) as i32;
            self.member.set_topic(&TOPIC.into(), id, partitions);
        }
        self.member.poll(&mut |_| Some(Position { offset: 0, leader_epoch: -1 }), now_ns);
        self.member.ask(&mut self.connections, |request| request, now_ns);
        for connection in self.sockets.keys().copied().collect::<Vec<_>>() {
            self.move_bytes(connection, now_ns);
        }
        for (_, request) in self.connections.take_lost() {
            self.member.on_lost(request, now_ns);
        }
    }

    fn move_bytes(&mut self, connection: usize, now_ns: u64) {
        let Self { member, connections, sockets, .. } = self;
        let Some(socket) = sockets.get_mut(&connection) else { return };
        let queues = connections.connection_mut(connection);
        // A socket that is full, or gone, takes the rest later, or is found out below.
        if matches!(queues.write_to(socket), Ok(WriteProgress::Request)) {
            queues.stamp_written(now_ns);
        }
        let read = socket.read(queues.input_space());
        let ended = match read {
            Ok(0) => Some(queues.closed_by_peer()),
            Ok(bytes) => {
                queues.advance_read(bytes).expect("a plain connection");
                let mut answers = Vec::new();
                let received = connections.receive(connection, now_ns, |answered, body| {
                    answers.push((answered.token, answered.version, body.to_vec()));
                    Ok(())
                });
                for (request, version, body) in answers {
                    member.on_answer(request, (version, &body), now_ns).expect("an answer");
                }
                received.err()
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => Some(queues.socket_failed(error)),
        };
        if let Some(error) = ended {
            sockets.remove(&connection);
            connections.on_closed(connection, now_ns, error);
        }
    }
}
