//! The committed schema of the worker's messages and the pages of caveats and of the rules of health are those that the types give.
//! `UPDATE_REFERENCE=1 cargo test -p kdyno-model` writes it.

use kdyno_model::caveat::{CaveatRow, Grade, Question, Severity};
use kdyno_model::health::{HealthRule, HealthThreshold};
use kdyno_model::live_metrics::ALL;
use kdyno_model::metric::Unit;
use kdyno_model::units;
use std::path::Path;

#[test]
fn the_schema_of_worker_messages_is_current() {
    let schema = serde_json::to_string_pretty(&kdyno_model::worker::json_schema()).expect("plain JSON");
    expect_current("worker.schema.json", &format!("{schema}\n"));
}

#[test]
fn the_table_of_the_rules_of_health_is_current() {
    let mut made = "# Rules of health\n\nMade from the code; docs/reference/health-figures.md says how the figures come about.\n\n\
        | rule | figure | threshold | what follows | next step | source |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for rule in HealthRule::all() {
        let text = rule.text();
        let (words, limit) = match text.threshold {
            HealthThreshold::Above(limit) => ("at most", limit),
            HealthThreshold::Below(limit) => ("at least", limit),
        };
        let limit = match text.unit {
            Unit::Ratio => format!("{} %", units::significant(100.0 * limit)),
            Unit::Ns => format!("{} ms", units::significant(limit / 1e6)),
            _ => units::significant(limit),
        };
        made.push_str(&format!(
            "| `{rule}` | {} | {words} {limit} | {} | {} | {} |\n",
            text.figure, text.consequence, text.next_step, text.source
        ));
    }
    expect_current("health.md", &made);
}

#[test]
fn the_page_of_caveats_is_current() {
    let mut made = CAVEATS.to_owned();
    let mut group = None;
    for row in CaveatRow::all().filter(|row| group.replace(row.group) != Some(row.group)) {
        let of_group: Vec<&CaveatRow> = CaveatRow::all().filter(|other| other.group == row.group).collect();
        made.push_str(&format!(
            "\n## {}\n\n| caveat | when | open | max | find | compare |\n|---|---|---|---|---|---|\n",
            row.group.title()
        ));
        for row in &of_group {
            for grade in [&row.usual].into_iter().chain(&row.grave) {
                made.push_str(&format!("| `{}` | {} | {} |\n", row.kind, grade.when, letters(grade)));
            }
        }
        of_group.iter().for_each(|row| made.push_str(&in_words(row)));
    }
    expect_current("caveats.md", &made);
}

/// What a caveat is, and how to read its page.
const CAVEATS: &str = "# Caveats

A caveat is a reason not to trust figures as they are. Reports print caveats before figures. This page is made from
the code (`crates/model/src/caveat/rows`).

The weight of a caveat depends on the question: how the system does at a given rate (**open**), how much it handles at
`rate: max` (**max**), how much it handles while conditions hold (**find**, a trial of a search), whether two sides
differ (**compare**, a trial of a pair). The rate of a load item decides for a caveat about that item, the heaviest
weight of all items for a caveat about the whole trial.

- n: note, good to know.
- w: warning, the figures may be off by what it says.
- **i**: invalid, the figures that it names are void. They carry a mark wherever they are printed. Others stand.
- –: not reported.

Each name is followed by what reports print, with the values of the run file in braces. Reports print a caveat once that
several trials, load items or topics share: with the first six names and the range of each number. The run file and JSON
have one for each. Where a run has verdicts, one line sums up the caveats about figures that no verdict is about.
";

fn letters(grade: &Grade) -> String {
    let letter = |question| match grade.weight(question) {
        Some(Severity::Note) => "n",
        Some(Severity::Warning) => "w",
        Some(Severity::Invalid) => "**i**",
        None => "–",
    };
    Question::all().map(letter).collect::<Vec<_>>().join(" | ")
}

/// What reports print of a kind, what to do, and what else there is to know.
fn in_words(row: &CaveatRow) -> String {
    let mut made = format!("\n### `{}`\n", row.kind);
    let mut last = ("", "");
    for words in row.words {
        if words.sentence != last.0 {
            made.push_str(&format!("\n> {}\n", as_printed(words.sentence)));
        }
        if !words.remedy.is_empty() && words.remedy != last.1 {
            made.push_str(&format!("\nWhat to do: {}.\n", words.remedy));
        }
        last = (words.sentence, words.remedy);
    }
    if !row.more.is_empty() {
        made.push_str(&format!("\n{}\n", row.more));
    }
    made
}

/// The sentence with the names of its values alone: `{records:count}` is `{records}`.
fn as_printed(sentence: &str) -> String {
    let mut parts = sentence.split('{');
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, after) = part.split_once('}').expect("each brace has its other one");
        let (name, form) = place.split_once(':').unwrap_or((place, ""));
        let noun = form.split_once('|').map_or(String::new(), |(_, more)| format!(" {more}"));
        made.push_str(&format!("{{{name}}}{noun}{after}"));
    }
    made
}

#[test]
fn the_table_of_the_metrics_of_a_run_is_current() {
    let mut made = "# Metrics of a run that goes on\n\nMade from the code. `--metrics-listen` of `run`, `compare`, `find`, `quick` and `rerun` \
        answers with them.\n`case` is the trial in words, empty where the plan has one. docs/grafana-dashboard.json shows \
        them.\n\n| series | labels | meaning |\n|---|---|---|\n"
        .to_owned();
    for metric in ALL {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        made.push_str(&format!("| `{}` | {} | {} |\n", metric.series(), labels.join(", "), metric.help));
    }
    expect_current("metrics.md", &made);
}

/// Each query asks for series that there are, with labels that these have.
#[test]
fn the_dashboard_queries_only_exported_metrics() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/grafana-dashboard.json");
    let text = std::fs::read_to_string(path).expect("the dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let queries: Vec<&str> = targets.map(|target| target["expr"].as_str().expect("a query")).collect();
    assert!(queries.len() >= panels.len() && !panels.is_empty());
    for query in queries {
        let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let asked: Vec<&str> = words.filter(|word| word.starts_with("kdyno_")).collect();
        assert!(!asked.is_empty(), "{query}");
        for name in asked {
            assert!(ALL.iter().any(|metric| metric.series() == name), "{name} of {query}");
        }
    }
}

fn expect_current(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, made).expect("written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "{} is stale; run with UPDATE_REFERENCE=1", path.display());
}
