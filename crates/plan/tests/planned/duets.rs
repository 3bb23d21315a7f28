//! Which comparisons run both sides at once, and which cannot.

use crate::common::{BASE, asking, compared, comparing, planned, target};
use kdyno_model::plan::{ClusterPlan, Depth, PairDesign, SystemPlan};
use kdyno_plan::{Choices, CompareChoices, SideChoices};

const SIDES: ([&str; 0], [&str; 1]) = ([], ["kafka=4.1.1"]);

fn releases(design: Option<PairDesign>) -> CompareChoices {
    CompareChoices { design, ..comparing(&SIDES.0, &SIDES.1) }
}

fn design_of(text: &str, ask: CompareChoices) -> PairDesign {
    compared(text, &asking(ask)).1.design
}

/// Why a requested duet cannot be.
fn refused(text: &str, ask: CompareChoices) -> String {
    planned(text, &asking(CompareChoices { design: Some(PairDesign::Duet), ..ask })).unwrap_err()
}

#[test]
fn sides_with_own_clusters_and_a_paced_load_run_as_a_duet() {
    assert_eq!(design_of(BASE, releases(None)), PairDesign::Duet);
    assert_eq!(design_of(BASE, releases(Some(PairDesign::Turns))), PairDesign::Turns);
    assert_eq!(design_of(BASE, releases(Some(PairDesign::Duet))), PairDesign::Duet);
    let quick = Choices { depth: Depth::Quick, ..asking(releases(None)) };
    assert_eq!(compared(BASE, &quick).1.design, PairDesign::Duet);
    let scenario = |design: &str| {
        format!("{BASE}compare: {{A: {{}}, B: {{params: {{kafka: 4.1.1}}}}, design: {design}}}\n")
    };
    let own = |design: &str| compared(&scenario(design), &Choices::default()).1.design;
    assert_eq!((own("turns"), own("duet")), (PairDesign::Turns, PairDesign::Duet));
    let by_hand = CompareChoices { design: Some(PairDesign::Duet), ..CompareChoices::default() };
    assert_eq!(design_of(&scenario("turns"), by_hand), PairDesign::Duet, "what is chosen by hand wins");
    let error = planned(&scenario("trio"), &Choices::default()).unwrap_err();
    assert!(error.contains("`design`") && error.contains("`trio`") && error.contains("duet"), "{error}");
}

#[test]
fn a_start_of_a_duet_has_two_pairs_unless_the_scenario_sets_it() {
    let pairs = |more: &str| {
        let text = format!("{BASE}compare: {{A: {{}}, B: {{params: {{kafka: 4.1.1}}}}{more}}}\n");
        compared(&text, &Choices::default()).1.pairs_per_start
    };
    assert_eq!((pairs(""), pairs(", design: turns")), (2, 1));
    assert_eq!((pairs(", pairs_per_start: 1"), pairs(", design: turns, pairs_per_start: 3")), (1, 3));
    assert_eq!(compared(BASE, &asking(releases(None))).1.pairs_per_start, 2);
}

#[test]
fn what_cannot_run_at_once_takes_turns_and_a_duet_is_refused() {
    let case = |text: &str, ask: CompareChoices, why: &str| {
        assert_eq!(design_of(text, ask.clone()), PairDesign::Turns, "{why}");
        let error = refused(text, ask);
        assert!(error.contains("both sides cannot run at once: ") && error.contains(why), "{error}");
        assert!(error.contains("`turns` runs them one after the other"), "{error}");
    };
    let max = BASE.replace("rate: $rate", "rate: max");
    case(&max, releases(None), "load item `writers` has no rate");
    let by_records = BASE.replace("measure: 10s", "measure: {records: 10k, within: 1m}");
    case(&by_records, releases(None), "load item `writers` ends by records");
    let consuming = BASE
        .replace("  writers: {produce: t, clients: 2, rate: $rate, value: 1KiB, client: {acks: all}}\n", "");
    case(
        &consuming.replace("params: {kafka: 3.7.2, rate: 1k/s, spare: 1}", "params: {kafka: 3.7.2}"),
        releases(None),
        "nothing is produced",
    );
    let on = |name: &str| SideChoices { target: Some(target(name, "")), ..SideChoices::default() };
    case(
        BASE,
        CompareChoices { a: on("one"), b: on("two"), ..CompareChoices::default() },
        "the processes of brokers elsewhere",
    );
    let several = |name: &str, more: &str| SideChoices { more_targets: vec![target(more, "")], ..on(name) };
    let ask =
        CompareChoices { a: several("one", "two"), b: several("three", "four"), ..CompareChoices::default() };
    case(BASE, ask, "each side has several targets");
    let mixed = format!("{BASE}vary: {{rate: [1k/s, max]}}\n");
    case(
        &mixed,
        releases(None),
        "load item `writers` has no rate, and each side would take what the other leaves of case rate=max",
    );
}

#[test]
fn sides_whose_drains_differ_run_at_once() {
    let timeouts = comparing(&[], &["load.writers.client.delivery.timeout.ms=90s", "kafka=4.1.1"]);
    let (_, plan) = compared(BASE, &asking(timeouts));
    assert_eq!(plan.design, PairDesign::Duet);
}

#[test]
fn a_refused_duet_of_a_scenario_has_its_place() {
    let max = BASE.replace("rate: $rate", "rate: max");
    let own = format!("{max}compare: {{A: {{}}, B: {{params: {{kafka: 4.1.1}}}}, design: duet}}\n");
    let error = planned(&own, &Choices::default()).unwrap_err();
    assert!(error.starts_with("s.yaml:11:55: both sides cannot run at once: load item `writers`"), "{error}");
}

/// A system compared with itself, or two settings of a client.
#[test]
fn sides_on_one_system_take_turns_unless_a_duet_is_requested() {
    let ask = |design| CompareChoices { design, ..comparing(&["rate=1k/s"], &["rate=2k/s"]) };
    let systems = |design| {
        let (whole, plan) = compared(BASE, &asking(ask(design)));
        (plan.design, whole.cases[0].system == plan.b[0].system, plan.b[0].system.clone())
    };
    let (design, is_shared, shared) = systems(None);
    assert_eq!((design, is_shared), (PairDesign::Turns, true));
    let (design, is_shared, own) = systems(Some(PairDesign::Duet));
    assert_eq!((design, is_shared), (PairDesign::Duet, false));
    // Nothing else distinguishes them.
    let (SystemPlan::Local(shared), SystemPlan::Local(own)) = (shared, own) else { panic!() };
    assert_eq!(own, ClusterPlan { is_second: true, ..shared });
    let alone =
        BASE.replace("{kafka: $kafka, mode: kraft, config: {num.io.threads: 8}}", "{kafka: null-broker}");
    let alone = alone.replace("  readers: {consume: t}\n", "");
    let (whole, plan) = compared(&alone, &asking(ask(Some(PairDesign::Duet))));
    assert_ne!(whole.cases[0].system, plan.b[0].system, "each client has a null broker of its own");
    let releases = compared(BASE, &asking(releases(None))).1;
    let SystemPlan::Local(cluster) = &releases.b[0].system else { panic!() };
    assert!(!cluster.is_second, "two releases differ anyway");
}
