//! Stacks of brokers and of a Java client, sampled in the measured window of each trial; and a profiler that cannot be had.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{caveats, ended, event_kinds, figure, ran, start_scenario};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialStacks;
use kdyno_model::stacks::FlameKind;
use kdyno_model::trial::TrialId;
use kdyno_store::RunFile;
use serde_json::Value;
use std::path::Path;

const SCENARIO: &str = "\
kdyno: 1
id: sampled
question: Where does the time go?
repeat: 2
system: {kafka: 4.1.1, mode: kraft, brokers: 2, limits: {heap: 256MiB}, metrics: none}
topics: {perf: {partitions: 4, replicas: 2}}
load:
  writers: {produce: perf, rate: max, fill: in-flight, value: 1KiB}
  javas: {produce: perf, rate: 500/s, value: 100B, client: {driver: java}}
phases: {warmup: 2s, condition: none, measure: 5s, drain: 10s}
show: {columns: [writers.acked_per_s, brokers.cpu_us_per_record]}
";

/// A scenario without samples: any two trials will do.
const ALLOCATING: &str = "\
kdyno: 1
id: sampled
question: Where does the time go?
repeat: 2
system: {kafka: 4.1.1, limits: {heap: 256MiB}, metrics: none, jvm: QUICK_JVM}
topics: {perf: {partitions: 1}}
load: {writers: {produce: perf, rate: 100/s, value: 100B}}
phases: {warmup: 0s, condition: none, measure: 2s, drain: 5s}
show: {columns: [writers.acked_per_s]}
";

fn starts_with(of: &TrialStacks, frame: &str) -> bool {
    of.stacks.iter().any(|(mut frames, _)| frames.next() == Some(frame))
}

fn has_frame(of: &TrialStacks, part: &str) -> bool {
    of.stacks.iter().any(|(mut frames, _)| frames.any(|frame| frame.contains(part)))
}

#[test]
fn each_broker_and_java_client_has_a_graph_in_each_trial() {
    let _turn = with_others();
    let place = TestFolder::new();
    let said = start_scenario(&place, &format!("{SCENARIO}flame: cpu\n")).wait(RUN_DEADLINE);
    ran(&said);
    let file = RunFile::open(&place.run_file()).expect("the run file");
    let sampled = file.sampled().expect("what was sampled");
    let expected = [Subject::Broker(0), Subject::Broker(1), Subject::Jvm(0, 0)];
    let mut texts = Vec::new();
    for trial in [TrialId(1), TrialId(2)] {
        let subjects: Vec<&Subject> =
            sampled.iter().filter(|(id, ..)| *id == trial).map(|(_, subject, _)| subject).collect();
        assert_eq!(subjects.len(), expected.len(), "{subjects:?}");
        for subject in subjects {
            let of = file.stacks(trial, subject).expect("readable").expect("stored");
            assert_eq!(of.kind, FlameKind::Cpu);
            // Five seconds in samples of 5 ms: of a process that used a core, a thousand.
            assert!((10..20_000).contains(&of.stacks.total()), "{trial} {subject}: {}", of.stacks.total());
            match subject {
                Subject::Broker(_) => {
                    assert!(starts_with(&of, "[data-plane-kafka-request-handler-*]"), "{trial} {subject}");
                    assert!(has_frame(&of, "kafka/server/KafkaApis.handle"), "{trial} {subject}");
                }
                _ => assert!(has_frame(&of, "kdyno/driver/"), "{trial} {subject}"),
            }
            texts.push(of.stacks.text());
        }
    }
    let different: std::collections::BTreeSet<&String> = texts.iter().collect();
    assert_eq!(different.len(), 6, "no two have the same samples");
    let document = place.show();
    assert!(caveats(&document, "warning").contains(&"stacks-sampled"), "{document}");
    for subject in ["broker-0", "broker-1", "brokers", "jvm-0-0"] {
        let share = figure(&document, &format!("{subject}.sampled_cpu_share"));
        // Each thread loses up to a sample's worth at the end, which is much for a client that has little to do.
        assert!((0.3..1.3).contains(&share), "{subject}: {share} of its CPU time");
    }
    assert_eq!(event_kinds(&document).iter().filter(|kind| *kind == "stacks-sampled").count(), 2);
    let start = &file.trials().expect("trials")[0];
    let line = &start.command_lines[&Subject::Broker(0)];
    assert!(line.contains(&"-XX:+PreserveFramePointer".to_owned()), "{line:?}");
    drop(file);
    is_shown(&place, &document);
    place.expect_no_processes();
}

