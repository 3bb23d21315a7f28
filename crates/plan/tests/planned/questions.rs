//! Comparisons, claims and budgets by hand: what the plan makes of them, and what is refused.

use crate::common::{BASE, MINUTE_NS, asking, compared, comparing, facts, planned, release, target};
use kdyno_model::plan::{
    Better, ClaimExpr, ClaimOp, Conditioning, EvidenceUnit, Mode, Role, Strategy, SystemPlan, WarmupAuto,
};
use kdyno_model::version::NEWEST;
use kdyno_plan::{
    CaseTarget, Choices, CompareChoices, FindChoices, PlanQuestion, SideChange, SideChoices, retarget,
};
use kdyno_scenario::target::Target;

#[test]
fn sides_are_made_of_params_keys_of_the_system_and_paths() {
    let sides = |a: &str, b: &str| {
        let (plan, compare) = compared(BASE, &asking(comparing(&[a], &[b])));
        assert_eq!(compare.labels, [a, b].map(|side| side.trim_start_matches("system.")));
        (release(&plan.cases[0].system), release(&compare.b[0].system), compare.changes.join("; "))
    };
    let reported = |a: &str, b: &str, change: &str| (a.to_owned(), b.to_owned(), change.to_owned());
    assert_eq!(sides("kafka=3.9.1", "kafka=4.1.1"), reported("3.9.1", "4.1.1", "kafka: 3.9.1 → 4.1.1"));
    assert_eq!(
        sides("system.kafka=3.9.1", "home=/k"),
        reported("3.9.1", "home /k", "system.kafka: 3.9.1 → {home: /k}")
    );
    assert_eq!(
        sides("kafka=3.9.1", "source=/k"),
        reported("3.9.1", "source /k", "kafka: 3.9.1 → 3.7.2; system.kafka: 3.9.1 → {source: /k}")
    );
    let label = |b: &[&str]| compared(BASE, &asking(comparing(&[], b))).1.labels[1].clone();
    let paths = ["load.writers.client.linger.ms=0", "load.readers.client.fetch.min.bytes=9"];
    assert_eq!(label(&paths), "linger.ms=0, fetch.min.bytes=9");
    let alike =
        ["load.writers.client.request.timeout.ms=9000", "load.readers.client.request.timeout.ms=9000"];
    assert_eq!(label(&alike), alike.join(", "), "both would be called the same");
    let (plan, compare) = compared(BASE, &asking(comparing(&["mode=zookeeper"], &["mode=kraft"])));
    let efficiency = compare.judge[0].of.to_string();
    assert_eq!(efficiency, "system.cpu_us_per_record", "brokers do in one mode what others do in the other");
    let mode = |system: &SystemPlan| match system {
        SystemPlan::Local(cluster) => cluster.mode,
        other => panic!("local: {other:?}"),
    };
    assert_eq!(mode(&plan.cases[0].system), Mode::Zookeeper { nodes: 1 });
    assert_eq!(mode(&compare.b[0].system), Mode::KraftCombined);

    let one = comparing(&[], &["load.writers.client.linger.ms=0", "system.config.num.io.threads=4"]);
    let (plan, compare) = compared(BASE, &asking(one));
    assert_eq!(compare.labels[0], "unchanged");
    let linger = |plan: &kdyno_model::plan::CasePlan| match &plan.load["writers"].role {
        Role::Produce(produce) => produce.client.linger_ns,
        Role::Consume(_) | Role::EndToEnd(_) => panic!("writers produce"),
    };
    assert_eq!((linger(&plan.cases[0]), linger(&compare.b[0])), (5_000_000, 0));
    let expected = ["load.writers.client.linger.ms: not set → 0", "system.config.num.io.threads: 8 → 4"];
    assert_eq!(compare.changes, expected);
}

