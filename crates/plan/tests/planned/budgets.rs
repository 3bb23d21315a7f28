//! What budgets and caps leave of comparisons and lists, and what is printed of it before they start.

use crate::common::{BASE, MINUTE_NS, asking, compared, comparing, facts, planned, target};
use kdyno_model::plan::{Depth, EvidenceUnit, Isolation, PairDesign, Strategy};
use kdyno_plan::{Choices, CompareChoices, estimate};

/// Two releases, each on a cluster of its own.
fn releases(design: PairDesign) -> CompareChoices {
    CompareChoices { design: Some(design), ..comparing(&[], &["kafka=4.1.1"]) }
}

#[test]
fn a_budget_sets_the_looks_and_reports_an_impossible_verdict() {
    let with = |minutes: Option<u64>, depth: Depth| Choices {
        budget_ns: minutes.map(|minutes| minutes * MINUTE_NS),
        depth,
        ..asking(releases(PairDesign::Turns))
    };
    let looks = |minutes: Option<u64>, depth: Depth| compared(BASE, &with(minutes, depth)).1;
    // A start: two clusters of a process each (9 s), conditioned (50 s of load at most, the window of 1 s and 4 s around
    // it each), and a pair of 19 s each: 157 s at the longest.
    assert_eq!(looks(None, Depth::Verdict).looks, [8, 16, 24]);
    assert_eq!(looks(Some(63), Depth::Verdict).looks, [8, 16, 24]);
    assert_eq!(looks(Some(62), Depth::Verdict).looks, [8, 16]);
    assert_eq!(looks(Some(41), Depth::Verdict).looks, [15], "one look: all of the error is spent on it");
    assert_eq!(looks(Some(19), Depth::Verdict).looks, [7], "six tell none of three metrics by itself");
    // Both at once: 55 s and two pairs of 19 s, 102 s a start.
    let at_once = |minutes: u64| {
        let budget_ns = Some(minutes * MINUTE_NS);
        compared(BASE, &Choices { budget_ns, ..asking(releases(PairDesign::Duet)) }).1.looks
    };
    assert_eq!((at_once(41), at_once(40)), (vec![8, 16, 24], vec![8, 16]));
    let error = planned(BASE, &with(Some(18), Depth::Verdict)).unwrap_err();
    let why = "the budget of 18 min is too small for a verdict: 7 units of evidence are the fewest that can show one of 3 \
               judged metrics";
    assert!(error.contains(why), "{error}");
    assert!(error.contains("`19m` is the smallest that would do"), "{error}");
    let judge = vec!["writers.response.p50:10%".to_owned()];
    let one = CompareChoices { judge, ..releases(PairDesign::Turns) };
    let of_one = |minutes: u64| Choices { budget_ns: Some(minutes * MINUTE_NS), ..asking(one.clone()) };
    assert_eq!(compared(BASE, &of_one(16)).1.looks, [6]);
    let error = planned(BASE, &of_one(15)).unwrap_err();
    assert!(error.contains("6 units of evidence are the fewest that can show a difference"), "{error}");

    let (reported, _) = facts(BASE, &with(Some(62), Depth::Verdict));
    assert!(reported.iter().any(|fact| fact.contains("a look after 8, 16 units")), "{reported:?}");
    let smallest = "looks after 8 and 16 starts of the clusters; smallest differences it can typically see: \
                    brokers.cpu_us_per_record 10.8 %, writers.response.p50 6.3 %, writers.response.p99 50.6 %";
    assert!(reported.iter().any(|fact| fact == smallest), "{reported:?}");
    let (reported, _) = facts(BASE, &with(None, Depth::Verdict));
    assert!(reported.iter().all(|fact| !fact.contains("budget")), "{reported:?}");
}

