//! The pictures of the page, and what the page is like as a whole.

use crate::fixture::{ComparisonEnd, comparison, many, run, search};
use kdyno_model::conclusion::{Conclusion, SearchOutcome};
use kdyno_model::finding::{Finding, Quantity, Scope, Value};
use kdyno_model::plan::Depth;
use kdyno_model::trial::{PairPlace, TrialId};
use kdyno_report::html::page;
use std::collections::BTreeSet;

/// What a part of the page holds, by the id of its heading.
fn part<'a>(html: &'a str, id: &str) -> &'a str {
    let begins = html.split(&format!("<h2 id=\"{id}\">")).nth(1);
    begins.unwrap_or_else(|| panic!("no part {id}")).split("<h2").next().expect("its end")
}

/// Every value of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    html.split(&format!(" {attribute}=\"")).skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn the_answer_follows_the_question_with_confidence_and_caveats() {
    let html = page(&run().input());
    let (top, rest) = html.split_once("<h2").expect("parts");
    let top = top.split("<h1>").nth(1).expect("the question");
    assert!(top.contains("Acknowledged rate of writers: 59,887 (59,871–59,903)/s"), "{top}");
    assert!(top.contains("with brokers=6") && top.contains("too few for an interval"), "{top}");
    assert!(top.contains("ᵃ rose or fell throughout the window"), "signs are explained: {top}");
    assert!(top.contains("Read first: 2 invalid, 3 warnings, 1 note"), "{top}");
    assert!(top.contains("id=\"read-first\"") && rest.contains("id=\"result\""), "{rest}");

    let compared = page(&comparison(ComparisonEnd::Worse, Depth::Verdict).input());
    let sentence = "is worse than";
    assert_eq!(compared.matches(sentence).count(), 1, "what the top says is not said again");
    assert!(compared.find(sentence) < compared.find("<h2"), "{compared}");
    let found = page(&search(SearchOutcome::Confirmed { load_per_s: 92_000.0 }).input());
    assert!(found.find("confirmed by 2 trials of their own") < found.find("<h2"), "{found}");
}

#[test]
fn all_cases_share_one_chart_and_a_trial_has_all_on_one_axis() {
    let html = page(&run().input());
    let overlay = part(&html, "overlay");
    assert!(overlay.contains("brokers=3") && overlay.contains("brokers=6"), "{overlay}");
    let trial = part(&html, "over-time");
    let linked = trial.split("<figure").nth(1).expect("a figure");
    for title in
        ["writers: rate", "writers: response time", "writers: backlog", "readers: end-to-end", "CPU time"]
    {
        assert!(linked.contains(title), "{title}: {linked}");
    }
    assert_eq!(linked.matches(">seconds from the start of the load</text>").count(), 1, "{linked}");
    let second = trial.split("trial 2 (").nth(1).expect("the trial with an event");
    assert!(second.contains("leader-moved") && second.contains("class=\"flag\""), "{second}");
    for reported in [
        "writers: service time",
        "unresolved or censored",
        "how many records",
        "class=\"cut\"",
        "Memory by process",
    ] {
        assert!(trial.contains(reported), "{reported}");
    }
}

#[test]
fn a_comparison_shows_which_direction_is_better_and_each_pair() {
    let mut run = comparison(ComparisonEnd::Worse, Depth::Verdict);
    for (id, side, pair) in [(2, "B", 1), (3, "B", 2), (4, "A", 2)] {
        let mut start = run.trials[0].clone();
        start.trial.id = TrialId(id);
        start.trial.variant = Some(side.to_owned());
        start.trial.pair = Some(PairPlace { pair, place: 1 });
        let figures: Vec<Finding> =
            run.findings.iter().filter(|one| one.scope == Scope::Trial(TrialId(1))).cloned().collect();
        run.findings
            .extend(figures.into_iter().map(|one| Finding { scope: Scope::Trial(TrialId(id)), ..one }));
        let mut series = run.series[0].clone();
        series.trial = TrialId(id);
        run.series.push(series);
        run.trials.push(start);
    }
    let html = page(&run.input());
    let verdict = part(&html, "answer-0");
    for reported in ["lower is better, margin ±3 %", "← B better", "pair 2", "class=\"margin\"", "→ <b>worse"]
    {
        assert!(verdict.contains(reported), "{reported}: {verdict}");
    }
    let sides = part(&html, "sides");
    assert!(
        sides.contains("broker-0, A: kafka=3.7.2") && sides.contains("broker-0, B: kafka=4.3.1"),
        "{sides}"
    );
}

