//! The lab's end of one worker process, and what every worker's trial must look like.

use crate::common::{Fetching, Load, SECOND, TOPIC};
use kdyno_load::framing::{check_hello, read_frame, write_frame, write_given, write_secrets};
use kdyno_load::net::monotonic_ns;
use kdyno_model::histogram;
use kdyno_model::plan::{Arrivals, PhasesPlan, StartOffset};
use kdyno_model::sample::{Counts, Grain, Sample, StreamTotals};
use kdyno_model::secret::Secret;
use kdyno_model::worker::{FromWorker, GivenContent, StreamRole, StreamTask, ToWorker, WorkerTask};
use rustix::process::Pid;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Far longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The value of a secret: no message of a worker may have it, plain or as base64 text.
pub const SECRET: &str = "correct-horse-battery";

/// The bytes as base64 text.
const SECRET_BASE64: &str = "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5";

/// The worker's number: not 0, so that one which does not read it shows.
const WORKER: u16 = 3;

/// A little load, as the lab hands it to a worker.
pub fn task(bootstrap: &[String], measure_ns: u64) -> WorkerTask {
    let produce = StreamRole::Produce(Load::open(50.0, Arrivals::Constant).plan);
    let mut fetching = Fetching::from(StartOffset::Latest);
    fetching.plan.fetch_wait_ns = SECOND / 10;
    let stream = |stream, clients, role| StreamTask {
        stream,
        name: format!("item \"{stream}\" ⟨ü⟩"),
        seed: u64::MAX - 1,
        topic: TOPIC.to_owned(),
        client_first: 1,
        client_count: clients,
        clients_total: clients + 1,
        more_topics: Vec::new(),
        topic_clients: None,
        bytes_per_s_max: None,
        group_id: None,
        bootstrap: Vec::new(),
        java: None,
        span: Default::default(),
        role,
    };
    WorkerTask {
        worker: WORKER,
        run_id: u64::MAX,
        wall_offset_ns: 0,
        bootstrap: bootstrap.to_vec(),
        security: Default::default(),
        client_id_prefix: "conformance-".to_owned(),
        phases: PhasesPlan { warmup_ns: SECOND, warmup_auto: None, measure_ns, drain_ns: 30 * SECOND },
        has_producers: true,
        tick_ns: 200_000,
        streams: vec![stream(0, 2, produce), stream(1, 1, StreamRole::Consume(fetching.plan))],
    }
}

/// The lab's end of a worker; ends it when dropped.
pub struct Lab {
    child: Child,
    socket: UnixStream,
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Both fail only when there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Lab {
    /// Starts a worker and hears its greeting.
    pub fn greet(program: &[String]) -> Self {
        let (socket, theirs) = UnixStream::pair().expect("a socket pair");
        socket.set_read_timeout(Some(PATIENCE)).expect("a deadline");
        let started_ns = monotonic_ns();
        let child = Command::new(&program[0])
            .args(&program[1..])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .expect("a program that starts");
        let mut lab = Self { child, socket };
        let hello = lab.read();
        check_hello(&hello, started_ns, monotonic_ns()).expect("a worker that greets");
        lab
    }

    /// The same, and hands it its task.
    pub fn prepare(program: &[String], task: &WorkerTask) -> Self {
        let mut lab = Self::greet(program);
        lab.give(task);
        lab
    }

    /// Hands a worker that has greeted its task.
    pub fn give(&mut self, task: &WorkerTask) {
        self.say(&ToWorker::Prepare(Box::new(task.clone())));
        loop {
            match self.read() {
                FromWorker::Prepared => return,
                FromWorker::Event(_) => {}
                other => panic!("expected to be prepared: {other:?}"),
            }
        }
    }

    /// Sends it [`SECRET`].
    pub fn say_secrets(&mut self) {
        let secret = Secret::new(SECRET.into());
        write_secrets(&mut self.socket, &BTreeMap::from([("pw", &secret)])).expect("a worker that reads");
    }

    /// Sends it keys or values.
    pub fn say_given(&mut self, given: &GivenContent) {
        write_given(&mut self.socket, given).expect("a worker that reads");
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32).expect("a process id")
    }

    /// Ends it with SIGKILL, and gives what it had said by then.
    pub fn kill(mut self) -> Vec<FromWorker> {
        self.child.kill().expect("a child of ours");
        // The last message may be cut off.
        std::iter::from_fn(|| read_frame(&mut self.socket).ok().flatten()).collect()
    }

    /// Starts the load in a moment: T0, ns.
    pub fn start(&mut self) -> u64 {
        let t0_monotonic_ns = monotonic_ns() + SECOND / 10;
        self.say(&ToWorker::Start { t0_monotonic_ns });
        t0_monotonic_ns
    }

    pub fn say(&mut self, message: &ToWorker) {
        write_frame(&mut self.socket, message).expect("a worker that reads");
    }

