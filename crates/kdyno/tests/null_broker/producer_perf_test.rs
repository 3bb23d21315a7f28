//! `kdyno producer-perf-test` without a cluster: lines, exit codes, what is kept.

use crate::NullBroker;
use crate::common::{QUICKLY, RUN_DEADLINE, TestFolder, masked};
use kdyno_store::RunFile;
use rustix::process::Signal;

const PROGRESS: &str =
    "# records sent, #.1 records/sec (#.2 MB/sec), #.1 ms avg latency, #.1 ms max latency.";
const TOTAL: &str = "# records sent, #.6 records/sec (#.2 MB/sec), #.2 ms avg latency, #.2 ms max latency, # ms #th, # ms #th, \
                     # ms #th, # ms #.1th.";

#[test]
fn lines_and_evidence_are_kept_apart() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let props = format!("bootstrap.servers={}", broker.address);
    let args = [
        "producer-perf-test",
        "--producer-props",
        &props,
        "acks=1",
        "batch.size=16384",
        "linger.ms=0",
        "linger.mss=5",
        "--topic",
    ];
    let more = ["team-a.load", "--num-records", "6000", "--record-size", "1024", "--throughput", "2000"];
    let steady = ["--warmup-records", "2500", "--reporting-interval", "1000", "--print-metrics"];
    let said = place.start(place.command(&[&args[..], &more, &steady].concat())).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(0), "{said:?}");
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(lines[0].starts_with("Option --producer-props has been deprecated"), "{said:?}");
    assert!(lines[1].starts_with("Warmup first 2500 records."), "{said:?}");
    let [.., total, of_steady] = lines.as_slice() else { panic!("{said:?}") };
    assert_eq!(masked(total), TOTAL);
    assert!(total.starts_with("6000 records sent, "), "{total}");
    assert_eq!(masked(of_steady), TOTAL.replace("# records sent", "# steady state records sent"));
    assert!(of_steady.starts_with("3500 steady state records sent, "), "{of_steady}");
    let rate: f64 = total.split(' ').nth(3).expect("a rate").parse().expect("a number");
    assert!((1_000.0..2_010.0).contains(&rate), "{total}");
    let between = &lines[2..lines.len() - 2];
    assert!(between.iter().all(|line| masked(line) == PROGRESS || *line == "In steady state."), "{said:?}");
    assert!(between.iter().any(|line| masked(line) == PROGRESS), "{said:?}");
    for words in [
        "driver  native",
        "warning: `linger.mss` is no setting of Kafka's clients",
        "response from the scheduled send time, all records: p50 ",
        "0 records failed, 0 unresolved",
        "no metrics",
        "run     ",
    ] {
        assert!(said.stderr.contains(words), "{words}: {said:?}");
    }
    for words in ["existing topic", "making topics"] {
        assert!(!said.stderr.contains(words), "{words}: {said:?}");
    }
    let file = RunFile::open(&place.run_file()).expect("a run file");
    let sessions = file.sessions().expect("a session");
    let line = sessions[0].0.command_line.join(" ");
    assert!(line.contains("producer-perf-test") && line.contains("bootstrap.servers=redacted"), "{line}");
    assert!(!line.contains("team-a.load"), "{line}");
    let (bytes, address) =
        (std::fs::read(place.run_file()).expect("the run file"), broker.address.as_bytes());
    assert!(!bytes.windows(address.len()).any(|window| window == address), "an address is kept");
    let document = place.show();
    assert_eq!(document["status"], "completed");
    broker.stop();
}

/// The topic is called as the broker's host, so that the client's own figures hold an address: it is on the terminal,
/// for it was typed there.
#[test]
fn what_kafkas_client_counted_is_kept_without_addresses() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let (host, _) = broker.address.rsplit_once(':').expect("a port");
    let load = ["--topic", host, "--num-records", "2000", "--record-size", "100", "--throughput", "-1"];
    let args = ["producer-perf-test", "--driver", "java:4.1.1", "--print-metrics", "--bootstrap-server"];
    let args = [&args[..], &[broker.address.as_str()], &load].concat();
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(0), "{said:?}");
    let (_, printed) = said.stdout.split_once("\n\n").expect("metrics");
    assert!(printed.contains(&format!(", topic={host}}}")), "{printed}");
    let logs = RunFile::open(&place.run_file()).expect("a run file").logs().expect("its logs");
    let kept = logs.iter().find(|(subject, _)| subject.starts_with("client-metrics ")).expect("metrics");
    assert!(kept.1.contains(", topic=HOST}") && kept.1.contains("record-send-total"), "{}", kept.1);
    assert!(logs.iter().all(|(_, text)| !text.contains(host)), "{logs:?}");
    let shown = place.kdyno(&["show", "latest", "--logs"]);
    assert!(shown.stdout.contains("==> client-metrics trial 1 "), "{shown:?}");
    broker.stop();
}