#[test]
fn a_search_has_its_limit_and_its_load_in_the_curve() {
    let html = page(&search(SearchOutcome::Confirmed { load_per_s: 92_000.0 }).input());
    let curve = first_chart(&html);
    for reported in ["class=\"limit\"", "class=\"kept\"", ">confirmed</text>", "estimate"] {
        assert!(curve.contains(reported), "{reported}: {curve}");
    }
}

/// The chart of the first screen, which stands before the contents.
fn first_chart(html: &str) -> &str {
    let (top, _) = html.split_once("<nav").expect("contents");
    let chart = top.split("id=\"first-chart\"").nth(1).expect("a chart");
    chart.split("</figure>").next().unwrap_or_default()
}

#[test]
fn the_first_screen_has_the_one_chart_that_answers_the_question() {
    let html = page(&run().input());
    let cases = first_chart(&html);
    let (drawn, data) = cases.split_once("<details").expect("a table of its data");
    assert_eq!(drawn.matches("class=\"seg look-0").count(), 2, "{drawn}");
    for case in [">brokers=3<", ">brokers=6<"] {
        assert!(drawn.contains(case) && data.contains(case), "{case}: {cases}");
    }
    let html = page(&comparison(ComparisonEnd::Worse, Depth::Verdict).input());
    let verdicts = first_chart(&html);
    assert!(verdicts.contains("worse") && verdicts.contains("B ÷ A"), "{verdicts}");
    assert!(!verdicts.contains("service"), "what was not judged is below: {verdicts}");
    let mut one = run();
    one.only_one_trial();
    let html = page(&one.input());
    let course = first_chart(&html);
    assert!(course.contains("writers: rate and latency over time"), "{course}");
}

#[test]
fn the_first_chart_hides_no_case_and_no_doubt() {
    let mut run = run();
    let acked = |one: &&mut Finding| one.of.metric == "acked_per_s" && one.quantity == Quantity::Value;
    for finding in run.findings.iter_mut().filter(acked) {
        match finding.scope {
            Scope::Case(0) => finding.estimate = Value::None,
            Scope::Case(1) => finding.estimate = Value::AtLeast(50_000.0),
            _ => {}
        }
    }
    let html = page(&run.input());
    let (drawn, _) = first_chart(&html).split_once("<details").expect("a table of its data");
    assert!(drawn.contains("brokers=3: no figure"), "{drawn}");
    assert!(drawn.contains("class=\"seg look-0 least\"") && drawn.contains("at least"), "{drawn}");
}

#[test]
fn every_figure_has_a_title_and_a_table_of_its_data() {
    let confirmed = SearchOutcome::Confirmed { load_per_s: 92_000.0 };
    for (run, figures_min) in
        [(run(), 18), (comparison(ComparisonEnd::Worse, Depth::Verdict), 3), (search(confirmed), 1)]
    {
        let html = page(&run.input());
        let figures: Vec<&str> =
            html.split("<figure").skip(1).map(|one| one.split("</figure>").next().unwrap_or("")).collect();
        assert!(figures.len() >= figures_min, "{} figures", figures.len());
        for figure in figures {
            assert!(figure.contains("<figcaption>"), "{figure}");
            let data = figure.split("<details class=\"data\">").nth(1);
            let rows = data.unwrap_or_else(|| panic!("no table of data: {figure}")).matches("<tr>").count();
            assert!(rows > 1, "{figure}");
        }
    }
}

