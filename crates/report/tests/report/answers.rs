//! Verdicts, searches and claims in every form.

use crate::fixture::{ComparisonEnd, RunFixture, caveat, claims, comparison, finding, run, search};
use kdyno_model::caveat::*;
use kdyno_model::conclusion::{Conclusion, MetricRole, Ratio, Says, SearchOutcome, SearchResult};
use kdyno_model::finding::*;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{Contrast, Depth, Estimate, EvidenceUnit, Strategy, Vary};
use kdyno_model::run::RunStatus;
use kdyno_model::trial::{SearchStage, TrialReason};
use kdyno_report::judged::{Gate, RunAnswer, judged, of_stored_runs};
use kdyno_report::terminal::{PlanDetail, TextOptions, plan_text, run_summary, run_table};
use kdyno_report::{html, json, junit, markdown};

const WIDE: TextOptions = TextOptions { width: 140, colour: false };
const CONFIRMED: SearchOutcome = SearchOutcome::Confirmed { load_per_s: 92_000.0 };

fn text(run: &RunFixture) -> String {
    run_table(&run.input(), &WIDE)
}

/// The first sentence of a comparison's answer behind in what settings the sides differ, its lines joined.
fn first_sentence(run: &RunFixture) -> String {
    let text = text(run).replace("\n  ", " ");
    let mut lines =
        text.lines().skip_while(|line| !line.starts_with("Verdict") && !line.starts_with("Quick"));
    lines.nth(2).expect("a sentence").to_owned()
}

#[test]
fn a_comparison_as_text() {
    insta::assert_snapshot!(text(&comparison(ComparisonEnd::Worse, Depth::Verdict)));
}