#[test]
fn the_first_look_can_tell_each_judged_metric_by_itself() {
    let quantiles = ["p50", "p75", "p90", "p95", "p99", "p99.9", "max"];
    let judging = |count: usize, looks: &str| {
        let judge = quantiles[..count].iter().map(|one| format!("writers.response.{one}:10%")).collect();
        let text = format!("{BASE}compare: {{A: {{}}, B: {{system: {{kafka: 4.1.1}}}}, looks: {looks}}}\n");
        let text = if looks.is_empty() { BASE.to_owned() } else { text };
        let ask = CompareChoices { judge, ..comparing(&[], &["kafka=4.1.1"]) };
        planned(&text, &asking(ask)).map(|plan| plan.strategy.as_compare().unwrap().looks.clone())
    };
    let usual = |count: usize| judging(count, "").unwrap();
    assert_eq!([1, 3, 4, 7].map(usual), [8, 8, 9, 10].map(|first| vec![first, 16, 24]));
    assert_eq!(judging(3, "[8, 12]").unwrap(), [8, 12]);
    assert_eq!(judging(1, "[6]").unwrap(), [6], "all of the error");
    for (count, looks, reported) in [
        (
            1,
            "[6, 12]",
            "a first look after 6 comes too early: 7 units of evidence are the fewest that can show a difference",
        ),
        (
            3,
            "[6]",
            "a look after 6 comes too early: 7 units of evidence are the fewest that can show one of 3 judged metrics",
        ),
        (4, "[8, 16]", "a first look after 8 comes too early: 9 units"),
    ] {
        let error = judging(count, looks).unwrap_err();
        assert!(
            error.contains(reported) && error.contains("later, or judge fewer metrics"),
            "{looks}: {error}"
        );
    }
}

#[test]
fn a_quick_look_has_the_pairs_that_surely_fit_into_ten_minutes() {
    let look = |text: &str, minutes: Option<u64>, design: PairDesign| {
        let budget_ns = minutes.map(|minutes| minutes * MINUTE_NS);
        let choices = Choices { budget_ns, depth: Depth::Quick, ..asking(releases(design)) };
        let plan = planned(text, &choices)?;
        let Strategy::Compare(compare) = &plan.strategy else { panic!("a comparison") };
        assert_eq!((compare.unit, compare.looks.len()), (EvidenceUnit::Pair, 1));
        assert_eq!(compare.looks[0], compare.pairs_per_start, "all on one start");
        let bound_ns = minutes.unwrap_or(10).min(10) * MINUTE_NS;
        assert!(estimate(&plan).longest_ns <= bound_ns, "{:?}", estimate(&plan));
        assert_eq!(plan.budget_ns, Some(bound_ns), "no trial begins that might end after it");
        Ok::<_, String>(compare.looks[0])
    };
    let quick = |text: &str, minutes: Option<u64>| look(text, minutes, PairDesign::Turns);
    // Two clusters and their conditioning take 119 s at the longest, a pair 38 s; both at once 64 s and 19 s.
    let at_once = |minutes| look(BASE, minutes, PairDesign::Duet).unwrap();
    assert_eq!((at_once(None), at_once(Some(4)), at_once(Some(3))), (8, 8, 6));
    let pairs = |minutes| quick(BASE, minutes).unwrap();
    assert_eq!((pairs(None), pairs(Some(6)), pairs(Some(5)), pairs(Some(4))), (8, 6, 4, 3));
    let error = quick(BASE, Some(3)).unwrap_err();
    assert!(error.contains("the budget of 3 min is too small for a quick look: three pairs"), "{error}");
    assert!(error.contains("`4m` is the smallest"), "{error}");
    // Trials of up to 55 s and 4 s around each: 118 s. Neither a longer budget nor the scenario's makes it a longer look.
    let long = BASE.replace("warmup: 5s,", "warmup: 5s..45s,");
    assert_eq!((quick(&long, None).unwrap(), quick(&long, Some(45)).unwrap()), (4, 4));
    assert_eq!(quick(&format!("{long}budget: 45m\n"), None).unwrap(), 4);
    let longer = BASE.replace("measure: 10s", "measure: 2m");
    let error = quick(&longer, Some(45)).unwrap_err();
    assert!(error.contains("a quick look's budget of 10 min is too small for a quick look"), "{error}");
    assert!(error.contains("it takes up to 15 min; fewer cases or shorter phases need less"), "{error}");
    let choices = Choices { depth: Depth::Quick, ..asking(releases(PairDesign::Turns)) };
    let (reported, _) = facts(&long, &choices);
    let start = "a quick look: 4 pairs on one start of the clusters, no verdict; smallest differences";
    assert!(reported.iter().any(|fact| fact.starts_with(start) && !fact.contains("none")), "{reported:?}");
}

