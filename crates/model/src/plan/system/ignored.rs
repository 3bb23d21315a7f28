//! Settings of a broker's own file that are not given to the brokers, and why.

use crate::managed::instead_of;
use serde::{Deserialize, Serialize};

/// Why a setting of a file is ignored. Holds nothing of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredSetting {
    /// Another key of `system` stands for it.
    SetByKdyno,
    /// `listeners` of `system` stands for it.
    OfListeners,
    /// Its name is that of a secret.
    Secret,
    /// This release of Kafka, major and minor, is the first without it.
    Removed(u32, u32),
    /// A plugin or another distribution reads it.
    OfPlugin,
    /// Its value is none that a stored plan may have.
    OtherValue,
}

impl IgnoredSetting {
    /// Why, as a clause about the setting of this name.
    pub fn why(self, name: &str) -> String {
        match self {
            Self::SetByKdyno => match instead_of(name).filter(|instead| instead.contains('`')) {
                Some(instead) => format!("kdyno sets it itself: {instead}"),
                None => "kdyno sets it itself".to_owned(),
            },
            Self::OfListeners => "`listeners` of `system` says how clients connect and who may".to_owned(),
            Self::Secret => "its name is that of a secret, and run files hold none".to_owned(),
            Self::Removed(major, minor) => format!("Kafka {major}.{minor} removed it"),
            Self::OfPlugin => "it is read by a plugin or another distribution, which is not here".to_owned(),
            Self::OtherValue => {
                "its value is neither a number nor a switch, and may name a class, path or host; a key next to `file` sets it"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_the_key_that_stands_for_a_setting() {
        let said = |name| IgnoredSetting::SetByKdyno.why(name);
        assert_eq!(said("log.dirs"), "kdyno sets it itself: use `storage`");
        assert_eq!(said("node.id"), "kdyno sets it itself");
        assert_eq!(IgnoredSetting::Removed(4, 0).why("zookeeper.connect"), "Kafka 4.0 removed it");
        let stored = serde_json::to_string(&IgnoredSetting::Removed(4, 0)).expect("JSON");
        assert_eq!(stored, r#"{"removed":[4,0]}"#);
    }
}
