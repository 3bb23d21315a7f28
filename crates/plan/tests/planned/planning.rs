//! Profiles, cases, `--set`, order, targets: what the plan makes of a scenario.

use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::plan::{Arrivals, Fill, Isolation, Payload, Plan, Rate, RatePiece, Role, SystemPlan};
use kdyno_model::secret::SecretRef;
use kdyno_model::trial::{Trial, TrialId, TrialReason};
use kdyno_plan::{
    Choices, Next, Remark, check_stored, estimate, next, plan, remarks, retarget, volume_bytes,
};
use kdyno_scenario::Scenario;
use kdyno_scenario::target::TargetFile;

const BASE: &str = "\
kdyno: 1
id: base
question: how much?
params: {brokers: 1, size: 1KiB, rate: 1k/s, clients: = 2*brokers}
profiles:
  laptop: {}
  wide: {brokers: 3}
  own: {vary: {size: [100B, 200B], brokers: [1, 2]}}
cases: [{size: 1KiB}, {size: 2KiB}]
system: {brokers: $brokers}
topics:
  t: {partitions: = 2*brokers, replicas: \"= min(3, brokers)\"}
load:
  writers: {produce: t, clients: $clients, rate: $rate, value: $size}
phases: {warmup: 5s, condition: none, measure: 10s}
";

fn choose(text: &str, choices: &Choices) -> Result<Plan, String> {
    let scenario = Scenario::parse(text, "s.yaml").map_err(|error| error.to_string())?;
    plan(&scenario, choices).map_err(|error| error.to_string())
}

fn made(text: &str) -> Plan {
    choose(text, &Choices::default()).unwrap()
}

fn profile(name: &str) -> Choices {
    Choices { profile: Some(name.to_owned()), ..Choices::default() }
}

fn set(pairs: &[(&str, &str)]) -> Choices {
    let set = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Choices { set, ..Choices::default() }
}

fn labels(plan: &Plan) -> Vec<&str> {
    plan.cases.iter().map(|case| case.label.as_str()).collect()
}

#[test]
fn profiles_lay_over_params_and_may_bring_cases() {
    assert_eq!(labels(&made(BASE)), ["1 KiB", "2 KiB"]);
    let wide = choose(BASE, &profile("wide")).unwrap();
    assert_eq!(wide.cases[0].load["writers"].clients, 6);
    assert_eq!(wide.cases[0].topics["t"].replicas, 3);
    let own = choose(BASE, &profile("own")).unwrap();
    let expected = ["100 B brokers=1", "100 B brokers=2", "200 B brokers=1", "200 B brokers=2"];
    assert_eq!(labels(&own), expected);
    let error = choose(BASE, &profile("labtop")).unwrap_err();
    assert_eq!(error, "s.yaml: the scenario has no profile `labtop`");
}

#[test]
fn set_wins_over_everything_and_takes_params_only() {
    let one = choose(BASE, &set(&[("size", "4KiB")])).unwrap();
    assert_eq!(labels(&one), [""], "cases that become equal run once");
    assert_eq!(one.changed["size"], "4KiB");
    let Role::Produce(writers) = &one.cases[0].load["writers"].role else { panic!("writers produce") };
    assert_eq!(writers.value_bytes, 4096);
    let error = choose(BASE, &set(&[("sice", "4KiB")])).unwrap_err();
    assert_eq!(error, "`--set sice=4KiB`: `sice` is not a param of this scenario");
    let error = choose(BASE, &set(&[("brokers", "= 2*clients")])).unwrap_err();
    assert!(error.starts_with("`--set brokers=") && error.contains("circle"), "{error}");
    let error = choose(BASE, &set(&[("size", "5ms")])).unwrap_err();
    assert_eq!(
        error,
        "`--set size=5ms`: `value` (from `$size`): `5ms` is a duration, not a size with its unit, \
         e.g. `128B`, `16KiB`, `1MB` (used at s.yaml:14:64)"
    );
}

#[test]
fn the_set_values_that_cause_an_error_are_named() {
    let refused = |text: &str, pairs: &[(&str, &str)]| choose(text, &set(pairs)).unwrap_err();
    let error = refused(BASE, &[("size", "2KiB"), ("rate", "fast")]);
    assert!(error.starts_with("`--set rate=fast`: `rate`: `fast` is not a rate"), "{error}");
    // Neither is wrong alone.
    let three = BASE.replace("\"= min(3, brokers)\"", "3").replace("brokers: 1,", "brokers: 3,");
    let error = refused(&three, &[("brokers", "2"), ("size", "2KiB")]);
    assert!(error.starts_with("`--set brokers=2`: topic `t` wants 3 replicas"), "{error}");
    let error = refused(BASE, &[("rate", "fast"), ("rate", "fast")]);
    assert!(error.starts_with("`--set rate=fast` with `--set rate=fast`: "), "{error}");
    // Each of two is wrong alone, and the third has nothing to do with it.
    let error = refused(BASE, &[("rate", "fast"), ("size", "2KiB"), ("rate", "fast")]);
    assert!(error.starts_with("`--set rate=fast` with `--set rate=fast`: "), "{error}");
    // A circle that none of them closes alone has no place in the file.
    let error = refused(BASE, &[("rate", "= size"), ("size", "= rate"), ("brokers", "2")]);
    assert!(error.starts_with("`--set rate== size` with `--set size== rate`: "), "{error}");
    assert!(error.contains("circle") && !error.contains("used at"), "{error}");
    // A mistake of the file stays one of the file.
    let broken = BASE.replace("measure: 10s", "measure: 10parsecs");
    let error = refused(&broken, &[("size", "2KiB")]);
    assert!(error.starts_with("s.yaml:15:48: `measure`"), "{error}");
}

/// All trials that the plan's strategy names; it gets the outcomes of those before each.
fn trials(plan: &Plan) -> Vec<Trial> {
    let mut outcomes = Vec::new();
    while let Next::Trial(trial) = next(plan, &outcomes, 1) {
        outcomes.push(TrialOutcome::new(*trial, Judgement::default()));
    }
    outcomes.into_iter().map(|outcome| outcome.trial).collect()
}

#[test]
fn a_trial_lists_everything_that_it_runs() {
    let text = BASE.replace("measure: 10s}", "measure: 10s}\nrepeat: 2");
    let plan = choose(&text, &profile("own")).unwrap();
    let trials = trials(&plan);
    for (number, trial) in (1..).zip(&trials) {
        assert_eq!((trial.id, &trial.effective), (TrialId(number), &plan.cases[trial.case as usize]));
        assert_eq!(trial.label, format!("{} #{}", trial.effective.label, trial.repeat));
        assert_eq!(trial.reason, TrialReason::Listed { of: 8 });
    }
    let seeds: std::collections::BTreeSet<u64> = trials.iter().map(|trial| trial.seed).collect();
    assert_eq!((trials.len(), seeds.len()), (8, 2), "all cases of a repeat share their draw");
}

#[test]
fn order_is_a_function_of_the_seed_and_keeps_systems_together() {
    let text = BASE.replace("measure: 10s}", "measure: 10s}\nrepeat: 5");
    let own = |seed| choose(&text, &Choices { seed: Some(seed), ..profile("own") }).unwrap();
    let (one, same, other) = (own(1), own(1), own(2));
    assert_eq!(trials(&one), trials(&same));
    assert_ne!(trials(&one), trials(&other));
    assert_eq!(trials(&one).len(), 20);
    for repeat in 1..=5 {
        let all = trials(&one);
        let mut cases: Vec<u32> =
            all.iter().filter(|trial| trial.repeat == repeat).map(|trial| trial.case).collect();
        let system = |case: u32| &one.cases[case as usize].system;
        let changes = cases.windows(2).filter(|pair| system(pair[0]) != system(pair[1])).count();
        assert_eq!(changes, 1, "two systems, each once: {cases:?}");
        cases.sort_unstable();
        assert_eq!(cases, [0, 1, 2, 3]);
    }
    assert_eq!(made(BASE).seed, made(BASE).seed);
}

#[test]
fn rates_of_every_kind() {
    let rate = |text: &str| {
        let plan = choose(&BASE.replace("rate: $rate", text), &Choices::default()).unwrap();
        match &plan.cases[0].load["writers"].role {
            Role::Produce(produce) => produce.rate.clone(),
            Role::Consume(_) | Role::EndToEnd(_) => panic!("writers produce"),
        }
    };
    let flat = |per_s: f64, length_ns: u64| RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns };
    let Rate::Open { pieces, arrivals } = rate("rate: 5k/s each") else { panic!("open") };
    assert_eq!((pieces[0].from_per_s, arrivals), (10_000.0, Arrivals::Poisson));
    assert_eq!(rate("rate: max"), Rate::Max { fill: Fill::Buffer });
    assert_eq!(rate("rate: max, fill: in-flight"), Rate::Max { fill: Fill::InFlight });
    let Rate::Open { pieces, .. } =
        rate("rate: {ramp: {from: 0/s, to: 600/min, over: 1m}}, arrivals: constant")
    else {
        panic!("open")
    };
    assert_eq!(pieces[0], RatePiece { from_per_s: 0.0, to_per_s: 10.0, length_ns: 60_000_000_000 });
    assert_eq!(pieces[1].from_per_s, 10.0);
    let Rate::Open { pieces, .. } = rate("rate: {steps: [{rate: 1k/s, for: 5s}, {rate: 2k/s, for: 5s}]}")
    else {
        panic!("open")
    };
    assert_eq!(pieces, [flat(1000.0, 5_000_000_000), flat(2000.0, 5_000_000_000)]);
}

