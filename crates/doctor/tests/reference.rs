//! The committed JSON Schema is that of the code. `UPDATE_REFERENCE=1 cargo test -p kdyno-doctor` writes it.

use std::path::Path;

#[test]
fn the_schema_of_what_doctor_finds_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/doctor.schema.json");
    let schema = serde_json::to_string_pretty(&kdyno_doctor::json_schema()).expect("plain JSON");
    let made = format!("{schema}\n");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &made).expect("written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "{} is stale; run with UPDATE_REFERENCE=1", path.display());
}

#[test]
fn the_schema_has_the_number_of_the_form() {
    let id = kdyno_doctor::json_schema()["$id"].clone();
    let format = kdyno_doctor::AdviceDocument::new(&[], &[], None).format;
    assert_eq!(id, format!("urn:kdyno:doctor:{format}"));
}
