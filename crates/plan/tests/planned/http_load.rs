//! Load items over HTTP, from a scenario's text to the plan.

use crate::common::as_written;
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::plan::{Plan, Strategy};
use kdyno_plan::check_stored;

fn planned(load: &str, more: &str) -> Result<Plan, String> {
    planned_until("1m", load, more)
}

fn planned_until(measure: &str, load: &str, more: &str) -> Result<Plan, String> {
    let text = format!(
        "kdyno: 1\nid: others\nquestion: What does it take?\nparams: {{n: 3, port: 80}}\nsystem: {{kafka: 4.1.1}}\n\
         topics: {{t: {{partitions: 3}}}}\nload:\n{load}\nphases: {{measure: {measure}}}\n{more}"
    );
    as_written(&text)
}

const STEPS: &str = "{name: find, get: '/users/{{user}}', keep: {id: /id}}, {name: pay, post: /pay, json: '{\"id\": \"{{id}}\"}'}";

fn users(more: &str, steps: &str) -> String {
    format!("  u: {{users: $n, chain: turn-of-u, address: 'http://127.0.0.1:$port', steps: [{steps}]{more}}}")
}

#[test]
fn users_have_steps_and_each_has_its_figures() {
    let load = users(", think: 1s..3s, rate: 5/s, ramp: 2s, warmup: 3s", STEPS);
    let plan = planned(&load, "expect: [{claim: x, that: turn-of-u.response.p95 <= 1s}]\n").expect("a plan");
    let command = &plan.cases[0].commands["u"];
    let Some(HttpLoad::Users(users)) = &command.http else { panic!("users: {command:?}") };
    assert_eq!((users.users, users.per_s, users.think_ns), (3, Some(5.0), (1_000_000_000, 3_000_000_000)));
    assert_eq!(users.target.address, "http://127.0.0.1:80");
    assert_eq!(command.line(), "3 users: find, pay at http://127.0.0.1:80");
    let parse = command.parse.as_ref().expect("it is read");
    assert_eq!(parse.labels.keys().collect::<Vec<_>>(), ["find", "pay", "turn-of-u"]);
    assert_eq!(parse.apart.as_deref(), Some("turn-of-u"));
    let columns: Vec<String> = plan.show.columns.iter().map(ToString::to_string).collect();
    assert!(columns.contains(&"turn-of-u.response.p95".to_owned()), "{columns:?}");
    assert!(!columns.iter().any(|column| column == "u.duration"), "they have none: {columns:?}");
    assert!(check_stored(&plan).is_err(), "a run file from anybody sends nothing");
}

/// They stay until the load ends: of the duration that commands are judged by, no pair would have had a ratio.
#[test]
fn users_are_judged_by_their_turns() {
    let sides = "compare: {A: {params: {port: 80}}, B: {params: {port: 81}}}\n";
    let plan = planned(&users("", STEPS), sides).expect("a plan");
    let Strategy::Compare(comparison) = &plan.strategy else { panic!("it compares") };
    let judged: Vec<String> = comparison.judge.iter().map(|judge| judge.of.to_string()).collect();
    assert_eq!(judged, ["turn-of-u.response.p95"]);
}

#[test]
fn a_job_is_started_and_asked_for() {
    let load = "  j: {job: {post: /i, keep: {id: /id}}, poll: {get: '/i/{{id}}'}, done: {/s: DONE}, address: 'http://h', every: 1s}";
    let plan = planned(load, "expect: [{claim: x, that: j.duration <= 1m}]\n").expect("a plan");
    let Some(HttpLoad::Job(job)) = &plan.cases[0].commands["j"].http else { panic!("a job") };
    assert_eq!(
        (job.start.name.as_str(), job.poll.name.as_str(), job.every_ns),
        ("j-start", "j-poll", 1_000_000_000)
    );
}

#[test]
fn impossible_users_are_refused_in_place() {
    let job = |rest: &str| format!("  j: {{job: {{post: /i}}, address: 'http://h', {rest}}}");
    let done = "done: {/s: D}";
    for (load, words) in [
        (users("", ""), "`steps` is empty"),
        (users("", "{get: /a}"), "a step of users has no `name`"),
        (users("", "{name: a}"), "one of `get`, `post`, `put`, `patch` and `delete`"),
        (users("", "{name: a, get: /a, post: /a}"), "one of `get`, `post`"),
        (users("", "{name: a, post: /a, json: x, file: y}"), "both say what is sent"),
        (users("", "{name: a, get: 'a'}"), "neither a path nor an address"),
        (users("", "{name: a, get: '/{{id}}'}"), "there is no value `id` here"),
        (users("", "{name: a, get: '/{{id'}"), "not closed"),
        (users("", "{name: a, get: /a, keep: {id: id}}"), "`id` is no JSON pointer"),
        (users("", "{name: a, get: /a, status: 99}"), "`status`"),
        (users("", "{name: u, get: /a}"), "`u` is already the name"),
        (users("", "{name: a, get: /a}, {name: a, get: /b}"), "`a` is already the name"),
        (users(", rate: 0/s", STEPS), "`rate`: `0/s` is outside"),
        (users(", rate: 0.00001/s", STEPS), "is outside 0.0001/s to 100000/s"),
        (users(", ramp: 2m", STEPS), "`ramp`: within 2 min not all users come before the measure phase ends"),
        (users(", think: 3s..1s", STEPS), "no room between its bounds"),
        (users(", think: 1s..x", STEPS), "write `LEAST..MOST`"),
        (
            users(", warmup: 1m", STEPS),
            "`warmup`: 1 min leaves nothing of the measure phase, which lasts 1 min",
        ),
        (users(", at: 30s, warmup: 30s", STEPS), "leaves nothing of the measure phase"),
        (users(", headers: {x-token: 'a {{id}}'}", STEPS), "headers are of every request"),
        (users("", "{name: a, get: /a, status: 302}"), "redirects are followed, so no answer has 302"),
        (
            format!("{}\n  c: {{command: [x], after: u}}", users("", STEPS)),
            "`after`: `u` are users, and users stay",
        ),
        (users(", until: 5s", STEPS), "users stay until the measure phase ends"),
        (users(", produce: t", STEPS), "one role, not both"),
        (users("", STEPS).replace("http:", "ftp:"), "is no address of HTTP"),
        (users("", STEPS).replace("$n", "0"), "`users`"),
        (job(&format!("poll: {{get: /i}}, {}", done.replace("/s", "s"))), "no JSON pointer"),
        (job("poll: {get: /i}, done: {}"), "`done` is empty"),
        (job(done), "lacks `poll`"),
        (job(&format!("poll: {{get: '/{{{{id}}}}'}}, {done}")), "there is no value `id` here"),
    ] {
        let error = planned(&load, "").expect_err(words);
        assert!(error.starts_with("s.yaml:") && error.contains(words), "{words}: {error}");
    }
    assert!(
        planned(&users(", data: rows.csv", "{name: a, get: '/{{any}}'}"), "").is_ok(),
        "a column may be meant"
    );
}

/// The measure phase would last its longest, without a reason given.
#[test]
fn users_end_no_measure_phase() {
    let error = planned_until("{until: u, within: 1m}", &users("", STEPS), "").expect_err("they stay");
    assert!(error.contains("`until`: `u` are users, and users stay until the measure phase ends"), "{error}");
}
