//! Searches by hand and of a scenario: what the plan makes of them within a budget and on a target, and what is refused.

use crate::common::{BASE, MINUTE_NS, planned, release, target};
use kdyno_model::plan::{Arrivals, Depth, FindPlan, Plan, Rate, Role, Strategy, Vary};
use kdyno_plan::{Choices, FindChoices, PlanQuestion, Remark, estimate, remarks};
use kdyno_scenario::Scenario;

fn finding(find: FindChoices) -> Choices {
    Choices { ask: PlanQuestion::Find(find), ..Choices::default() }
}

fn by_hand(highest: &str, conditions: &[&str]) -> FindChoices {
    let conditions = conditions.iter().map(ToString::to_string).collect();
    FindChoices { highest: Some(highest.to_owned()), conditions, ..FindChoices::default() }
}

fn found(text: &str, choices: &Choices) -> (Plan, FindPlan) {
    let plan = planned(text, choices).unwrap();
    let Strategy::Find(search) = plan.strategy.clone() else { panic!("{:?}", plan.strategy) };
    (plan, search)
}

#[test]
fn a_search_by_hand_needs_no_section() {
    let ask = by_hand("writers.rate", &["writers.response.p99 <= 20ms", "0.1% >= writers.failed_share"]);
    let (plan, search) = found(BASE, &finding(ask.clone()));
    assert_eq!((search.item.as_str(), search.vary), ("writers", Vary::Rate));
    assert_eq!((search.from_per_s, search.to_per_s, search.within), (1_000.0, 10e6, 0.02));
    let limits: Vec<_> = search.conditions.iter().map(|it| (it.of.to_string(), it.limit)).collect();
    assert_eq!(
        limits,
        [("writers.response.p99".to_owned(), 20e6), ("writers.failed_share".to_owned(), 0.001)]
    );
    assert!(search.conditions.iter().all(|it| it.must_be == kdyno_model::plan::LimitSide::AtMost));
    assert_eq!((search.confirm_trials, plan.depth), (3, Depth::Verdict));
    let quick = Choices { depth: Depth::Quick, ..finding(ask.clone()) };
    let (plan, search) = found(BASE, &quick);
    assert_eq!((search.confirm_trials, search.within, plan.depth), (2, 0.05, Depth::Quick));

    // As fast as it goes becomes the first load.
    let closed = BASE.replace("rate: $rate", "rate: max");
    let (plan, search) = found(&closed, &finding(FindChoices { from: Some("5k/s".into()), ..ask.clone() }));
    let Role::Produce(produce) = &plan.cases[0].load["writers"].role else { panic!("writers produce") };
    let Rate::Open { pieces, arrivals } = &produce.rate else { panic!("paced") };
    assert_eq!((pieces[0].from_per_s, search.from_per_s, *arrivals), (5_000.0, 5_000.0, Arrivals::Poisson));

    let clients = by_hand("writers.clients", &["writers.response.p99 <= 20ms"]);
    let (_, search) = found(BASE, &finding(clients.clone()));
    assert_eq!(search.vary, Vary::Clients { per_client_per_s: 500.0 }, "a client's share of the item's rate");
    let each = FindChoices { each: Some("2k/s".into()), from: Some("5k/s".into()), ..clients.clone() };
    let (plan, search) = found(BASE, &finding(each));
    assert_eq!(search.vary, Vary::Clients { per_client_per_s: 2_000.0 });
    assert_eq!(plan.cases[0].load["writers"].clients, 3, "5k/s need three of 2k/s");
    let shares: Vec<u32> = plan.cases[0].workers[0].shares.iter().map(|share| share.client_count).collect();
    assert_eq!(shares, [1, 3]);
    let error = planned(&closed, &finding(clients)).unwrap_err();
    assert!(error.contains("`each` is needed"), "{error}");
}

#[test]
fn a_search_by_hand_that_cannot_be_is_refused() {
    let refused = |ask: FindChoices| planned(BASE, &finding(ask)).unwrap_err();
    let condition = &["writers.response.p99 <= 20ms"][..];
    assert!(refused(FindChoices::default()).contains("the scenario has no `find`, so `--highest` is needed"));
    assert!(refused(by_hand("writers.rate", &[])).contains("`--while` is needed"));
    assert!(refused(by_hand("wrters.rate", condition)).contains("did you mean `writers`?"));
    let two = BASE.replace("  readers:", "  audit: {produce: t, rate: 1/s, value: 1KiB}\n  readers:");
    for (typed, item) in [("writers", "writers"), ("wrters", "writers"), ("x", "audit")] {
        let error = planned(&two, &finding(by_hand(typed, condition))).unwrap_err();
        assert!(error.contains(&format!("write `{item}.rate` or `{item}.clients`")), "{typed}: {error}");
    }
    assert!(
        refused(by_hand("writers.rate", &["writers.p99 <= 20ms"]))
            .contains("did you mean `writers.response.p99`?")
    );
    let upside_down = FindChoices {
        from: Some("5k/s".into()),
        to: Some("2k/s".into()),
        ..by_hand("writers.rate", condition)
    };
    let error = refused(upside_down);
    assert!(
        error.contains("begins at 5,000/s, which is not below `to`, 2,000/s") && !error.contains(":0:"),
        "{error}"
    );
}

