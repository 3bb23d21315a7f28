//! What is measured and kept, also of a run that was interrupted and goes on.

use crate::common::turns::with_others;
use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};
use crate::fixture::{ended, event_kinds, figure, ran, scenario, start_scenario};
use kdyno_lab::{RunOptions, RunProgress, RunRequest};
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::Scope;
use kdyno_model::sample::{Grain, Phase, series};
use kdyno_model::trial::TrialReason;
use kdyno_store::RunFile;
use kdyno_testbed::Environment;
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_run_measures_counts_and_keeps_everything() {
    let _turn = with_others();
    let place = TestFolder::new();
    // As clusters are by default, with the agent.
    let text = scenario(1, 4).replace("metrics: none, ", "");
    let said = start_scenario(&place, &text).wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stdout.contains("small"), "{}", said.stdout);
    let document = place.show();
    assert!((figure(&document, "writers.offered_per_s") - 500.0).abs() < 50.0);
    assert_eq!(figure(&document, "writers.failed"), 0.0);
    assert_eq!(figure(&document, "writers.unresolved"), 0.0);
    assert!(figure(&document, "brokers.cpu_us_per_record") > 0.0);
    assert!(figure(&document, "readers.fetched_per_s") > 0.0);
    unknown_setting(&said, &document);
    exports(&place, &document);
    let page = std::fs::read_to_string(place.run_file().with_extension("html")).expect("a report");
    assert!(page.contains("<svg") && page.contains("small"));
    place.expect_no_processes();
    let left: Vec<_> = std::fs::read_dir(place.path())
        .expect("the test's folder")
        .filter_map(|entry| entry.ok().and_then(|entry| entry.file_name().into_string().ok()))
        .filter(|name| name.starts_with("kdyno-") && name != "kdyno-runs")
        .collect();
    assert!(left.is_empty(), "the run's work folder is gone: {left:?}");
}

/// The misspelt setting is reported before the load, kept as an event, and doubted before the figures.
fn unknown_setting(said: &ProgramOutput, document: &Value) {
    let warning = "warning: the brokers know no setting `num.io.thread`;";
    let warned = said.stderr.find(warning).expect("a warning");
    assert!(warned < said.stderr.find("making topics").expect("the next step"), "{}", said.stderr);
    assert!(said.stderr.contains("`num.io.threads`"), "{}", said.stderr);
    assert!(event_kinds(document).contains(&"unknown-setting".to_owned()), "{}", document["events"]);
    let caveats = document["caveats"].as_array().expect("caveats");
    let caveat = caveats.iter().find(|caveat| caveat["kind"] == "unknown-setting").expect("a caveat");
    assert!(caveat["severity"] == "warning", "{caveat}");
    assert!(said.stdout.contains("the brokers do not know the setting num.io.thread"), "{}", said.stdout);
}

/// The stored run in every form.
fn exports(place: &TestFolder, document: &Value) {
    let runs = place.kdyno(&["runs"]);
    assert!(runs.stdout.contains("completed") && runs.stdout.contains("small"), "{runs:?}");
    for (format, word) in
        [("json", "\"findings\""), ("csv", "acked_per_s"), ("series-csv", "acked_per_s"), ("hlog", "#[")]
    {
        let said = place.kdyno(&["export", "latest", "--format", format]);
        ended(&said, 0);
        assert!(said.stdout.contains(word), "{format}: {}", said.stdout);
    }
    let details = place.details();
    for word in ["writers", "acked_per_s", "response.p99", "cpu_us_per"] {
        assert!(details.contains(word), "no {word}: {details}");
    }
    let table = place.kdyno(&["show", "latest"]);
    ended(&table, 0);
    // A row for the scenario's one case, or one for each of its figures.
    let of_rate = |line: &&str| line.starts_with("1 ") || line.starts_with("writers acknowledged ");
    let row = table.stdout.lines().find(of_rate);
    let cells = row.into_iter().flat_map(str::split_whitespace);
    let rate = cells.into_iter().find_map(|cell| cell.strip_suffix("/s")?.parse().ok());
    let found = figure(document, "writers.acked_per_s");
    assert!(rate.is_some_and(|rate: f64| (rate / found - 1.0).abs() < 0.01), "{found}: {}", table.stdout);
}