#[test]
fn client_settings_fill_from_the_version() {
    let client = |text: &str| {
        let text = BASE.replace("value: $size", &format!("value: $size, client: {{{text}}}"));
        let plan = choose(&text, &Choices::default()).unwrap();
        match &plan.cases[0].load["writers"].role {
            Role::Produce(produce) => produce.client.clone(),
            Role::Consume(_) | Role::EndToEnd(_) => panic!("writers produce"),
        }
    };
    assert_eq!((client("defaults: 2.7").acks, client("").acks), (1, -1));
    assert_eq!((client("defaults: '3.9'").linger_ns, client("defaults: '4.0'").linger_ns), (0, 5_000_000));
    let typed = client("acks: 0, batch.size: 112000B, linger.ms: 1s, compression.type: zstd");
    assert_eq!((typed.acks, typed.batch_bytes, typed.linger_ns), (0, 112_000, 1_000_000_000));
    // As in Java, the default delivery timeout grows with what it must hold.
    assert_eq!(client("request.timeout.ms: 200s, linger.ms: 0").delivery_timeout_ns, 200_000_000_000);
    // Idempotence as a default is given up where something else was set; requested, it brings its acks along.
    let is_idempotent = |text: &str| client(text).enable_idempotence;
    assert!(is_idempotent("defaults: '3.0'") && is_idempotent("acks: all"));
    assert!(!is_idempotent("acks: 1"));
    assert!(!is_idempotent("defaults: '3.9', max.in.flight.requests.per.connection: 6"));
    assert!(!is_idempotent("enable.idempotence: false, max.in.flight.requests.per.connection: 6"));
    assert!(!is_idempotent("defaults: '2.8'") && !is_idempotent("enable.idempotence: false"));
    let asked = client("defaults: '2.8', enable.idempotence: true");
    assert_eq!((asked.enable_idempotence, asked.acks), (true, -1));
    // The level of the codec that is in force, also where none was typed.
    let level = |text: &str| client(text).compression_level;
    assert_eq!(level("compression.type: snappy, compression.zstd.level: 1"), None);
    assert_eq!(level("defaults: '3.7', compression.type: gzip"), Some(-1));
    assert_eq!((level("compression.type: lz4"), level("compression.type: zstd")), (Some(9), Some(3)));
    assert_eq!(
        level("compression.type: zstd, compression.zstd.level: -131072, compression.lz4.level: 1"),
        Some(-131_072)
    );
    // Clients before 3.7 know no longest pause; a first one above it is cut.
    let pauses_ms = |text: &str| {
        let settings = client(text);
        (settings.retry_backoff_ns / 1_000_000, settings.retry_backoff_max_ns / 1_000_000)
    };
    assert_eq!(pauses_ms("defaults: '4.0'"), (100, 1_000));
    assert_eq!(pauses_ms("defaults: '3.6', retry.backoff.ms: 300"), (300, 300));
    assert_eq!(pauses_ms("retry.backoff.ms: 2s"), (1_000, 1_000));
    assert_eq!(pauses_ms("retry.backoff.ms: 2s, retry.backoff.max.ms: 5s"), (2_000, 5_000));
}