#[test]
fn a_condition_that_more_load_makes_easier_to_meet_is_refused() {
    let planned = |condition: &str| planned(BASE, &finding(by_hand("writers.rate", &[condition])));
    for easier in [
        "writers.acked_per_s >= 50k/s",
        "50k/s <= writers.achieved_per_s",
        "readers.fetched_per_s >= 50k/s",
        "writers.response.p99 >= 20ms",
        "writers.achieved_share <= 99%",
        "brokers.cpu_us_per_record <= 20",
        "system.records_per_s_per_core >= 1k/s",
    ] {
        let error = planned(easier).unwrap_err();
        assert!(error.contains("gets easier to meet the more load there is"), "{easier}: {error}");
    }
    for harder in [
        "writers.acked_per_s <= 50k/s",
        "writers.achieved_share >= 99%",
        "writers.linger.p50 <= 4ms",
        "brokers.cpu_percent <= 150",
        "readers.lag_time <= 1s",
    ] {
        assert!(planned(harder).is_ok(), "{harder}");
    }
}

#[test]
fn a_condition_that_leaves_its_limit_out_is_refused() {
    let refused =
        |condition: &str| planned(BASE, &finding(by_hand("writers.rate", &[condition]))).unwrap_err();
    let error = refused("writers.failed_share < 0.1%");
    assert!(
        error.contains("leaves its limit out") && error.contains("write `writers.failed_share <= 0.1%`"),
        "{error}"
    );
    assert!(refused("20ms > writers.response.p99").contains("write `20ms >= writers.response.p99`"));
}

#[test]
fn a_budget_makes_a_search_a_quick_look() {
    let ask = by_hand("writers.rate", &["writers.response.p99 <= 20ms"]);
    let with = |minutes: u64| Choices { budget_ns: Some(minutes * MINUTE_NS), ..finding(ask.clone()) };
    let (plan, search) = found(BASE, &with(40));
    assert_eq!((plan.depth, search.confirm_trials), (Depth::Verdict, 3));
    assert_eq!(plan.budget_ns, Some(40 * MINUTE_NS), "no trial begins that might end after it");
    let (plan, search) = found(BASE, &with(12));
    assert_eq!((plan.depth, search.confirm_trials, search.trials_max), (Depth::Quick, 2, 16));
    // Then it has fewer trials, and a single one confirms.
    let (plan, search) = found(BASE, &with(6));
    assert_eq!((plan.depth, search.confirm_trials, search.trials_max), (Depth::Quick, 1, 9));
    assert!(estimate(&plan).longest_ns <= 6 * MINUTE_NS);
    let scenario = Scenario::parse(BASE, "s.yaml").unwrap();
    let reported = remarks(&scenario, &with(12), &found(BASE, &with(12)).0).unwrap();
    assert!(
        reported.contains(&Remark::Fact("the budget allows a quick look: short trials".to_owned())),
        "{reported:?}"
    );
    assert!(planned(BASE, &with(1)).unwrap_err().contains("too small for a search"));
}

#[test]
fn a_quick_look_has_ten_minutes_however_long_the_budget_is() {
    let ask = by_hand("writers.rate", &["writers.response.p99 <= 20ms"]);
    let quick = |text: &str, minutes: Option<u64>| {
        let budget_ns = minutes.map(|minutes| minutes * MINUTE_NS);
        let choices = Choices { budget_ns, depth: Depth::Quick, ..finding(ask.clone()) };
        let (plan, search) = found(text, &choices);
        assert_eq!(plan.depth, Depth::Quick);
        let bound_ns = minutes.unwrap_or(10).min(10) * MINUTE_NS;
        assert_eq!(plan.budget_ns, Some(bound_ns), "no trial begins that might end after it");
        (search.confirm_trials, search.trials_max, estimate(&plan).longest_ns <= bound_ns)
    };
    // Long trials, which the sections may ask for, leave fewer of them.
    let long =
        format!("{BASE}find: {{highest: writers.rate, while: [writers.response.p99 <= 20ms], trial: 40s}}\n");
    let cut = quick(&long, None);
    assert!(cut.1 < 16 && cut.2, "{cut:?}");
    assert_eq!(quick(&long, Some(45)), cut);
    assert_eq!(quick(&format!("{long}budget: 8h\n"), None), cut);
    assert_eq!(quick(BASE, Some(45)), (2, 16, true));
    assert_eq!(quick(BASE, Some(6)).1, 9, "a shorter one counts");
    // The least that there is takes more: it has so long, and no longer.
    let longer =
        format!("{BASE}find: {{highest: writers.rate, while: [writers.response.p99 <= 20ms], trial: 5m}}\n");
    let choices = Choices { depth: Depth::Quick, ..finding(ask.clone()) };
    let (plan, search) = found(&longer, &choices);
    assert_eq!(search.confirm_trials, 1);
    assert!(estimate(&plan).longest_ns > 10 * MINUTE_NS);
    assert_eq!(plan.budget_ns, Some(estimate(&plan).longest_ns));
}

