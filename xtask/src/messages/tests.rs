//! Freshness of what was generated, and what the generator refuses.

use super::spec::{MessageSpec, Versions};
use super::{differences, generate, jar, rust};

/// Maven fetches the specifications, unless they were fetched before.
#[test]
fn the_generated_messages_are_those_of_the_specifications() {
    let root = crate::root().unwrap();
    let wanted = generate(&jar::get(&root).unwrap()).unwrap();
    assert_eq!(differences(&root.join(super::FOLDER), &wanted).unwrap(), [""; 0], "{}", super::COMMAND);
}

#[test]
fn a_file_that_is_changed_missing_or_left_over_differs() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = [("same.rs", "1"), ("changed.rs", "2"), ("missing.rs", "3")];
    let wanted = wanted.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    for (name, text) in [("same.rs", "1"), ("changed.rs", "3"), ("left_over.rs", "4")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let found = differences(folder.path(), &wanted).unwrap();
    assert_eq!(found, ["changed.rs", "missing.rs", "left_over.rs"]);
}

fn message(fields: &str) -> anyhow::Result<MessageSpec> {
    MessageSpec::parse(&format!(
        "// a comment\n{{\"apiKey\": 7, \"type\": \"request\", \"name\": \"SomeRequest\", \"validVersions\": \"0-3\",
        \"flexibleVersions\": \"2+\", \"fields\": [{fields}]}}"
    ))
}

#[test]
fn versions_are_read_in_all_their_forms() {
    let versions =
        |text: &str| Versions::try_from(text.to_owned()).map(|versions| (versions.first, versions.last));
    assert_eq!(versions("2+"), Ok((2, i16::MAX)));
    assert_eq!(versions("2-5"), Ok((2, 5)));
    assert_eq!(versions("3"), Ok((3, 3)));
    assert_eq!(versions("none"), Ok((i16::MAX, i16::MAX)));
    assert!(versions("all").is_err());
}

#[test]
fn a_line_of_a_field_says_all_of_its_specification() {
    let api = rust::SpokenApi { name: "Some", version_min: 1, version_max: 3 };
    let response = message("").unwrap();
    let fields = r#"{"name": "Topics", "type": "[]Topic", "versions": "0-2", "nullableVersions": "1+", "fields": [
            {"name": "ErrorCode", "type": "int16", "versions": "0+"},
            {"name": "Type", "type": "bytes", "versions": "0+", "nullableVersions": "0+", "default": "null"}]},
        {"name": "Epoch", "type": "int64", "versions": "2+", "tag": 0, "taggedVersions": "2+", "default": "0x10"}"#;
    let text = rust::file(&api, &message(fields).unwrap(), &response).unwrap();
    for line in [
        "    Some = 7, versions 1..=3, flexible 2..;",
        "        topics: Option<Vec<Topic>> [0..=2] null [1..] = Some(Default::default()),",
        "        error_code: ErrorCode [0..],",
        "        r#type: Option<Vec<u8>> [0..],",
        "        epoch: i64 [2..] tag 0 = 16,",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn what_is_not_known_is_refused() {
    let api = |version_max| rust::SpokenApi { name: "Some", version_min: 0, version_max };
    let generated = |fields: &str, version_max| {
        let message = message(fields)?;
        rust::file(&api(version_max), &message, &message)
    };
    for (fields, version_max, reported) in [
        (r#"{"name": "A", "type": "records", "versions": "0+"}"#, 3, "type records"),
        (r#"{"name": "A", "type": "int8", "versions": "0+", "shape": "round"}"#, 3, "unknown field `shape`"),
        (r#"{"name": "A", "type": "string", "versions": "0+", "default": "x"}"#, 3, "default of A"),
        (
            r#"{"name": "A", "type": "int8", "versions": "0+", "tag": 0, "taggedVersions": "2+"}"#,
            3,
            "field A is tagged",
        ),
        ("", 4, "versions 0 to 3 are specified, 0 to 4 wanted"),
    ] {
        let error = format!("{:#}", generated(fields, version_max).unwrap_err());
        assert!(error.contains(reported), "{error}");
    }
}
