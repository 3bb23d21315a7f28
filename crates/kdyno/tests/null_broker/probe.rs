//! `--probe`: a process of this host that is none of the run's own is read in addition to those that are.

use crate::SCENARIO;
use crate::common::{RUN_DEADLINE, TestFolder, ran};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A process of this test's own that is busy, or sleeps, under a name.
struct Stranger(Child);

impl Stranger {
    fn start(name: &str, script: &str) -> Self {
        let mut shell = Command::new("sh");
        // Its input stays open for as long as it is to live.
        shell.arg0(format!("/srv/{name}")).args(["-c", script]).stdin(Stdio::piped()).process_group(0);
        Self(shell.spawn().expect("a shell"))
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        // The group: what the shell has started ends with it.
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

fn named(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

#[test]
fn a_named_process_is_in_every_output() {
    let place = TestFolder::new();
    let (busy, idle) = (named("busy"), named("idle"));
    let _busy = Stranger::start(&busy, "while :; do :; done");
    let both = [
        // The shell itself waits: a `sleep` of its own would outlive it.
        Stranger::start(&idle, "read line"),
        Stranger::start(&idle, "read line"),
    ];
    let text = SCENARIO.replace("topics:", "system: {kafka: null-broker}\ntopics:");
    let scenario = place.file("alone.yaml", &text);
    let args = ["run", scenario.to_str().expect("plain path"), "--set", "dur=16s", "--share", "--json"];
    let probes = ["--probe", &busy, "--probe", &idle];
    let said = place.start(place.command(&[&args[..], &probes].concat())).wait(RUN_DEADLINE);
    ran(&said);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let findings = document["findings"].as_array().expect("findings");
    let figure = |subject: &str, metric: &str| {
        let is_it =
            |finding: &&serde_json::Value| finding["subject"] == subject && finding["metric"] == metric;
        findings.iter().find(is_it).and_then(|finding| finding["value"].as_f64())
    };
    let subject = format!("process-{busy}");
    let cpu = figure(&subject, "cpu_percent").expect("it was read");
    assert!(cpu > 10.0, "{cpu} % of a core");
    assert!(figure(&subject, "memory_growth").is_some() && figure(&subject, "cpu_us_per_record").is_none());
    for one in &both {
        let subject = format!("process-{idle}-{}", one.0.id());
        assert!(figure(&subject, "cpu_percent").is_some_and(|cpu| cpu < 10.0), "{subject}");
    }
    let conclusions = document["conclusions"].as_array().expect("conclusions");
    let processes = conclusions.iter().find(|one| one["kind"] == "processes").expect("the processes");
    let reported = processes["details"]["processes"].as_array().expect("a list");
    let of_it = reported.iter().find(|one| one["of"] == subject.as_str()).expect("it is one of them");
    assert!(of_it["memory_rss_bytes_max"].as_f64().is_some_and(|bytes| bytes > 0.0), "{of_it}");
    for subject in ["broker-0", "worker-0", "kdyno"] {
        assert!(reported.iter().any(|one| one["of"] == subject), "{subject}: {reported:?}");
    }
    let course = place.kdyno(&["export", "latest", "--format", "series-csv"]);
    assert!(course.stdout.contains(&format!(",{subject},cpu_percent_of_core,")), "{course:?}");
    parquet_has_the_rows_of(&course.stdout, &place);
    let figures = place.kdyno(&["export", "latest", "--format", "csv"]);
    assert!(figures.stdout.contains(&format!("{subject},cpu_percent,")), "{figures:?}");
    let details = place.details();
    assert!(details.contains("Processes on this host") && details.contains(&subject), "{details}");
    let page = std::fs::read_to_string(place.run_file().with_extension("html")).expect("a page");
    assert!(page.contains(&format!(">{subject}</th>")), "the page");
    place.expect_no_processes();
}

/// The rows with types. No cell of this run needs quotes in CSV.
fn parquet_has_the_rows_of(csv: &str, place: &TestFolder) {
    let out = place.file("series.parquet", "");
    let words =
        ["export", "latest", "--format", "series-parquet", "--out", out.to_str().expect("plain path")];
    assert_eq!(place.kdyno(&words).code, Some(0));
    let file = SerializedFileReader::new(std::fs::File::open(&out).expect("written")).expect("Parquet");
    let rows: Vec<Row> = file.get_row_iter(None).expect("rows").collect::<Result<_, _>>().expect("read");
    let mut lines = csv.split("\r\n").filter(|line| !line.is_empty());
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    for (row, line) in rows.iter().zip(lines.clone()) {
        let (names, cells): (Vec<&str>, Vec<String>) =
            row.get_column_iter().map(|(name, field)| (name.as_str(), as_in_csv(field))).unzip();
        assert_eq!((names, cells.join(",")), (head.clone(), line.to_owned()));
    }
    assert_eq!(rows.len(), lines.count());
    assert!(rows.len() > 100);
}

fn as_in_csv(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Int(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        Field::Bool(is_so) => is_so.to_string(),
        other => panic!("no column has {other:?}"),
    }
}

#[test]
fn a_process_that_ends_is_reported_and_the_run_goes_on() {
    let place = TestFolder::new();
    let gone = named("gone");
    // It is there when the run begins and ends in its measure phase.
    let _gone = Stranger::start(&gone, "sleep 7");
    let text = SCENARIO.replace("topics:", "system: {kafka: null-broker}\ntopics:");
    let scenario = place.file("alone.yaml", &text);
    let args = ["run", scenario.to_str().expect("plain path"), "--set", "dur=10s", "--share", "--json"];
    let said = place.start(place.command(&[&args[..], &["--probe", &gone]].concat())).wait(RUN_DEADLINE);
    ran(&said);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
    let events = document["events"].as_array().expect("events");
    let of_it: Vec<&serde_json::Value> = events.iter().filter(|one| one["kind"] == "named-process").collect();
    assert_eq!(of_it.len(), 1, "{events:?}");
    assert_eq!(of_it[0]["subject"], format!("process-{gone}"), "{of_it:?}");
    assert!(said.stderr.contains(&format!("warning: process-{gone} has ended")), "{said:?}");
    // The name is kept; that it is not there any more stops nothing.
    let dry = place.kdyno(&["rerun", "latest", "--probe", "no-such-process"]);
    assert_eq!(dry.code, Some(2), "what is typed has to be there: {dry:?}");
    let again = place.start(place.command(&["rerun", "latest", "--share"])).wait(RUN_DEADLINE);
    ran(&again);
    let reported = format!("warning: process-{gone} is not read: it is not there");
    assert_eq!(again.stderr.matches(&reported).count(), 1, "{again:?}");
    place.expect_no_processes();
}

#[test]
fn a_missing_process_is_reported_before_anything_starts() {
    let place = TestFolder::new();
    let scenario = place.file("alone.yaml", SCENARIO);
    let scenario = scenario.to_str().expect("plain path");
    for (dry_run, typed, reported) in [
        (false, "no-such-process", "no process on this host has the name `no-such-process`"),
        (true, "4194305", "no process on this host has the pid 4194305"),
        (false, "two words", "`two words` is no name of a process"),
    ] {
        let more = ["--dry-run"];
        let more = if dry_run { &more[..] } else { &[] };
        let said = place.kdyno(&[&["run", scenario, "--probe", typed], more].concat());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.stderr.contains(reported) && said.stderr.contains("hint:"), "{said:?}");
    }
}
