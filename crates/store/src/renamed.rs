//! Metrics that files of format 3 have under other names: what was `lag` is `lag_time`, what was `lag_records` is `lag`.

use crate::columns::{RowFault, json};
use kdyno_model::imported::IMPORTED;
use rusqlite::Row;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Earlier names with the present ones.
const NAMES: [(&str, &str); 6] = [
    ("lag", "lag_time"),
    ("lag_records", "lag"),
    ("committed_lag_at_start", "committed_lag_time_at_start"),
    ("committed_lag_at_end", "committed_lag_time_at_end"),
    ("committed_lag_records_at_start", "committed_lag_at_start"),
    ("committed_lag_records_at_end", "committed_lag_at_end"),
];

/// What a metric of a file from before is called now. Names of imported series are their authors'.
pub(crate) fn metric(subject: &str, name: String) -> String {
    if subject.starts_with(IMPORTED) {
        return name;
    }
    let known = NAMES.iter().find(|(earlier, _)| *earlier == name);
    known.map_or(name, |(_, now)| (*now).to_owned())
}

/// Reads a document and renames each metric address in it.
pub(crate) fn document<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, RowFault> {
    let mut value: Value = json(row, column)?;
    addresses(&mut value);
    serde_json::from_value(value).map_err(|error| RowFault::Content(error.to_string()))
}

fn addresses(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let subject = fields.get("subject").and_then(Value::as_str).filter(|_| fields.len() == 2);
            if let (Some(subject), Some(Value::String(name))) = (subject, fields.get("metric")) {
                let present = metric(subject, name.clone());
                fields.insert("metric".to_owned(), Value::String(present));
            }
            fields.values_mut().for_each(addresses);
        }
        Value::Array(items) => items.iter_mut().for_each(addresses),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_of_an_earlier_file_get_the_present_names() {
        let address = |metric: &str| json!({"subject": "readers", "metric": metric});
        let mut plan = json!({
            "show": {"columns": [address("lag"), address("lag_records"), address("acked_per_s")]},
            "metric": "lag",
        });
        addresses(&mut plan);
        let expected = [address("lag_time"), address("lag"), address("acked_per_s")];
        assert_eq!(plan["show"]["columns"], json!(expected));
        assert_eq!(plan["metric"], "lag", "no address");
        assert_eq!(metric("group:g", "committed_lag_records_at_end".to_owned()), "committed_lag_at_end");
        assert_eq!(metric("imported-burrow", "lag".to_owned()), "lag", "a column of somebody's file");
    }
}
