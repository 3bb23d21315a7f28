//! The committed schema of the worker's messages is the one that the types give.
//! `UPDATE_REFERENCE=1 cargo test -p kdyno-model` writes it.

use std::path::Path;

#[test]
fn the_schema_of_worker_messages_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/worker.schema.json");
    let schema = serde_json::to_string_pretty(&kdyno_model::worker::json_schema()).expect("plain JSON");
    let made = format!("{schema}\n");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &made).expect("written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == made, "{} is stale; run with UPDATE_REFERENCE=1", path.display());
}