#[test]
fn what_hardly_shows_that_sides_are_alike_is_warned_of() {
    let warned = |judge: &[&str]| {
        let judge = judge.iter().map(ToString::to_string).collect();
        let (_, warnings) =
            facts(BASE, &asking(CompareChoices { judge, ..comparing(&[], &["kafka=4.1.1"]) }));
        warnings.into_iter().filter(|warning| !warning.contains("`spare`")).collect::<Vec<_>>()
    };
    // With 24 starts about 0.8 spreads of one of two metrics can be seen: 1.1 % where pairs of a duet typically have 2
    // %, two of them on a start.
    assert!(warned(&["brokers.cpu_us_per_record:3%", "writers.response.p99:20%"]).is_empty());
    let reported = warned(&["brokers.cpu_us_per_record:0.5%", "writers.response.p99:20%"]);
    let [warning] = reported.as_slice() else { panic!("{reported:?}") };
    assert!(
        warning.contains("more than the margin of brokers.cpu_us_per_record (1.1 %, margin 0.5 %):"),
        "{warning}"
    );
}

#[test]
fn a_duet_is_recommended_with_what_each_side_would_have() {
    let notes_of = |text: &str| {
        let judge = vec!["writers.response.p99:3%".to_owned()];
        let ask = CompareChoices { judge, ..comparing(&["rate=1k/s"], &["rate=2k/s"]) };
        facts(text, &asking(ask))
    };
    let warned = |text: &str| {
        let (_, warnings) = notes_of(text);
        warnings.into_iter().find(|warning| warning.contains("than the margin")).unwrap()
    };
    let reported = warned(BASE);
    assert!(reported.contains("`--design duet`, both sides at once on clusters of their own"), "{reported}");
    let alone =
        BASE.replace("{kafka: $kafka, mode: kraft, config: {num.io.threads: 8}}", "{kafka: null-broker}");
    let alone = alone.replace("  readers: {consume: t}\n", "");
    let reported = warned(&alone);
    assert!(
        reported.contains("`--design duet`, both sides at once on null brokers of their own"),
        "{reported}"
    );
    let (reported, _) = notes_of(&alone);
    let looks = reported.iter().find(|fact| fact.starts_with("looks after")).unwrap();
    assert!(looks.contains(" starts; smallest") && !looks.contains("clusters"), "{looks}");
}

#[test]
fn a_budget_below_one_trial_of_each_case_shortens_windows() {
    let text = BASE.replace("measure: 10s", "measure: 2m") + "repeat: 3\n";
    let with = |minutes: u64| Choices { budget_ns: Some(minutes * MINUTE_NS), ..Choices::default() };
    let plan = |text: &str, minutes| planned(text, &with(minutes));
    let cut = plan(&text, 2).unwrap();
    let seconds = cut.cases[0].phases.measure_ns / 1_000_000_000;
    assert!((10..120).contains(&seconds) && cut.repeats_planned(0) == Some(1), "{seconds} s");
    assert_eq!(plan(&text, 60).unwrap().cases[0].phases.measure_ns, 2 * MINUTE_NS, "it has the time");
    let (reported, _) = facts(&text, &with(2));
    let expected = format!("the budget allows 1 of 3 repeats, with windows of {seconds} s instead of 2 min");
    assert!(reported.contains(&expected), "{reported:?}");
    // Never below what a steady state needs, nor where the load changes in the window.
    assert!(plan(&text, 1).unwrap_err().contains("too small for one trial of each case"));
    let late = text.replace("  readers: {consume: t", "  readers: {at: 30s, consume: t");
    assert_ne!(late, text);
    assert!(plan(&late, 2).unwrap_err().contains("too small for one trial of each case"));
}

