//! Documents that programs read.

use crate::fixture::{finding, run, run_of_texts};
use kdyno_model::finding::{Scope, Value};
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::{csv, json};
use serde_json::Value as Json;

/// The committed schema.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/run.schema.json");

#[test]
fn the_committed_schema_is_the_one_of_the_code() {
    let text = serde_json::to_string_pretty(&json::schema()).expect("a schema is JSON") + "\n";
    is_committed(COMMITTED, &text);
}

/// Compares a committed page or schema with what the code makes; writes it on request.
fn is_committed(path: &str, made: &str) {
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(path, made).expect("the file can be written");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == made, "{path} is old; run with UPDATE_REFERENCE=1");
}

#[test]
fn a_run_is_valid_by_the_schema() {
    let schema = json::schema();
    let number = json::SCHEMA.rsplit('/').next().expect("a number");
    assert_eq!(schema["$id"], format!("urn:kdyno:run:{number}"));
    let mut document = json::run(&run().input());
    assert_eq!(violation(&schema, &schema, &document, "$"), None);

    document["findings"][0]["value"] = Json::from("fast");
    let found = violation(&schema, &schema, &document, "$");
    assert_eq!(found.as_deref(), Some("$.findings.0.value is not number or null"));
    document["findings"][0]["value"] = Json::Null;
    document["surprise"] = Json::Null;
    assert_eq!(violation(&schema, &schema, &document, "$").as_deref(), Some("$.surprise is unknown"));
}

#[test]
fn a_run_as_json() {
    let mut run = run();
    run.findings
        .retain(|one| ["offered_per_s", "acked_per_s", "response.max"].contains(&one.of.metric.as_str()));
    run.caveats.drain(2..8);
    for series in &mut run.series {
        series.streams.iter_mut().for_each(|stream| stream.seconds.truncate(2));
        series.cpu.truncate(1);
        series.cpu[0].points.truncate(2);
    }
    let mut document = json::run(&run.input());
    assert_eq!(document["plan"]["seed"], 42);
    document["plan"] = Json::from("as the model serialises it");
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).expect("JSON"));
}

/// Texts represent facts: each that the page shows must be in the document, and not only within its plan.
#[test]
fn every_text_on_the_page_is_in_the_document() {
    let mut texts = 0;
    let run = run_of_texts(|| {
        texts += 1;
        format!("text-{texts}-")
    });
    let page = page(&run.input());
    let mut document = json::run(&run.input());
    document["plan"] = Json::Null;
    let document = document.to_string();
    let on_page: Vec<String> =
        (1..=texts).map(|number| format!("text-{number}-")).filter(|text| page.contains(text)).collect();
    assert!(on_page.len() > 20, "{on_page:?}");
    for text in on_page {
        assert!(document.contains(&text), "{text} is missing");
    }
}

#[test]
fn a_number_that_is_none_stays_none() {
    let mut run = run();
    run.findings = vec![
        finding(Scope::Trial(TrialId(1)), "writers.acked_per_s", Value::Is(f64::NAN)),
        finding(Scope::Trial(TrialId(1)), "writers.response.p99", Value::AtLeast(2e9)),
    ];
    let document = json::run(&run.input());
    assert_eq!(document["findings"][0]["value"], Json::Null);
    assert_eq!(
        (&document["findings"][1]["at_least"], &document["findings"][1]["value"]),
        (&true.into(), &2e9.into())
    );
}

#[test]
fn the_committed_page_on_csv_is_the_one_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/csv.md");
    is_committed(path, &csv::reference());
}

