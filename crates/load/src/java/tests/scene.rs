//! A stream and a scripted Java process at the other end of a socket pair, in simulated time.

use crate::groups::ReadGroups;
use crate::java::frames::tests::{ReceivedRecord, ToJava, heard, outcomes, said};
use crate::java::frames::{Decoder, FromJava, RecordOutcome, TakenRecord};
use crate::java::link::JavaLink;
use crate::java::process::Process;
use crate::java::with_link;
use crate::net::{ConnectionId, Net};
use crate::stream::{Events, SocketReadiness, Stream, StreamContext, StreamError};
use kdyno_kafka::security::Hidden;
use kdyno_model::plan::{JavaTask, PhasesPlan};
use kdyno_model::sample::{Sample, StreamTotals};
use kdyno_model::worker::{FromWorker, StreamRole, StreamTask, WorkerEvent};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;
/// When the process is started, and when the load begins.
pub const START: u64 = SECOND;
pub const T0: u64 = 10 * SECOND;

struct SimNet {
    now_ns: Cell<u64>,
    socket: Option<UnixStream>,
}

impl Net for SimNet {
    fn now_ns(&self) -> u64 {
        self.now_ns.get()
    }

    fn connect(&mut self, _: ConnectionId, _: &str, _: u16) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn finish_connect(&mut self, _: ConnectionId) -> io::Result<bool> {
        Ok(true)
    }

    fn write(&mut self, _: ConnectionId, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.as_mut().ok_or(io::ErrorKind::NotConnected)?.write_vectored(slices)
    }

    fn read(&mut self, _: ConnectionId, into: &mut [u8]) -> io::Result<usize> {
        self.socket.as_mut().ok_or(io::ErrorKind::NotConnected)?.read(into)
    }

    fn close(&mut self, _: ConnectionId) {
        self.socket = None;
    }

    fn attach(&mut self, _: ConnectionId, socket: UnixStream) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        self.socket = Some(socket);
        Ok(())
    }
}

#[derive(Debug)]
struct ScriptedProcess {
    exit: ExitCell,
}

