//! All forms of one run show the same numbers.

use crate::fixture::{RunFixture, caveat, run};
use kdyno_analysis::marks;
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::finding::{Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{csv, json, markdown, units};
use std::collections::BTreeMap;

/// What a form shows of each figure, by its address.
type PrintedFigures = BTreeMap<String, String>;

/// One block holds all columns.
const OPTIONS: TextOptions = TextOptions { width: 400, colour: false };

/// Tables of trials, and of each column its head and whose figure it is.
const TABLES: [(&str, &[(&str, &str)]); 2] = [
    (
        "Produce: rates and what they cost",
        &[
            ("offered", "writers.offered_per_s"),
            ("achieved", "writers.achieved_per_s"),
            ("acknowledged", "writers.acked_per_s"),
            ("broker CPU per record", "brokers.cpu_us_per_record"),
            ("worker CPU per record", "workers.cpu_us_per_record"),
            ("records per batch", "writers.records_per_batch"),
            ("bytes per request", "writers.bytes_per_request"),
        ],
    ),
    (
        "Produce: latency",
        &[
            ("response p50", "writers.response.p50"),
            ("response p99", "writers.response.p99"),
            ("response p99.9", "writers.response.p99.9"),
            ("response p99.99", "writers.response.p99.99"),
            ("response max", "writers.response.max"),
            ("service p50", "writers.service.p50"),
            ("service p99", "writers.service.p99"),
            ("response ÷ service", "writers.response_over_service"),
        ],
    ),
];

/// A run of one trial with latencies that are invalid only because its load queued.
fn queued() -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    let columns =
        ["writers.response.p50", "writers.response.max"].map(|of| Address::parse(of).expect("a metric"));
    run.header.plan.show.columns.extend(columns);
    let queue =
        Caveat::QueueGrowth { item: "writers".to_owned(), start_s: 0.02, growth_s: 2.6, allowed_s: 0.05 };
    let concerns = Concern::Latencies { item: "writers".to_owned() };
    run.caveats = vec![ScopedCaveat { concerns, ..caveat(1, Severity::Invalid, queue) }];
    run.findings.retain(|one| one.scope == Scope::Trial(TrialId(1)));
    marks::invalid(&mut run.findings, &run.caveats);
    let drawn = Judgement { findings: run.findings, caveats: run.caveats, conclusions: Vec::new() };
    let outcomes = vec![TrialOutcome::of_start(&run.trials[0], drawn)];
    let sessions = [run.sessions[0].0.clone()];
    let all = kdyno_analysis::run::all(&run.header.plan, outcomes, &run.trials, &sessions, false);
    (run.findings, run.caveats, run.conclusions) = (all.findings, all.caveats, all.conclusions);
    marks::at_least(&mut run.findings, &run.caveats);
    run
}

/// A number of a document as tables have it.
fn printed(metric: &str, number: Option<f64>, at_least: bool, marks: &[&str]) -> String {
    let value = match (number, at_least) {
        (Some(number), false) => Value::Is(number),
        (Some(number), true) => Value::AtLeast(number),
        (None, _) => Value::None,
    };
    let text = units::value(value, units::of_metric(metric));
    let text = if marks.contains(&"invalid") { format!("! {text}") } else { text };
    if marks.iter().any(|mark| *mark != "invalid") { format!("{text} ᵇ") } else { text }
}

/// The findings of a kind of scope in the JSON document.
fn of_json(run: &RunFixture, scope: &str) -> PrintedFigures {
    let document = json::run(&run.input());
    let findings = document["findings"].as_array().expect("a list").iter();
    let reported = findings.filter(|one| one["scope"]["kind"] == scope).map(|one| {
        let text = |field: &str| one[field].as_str().expect("a text").to_owned();
        let marks = one["marks"].as_array().expect("a list").iter();
        let marks: Vec<&str> = marks.map(|mark| mark.as_str().expect("a mark")).collect();
        let at_least = one["at_least"].as_bool().expect("a yes or no");
        let number = printed(&text("metric"), one["value"].as_f64(), at_least, &marks);
        (format!("{}.{}", text("subject"), text("metric")), number)
    });
    reported.collect()
}