#[test]
fn a_patch_file_and_the_scenarios_own_sides_are_laid_over() {
    let patch = |text: &str| SideChange::Patch { file: "p.yaml".to_owned(), text: text.to_owned() };
    let with = |text: &str| {
        let b = SideChoices { changes: vec![patch(text)], ..SideChoices::default() };
        asking(CompareChoices { b, ..CompareChoices::default() })
    };
    let (_, compare) = compared(BASE, &with("params: {kafka: 4.1.1}\nload: {writers: {value: 2KiB}}\n"));
    assert_eq!(compare.labels, ["unchanged", "@p.yaml"]);
    assert_eq!(compare.changes, ["kafka: 3.7.2 → 4.1.1", "load.writers.value: 1KiB → 2KiB"]);
    let refused = |text: &str| planned(BASE, &with(text)).unwrap_err();
    assert!(refused("{}").starts_with("`--b @p.yaml`: the patch changes nothing"), "{}", refused("{}"));
    assert!(
        refused("load: {x: {rate: 1/s}}")
            .contains("the scenario has no `x` under `load` | allowed here: `writers`")
    );
    assert!(
        refused("params: {kafak: 1}")
            .contains("`kafak` is not a param of this scenario | did you mean `kafka`?")
    );
    assert!(refused("a: [").starts_with("p.yaml:"), "{}", refused("a: ["));
    assert!(refused("[1]").contains("takes a map, not a list"), "{}", refused("[1]"));

    let own = format!(
        "{BASE}compare:\n  A: {{label: old $kafka}}\n  B: {{params: {{kafka: 4.1.1}}}}\n  may_differ: [log.dirs]\n  looks: [10, 20]\n  pairs_per_start: 2\n"
    );
    let (plan, compare) = compared(&own, &Choices::default());
    assert_eq!(compare.labels, ["old 3.7.2", "params: {kafka: 4.1.1}"]);
    assert_eq!(
        (release(&plan.cases[0].system), release(&compare.b[0].system)),
        ("3.7.2".into(), "4.1.1".into())
    );
    assert_eq!(
        (compare.looks, compare.pairs_per_start, compare.unit),
        (vec![10, 20], 2, EvidenceUnit::Start)
    );
    assert_eq!(compare.may_differ, ["log.dirs"]);
    // Both by hand take the place of its own; the rest stays.
    let (_, by_hand) = compared(&own, &asking(comparing(&["kafka=3.9.1"], &["kafka=3.8.1"])));
    assert_eq!((by_hand.changes.join(""), by_hand.looks), ("kafka: 3.9.1 → 3.8.1".to_owned(), vec![10, 20]));
}

#[test]
fn a_side_by_hand_leaves_the_other_one_as_the_scenario_has_it() {
    let own = format!(
        "{BASE}compare:\n  A: {{label: old $kafka}}\n  B: {{label: new $kafka, params: {{kafka: 4.1.1}}}}\n"
    );
    let sides = |a: &[&str], b: &[&str]| {
        let (plan, compare) = compared(&own, &asking(comparing(a, b)));
        (
            compare.labels,
            [release(&plan.cases[0].system), release(&compare.b[0].system)],
            compare.changes.join("; "),
        )
    };
    let reported = |labels: [&str; 2], releases: [&str; 2], change: &str| {
        (labels.map(str::to_owned), releases.map(str::to_owned), change.to_owned())
    };
    assert_eq!(
        sides(&["kafka=3.9.1"], &[]),
        reported(["kafka=3.9.1", "new 4.1.1"], ["3.9.1", "4.1.1"], "kafka: 3.9.1 → 4.1.1")
    );
    assert_eq!(
        sides(&[], &["kafka=3.9.1"]),
        reported(["old 3.7.2", "kafka=3.9.1"], ["3.7.2", "3.9.1"], "kafka: 3.7.2 → 3.9.1")
    );
    let error = planned(&own, &asking(comparing(&["kafka=4.1.1"], &[]))).unwrap_err();
    assert!(error.contains("sides A and B do the same"), "{error}");
}

