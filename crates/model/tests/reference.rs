//! The committed schema of the worker's messages and the table of the rules of health are those that the types give.
//! `UPDATE_REFERENCE=1 cargo test -p kdyno-model` writes it.

use kdyno_model::health::{HealthRule, Threshold};
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
            Threshold::Above(limit) => ("at most", limit),
            Threshold::Below(limit) => ("at least", limit),
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
fn the_dashboard_asks_for_what_is_told() {
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
