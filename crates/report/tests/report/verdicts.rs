//! What is printed with a verdict is what it was judged by.

use crate::fixture::{ComparisonEnd, RunFixture, comparison};
use kdyno_model::caveat::{Caveat, Concern, PairsTied, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, MetricRole, Ratio, Says, Verdict};
use kdyno_model::finding::{Interval, IntervalMethod, Mark, Scope};
use kdyno_model::metric::Address;
use kdyno_model::plan::{Depth, EvidenceUnit};
use kdyno_report::markdown;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Numbers in percent, in their order.
fn percents(text: &str) -> Vec<f64> {
    let number = |before: &str| before.rsplit([' ', '±', '(']).next()?.replace('−', "-").parse().ok();
    text.split(" %").filter_map(number).collect()
}

/// The details that are printed of a comparison.
fn details(run: &RunFixture) -> String {
    let block = markdown::block(&run.input());
    block.split_once("<details>").expect("details").1.to_owned()
}

/// The run with a first verdict that ended so and is changed.
fn block(ends: ComparisonEnd, change: impl FnOnce(&mut Verdict)) -> String {
    let mut run = comparison(ends, Depth::Verdict);
    let first = run.conclusions.iter_mut().find_map(|one| match one {
        Conclusion::Verdict(of) => Some(of),
        _ => None,
    });
    change(first.expect("a verdict"));
    details(&run)
}

/// The first verdict's sentence and the cells of its row.
fn printed(change: impl FnOnce(&mut Verdict)) -> (String, Vec<String>) {
    let block = block(ComparisonEnd::Alike, change);
    let line = |begins: &str, holds: &str| {
        let found = block.lines().find(|line| line.starts_with(begins) && line.contains(holds));
        found.expect("the line is there").to_owned()
    };
    let row = line("| brokers.cpu_us_per_record", "|");
    let cells = row.split('|').map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty());
    (line("kafka=4.3.1", "CPU per record of the brokers"), cells.collect())
}

fn interval(low: f64, high: f64, level: f64) -> Interval {
    Interval::Bounds { low, high, level, method: IntervalMethod::SignedRank }
}

proptest! {
    #[test]
    fn no_printed_interval_exceeds_the_margin_it_is_said_to_keep(
        hundredths_of_a_percent in 1_u32..5_000,
        ends in (0.0..1.0_f64, 0.0..1.0_f64),
        is_a_point in any::<bool>(),
        is_equivalent in any::<bool>(),
    ) {
        let margin = f64::from(hundredths_of_a_percent) / 10_000.0;
        let end = |part: f64| 1.0 - margin + 2.0 * margin * part;
        let low = end(ends.0.min(ends.1));
        let high = if is_a_point { low } else { end(ends.0.max(ends.1)) };
        let (sentence, cells) = printed(|verdict| {
            verdict.margin = margin;
            verdict.says = match is_equivalent {
                true => Says::Equivalent,
                false => Says::Different { material: false, worse: true },
            };
            let wider = interval(low - margin, high + margin, 0.99);
            verdict.ratio = Some(Ratio { estimate: f64::midpoint(low, high), interval: wider });
            verdict.equivalence_interval = Some(interval(low, high, 0.98));
        });
        let [.., from, to, level, limit] = percents(&sentence)[..] else { panic!("{sentence}") };
        prop_assert!(from <= to && -limit <= from && to <= limit, "{}", sentence);
        prop_assert!(level == 98.0 && (limit - margin * 100.0).abs() < 1e-9, "{}", sentence);
        let (from, to) = cells[4].split_once(" – ").expect("two ends");
        let distance = |end: &str| (end.parse::<f64>().expect("a number") - 1.0).abs();
        prop_assert!(distance(from).max(distance(to)) < margin + 1e-9, "{:?}", cells);
        prop_assert_eq!((cells[5].as_str(), percents(&cells[8])), ("98.0 %", vec![limit]));
    }
}

/// The sentence of what is maybe worse, with so much more evidence needed.
fn maybe(more_needed: u32, change: impl FnOnce(&mut Verdict)) -> String {
    printed(|verdict| {
        verdict.says = Says::MaybeMaterial { worse: true, more_needed: Some(more_needed) };
        verdict.ratio = Some(Ratio { estimate: 1.031, interval: interval(1.0031, 1.061, 0.961) });
        change(verdict);
    })
    .0
}