#[test]
fn the_page_can_be_found_ones_way_on() {
    for run in [run(), comparison(ComparisonEnd::Alike, Depth::Quick), search(SearchOutcome::Unfinished)] {
        let html = page(&run.input());
        let ids = values(&html, "id");
        let known: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(ids.len(), known.len(), "an id is there twice");
        let named = values(&html, "aria-labelledby").into_iter().flat_map(|ids| ids.split(' '));
        let linked = values(&html, "href").into_iter().filter_map(|href| href.strip_prefix('#'));
        for id in named.chain(linked) {
            assert!(known.contains(id), "{id} is not there");
        }
        // No heading skips a level.
        let levels =
            html.match_indices("<h").filter_map(|(at, _)| html[at + 2..].chars().next()?.to_digit(10));
        let levels: Vec<u32> = levels.collect();
        assert_eq!(levels.first(), Some(&1));
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
        // Every picture says what it shows.
        let pictures =
            html.split("<svg").filter(|one| one.split('>').next().unwrap_or("").contains("role=\"img\""));
        assert!(pictures.clone().count() > 0 && pictures.clone().all(|one| one.contains("<title")), "{html}");
    }
}

#[test]
fn a_ratio_beyond_the_axis_is_printed_and_not_drawn_at_its_end() {
    let mut run = comparison(ComparisonEnd::Worse, Depth::Verdict);
    let ratios = run.conclusions.iter_mut().filter_map(|one| match one {
        Conclusion::Verdict(of) => of.ratio.as_mut(),
        _ => None,
    });
    let mut count = 0;
    for ratio in ratios {
        ratio.estimate = 24.0;
        count += 1;
    }
    let html = page(&run.input());
    assert!(count > 0 && html.matches("×24 →").count() > 0, "{html}");
}

#[test]
fn the_page_of_a_long_run_is_small_enough_to_be_sent() {
    for (trials, seconds, bytes_max) in [(4, 600, 1_000_000), (4, 3_600, 1_500_000), (1_500, 60, 4_000_000)] {
        let html = page(&many(trials, seconds).input());
        assert!(html.len() <= bytes_max, "{trials} trials of {seconds} s: {} bytes", html.len());
    }
}

#[test]
fn numbers_that_are_none_are_gaps_in_every_picture() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 0.0] {
        let mut run = many(4, 60);
        for series in &mut run.series {
            for stream in &mut series.streams {
                for point in stream.seconds.iter_mut().step_by(3) {
                    (point.response_ns_p50, point.response_ns_p99) = (Value::Is(odd), Value::AtLeast(odd));
                    (point.lag_ns, point.end_to_end_ns_max) = (Value::AtLeast(odd), Value::Is(odd));
                }
                let curves = [&mut stream.percentiles, &mut stream.service_percentiles];
                for point in curves.into_iter().flatten().step_by(2) {
                    (point.quantile, point.ns) = (odd, Value::Is(odd));
                }
                stream.heat.edges_ns.iter_mut().skip(3).take(1).for_each(|edge| *edge = odd);
            }
            series
                .resources
                .iter_mut()
                .flat_map(|one| &mut one.points)
                .step_by(4)
                .for_each(|point| point.value = odd);
            series
                .cpu
                .iter_mut()
                .flat_map(|one| &mut one.points)
                .step_by(4)
                .for_each(|point| point.at_s = odd);
        }
        let is_odd = |scope| matches!(scope, Scope::Trial(TrialId(2)) | Scope::Case(1));
        for finding in run.findings.iter_mut().filter(|one| is_odd(one.scope)) {
            finding.estimate = Value::Is(odd);
        }
        let html = page(&run.input());
        let is_path = |path: &str| path.chars().all(|c| c.is_ascii_digit() || "MLHVlhvza.,- ".contains(c));
        let places = ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "viewBox", "points"];
        let is_place = |place: &str| place.chars().all(|c| c.is_ascii_digit() || ".%- ".contains(c));
        assert!(values(&html, "d").into_iter().all(is_path), "{odd}");
        for name in places {
            let odd_ones: Vec<&str> =
                values(&html, name).into_iter().filter(|place| !is_place(place)).collect();
            assert!(odd_ones.is_empty(), "{odd}, {name}: {odd_ones:?}");
        }
    }
}
