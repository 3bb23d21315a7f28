//! The load of a run on two other hosts, which are two agents of this one.

use crate::common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, ran, signal};
use crate::{CLUSTER_ID, NullBroker, files, run};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::evidence::TrialEvidence;
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::time::{Duration, Instant};

const NAMES: [&str; 2] = ["one", "two"];

/// Two agents that listen, and the file that names them.
struct Agents<'a> {
    running: Vec<Running<'a>>,
    file: String,
}

impl<'a> Agents<'a> {
    fn start(place: &'a TestFolder) -> Self {
        let mut running: Vec<_> = NAMES
            .iter()
            .map(|name| place.start(place.command(&["agent", "--listen", "127.0.0.1:0", "--identity", name])))
            .collect();
        let host = |(agent, name): (&mut Running<'_>, &&str)| {
            let address = agent.wait_for_line();
            format!(
                "- {{name: {name}, connect: '{address}', certificate: {name}/certificate.pem, token: {{file: {name}/token}}}}\n"
            )
        };
        let hosts: String = running.iter_mut().zip(&NAMES).map(host).collect();
        let file = place.file("generators.yaml", &format!("hosts:\n{hosts}"));
        Self { running, file: file.to_str().expect("plain path").to_owned() }
    }

    /// Ends them as their users would.
    fn stop(self) {
        for agent in self.running {
            agent.signal(Signal::TERM);
            assert_eq!(agent.wait(RUN_DEADLINE).code, Some(0));
        }
    }
}

/// The evidence of the only trial.
fn evidence(place: &TestFolder) -> TrialEvidence {
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
    assert!(said.stderr.contains("the load is carried by one, two"), "{said:?}");
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
    // The same kernel, so the same clock; each agent reads its own worker.
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
fn a_lost_agent_ends_the_trial_which_is_not_valid() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let mut running = run(&place, &files, &["--generators", &agents.file, "--set", "dur=60s"]);
    running.wait_for("· measure");
    signal(agents.running[1].pid(), Signal::KILL);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("worker 1 ended (generator two: "), "{said:?}");
    // Of both: the agent that is gone has no child left, the other one has ended its own.
    expect_no_workers(&place);
    let judgement = RunFile::open(&place.run_file()).and_then(|file| file.judgement()).expect("findings");
    let mut caveats = judgement.caveats.iter();
    let lost = caveats.find(|found| matches!(found.caveat, Caveat::CutShort { .. })).expect("a caveat");
    assert_eq!(lost.severity, Severity::Invalid);
    let mut agents = agents.running.into_iter();
    let left = agents.next().expect("the first");
    left.signal(Signal::TERM);
    assert_eq!(left.wait(RUN_DEADLINE).code, Some(0));
    drop(agents);
    broker.stop();
    place.expect_no_processes();
}

#[test]
fn a_lab_without_the_token_is_refused_before_anything_is_started() {
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
fn an_agent_is_started_by_ssh_and_ends_with_its_stream() {
    const TOKEN: &str = "GEN_TOKEN";
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let agents = Agents::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    let exe = env!("CARGO_BIN_EXE_kdyno");
    let ssh = place.file(
        "ssh",
        &format!(
            "#!/bin/sh\n[ \"$5\" = load@gen-1 ] || exit 9\n[ -z \"${TOKEN}\" ] || exit 8\nshift 6\nexec '{exe}' \"$@\"\n"
        ),
    );
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&ssh, executable).expect("executable");
    let listening = std::fs::read_to_string(&agents.file).expect("the file");
    let listening = listening.lines().find(|line| line.contains("name: one")).expect("the first agent");
    let listening = listening.replace("{file: one/token}", &format!("{{env: {TOKEN}}}"));
    let generators = place.file("generators.yaml", &format!("hosts:\n- {{ssh: load@gen-1}}\n{listening}\n"));
    let args: Vec<&str> = files.iter().map(String::as_str).collect();
    let more = ["--share", "--generators", generators.to_str().expect("plain path")];
    let mut command = place.command(&[&["run"], &args[..], &more].concat());
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", place.path().display()));
    let token = std::fs::read_to_string(place.path().join("one/token")).expect("the token");
    command.env(TOKEN, token.trim());
    ran(&place.start(command).wait(RUN_DEADLINE));
    let totals = evidence(&place).totals;
    assert_eq!(totals.len(), 2);
    assert!(totals.iter().all(|totals| totals.counts.acknowledged == totals.counts.offered), "{totals:?}");
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