#[test]
fn impossible_sides_are_refused_by_the_option_that_made_them() {
    let refused = |a: &[&str], b: &[&str]| planned(BASE, &asking(comparing(a, b))).unwrap_err();
    let cases = [
        (
            &[][..],
            &["kafak=1"][..],
            "`--b kafak=1`: `kafak` is neither a param nor a key of `system` | did you mean `kafka`?",
        ),
        (
            &["kafka=four"],
            &[],
            "`--a kafka=four`: `kafka`: `four` is not a Kafka version (used at s.yaml:5:17)",
        ),
        (&["load.wrters.rate=1/s"], &[], "did you mean `writers`?"),
        (&["phases.measure=1s"], &[], "`--a phases.measure=1s`: `phases` is the same on both sides"),
        (&[], &["mode=zookeeper", "kafka=4.1.1"], "`--b kafka=4.1.1`: "),
        (&[], &["load.writers.client.linger=1"], "`--b load.writers.client.linger=1`: "),
        (&["spare=2"], &["spare=3"], "sides A and B do the same | param `spare` is used nowhere"),
        (&["kafka=3.7.2"], &["system.kafka=3.7.2"], "sides A and B do the same | what they change"),
        (&[], &["kafka=3.7.2"], "sides A and B do the same"),
    ];
    for (a, b, part) in cases {
        let error = refused(a, b);
        assert!(error.contains(part), "{a:?} {b:?}: {error}");
    }
    let error = planned(BASE, &asking(CompareChoices::default())).unwrap_err();
    assert!(error.starts_with("s.yaml: the scenario has no `compare` | say what differs: `--a"), "{error}");
    let varied = format!("{BASE}vary: {{kafka: [3.7.2, 4.1.1]}}\n");
    let error = planned(&varied, &asking(comparing(&[], &["kafka=4.1.1"]))).unwrap_err();
    assert!(error.contains("side A has 2 cases, side B 1"), "{error}");
}

#[test]
fn untested_releases_are_reported_for_either_side() {
    let reported = |a: &str, b: &str| {
        let (facts, _) = facts(BASE, &asking(comparing(&[a], &[b])));
        facts.into_iter().filter(|fact| fact.starts_with("Kafka ")).collect::<Vec<_>>()
    };
    assert!(reported("kafka=3.7.2", "kafka=newest").is_empty());
    let [unknown, untested] = &reported("kafka=4.1.1", "kafka=3.7.9")[..] else { panic!("one of each side") };
    assert!(unknown.starts_with("Kafka 3.7.9 was no known release"), "{unknown}");
    assert!(untested.starts_with("Kafka 4.1.1 is not among the releases"), "{untested}");
    let client = |version: &str| format!("load.writers.client.version={version}");
    let of_clients = |a: &str, b: &str| {
        let text = BASE.replace("client: {acks: all}", "client: {driver: java}");
        let (facts, _) = facts(&text, &asking(comparing(&[&client(a)], &[&client(b)])));
        facts.into_iter().filter(|fact| fact.starts_with("Kafka ")).collect::<Vec<_>>()
    };
    let [unknown] = &of_clients("3.9.2", "9.9.9")[..] else { panic!("the client of one side") };
    assert!(unknown.starts_with("Kafka 9.9.9 was no known release"), "{unknown}");
}

#[test]
fn the_same_on_both_sides_is_meant_when_it_is_typed_so() {
    let twice = asking(comparing(&["kafka=4.1.1"], &["kafka=4.1.1"]));
    let (plan, compare) = compared(BASE, &twice);
    assert_eq!(plan.cases, compare.b);
    assert!(compare.changes.is_empty());
    let (reported, warned) = facts(BASE, &twice);
    assert!(reported.iter().any(|fact| fact.contains("what chance alone does")), "{reported:?}");
    let is_known = |warning: &String| warning.contains("`spare`") || warning.contains("more than the margin");
    assert!(warned.iter().all(is_known), "{warned:?}");
    let different = asking(comparing(&["rate=1k/s"], &["rate=2k/s"]));
    let (_, warned) = facts(BASE, &different);
    assert!(warned.iter().any(|warning| warning.contains("offer `writers` different loads")), "{warned:?}");
}

#[test]
fn what_is_judged_is_as_said_or_the_usual() {
    let judged = |text: &str, judge: &[&str]| {
        let judge = judge.iter().map(ToString::to_string).collect();
        let ask = CompareChoices { judge, ..comparing(&[], &["kafka=4.1.1"]) };
        let plan = planned(text, &asking(ask))?;
        let Strategy::Compare(compare) = plan.strategy else { panic!("a comparison") };
        let one = |judge: &kdyno_model::plan::Judge| {
            let sign = if judge.better == Better::Lower { '-' } else { '+' };
            format!("{}{sign}{}", judge.of, judge.margin)
        };
        Ok::<_, String>(compare.judge.iter().map(one).collect::<Vec<_>>().join(" "))
    };
    let usual = "brokers.cpu_us_per_record-0.03 writers.response.p50-0.1 writers.response.p99-0.1";
    assert_eq!(judged(BASE, &[]).unwrap(), usual);
    let closed = BASE.replace("rate: 1k/s,", "rate: max,");
    assert_eq!(judged(&closed, &[]).unwrap(), "brokers.cpu_us_per_record-0.03 writers.acked_per_s+0.03");
    let by_hand = ["writers.response.p99.9:20%", "writers.acked_per_s", "readers.lag_time:5%"];
    let reported = "writers.response.p99.9-0.2 writers.acked_per_s+0.03 readers.lag_time-0.05";
    assert_eq!(judged(BASE, &by_hand).unwrap(), reported);
    let error = judged(BASE, &["writers.p99:3%"]).unwrap_err();
    assert!(error.starts_with("`--judge writers.p99:3%`: `p99` is not a metric"), "{error}");
    assert!(judged(BASE, &["writers.acked_per_s:3"]).unwrap_err().contains("is not a share in percent"));
    assert!(judged(BASE, &["writers.acked_per_s:100%"]).unwrap_err().contains("below 100%"));
    assert!(judged(BASE, &["writers.clients"]).unwrap_err().contains("which direction"));
    assert!(judged(BASE, &["writers.acked_per_s"; 2]).unwrap_err().contains("judged twice"));
}

