//! `kdyno producer-perf-test` compared with Kafka's own tool: the same flags on the same cluster give the same lines,
//! but for the numbers, and the same exit codes.

use crate::common::turns::with_others;
use crate::common::{ProgramOutput, QUICKLY, RUN_DEADLINE, TestFolder, masked};
use crate::fixture::{bootstrap, ended, kafka_tool, some_of, stand, take_down};
use kdyno_kafka::admin::Admin;
use kdyno_store::RunFile;
use std::collections::BTreeMap;

const TOOL: &str = "org.apache.kafka.tools.ProducerPerformance";

// Lines of three published reports, behind the name of the tool, as they are printed there. Huawei's is a template; Intel's is
// a picture, whose guide says in words what it holds.
const HUAWEI: &str = "--producer-props bootstrap.servers={Connection address} acks=1 batch.size={batch.size} linger.ms=0 \
                      --topic {Topic name} --num-records {num-records} --record-size 1024 --throughput 102400";
const IBM_PRODUCER: &str = "--topic perf-test --num-records 20000000 --record-size 128 --throughput -1 \
                            --producer.config /config/producer.properties";
const IBM_CONSUMER: &str = "--topic perf-test --messages 20000000 --group kafka-perf \
                            --consumer.config /config/consumer.properties --timeout 120000 --bootstrap-server ADDRESS:443";
const INTEL: &str = "--topic test-PR78-BR4-PA32-R3 --payload-file kafka-payload.txt --payload-delimiter \\| \
                     --num-records 15000000 --warmup-records 3000000 --throughput 50000 --print-metrics \
                     --bootstrap-server ADDRESS:9093 --command-property acks=all compression.type=zstd batch.size=114688 \
                     linger.ms=5";

/// Lines without their numbers; those that are alike then occur once.
fn shape(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(masked).collect();
    lines.dedup();
    lines
}

/// Without what breaks its lines.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect()
}

/// A cluster that makes topics by itself, as most do.
struct Both<'a> {
    place: &'a TestFolder,
    address: String,
}

impl<'a> Both<'a> {
    fn up(place: &'a TestFolder) -> Self {
        stand(place, "perf", "kafka: newest, metrics: none, config: {auto.create.topics.enable: true}");
        Self { place, address: bootstrap(place) }
    }

    /// What both say, Kafka's own first, each of a topic of its own. Both are started before either is waited for: no rate of
    /// theirs is compared.
    fn run(&self, name: &str, more: &[&str]) -> [ProgramOutput; 2] {
        self.run_with(name, more, &[])
    }

    /// The lines where kdyno's has flags of its own.
    fn run_with(&self, name: &str, more: &[&str], own: &[&str]) -> [ProgramOutput; 2] {
        let bootstrap = format!("bootstrap.servers={}", self.address);
        let topic = |whose: &str| format!("{name}-{whose}");
        let args = |topic: &str| -> Vec<String> {
            let common = ["--topic", topic, "--command-property", &bootstrap];
            common.iter().chain(more).map(|word| (*word).to_owned()).collect()
        };
        let [theirs, ours] = ["kafka", "kdyno"].map(|whose| args(&topic(whose)));
        let theirs: Vec<&str> = theirs.iter().map(String::as_str).collect();
        let mut all = vec!["producer-perf-test"];
        all.extend(ours.iter().map(String::as_str).chain(own.iter().copied()));
        let ours = self.place.start(self.place.command(&all));
        let theirs = kafka_tool(self.place, TOOL, &theirs);
        [theirs, ours.wait(RUN_DEADLINE)]
    }
}

/// Flags that the tool has from 4.4 on, and this command does not (docs/reference/drop-ins.md says so), as its usage has
/// them.
const OF_4_4: &str =
    "[--record-key-rangeKEY-RANGE][--key-distributionKEY-DISTRIBUTION][--random-seedRANDOM-SEED]";

