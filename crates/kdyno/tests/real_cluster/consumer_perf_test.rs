//! `kdyno consumer-perf-test` compared with Kafka's own tool: the same flags on one cluster and topic, and lines of the
//! same shape.

use crate::common::turns::with_others;
use crate::common::{ProgramOutput, QUICKLY, RUN_DEADLINE, Running, TestFolder};
use crate::fixture::{bootstrap, ended, is_matrix, kafka_home, kafka_tool, some_of, stand, take_down};
use kdyno_kafka::admin::Admin;
use kdyno_store::RunFile;
use rustix::process::Signal;
use std::collections::BTreeMap;

const TOOL: &str = "org.apache.kafka.tools.ConsumerPerformance";
/// Records of the topic, each a hundred bytes.
const RECORDS: u32 = 20_000;
const TOPIC: &str = "orders.1";

/// A cluster with a topic of one partition that holds records.
struct Standing {
    place: TestFolder,
    address: String,
}

impl Standing {
    /// Its groups wait so long for more members, ms.
    fn new(delay_ms: u32) -> Self {
        let place = TestFolder::new();
        stand(
            &place,
            "perf",
            &format!(
                "kafka: newest, metrics: none, config: {{group.initial.rebalance.delay.ms: {delay_ms}}}"
            ),
        );
        let address = bootstrap(&place);
        let mut admin = Admin::connect(std::slice::from_ref(&address), "test", QUICKLY).expect("a broker");
        admin.create_topic(TOPIC, 1, 1, &BTreeMap::new()).expect("a topic");
        let standing = Self { place, address };
        let records = RECORDS.to_string();
        let produce =
            ["--topic", TOPIC, "--num-records", &records, "--record-size", "100", "--throughput", "-1"];
        standing.java("org.apache.kafka.tools.ProducerPerformance", &produce);
        standing
    }

    fn java(&self, class: &str, args: &[&str]) -> ProgramOutput {
        let said = self.any_java(class, &[&["--bootstrap-server", &self.address], args].concat());
        ended(&said, 0);
        said
    }

    fn any_java(&self, class: &str, args: &[&str]) -> ProgramOutput {
        kafka_tool(&self.place, class, args)
    }

    fn kdyno(&self, args: &[&str]) -> ProgramOutput {
        self.start_kdyno(args).wait(RUN_DEADLINE)
    }

    fn start_kdyno(&self, args: &[&str]) -> Running<'_> {
        let command = [&["consumer-perf-test", "--bootstrap-server", &self.address], args].concat();
        self.place.start(self.place.command(&command))
    }

    /// What both print for the same flags, each in a group of its own; that of kdyno first. Both are started before either is
    /// waited for: no rate of theirs is compared.
    fn both(&self, flags: &[&str]) -> [ProgramOutput; 2] {
        self.both_with(flags, &[])
    }

    /// Runs both where kdyno's has flags of its own.
    fn both_with(&self, flags: &[&str], own: &[&str]) -> [ProgramOutput; 2] {
        let args = [&["--topic", TOPIC], flags].concat();
        let ours = self.start_kdyno(&[&args[..], own].concat());
        let theirs = self.java(TOOL, &args);
        let said = [ours.wait(RUN_DEADLINE), theirs];
        ended(&said[0], 0);
        said
    }
}

/// A line with its numbers masked, but for how many decimals they have; times are made of digits too.
fn masked(line: &str) -> String {
    let of_field = |field: &str| match field.split_once('.') {
        Some((whole, decimals)) if field.parse::<f64>().is_ok() => {
            format!("{}.{}", if whole.is_empty() { "" } else { "#" }, decimals.len())
        }
        _ if field.parse::<f64>().is_ok() => "#".to_owned(),
        _ => field.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect(),
    };
    line.split(", ").map(of_field).collect::<Vec<_>>().join(", ")
}

fn shape(said: &ProgramOutput) -> Vec<String> {
    said.stdout.lines().map(masked).collect()
}

/// Fields of the last line.
fn fields(said: &ProgramOutput) -> Vec<String> {
    said.stdout.lines().last().expect("a row").split(", ").map(str::to_owned).collect()
}