#[test]
fn possibly_worse_is_said_in_the_sentence_and_in_the_table() {
    let (sentence, cells) = printed(|verdict| {
        verdict.says = Says::MaybeMaterial { worse: true, more_needed: Some(12) };
        verdict.ratio = Some(Ratio { estimate: 1.031, interval: interval(1.0031, 1.061, 0.961) });
    });
    assert!(sentence.starts_with("kafka=4.3.1 is maybe worse than kafka=3.7.2: "), "{sentence}");
    assert_eq!((cells[9].as_str(), cells[4].as_str()), ("maybe worse", "1.003 – 1.061"));
    assert!(
        sentence.contains("between +0.3 % and +6.1 %"),
        "an end that excludes 0 is not printed as 0: {sentence}"
    );
}

#[test]
fn a_metric_that_differs_alone_is_reported_as_no_difference() {
    let (sentence, cells) = printed(|verdict| {
        verdict.says = Says::DifferentAlone { worse: true, together: 3, more_needed: Some(1) };
        verdict.ratio = Some(Ratio { estimate: 1.31, interval: interval(1.2, 1.43, 0.969) });
        verdict.n = 6;
    });
    let why = "; not with 3 metrics judged on 6 starts: about 1 start more needed.";
    assert!(
        sentence.contains(" by itself: it is 31 % higher (between ") && sentence.ends_with(why),
        "{sentence}"
    );
    assert_eq!(cells[9].as_str(), "differs alone");
}

#[test]
fn what_one_start_shows_is_no_reason_to_call_a_side_worse() {
    let reported = |says: Says| {
        let block = block(ComparisonEnd::Alike, |verdict| {
            (verdict.says, verdict.depth) = (says.clone(), Depth::Quick);
            verdict.ratio = Some(Ratio { estimate: 1.07, interval: interval(0.985, 1.16, 0.95) });
        });
        assert!(!block.contains("maybe worse"), "{block}");
        block.lines().find(|line| line.contains("on this start")).expect("a sentence").to_owned()
    };
    let sentence = reported(Says::OnThisStart { worse: true, starts_differ: 0.0733 });
    assert!(
        sentence.contains(" was 7 % higher with kafka=4.3.1 than with kafka=3.7.2 (between "),
        "{sentence}"
    );
    let end = "; starts differ by about 7 %, so another start may show no difference.";
    assert!(sentence.ends_with(end), "{sentence}");
    let sentence = reported(Says::MaybeMaterial { worse: true, more_needed: None });
    assert!(sentence.ends_with("more than the margin of 3 %; a verdict needs more starts."), "{sentence}");
}

#[test]
fn further_evidence_is_stated_as_time_or_as_impossible() {
    let start = |verdict: &mut Verdict| verdict.unit_ns = Some(150_000_000_000);
    let reported = maybe(12, start);
    assert!(reported.ends_with("about 12 starts more needed, 30 min at the pace of this run."), "{reported}");
    let reported = maybe(288, start);
    assert!(
        reported.ends_with("288 starts more needed, 12 h 00 min at the pace of this run."),
        "a night: {reported}"
    );
    let reported = maybe(655, start);
    let beyond =
        "655 starts more needed, 27 h 17 min at the pace of this run: not with this design on this machine.";
    assert!(reported.ends_with(beyond), "{reported}");
    let reported = maybe(655, |_| {});
    assert!(
        reported.ends_with("655 starts more needed: not with this design on this machine."),
        "{reported}"
    );
    // What is missing until the next look is planned, and clusters are not made by time.
    let reported = maybe(655, |verdict| verdict.n = 5);
    assert!(reported.ends_with("655 starts more needed."), "{reported}");
    let reported = maybe(655, |verdict| verdict.unit_of_evidence = EvidenceUnit::Cluster);
    assert!(reported.ends_with("655 clusters more needed."), "{reported}");
}

#[test]
fn a_verdict_says_that_it_is_valid_despite_marked_figures() {
    let marked = |says: Says| {
        let drifting = BTreeSet::from([Mark::Drifting]);
        let change = |verdict: &mut Verdict| {
            (verdict.says, verdict.marks) = (says, [drifting, BTreeSet::new()]);
        };
        let block = block(ComparisonEnd::Alike, change);
        block.lines().find(|line| line.contains("marked")).expect("a sentence").to_owned()
    };
    let valid = "; valid although its figures are marked: drifting.";
    for says in [Says::Equivalent, Says::Different { material: true, worse: true }] {
        let sentence = marked(says);
        assert!(sentence.ends_with(valid), "{sentence}");
    }
    let open = marked(Says::Inconclusive { more_needed: Some(8) });
    assert!(open.ends_with("more needed; marked: drifting."), "nothing stands: {open}");
}