#[test]
fn transactions_are_planned_with_what_they_need_of_the_client() {
    let of = |transactions: &str, client: &str| {
        let typed = format!("value: $size, transactions: {transactions}, client: {{{client}}}");
        choose(&BASE.replace("value: $size", &typed), &Choices::default()).map(|plan| {
            match &plan.cases[0].load["writers"].role {
                Role::Produce(produce) => produce.clone(),
                Role::Consume(_) | Role::EndToEnd(_) => panic!("writers produce"),
            }
        })
    };
    assert_eq!(of("none", "").unwrap().transactions, None);
    let planned = of("{every: 100ms, abort: 1%}", "").unwrap();
    let transactions = planned.transactions.expect("transactions");
    assert_eq!((transactions.every_ns, transactions.abort_share), (100_000_000, 0.01));
    assert_eq!(planned.client.transaction_timeout_ns, 60_000_000_000);
    assert_eq!(of("{every: 2s}", "").unwrap().transactions.map(|one| one.abort_share), Some(0.0));
    assert_eq!(
        of("{every: 2s, abort: 100%}", "").unwrap().transactions.map(|one| one.abort_share),
        Some(1.0)
    );
    // As in Java, whatever the default of that version is.
    let older = of("{every: 1s}", "defaults: '2.8'").unwrap().client;
    assert_eq!((older.enable_idempotence, older.acks), (true, -1));
    let wrong = |transactions: &str, client: &str| of(transactions, client).unwrap_err();
    let each = "{every: 1s}";
    for (transactions, client, reported) in [
        (each, "enable.idempotence: false", "`transactions` take `enable.idempotence: true`"),
        (each, "acks: 1", "`transactions` take `acks: all`"),
        (
            each,
            "max.in.flight.requests.per.connection: 6",
            "`transactions` take at most 5 requests in flight",
        ),
        (each, "transactional.id: mine", "client setting `transactional.id` is not supported"),
        ("{every: 60s}", "", "after `transaction.timeout.ms`, 60000 ms"),
        ("{every: 0ms}", "", "`every`"),
        ("{every: 1s, abort: 101%}", "", "`abort`: `101%` is not a share in percent"),
        ("{every: 1s, abort: 0.5}", "", "is not a share in percent"),
        ("some", "", "`none`"),
        ("{abort: 1%}", "", "`every`"),
    ] {
        let error = wrong(transactions, client);
        assert!(error.contains(reported), "{transactions} {client}: {error}");
    }
    assert_eq!(
        of("{every: 60s}", "transaction.timeout.ms: 61s").unwrap().client.transaction_timeout_ns,
        61_000_000_000
    );
}

