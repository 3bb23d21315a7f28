//! Load items that are commands, from a scenario's text to the plan.

use crate::common::as_written;
use kdyno_model::plan::{CommandBegins, OutputFormat, Plan, Strategy};
use kdyno_plan::{check_commands_in_pods, check_stored};

fn planned(load: &str, phases: &str, more: &str) -> Result<Plan, String> {
    let text = format!(
        "kdyno: 1\nid: others\nquestion: What does it take?\nparams: {{n: 3}}\nsystem: {{kafka: 4.1.1}}\n\
         topics: {{t: {{partitions: 3}}}}\nload:\n{load}\nphases: {{{phases}}}\n{more}"
    );
    as_written(&text)
}

#[test]
fn a_list_is_executed_as_given_and_a_text_by_a_shell() {
    let load = "  one: {command: [./import, '$n k', 'a b']}\n  two: {command: './import $n > $$OUT', after: one, timeout: 2m}";
    let plan = planned(load, "warmup: auto, measure: 1m", "").expect("a plan");
    let case = &plan.cases[0];
    assert_eq!(case.commands["one"].run, ["./import", "3 k", "a b"]);
    assert_eq!(case.commands["two"].run, ["sh", "-c", "./import 3 > $OUT"]);
    assert_eq!(case.commands["one"].begins, CommandBegins::At(0));
    assert_eq!(case.commands["two"].begins, CommandBegins::After("one".to_owned()));
    assert_eq!(case.commands["two"].timeout_ns, 120_000_000_000);
    assert!(case.load.is_empty() && case.workers.is_empty(), "no client, so no worker");
    assert_eq!(plan.conditioning, None, "there is nothing to condition with");
    assert_eq!((case.phases.warmup_ns, case.phases.warmup_auto), (0, None), "nor to warm up");
    let columns: Vec<String> = plan.show.columns.iter().map(ToString::to_string).collect();
    assert_eq!(columns, ["one.duration", "two.duration"]);
}

#[test]
fn a_command_may_run_in_pods_of_its_own_image() {
    let load = "  c: {command: [./perf, $n], pods: {image: 'r/kafka:4', count: 6, cpu: 0.5, memory: 2GiB}}";
    let plan = planned(load, "measure: 1m", "").expect("a plan");
    let command = &plan.cases[0].commands["c"];
    let pods = command.pods.as_ref().expect("pods");
    assert_eq!((pods.image.as_str(), pods.count), ("r/kafka:4", 6));
    assert_eq!((pods.cpu_milli, pods.memory_bytes), (Some(500), Some(2 << 30)));
    assert_eq!(command.origin(), "it is run by each of 6 pods with the image r/kafka:4");
    let like = planned("  c: {command: [x], pods: {image: k, count: 1}}", "measure: 1m", "").expect("a plan");
    let pods = like.cases[0].commands["c"].pods.as_ref().expect("pods");
    assert_eq!((pods.cpu_milli, pods.memory_bytes), (None, None), "those of the generators");
}

#[test]
fn commands_in_pods_need_a_place_and_print_their_results() {
    let pods = "pods: {image: k, count: 1}";
    let load = format!("  c: {{command: [x], parse: csv, results: r.csv, {pods}}}");
    let wrong = planned(&load, "measure: 1m", "").expect_err("a file of a pod");
    assert!(wrong.contains("`results`: a file in a pod is not read"), "{wrong}");
    let load = "  c: {command: [x], pods: {image: k, count: 101}}";
    let wrong = planned(load, "measure: 1m", "").expect_err("too many");
    assert!(wrong.contains("`count`"), "{wrong}");
    let plan = planned(&format!("  c: {{command: [x], {pods}}}"), "measure: 1m", "").expect("a plan");
    let why = |has_pods| check_commands_in_pods(&plan, has_pods).expect_err("no place").to_string();
    assert!(
        why(false).contains("load item `c` runs in pods, and no generators with `kubernetes`"),
        "{}",
        why(false)
    );
    assert!(why(true).contains("cannot reach brokers that listen on this host's loopback"), "{}", why(true));
}

#[test]
fn a_command_next_to_a_load_changes_nothing_of_it() {
    let load = "  w: {produce: t, rate: 10/s, value: 10B}\n  c: {command: [x], at: 5s, parse: csv, results: r.csv, columns: {elapsed: ms}}";
    let plan = planned(load, "warmup: auto, measure: {until: c, within: 1m}", "").expect("a plan");
    let case = &plan.cases[0];
    assert_eq!((case.load.len(), case.workers.len()), (1, 1));
    assert!(plan.conditioning.is_some() && case.phases.warmup_auto.is_some());
    assert_eq!(case.measure_ends_with(), Some("c"));
    let parse = case.commands["c"].parse.as_ref().expect("it is parsed");
    assert_eq!((parse.format, parse.file.as_deref()), (OutputFormat::Csv, Some("r.csv")));
    assert_eq!((parse.columns.elapsed.as_str(), parse.columns.time.as_str()), ("ms", "timeStamp"));
    let stored = check_stored(&plan).expect_err("a run file starts nothing");
    assert!(stored.message.starts_with("the stored plan runs a command: c: `x`"), "{stored}");
}