#[test]
fn two_levels_of_intervals_in_one_table_are_explained() {
    let block = block(ComparisonEnd::Worse, |_| {});
    assert!(
        block.contains("Two levels of confidence: "),
        "worse at 99.2 %, else equivalent at 98.4 %: {block}"
    );
    let mut run = comparison(ComparisonEnd::Alike, Depth::Verdict);
    run.conclusions.truncate(2);
    assert!(!details(&run).contains("levels of confidence"), "both are at 98.4 %");
}

#[test]
fn a_difference_is_printed_with_the_interval_that_excludes_none() {
    let (sentence, cells) = printed(|verdict| {
        verdict.says = Says::Different { material: true, worse: true };
        verdict.ratio = Some(Ratio { estimate: 1.1, interval: interval(1.06, 1.14, 0.99) });
        verdict.equivalence_interval = Some(interval(1.08, 1.12, 0.98));
    });
    assert!(sentence.contains("(between +6 % and +14 %, 99.0 % confidence, 8 starts)"), "{sentence}");
    assert_eq!(cells[4..6], ["1.06 – 1.14", "99.0 %"]);
}

#[test]
fn a_run_file_without_an_equivalence_interval_prints_none() {
    let (sentence, cells) = printed(|verdict| verdict.equivalence_interval = None);
    assert!(sentence.ends_with("of the brokers: the change lies within ±3 % (8 starts)."), "{sentence}");
    assert_eq!(cells[4..6], ["–", "–"]);
}

#[test]
fn evidence_for_equivalence_is_judged_by_its_own_interval() {
    let is_reported = |half_width: f64| {
        let block = block(ComparisonEnd::Open, |verdict| {
            verdict.ratio = Some(Ratio { estimate: 1.01, interval: interval(0.96, 1.06, 0.99) });
            verdict.equivalence_interval = Some(interval(1.01 - half_width, 1.01 + half_width, 0.98));
        });
        block.contains("is as wide as ±4 % at 98.0 % confidence, wider than the margin of ±3 %")
    };
    assert!(is_reported(0.04) && !is_reported(0.02));
}

#[test]
fn a_comparison_that_lost_too_many_pairs_says_why_it_ends() {
    let reported = |ended_after| {
        let mut run = comparison(ComparisonEnd::Open, Depth::Verdict);
        let first = "pair 1: trial 2 has an invalid writers.response.p99".to_owned();
        run.caveats.push(ScopedCaveat {
            scope: Scope::Comparison { case: 0 },
            severity: Severity::Warning,
            concerns: Concern::Everything,
            caveat: Caveat::PairsLost { pairs: 26, first, likewise: 24, ended_after },
        });
        details(&run)
    };
    let ended = "The comparison ended after 30 pairs, before its last look: 26 were lost, and no more are run in their place; \
                 the first: pair 1: trial 2 has an invalid writers.response.p99, and so 24 more.";
    assert!(reported(Some(30)).contains(ended), "{}", reported(Some(30)));
    let goes_on = reported(None);
    assert!(!goes_on.contains("ended after"), "{goes_on}");
    assert!(!goes_on.contains("26 pairs were left out"), "it is said once, with the verdict: {goes_on}");
    let expected = "Left out of the verdict: 26 pairs, the first: pair 1: trial 2 has an invalid writers.response.p99, and so 24 \
                  more.";
    assert!(goes_on.contains(expected), "{goes_on}");
}

#[test]
fn ties_are_shown_next_to_the_verdict() {
    let mut run = comparison(ComparisonEnd::Open, Depth::Verdict);
    let metric = "writers.response.p99".to_owned();
    let first = "writers.response.p99 of trial 2 is invalid, by the load generator's doing".to_owned();
    run.caveats.push(ScopedCaveat {
        scope: Scope::Comparison { case: 0 },
        severity: Severity::Warning,
        concerns: Concern::Everything,
        caveat: Caveat::PairsTied(PairsTied { metric, pairs: 1, first }),
    });
    let reported = details(&run);
    let expected = "Ties in writers.response.p99, for invalid figures: 1 pair, the first: writers.response.p99 of \
                  trial 2 is invalid, by the load generator's doing.";
    assert!(reported.contains(expected), "{reported}");
}

#[test]
fn of_what_was_imported_no_side_is_called_better() {
    let block = block(ComparisonEnd::Alike, |verdict| {
        verdict.role = MetricRole::Imported;
        verdict.of = Address::parse("imported-rds.CPU").expect("an address");
        verdict.says = Says::Different { material: true, worse: true };
    });
    let row = block.lines().find(|line| line.contains("(imported-rds.CPU)")).expect("a row");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[cells.len() - 4..], ["–", "–", "differs", ""], "better, margin, verdict: {row}");
    assert!(block.contains("which direction is better is not known"), "{block}");
}