/// What is wrong with a command line is reported in the tool's words, with its exit code.
fn assert_errors_agree(both: &Both<'_>) {
    let common = ["--num-records", "10", "--record-size", "5", "--throughput", "-1"];
    for (name, more) in some_of([
        ("no-size", &["--num-records", "10", "--throughput", "-1"][..]),
        ("unknown", &["--topics", "x"]),
        ("no-such", &["--compression-codec=x"]),
        ("two-sizes", &["--payload-monotonic"]),
        ("no-number", &["--num-records", "ten"]),
        ("too-large", &["--record-size", "3000000000"]),
        ("no-value", &["--reporting-interval"]),
        ("no-list", &["--producer-props"]),
        ("ambiguous", &["--payload", "x"]),
        ("positional", &["more", "words"]),
        ("none", &["--num-records", "0"]),
        ("all-warm", &["--warmup-records", "10"]),
        ("twice", &["--producer-props", "acks=1"]),
    ]) {
        let more = if name == "no-size" { more.to_vec() } else { [&common[..], more].concat() };
        let [theirs, ours] = both.run(name, &more);
        ended(&theirs, 1);
        ended(&ours, 1);
        assert_eq!(unbroken(&ours.stderr), unbroken(&theirs.stderr).replace(OF_4_4, ""), "{name}");
        assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), ("", ""), "{name}");
    }
}

/// They run as typed but for addresses, places of files, what the template leaves open, and numbers of records, a tenth or two
/// of a percent of theirs. IBM's files say how its cluster is reached: not this one.
fn assert_lines_of_reports_run(both: &Both<'_>) {
    let (place, address) = (both.place, both.address.as_str());
    let common = format!("bootstrap.servers={address}\n");
    place.file("producer.properties", &format!("{common}compression.type=none\nacks=all\n"));
    place.file("consumer.properties", &format!("{common}group.id=kafka-perf\n"));
    place.file("kafka-payload.txt", "one|three|a longer payload than the others");
    let run = |tool: &str, line: &str, changed: &[(&str, &str)]| {
        let typed = changed.iter().fold(line.to_owned(), |line, (theirs, ours)| {
            assert!(line.contains(theirs), "{theirs} is not in {line}");
            line.replace(theirs, ours)
        });
        let args: Vec<&str> = std::iter::once(tool).chain(typed.split_whitespace()).collect();
        let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
        ended(&said, 0);
        said
    };
    let open = [("{batch.size}", "16384"), ("{Topic name}", "topic-01"), ("{num-records}", "30000")];
    let huawei = [&[("{Connection address}", address)][..], &open].concat();
    let said = run("producer-perf-test", HUAWEI, &huawei);
    assert_sent(&said, &["30000 records sent, "]);
    let said = run("producer-perf-test", IBM_PRODUCER, &[("20000000", "40000"), ("/config/", "")]);
    assert_sent(&said, &["40000 records sent, "]);
    let ibm = [("20000000", "40000"), ("/config/", ""), ("ADDRESS:443", address)];
    let said = run("consumer-perf-test", IBM_CONSUMER, &ibm);
    assert!(said.stdout.starts_with("Warning: --messages is deprecated."), "{said:?}");
    let row = said.stdout.lines().last().unwrap_or_default();
    assert_eq!(row.split(", ").nth(4), Some("40000"), "{said:?}");
    let intel = [("15000000", "15000"), ("3000000", "3000"), ("ADDRESS:9093", address)];
    let said = run("producer-perf-test", INTEL, &intel);
    assert_sent(&said, &["15000 records sent, ", "12000 steady state records sent, "]);
    assert!(said.stdout.contains("Number of records read: 3\nWarmup first 3000 records."), "{said:?}");
}