#[test]
fn a_scenario_may_compare_and_search() {
    let both = format!(
        "{BASE}vary: {{kafka: [3.7.2, 4.1.1]}}\nfind: {{highest: writers.rate, while: [writers.response.p99 <= 20ms]}}\n\
         compare:\n  A: {{}}\n  B: {{load: {{writers: {{value: 2KiB}}}}}}\n"
    );
    let asked = |ask: PlanQuestion| planned(&both, &Choices { ask, ..Choices::default() }).unwrap().strategy;
    assert!(matches!(asked(PlanQuestion::Scenario), Strategy::List(list) if list.len() == 2), "its cases");
    let compare = asked(PlanQuestion::Compare(CompareChoices::default()));
    assert!(matches!(compare, Strategy::Compare(of) if of.changes == ["load.writers.value: 1KiB → 2KiB"]));
    let find =
        asked(PlanQuestion::Find(FindChoices { side: Some("A".to_owned()), ..FindChoices::default() }));
    assert!(matches!(find, Strategy::Find(of) if of.item == "writers"));
    let (reported, _) = facts(&both, &Choices::default());
    assert!(reported.iter().any(|fact| fact.contains("here its cases are run")), "{reported:?}");
    // Sides by hand do not ask for its search.
    let search = format!("{BASE}find: {{highest: writers.rate, while: [writers.response.p99 <= 20ms]}}\n");
    let by_hand = planned(&search, &asking(comparing(&[], &["kafka=4.1.1"]))).unwrap();
    assert!(matches!(by_hand.strategy, Strategy::Compare(_)));
    assert!(matches!(planned(&search, &Choices::default()).unwrap().strategy, Strategy::Find(_)));
}

#[test]
fn targets_are_chosen_by_side_and_by_case() {
    let sides = CompareChoices {
        a: SideChoices { target: Some(target("one", "")), ..SideChoices::default() },
        b: SideChoices { target: Some(target("two", "")), ..SideChoices::default() },
        ..CompareChoices::default()
    };
    let (plan, compare) = compared(BASE, &asking(sides));
    assert_eq!((release(&plan.cases[0].system), release(&compare.b[0].system)), ("one".into(), "two".into()));
    assert_eq!((compare.unit, compare.pairs_per_start), (EvidenceUnit::Pair, 24), "nothing is started anew");
    assert_eq!(
        (compare.changes, compare.labels),
        (vec!["target: one → two".to_owned()], ["one".into(), "two".into()])
    );
    assert_eq!(plan.targets().len(), 2);
    // A stored plan is put on both again, each side by its cluster's id.
    let mut stored = plan.clone();
    let moved = |name: &str| {
        let mut moved = target(name, "");
        moved.attached.bootstrap = vec![format!("{name}:9093")];
        moved
    };
    retarget(&mut stored, &[moved("two"), moved("one")]).unwrap();
    let addresses: Vec<_> = stored.targets().into_iter().map(|of| of.bootstrap.join(",")).collect();
    assert_eq!(addresses, ["one:9093", "two:9093"]);
    let refused = |targets: &[Target]| retarget(&mut plan.clone(), targets).unwrap_err().to_string();
    let error = refused(&[moved("one")]);
    assert!(error.contains("the run also used target `two`, cluster id id-of-two"), "{error}");
    let error = refused(&[moved("one"), moved("two"), moved("three")]);
    assert!(error.contains("the run used cluster id id-of-one and id-of-two, target `three`"), "{error}");

    let text = format!("{BASE}vary: {{rate: [1k/s, 2k/s]}}\n");
    let named = |cases: &[(&str, &str)], target: Target| CaseTarget {
        cases: cases.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        target,
    };
    let with = |targets: Vec<CaseTarget>| planned(&text, &Choices { targets, ..Choices::default() });
    let both =
        vec![named(&[("rate", "1000/s")], target("one", "")), named(&[("rate", "2k/s")], target("two", ""))];
    let plan = with(both.clone()).unwrap();
    assert_eq!(plan.cases.iter().map(|case| release(&case.system)).collect::<Vec<_>>(), ["one", "two"]);
    assert!(with(both[..1].to_vec()).unwrap_err().contains("no target was named for case `2k/s`"));
    let misspelt = vec![named(&[("rat", "1k/s")], target("one", ""))];
    assert!(with(misspelt).unwrap_err().contains("did you mean `rate`?"));
    // Each target's caps hold for what it gets.
    let small = "guard: {caps: {partitions: 1}}\n";
    let error = with(vec![both[0].clone(), named(&[], target("two", small))]).unwrap_err();
    assert!(error.contains("target `two`: the run has 2 partitions at once"), "{error}");
}

