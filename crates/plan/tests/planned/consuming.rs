//! What a plan makes of load items that consume.

use kdyno_model::plan::{ConsumePlan, LoadPlan, Partitioner, Role, WorkPlan};
use kdyno_plan::{Choices, Next, Remark, next, plan, remarks};
use kdyno_scenario::Scenario;

const MS: u64 = 1_000_000;

/// A scenario with these keys of the readers; 1,000 records per second are written.
fn text(said: &str) -> String {
    format!(
        "kdyno: 1\nid: base\nquestion: how much?\ntopics: {{t: {{partitions: 2}}}}\n\
         load:\n  writers: {{produce: t, rate: 1k/s, value: 100B}}\n  readers: {{consume: t, {said}}}\n\
         phases: {{warmup: 5s, condition: none, measure: 10s}}\n"
    )
}

fn scenario(said: &str) -> Scenario {
    Scenario::parse_bytes(text(said).as_bytes(), "base.yaml").unwrap()
}

/// The warning of this scenario that speaks of this.
fn warning_of(text: &str, about: &str) -> Option<String> {
    let scenario = Scenario::parse_bytes(text.as_bytes(), "base.yaml").unwrap();
    let plan = plan(&scenario, &Choices::default()).unwrap();
    let notes = remarks(&scenario, &Choices::default(), &plan).unwrap();
    notes.into_iter().find_map(|note| match note {
        Remark::Warning(text) => text.contains(about).then_some(text),
        Remark::Fact(_) => None,
    })
}

fn readers(said: &str) -> ConsumePlan {
    let plan = plan(&scenario(said), &Choices::default()).unwrap();
    let Role::Consume(readers) = plan.cases[0].load["readers"].role.clone() else {
        panic!("readers consume")
    };
    readers
}

fn refused(said: &str) -> String {
    let scenario = Scenario::parse_bytes(text(said).as_bytes(), "base.yaml");
    match scenario.map(|scenario| plan(&scenario, &Choices::default())) {
        Err(error) => error.to_string(),
        Ok(planned) => planned.expect_err("refused").to_string(),
    }
}

#[test]
fn work_is_what_the_scenario_says() {
    let work = |said: &str| readers(said).work;
    assert_eq!((work("clients: 1"), work("work: 0ms")), (None, None));
    assert_eq!(work("work: 2ms"), Some(WorkPlan::Constant { ns: 2 * MS }));
    assert_eq!(work("work: {exponential: 500us}"), Some(WorkPlan::Exponential { mean_ns: MS / 2 }));
    let zipf = WorkPlan::Zipf { least_ns: MS, most_ns: 1_000 * MS, exponent: 2.0 };
    assert_eq!(work("work: {zipf: {least: 1ms, most: 1s}}"), Some(zipf));
    assert_eq!(readers("clients: 1").poll_records_max, 500);
    assert_eq!(readers("client: {max.poll.records: 7}").poll_records_max, 7);
}

#[test]
fn impossible_work_is_refused_in_place() {
    for (said, reported) in [
        ("work: {exponential: 0ms}", "`exponential`"),
        ("work: {zipf: {least: 2ms, most: 1ms}}", "`most` is less than `least`"),
        ("work: {zipf: {least: 1ns, most: 1s}}", "more than 1000000 times"),
        ("work: {zipf: {least: 1ms, most: 1s, s: 21}}", "`21` is outside 0 to 20"),
        ("work: {normal: 1ms}", "normal"),
        ("work: 1ms, read: header", "read: decode"),
        ("work: 2h", "`work`"),
    ] {
        let error = refused(said);
        assert!(error.contains(reported) && error.contains("base.yaml"), "{said}: {error}");
    }
}

#[test]
fn applications_that_cannot_keep_up_are_reported_before_the_run() {
    let reported = |said: &str| {
        let scenario = scenario(said);
        let choices = Choices::default();
        let plan = plan(&scenario, &choices).unwrap();
        let notes = remarks(&scenario, &choices, &plan).unwrap();
        notes
            .into_iter()
            .filter(|note| matches!(note, Remark::Warning(text) if text.contains("lag grows")))
            .count()
    };
    assert_eq!(reported("clients: 1, work: 2ms"), 1, "500 of 1,000 a second");
    assert_eq!((reported("clients: 3, work: 2ms"), reported("clients: 1")), (0, 0));
}