#[test]
fn its_figures_can_be_named_wherever_others_can() {
    let load = "  c: {command: ['x', '$n'], parse: jtl}";
    let more = "compare: {A: {params: {n: 1}}, B: {params: {n: 2}}, judge: [{of: c.duration}, {of: c.response.p95}, {of: c.requests_per_s}]}\n";
    let plan = planned(load, "measure: 1m", more).expect("a plan");
    let Strategy::Compare(comparison) = &plan.strategy else { panic!("a comparison") };
    let judged: Vec<String> = comparison.judge.iter().map(|judge| judge.of.to_string()).collect();
    assert_eq!(judged, ["c.duration", "c.response.p95", "c.requests_per_s"]);
    let usual = planned(load, "measure: 1m", "compare: {A: {params: {n: 1}}, B: {params: {n: 2}}}\n")
        .expect("a plan");
    let Strategy::Compare(comparison) = &usual.strategy else { panic!("a comparison") };
    let judged: Vec<String> = comparison.judge.iter().map(|judge| judge.of.to_string()).collect();
    assert_eq!(judged, ["c.duration"], "there are no records that CPU time could be of");
    assert!(planned(load, "measure: 1m", "expect: [{claim: x, that: c.duration <= 5m}]\n").is_ok());
    assert!(planned(load, "measure: 1m", "expect: [{claim: x, that: c.requests_per_s >= 5/s}]\n").is_ok());
    let wrong = planned(load, "measure: 1m", "show: {columns: [c.acked_per_s]}\n").expect_err("a producer's");
    assert!(wrong.contains("is not a metric of `c`"), "{wrong}");
    let labels = "  c: {command: [x], parse: jtl, labels: {check-out: Check out $n, pay: Pay}}";
    let judged = "compare: {A: {params: {n: 1}}, B: {params: {n: 2}}, judge: [{of: check-out.response.p95}, {of: pay.error_share}]}\n";
    let plan = planned(labels, "measure: 1m", judged).expect("a plan");
    let parse = plan.cases[0].commands["c"].parse.as_ref().expect("it is parsed");
    assert_eq!(parse.labels["check-out"], "Check out 1");
    let columns: Vec<String> = plan.show.columns.iter().map(ToString::to_string).collect();
    assert_eq!(columns[4..6], ["check-out.response.mean", "check-out.response.p95"]);
    let wrong = planned(labels, "measure: 1m", "show: {columns: [pay.duration]}\n").expect_err("a command's");
    assert!(wrong.contains("is not a metric of `pay`"), "{wrong}");
}

#[test]
fn impossible_settings_are_refused_in_place_with_a_hint() {
    let refused = |load: &str, phases: &str| {
        let error = planned(load, phases, "").expect_err("refused");
        assert!(error.starts_with("s.yaml:"), "{error}");
        error
    };
    for (load, phases, words) in [
        ("  c: {command: []}", "measure: 1m", "`command` is empty | name a program"),
        ("  c: {command: [x], rate: 5/s}", "measure: 1m", "hand it over as an argument"),
        ("  c: {command: [x], produce: t}", "measure: 1m", "one role, not both `produce` and `command`"),
        ("  c: {command: [x], after: c}", "measure: 1m", "`after`: `c` is no other command"),
        (
            "  a: {command: [x], after: b}\n  b: {command: [x], after: a}",
            "measure: 1m",
            "`a` would wait for itself",
        ),
        (
            "  c: {command: [x], at: 1m}",
            "measure: 1m",
            "1 min lies outside of the measure phase, which lasts 1 min",
        ),
        ("  c: {command: [x], results: f}", "measure: 1m", "`results` needs `parse`"),
        ("  c: {command: [x], parse: jtl, columns: {time: t}}", "measure: 1m", "only with `parse: csv`"),
        ("  c: {command: [x], parse: jmeter}", "measure: 1m", "`parse`"),
        ("  c: {command: [x], environment: {KDYNO_X: 1}}", "measure: 1m", "`KDYNO_X` cannot be set"),
        ("  c: {command: [x]}", "measure: {until: d}", "`until`: `d` is no load item that is a command"),
        ("  c: {command: [x]}", "measure: {until: c, records: 5}", "either `records` or `until`"),
        ("  c: {command: [x], timeout: 0s}", "measure: 1m", "`timeout`"),
        ("  c: {command: [x], labels: {a: A}}", "measure: 1m", "`labels` needs `parse`"),
        ("  c: {command: [x], parse: perf-test, labels: {a: A}}", "measure: 1m", "give their records none"),
        ("  c: {command: [x], parse: jtl, labels: {a: A, b: A}}", "measure: 1m", "`A` is named twice"),
        ("  c: {command: [x], parse: jtl, labels: {c: A}}", "measure: 1m", "`c` is already the name"),
        (
            "  c: {command: [x], parse: jtl, labels: {brokers: A}}",
            "measure: 1m",
            "`brokers` names something else",
        ),
        (
            "  c: {command: [x], parse: jtl, labels: {Check Out: A}}",
            "measure: 1m",
            "cannot name a load item or a label",
        ),
    ] {
        let error = refused(load, phases);
        assert!(error.contains(words), "{words}: {error}");
    }
}
