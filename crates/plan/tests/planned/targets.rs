//! What targets bring into a plan: prices, windows that are long enough, several of them for one side.

use crate::common::{MINUTE_NS, planned, target};
use kdyno_model::plan::{ComparePlan, Depth, EvidenceUnit, Plan, Strategy, SystemPlan};
use kdyno_model::secret::SecretRef;
use kdyno_plan::{
    CaseTarget, Choices, CompareChoices, FindChoices, PlanQuestion, Remark, SideChoices, estimate, plan,
    remarks, retarget, upcoming,
};
use kdyno_scenario::Scenario;
use kdyno_scenario::target::Target;

const BASE: &str = "\
kdyno: 1
id: base
question: how much?
params: {brokers: 3}
system: {brokers: $brokers}
topics: {t: {partitions: 2}}
load:
  writers: {produce: t, clients: 2, rate: 1k/s, value: 1KiB, client: {acks: all}}
phases: {warmup: 5s, measure: 10s}
";
const COST: &str = "brokers.cost_per_gb";

fn priced(name: &str, price: &str, currency: &str) -> Target {
    target(name, &format!("price: {{per_hour: {price}, currency: {currency}}}\n"))
}

fn on(target: Target) -> Choices {
    Choices { target: Some(target), ..Choices::default() }
}

fn comparing(a: Target, b: Target) -> Choices {
    let side = |target| SideChoices { target: Some(target), ..SideChoices::default() };
    let ask = CompareChoices { a: side(a), b: side(b), ..CompareChoices::default() };
    Choices { ask: PlanQuestion::Compare(ask), ..Choices::default() }
}

/// How often the cost is among the columns of a plan's table, as its last one.
fn costs(plan: &Plan) -> usize {
    let columns: Vec<String> = plan.show.columns.iter().map(ToString::to_string).collect();
    let count = columns.iter().filter(|column| *column == COST).count();
    // Costs of a GB and of a million records come last.
    let last: Vec<&String> = columns.iter().rev().take(2).rev().collect();
    assert!(count == 0 || last == [COST, "brokers.cost_per_million_records"], "{columns:?}");
    count
}

#[test]
fn a_table_over_targets_has_costs_where_one_declares_a_price() {
    assert_eq!(costs(&planned(BASE, &Choices::default()).unwrap()), 0);
    assert_eq!(costs(&planned(BASE, &on(target("free", ""))).unwrap()), 0);
    assert_eq!(costs(&planned(BASE, &on(priced("paid", "4.32", "USD"))).unwrap()), 1);
    let named = format!("{BASE}show: {{columns: [writers.acked_per_s, {COST}]}}\n");
    assert_eq!(costs(&planned(&named, &on(priced("paid", "4.32", "USD"))).unwrap()), 1, "not twice");

    let text = format!("{BASE}vary: {{brokers: [3, 6]}}\n");
    let of = |brokers: &str, target: Target| CaseTarget {
        cases: vec![("brokers".to_owned(), brokers.to_owned())],
        target,
    };
    let table = |three: Target, six: Target| {
        planned(&text, &Choices { targets: vec![of("3", three), of("6", six)], ..Choices::default() })
    };
    let plan = table(target("three", ""), priced("six", "8", "USD")).unwrap();
    assert_eq!(costs(&plan), 1, "the other row has none");
    let error = table(priced("three", "4", "USD"), priced("six", "8", "EUR")).unwrap_err();
    assert!(error.contains("target `three` declares its price in USD, target `six` in EUR"), "{error}");
}

#[test]
fn a_comparison_has_costs_where_both_sides_have_a_price() {
    let costs_of = |a: Target, b: Target| planned(BASE, &comparing(a, b)).map(|plan| costs(&plan));
    assert_eq!(costs_of(priced("a", "1", "USD"), priced("b", "2", "USD")), Ok(1));
    assert_eq!(costs_of(priced("a", "1", "USD"), target("b", "")), Ok(0), "a ratio needs both");
    assert!(costs_of(priced("a", "1", "USD"), priced("b", "2", "EUR")).is_err());
    let judged = Choices {
        ask: PlanQuestion::Compare(CompareChoices {
            judge: vec![format!("{COST}:5%")],
            ..match comparing(priced("a", "1", "USD"), priced("b", "2", "USD")).ask {
                PlanQuestion::Compare(ask) => ask,
                _ => unreachable!("it compares"),
            }
        }),
        ..Choices::default()
    };
    let Strategy::Compare(compare) = planned(BASE, &judged).unwrap().strategy else { panic!("a comparison") };
    assert_eq!((compare.judge[0].better.to_string(), compare.judge[0].margin), ("lower".to_owned(), 0.05));
}