#[test]
fn the_table_shows_whether_members_and_applications_keep_up() {
    let has_lag = |said: &str| {
        let plan = plan(&scenario(said), &Choices::default()).unwrap();
        plan.show.columns.iter().any(|column| column.to_string() == "readers.lag")
    };
    assert!(has_lag("group: g") && has_lag("work: 1ms"));
    assert!(!has_lag("clients: 1"));
}

/// Equal work on each record has no name of its own.
#[test]
fn a_law_that_there_is_not_has_the_constant_as_a_hint() {
    let hint = |said: &str| {
        let error = Scenario::parse_bytes(text(said).as_bytes(), "base.yaml").expect_err("refused");
        error.hint.unwrap_or_default()
    };
    let constant = "allowed here: `exponential`, `zipf`; for a constant write `work: 1200us`";
    assert_eq!(hint("work: {constant: 1200us}"), constant);
    assert_eq!(hint("work: {exponentail: 1200us}"), "did you mean `exponential`?");
}

/// Four partitions are shared out 2, 1 and 1 among three, and the one with two of them has half of all records.
#[test]
fn the_client_with_most_partitions_sets_what_an_item_sustains() {
    let reported = |per_s: &str, readers: &str| {
        let text = text("clients: 1").replace("partitions: 2", "partitions: 4").replace("1k/s", per_s);
        let text = text.replace("  readers: {consume: t, clients: 1}", readers);
        warning_of(&text, "lag grows")
    };
    let three = |group: &str| format!("  readers: {{consume: t, clients: 3, work: 1200us{group}}}");
    let slow = "`readers` keeps up with 1,667 records/s of `t` at most, because one client has 2 of 4 partitions, and \
                2,400 records/s are offered at the highest: its lag grows";
    for group in ["", ", group: g"] {
        assert_eq!(reported("2400/s", &three(group)).as_deref(), Some(slow), "2,500 records/s by all three");
        assert_eq!(reported("1666/s", &three(group)), None);
    }
    // Four of six clients have a partition each.
    assert!(reported("3400/s", "  readers: {consume: t, clients: 6, work: 1200us}").is_some());
    assert_eq!(reported("3300/s", "  readers: {consume: t, clients: 6, work: 1200us}"), None);
    // Members of one group share its partitions, whichever items they are of; of five items one may have none of them.
    let item = |name: &str, clients: u32| {
        format!("  {name}: {{consume: t, clients: {clients}, group: g, work: 1200us}}\n")
    };
    let two = [item("readers", 2), item("others", 2)].concat();
    assert_eq!(reported("3300/s", two.trim_end()), None, "each has one of four partitions");
    assert!(reported("3400/s", two.trim_end()).is_some());
    let five: String = (0..5).map(|number| item(&format!("readers{number}"), 1)).collect();
    assert_eq!(reported("9k/s", five.trim_end()), None);
}

/// 500 records of 1.2 ms are 600 ms.
#[test]
fn work_longer_than_the_groups_patience_is_reported() {
    let reported = |readers: &str| {
        let text = text("clients: 1").replace("  readers: {consume: t, clients: 1}", readers);
        warning_of(&text, "max.poll.interval.ms")
    };
    let of = |work: &str, client: &str| {
        reported(&format!("  readers: {{consume: t, work: {work}, group: g, client: {{{client}}}}}"))
    };
    let expected = "`readers` works for 10 min on a poll of 500 records (`max.poll.records`), which it gets once so many \
                    wait, and a member that polls less often than every 5 min (`max.poll.interval.ms`) is put out of its \
                    group";
    assert_eq!(of("1200ms", "").as_deref(), Some(expected));
    assert_eq!(of("1200ms", "max.poll.records: 250"), None, "300 s are what is allowed");
    assert_eq!(of("1200ms", "max.poll.interval.ms: 600000"), None);
    assert_eq!(reported("  readers: {consume: t, work: 1200ms}"), None, "of no group");
}

