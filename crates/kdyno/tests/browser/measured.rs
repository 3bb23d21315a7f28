//! Pages of runs that were measured, on a null broker: the file of one, and what `kdyno serve` shows of them.

use crate::common::{RUN_DEADLINE, Running, TestFolder, ran};
use crate::node::{Page, file_url, look_at, passes};
use rustix::process::Signal;
use serde_json::json;
use std::path::PathBuf;

const QUESTION: &str = "What does <script>alert('linger')</script> cost?";

fn scenario(place: &TestFolder) -> String {
    let text = format!(
        "kdyno: 1\nid: linger\nquestion: \"{QUESTION}\"\nsystem: {{kafka: null-broker}}\n\
         params: {{linger: 0ms, dur: 2s}}\nvary: {{linger: [0ms, 5ms]}}\ntopics: {{perf: {{partitions: 2}}}}\n\
         load: {{writers: {{produce: perf, clients: 2, rate: 500/s, value: 100B, client: {{linger.ms: $linger}}}}}}\n\
         phases: {{warmup: 1s, measure: $dur, drain: 5s}}\n\
         show: {{columns: [writers.acked_per_s, writers.response.p99]}}\n"
    );
    place.file("linger.yaml", &text).to_str().expect("plain path").to_owned()
}

fn run<'a>(place: &'a TestFolder, more: &[&str]) -> Running<'a> {
    let scenario = scenario(place);
    place.start(place.command(&[&["run", scenario.as_str(), "--share"], more].concat()))
}

#[test]
fn measured_runs_pass_in_a_browser_as_files_and_served() {
    let place = TestFolder::new();
    ran(&run(&place, &["--set", "linger=0ms"]).wait(RUN_DEADLINE));
    let a = place.run_file();
    place.file("kdyno-runs/garbage.kdyno", "this is no run file");
    let mut served = place.start(place.command(&["serve", "--port", "0"]));
    let address = served.wait_for_line();
    let at = |path: &str| format!("{}{path}", address.trim().trim_end_matches('/'));

    let goes_on = run(&place, &[]);
    passes(&place, "live.mjs", &json!({"list": at("/")}));
    ran(&goes_on.wait(RUN_DEADLINE));
    let is_newer = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "html") && *path != a.with_extension("html")
    };
    let entries = std::fs::read_dir(place.path().join("kdyno-runs")).expect("runs");
    let page =
        entries.map(|entry| entry.expect("a file").path()).find(is_newer).expect("the page of the newer run");
    let [a, b] = [&a, &page.with_extension("kdyno")]
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned());

    let pages = [
        Page { pictures: false, ..Page::new("measured", file_url(&page), &[QUESTION, "Over time"]) },
        Page::new("list", at("/"), &["linger", "garbage.kdyno"]),
        Page::new("served-run", at(&format!("/run/{b}")), &[QUESTION, "all runs"]),
        Page { pictures: false, ..Page::new("chosen", at(&format!("/?a={a}")), &["Compare"]) },
        Page::new("two-runs", at(&format!("/compare?a={a}&b={b}")), &["(A) against", "no interval"]),
        Page::new("course", at("/course?scenario=linger&of=writers.acked_per_s"), &["in the order of time"]),
        Page {
            pictures: false,
            ..Page::new("no-figure", at("/course?scenario=linger&of=%3Cscript%3E"), &["<script>"])
        },
    ];
    look_at(&place, &pages);
    served.signal(Signal::INT);
    assert_eq!(served.wait(RUN_DEADLINE).code, Some(0));
    place.expect_no_processes();
}