#[test]
fn the_same_flags_print_lines_of_the_same_shape() {
    let _turn = with_others();
    let standing = Standing::new(0);
    let both = standing.both(&["--num-records", "5000"]);
    assert_eq!(shape(&both[0]), shape(&both[1]));
    let [ours, theirs] = both.each_ref().map(fields);
    // Bytes of keys and values, and records: whole polls of 500.
    assert_eq!((&ours[2], &ours[4]), (&theirs[2], &theirs[4]), "{ours:?} {theirs:?}");
    let number = |field: &str| field.parse::<f64>().expect("a number");
    assert!(number(&ours[6]) > 0.0, "joining the group takes time: {ours:?}");
    assert!(number(&ours[7]) >= 0.0 && number(&ours[8]) >= number(&ours[3]), "{ours:?}");
    let stderr = &both[0].stderr;
    assert!(stderr.contains("kdyno's own client") && stderr.contains("records in "), "{stderr}");
    let run = standing.place.run_file();
    assert!(stderr.contains(run.file_name().and_then(|name| name.to_str()).expect("a name")), "{stderr}");
    let sessions = RunFile::open(&run).expect("a run file").sessions().expect("sessions");
    let line = sessions[0].0.command_line.join(" ");
    assert!(line.contains("--bootstrap-server redacted") && !line.contains(&standing.address), "{line}");
    std::fs::remove_file(&run).expect("removed");

    let time = "--date-format=yyyy/MM/dd 'at' HH.mm";
    let both = standing.both(&["--messages", "2000", "--hide-header", time, "--fetch-size", "20000"]);
    assert_eq!(shape(&both[0]), shape(&both[1]), "and the line about what is deprecated");
    assert!(both[0].stdout.starts_with("Warning: --messages is deprecated."), "{:?}", both[0]);

    let too_many = (RECORDS + 1).to_string();
    let both = standing.both(&["--num-records", &too_many, "--timeout", "5000"]);
    assert_eq!(shape(&both[0]), shape(&both[1]));
    let [ours, theirs] = both.each_ref().map(fields);
    assert_eq!((&ours[2], &ours[4]), (&theirs[2], &theirs[4]), "all there were: {ours:?} {theirs:?}");
    assert!(both[0].stdout.contains("WARNING: Exiting before consuming the expected number of records"));
    assert!(both[0].stderr.contains("5000 ms without a record at the end"), "{}", both[0].stderr);

    // Nothing comes from the end on, and what a group has read it does not read again.
    let both = standing.both(&["--num-records", "1", "--from-latest", "--timeout", "2000"]);
    assert_eq!(shape(&both[0]), shape(&both[1]));
    standing.kdyno(&["--topic", TOPIC, "--group", "mine", "--num-records", "7500"]);
    let theirs = standing
        .java(TOOL, &["--topic", TOPIC, "--group", "mine", "--num-records", "99999", "--timeout", "6000"]);
    assert_eq!(fields(&theirs)[4], (RECORDS - 7_500).to_string(), "Java's goes on where kdyno's stopped");
    let ours = standing.kdyno(&[
        "--include",
        "orders\\..",
        "--group",
        "mine",
        "--num-records",
        "1",
        "--timeout",
        "2000",
    ]);
    assert_eq!(fields(&ours)[4], "0", "and the other way round: {ours:?}");
    assert_java_carries(&standing);
    assert_errors_agree(&standing);
    assert_an_interruption_keeps_what_was_read(&standing);
    take_down(&standing.place, "perf");
}

/// Kafka's own client reads: the row is the tool's, metrics come behind it, and standard error names the client.
fn assert_java_carries(standing: &Standing) {
    let driver = format!("java:{}", kafka_home(&standing.place));
    let flags = ["--num-records", "5000", "--print-metrics"];
    let [ours, theirs] = standing.both_with(&flags, &["--driver", &driver]);
    let parts = |said: &ProgramOutput| {
        let (lines, metrics) = said.stdout.split_once("\n\n").expect("metrics");
        let row: Vec<String> = lines.lines().last().expect("a row").split(", ").map(str::to_owned).collect();
        let name = "consumer-fetch-manager-metrics:records-consumed-total:{client-id=";
        assert!(metrics.starts_with("Metric Name ") && metrics.contains(name), "{metrics}");
        (lines.lines().map(masked).collect::<Vec<_>>(), row)
    };
    let ((ours_shape, row), (theirs_shape, their_row)) = (parts(&ours), parts(&theirs));
    assert_eq!(ours_shape, theirs_shape);
    assert_eq!((&row[2], &row[4]), (&their_row[2], &their_row[4]), "{row:?} {their_row:?}");
    let ms = |field: &str| field.parse::<i64>().expect("a number");
    assert!(ms(&row[6]) > 0 && ms(&row[7]) >= 0, "joining the group takes time: {row:?}");
    for words in ["driver  java from ", "client  kafka-clients ", " on Java ", "records in "] {
        assert!(ours.stderr.contains(words), "{words}: {}", ours.stderr);
    }
    // It polls and commits no further than the tool would.
    let group = ["--topic", TOPIC, "--group", "of-java", "--num-records"];
    ended(&standing.kdyno(&[&group[..], &["7500", "--driver", &driver]].concat()), 0);
    let rest = standing.java(TOOL, &[&group[..], &["99999", "--timeout", "6000"]].concat());
    assert_eq!(fields(&rest)[4], (RECORDS - 7_500).to_string());
}