#[test]
fn existing_topics_do_not_count_towards_the_partition_cap() {
    let guard = "guard: {allow: [existing-topics], caps: {partitions: 1}}\n";
    assert!(planned(BASE, &on(target("there", guard))).unwrap_err().contains("has 2 partitions at once"));
    let choices = on(target("there", &format!("topics: {{t: team-a.load, unused: x}}\n{guard}")));
    let plan = planned(BASE, &choices).unwrap();
    let notes = remarks(&Scenario::parse(BASE, "s.yaml").unwrap(), &choices, &plan).unwrap();
    let reported = |note: &&Remark| matches!(note, Remark::Fact(fact) if fact.contains("`t` is the existing topic `team-a.load` of target there"));
    assert_eq!(notes.iter().filter(reported).count(), 1, "{notes:?}");
    assert!(!format!("{notes:?}").contains("unused"), "the scenario has no such topic: {notes:?}");
}

#[test]
fn two_topics_mapped_to_one_existing_topic_are_reported() {
    let text = BASE.replace("topics: {t:", "topics: {other: {partitions: 1}, t:");
    let reported = |topics: &str| {
        let guard = "guard: {allow: [existing-topics]}\n";
        let choices = on(target("there", &format!("topics: {topics}\n{guard}")));
        let plan = planned(&text, &choices).unwrap();
        let notes = remarks(&Scenario::parse(&text, "s.yaml").unwrap(), &choices, &plan).unwrap();
        notes.contains(&Remark::Warning(
            "target there has one topic, `team-a.load`, for `other`, `t`: their records mix".to_owned(),
        ))
    };
    assert!(reported("{t: team-a.load, other: team-a.load}"));
    assert!(!reported("{t: team-a.load, other: team-b.load}"));
}

/// Answers name a topic, and could be of either.
#[test]
fn two_topics_of_a_client_are_two_on_the_target() {
    let text = BASE.replace("topics: {t:", "topics: {other: {partitions: 2}, t:");
    let text = text.replace("produce: t", "produce: [t, other]");
    let there = |topics: &str| {
        let guard = "guard: {allow: [existing-topics]}\n";
        target("there", &format!("topics: {topics}\n{guard}"))
    };
    let one = || there("{t: team-a.load, other: team-a.load}");
    let why = "`other` and `t` of one client are one topic of the target: ";
    let error = planned(&text, &on(one())).unwrap_err();
    assert!(error.contains(why), "{error}");
    let mut stored = planned(&text, &on(there("{t: team-a.load, other: team-b.load}"))).unwrap();
    let error = retarget(&mut stored, &[one()]).unwrap_err().message;
    assert!(error.contains(why), "{error}");
}

#[test]
fn an_existing_topic_with_a_name_like_a_scenarios_topic_warns() {
    let text = BASE.replace("topics: {t:", "topics: {orders:").replace("produce: t,", "produce: orders,");
    let reported = |topics: &str| {
        let guard = "guard: {allow: [existing-topics]}\n";
        let choices = on(target("there", &format!("topics: {topics}\n{guard}")));
        let plan = planned(&text, &choices).unwrap();
        remarks(&Scenario::parse(&text, "s.yaml").unwrap(), &choices, &plan).unwrap()
    };
    let is_reported = |note: &Remark| matches!(note, Remark::Warning(text) if text.contains("for `order`, which the scenario does not have: did you mean `orders`"));
    assert!(reported("{order: team-a.load}").iter().any(is_reported));
    for fine in ["{orders: team-a.load, order: x}", "{payments: x}"] {
        assert!(!reported(fine).iter().any(|note| format!("{note:?}").contains("does not have")), "{fine}");
    }
}

/// They are sent as well as values, and a cap is for the cluster's sake.
#[test]
fn the_cap_on_what_is_produced_counts_keys_and_headers() {
    let records = "value: 100B, key: {uniform: {of: 100k}}, headers: {id: 1KiB}";
    let text = BASE.replace("value: 1KiB", records);
    let on_capped =
        |cap: &str| planned(&text, &on(target("there", &format!("guard: {{caps: {{produce: {cap}}}}}\n"))));
    // 1,135 B each.
    let error = on_capped("1MiB/s").unwrap_err();
    assert!(error.contains("the load produces up to 1.08 MiB/s"), "{error}");
    on_capped("1110KiB/s").unwrap();
}