/// The page has graphs, and exports have what was stored.
fn is_shown(place: &TestFolder, document: &Value) {
    let page = std::fs::read_to_string(place.run_file().with_extension("html")).expect("the page");
    assert_eq!(page.matches("<svg class=\"flame\"").count(), 6, "{document}");
    assert!(!page.replace(kdyno_report::html::SCRIPT, "").contains("<script"));
    let export = |args: &[&str]| {
        let run = place.run_file();
        let run = run.to_str().expect("plain path");
        place.kdyno(&[&["export", run, "--format"], args].concat())
    };
    let collapsed = export(&["collapsed", "--trial", "2", "--of", "broker-1"]);
    ended(&collapsed, 0);
    assert!(collapsed.stdout.starts_with('[') && collapsed.stdout.contains(";kafka/"), "{collapsed:?}");
    let svg = export(&["flame", "--trial", "2", "--against", "1"]);
    ended(&svg, 0);
    assert!(svg.stdout.contains("brokers, trial 2 (B) against trial 1 (A)"), "{svg:?}");
    assert_eq!(svg.stdout.matches("% of the CPU time used").count(), 2, "of each side");
    let unknown = export(&["flame", "--of", "broker-7"]);
    ended(&unknown, 2);
    assert!(unknown.stderr.contains("sampled: broker-0, broker-1, jvm-0-0"), "{unknown:?}");
    ended(&export(&["flame", "--trial", "9"]), 2);
    ended(&export(&["jfr"]), 2);
}

#[test]
fn a_run_goes_on_without_its_profiler_and_says_so_once() {
    let _turn = with_others();
    let place = TestFolder::new();
    // Kafka from the user's cache, but neither async-profiler nor a Maven that could fetch it.
    let home =
        std::env::var("XDG_CACHE_HOME").or_else(|_| std::env::var("HOME").map(|home| home + "/.cache"));
    let kafka = Path::new(&home.expect("a home")).join("kdyno/kafka");
    if !kafka.join("4.1.1").is_dir() {
        let once = ALLOCATING.replace("repeat: 2", "repeat: 1").replace("id: sampled", "id: fetched");
        ran(&start_scenario(&place, &once).wait(RUN_DEADLINE));
    }
    let cache = place.path().join("cache/kdyno");
    std::fs::create_dir_all(&cache).expect("a folder");
    std::os::unix::fs::symlink(&kafka, cache.join("kafka")).expect("a link");
    let path = place.file("alloc.yaml", ALLOCATING);
    let path = path.to_str().expect("plain path");
    let mut command =
        place.command(&["run", path, "--flame", "alloc", "--share", "--yes", "--out", "without"]);
    command.env("XDG_CACHE_HOME", place.path().join("cache")).env("PATH", "/nowhere");
    let said = place.start(command).wait(RUN_DEADLINE);
    ran(&said);
    assert_eq!(
        said.stderr.matches("no stacks are sampled: no Maven found on PATH").count(),
        1,
        "{}",
        said.stderr
    );
    let shown = place.kdyno(&["show", "latest", "--dir", "without", "--details"]);
    assert_eq!(shown.stdout.matches("no stacks were sampled").count(), 1, "{}", shown.stdout);
    place.expect_no_processes();
}