#[test]
fn a_client_waits_for_each_record_where_the_scenario_says_so() {
    let is_synchronous = |said: &str| {
        let plan = made(&BASE.replace("value: $size", said));
        plan.cases[0].load["writers"].role.as_produce().unwrap().synchronous
    };
    assert!(is_synchronous("value: $size, sending: sync"));
    assert!(!is_synchronous("value: $size, sending: async") && !is_synchronous("value: $size"));
}

#[test]
fn phases_by_records_and_payloads() {
    let text = BASE.replace("measure: 10s", "measure: {records: 1k each, within: 1m}");
    let text = text
        .replace("value: $size", "value: 100B, payload: {pooled: 16MiB}")
        .replace("cases: [{size: 1KiB}, {size: 2KiB}]\n", "");
    let plan = made(&text);
    let Role::Produce(writers) = &plan.cases[0].load["writers"].role else { panic!("writers produce") };
    assert_eq!(writers.records_max, Some(2000));
    assert_eq!(writers.payload, Payload::Pooled { pool_bytes: 16 << 20 });
    assert_eq!(plan.cases[0].phases.measure_ns, 60_000_000_000);
    assert_eq!(plan.cases[0].phases.drain_ns, 120_000_000_000, "auto is the delivery timeout");
    assert_eq!(plan.isolation, Isolation::Topic);
    // 5 s of warm-up at 1000/s, then 2000 records.
    assert_eq!(volume_bytes(&plan), Some(7000 * 100));
}