/// The totals begin so, and no record was lost on the way.
fn assert_sent(said: &ProgramOutput, totals: &[&str]) {
    let last: Vec<&str> = said.stdout.lines().filter(|line| line.contains("99.9th")).collect();
    assert_eq!(last.len(), totals.len(), "{said:?}");
    assert!(last.iter().zip(totals).all(|(line, total)| line.starts_with(total)), "{said:?}");
    assert!(said.stderr.contains("0 records failed, 0 unresolved"), "{said:?}");
}

/// What the units of a total, of records of 100 B, and the order of its latencies must be, whichever tool printed it.
fn assert_totals_add_up(said: &ProgramOutput) {
    for line in said.stdout.lines().filter(|line| line.contains("99.9th")) {
        let before = |unit: &str| -> f64 {
            let text = line.split(unit).next().unwrap_or_default();
            text.rsplit([' ', '(']).next().and_then(|number| number.parse().ok()).expect(line)
        };
        let mib_per_s = before(" records/sec") * 100.0 / f64::from(1 << 20);
        assert!((before(" MB/sec") - mib_per_s).abs() <= 0.006, "{line}");
        let max = before(" ms max");
        let quantiles = [" ms 50th", " ms 95th", " ms 99th", " ms 99.9th"].map(before);
        assert!(quantiles.is_sorted() && quantiles[3] <= max + 1.0, "{line}");
        assert!(before(" ms avg") > 0.0 && before(" ms avg") <= max, "{line}");
    }
}

/// Kafka's own client carries the load: the lines are the tool's, metrics among them, and standard error names the client.
fn assert_java_carries(both: &Both<'_>, flags: &[&str]) {
    let flags = [flags, &["--print-metrics"]].concat();
    let [theirs, ours] = both.run_with("java", &flags, &["--driver", "java"]);
    ended(&theirs, 0);
    ended(&ours, 0);
    let parts = |said: &ProgramOutput| {
        let (lines, metrics) = said.stdout.split_once("\n\n").expect("metrics");
        (shape(lines), metrics.to_owned())
    };
    let ((lines, metrics), (expected, their_metrics)) = (parts(&ours), parts(&theirs));
    assert_eq!(lines, expected, "{}\n{}", ours.stdout, theirs.stdout);
    let is_count = |line: &str| {
        line.starts_with("producer-metrics:record-send-total:{client-id=") && line.ends_with(" : 12000.000")
    };
    for metrics in [&metrics, &their_metrics] {
        assert!(metrics.starts_with("Metric Name "), "{metrics}");
        assert!(metrics.lines().any(is_count), "{metrics}");
    }
    let path = ours.stderr.lines().find_map(|line| line.strip_prefix("run  ")).expect("the run file");
    let logs =
        RunFile::open(&both.place.path().join(path.trim())).and_then(|file| file.logs()).expect("its logs");
    let kept =
        logs.iter().find(|(subject, _)| subject.starts_with("client-metrics trial 1 ")).expect("metrics");
    assert!(kept.1.lines().any(is_count), "what was printed is kept: {kept:?}");
    assert_eq!(kept.1.lines().count(), metrics.trim_end().lines().count());
    for words in ["driver  java ", "(Kafka's own client)", "client  kafka-clients ", " on Java ", "run     "]
    {
        assert!(ours.stderr.contains(words), "{words}: {}", ours.stderr);
    }
}

/// Where all records fail, both tools end with 0 and say that none was sent; kdyno's says on standard error that they failed.
fn assert_failures_end_with_zero(both: &Both<'_>) {
    // No record is as small as its topic takes them.
    let small = BTreeMap::from([("max.message.bytes".to_owned(), "50".to_owned())]);
    let mut admin = Admin::connect(std::slice::from_ref(&both.address), "test", QUICKLY).expect("a broker");
    for topic in ["nowhere-kafka", "nowhere-kdyno"] {
        admin.create_topic(topic, 1, 1, &small).expect("a topic");
    }
    let total = |said: &ProgramOutput| said.stdout.lines().last().unwrap_or_default().to_owned();
    let load = ["--num-records", "50", "--record-size", "100", "--throughput", "-1"];
    for own in [&[][..], &["--driver", "java"]] {
        let [theirs, ours] = both.run_with("nowhere", &load, own);
        [&theirs, &ours].into_iter().for_each(|said| ended(said, 0));
        let nothing = "0 records sent, 0.000000 records/sec (0.00 MB/sec), NaN ms avg latency, 0.00 ms max latency, 0 ms 50th, ";
        assert!(total(&theirs).starts_with(nothing), "{theirs:?}");
        assert_eq!(ours.stdout, theirs.stdout, "{own:?} {ours:?}");
        assert!(ours.stderr.contains("50 records failed, 0 unresolved"), "{own:?} {ours:?}");
    }
}