/// Two trials on one broker, after conditioning; the warm-up ends by evidence.
const BY_EVIDENCE: &str = "\
kdyno: 1
id: settled
question: Does it work?
repeat: 2
system: {kafka: 4.1.1, mode: kraft, brokers: 1, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM}
topics: {perf: {partitions: 2, replicas: 1}}
load: {writers: {produce: perf, clients: 1, rate: 500/s, value: 100B, client: {acks: all}}}
phases: {warmup: 2s..5s, condition: 1s..4s, measure: 2s, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

#[test]
fn all_evidence_is_kept_and_an_interrupted_run_resumes() {
    let _turn = with_others();
    let place = TestFolder::new();
    let scenario = place.file("settled.yaml", BY_EVIDENCE);
    let args = ["run", scenario.to_str().expect("plain path"), "--share", "--yes", "--seed", "1"];
    let mut running = place.start(place.command(&args));
    running.wait_for("trial 3 of 3");
    running.signal(Signal::INT);
    ended(&running.wait(RUN_DEADLINE), 130);
    place.expect_no_processes();
    let path = place.run_file();
    go_on(&place, &path);
    place.expect_no_processes();

    let file = RunFile::open(&path).expect("the run file");
    let trials = file.trials().expect("its trials");
    let listed = TrialReason::Listed { of: 2 };
    let ran: Vec<_> =
        trials.iter().map(|start| (start.trial.reason, start.trial.repeat, start.session)).collect();
    let conditioning = TrialReason::Conditioning;
    assert_eq!(ran, [(conditioning, 1, 1), (listed, 1, 1), (conditioning, 1, 2), (listed, 2, 2)]);
    assert!(trials.windows(2).all(|pair| pair[0].trial.id < pair[1].trial.id));
    let judgement = file.judgement().expect("findings");
    for start in &trials {
        let evidence = file.evidence(start.trial.id).expect("evidence");
        let is_judged =
            judgement.findings.iter().any(|finding| finding.scope == Scope::Trial(start.trial.id));
        assert_eq!(is_judged, !start.trial.is_conditioning());
        assert_phases_are_as_announced(&evidence);
        assert_log_holds_what_was_acknowledged(&evidence);
        let kinds: Vec<EventKind> = evidence.events.iter().map(|event| event.kind).collect();
        assert!(!kinds.contains(&EventKind::Unconditioned), "{kinds:?}");
        // Four seconds are too few to determine it.
        let is_cut_off = kinds.contains(&EventKind::WarmupNotSettled);
        assert!(is_cut_off || !start.trial.is_conditioning(), "{kinds:?}");
        let settings = start.settings.get(&Subject::Broker(0)).expect("the broker's settings");
        assert!(settings.contains_key("log.segment.bytes") && !settings.contains_key("node.id"));
    }
    let cluster = |at: usize| trials[at].cluster.get("cluster_id").expect("an id");
    assert_eq!(cluster(0), cluster(1), "what was conditioned is what was measured");
    assert_ne!(cluster(1), cluster(2), "another session has another cluster");
}

/// Goes on with an interrupted run.
fn go_on(place: &TestFolder, path: &Path) {
    let header = RunFile::open(path).expect("the run file").header().expect("its head");
    let request = RunRequest {
        plan: header.plan,
        scenario_text: header.scenario_text,
        scenario_path: header.scenario_path,
        command_line: Vec::new(),
        git_head: None,
        kdyno_version: "test".to_owned(),
        run_id: header.run_id,
    };
    let environment = Environment::from_lookup(&|name| std::env::var_os(name)).expect("a home");
    let mut steps = Vec::new();
    let options = RunOptions {
        named: Default::default(),
        run_file: path.to_owned(),
        resume: true,
        work_dir: place.path().join("kdyno-again"),
        self_exe: env!("CARGO_BIN_EXE_kdyno").into(),
        environment: Environment { state_dir: place.path().join("state"), ..environment },
        generators: &[],
        share: true,
        wait: Default::default(),
        stop: Arc::default(),
        variables: &|_| None,
        files: &|_| Err("is not read here".to_owned()),
        progress: &mut |progress| {
            if let RunProgress::Step(step) = progress {
                steps.push(step);
            }
        },
    };
    let outcome = kdyno_lab::run(&request, options).expect("the run file");
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert!(steps.iter().any(|step| step == "going on after 1 finished trials"), "{steps:?}");
}

/// Phases lie without a gap, the measure phase begins on a whole second within the bounds, and rows lie in theirs.
fn assert_phases_are_as_announced(evidence: &TrialEvidence) {
    const SECOND_NS: u64 = 1_000_000_000;
    let phases = &evidence.phases;
    let lengths = evidence.start.trial.effective.phases;
    let auto = lengths.warmup_auto.expect("a warm-up that ends by evidence");
    let names: Vec<Phase> = phases.iter().map(|span| span.phase).collect();
    assert_eq!(names, [Phase::Warmup, Phase::Measure, Phase::Drain]);
    assert!(phases.windows(2).all(|pair| pair[0].end_ns == pair[1].start_ns));
    let measure = evidence.span(Phase::Measure).expect("a measure phase");
    assert_eq!(measure.start_ns % SECOND_NS, 0);
    // A late announcement on a busy machine moves the latest start by a second or two.
    assert!((auto.least_ns..=lengths.warmup_ns + 5 * SECOND_NS).contains(&measure.start_ns), "{measure:?}");
    assert_eq!(measure.end_ns - measure.start_ns, lengths.measure_ns);
    let rows = evidence.samples.iter().filter(|row| row.grain == Grain::Second);
    for row in rows.filter(|row| row.counts.offered > 0) {
        let span = evidence.span(row.phase).expect("a phase of the trial");
        let at_ns = u64::from(row.t0_second) * SECOND_NS;
        assert!((span.start_ns..span.end_ns).contains(&at_ns), "{:?} in {span:?}", row.t0_second);
    }
}

/// The log grew by exactly what was acknowledged.
fn assert_log_holds_what_was_acknowledged(evidence: &TrialEvidence) {
    let readings: Vec<_> =
        evidence.probes.iter().filter(|reading| reading.series == series::LOG_RECORDS_TOTAL).collect();
    assert_eq!(readings.len(), 2, "{readings:?}");
    assert!(readings.iter().all(|reading| reading.subject == Subject::Topic("perf".to_owned())));
    let load_end_ns = evidence.span(Phase::Measure).expect("a measure phase").end_ns;
    assert!(readings[0].at_ns < 0 && readings[1].at_ns > load_end_ns.cast_signed());
    let acknowledged: u64 = evidence.totals.iter().map(|totals| totals.counts.acknowledged).sum();
    assert!(acknowledged > 0);
    assert_eq!(readings[1].value - readings[0].value, acknowledged as f64);
}