#[test]
fn a_search_on_a_target_must_be_allowed_and_know_when_to_stop() {
    let ask = by_hand("writers.rate", &["writers.response.p99 <= 20ms"]);
    let on = |guard: &str| {
        let choices = Choices { target: Some(target("staging", guard)), ..finding(ask.clone()) };
        planned(BASE, &choices)
    };
    assert!(on("").unwrap_err().contains("name `find` under `guard.allow`"));
    assert!(on("guard: {allow: [find]}\n").unwrap_err().contains("the target has no `abort_if`"));
    let allowed = "guard: {allow: [find], abort_if: [offline_partitions > 0]}\n";
    let plan = on(allowed).unwrap();
    assert_eq!(plan.conditioning, None, "somebody else's cluster is not conditioned");
    // The cap is the end of the range, less what other items send; who wants more is refused.
    let capped = allowed.replace("allow:", "caps: {produce: 10MiB/s}, allow:");
    let Strategy::Find(search) = on(&capped).unwrap().strategy else { panic!("a search") };
    assert_eq!(search.to_per_s, 10_240.0);
    let with_others =
        BASE.replace("  readers:", "  others: {produce: t, rate: 2k/s, value: 1KiB}\n  readers:");
    let to = |to: Option<&str>| {
        let ask = FindChoices { to: to.map(str::to_owned), ..ask.clone() };
        planned(&with_others, &Choices { target: Some(target("staging", &capped)), ..finding(ask) })
    };
    let Strategy::Find(search) = to(None).unwrap().strategy else { panic!("a search") };
    assert_eq!(search.to_per_s, 8_240.0);
    let error = to(Some("9k/s")).unwrap_err();
    assert!(error.contains("may go up to 10.7 MiB/s") && error.contains("`to: 8240/s` at most"), "{error}");
    let small = capped.replace("10MiB/s", "1000KiB/s");
    let error = on(&small).unwrap_err();
    assert!(
        error.contains("begins at 1,000/s") && error.contains("the target's cap on `produce` allows no more"),
        "{error}"
    );
    // Its cap on the disk holds for the longest search at the highest load.
    let disk = allowed.replace("allow:", "caps: {produce: 10MiB/s, disk: 1GiB}, allow:");
    assert!(
        on(&disk).unwrap_err().contains("each may run at the highest load"),
        "{}",
        on(&disk).unwrap_err()
    );
}

#[test]
fn a_search_measures_one_side_of_a_scenario_that_compares() {
    let own = format!("{BASE}compare:\n  A: {{label: old $kafka}}\n  B: {{params: {{kafka: 4.1.1}}}}\n");
    let ask = by_hand("writers.rate", &["writers.response.p99 <= 20ms"]);
    let of = |side: Option<&str>| {
        planned(&own, &finding(FindChoices { side: side.map(str::to_owned), ..ask.clone() }))
    };
    let system = |side| release(&of(Some(side)).unwrap().cases[0].system);
    assert_eq!((system("A"), system("B")), ("3.7.2".to_owned(), "4.1.1".to_owned()));
    let error = of(None).unwrap_err();
    assert!(error.contains("compares two sides, and a search measures one"), "{error}");
    assert!(error.contains("`--side A` is old 3.7.2, `--side B` is params: {kafka: 4.1.1}"), "{error}");
    assert!(of(Some("C")).unwrap_err().contains("`C` is no side"));
    // On a target both sides are the same cluster.
    let allowed = "guard: {allow: [find], abort_if: [offline_partitions > 0]}\n";
    let on = Choices { target: Some(target("staging", allowed)), ..finding(ask.clone()) };
    assert!(planned(&own, &on).is_ok());
    let error = planned(BASE, &finding(FindChoices { side: Some("A".into()), ..ask.clone() })).unwrap_err();
    assert!(error.contains("has no `compare`"), "{error}");
}