/// The value in the lines of findings.
fn of_csv(run: &RunFixture, scope: &str) -> PrintedFigures {
    let text = csv::findings(&run.input());
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let heads = lines.next().expect("a head");
    let field = |line: &[&str], name: &str| {
        line[heads.iter().position(|head| *head == name).expect("a column")].to_owned()
    };
    let reported = lines.filter(|line| field(line, "scope") == scope).map(|line| {
        let [metric, value, at_least, marks] =
            ["metric", "value", "at_least", "marks"].map(|name| field(&line, name));
        let marks: Vec<&str> = marks.split_whitespace().collect();
        let number = printed(&metric, value.parse().ok(), at_least == "true", &marks);
        (format!("{}.{metric}", field(&line, "subject")), number)
    });
    reported.collect()
}

/// The cells of each row of a table of the page, those of its head first.
fn rows_of_page(page: &str, begin: &str) -> Vec<Vec<String>> {
    let table = page.split(begin).nth(1).expect("the table").split("</table>").next().expect("its end");
    let text = |cell: &str| {
        let inner = cell.split_once('>').expect("a tag").1;
        let parts = inner.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
        parts.collect::<String>().trim().to_owned()
    };
    let cells = |row: &str| {
        let cells = row.split("<th ").flat_map(|part| part.split("<td"));
        cells.skip(1).map(|cell| text(&format!("<{cell}"))).collect()
    };
    table.split("<tr>").skip(1).map(cells).collect()
}

/// The cells of the first row of a table of a terminal under its heads, which are so many lines.
fn row_of_terminal(text: &str, title: &str, heads: usize) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| *line != title);
    let row = lines.nth(1 + heads).expect("a row");
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_form_shows_the_same_figure_for_a_trial_that_queued() {
    let run = queued();
    let (text, page) = (run_table(&run.input(), &OPTIONS), page(&run.input()));
    let (json, csv) = (of_json(&run, "trial"), of_csv(&run, "trial"));
    assert_eq!(json, csv);
    assert_eq!(json["writers.response.p99"], "! ≥ 48.7 ms");
    assert_eq!(json["writers.acked_per_s"], "59,871/s");
    for (title, columns) in TABLES {
        let rows = rows_of_page(&page, &format!("<caption>{title}</caption>"));
        // Trial and stream come first.
        let (heads, own) = (&rows[0][2..], &rows[1][2..]);
        let terminal = &row_of_terminal(&text, title, 2)[1..];
        assert_eq!(heads[..columns.len()], columns.iter().map(|(head, _)| *head).collect::<Vec<_>>());
        for (at, (_, of)) in columns.iter().enumerate() {
            let reported = [&json[*of], &own[at], &terminal[at]];
            assert!(reported.iter().all(|text| **text == json[*of]), "{of}: {reported:?}");
        }
    }
}

#[test]
fn every_form_shows_the_same_figure_for_a_case_that_queued() {
    let run = queued();
    let (text, page) = (run_table(&run.input(), &OPTIONS), page(&run.input()));
    let (json, csv) = (of_json(&run, "case"), of_csv(&run, "case"));
    assert_eq!(json, csv);
    assert_eq!(json["writers.response.p99"], "! ≥ 48.7 ms");
    let names = run.header.plan.show.rows.len();
    let of_page = rows_of_page(&page, "<h2 id=\"result\">").swap_remove(1).split_off(names);
    let of_terminal = row_of_terminal(&text, "Result", 2).split_off(names);
    let block = markdown::block(&run.input());
    let row = block.lines().skip_while(|line| !line.starts_with("| ---")).nth(1).expect("a row");
    let of_markdown: Vec<&str> = row.split('|').skip(1 + names).map(str::trim).collect();
    for (at, of) in run.header.plan.show.columns.iter().enumerate() {
        let expected = &json[&of.to_string()];
        let reported = [of_page[at].as_str(), of_terminal[at].as_str(), of_markdown[at]];
        assert!(reported.iter().all(|text| text == expected), "{of}: {expected}, {reported:?}");
    }
}