/// Kafka's own client carries 1,000 records in transactions, and its lines are those of the tool.
fn assert_java_commits(both: &Both<'_>, args: &[&str]) {
    let [theirs, ours] = both.run_with("java-numbers", args, &["--driver", "java"]);
    [&theirs, &ours].into_iter().for_each(|said| ended(said, 0));
    assert_eq!(shape(&ours.stdout), shape(&theirs.stdout), "{}\n{}", ours.stdout, theirs.stdout);
    assert!(ours.stdout.starts_with("1000 records sent, "), "{ours:?}");
}

#[test]
fn the_lines_are_those_of_kafkas_own_tool() {
    let _turn = with_others();
    let place = TestFolder::new();
    let both = Both::up(&place);
    let payloads = place.file("payloads.txt", "one|three|a longer payload than the others|");
    let payloads = payloads.to_str().expect("plain path");
    let plain = ["--num-records", "5000", "--record-size", "100", "--throughput", "-1"];
    let paced = [
        "--num-records",
        "9000",
        "--record-size",
        "100",
        "--throughput",
        "2000",
        "--reporting-interval",
        "1000",
    ];
    let steady = ["--num-records", "12000", "--warmup-records", "3500"];
    let file = [
        "--num-records",
        "5000",
        "--payload-file",
        payloads,
        "--payload-delimiter",
        "\\|",
        "--throughput",
        "-1",
    ];
    let monotonic = [
        "--num-records",
        "1000",
        "--payload-monotonic",
        "--throughput",
        "-1",
        "--transaction-duration-ms",
        "20",
    ];
    for (name, more) in [
        ("plain", plain.to_vec()),
        ("paced", paced.to_vec()),
        ("steady", [&paced[..], &steady].concat()),
        ("file", file.to_vec()),
        ("numbers", monotonic.to_vec()),
    ] {
        let [theirs, ours] = both.run(name, &more);
        ended(&theirs, 0);
        ended(&ours, 0);
        assert_eq!(shape(&ours.stdout), shape(&theirs.stdout), "{name}\n{}\n{}", ours.stdout, theirs.stdout);
        let sent = |said: &ProgramOutput| -> Vec<String> {
            let totals = said.stdout.lines().filter(|line| line.contains("99.9th"));
            totals.map(|line| line.split(" records sent").next().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(sent(&ours), sent(&theirs), "{name}");
        if more.contains(&"--record-size") {
            [&theirs, &ours].into_iter().for_each(assert_totals_add_up);
        }
    }
    assert_java_carries(&both, &[&paced[..], &steady].concat());
    assert_java_commits(&both, &monotonic);
    assert_failures_end_with_zero(&both);
    assert_errors_agree(&both);
    assert_lines_of_reports_run(&both);
    let theirs = kafka_tool(&place, TOOL, &[]);
    let ours = place.kdyno(&["producer-perf-test"]);
    assert_eq!((theirs.code, ours.code), (Some(0), Some(0)));
    let usage = |said: &ProgramOutput| unbroken(said.stdout.split("\n\n").next().unwrap_or_default());
    assert_eq!(usage(&ours), usage(&theirs).replace(OF_4_4, ""));
    take_down(&place, "perf");
}
