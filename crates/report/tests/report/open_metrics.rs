//! The state of a run, as text for a monitoring system.

use kdyno_model::live_metrics::{LiveValue, metrics};
use kdyno_report::open_metrics::document;

#[test]
fn each_metric_occurs_once_with_meaning_unit_and_values() {
    let item = |name: &str| vec!["note=\"a\nb\\\"".to_owned(), name.to_owned()];
    let value = |metric, labels, value| LiveValue { metric, labels, value };
    let text = document(vec![
        value(&metrics::THROTTLED, item("writers"), 0.25),
        value(&metrics::RECORDS_ACKNOWLEDGED, item("writers"), 12_000_000.0),
        value(&metrics::THROTTLED, item("others"), 1.5),
        value(&metrics::HOST_MEMORY_AVAILABLE, Vec::new(), 8e9),
    ]);
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_to_tell_is_an_end_alone() {
    assert_eq!(document(Vec::new()), "# EOF\n");
}