/// How it ended, and from when on that is known, ns.
type ExitCell = Rc<Cell<Option<(u64, &'static str)>>>;

impl Process for ScriptedProcess {
    fn pid(&self) -> Option<u32> {
        None
    }

    fn ended(&mut self, now_ns: u64) -> Option<String> {
        self.exit.get().filter(|(known_ns, _)| now_ns >= *known_ns).map(|(_, how)| how.to_owned())
    }

    fn lines(&self) -> String {
        "; it wrote last: one / two".to_owned()
    }

    fn ends_by_itself(&mut self) {}
}

/// How the process behaves.
pub struct JavaBehaviour {
    pub clients: u32,
    /// Whether it says anything at all.
    pub is_silent: bool,
    /// How long after it was handed over and is due the client begins with a record, ns.
    pub delay_ns: u64,
    /// How long `send()` takes.
    pub block_ns: u64,
    /// From t2 to t6, by the number of the record, ns; and the reason.
    pub outcome: fn(u64) -> (u64, u16),
    /// Reasons that it reports.
    pub reasons: &'static [&'static str],
    /// Numbers of records that `send()` refuses.
    pub refuses: fn(u64) -> bool,
    /// Records that each client takes at most.
    pub takes_max: u64,
    /// When it dies, ns, and how.
    pub dies: Option<(u64, &'static str)>,
    /// How much later it is known how, ns.
    pub known_later_ns: u64,
    /// What it says at instants, ns.
    pub says: Vec<(u64, Vec<u8>)>,
    /// Whether consumers catch up at once when asked to.
    pub catches_up: bool,
}

impl Default for JavaBehaviour {
    fn default() -> Self {
        Self {
            clients: 1,
            is_silent: false,
            delay_ns: 100_000,
            block_ns: 10_000,
            outcome: |_| (2 * MS, 0),
            reasons: &[],
            refuses: |_| false,
            takes_max: u64::MAX,
            dies: None,
            known_later_ns: 0,
            says: Vec::new(),
            catches_up: true,
        }
    }
}

/// The process.
struct FakeJava {
    script: JavaBehaviour,
    socket: Option<UnixStream>,
    decoder: Decoder,
    heard: Vec<ToJava>,
    /// By instants, and in the order in which they were planned.
    planned: BTreeMap<(u64, u64), Vec<u8>>,
    count: u64,
    /// What the socket has not taken.
    unsent: Vec<u8>,
    /// Per client: number of its next record, and when it begins with it at the earliest, ns.
    next: BTreeMap<u32, (u64, u64)>,
    until: BTreeMap<u32, i64>,
    exit: ExitCell,
}

impl FakeJava {
    fn plan(&mut self, at_ns: u64, bytes: Vec<u8>) {
        self.count += 1;
        self.planned.insert((at_ns, self.count), bytes);
    }

    /// Hears and says what is due; returns whether the worker's socket has something to read, or room again.
    fn turn(&mut self, now_ns: u64) -> bool {
        let mut is_ready = false;
        while let Some(socket) = &mut self.socket {
            let room = self.decoder.room();
            match socket.read(room) {
                Ok(0) | Err(_) => break,
                Ok(bytes) => self.decoder.filled(bytes),
            }
            is_ready = true;
            while let Some(frame) = self.decoder.take().expect("frames") {
                let heard = heard(frame);
                self.react(now_ns, &heard);
                self.heard.push(heard);
            }
        }
        if self.script.dies.is_some_and(|(at_ns, _)| now_ns >= at_ns) {
            let known_ns = now_ns + self.script.known_later_ns;
            self.exit.set(self.script.dies.take().map(|(_, how)| (known_ns, how)));
            return self.socket.take().is_some();
        }
        while let Some(first) = self.planned.first_entry()
            && first.key().0 <= now_ns
        {
            self.unsent.extend(first.remove());
        }
        while let Some(socket) = &mut self.socket
            && !self.unsent.is_empty()
        {
            let Ok(bytes) = socket.write(&self.unsent) else { break };
            self.unsent.drain(..bytes);
            is_ready = true;
        }
        is_ready
    }

    fn react(&mut self, now_ns: u64, heard: &ToJava) {
        match heard {
            _ if self.script.is_silent => {}
            ToJava::Task { .. } => {
                for client in 0..self.script.clients {
                    let ready = FromJava::Ready {
                        client,
                        began_ns: now_ns,
                        ready_ns: now_ns + 7 * MS,
                        partitions: 6,
                    };
                    self.plan(now_ns + 7 * MS, said(&ready));
                }
                for (number, name) in (1..).zip(self.script.reasons) {
                    self.plan(now_ns + 8 * MS, said(&FromJava::Reason { number, name }));
                }
            }
            ToJava::Records { client, records } => self.take(now_ns, *client, records),
            ToJava::Until { client, at } => {
                self.until.insert(*client, *at);
            }
            ToJava::End => {
                for client in 0..self.script.clients {
                    self.plan(
                        now_ns + MS,
                        said(&FromJava::Metrics { client, text: "Metric Name   Value\n" }),
                    );
                }
                self.plan(now_ns + 2 * MS, said(&FromJava::Ended));
            }
            ToJava::CatchUp if self.script.catches_up => {
                for client in 0..self.script.clients {
                    self.plan(now_ns + MS, said(&FromJava::CaughtUp { client }));
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, now_ns: u64, client: u32, records: &[ReceivedRecord]) {
        for record in records {
            let (number, free_ns) = *self.next.entry(client).or_insert((0, 0));
            if number >= self.script.takes_max {
                return;
            }
            let handed_ns = free_ns.max(record.due_ns.max(now_ns) + self.script.delay_ns);
            let until = self.until.get(&client).copied().unwrap_or(i64::MAX);
            if handed_ns as i64 >= until {
                let dropped = TakenRecord { handed_ns: 0, accepted_ns: 0 };
                self.next.insert(client, (number + 1, free_ns));
                self.plan(handed_ns + 2 * MS, outcomes(client, &[dropped], &[]));
                continue;
            }
            let sent_ns = handed_ns + self.script.block_ns;
            self.next.insert(client, (number + 1, sent_ns));
            let is_refused = (self.script.refuses)(number);
            let taken = TakenRecord { handed_ns, accepted_ns: if is_refused { 0 } else { sent_ns } };
            let (took_ns, reason) = (self.script.outcome)(number);
            let known_ns = sent_ns + if is_refused { 0 } else { took_ns };
            let outcome = RecordOutcome { number, known_ns, reason };
            // As the writing thread does it, a little later; outcomes may come before it is known that records were taken.
            self.plan(sent_ns + 2 * MS, outcomes(client, &[taken], &[]));
            self.plan(known_ns + 2 * MS, outcomes(client, &[], &[outcome]));
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        let planned = self.planned.first_key_value().map(|((at_ns, _), _)| *at_ns);
        let dies = self.script.dies.map(|(at_ns, _)| at_ns);
        planned.into_iter().chain(dies).filter(|_| self.socket.is_some()).min()
    }
}

/// What came of a stream.
pub struct StreamOutcome {
    pub totals: StreamTotals,
    pub samples: Vec<Sample>,
    pub messages: Vec<FromWorker>,
    pub events: Vec<WorkerEvent>,
    pub heard: Vec<ToJava>,
    pub failure: Option<StreamError>,
}

impl StreamOutcome {
    /// offered = acknowledged + failed + unresolved.
    pub fn assert_accounted(&self) {
        let counts = &self.totals.counts;
        let failed: u64 = counts.failed.values().sum();
        assert_eq!(counts.offered, counts.acknowledged + failed + counts.unresolved, "{counts:?}");
        let rows: u64 = self.samples.iter().map(|sample| sample.counts.offered).sum();
        assert_eq!(rows, counts.offered, "the rows add up to the total");
    }
}

/// The task of a stream that has this role and so many clients.
pub fn context(role: StreamRole, clients: u32, measure_ns: u64) -> StreamContext {
    StreamContext {
        worker: 2,
        run_id: 7,
        seed: 1,
        bootstrap: Vec::new(),
        client_id_prefix: "test-".to_owned(),
        wall_offset_ns: 1_000 * SECOND as i64,
        tick_ns: 200_000,
        phases: PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns, drain_ns: 20 * SECOND },
        has_producers: true,
        task: StreamTask {
            stream: 3,
            name: "item".to_owned(),
            seed: 1,
            topic: "t".to_owned(),
            client_first: 4,
            client_count: clients,
            clients_total: 4 + clients,
            more_topics: Vec::new(),
            topic_clients: None,
            bytes_per_s_max: None,
            group_id: None,
            bootstrap: Vec::new(),
            java: Some(java()),
            span: Default::default(),
            role,
        },
        given: Default::default(),
        groups: ReadGroups::default(),
        security: Default::default(),
        java_connection: Some(Hidden::new(b"bootstrap.servers=broker\\:9092\n".to_vec())),
        events: Events::default(),
    }
}

pub fn java() -> JavaTask {
    JavaTask {
        command: vec!["java".to_owned()],
        properties: BTreeMap::from([("acks".to_owned(), "1 or more".to_owned())]),
    }
}

/// Runs a stream to its end, or to that of its phases.
pub fn run(context: StreamContext, script: JavaBehaviour) -> StreamOutcome {
    let exit = Rc::new(Cell::new(None));
    let theirs = Rc::new(RefCell::new(None));
    let (for_start, exit_of) = (Rc::clone(&theirs), Rc::clone(&exit));
    let link = JavaLink::with(
        &java(),
        Box::new(move |_| {
            let (ours, other) = UnixStream::pair()?;
            other.set_nonblocking(true)?;
            *for_start.borrow_mut() = Some(other);
            Ok((Box::new(ScriptedProcess { exit: Rc::clone(&exit_of) }) as Box<dyn Process>, ours))
        }),
    );
    let phases = context.phases;
    let stream = with_link(link, context).expect("a plan that it carries");
    let java = FakeJava {
        script,
        socket: None,
        decoder: Decoder::default(),
        heard: Vec::new(),
        planned: BTreeMap::new(),
        count: 0,
        unsent: Vec::new(),
        next: BTreeMap::new(),
        until: BTreeMap::new(),
        exit,
    };
    let net = SimNet { now_ns: Cell::new(START), socket: None };
    let mut scene = JavaFixture { stream, net, java, theirs, messages: Vec::new(), is_prepared: false };
    let is_late = scene.stream.context().is_late();
    if !is_late {
        scene.run_until(60 * SECOND, |stream| stream.is_connected() != Ok(false));
        if scene.stream.is_connected() == Ok(true) {
            scene.prepare();
        }
    }
    if scene.stream.failure().is_none() {
        scene.net.now_ns.set(T0 - SECOND);
        scene.stream.start(T0);
        scene.stream.measure_begins(phases.warmup_ns);
        let end_ns = T0 + phases.warmup_ns + phases.measure_ns + phases.drain_ns;
        scene.run_until(end_ns, |stream| stream.is_done() || stream.failure().is_some());
    }
    scene.finish()
}

struct JavaFixture {
    stream: Box<dyn Stream>,
    net: SimNet,
    java: FakeJava,
    theirs: Rc<RefCell<Option<UnixStream>>>,
    messages: Vec<FromWorker>,
    is_prepared: bool,
}

impl JavaFixture {
    fn prepare(&mut self) {
        self.stream.prepare().expect("prepared");
        self.is_prepared = true;
    }

    fn run_until(&mut self, end_ns: u64, is_over: impl Fn(&dyn Stream) -> bool) {
        let mut turns_at_once = 0;
        loop {
            let now_ns = self.net.now_ns.get();
            self.stream.turn(&mut self.net);
            self.messages.extend(self.stream.take_messages());
            if let Some(socket) = self.theirs.borrow_mut().take() {
                self.java.socket = Some(socket);
                if !self.java.script.is_silent {
                    let (java, client, commit) = ("17", "4.1.1", "abc");
                    self.java.plan(now_ns, said(&FromJava::Hello { at_ns: now_ns, java, client, commit }));
                }
                for (at_ns, bytes) in std::mem::take(&mut self.java.script.says) {
                    self.java.plan(at_ns, bytes);
                }
            }
            let is_ready = self.java.turn(now_ns);
            if is_ready {
                self.stream.on_ready(
                    0,
                    0,
                    SocketReadiness { is_writable: true, reported_ns: now_ns },
                    &mut self.net,
                );
            }
            if is_over(self.stream.as_ref()) {
                return;
            }
            if !self.is_prepared && self.stream.is_connected() == Ok(true) {
                self.prepare();
            }
            let stream_ns = self.stream.next_deadline().unwrap_or(u64::MAX);
            let next_ns = stream_ns.min(self.java.next_deadline().unwrap_or(u64::MAX));
            if is_ready || next_ns <= now_ns {
                turns_at_once += 1;
                assert!(turns_at_once < 100_000, "the loop does not come to rest at {now_ns} ns");
                continue;
            }
            turns_at_once = 0;
            self.net.now_ns.set(next_ns.min(end_ns));
            if next_ns >= end_ns {
                return;
            }
        }
    }

    fn finish(mut self) -> StreamOutcome {
        let failure = self.stream.failure();
        let totals = self.stream.finish(self.net.now_ns.get());
        self.messages.extend(self.stream.take_messages());
        StreamOutcome {
            totals,
            samples: self.stream.take_samples(),
            messages: self.messages,
            events: self.stream.context().events.take(T0, 3),
            heard: self.java.heard,
            failure,
        }
    }
}