#[test]
fn estimates_add_up() {
    let plan = made(BASE);
    // 15 s at 1000/s in two cases of 1 KiB and 2 KiB.
    assert_eq!(volume_bytes(&plan), Some(15_000 * (1024 + 2048)));
    let reported = estimate(&plan);
    assert_eq!(reported.disk_bytes, Some(15_000 * (1024 + 2048 + 24)));
    assert_eq!(reported.kept_bytes, Some(15_000 * (2048 + 12)), "the topics of one case at a time");
    // With a key of 5 B and a header of 2 + 16 B; and one for what a small value has no room for, which a pool lacks.
    let one = BASE.replace("cases: [{size: 1KiB}, {size: 2KiB}]\n", "");
    let bytes = |said: &str| {
        let reported = estimate(&made(&one.replace("value: $size", said)));
        reported.disk_bytes.map(|all| all / 15_000)
    };
    let keyed = "value: 100B, key: {uniform: {of: 100k}}, headers: {id: 16B}";
    assert_eq!(bytes(keyed), Some(100 + 5 + 2 + 16 + 4 + 12));
    assert_eq!(bytes("value: 16B"), Some(16 + 5 + 32 + 4 + 12));
    assert_eq!(bytes("value: 16B, payload: pooled"), Some(16 + 12));
    let stay = made(&BASE.replace("phases:", "isolation: none\nphases:"));
    assert_eq!(estimate(&stay).kept_bytes, reported.disk_bytes);
    assert_eq!(reported.load_ns, 30_000_000_000);
    assert!((30_000_000_000..60_000_000_000).contains(&reported.expected_ns), "{reported:?}");
    // A drain may take two minutes here, the delivery timeout; none is expected to.
    assert_eq!(plan.cases[0].phases.drain_ns, 120_000_000_000);
    let open = choose(BASE, &set(&[("rate", "max")])).unwrap();
    let none = (estimate(&open).disk_bytes, estimate(&open).kept_bytes, volume_bytes(&open));
    assert_eq!(none, (None, None, None));
}

#[test]
fn a_pool_is_planned_only_as_large_as_it_can_be_built() {
    let pooled = |what: &str| choose(&BASE.replace("value: $size", what), &Choices::default());
    assert!(pooled("value: $size, payload: pooled, client: {batch.size: 16MiB}").is_ok());
    let error = pooled("value: $size, payload: pooled, client: {batch.size: 17MiB}").unwrap_err();
    assert!(error.contains("64 batches of up to 17 MiB each"), "{error}");
    assert!(pooled("value: $size, payload: {pooled: 1GiB}, client: {batch.size: 16KiB}").is_ok());
    let error = pooled("value: $size, payload: {pooled: 1GiB}, client: {batch.size: 100000B}").unwrap_err();
    assert!(error.contains("10738 batches of up to 100,000 B"), "{error}");
}

const TARGET: &str = "\
kdyno: 1
target: staging
cluster_id: aB3x
client: {bootstrap: [127.0.0.1:9092]}
";

fn attached(guard: &str, pairs: &[(&str, &str)]) -> Result<Plan, String> {
    let target = TargetFile::parse(&format!("{TARGET}{guard}"), "t.yaml").unwrap().resolve(None).unwrap();
    choose(BASE, &Choices { target: Some(target), ..set(pairs) })
}