#[test]
fn the_newest_release_is_called_by_its_number() {
    let (_, compare) = compared(BASE, &asking(comparing(&["kafka=3.7.2"], &["kafka=newest"])));
    assert_eq!(compare.labels, ["kafka=3.7.2".to_owned(), format!("kafka={NEWEST}")]);
    assert_eq!(compare.changes, [format!("kafka: 3.7.2 → {NEWEST}")]);
    // A word that contains it is another word.
    let own = format!(
        "{BASE}compare:\n  A: {{}}\n  B: {{label: \"newest, not newestish\", params: {{kafka: newest}}}}\n"
    );
    let (_, compare) = compared(&own, &Choices::default());
    assert_eq!(compare.labels[1], format!("{NEWEST}, not newestish"));
}

#[test]
fn warm_ups_end_by_themselves_between_their_bounds() {
    let phases = |warmup: &str, rate: &str| {
        let text = BASE.replace("warmup: 5s", &format!("warmup: {warmup}")).replace("rate: 1k/s", rate);
        planned(&text, &Choices::default()).unwrap().cases[0].phases
    };
    let auto =
        |least: u64, records_min: u64| Some(WarmupAuto { least_ns: least * 1_000_000_000, records_min });
    let reported = phases("auto", "rate: 1k/s");
    assert_eq!((reported.warmup_ns, reported.warmup_auto), (MINUTE_NS, auto(5, 20_000)));
    assert_eq!(
        phases("10s..20s", "rate: 1k/s").warmup_auto,
        auto(10, 10_000),
        "half of what is offered at most"
    );
    assert_eq!(phases("10s..20s", "rate: max").warmup_auto, auto(10, 20_000));
    assert_eq!(phases("7s", "rate: 1k/s").warmup_auto, None);
    let conditioning = |text: &str| {
        planned(&BASE.replace("condition: 20s..50s, ", text), &Choices::default()).unwrap().conditioning
    };
    let of = |least: u64, most: u64| {
        Some(Conditioning { least_ns: least * 1_000_000_000, most_ns: most * 1_000_000_000 })
    };
    assert_eq!(conditioning(""), of(20, 60));
    assert_eq!(conditioning("condition: 30s, "), of(30, 30));
    assert_eq!(conditioning("condition: none, "), None);
}