#[test]
fn secrets_are_the_targets_also_when_a_stored_plan_is_run_again() {
    let mut there = target("there", "");
    there.secrets.insert("pw".to_owned(), SecretRef::Env("PW".to_owned()));
    let mut plan = planned(BASE, &on(there.clone())).unwrap();
    assert_eq!(plan.cases[0].secrets, there.secrets);
    there.secrets.insert("pw".to_owned(), SecretRef::Env("OTHER".to_owned()));
    retarget(&mut plan, &[there.clone()]).unwrap();
    assert_eq!(plan.cases[0].secrets, there.secrets);
}

#[test]
fn a_stored_plan_of_one_cluster_can_go_to_another() {
    let mut plan = planned(BASE, &on(target("there", ""))).unwrap();
    let mut mine = target("mine", "");
    mine.attached.cluster_id = "other".to_owned();
    let refused = retarget(&mut plan.clone(), std::slice::from_ref(&mine)).unwrap_err().to_string();
    assert!(refused.contains("target `mine` has other"), "{refused}");
    assert!(kdyno_plan::move_to(&mut plan, &mine).is_some());
    retarget(&mut plan, std::slice::from_ref(&mine)).unwrap();
    assert!(plan.targets().iter().all(|target| target.target == "mine"));
    assert_eq!(kdyno_plan::move_to(&mut plan, &mine), None, "it is there already");
    let mut local = planned(BASE, &Choices::default()).unwrap();
    assert_eq!(kdyno_plan::move_to(&mut local, &mine), None, "it starts a cluster of its own");
}

fn sustained(minutes: u64, choices: Choices) -> Choices {
    Choices { sustain_ns: Some(minutes * MINUTE_NS), ..choices }
}

fn sustain_of(plan: &Plan) -> Option<u64> {
    match &plan.cases[0].system {
        SystemPlan::Attached(target) => target.sustain_ns,
        _ => None,
    }
}

#[test]
fn windows_on_targets_last_as_long_as_is_asked_for() {
    let there = || on(target("there", ""));
    let plan = planned(BASE, &sustained(30, there())).unwrap();
    assert_eq!((plan.cases[0].phases.measure_ns, sustain_of(&plan)), (30 * MINUTE_NS, Some(30 * MINUTE_NS)));
    assert!(estimate(&plan).expected_ns > 30 * MINUTE_NS);
    let plan = planned(&BASE.replace("measure: 10s", "measure: 2h"), &sustained(30, there())).unwrap();
    assert_eq!(plan.cases[0].phases.measure_ns, 120 * MINUTE_NS, "it is never shortened");
    assert_eq!(sustain_of(&planned(BASE, &there()).unwrap()), None);

    let both = sustained(30, comparing(target("a", ""), target("b", "")));
    let Strategy::Compare(compare) = planned(BASE, &both).unwrap().strategy else { panic!("a comparison") };
    assert_eq!(compare.b[0].phases.measure_ns, 30 * MINUTE_NS);
    let scenario = Scenario::parse(BASE, "s.yaml").unwrap();
    let choices = sustained(30, there());
    let reported = remarks(&scenario, &choices, &planned(BASE, &choices).unwrap()).unwrap();
    assert!(
        reported.iter().any(|note| matches!(note, Remark::Fact(text) if text.contains("30 min"))),
        "{reported:?}"
    );
}

#[test]
fn what_cannot_be_sustained_is_refused() {
    let refused = |text: &str, choices: Choices| planned(text, &sustained(30, choices)).unwrap_err();
    assert!(refused(BASE, Choices::default()).contains("a cluster made for the run has no burst credits"));
    let records = BASE.replace("measure: 10s", "measure: {records: 500, within: 1m}");
    let error = refused(&records, on(target("there", "")));
    assert!(error.contains("--sustain: `writers` ends after") && error.contains("as a duration"), "{error}");
    let error = planned(BASE, &sustained(0, on(target("there", "")))).unwrap_err();
    assert!(error.contains("is no length of a window"), "{error}");
}

#[test]
fn a_search_sustains_what_confirms_its_answer() {
    let guard = "guard: {allow: [find], abort_if: [offline_partitions > 0]}\n";
    let ask = PlanQuestion::Find(FindChoices {
        highest: Some("writers.rate".to_owned()),
        conditions: vec!["writers.response.p99 <= 20ms".to_owned()],
        ..FindChoices::default()
    });
    let searching = |depth| {
        let choices = Choices { ask: ask.clone(), depth, ..on(target("there", guard)) };
        planned(BASE, &sustained(30, choices))
    };
    let Strategy::Find(search) = searching(Depth::Verdict).unwrap().strategy else { panic!("a search") };
    assert_eq!(search.confirm_ns, 30 * MINUTE_NS);
    assert!(search.trial_ns < 30 * MINUTE_NS, "those before it show where to look");
    assert!(searching(Depth::Quick).unwrap_err().contains("a quick look has no time for windows that long"));
}