/// A probe: what it is, and what it cannot be.
#[test]
fn a_probe_has_a_topic_of_its_own_and_sends_to_every_leader() {
    let with = |probe: &str, rest: &str| {
        let text = format!(
            "kdyno: 1\nid: base\nquestion: how much?\nsystem: {{brokers: 3}}\n\
             topics: {{t: {{partitions: 2}}, small: {{partitions: 3, replicas: 3}}, one: {{partitions: 1}}}}\n\
             load:\n  writers: {{produce: t, rate: 1k/s, value: 100B}}\n  probe: {{{probe}}}\n\
             phases: {{warmup: 5s, condition: none, measure: 10s}}\n{rest}"
        );
        let scenario =
            Scenario::parse_bytes(text.as_bytes(), "base.yaml").map_err(|error| error.to_string())?;
        let plan = plan(&scenario, &Choices::default()).map_err(|error| error.to_string())?;
        let reported = remarks(&scenario, &Choices::default(), &plan).unwrap();
        let reported = reported.into_iter().map(|note| match note {
            Remark::Fact(text) | Remark::Warning(text) => text,
        });
        Ok::<_, String>((plan, reported.collect::<Vec<_>>().join("\n")))
    };
    let (plan, reported) =
        with("end_to_end: small", "expect: [{claim: c, that: probe.end_to_end.p99 <= 20ms}]\n").unwrap();
    let Role::EndToEnd(probe) = &plan.cases[0].load["probe"].role else { panic!("it probes") };
    assert_eq!((probe.produce.client.acks, probe.produce.client.linger_ns), (-1, 0));
    assert_eq!((probe.produce.client.partitioner, probe.produce.value_bytes), (Partitioner::RoundRobin, 100));
    assert_eq!((probe.produce.rate.peak_per_s(), probe.consume.fetch_bytes_min), (Some(200.0), 1));
    assert!(plan.cases[0].has_end_to_end(&plan.cases[0].load["probe"]));
    assert!(!reported.contains("probe"), "{reported}");
    let (_, reported) = with("end_to_end: one", "").unwrap();
    assert!(reported.contains("`probe` sends to 1 of 3 brokers"), "{reported}");
    for (probe, expected) in [
        ("end_to_end: t", "`probe` probes with topic `t`, to which `writers` sends too"),
        ("end_to_end: nowhere", "`nowhere` is not a topic of this scenario"),
        ("end_to_end: small, rate: max", "`rate`: `max` is not a rate"),
        ("end_to_end: small, rate: 1/s", "`1/s` is no rate of a probe"),
        ("end_to_end: small, clients: 3", "`clients`"),
        ("end_to_end: small, value: 1MiB", "`value`"),
        (
            "end_to_end: small, consume: small",
            "a load item has one role, not both `consume` and `end_to_end`",
        ),
    ] {
        let refused = with(probe, "").expect_err(probe);
        assert!(refused.contains(expected), "{probe}: {refused}");
    }
}

/// Where a consumer finds out nothing of when records were intended, the plan says why.
#[test]
fn items_without_end_to_end_latencies_are_reported() {
    let reported = |said: &str, payload: &str| {
        let text = text(said).replace("value: 100B", &format!("value: 100B, payload: {payload}"));
        let scenario = Scenario::parse_bytes(text.as_bytes(), "base.yaml").unwrap();
        let plan = plan(&scenario, &Choices::default()).unwrap();
        let reported = remarks(&scenario, &Choices::default(), &plan).unwrap();
        reported.into_iter().find_map(|note| match note {
            Remark::Fact(text) | Remark::Warning(text) => text.contains("end-to-end").then_some(text),
        })
    };
    assert_eq!(reported("clients: 1", "unique"), None);
    let because = |why: &str| Some(format!("`readers` has no end-to-end latency: {why}"));
    assert_eq!(reported("read: crc", "unique"), because("with `read: crc` it looks at no record"));
    assert_eq!(
        reported("clients: 1", "pooled"),
        because("records of a pool do not say when they were intended")
    );
}

/// A cluster is conditioned as fast as it goes, and readers that take their time would be behind for minutes.
#[test]
fn a_cluster_is_conditioned_without_work() {
    let text = text("work: 2ms").replace("condition: none", "condition: 20s");
    let scenario = Scenario::parse_bytes(text.as_bytes(), "base.yaml").unwrap();
    let plan = plan(&scenario, &Choices::default()).unwrap();
    let Next::Trial(trial) = next(&plan, &[], 0) else { panic!("a trial comes first") };
    let work = |item: &LoadPlan| item.role.as_consume().is_some_and(|consume| consume.work.is_some());
    assert!(trial.is_conditioning() && !work(&trial.effective.load["readers"]));
    assert!(work(&plan.cases[0].load["readers"]));
}