#[test]
fn claims_find_their_cases_or_are_not_tested() {
    let text = format!(
        "{BASE}vary: {{rate: [1k/s, 2k/s]}}\nprofiles: {{laptop: {{}}, one: {{rate: 3k/s, vary: {{kafka: [3.7.2, 4.1.1]}}}}}}\nexpect:\n  - {{claim: twice, that: 'writers.acked_per_s[rate=2000/s] >= 1.9 * writers.acked_per_s[rate=1k/s]'}}\n  - {{claim: newer, that: 'brokers.cpu_us_per_record[kafka=4.1.1] <= 40us'}}\n"
    );
    let plan = planned(&text, &Choices::default()).unwrap();
    let [claim] = plan.claims.as_slice() else { panic!("{:?}", plan.claims) };
    let case = |expr: &ClaimExpr| match expr {
        ClaimExpr::Metric { case, .. } => *case,
        other => panic!("{other:?}"),
    };
    assert_eq!((claim.text.as_str(), case(&claim.left)), ("twice", 1));
    let ClaimExpr::Product(factor, metric) = &claim.right else { panic!("{:?}", claim.right) };
    assert_eq!((&**factor, case(metric)), (&ClaimExpr::Number(1.9), 0));
    let (reported, _) = facts(&text, &Choices::default());
    let untested = "claim `newer` is not tested: profile laptop has no case with kafka=4.1.1";
    assert!(reported.iter().any(|fact| fact == untested), "{reported:?}");
    let other = Choices { profile: Some("one".to_owned()), ..Choices::default() };
    let plan = planned(&text, &other).unwrap();
    assert_eq!((plan.claims.len(), case(&plan.claims[0].left)), (1, 1));
    assert_eq!(plan.claims[0].right, ClaimExpr::Number(40.0));
    // They say nothing about a comparison's trials.
    let compare =
        Choices { ask: PlanQuestion::Compare(comparing(&[], &["mode=zookeeper"])), ..Choices::default() };
    assert!(planned(&text, &compare).unwrap().claims.is_empty());
    let (reported, _) = facts(&text, &compare);
    assert!(reported.iter().any(|fact| fact.contains("they are not judged here")), "{reported:?}");
}

#[test]
fn thresholds_are_of_each_case_and_judged_by_one_trial() {
    let text = BASE.to_owned()
        + "vary: {kafka: [3.7.2, 4.1.1]}\n\
           fail_if: [writers.response.p99 > 50ms, 'writers.acked_per_s[kafka=4.1.1] <= 900/s']\n\
           expect: [{claim: steady, that: 'writers.response.p99[kafka=3.7.2] <= 50ms'}]\n";
    let choices = Choices { fail_if: vec!["readers.fetched_per_s < 1/s".to_owned()], ..Choices::default() };
    let claims = planned(&text, &choices).unwrap().claims;
    let reported: Vec<_> =
        claims.iter().map(|claim| (claim.text.as_str(), claim.is_threshold, claim.op)).collect();
    let expected = [
        ("writers.response.p99 > 50ms (kafka=3.7.2)", true, ClaimOp::AtMost),
        ("writers.response.p99 > 50ms (kafka=4.1.1)", true, ClaimOp::AtMost),
        ("writers.acked_per_s[kafka=4.1.1] <= 900/s", true, ClaimOp::Greater),
        ("readers.fetched_per_s < 1/s (kafka=3.7.2)", true, ClaimOp::AtLeast),
        ("readers.fetched_per_s < 1/s (kafka=4.1.1)", true, ClaimOp::AtLeast),
        ("steady", false, ClaimOp::AtMost),
    ];
    assert_eq!(reported, expected);
    let case = |claim: usize| claims[claim].left.metrics().map(|(_, case)| case).collect::<Vec<_>>();
    assert_eq!([case(0), case(1), case(2)], [[0], [1], [1]]);
    let (reported, _) = facts(&text, &choices);
    let [warning] = reported.iter().filter(|one| one.contains("claim")).collect::<Vec<_>>()[..] else {
        panic!("{reported:?}")
    };
    assert!(
        warning.starts_with("claim `steady` cannot hold as planned") && warning.contains("3 repeats"),
        "{warning}"
    );
    let (reported, _) = facts(&(text + "repeat: 3\n"), &choices);
    assert!(!reported.iter().any(|one| one.contains("claim")), "{reported:?}");
}

#[test]
fn a_threshold_that_good_figures_fail_is_a_warning() {
    let warned = |text: &str| {
        let choices = Choices { fail_if: vec![text.to_owned()], ..Choices::default() };
        let (_, warnings) = facts(BASE, &choices);
        warnings.into_iter().find(|one| one.starts_with("fail_if "))
    };
    let expected = "fail_if `writers.response.p99 <= 50ms` fails the run when `writers.response.p99` is at most that much: \
                    did you mean `>`? What must hold is a claim (`expect`)";
    assert_eq!(warned("writers.response.p99 <= 50ms").as_deref(), Some(expected));
    for turned in
        ["writers.acked_per_s > 900/s", "900/s <= writers.acked_per_s", "50ms > writers.response.p99"]
    {
        assert!(warned(turned).is_some(), "{turned}");
    }
    let sensible =
        ["writers.response.p99 > 50ms", "50ms < writers.response.p99", "writers.acked_per_s < 900/s"];
    for text in sensible.into_iter().chain(["writers.acked_per_s > 2 * readers.fetched_per_s"]) {
        assert_eq!(warned(text), None, "{text}");
    }
}