/// In the full table: rows of intervals are tested without a cluster too (`null_broker::consumer_perf_test`).
#[test]
fn interval_rows_have_the_usual_shape_and_can_replace_the_last() {
    if !is_matrix() {
        return;
    }
    let _turn = with_others();
    // Longer than an interval: each has a row, with the records that come after it.
    let standing = Standing::new(3_000);
    let both = standing.both(&["--num-records", "20000", "--show-detailed-stats"]);
    assert_eq!(shape(&both[0])[0], shape(&both[1])[0], "the names of the columns");
    let too_many = (RECORDS + 1).to_string();
    let flags = ["--num-records", &too_many, "--show-detailed-stats", "--reporting-interval", "1000"];
    let both = standing.both(&[&flags[..], &["--timeout", "8000"]].concat());
    let row = |said: &ProgramOutput| shape(said).into_iter().nth(1).expect("a row");
    assert_eq!(row(&both[0]), row(&both[1]), "{both:?}");
    assert!(row(&both[0]).contains(", #, #.4, "), "{both:?}");
    let last = |said: &ProgramOutput| shape(said).pop();
    assert_eq!(last(&both[0]), last(&both[1]), "the warning, and no row behind it");
    take_down(&standing.place, "perf");
}

/// What is wrong ends with the tool's words and its code.
fn assert_errors_agree(standing: &Standing) {
    let line = "--bootstrap-server 127.0.0.1:1 --topic t --num-records 1";
    for typed in some_of([
        "",
        "--help",
        "--bogus",
        "--top t",
        "--topic",
        "--topic t --num-records 1",
        "--bootstrap-server h:1 --num-records 1",
        "--bootstrap-server h:1 --topic t --include t --num-records 1",
        "--bootstrap-server h:1 --topic t",
        "--bootstrap-server h:1 --topic t --num-records 1 --messages 1",
        "--bootstrap-server 127.0.0.1:1 --topic t --num-records many",
        &format!("{line} --topic u"),
        &format!("{line} --consumer.config a --command-config b"),
        &format!("{line} --reporting-interval 0"),
        &format!("{line} --reporting-interval -5"),
        &format!("{line} --fetch-size x"),
        &format!("{line} --date-format nnn"),
    ]) {
        let args: Vec<&str> = typed.split_whitespace().collect();
        let command = [&["consumer-perf-test"], &args[..]].concat();
        let ours = standing.place.start(standing.place.command(&command));
        let theirs = standing.any_java(TOOL, &args);
        let ours = ours.wait(QUICKLY);
        assert_eq!((ours.code, &ours.stdout), (theirs.code, &theirs.stdout), "{typed}: {ours:?} {theirs:?}");
        if !matches!(typed, "" | "--help") {
            let first = |said: &ProgramOutput| said.stderr.lines().next().unwrap_or_default().to_owned();
            assert_eq!(first(&ours), first(&theirs), "{typed}");
        }
        let has_usage = |said: &ProgramOutput| said.stderr.lines().any(|line| line.starts_with("Option "));
        assert_eq!(has_usage(&ours), has_usage(&theirs), "{typed}: {}", theirs.stderr);
    }
    let version = standing.place.kdyno(&["consumer-perf-test", "--version"]);
    assert!(version.code == Some(0) && version.stdout.contains("kdyno"), "{version:?}");
    let missing = standing.kdyno(&["--topic", "none", "--num-records", "1"]);
    assert!(missing.code == Some(1) && missing.stderr.contains("no topic `none`"), "{missing:?}");
}

/// It is stopped as any other run: what there is is kept.
fn assert_an_interruption_keeps_what_was_read(standing: &Standing) {
    let mut running =
        standing.start_kdyno(&["--topic", TOPIC, "--num-records", "99999", "--timeout", "600000"]);
    running.wait_for_process(" worker");
    std::thread::sleep(std::time::Duration::from_secs(3));
    running.signal(Signal::INT);
    let said = running.wait(RUN_DEADLINE);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.stderr.contains("is kept in"), "{said:?}");
    assert!(said.stderr.contains(" of 99,999 records were read until it was interrupted"), "{said:?}");
}