#[test]
fn a_budget_shortens_repeats() {
    let text = format!("{BASE}repeat: 10\n");
    let with = |minutes: u64| Choices { budget_ns: Some(minutes * MINUTE_NS), ..Choices::default() };
    let repeats = |minutes: u64| planned(&text, &with(minutes)).unwrap().repeats_planned(0);
    // The cluster and its conditioning once (59.5 s at the longest), then 19 s each.
    assert_eq!((repeats(2), repeats(3), repeats(60)), (Some(3), Some(6), Some(10)));
    assert!(planned(&text, &with(0)).unwrap_err().contains("too small for one trial of each case"));
    let (reported, _) = facts(&text, &with(2));
    assert!(reported.iter().any(|fact| fact == "the budget allows 3 of 10 repeats"), "{reported:?}");
    let own = format!("{text}budget: 3m\n");
    assert_eq!(planned(&own, &Choices::default()).unwrap().repeats_planned(0), Some(6));
    assert_eq!(planned(&own, &with(2)).unwrap().repeats_planned(0), Some(3), "by hand wins");
    // From several cases whole repeats are cut, and what is left is how the longer list begins.
    let several = format!("{text}vary: {{rate: [1k/s, 2k/s, 3k/s]}}\n");
    let list = |minutes: u64| match planned(&several, &with(minutes)).unwrap().strategy {
        Strategy::List(list) => list,
        other => panic!("{other:?}"),
    };
    let (cut, all) = (list(5), list(60));
    assert_eq!((cut.len(), all.len()), (4 * 3, 10 * 3));
    assert_eq!(cut, all[..12]);
}

#[test]
fn a_comparison_on_a_target_fits_its_caps() {
    let on = |caps: &str| {
        let target = Some(target("staging", &format!("guard: {{caps: {{{caps}}}}}\n")));
        Choices { target, ..asking(comparing(&[], &["load.writers.client.linger.ms=0"])) }
    };
    // Each trial has two partitions, and its topics go before the next one's come.
    let (plan, compare) = compared(BASE, &on("partitions: 2"));
    assert_eq!((compare.looks, plan.isolation), (vec![8, 16, 24], Isolation::Topic));
    assert!(planned(BASE, &on("partitions: 1")).unwrap_err().contains("2 partitions at once"));
    let none = format!("{BASE}isolation: none\n");
    assert!(planned(&none, &on("partitions: 2")).unwrap_err().contains("96 partitions at once"));
    // A pair takes 38 s: the time that the target allows is a budget.
    assert_eq!(compared(BASE, &on("time: 12m")).1.looks, [8, 16]);
    let error = planned(BASE, &on("time: 3m")).unwrap_err();
    assert!(error.contains("the target's cap on `time` of 3 min is too small for a verdict"), "{error}");
}

#[test]
fn what_a_target_does_not_show_is_not_judged() {
    let own = format!(
        "{BASE}compare:\n  A: {{}}\n  B: {{load: {{writers: {{value: 2KiB}}}}}}\n  judge:\n\
         \u{20}   - {{of: brokers.cpu_us_per_record}}\n    - {{of: writers.response.p50}}\n"
    );
    let on = |ask: CompareChoices| Choices { target: Some(target("staging", "")), ..asking(ask) };
    let of = |choices: &Choices| {
        let judged = compared(&own, choices).1.judge.into_iter().map(|judge| judge.of.to_string());
        judged.collect::<Vec<_>>().join(" ")
    };
    let by_file = on(CompareChoices::default());
    assert_eq!(of(&by_file), "writers.response.p50");
    let warning = "brokers.cpu_us_per_record is not judged: the processes of brokers elsewhere are not seen";
    assert!(facts(&own, &by_file).1.iter().any(|reported| reported == warning));
    let on_own = asking(CompareChoices::default());
    assert_eq!(of(&on_own), "brokers.cpu_us_per_record writers.response.p50");
    assert!(facts(&own, &on_own).1.iter().all(|reported| reported != warning));
    let judge = vec!["brokers.cpu_us_per_record:3%".to_owned()];
    let error = planned(&own, &on(CompareChoices { judge, ..CompareChoices::default() })).unwrap_err();
    assert!(error.starts_with("`--judge brokers.cpu_us_per_record:3%`: the processes of brokers"), "{error}");
}