#[test]
fn every_verdict_is_a_sentence() {
    let all = [
        ComparisonEnd::Worse,
        ComparisonEnd::Better,
        ComparisonEnd::Alike,
        ComparisonEnd::Maybe,
        ComparisonEnd::Open,
        ComparisonEnd::Invalid,
    ];
    let said = all.map(|ends| first_sentence(&comparison(ends, Depth::Verdict)));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_quick_look_is_never_called_a_verdict() {
    for ends in [
        ComparisonEnd::Worse,
        ComparisonEnd::Better,
        ComparisonEnd::Alike,
        ComparisonEnd::Maybe,
        ComparisonEnd::Open,
    ] {
        let run = comparison(ends, Depth::Quick);
        let sentence = first_sentence(&run);
        assert!(sentence.starts_with("Quick look, these starts only: "), "{sentence}");
        let text = text(&run);
        // The head of a column names what both have in it.
        assert!(!text.contains("Verdict") && text.matches("verdict").count() <= 2, "{text}");
    }
}

#[test]
fn a_search_as_text() {
    insta::assert_snapshot!(text(&search(CONFIRMED)));
}

#[test]
fn every_end_of_a_search_is_a_sentence() {
    let all = [
        CONFIRMED,
        SearchOutcome::NotConfirmed { highest_passed_per_s: 95_000.0 },
        SearchOutcome::EveryLoadFails { lowest_per_s: 20_000.0 },
        SearchOutcome::EveryLoadPasses { highest_per_s: 500_000.0 },
        SearchOutcome::GeneratorLimit { highest_passed_per_s: Some(80_000.0) },
        SearchOutcome::GeneratorLimit { highest_passed_per_s: None },
        SearchOutcome::NoFigures { load_per_s: 113_000.0, highest_passed_per_s: Some(95_000.0) },
        SearchOutcome::NoFigures { load_per_s: 20_000.0, highest_passed_per_s: None },
        SearchOutcome::Unfinished,
    ];
    let said = all.map(|outcome| {
        let text = text(&search(outcome)).replace("\n  ", " ");
        let mut lines = text.lines().skip_while(|line| *line != "Throughput at an SLA");
        let sentence = lines.nth(1).expect("a sentence").to_owned();
        let first_screen = run_summary(&search(outcome).input(), &WIDE);
        let next = first_screen.lines().find(|line| line.starts_with("Next: ")).unwrap_or("(nothing next)");
        format!("{sentence}\n{next}")
    });
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn a_search_whose_budget_ended_says_so() {
    let mut run = search(SearchOutcome::Unfinished);
    let end = run.sessions[0].1.as_mut().expect("the fixture has an end");
    (end.status, end.detail) = (RunStatus::OutOfTime, "the budget of 10 min is over".to_owned());
    let text = text(&run).replace("\n  ", " ");
    let said = "The search ran out of the time of its budget before it had an answer; what is known until then is not confirmed";
    assert!(text.contains(said), "{text}");
    assert!(
        text.contains("out of time; ") && text.contains("complete: the budget of 10 min is over"),
        "{text}"
    );
}

/// The result of the run's search.
fn searched(run: &mut RunFixture) -> &mut SearchResult {
    let found = run.conclusions.iter_mut().find_map(|one| match one {
        Conclusion::Search(of) => Some(of),
        _ => None,
    });
    found.expect("a search")
}

#[test]
fn a_search_that_added_clients_says_how_many() {
    let mut run = search(CONFIRMED);
    searched(&mut run).varied.metric = "clients".to_owned();
    let Strategy::Find(find) = &mut run.header.plan.strategy else { panic!("a search") };
    find.vary = Vary::Clients { per_client_per_s: 2_000.0 };
    let text = text(&run);
    assert!(text.contains("holds up to writers.clients = 46 (92,000/s), confirmed by 2 trials"), "{text}");
}

#[test]
fn what_was_not_confirmed_says_why() {
    let said = |change: fn(&mut SearchResult)| {
        let mut run = search(SearchOutcome::NotConfirmed { highest_passed_per_s: 95_000.0 });
        change(searched(&mut run));
        text(&run).replace("\n  ", " ")
    };
    let none = said(|of| of.points.retain(|point| point.stage != SearchStage::Confirm));
    assert!(
        none.contains("Not confirmed: writers.response.p99 <= 20ms and writers.failed <= 0 held up to"),
        "{none}"
    );
    assert!(
        none.contains("no trials were left to confirm it") && none.contains("held, not confirmed: 95,000/s"),
        "{none}"
    );
    let failed = said(|of| of.first_failing_per_s = Some(92_000.0));
    assert!(
        failed.contains("held at writers.rate = 95,000/s, although a lower load, 92,000/s, failed"),
        "{failed}"
    );
    assert!(failed.contains("down to 92,000/s, none passed all of its trials"), "{failed}");
}

#[test]
fn the_limit_is_stated_for_confirmed_and_first_failed_loads() {
    let mut run = search(CONFIRMED);
    let text = text(&run);
    let confirmed = "At 92,000/s, the confirmed load, writers: limited by broker CPU (82 % to 86 %), \
                     in 2 of 3 trials; kept up with the offered load";
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(confirmed), "{text}");
    assert!(
        text.contains("At 113,000/s, the first load that failed, writers: limited by the load generator"),
        "{text}"
    );
    assert!(!text.contains("At 95,000/s,"), "a single trial that passed is not the answer: {text}");
    // Without a confirmed load, at the highest that held.
    searched(&mut run).outcome = SearchOutcome::NotConfirmed { highest_passed_per_s: 95_000.0 };
    assert!(self::text(&run).contains("At 95,000/s, the highest that held, writers:"));
}

#[test]
fn trials_of_several_sessions_are_listed_with_what_differs() {
    let mut run = search(CONFIRMED);
    assert!(!text(&run).contains("sessions"), "{}", text(&run));
    let ids: Vec<_> = searched(&mut run).points.iter().map(|point| point.trial).collect();
    let like = run.trials[0].clone();
    run.trials = ids
        .iter()
        .map(|id| {
            let mut start = like.clone();
            (start.trial.id, start.session) = (*id, if id.0 > 6 { 2 } else { 1 });
            start
        })
        .collect();
    let (mut second, end) = run.sessions[0].clone();
    second.number = 2;
    run.sessions.push((second, end));
    let reported = |run: &RunFixture| text(run).split_whitespace().collect::<Vec<_>>().join(" ");
    let of =
        "its trials are of 2 sessions (5 of session 1 and 4 of session 2), each with clusters of its own";
    assert!(reported(&run).contains(&format!("{of}.")), "{}", reported(&run));
    run.sessions[1].0.boot_id = "another".to_owned();
    assert!(reported(&run).contains(&format!("{of}, and the host was started again")), "{}", reported(&run));
    run.sessions[1].0.processors += 1;
    assert!(
        reported(&run).contains(&format!("{of}, on different hosts, or on one that has changed")),
        "{}",
        reported(&run)
    );
}

#[test]
fn the_curve_of_a_search_is_in_the_page_with_its_limit() {
    let page = html::page(&search(CONFIRMED).input());
    assert!(page.contains("writers.response.p99 by load") && page.contains("the limit, 20.0 ms"), "{page}");
    assert!(page.contains("load, records per second"), "{page}");
}

pub fn with_claims() -> RunFixture {
    let mut run = run();
    // Which must not be used.
    run.header.plan.show.columns.retain(|of| of.metric != "response.p99");
    claims(&mut run);
    run.header.plan.contrasts = vec![Contrast {
        name: "twice the brokers".to_owned(),
        from: 0,
        to: 1,
        of: vec![finding(Scope::Run, "writers.acked_per_s", Value::None).of],
    }];
    let interval = Interval::Bounds { low: 0.90, high: 0.94, level: 0.95, method: IntervalMethod::StudentT };
    run.findings.push(Finding {
        quantity: Quantity::RatioOfContrast,
        unit: kdyno_model::metric::Unit::Ratio,
        n: 2,
        interval,
        ..finding(Scope::Case(1), "writers.acked_per_s", Value::Is(0.9201))
    });
    run
}

#[test]
fn claims_and_contrasts_as_text() {
    let text = text(&with_claims());
    let answers = text.split("\nClaims\n").nth(1).and_then(|rest| rest.split("\nResult\n").next());
    insta::assert_snapshot!(answers.expect("claims before the table"));
}

#[test]
fn contrasts_are_part_of_the_answer_where_nothing_is_judged() {
    let mut run = with_claims();
    let answer = |run: &RunFixture| {
        let page = html::page(&run.input());
        page.split("</header>").next().expect("a head").to_owned()
    };
    let said = "Twice the brokers, from brokers=3 to brokers=6: acknowledged rate of writers ×0.92 (0.90–0.94), 95.0 % confidence";
    assert!(!answer(&run).contains(said), "its claims are the answer");
    run.conclusions.clear();
    assert!(answer(&run).contains(said), "{}", answer(&run));
}

#[test]
fn markdown_to_paste() {
    let forms = [comparison(ComparisonEnd::Worse, Depth::Verdict), search(CONFIRMED), with_claims()];
    let forms = forms.map(|run| markdown::block(&run.input()));
    insta::assert_snapshot!(forms.join("\n----\n\n"));
}

#[test]
fn junit_for_ci() {
    let forms = [comparison(ComparisonEnd::Worse, Depth::Verdict), search(CONFIRMED), with_claims()];
    let forms = forms.map(|run| junit::document(&run.input(), Gate::default()));
    insta::assert_snapshot!(forms.join("\n"));
}

#[test]
fn every_conclusion_is_in_the_document() {
    for run in [comparison(ComparisonEnd::Open, Depth::Quick), search(CONFIRMED), with_claims()] {
        let document = json::run(&run.input());
        let reported = document["conclusions"].as_array().expect("a list");
        assert_eq!(reported.len(), run.conclusions.len());
        for one in reported {
            let message = one["message"].as_str().expect("words");
            assert!(message.contains(' ') && !one["kind"].as_str().expect("a kind").is_empty(), "{one}");
        }
    }
    let document = json::run(&comparison(ComparisonEnd::Worse, Depth::Verdict).input());
    assert_eq!(document["conclusions"][0]["details"]["says"]["different"]["worse"], true);
}

/// The comparison of the fixture with another verdict on the metric that is judged first.
fn saying(says: Says, ratio: Option<Ratio>) -> RunFixture {
    let mut run = comparison(ComparisonEnd::Alike, Depth::Verdict);
    let Some(Conclusion::Verdict(first)) = run.conclusions.first_mut() else { panic!("a verdict") };
    (first.says, first.ratio) = (says, ratio);
    first.equivalence_interval = ratio.map(|ratio| ratio.interval);
    run
}

#[test]
fn an_unknown_amount_of_further_evidence_has_its_reason() {
    let sentence = |ratio| first_sentence(&saying(Says::Inconclusive { more_needed: None }, ratio));
    let alone = Ratio { estimate: 1.02, interval: Interval::NotResolvable(NotResolvable::OneTrial) };
    assert!(sentence(Some(alone)).contains("too few for an interval"), "{}", sentence(Some(alone)));
    let interval = Interval::Bounds { low: 0.9, high: 1.1, level: 0.95, method: IntervalMethod::SignedRank };
    let reported = sentence(Some(Ratio { estimate: 1.0, interval }));
    assert!(reported.contains("so near to the margin that no number of them"), "{reported}");
}

#[test]
fn an_open_verdict_shows_an_interval_that_exceeds_the_margin() {
    let reported = |half: f64, says: Says| {
        let (low, high) = (1.01 - half, 1.01 + half);
        let interval = Interval::Bounds { low, high, level: 0.95, method: IntervalMethod::SignedRank };
        let text = text(&saying(says, Some(Ratio { estimate: 1.01, interval }))).replace("\n  ", " ");
        text.contains("this evidence cannot show equivalence")
    };
    let open = || Says::Inconclusive { more_needed: Some(9) };
    // CPU time has a margin of 3 %.
    assert!(reported(0.04, open()) && reported(0.04, Says::MaybeMaterial { worse: true, more_needed: None }));
    assert!(!reported(0.02, open()) && !reported(0.04, Says::Different { material: true, worse: true }));
}

#[test]
fn what_is_only_shown_never_decides_the_exit_code() {
    let mut run = comparison(ComparisonEnd::Alike, Depth::Verdict);
    let Some(Conclusion::Verdict(shown)) = run.conclusions.get_mut(2) else { panic!("a verdict") };
    assert_eq!(shown.role, MetricRole::Exploratory);
    (shown.says, shown.ratio) = (Says::Invalid { reason: "it is 0".to_owned() }, None);
    assert_eq!(judged(&run.input()), RunAnswer::Fine);
    // For stored runs everything is only shown.
    run.conclusions.drain(..2);
    let mut stored = Judgement { conclusions: run.conclusions, ..Judgement::default() };
    assert_eq!(of_stored_runs(&stored), RunAnswer::Inconclusive);
    let warning = Caveat::EvidenceOfRuns { detail: "the hosts differ".to_owned() };
    stored.caveats.push(caveat(1, Severity::Warning, warning.clone()));
    assert_eq!(of_stored_runs(&stored), RunAnswer::Inconclusive);
    stored
        .caveats
        .push(ScopedCaveat { concerns: Concern::Everything, ..caveat(1, Severity::Invalid, warning) });
    assert_eq!(of_stored_runs(&stored), RunAnswer::Invalid, "they measure different things");
}

#[test]
fn a_resumed_comparison_is_repeated_as_typed_with_its_seed() {
    let repeat = |run: &RunFixture| {
        let block = markdown::block(&run.input());
        block.lines().find(|line| line.starts_with("Repeat it: ")).expect("a command").to_owned()
    };
    let typed = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut run = comparison(ComparisonEnd::Worse, Depth::Verdict);
    run.sessions[0].0.command_line = typed("/x/kdyno compare upgrade-check --budget 25m");
    let mut later = run.sessions[0].clone();
    later.0.command_line = typed("kdyno compare --resume latest");
    later.0.processors = 64;
    run.sessions.push(later);
    assert_eq!(repeat(&run), "Repeat it: `kdyno compare upgrade-check --budget 25m --seed 42`");
    let block = markdown::block(&run.input());
    assert!(block.contains("Host: 2 CPUs") && block.contains("; then 64 CPUs"), "{block}");
    assert!(block.contains(", 2 sessions, seed 42."), "{block}");
    for given in ["kdyno compare x --seed 7", "kdyno compare --seed=7 x", "kdyno rerun latest"] {
        run.sessions[0].0.command_line = typed(given);
        assert_eq!(repeat(&run), format!("Repeat it: `{given}`"));
    }
}

#[test]
fn pairs_of_a_standing_cluster_are_counted_once() {
    let mut run = comparison(ComparisonEnd::Alike, Depth::Verdict);
    let Strategy::Compare(compare) = &mut run.header.plan.strategy else { panic!("a comparison") };
    (compare.unit, compare.pairs_per_start) = (EvidenceUnit::Pair, 24);
    let estimate = Estimate { expected_ns: 1, longest_ns: 1, load_ns: 1, disk_bytes: None, kept_bytes: None };
    let text = plan_text(&run.header.plan, &estimate, PlanDetail::Full, &WIDE);
    assert!(text.contains("evidence: 24 pairs in drawn order"), "{text}");
}

#[test]
fn a_comparison_or_search_without_any_answer_is_inconclusive() {
    for mut run in [comparison(ComparisonEnd::Alike, Depth::Verdict), search(CONFIRMED)] {
        run.conclusions.clear();
        assert_eq!(judged(&run.input()), RunAnswer::Inconclusive);
    }
}

#[test]
fn what_must_not_be_used_counts_where_it_is_the_answer() {
    let mut run = run();
    assert_eq!(judged(&run.input()), RunAnswer::Invalid, "a repeat of a column that is shown does not count");
    let mark = |run: &mut RunFixture, what: &str| {
        for one in run.findings.iter_mut().filter(|one| one.scope == Scope::Case(1)) {
            if one.of.to_string() == what {
                one.marks.insert(Mark::Invalid);
            }
        }
    };
    run.header.plan.show.columns.retain(|of| of.metric != "response.p99");
    assert_eq!(judged(&run.input()), RunAnswer::Fine, "no column shows it");
    mark(&mut run, "writers.acked_per_s");
    assert_eq!(judged(&run.input()), RunAnswer::Invalid);
}

#[test]
fn loss_is_reported_first_and_makes_every_answer_invalid() {
    let lost = Caveat::Lost { topic: "perf".to_owned(), acknowledged: 1_000, growth: 990 };
    for mut run in [run(), comparison(ComparisonEnd::Alike, Depth::Verdict), search(CONFIRMED)] {
        run.caveats.push(caveat(1, Severity::Invalid, lost.clone()));
        assert_eq!(judged(&run.input()), RunAnswer::Invalid);
        let text = text(&run);
        assert!(text.starts_with("DATA LOSS: 10 of 1,000 acknowledged records are not in the log"), "{text}");
        assert_eq!(text.matches("acknowledged records are not in the log").count(), 1, "{text}");
    }
}

#[test]
fn trials_that_condition_a_cluster_stand_in_no_table() {
    let mut run = run();
    run.trials[1].trial.reason = TrialReason::Conditioning;
    let text = text(&run);
    assert!(!text.contains("\n    2  brokers=6 #1"), "{text}");
    assert!(text.contains("1 conditioning trial for freshly started clusters also ran"), "{text}");
    assert!(text.contains("3 of 4 trials complete"), "{text}");
    let page = html::page(&run.input());
    assert!(!page.contains("trial 2 (brokers=6 #1)</h3>"), "{page}");
}

#[test]
fn repeats_show_their_interval_and_the_ratio_to_the_first_row() {
    let mut run = run();
    run.header.plan.published = None;
    for one in run.findings.iter_mut().filter(|one| matches!(one.scope, Scope::Case(_))) {
        let (Value::Is(number), true) = (one.estimate, one.of.metric == "acked_per_s") else { continue };
        one.n = 6;
        one.interval = Interval::Bounds {
            low: number * 0.8,
            high: number * 1.2,
            level: 0.969,
            method: IntervalMethod::OrderStatistics,
        };
    }
    let text = text(&run);
    for words in [
        "60,000 (48,000–72,000)/s",
        "55,000 (44,000–66,000)/s ᵃ",
        "×0.92 (0.74–1.11)",
        "intervals hold the true one with 96.9 % confidence at least",
        "writers.acked_per_s: row 2 differs from row 1.",
        "ᵃ rose or fell throughout the window.",
    ] {
        assert!(text.contains(words), "no {words:?} in: {text}");
    }
    assert!(!text.contains("59,887"), "six digits for ± 20 %: {text}");
}

#[test]
fn the_page_has_the_answer_before_the_trials() {
    let page = html::page(&comparison(ComparisonEnd::Worse, Depth::Verdict).input());
    let sentence =
        page.find("<p class=\"answer bad\">kafka=4.3.1 is worse than kafka=3.7.2").expect("the verdict");
    let part = |id: &str| page.find(&format!(" id=\"{id}\""));
    assert!(Some(sentence) < part("read-first"), "under the question");
    assert!(part("read-first") < part("answer-0") && part("answer-0") < part("trials"), "{page}");
    assert!(page.contains("<td class=\"words\">worse</td>"), "the figures under it: {page}");
}

#[test]
fn the_question_is_printed_before_the_start() {
    let estimate = Estimate {
        expected_ns: 1_500_000_000_000,
        longest_ns: 2_400_000_000_000,
        load_ns: 1_200_000_000_000,
        disk_bytes: None,
        kept_bytes: None,
    };
    let runs = [
        comparison(ComparisonEnd::Alike, Depth::Verdict),
        comparison(ComparisonEnd::Alike, Depth::Quick),
        search(CONFIRMED),
    ];
    let reported = runs.map(|run| {
        let text = plan_text(&run.header.plan, &estimate, PlanDetail::Full, &WIDE);
        text.lines().take_while(|line| !line.starts_with("  ")).collect::<Vec<_>>().join("\n")
    });
    insta::assert_snapshot!(reported.join("\n\n"));
}
