//! The committed reference and JSON Schemas are those that the tables give.
//! `UPDATE_REFERENCE=1 cargo test -p kdyno-scenario` writes them.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

use std::path::Path;

fn compare(name: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "{} is stale; run with UPDATE_REFERENCE=1", path.display());
}

fn pretty(schema: &serde_json::Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(schema).unwrap())
}

#[test]
fn reference_is_current() {
    compare("scenario.md", &kdyno_scenario::reference());
}

#[test]
fn every_section_that_a_key_leads_to_is_there() {
    let text = kdyno_scenario::reference();
    let links: Vec<&str> = text.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(links.len() > 50, "{links:?}");
    let headings: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|line| {
            line.to_lowercase()
                .replace(' ', "-")
                .replace(|c: char| !c.is_alphanumeric() && !"-_".contains(c), "")
        })
        .collect();
    let missing: Vec<&&str> = links.iter().filter(|link| !headings.iter().any(|own| own == *link)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn schemas_are_current() {
    compare("scenario.schema.json", &pretty(&kdyno_scenario::json_schema()));
    compare("target.schema.json", &pretty(&kdyno_scenario::target_json_schema()));
}