#[test]
fn a_stored_plan_keeps_the_length_of_its_windows() {
    let mut plan = planned(BASE, &sustained(30, on(target("there", "")))).unwrap();
    retarget(&mut plan, &[priced("there", "4.32", "USD")]).unwrap();
    let SystemPlan::Attached(target) = &plan.cases[0].system else { panic!("attached") };
    assert_eq!((target.sustain_ns, target.price.is_some()), (Some(30 * MINUTE_NS), true));
}

/// Side A on clusters a1, a2 …, side B on b1, b2 …, with further keys of either's target files.
fn on_several(count: [usize; 2], keys: [&str; 2]) -> Choices {
    let side = |name: &str, count: usize, keys: &str| {
        let mut targets = (1..=count).map(|number| target(&format!("{name}{number}"), keys));
        SideChoices { target: targets.next(), more_targets: targets.collect(), ..SideChoices::default() }
    };
    let ask = CompareChoices {
        a: side("a", count[0], keys[0]),
        b: side("b", count[1], keys[1]),
        ..CompareChoices::default()
    };
    Choices { ask: PlanQuestion::Compare(ask), ..Choices::default() }
}

fn compared(choices: &Choices) -> (Plan, ComparePlan) {
    crate::common::compared(BASE, choices)
}

/// The clusters of a pair of trials, side A first.
fn clusters(plan: &Plan, at: usize) -> Vec<String> {
    let trials = upcoming(plan, 2 * at).take(2);
    let name = |system: &SystemPlan| match system {
        SystemPlan::Attached(target) => target.target.clone(),
        _ => "local".to_owned(),
    };
    trials.map(|trial| name(&trial.case.system)).collect()
}

#[test]
fn seven_clusters_of_each_side_are_the_units_of_a_verdict() {
    let versions = ["facts: {kafka: 3.7.2}\n", "facts: {kafka: 4.1.1}\n"];
    let (plan, compare) = compared(&on_several([7, 7], versions));
    assert_eq!((compare.unit, compare.looks.as_slice()), (EvidenceUnit::Cluster, &[7][..]));
    let six = compared(&on_several([6, 6], versions)).1;
    assert_eq!(six.unit, EvidenceUnit::Pair, "they tell none of two metrics by itself");
    assert_eq!(compare.labels, ["Kafka 3.7.2 (7 clusters)", "Kafka 4.1.1 (7 clusters)"]);
    assert_eq!(compare.changes, ["target: a1, a2, a3, a4, a5, a6, a7 → b1, b2, b3, b4, b5, b6, b7"]);
    assert_eq!(upcoming(&plan, 0).count(), 14, "one pair on each");
    assert_eq!([clusters(&plan, 0), clusters(&plan, 4)], [["a1", "b1"], ["a5", "b5"]]);
    let twice = BASE.to_owned() + "compare: {A: {}, B: {}, pairs_per_start: 2}\n";
    let plan = planned(&twice, &on_several([7, 7], ["", ""])).unwrap();
    assert_eq!(
        (upcoming(&plan, 0).count(), clusters(&plan, 8)),
        (28, vec!["a2".to_owned(), "b2".to_owned()])
    );
    let Strategy::Compare(compare) = &plan.strategy else { panic!("a comparison") };
    assert_eq!(compare.labels[0], "a1, a2, a3, a4, a5, a6, a7", "no version is declared");
}

#[test]
fn fewer_clusters_speak_of_themselves() {
    let choices = on_several([3, 3], ["facts: {kafka: 3.7.2}\n", "facts: {kafka: 4.1.1}\n"]);
    let (plan, compare) = compared(&choices);
    assert_eq!((compare.unit, compare.looks), (EvidenceUnit::Pair, vec![8, 16, 24]));
    assert_eq!(compare.labels, ["a1, a2, a3", "b1, b2, b3"]);
    assert_eq!([clusters(&plan, 0), clusters(&plan, 5)], [["a1", "b1"], ["a3", "b3"]]);
    let scenario = Scenario::parse(BASE, "s.yaml").unwrap();
    let reported = remarks(&scenario, &choices, &plan).unwrap();
    let says = |note: &Remark| matches!(note, Remark::Fact(text) if text.contains("about these clusters"));
    assert_eq!(reported.iter().filter(|note| says(note)).count(), 1, "{reported:?}");
}

