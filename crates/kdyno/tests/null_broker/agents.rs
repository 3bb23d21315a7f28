//! The load of a run on two other hosts, which are two agents of this one.

use crate::common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, one_line, ran, signal};
use crate::{CLUSTER_ID, NullBroker, files, run};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::evidence::TrialEvidence;
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

const NAMES: [&str; 2] = ["one", "two"];

/// Two agents that listen, and the file that names them.
struct Agents<'a> {
    running: Vec<Running<'a>>,
    addresses: Vec<String>,
    file: String,
}

impl<'a> Agents<'a> {
    fn start(place: &'a TestFolder) -> Self {
        let mut running: Vec<_> = NAMES
            .iter()
            .map(|name| place.start(place.command(&["agent", "--listen", "127.0.0.1:0", "--identity", name])))
            .collect();
        let addresses: Vec<String> = running.iter_mut().map(Running::wait_for_line).collect();
        let host = |(address, name): (&String, &&str)| {
            format!(
                "- {{name: {name}, connect: '{address}', certificate: {name}/certificate.pem, token: {{file: {name}/token}}}}\n"
            )
        };
        let hosts: String = addresses.iter().zip(&NAMES).map(host).collect();
        let file = place.file("generators.yaml", &format!("hosts:\n{hosts}"));
        Self { running, addresses, file: file.to_str().expect("plain path").to_owned() }
    }

    /// Has the lab reach the second agent by what passes its bytes on.
    fn by_forwarder(&self, place: &TestFolder) -> Forwarder {
        let forwarder = Forwarder::to(&self.addresses[1]);
        let text = std::fs::read_to_string(&self.file).expect("the file");
        place.file("generators.yaml", &text.replace(&self.addresses[1], &forwarder.address.to_string()));
        forwarder
    }

    /// Kills the second one and starts another one where it was.
    fn start_second_again(&mut self, place: &'a TestFolder) {
        let lost = self.running.remove(1);
        lost.signal(Signal::KILL);
        assert_eq!(lost.wait(RUN_DEADLINE).code, None);
        let args = ["agent", "--listen", self.addresses[1].as_str(), "--identity", NAMES[1]];
        let mut again = place.start(place.command(&args));
        assert_eq!(again.wait_for_line(), self.addresses[1]);
        self.running.push(again);
    }

