//! Reports as text.

use crate::fixture::{RunFixture, caveat, finding, plan, run, search};
use kdyno_analysis::marks;
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::SearchOutcome;
use kdyno_model::finding::{Scope, Value};
use kdyno_model::metric::{self, Address};
use kdyno_model::plan::{
    AttachedPlan, ClientListener, Compression, Conditioning, Estimate, HeaderPlan, KeyLaw, KeyPlan,
    Listeners, Mechanism, NullBrokerPlan, Payload, Plan, ProducePlan, Protocol, RecordPlan, Role, Sasl,
    Security, SystemPlan, TlsVersion, TransactionsPlan, ValuesPlan, WorkPlan,
};
use kdyno_model::run::RunStatus;
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::terminal::{
    PlanDetail, PrintedOnce, TextOptions, plan_text, run_table, trial_summary, trial_warnings,
};

const WIDE: TextOptions = TextOptions { width: 160, colour: false };
/// Remarks of the fixture's plan.
const ESTIMATE: Estimate = Estimate {
    expected_ns: 180_000_000_000,
    longest_ns: 200_000_000_000,
    load_ns: 140_000_000_000,
    disk_bytes: Some(3_225_600_000),
    kept_bytes: Some(806_400_000),
};
const NARROW: TextOptions = TextOptions { width: 80, colour: false };

#[test]
fn a_run_at_160_columns() {
    let run = run();
    insta::assert_snapshot!(run_table(&run.input(), &WIDE));
}

#[test]
fn the_same_at_80_columns() {
    let run = run();
    insta::assert_snapshot!(run_table(&run.input(), &NARROW));
}

#[test]
fn no_line_overflows_at_any_width() {
    let run = run();
    for width in 80..=200 {
        let options = TextOptions { width, colour: false };
        let text = run_table(&run.input(), &options)
            + &plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Full, &options)
            + &plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Full, &options);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "at {width}: {line}");
        }
    }
}

#[test]
fn caveats_stand_before_every_figure() {
    let run = run();
    let text = run_table(&run.input(), &WIDE);
    let caveat = text.find("is allowed: latencies include").expect("the caveat");
    let figure = text.find("/s").expect("a rate");
    assert!(caveat < figure, "{text}");
}