#[test]
fn a_target_replaces_the_system_and_its_caps_hold() {
    let plan = attached("", &[("brokers", "6")]).unwrap();
    let SystemPlan::Attached(target) = &plan.cases[0].system else { panic!("attached") };
    assert_eq!((target.prefix.as_str(), target.cluster_id.as_str()), ("kdyno-", "aB3x"));
    let refused = |caps: &str, pairs: &[(&str, &str)]| {
        attached(&format!("guard: {{caps: {{{caps}}}}}\n"), pairs).unwrap_err()
    };
    assert!(refused("produce: 1MiB/s", &[]).contains("up to 1.95 MiB/s"));
    // Two cases of two partitions each, whose topics do not exist at once.
    assert!(refused("partitions: 1", &[]).contains("has 2 partitions at once"));
    assert!(attached("guard: {caps: {partitions: 2}}\n", &[]).is_ok());
    assert!(refused("connections: 1", &[]).contains("has 2 clients"));
    assert!(refused("disk: 1MiB", &[]).contains("writes about"));
    assert!(refused("time: 30s", &[]).contains("takes about 38 s"));
    assert!(refused("", &[("rate", "max")]).contains("does not allow"));
    let allowed = |caps: &str| {
        attached(&format!("guard: {{allow: [rate-max], caps: {{{caps}}}}}\n"), &[("rate", "max")])
    };
    assert!(allowed("connections: 10").is_ok());
    assert!(allowed("produce: 1GiB/s").unwrap_err().contains("cannot hold"));
    assert!(allowed("disk: 1GiB").unwrap_err().contains("cannot hold"));
}

/// What is reported with a target: whether it replaces `system`, and the warnings.
fn reported_with_target(text: &str, pairs: &[(&str, &str)]) -> (usize, String) {
    let target = TargetFile::parse(TARGET, "t.yaml").unwrap().resolve(None).unwrap();
    let scenario = Scenario::parse(text, "s.yaml").unwrap();
    let choices = Choices { target: Some(target), ..set(pairs) };
    let plan = plan(&scenario, &choices).unwrap();
    let notes = remarks(&scenario, &choices, &plan).unwrap();
    let facts = notes.iter().filter(|note| matches!(note, Remark::Fact(_))).count();
    let warnings = notes.iter().filter_map(|note| match note {
        Remark::Warning(text) => Some(text.split('`').nth(1).unwrap()),
        Remark::Fact(_) => None,
    });
    (facts, warnings.collect::<Vec<_>>().join(" "))
}

#[test]
fn params_that_a_target_leaves_without_effect_are_named() {
    let reported = |text: &str, pairs: &[(&str, &str)]| reported_with_target(text, pairs);
    // `size` varies, but `system` knows nothing of it.
    assert_eq!(reported(BASE, &[]), (1, String::new()));
    assert_eq!(reported(BASE, &[("brokers", "2")]), (1, "brokers".to_owned()));
    let swept =
        BASE.replace("cases: [{size: 1KiB}, {size: 2KiB}]", "vary: {brokers: [1, 3], size: [100B, 200B]}");
    assert_eq!(reported(&swept, &[]), (1, "brokers".to_owned()));
    // By way of another param, which varies with it.
    let swept = swept.replace("params: {", "params: {m: = brokers, ");
    let swept = swept.replace("system: {brokers: $brokers}", "system: {brokers: $m}");
    assert_eq!(reported(&swept, &[]), (1, "brokers m".to_owned()));
    let without = swept.replace("system: {brokers: $m}\n", "");
    assert_eq!(reported(&without, &[]), (0, "m".to_owned()), "nothing to replace, and `m` is used nowhere");
}