    /// Kills the worker of the second one, as soon as there is one.
    fn kill_second_worker(&self) {
        let agent = i32::try_from(self.running[1].pid()).expect("a number");
        let is_its = |pid: &u32| {
            let process = i32::try_from(*pid).ok().and_then(|pid| procfs::process::Process::new(pid).ok());
            process.and_then(|process| process.stat().ok()).is_some_and(|stat| stat.ppid == agent)
        };
        let end = Instant::now() + RUN_DEADLINE;
        loop {
            if let Some(worker) = self.running[1].processes(" worker").into_iter().find(is_its) {
                return signal(worker, Signal::KILL);
            }
            assert!(Instant::now() < end, "no worker");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends them as their users would.
    fn stop(self) {
        for agent in self.running {
            agent.signal(Signal::TERM);
            assert_eq!(agent.wait(RUN_DEADLINE).code, Some(0));
        }
    }
}

/// Passes bytes on between a lab and an agent.
struct Forwarder {
    address: SocketAddr,
    mode: Arc<AtomicU8>,
}

impl Forwarder {
    const PASSES: u8 = 0;
    /// Connections end, those that are made too.
    const CUT: u8 = 1;
    /// Connections are there, and nothing passes.
    const STUCK: u8 = 2;
    /// The test is over.
    const OVER: u8 = 3;

    fn to(agent: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("bound");
        listener.set_nonblocking(true).expect("a mode");
        let mode = Arc::new(AtomicU8::new(Self::PASSES));
        let (agent, of_all) = (agent.to_owned(), Arc::clone(&mode));
        std::thread::spawn(move || {
            while of_all.load(Ordering::Relaxed) != Self::OVER {
                let Ok((lab, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(10));
                    continue;
                };
                let Ok(agent) = TcpStream::connect(&agent) else { continue };
                for (from, to) in [(&lab, &agent), (&agent, &lab)] {
                    let (from, to) = (from.try_clone().expect("shared"), to.try_clone().expect("shared"));
                    let mode = Arc::clone(&of_all);
                    std::thread::spawn(move || pass(from, to, &mode));
                }
            }
        });
        Self { address, mode }
    }

    fn turn(&self, mode: u8) {
        self.mode.store(mode, Ordering::Relaxed);
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.turn(Self::OVER);
    }
}

/// One direction of a connection.
fn pass(mut from: TcpStream, mut to: TcpStream, mode: &AtomicU8) {
    from.set_read_timeout(Some(Duration::from_millis(20))).expect("a deadline");
    let mut piece = [0; 16 << 10];
    loop {
        match mode.load(Ordering::Relaxed) {
            Forwarder::PASSES => {}
            Forwarder::STUCK => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            _ => break,
        }
        match from.read(&mut piece) {
            Ok(count) if count > 0 && to.write_all(&piece[..count]).is_ok() => {}
            Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock) => {}
            _ => break,
        }
    }
    for stream in [from, to] {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
}

/// The evidence of the only trial.
pub fn evidence(place: &TestFolder) -> TrialEvidence {
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let trials = file.trials().expect("its trials");
    assert_eq!(trials.len(), 1);
    file.evidence(trials[0].trial.id).expect("its evidence")
}

/// Waits until no process here is a worker.
fn expect_no_workers(place: &TestFolder) {
    let end = Instant::now() + Duration::from_secs(60);
    let workers = || place.processes(0).into_iter().filter(|(_, line)| line.ends_with(" worker")).count();
    while workers() > 0 {
        assert!(Instant::now() < end, "still there: {:?}", place.processes(0));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn two_agents_share_a_load_and_its_counts_add_up() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let said = run(&place, &files, &["--generators", &agents.file]).wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stderr.contains("the load runs on one, two"), "{said:?}");
    let evidence = evidence(&place);
    let of = |worker: u16| {
        let mut own = evidence.totals.iter().filter(|totals| totals.id.worker == worker);
        own.next().expect("totals of each worker").counts.clone()
    };
    let both = [of(0), of(1)];
    for counts in &both {
        assert!(counts.offered > 100 && counts.acknowledged == counts.offered, "{counts:?}");
    }
    let clients: Vec<_> =
        evidence.start.streams.iter().map(|stream| (stream.id.worker, stream.clients)).collect();
    assert_eq!(clients, [(0, 1), (1, 1)]);
    // One kernel, so one clock; each agent reads its own worker.
    let facts = &evidence.start.cluster;
    for (worker, name) in (0..).zip(NAMES) {
        assert_eq!(facts[&format!("generator.{name}.is_another_host")], "no");
        assert_eq!(facts[&format!("generator.{name}.has_own_clock")], "no");
        assert!(facts.contains_key(&format!("generator.{name}.kernel")), "{facts:?}");
        let is_of_it =
            |subject: &kdyno_model::event::Subject| *subject == kdyno_model::event::Subject::Worker(worker);
        for series in ["cpu_user_s_total", "cpu_user_s_at_exit"] {
            let read = evidence.probes.iter().any(|one| is_of_it(&one.subject) && one.series == series);
            assert!(read, "{name}: {series}");
        }
    }
    agents.stop();
    let seen: ProgramOutput = broker.stop();
    let taken = both.iter().map(|counts| counts.acknowledged).sum::<u64>();
    assert!(seen.stderr.contains(&format!(" {taken} records in ")), "{taken}: {seen:?}");
    place.expect_no_processes();
}

#[test]
fn what_each_generator_can_do_is_measured_where_the_rate_is_max() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let target = std::fs::read_to_string(&files[2]).expect("the target");
    place.file("target.yaml", &target.replace("caps: {produce: 1MiB/s}", "allow: [rate-max]"));
    let more = ["--generators", &agents.file, "--yes", "--set", "rate=max", "--set", "dur=1s"];
    let said = run(&place, &files, &more).wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stderr.contains("measuring what the load generators can do"), "{said:?}");
    let facts = evidence(&place).start.cluster;
    let most = |fact: &str| facts.get(fact).and_then(|fact| fact.parse::<f64>().ok());
    for name in NAMES {
        let per_s = most(&format!("generator.{name}.max_per_s.writers"));
        assert!(per_s.is_some_and(|per_s| per_s > 1.0), "{name}: {facts:?}");
    }
    assert_eq!(most("generator_max_per_s.writers"), None, "this host carries nothing");
    broker.stop();
    agents.stop();
    place.expect_no_processes();
}

/// How the only trial was cut short, if it was.
pub fn cut_short(place: &TestFolder) -> Option<Severity> {
    let judgement = RunFile::open(&place.run_file()).and_then(|file| file.judgement()).expect("findings");
    let mut caveats = judgement.caveats.iter();
    caveats.find(|found| matches!(found.caveat, Caveat::CutShort { .. })).map(|found| found.severity)
}