#[test]
fn a_threshold_that_is_typed_twice_is_judged_once() {
    let text = format!("{BASE}fail_if: [writers.response.p99 > 50ms, writers.response.p50 <= 5ms]\n");
    let more = |typed: &str| {
        let choices = Choices { fail_if: vec![typed.to_owned()], ..Choices::default() };
        planned(&text, &choices).unwrap().claims.iter().map(|claim| claim.text.clone()).collect::<Vec<_>>()
    };
    let own = more("writers.response.p99 > 50ms");
    assert_eq!(own, ["writers.response.p99 > 50ms", "writers.response.p50 <= 5ms"]);
    for same in
        ["writers.response.p99 > 0.05s", "50000us < writers.response.p99", "writers.response.p99>50.0ms"]
    {
        assert_eq!(more(same), own, "{same}");
    }
    for other in
        ["writers.response.p99 >= 50ms", "writers.response.p99 > 51ms", "writers.response.p95 > 50ms"]
    {
        assert_eq!(more(other).len(), 3, "{other}");
    }
    let twice = Choices { fail_if: vec!["writers.response.p50 <= 0.005s".to_owned()], ..Choices::default() };
    let (_, warnings) = facts(&text, &twice);
    assert_eq!(warnings.iter().filter(|one| one.starts_with("fail_if ")).count(), 1, "{warnings:?}");
}

/// A case of another profile is no mistake of the scenario, but one of who names it by hand.
#[test]
fn thresholds_of_cases_that_the_profile_lacks_are_refused() {
    let text = format!(
        "{BASE}vary: {{kafka: [3.7.2, 4.1.1]}}\nprofiles: {{laptop: {{}}, one: {{vary: {{kafka: [3.7.2]}}}}}}\n\
         fail_if: ['writers.response.p99[kafka=4.1.1] > 50ms']\n"
    );
    let one = Choices { profile: Some("one".to_owned()), ..Choices::default() };
    assert!(planned(&text, &one).unwrap().claims.is_empty());
    let (_, warnings) = facts(&text, &one);
    assert!(
        warnings.iter().any(|one| one.contains("> 50ms` is not judged: profile one has no case")),
        "{warnings:?}"
    );
    let by_hand =
        Choices { fail_if: vec!["writers.response.p50[kafka=4.1.1] > 9ms".to_owned()], ..one.clone() };
    let refused = planned(&text, &by_hand).expect_err("nothing would judge it");
    assert!(refused.contains("profile one has no case with kafka=4.1.1"), "{refused}");
}

#[test]
fn thresholds_that_make_no_sense_are_refused_by_name() {
    let typed = |text: &str| {
        let choices = Choices { fail_if: vec![text.to_owned()], ..Choices::default() };
        planned(BASE, &choices).expect_err(text)
    };
    let unknown = typed("writers.response.p98 > 50ms");
    assert!(unknown.starts_with("`--fail-if writers.response.p98 > 50ms`: "), "{unknown}");
    assert!(typed("writers.response.p99").contains("where `<`, `<=`, `>` or `>=` belongs"));
    assert!(typed("1 > 2").contains("no metric is in the expression"));
    let elsewhere = typed("writers.response.p99[kafka=9.9.9] > 50ms");
    assert!(elsewhere.contains("`kafka` is never `9.9.9`"), "{elsewhere}");
    let of_itself = format!(
        "{BASE}fail_if: [writers.response.p99 > 50ms]\ncompare: {{A: {{label: a}}, B: {{label: b, system: {{kafka: 4.1.1}}}}}}\n"
    );
    let refused = planned(&of_itself, &Choices::default()).expect_err("a comparison has margins");
    assert!(refused.contains("`fail_if` is about the figures of a run of cases"), "{refused}");
    let mut compared = asking(comparing(&["kafka=3.9.1"], &["kafka=4.1.1"]));
    compared.fail_if = vec!["writers.response.p99 > 50ms".to_owned()];
    let refused = planned(BASE, &compared).expect_err("a comparison has margins");
    assert!(refused.contains("is about the figures of a run of cases"), "{refused}");
}
