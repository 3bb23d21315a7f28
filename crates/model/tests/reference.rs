//! The committed schema of the worker's messages and the table of the rules of health are those that the types give.
//! `UPDATE_REFERENCE=1 cargo test -p kdyno-model` writes it.

use kdyno_model::health::{HealthRule, Threshold};
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
    let mut made = "# Rules of health\n\nMade from the code; docs/METHOD.md, Health, says how the figures come about.\n\n\
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

fn expect_current(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, made).expect("written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "{} is stale; run with UPDATE_REFERENCE=1", path.display());
}