#[test]
fn an_agent_that_is_started_again_has_lost_its_worker() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let mut agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, &["--generators", &agents.file, "--set", "dur=60s"]);
    running.wait_for("· measure");
    agents.start_second_again(&place);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let why = "worker 1 ended (generator two: its agent has no such session";
    assert!(one_line(&said.stderr).contains(why), "{said:?}");
    // Workers of both: the agent that is gone has no child left, the other one has ended its own.
    expect_no_workers(&place);
    assert_eq!(cut_short(&place), Some(Severity::Invalid));
    agents.stop();
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_worker_that_is_killed_ends_its_trial_in_every_phase() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let scenario = std::fs::read_to_string(&files[0]).expect("the scenario");
    let scenario = scenario.replace("drain: 5s", "drain: 60s");
    for (phase, dur) in [("", "60s"), ("· warmup", "60s"), ("· measure", "60s"), ("· drain", "2s")] {
        let warmup = if phase == "· warmup" { "warmup: 60s" } else { "warmup: 1s" };
        place.file("small.yaml", &scenario.replace("warmup: 1s", warmup));
        let dur = format!("dur={dur}");
        let mut running = run(&place, &files, &["--generators", &agents.file, "--set", &dur]);
        if phase == "· drain" {
            // It lasts because no broker answers.
            running.wait_for("· measure");
            signal(broker.running.pid(), Signal::STOP);
        }
        // Without a word: while it starts or connects.
        if !phase.is_empty() {
            running.wait_for(phase);
        }
        agents.kill_second_worker();
        signal(broker.running.pid(), Signal::CONT);
        let said = running.wait(RUN_DEADLINE);
        assert_eq!(said.code, Some(1), "{phase}: {said:?}");
        let words = one_line(&said.stderr);
        let killed = "worker 1 ended (signal: 9 (SIGKILL) on generator two";
        assert!(words.contains(if phase.is_empty() { "worker 1 " } else { killed }), "{phase}: {words}");
        expect_no_workers(&place);
    }
    agents.stop();
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_load_without_a_lost_worker_is_measured_until_then() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let mut agents = Agents::start(&place);
    let text = std::fs::read_to_string(&agents.file).expect("the file");
    place.file("generators.yaml", &format!("{text}lost_workers: report\n"));
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, &["--generators", &agents.file, "--set", "dur=10s"]);
    running.wait_for("· measure");
    std::thread::sleep(Duration::from_secs(3));
    agents.start_second_again(&place);
    let said = running.wait(RUN_DEADLINE);
    ran(&said);
    let said = one_line(&said.stderr);
    assert!(said.contains("worker 1 ended (generator two: its agent has no such session"), "{said}");
    assert!(said.contains("the load goes on without it"), "{said}");
    assert_eq!(cut_short(&place), Some(Severity::Warning));
    let evidence = evidence(&place);
    let ended: Vec<_> = evidence.totals.iter().map(|totals| totals.id.worker).collect();
    assert_eq!(ended, [0]);
    let last = |worker: u16| {
        let rows = evidence.samples.iter().filter(|row| row.id.worker == worker && row.counts.offered > 0);
        rows.map(|row| row.t0_second).max().expect("rows of each worker")
    };
    assert!(last(0) >= 10 && last(1) < 10, "{} and {}", last(0), last(1));
    agents.stop();
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_stream_that_is_cut_for_some_seconds_changes_nothing() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let forwarder = agents.by_forwarder(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, &["--generators", &agents.file, "--set", "dur=8s"]);
    running.wait_for("· measure");
    forwarder.turn(Forwarder::CUT);
    std::thread::sleep(Duration::from_secs(4));
    forwarder.turn(Forwarder::PASSES);
    ran(&running.wait(RUN_DEADLINE));
    let evidence = evidence(&place);
    assert_eq!(evidence.totals.len(), 2);
    let mut taken = 0;
    for totals in &evidence.totals {
        let counts = &totals.counts;
        assert!(counts.offered > 800 && counts.acknowledged == counts.offered, "{counts:?}");
        let rows = evidence.samples.iter().filter(|sample| sample.id == totals.id);
        let of_rows: u64 = rows.map(|sample| sample.counts.acknowledged).sum();
        assert_eq!(of_rows, counts.acknowledged, "each second's row came once");
        taken += counts.acknowledged;
    }
    assert_eq!(cut_short(&place), None);
    agents.stop();
    let seen = broker.stop();
    assert!(seen.stderr.contains(&format!(" {taken} records in ")), "{taken}: {seen:?}");
    place.expect_no_processes();
}

