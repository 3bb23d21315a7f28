//! A cluster, measured from a host on which nothing is installed: no Java, no tool on `PATH`, no home.

use crate::common::turns::with_others;
use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};
use crate::fixture::{ended, stand, take_down};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// Shown is the rate alone: a busy host may make latencies void, and the run would then end with 6.
const LOAD: &str = "\
kdyno: 1
id: small
question: Does it work?
topics: {perf: {partitions: 2, replicas: 1}}
load:
  writers: {produce: perf, clients: 1, rate: 200/s, value: 100B}
  readers: {consume: perf, clients: 1}
phases: {warmup: 1s, condition: none, measure: 3s, drain: 20s}
show: {columns: [writers.acked_per_s]}
";

/// A kdyno that finds nothing but its own folder.
struct Bare<'a> {
    place: &'a TestFolder,
    program: OsString,
    empty: PathBuf,
}

impl<'a> Bare<'a> {
    fn new(place: &'a TestFolder) -> Self {
        let empty = place.path().join("empty");
        std::fs::create_dir(&empty).expect("a folder");
        // That of an unpacked archive instead of the one that is tested.
        let program = std::env::var_os("KDYNO_RELEASED");
        Self { place, program: program.unwrap_or_else(|| env!("CARGO_BIN_EXE_kdyno").into()), empty }
    }

    /// Runs a command to its end.
    fn kdyno(&self, args: &[&str]) -> ProgramOutput {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.place.path()).env_clear();
        command.env("PATH", &self.empty).env("HOME", &self.empty).env("TMPDIR", self.place.path());
        self.place.start(command).wait(RUN_DEADLINE)
    }

    /// What it prints, having ended well.
    fn prints(&self, args: &[&str]) -> String {
        let said = self.kdyno(args);
        ended(&said, 0);
        said.stdout
    }
}

#[test]
fn a_cluster_is_measured_from_where_nothing_is_installed() {
    let turn = with_others();
    let place = TestFolder::new();
    stand(&place, "theirs", "kafka: 4.1.1, metrics: none");
    let _turn = turn.waits();
    let target = place.kdyno(&["cluster", "target", "theirs"]);
    ended(&target, 0);
    place.file("target.yaml", &target.stdout);
    place.file("small.yaml", LOAD);

    let bare = Bare::new(&place);
    let advice = bare.kdyno(&["doctor", "--target", "target.yaml", "--json"]);
    assert!(matches!(advice.code, Some(0 | 3)), "{advice:?}");
    assert!(advice.stdout.contains("\"broker 0\""), "its brokers are looked at too: {advice:?}");
    bare.prints(&["run", "small.yaml", "--target", "target.yaml", "--seed", "1"]);

    let document: Value =
        serde_json::from_str(&bare.prints(&["show", "latest", "--json"])).expect("a document");
    for (item, metric) in [("writers", "acked_per_s"), ("readers", "fetched_per_s")] {
        let rate = crate::fixture::figure(&document, &format!("{item}.{metric}"));
        assert!(rate > 100.0, "{item}.{metric} is {rate}");
    }
    assert!(bare.prints(&["show", "latest"]).contains("small"));
    assert!(bare.prints(&["export", "latest", "--format", "csv"]).contains("acked_per_s"));
    let page = bare.prints(&["report", "latest", "--out", "page.html"]);
    let page = std::fs::read_to_string(place.path().join(page.trim())).expect("a page");
    assert!(page.contains("<svg") && page.contains("small"));
    assert_eq!(std::fs::read_dir(&bare.empty).expect("the folder").count(), 0, "nothing is left at home");

    take_down(&place, "theirs");
}