#[test]
fn the_page_on_csv_names_every_column_unit_and_series_there_is() {
    let (run, page) = (run(), csv::reference());
    let findings = csv::findings(&run.input());
    let series = csv::series(&run.input());
    let column = |text: &str, number: usize| -> std::collections::BTreeSet<String> {
        let rows = text.split("\r\n").skip(1).filter(|line| !line.is_empty());
        rows.map(|line| line.split(',').nth(number).expect("a field").to_owned()).collect()
    };
    let heads = [&findings, &series].map(|text| text.lines().next().expect("a head").to_owned());
    let of_plan =
        |name: &str| name.split_once('.').map_or(name.to_owned(), |(kind, _)| format!("{kind}.NAME"));
    let columns = heads.iter().flat_map(|head| head.split(',')).map(of_plan);
    // The fixture's labels have no comma.
    let place =
        |text: &str, name| text.lines().next().and_then(|head| head.split(',').position(|one| one == name));
    let (unit, name) = (place(&findings, "unit").expect("units"), place(&series, "series").expect("series"));
    let all = columns.chain(column(&findings, unit)).chain(column(&series, name));
    let names: Vec<String> = all.collect();
    assert!(names.iter().any(|name| name == "cpu_percent_of_core") && names.len() > 25, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| `{name}` | ")), "{name} is not on the page");
    }
}

#[test]
fn findings_as_csv() {
    let mut run = run();
    run.findings.retain(|one| ["acked_per_s", "response.max"].contains(&one.of.metric.as_str()));
    insta::assert_snapshot!(csv::findings(&run.input()).replace("\r\n", "\n"));
}

#[test]
fn every_row_of_the_series_has_the_columns_of_the_head() {
    let run = run();
    let text = csv::series(&run.input());
    let columns = |line: &str| line.split(',').count();
    let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
    let head = lines.next().expect("a head");
    assert_eq!(
        head,
        "run_id,trial,case,side,repeat,label,param.brokers,param.proxy,subject,series,phase,at_s,value,at_least"
    );
    let mut count = 0;
    for line in lines {
        assert_eq!(columns(line), columns(head), "{line}");
        count += 1;
    }
    // Two trials of two streams of 40 seconds with 14 series, and of 4 processes and 12 resources with 42 readings.
    assert_eq!(count, 2 * (2 * 40 * 14 + (4 + 12) * 42));
    assert!(text.contains(
        "0123456789abcdef,1,0,,1,brokers=3 #1,3,none,writers,response_ns_p99,measure,20,1400000000,true"
    ));
}

/// The first place where a document breaks the part of JSON Schema that our schema uses.
fn violation(root: &Json, schema: &Json, value: &Json, at: &str) -> Option<String> {
    if let Some(Json::String(reference)) = schema.get("$ref") {
        let target = root.pointer(reference.trim_start_matches('#')).expect("a definition");
        return violation(root, target, value, at);
    }
    if let Some(Json::Array(choices)) = schema.get("anyOf") {
        let broken: Vec<_> = choices.iter().filter_map(|one| violation(root, one, value, at)).collect();
        return if broken.len() < choices.len() { None } else { broken.into_iter().next() };
    }
    let types: Vec<&str> = match &schema["type"] {
        Json::String(one) => vec![one],
        Json::Array(many) => many.iter().filter_map(Json::as_str).collect(),
        _ => vec![],
    };
    let fits = |name: &&str| match *name {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema uses the unknown type {other}"),
    };
    if !types.is_empty() && !types.iter().any(fits) {
        return Some(format!("{at} is not {}", types.join(" or ")));
    }
    if let Json::Array(items) = value {
        return (0..)
            .zip(items)
            .find_map(|(i, item): (usize, _)| violation(root, &schema["items"], item, &format!("{at}.{i}")));
    }
    let Json::Object(fields) = value else { return None };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
    if let Some(missing) = required.into_iter().find(|name| !fields.contains_key(*name)) {
        return Some(format!("{at}.{missing} is missing"));
    }
    fields.iter().find_map(|(name, field)| {
        let at = format!("{at}.{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(known), _) => violation(root, known, field, &at),
            (None, Json::Bool(false)) => Some(format!("{at} is unknown")),
            (None, additional) => violation(root, additional, field, &at),
        }
    })
}