#[test]
fn sides_have_as_many_clusters_each_of_its_own() {
    let refused = |choices: &Choices| planned(BASE, choices).unwrap_err();
    assert!(refused(&on_several([3, 2], ["", ""])).contains("side A has 3 targets, side B has 2"));
    assert!(refused(&on_several([3, 0], ["", ""])).contains("side B has 0"));
    let mut twice = on_several([2, 2], ["", ""]);
    if let PlanQuestion::Compare(ask) = &mut twice.ask {
        ask.b.more_targets = vec![target("a1", "")];
    }
    assert!(refused(&twice).contains("targets `a1` and `a1` are the same cluster"), "{}", refused(&twice));
    let short = Choices { budget_ns: Some(7 * MINUTE_NS), ..on_several([12, 12], ["", ""]) };
    let error = refused(&short);
    assert!(
        error.contains("each of 12 clusters of a side is a unit") && error.contains("smallest"),
        "{error}"
    );
    // Each target's caps hold, those of further ones too.
    let capped = "guard: {caps: {produce: 10KiB/s}}\n";
    let mut small = on_several([2, 2], ["", ""]);
    if let PlanQuestion::Compare(ask) = &mut small.ask {
        ask.b.more_targets = vec![target("b2", capped)];
    }
    assert!(refused(&small).contains("target `b2`: the load produces up to"));
}

#[test]
fn the_shortest_time_cap_of_all_clusters_is_the_reported_budget() {
    let scenario = Scenario::parse(BASE, "s.yaml").unwrap();
    let reported = |choices: &Choices| {
        let plan = planned(BASE, choices).unwrap();
        let cut = |note: Remark| match note {
            Remark::Fact(fact) if fact.contains(" allows ") => Some(fact),
            _ => None,
        };
        (compared(choices).1.looks, remarks(&scenario, choices, &plan).unwrap().into_iter().find_map(cut))
    };
    // A pair takes 38 s.
    let mut capped = on_several([2, 2], ["", ""]);
    assert_eq!(reported(&capped), (vec![8, 16, 24], None));
    if let PlanQuestion::Compare(ask) = &mut capped.ask {
        ask.b.more_targets = vec![target("b2", "guard: {caps: {time: 12m}}\n")];
    }
    let cut = "the target's cap on `time` allows a look after 8, 16 units of evidence, not after 8, 16, 24";
    assert_eq!(reported(&capped), (vec![8, 16], Some(cut.to_owned())));
    let shorter = Choices { budget_ns: Some(11 * MINUTE_NS), ..capped };
    let cut = "the budget allows a look after 8, 16 units of evidence, not after 8, 16, 24";
    assert_eq!(reported(&shorter), (vec![8, 16], Some(cut.to_owned())));
    // A cap that the whole run would not keep to is no mistake where the budget is shorter still.
    let text = BASE.to_owned() + "repeat: 10\n";
    let scenario = Scenario::parse(&text, "s.yaml").unwrap();
    let capped = target("one", "guard: {caps: {time: 3m}}\n");
    let choices = Choices { budget_ns: Some(2 * MINUTE_NS), ..on(capped) };
    let reported = remarks(&scenario, &choices, &plan(&scenario, &choices).unwrap()).unwrap();
    assert!(reported.contains(&Remark::Fact("the budget allows 6 of 10 repeats".to_owned())), "{reported:?}");
}

#[test]
fn a_quick_look_at_many_clusters_speaks_of_those_that_it_saw() {
    let reported = |clusters: usize, minutes: u64| {
        let (depth, budget_ns) = (Depth::Quick, Some(minutes * MINUTE_NS));
        let choices = Choices { depth, budget_ns, ..on_several([clusters; 2], ["", ""]) };
        let plan = planned(BASE, &choices).unwrap();
        let notes = remarks(&Scenario::parse(BASE, "s.yaml").unwrap(), &choices, &plan).unwrap();
        let of_clusters = |note: Remark| match note {
            Remark::Fact(fact) if fact.contains("clusters of each side") => Some(fact),
            _ => None,
        };
        notes.into_iter().filter_map(of_clusters).collect::<Vec<_>>()
    };
    let says = |seen: &str| {
        let about = "what it shows is about these, not about what runs on them";
        vec![format!("a quick look at {seen} clusters of each side: {about}")]
    };
    assert_eq!(reported(6, 10), says("6 of 6"));
    assert_eq!(reported(6, 2), says("3 of 6"));
    assert_eq!(reported(2, 10), says("2 of 2"));
    assert!(reported(1, 10).is_empty());
}