    pub fn say_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("a worker that reads");
    }

    pub fn read(&mut self) -> FromWorker {
        self.read_or_end().expect("a message before the end")
    }

    fn read_or_end(&mut self) -> Option<FromWorker> {
        match read_frame(&mut self.socket) {
            // Bytes of ours that it has not read.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
            read => {
                let message = read.expect("a message in time");
                let reported = format!("{message:?}");
                assert!(
                    !reported.contains(SECRET) && !reported.contains(SECRET_BASE64),
                    "a secret comes back: {reported}"
                );
                message
            }
        }
    }

    /// The worker's exit code, when it ends by itself.
    fn exit_code(mut self) -> Option<i32> {
        // Its end of the socket closes when it ends: until then this waits, but not for ever.
        while self.read_or_end().is_some() {}
        self.child.wait().expect("a child of ours").code()
    }

    /// Closes the lab's end; gives the worker's exit code.
    pub fn hang_up(self) -> Option<i32> {
        self.socket.shutdown(Shutdown::Write).expect("an open socket");
        self.exit_code()
    }

    /// The worker says why it goes on no further, and exits with another code than 0.
    pub fn expect_refusal(mut self, what: &str) {
        loop {
            match self.read_or_end() {
                Some(FromWorker::Failed { message }) => break assert!(!message.is_empty(), "{what}"),
                Some(FromWorker::Event(_) | FromWorker::Sample(_)) => {}
                other => panic!("{what} is to be refused: {other:?}"),
            }
        }
        assert_ne!(self.exit_code(), Some(0), "{what}");
    }
}

/// Waits until the monotonic clock says so.
pub fn sleep_until(at_ns: u64) {
    std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(monotonic_ns())));
}

/// What a worker said after the start.
#[derive(Debug, Default)]
pub struct WorkerReport {
    pub samples: Vec<Sample>,
    /// When its totals came, ns.
    pub ended_ns: u64,
    has_load_ended: bool,
    totals: Option<Vec<StreamTotals>>,
}

impl WorkerReport {
    pub fn add(&mut self, message: FromWorker) {
        match message {
            FromWorker::Sample(sample) => self.samples.push(*sample),
            FromWorker::Event(_) => {}
            FromWorker::LoadEnded => self.has_load_ended = true,
            FromWorker::Done(totals) => self.totals = Some(totals),
            other => panic!("out of turn after the start: {other:?}"),
        }
    }

    /// Reads to the worker's end, which is to be a good one, and checks what holds for every trial.
    pub fn finish(&mut self, mut lab: Lab, task: &WorkerTask) {
        while self.totals.is_none() {
            self.add(lab.read());
            if std::mem::take(&mut self.has_load_ended) {
                lab.say(&ToWorker::Drain);
            }
        }
        self.ended_ns = monotonic_ns();
        assert!(lab.read_or_end().is_none(), "the totals are the last word");
        assert_eq!(lab.exit_code(), Some(0));
        self.samples.iter().for_each(check_sample);
        let totals = self.totals.as_ref().expect("read above");
        assert_eq!(totals.len(), task.streams.len(), "one for each stream");
        for (stream, totals) in task.streams.iter().zip(totals) {
            assert_eq!((totals.id.worker, totals.id.stream), (task.worker, stream.stream));
            assert_eq!(totals.clients.len(), stream.client_count as usize, "one for each client");
            let of_stream: Vec<&Sample> =
                self.samples.iter().filter(|sample| sample.id == totals.id).collect();
            let sequences: Vec<u64> = of_stream.iter().map(|sample| sample.sequence).collect();
            assert!(
                sequences.iter().copied().eq(0..sequences.len() as u64),
                "from 0, gapless: {sequences:?}"
            );
            let mut sum = Counts::default();
            of_stream.iter().for_each(|sample| sum.add(&sample.counts));
            assert_eq!(sum.first_difference(&totals.counts), None, "the samples add up to the totals");
            let known = sum.acknowledged + sum.failed.values().sum::<u64>() + sum.unresolved;
            assert_eq!(sum.offered, known, "offered = acknowledged + failed + unresolved");
        }
        let known = |sample: &&Sample| totals.iter().any(|totals| totals.id == sample.id);
        assert_eq!(self.samples.iter().filter(known).count(), self.samples.len(), "of its streams alone");
    }
}

fn check_sample(sample: &Sample) {
    assert!(sample.written_second >= sample.t0_second, "written before it was intended: {sample:?}");
    assert!(sample.grain == Grain::Second || sample.counts.is_empty(), "counted twice: {sample:?}");
    assert!(sample.histograms.keys().eq(sample.sums_ns.keys()), "a sum beside each histogram: {sample:?}");
    for v2_bytes in sample.histograms.values() {
        let histogram = histogram::decode(v2_bytes).expect("HdrHistogram V2 bytes");
        assert!(!histogram.is_empty(), "empty ones are left out");
    }
}