/// Neither side sees an end of the stream: each learns by the other's silence.
#[test]
fn a_stream_that_falls_silent_ends_the_trial_and_the_worker() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let forwarder = agents.by_forwarder(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, &["--generators", &agents.file, "--set", "dur=120s"]);
    running.wait_for("· measure");
    forwarder.turn(Forwarder::STUCK);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    let said = one_line(&said.stderr);
    assert!(said.contains("worker 1 ended (generator two: its session broke"), "{said}");
    assert!(said.contains("could not be reached again within 30 s"), "{said}");
    assert!(said.contains("generator two has not been heard of for 5 s: its session broke"), "{said}");
    expect_no_workers(&place);
    assert_eq!(cut_short(&place), Some(Severity::Invalid));
    drop(forwarder);
    agents.stop();
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_lab_without_the_token_is_refused_before_any_start() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let text = std::fs::read_to_string(&agents.file).expect("the file");
    place.file("other-token", "hunter2");
    place.file("generators.yaml", &text.replace("two/token", "other-token"));
    let said = run(&place, &files, &["--generators", &agents.file]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("generator two: it ended the connection without an answer"), "{said:?}");
    assert!(!said.stderr.contains("hunter2"));
    // Who is not whom the certificate names is not spoken to.
    place.file("generators.yaml", &text.replace("two/certificate", "one/certificate"));
    let said = run(&place, &files, &["--generators", &agents.file]).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr.contains("generator two: it is not spoken to by TLS: invalid peer certificate"),
        "{said:?}"
    );
    assert!(!place.path().join("kdyno-runs").exists(), "no run began");
    broker.stop();
    agents.stop();
    place.expect_no_processes();
}

/// `ssh` on the path is a script that runs what it is given, and has not the token of the other host: the stream is the same.
#[test]
fn an_agent_that_ssh_starts_outlives_it() {
    const TOKEN: &str = "GEN_TOKEN";
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    // By its name it is known as one of here: others may not ask such a process for its folder.
    let exe = place.path().join("kdyno");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kdyno"), &exe).expect("a link");
    let exe = exe.display();
    let ssh = place.file(
        "ssh",
        &format!(
            "#!/bin/sh\n[ -z \"${TOKEN}\" ] || exit 8\nwhile [ \"$1\" != -- ]; do shift; done\n\
             [ \"$2\" = load@gen-1 ] || exit 9\nshift 3\nexec '{exe}' \"$@\"\n"
        ),
    );
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&ssh, executable).expect("executable");
    let listening = std::fs::read_to_string(&agents.file).expect("the file");
    let listening = listening.lines().find(|line| line.contains("name: one")).expect("the first agent");
    let listening = listening.replace("{file: one/token}", &format!("{{env: {TOKEN}}}"));
    let generators = place
        .file("generators.yaml", &format!("hosts:\n- {{ssh: load@gen-1, program: kdyno}}\n{listening}\n"));
    let args: Vec<&str> = files.iter().map(String::as_str).collect();
    let generators = generators.to_str().expect("plain path");
    let more = ["--share", "--generators", generators, "--set", "dur=6s"];
    let mut command = place.command(&[&["run"], &args[..], &more].concat());
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.path().display()));
    let token = std::fs::read_to_string(place.path().join("one/token")).expect("the token");
    command.env(TOKEN, token.trim());
    let mut running = place.start(command);
    running.wait_for("· measure");
    let ssh = running.processes("agent --stdio");
    assert_eq!(ssh.len(), 1);
    signal(ssh[0], Signal::KILL);
    ran(&running.wait(RUN_DEADLINE));
    let totals = evidence(&place).totals;
    assert_eq!(totals.len(), 2);
    assert!(totals.iter().all(|totals| totals.counts.acknowledged == totals.counts.offered), "{totals:?}");
    assert_eq!(cut_short(&place), None);
    agents.stop();
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_run_that_is_repeated_needs_its_generators_again() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    ran(&run(&place, &files, &["--generators", &agents.file]).wait(RUN_DEADLINE));
    let again = ["rerun", "latest", "--share", "--target", &files[2]];
    let said = place.start(place.command(&again)).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.stderr.contains("how it is reached is not kept") && said.stderr.contains("--generators"),
        "{said:?}"
    );
    let again = [&again[..], &["--generators", &agents.file]].concat();
    ran(&place.start(place.command(&again)).wait(RUN_DEADLINE));
    agents.stop();
    broker.stop();
}
