//! Names in a properties file that no client of Kafka has.

use crate::client::{foreign, nearest_known};
use crate::input::quoted;
use kdyno_model::properties::Property;

/// Most unknown settings that are reported one by one.
const UNKNOWN_LISTED_MAX: usize = 20;

/// Whether something has only what names of settings are made of. After a line that lacks its `\` the rest of a key or of a
/// login takes the place of a name.
pub(super) fn is_name_like(name: &str) -> bool {
    name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_'))
}

/// Whether a name of a properties file is that of a setting, of Kafka's clients or of others, and may be repeated: after a
/// line that lacks its `\` a part of a secret may stand where a name would.
pub fn is_setting_name(name: &str) -> bool {
    is_name_like(name) && (name.contains('.') || nearest_known(name).is_some() || foreign(name).is_some())
}

/// That Kafka's clients do not know these names either. What looks like no name is not repeated.
pub(super) fn unknown_notes(unknown: &[&Property]) -> Vec<String> {
    let reported = |property: &&Property| {
        let Property { name, line, .. } = property;
        let (foreign, meant) = (foreign(name), nearest_known(name));
        if !is_setting_name(name) {
            return format!(
                "line {line} begins with no name of a setting, and is not taken; does the line before it lack a `\\` at \
                 its end?"
            );
        }
        if let Some(foreign) = foreign {
            return format!("{}, and is not taken; {}", foreign.message(name), foreign.hint);
        }
        let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        format!("{} is no setting of Kafka's clients, and is not taken{meant}", quoted(name))
    };
    let mut notes: Vec<String> = unknown.iter().take(UNKNOWN_LISTED_MAX).map(reported).collect();
    if unknown.len() > UNKNOWN_LISTED_MAX {
        notes.push(format!(
            "{} more names are no settings of Kafka's clients",
            unknown.len() - UNKNOWN_LISTED_MAX
        ));
    }
    notes
}