#[test]
fn cases_that_do_the_same_are_refused() {
    let text = BASE.replace("params: {", "params: {batch: 16KiB, ");
    let vary = "vary: {batch: [16KiB, 64KiB]}";
    let swept = text.replace("cases: [{size: 1KiB}, {size: 2KiB}]", vary);
    let refused = |text: &str| {
        let scenario = Scenario::parse(text, "s.yaml").unwrap();
        plan(&scenario, &Choices::default()).unwrap_err()
    };
    let error = refused(&swept);
    assert_eq!(error.to_string(), "s.yaml:9:8: cases 1 and 2 do the same; `batch` is used nowhere");
    assert_eq!(error.hint.as_deref(), Some("insert it with `$batch` where it belongs"));
    let literal = swept.replace("value: $size", "value: $size, client: {batch.size: 16KiB}");
    assert_eq!(refused(&literal).hint.as_deref(), Some("did you mean `batch.size: $batch`?"));
    let forgotten = swept.replace("value: $size", "value: $size, client: {batch.size: batch}");
    assert_eq!(refused(&forgotten).hint.as_deref(), Some("did you mean `batch.size: $batch`?"));
    // Cases 1 and 2 differ, 1 and 3 do not.
    let third = text.replace(
        "cases: [{size: 1KiB}, {size: 2KiB}]",
        "cases: [{size: 1KiB}, {size: 2KiB}, {size: 1KiB, batch: 64KiB}]",
    );
    assert!(refused(&third).message.starts_with("cases 1 and 3 do the same"), "{}", refused(&third));

    // A name with values that differ is a label, and one value in two spellings compares a thing with itself.
    let named =
        text.replace("[{size: 1KiB}, {size: 2KiB}]", "[{size: 1KiB, batch: s}, {size: 2KiB, batch: l}]");
    assert_eq!(labels(&made(&named)), ["1 KiB batch=s", "2 KiB batch=l"]);
    let same = BASE.replace("[{size: 1KiB}, {size: 2KiB}]", "[{size: 1KiB}, {size: 1024B}]");
    assert_eq!(made(&same).cases.len(), 2);
    // With a target the params of its system are labels.
    let target = TargetFile::parse(TARGET, "t.yaml").unwrap().resolve(None).unwrap();
    assert_eq!(
        choose(&swept, &Choices { target: Some(target), ..Choices::default() }).unwrap().cases.len(),
        2
    );
}

#[test]
fn references_to_secrets_in_a_stored_plan_are_not_followed() {
    let with = |reference: SecretRef| {
        let mut plan = made(BASE);
        plan.cases[1].secrets.insert("pw".to_owned(), reference);
        plan
    };
    assert_eq!(check_stored(&made(BASE)), Ok(()));
    assert_eq!(check_stored(&with(SecretRef::Made)), Ok(()));
    for (reference, named) in [
        (SecretRef::Env("HOME".to_owned()), "an environment variable"),
        (SecretRef::File("/etc/shadow".into()), "a file"),
        (SecretRef::Exec(vec!["rm".to_owned()]), "a command"),
    ] {
        let reported = check_stored(&with(reference)).unwrap_err().to_string();
        assert!(reported.contains(&format!("takes secret `pw` from {named}")), "{reported}");
    }
    // Facts of a run on a target are the target's own, and it names none.
    let target = TargetFile::parse(TARGET, "t.yaml").unwrap().resolve(None).unwrap();
    let mut stored = choose(BASE, &Choices { target: Some(target.clone()), ..Choices::default() }).unwrap();
    stored.cases[0].secrets.insert("pw".to_owned(), SecretRef::Exec(vec!["rm".to_owned()]));
    retarget(&mut stored, std::slice::from_ref(&target)).unwrap();
    assert!(stored.cases.iter().all(|case| case.secrets.is_empty()));
}

/// Times count from the beginning of the measure phase; what comes after an item comes when that ends.
#[test]
fn load_items_come_and_go() {
    let text = BASE.replace(
        "  writers: {produce: t, clients: $clients, rate: $rate, value: $size}\n",
        "  writers: {produce: t, clients: $clients, rate: $rate, value: $size, until: 4s}\n  \
           late: {produce: t, rate: 100/s, value: 100B, after: writers}\n  \
           readers: {consume: t, at: 2500ms, until: 10s}\n",
    );
    let plan = choose(&text, &set(&[("size", "100B")])).unwrap();
    let case = &plan.cases[0];
    let span = |item: &str| (case.load[item].span.at_ns, case.load[item].span.until_ns);
    let s = 1_000_000_000;
    assert_eq!(span("writers"), (None, Some(4 * s)));
    assert_eq!(span("late"), (Some(4 * s), None));
    assert_eq!(span("readers"), (Some(5 * s / 2), Some(10 * s)));
    // Writers in the warm-up and for four seconds, the late ones for six.
    assert_eq!(volume_bytes(&plan), Some(9 * 1_000 * 100 + 6 * 100 * 100));
    // What conditions a cluster has all of them at once.
    let conditioned = choose(&text.replace("condition: none, ", ""), &set(&[("size", "100B")])).unwrap();
    let Next::Trial(first) = next(&conditioned, &[], 1) else { panic!("a trial") };
    assert!(first.is_conditioning() && first.effective.load.values().all(|item| item.span.is_whole()));
}