#[test]
fn as_fast_as_it_goes_with_payloads_and_without_them() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let file = place.file("payloads.txt", "one|three|a longer payload than the others");
    let file = file.to_str().expect("plain path");
    let common =
        ["producer-perf-test", "--bootstrap-server", &broker.address, "--topic", "t", "--throughput", "-1"];
    let run = |more: &[&str]| {
        let said = place.start(place.command(&[&common[..], more].concat())).wait(RUN_DEADLINE);
        assert_eq!(said.code, Some(0), "{said:?}");
        said
    };
    let said =
        run(&["--num-records=20000", "--payload-file", file, "--payload-delimiter", "\\|", "--warmup=5000"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[0], format!("Reading payloads from: {file}"));
    assert_eq!(lines[1], "Number of records read: 3");
    assert!(lines[2].starts_with("Warmup first 5000 records."));
    assert!(
        lines[3].starts_with("20000 records sent, ")
            && lines[4].starts_with("15000 steady state records sent, "),
        "{said:?}"
    );
    assert!(said.stderr.contains("each record has a header"), "{said:?}");
    let said = run(&["--num-records", "500", "--payload-monotonic"]);
    assert!(said.stdout.starts_with("500 records sent, "), "{said:?}");
    let said = run(&["--num-records", "500", "--record-size", "100", "--transaction-duration-ms", "50"]);
    assert!(said.stdout.starts_with("500 records sent, "), "{said:?}");
    broker.stop();
}

#[test]
fn what_is_wrong_ends_as_with_kafkas_tool() {
    let place = TestFolder::new();
    let said = place.kdyno(&["producer-perf-test"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(said.stdout.starts_with("usage: kafka-producer-perf-test\n"), "{said:?}");
    let help = place.kdyno(&["producer-perf-test", "--help"]);
    assert_eq!((help.code, help.stdout), (Some(1), said.stdout));
    let common = ["producer-perf-test", "--num-records", "1", "--record-size", "1", "--throughput", "-1"];
    let delimiter = ["--topic", "t", "--bootstrap-server", "127.0.0.1:1", "--payload-delimiter", "a+"];
    let file = place.file("p.txt", "a");
    for (more, words) in [
        (
            &["--bootstrap-server", "127.0.0.1:1"][..],
            "kafka-producer-perf-test: error: argument --topic is required",
        ),
        (&["--topic", "t", "--topics"], "Did you mean:\n\t--topic"),
        (&["--topic", "t", "--command-property", "acks=1"], "no `bootstrap.servers` are given"),
        (&["--topic", "t", "--bootstrap-server", "here"], "is not HOST:PORT"),
        (&["--topic", "t", "--bootstrap-server", "127.0.0.1:1"], "refused the connection"),
        (&["--topic", "t", "--producer.config", "no.such"], "no.such"),
        // Settings are refused before anybody is asked.
        (
            &["--topic", "t", "--bootstrap-server", "127.0.0.1:1", "--command-property", "acks=5"],
            "--command-property: `acks`",
        ),
    ] {
        let said = place.kdyno(&[&common[..], more].concat());
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.stderr.contains(words), "{words}: {said:?}");
    }
    let payloads = ["producer-perf-test", "--num-records", "1", "--throughput", "-1", "--payload-file"];
    let said = place.kdyno(&[&payloads[..], &[file.to_str().expect("plain path")], &delimiter].concat());
    assert!(
        said.code == Some(1) && said.stderr.contains("--payload-delimiter: `+` has a meaning"),
        "{said:?}"
    );
    assert!(!place.path().join("kdyno-runs").exists(), "nothing was started");
}

#[test]
fn who_interrupts_it_has_the_evidence() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let args =
        ["producer-perf-test", "--bootstrap-server", &broker.address, "--topic", "t", "--record-size", "100"];
    let more = ["--num-records", "1000000", "--throughput", "1000", "--reporting-interval", "1000"];
    let mut running = place.start(place.command(&[&args[..], &more].concat()));
    running.wait_for_output("records sent");
    running.signal(Signal::INT);
    let said = running.wait(QUICKLY);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.stdout.lines().all(|line| masked(line) == PROGRESS), "{said:?}");
    for words in [
        "what was measured until then is kept in",
        " of 1,000,000 records were acknowledged until it was interrupted",
        "response from the scheduled send time: p50 ",
    ] {
        assert!(said.stderr.contains(words), "{words}: {said:?}");
    }
    assert!(!said.stderr.contains("2592000"), "nobody asked for thirty days: {said:?}");
    let evidence = RunFile::open(&place.run_file()).expect("a run file");
    assert_eq!(evidence.trials().expect("trials").len(), 1);
    broker.stop();
}