#[test]
fn one_case_has_neither_labels_nor_published_columns() {
    let mut run = run();
    run.only_one_trial();
    let text = run_table(&run.input(), &NARROW);
    assert!(!text.contains("the case"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_latency_that_queued_is_a_lower_bound_everywhere() {
    let mut run = run();
    let reported = |run: &RunFixture| [run_table(&run.input(), &WIDE), page(&run.input())];
    // The load generator was late too: what the cluster took may as well be less.
    assert!(reported(&run).iter().all(|text| text.contains("! 49.7 ms") && !text.contains("≥ 49.7 ms")));
    run.caveats.retain(|one| !matches!(one.caveat, Caveat::GeneratorLate { .. }));
    marks::at_least(&mut run.findings, &run.caveats);
    for text in reported(&run) {
        assert!(text.contains("! ≥ 49.7 ms") && !text.contains("! 49.7 ms"), "{text}");
        assert!(text.contains("; ≥ at least: records failed"), "{text}");
    }
    let summary =
        trial_summary(&run.trials[2].trial, &run.findings, &run.caveats, &mut PrintedOnce::default(), &WIDE);
    assert!(summary.contains("p99 ! ≥ 49.7 ms") && summary.contains("; ≥ at least"), "{summary}");
}

#[test]
fn the_scope_of_handed_over_records_is_said_under_their_table() {
    let found = [("readers.end_to_end", 23_896.0), ("readers.end_to_end.p99", 6e6)];
    let text = run_table(&with_writers(|_| {}, &found).input(), &WIDE).replace('\n', " ");
    assert!(text.contains("23,896") && text.contains("are those intended in the measure phase"), "{text}");
    let text = run_table(&with_writers(|_| {}, &[]).input(), &WIDE);
    assert!(!text.contains("Records consumed"), "{text}");
}

#[test]
fn an_interrupted_run_says_how_far_it_came() {
    let mut run = run();
    run.stop_after(2, RunStatus::Interrupted, "somebody asked it to stop");
    let reason = "somebody asked it to stop".to_owned();
    run.caveats.push(caveat(
        2,
        Severity::Warning,
        Caveat::CutShort { reason, measured_s: 7, planned_s: 60, went_on: false },
    ));
    let text = run_table(&run.input(), &WIDE);
    assert!(text.contains("\ninterrupted; 1 of 4 trials complete\n"), "{text}");
    assert!(text.contains("\n*      2  brokers=6 #1") && text.contains("* cut short"), "{text}");
}

#[test]
fn a_case_that_was_not_reached_has_no_row() {
    let mut run = run();
    run.header.plan.published = None;
    run.stop_after(1, RunStatus::Failed, "broker-1 ended");
    let text = run_table(&run.input(), &WIDE);
    assert!(text.contains("failed; 1 of 4 trials complete: broker-1 ended"), "{text}");
    assert!(!text.contains("of 2") && !text.contains("brokers=6"), "{text}");
}

#[test]
fn a_trial_that_ended_in_its_warm_up_has_no_row() {
    let mut run = run();
    run.header.plan.published = None;
    run.stop_after(2, RunStatus::Interrupted, "somebody asked it to stop");
    let empty =
        run.findings.iter_mut().filter(|one| matches!(one.scope, Scope::Trial(TrialId(2)) | Scope::Case(1)));
    for one in empty.filter(|one| one.of.metric != "clients") {
        one.estimate = Value::None;
    }
    let text = run_table(&run.input(), &WIDE);
    assert!(text.contains("interrupted; 1 of 4 trials complete"), "{text}");
    assert!(!text.contains("brokers=6 #1  ") && !text.contains("(0 of 2)"), "{text}");
}

#[test]
fn a_run_without_any_finding_says_so() {
    let mut run = run();
    run.stop_after(0, RunStatus::Failed, "no broker came up");
    let text = run_table(&run.input(), &WIDE);
    assert!(text.contains("failed; 0 of 4 trials complete: no broker came up"), "{text}");
    assert!(!text.contains("Produce:"), "{text}");
}

#[test]
fn without_answers_acknowledged_is_explained() {
    let mut run = run();
    run.only_one_trial();
    let load = &mut run.trials[0].trial.effective.load;
    if let Some(Role::Produce(produce)) = load.get_mut("writers").map(|load| &mut load.role) {
        produce.client.acks = 0;
    }
    let text = run_table(&run.input(), &WIDE);
    assert!(text.contains("acknowledged then means written to the socket"), "{text}");
}

#[test]
fn bytes_of_values_differ_from_bytes_of_batches() {
    let mut run = run();
    // The kinds of bytes alternate: each is explained once.
    let columns = ["writers.acked_mib_per_s", "readers.fetched_wire_mib_per_s", "audit.acked_mib_per_s"];
    run.header.plan.show.columns = columns.map(|name| Address::parse(name).unwrap()).to_vec();
    let text = run_table(&run.input(), &WIDE);
    let reported = |kind, name| format!("{name}: {}", metric::find(kind, name).expect("a metric").meaning);
    let note = [
        reported(metric::SubjectKind::Produce, "acked_mib_per_s"),
        reported(metric::SubjectKind::Consume, "fetched_wire_mib_per_s"),
    ];
    assert!(unwrapped(&text).contains(&(note.join("; ") + ".")), "{text}");
    assert_eq!(unwrapped(&text).matches(&note[0]).count(), 1, "{text}");
}

#[test]
fn what_is_said_of_a_case_or_of_the_run_concerns_its_trials() {
    let mut run = run();
    for (scope, concerned) in [(Scope::Case(1), "[brokers=6]"), (Scope::Run, "[all trials]")] {
        run.caveats = vec![caveat(1, Severity::Invalid, Caveat::MemoryStorage)];
        run.caveats[0].scope = scope;
        let text = run_table(&run.input(), &WIDE);
        assert!(text.contains(concerned), "{text}");
    }
}

#[test]
fn text_from_outside_cannot_control_the_terminal() {
    let mut run = run();
    run.header.plan.question = "a \x1b[2J question".to_owned();
    run.header.plan.scenario = "evil\x1b]0;x\x07".to_owned();
    run.stop_after(2, RunStatus::Failed, "evil\x1b]0;x\x07");
    run.trials[0].trial.label = "\x1b[2J".to_owned();
    let text = run_table(&run.input(), &TextOptions { width: 100, colour: false });
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[test]
fn a_trial_that_has_just_ended() {
    let run = run();
    insta::assert_snapshot!(trial_summary(
        &run.trials[1].trial,
        &run.findings,
        &run.caveats,
        &mut PrintedOnce::default(),
        &WIDE
    ));
}

#[test]
fn who_prints_rates_by_himself_has_the_warnings_alone() {
    let mut run = run();
    let cut =
        Caveat::CutShort { reason: "a broker died".to_owned(), measured_s: 7, planned_s: 60, went_on: false };
    run.caveats = vec![caveat(2, Severity::Warning, cut), caveat(2, Severity::Note, Caveat::MemoryStorage)];
    let text = trial_warnings(&run.trials[1].trial, &run.caveats, &WIDE);
    assert!(text.starts_with("warning: only 7 s of the window were measured\n"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(trial_warnings(&run.trials[0].trial, &run.caveats, &WIDE), "", "those of another trial");
}

#[test]
fn a_dry_run() {
    insta::assert_snapshot!(plan_text(&plan(), &ESTIMATE, PlanDetail::Full, &WIDE));
}

#[test]
fn the_plans_description_is_lines_of_the_dry_run() {
    let short = plan_text(&plan(), &ESTIMATE, PlanDetail::Short, &WIDE);
    let full = plan_text(&plan(), &ESTIMATE, PlanDetail::Full, &WIDE);
    assert!(short.lines().all(|line| full.lines().any(|other| other.trim() == line)), "{short}");
    assert!(short.lines().count() <= 5, "{short}");
    insta::assert_snapshot!(short);
}

#[test]
fn the_compression_level_in_force_is_shown() {
    let mut plan = plan();
    for (compression, level, words) in [
        (Compression::Zstd, Some(19), "compression.type=zstd compression.zstd.level=19 max.block.ms"),
        (Compression::Lz4, None, "compression.type=lz4 compression.lz4.level=9 max.block.ms"),
        (Compression::Snappy, None, "compression.type=snappy max.block.ms"),
    ] {
        for load in plan.cases[0].load.values_mut() {
            let Role::Produce(produce) = &mut load.role else { continue };
            (produce.client.compression, produce.client.compression_level) = (compression, level);
        }
        let text = unwrapped(&plan_text(&plan, &ESTIMATE, PlanDetail::Full, &WIDE));
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn an_item_with_work_keeps_up_as_its_busiest_client_does() {
    let mut plan = plan();
    let case = &mut plan.cases[0];
    case.topics.get_mut("perf").expect("the topic").partitions = 4;
    let load = case.load.get_mut("readers").expect("the item");
    load.clients = 3;
    let Role::Consume(consume) = &mut load.role else { panic!("it consumes") };
    consume.work = Some(WorkPlan::Constant { ns: 1_200_000 });
    let text = unwrapped(&plan_text(&plan, &ESTIMATE, PlanDetail::Full, &WIDE));
    let words = "833/s of each client at most: together they keep up with 1,667/s, because one client has 2 of 4 partitions";
    assert!(text.contains(words), "{text}");
}

/// On one line, however it was wrapped.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn unrealistic_values_are_reported_alike_before_and_after_a_run() {
    let mut run = run();
    run.only_one_trial();
    let plan_of =
        |run: &RunFixture, detail| unwrapped(&plan_text(&run.header.plan, &ESTIMATE, detail, &WIDE));
    assert!(!plan_of(&run, PlanDetail::Full).contains("caveat"), "nothing is compressed");
    let random =
        "values are random capital letters: the sizes and the CPU time that lz4 makes of them are not";
    let pooled = "pooled payloads compress differently from real ones";
    let item = || "writers".to_owned();
    for (payload, words, of_result) in [
        (
            Payload::Unique,
            random,
            Caveat::RandomValues { item: item(), compression: "lz4".to_owned(), by_schema: false },
        ),
        (Payload::Pooled { pool_bytes: 8 << 20 }, pooled, Caveat::PooledCompression { item: item() }),
    ] {
        run.caveats = vec![caveat(1, Severity::Warning, of_result)];
        assert!(unwrapped(&run_table(&run.input(), &WIDE)).contains(words), "{words}");
        let load = run.header.plan.cases[0].load.get_mut("writers").expect("the item");
        let Role::Produce(produce) = &mut load.role else { panic!("it produces") };
        (produce.payload, produce.client.compression) = (payload, Compression::Lz4);
        let reported = plan_of(&run, PlanDetail::Full);
        assert!(reported.contains(&format!("caveat: writers: {words}")), "{reported}");
    }
}

/// A run of one trial, with writers that were planned otherwise, and this additional finding.
fn with_writers(change: fn(&mut ProducePlan), found: &[(&str, f64)]) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    for case in [&mut run.header.plan.cases[0], &mut run.trials[0].trial.effective] {
        let load = case.load.get_mut("writers").expect("the item");
        let Role::Produce(produce) = &mut load.role else { panic!("it produces") };
        change(produce);
    }
    for (what, value) in found {
        run.findings.push(finding(Scope::Trial(TrialId(1)), what, Value::Is(*value)));
    }
    run
}

#[test]
fn a_compressed_rate_is_followed_by_its_compression_ratio() {
    let found = [("writers.compression_ratio", 1.667)];
    let run = with_writers(|plan| plan.client.compression = Compression::Zstd, &found);
    let summary =
        trial_summary(&run.trials[0].trial, &run.findings, &run.caveats, &mut PrintedOnce::default(), &WIDE);
    assert!(summary.contains("/s acknowledged, compression ratio 1.67, response p50"), "{summary}");
    for text in [run_table(&run.input(), &WIDE), page(&run.input())] {
        assert!(text.contains("Produce: compressed rates and what they cost"), "{text}");
        assert!(text.contains("1.67") && !text.contains("Produce: rates"), "{text}");
    }
    let plain = with_writers(|_| {}, &found);
    let text = run_table(&plain.input(), &WIDE);
    assert!(text.contains("Produce: rates") && !text.contains("1.67"), "{text}");
}

/// Every 100 ms, and 7 % of them aborted.
fn transactional(plan: &mut ProducePlan) {
    plan.transactions = Some(TransactionsPlan { every_ns: 100_000_000, records: None, abort_share: 0.07 });
}

#[test]
fn transactions_have_a_table_of_their_own() {
    let found = [
        ("writers.committed", 279.0),
        ("writers.aborted", 21.0),
        ("writers.commit.p50", 8.4e6),
        ("writers.commit.p99", 31.0e6),
        ("writers.commit.max", 45.0e6),
    ];
    let run = with_writers(transactional, &found);
    for text in [run_table(&run.input(), &WIDE), page(&run.input())] {
        assert!(text.contains("Produce: transactions"), "{text}");
        for reported in ["committed", "aborted", "279", "21", "8.40 ms", "31.0 ms", "45.0 ms"] {
            assert!(text.contains(reported), "{reported}: {text}");
        }
    }
    let text = run_table(&with_writers(|_| {}, &found).input(), &WIDE);
    assert!(!text.contains("transactions") && !text.contains("279"), "{text}");
}

#[test]
fn only_throttled_clients_are_in_the_table_of_throttling() {
    let title = "Clients that brokers throttled";
    let run = with_writers(|_| {}, &[("writers.throttled_share", 0.163), ("readers.throttled_share", 0.0)]);
    let text = run_table(&run.input(), &WIDE);
    let (_, table) = text.split_once(title).unwrap_or_else(|| panic!("no table: {text}"));
    let (table, _) = table.split_once("\n\n").unwrap_or((table, ""));
    assert!(table.contains("writers") && table.contains("0.163") && !table.contains("readers"), "{table}");
    assert!(page(&run.input()).contains(title));
    let run = with_writers(|_| {}, &[("writers.throttled_share", 0.0)]);
    for text in [run_table(&run.input(), &WIDE), page(&run.input())] {
        assert!(!text.contains("throttled"), "{text}");
    }
}

#[test]
fn records_and_how_they_are_sent_are_described_before_the_run() {
    let reported = |change: fn(&mut ProducePlan)| {
        let run = with_writers(change, &[]);
        unwrapped(&plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Full, &WIDE))
    };
    let text = reported(transactional);
    let words = "each record built; in transactions of 100ms from their first record, 7.00 % of them aborted \
                 (transaction.timeout.ms=60000)";
    assert!(text.contains(words), "{text}");
    let text = reported(|plan| {
        transactional(plan);
        plan.transactions = plan.transactions.map(|all| TransactionsPlan { records: Some(500), ..all });
    });
    assert!(text.contains("in transactions of 500 records, or 100ms from their first record"), "{text}");
    let text = reported(|plan| plan.client.ignore_keys = true);
    assert!(text.contains("; partitioner sticky, not adaptive, partitioner.ignore.keys=true"), "{text}");
    let text = reported(|plan| plan.synchronous = true);
    let words = "each record built; each client waits for one before it sends the next";
    assert!(text.contains(words), "{text}");
    let text = reported(|plan| {
        plan.records = RecordPlan {
            key: Some(KeyPlan::Numbered { law: KeyLaw::Zipf { exponent: 1.0 }, of: 1000, bytes: 8 }),
            values: ValuesPlan::Uniform { bytes_min: 100, bytes_max: 300 },
            compressible: Some(4.0),
            tombstone_share: 0.01,
            headers: vec![HeaderPlan { name: "trace".to_owned(), bytes: 16 }],
            partition: Some(2),
        };
    });
    let words = "values of 100 B to 300 B, uniform, each record built; compressible: 4.00; keys: 1,000 of 8 B, Zipf \
                 with exponent 1.00; tombstones: 1.00 %; headers: trace of 16 B; partition: 2";
    assert!(text.contains(words), "{text}");
}

#[test]
fn security_and_existing_topics_are_described_before_the_run() {
    let mut run = run();
    run.only_one_trial();
    let reported =
        |run: &RunFixture| unwrapped(&plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Full, &WIDE));
    let SystemPlan::Local(cluster) = &mut run.header.plan.cases[0].system else { panic!("no local one") };
    cluster.listeners = Listeners {
        clients: ClientListener {
            protocol: Protocol::SaslSsl,
            mechanism: Some(Mechanism::ScramSha512),
            tls: vec![TlsVersion::Tls13],
            client_certificates: false,
        },
        internal: Protocol::Ssl,
        authorizer: true,
    };
    let text = reported(&run);
    let words = "listeners: clients SASL_SSL SCRAM-SHA-512 TLSv1.3, internal SSL, ACLs";
    assert!(text.contains(words), "{text}");
    let sasl = Sasl::Plain { username: "alice".to_owned(), password: "pw".to_owned() };
    run.header.plan.cases[0].system = SystemPlan::Attached(AttachedPlan {
        target: "staging".to_owned(),
        bootstrap: vec!["b1:9092".to_owned()],
        cluster_id: "x".to_owned(),
        security: Box::new(Security { protocol: Protocol::SaslPlaintext, tls: None, sasl: Some(sasl) }),
        prefix: "team-a.".to_owned(),
        topics: [("perf".to_owned(), "orders".to_owned())].into(),
        ..AttachedPlan::default()
    });
    let text = reported(&run);
    let words = "security protocol SASL_PLAINTEXT: PLAIN topic perf is the existing topic orders";
    assert!(text.contains(words) && !text.contains("alice"), "{text}");
}

#[test]
fn the_bytes_of_a_search_are_shown_with_their_bounds() {
    let reported = |plan: &Plan, estimate: &Estimate| plan_text(plan, estimate, PlanDetail::Full, &WIDE);
    let text = unwrapped(&reported(
        &search(SearchOutcome::Confirmed { load_per_s: 92_000.0 }).header.plan,
        &ESTIMATE,
    ));
    assert!(text.contains("a lower `to` (`--to`) bounds it"), "{text}");
    let stays = Estimate { kept_bytes: ESTIMATE.disk_bytes, ..ESTIMATE };
    let text = reported(&plan(), &stays);
    assert!(text.contains("disk: 3.00 GiB written by the brokers, replicas included\n"), "{text}");
}

#[test]
fn null_brokers_have_neither_bytes_nor_conditioning() {
    let mut plan = Plan { conditioning: Some(Conditioning { least_ns: 1, most_ns: 2 }), ..plan() };
    let reported = |plan: &Plan| plan_text(plan, &ESTIMATE, PlanDetail::Full, &WIDE);
    plan.cases[0].system = SystemPlan::NullBroker(NullBrokerPlan::default());
    assert!(
        reported(&plan).contains("disk:") && reported(&plan).contains("conditioning:"),
        "one case is on a cluster"
    );
    plan.cases[1].system = SystemPlan::NullBroker(NullBrokerPlan::default());
    let text = reported(&plan);
    assert!(!text.contains("disk:") && !text.contains("conditioning:"), "{text}");
}

#[test]
fn unthrottled_conditioning_is_said_to_write_more() {
    let plan = Plan { conditioning: Some(Conditioning { least_ns: 1, most_ns: 2 }), ..plan() };
    let text = unwrapped(&plan_text(&plan, &ESTIMATE, PlanDetail::Full, &WIDE));
    let words = "deleted after it; conditioning a fresh cluster at maximum rate comes on top";
    assert!(text.contains(words), "{text}");
}

#[test]
fn the_only_case_of_a_plan_has_no_heading() {
    let mut run = run();
    run.only_one_trial();
    let text = plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Full, &WIDE);
    assert!(!text.contains("Case 1") && !text.contains("the case"), "{text}");
}
