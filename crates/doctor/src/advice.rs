//! One recommendation and what became of it.

use crate::measured::{MeasuredDisk, MeasuredNetwork};
use crate::quote::plain;
use schemars::JsonSchema;
use serde::Serialize;

/// How much it matters that a recommendation is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceSeverity {
    /// Records may be lost, something fails under load, or figures are not those of the system.
    High,
    /// Throughput or latency suffer under the loads that it is recommended for.
    Medium,
    /// It may help; or it depends on hardware and load.
    Low,
}

impl AdviceSeverity {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Whether what is follows what is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdviceStatus {
    /// It does.
    Followed,
    /// It does not.
    NotFollowed,
    /// The current value is not known here.
    Unknown,
}

/// How a setting is changed, and back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingChange {
    /// A shell command that sets the recommended value; what has to be done by hand, where `by_hand` says so.
    pub apply: String,
    /// A shell command that sets back what was found; `None`: there is nothing to set back, or it is done by hand.
    pub undo: Option<String>,
    /// Whether it is no command: a file has to be edited, a process restarted, a topic created again.
    pub by_hand: bool,
}

impl SettingChange {
    /// Two commands.
    pub(crate) fn commands(apply: String, undo: String) -> Self {
        Self { apply, undo: Some(undo), by_hand: false }
    }

    /// Something that no command does.
    pub(crate) fn by_hand(what: impl Into<String>) -> Self {
        Self { apply: what.into(), undo: None, by_hand: true }
    }
}

/// A recommendation compared with the actual setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Advice {
    /// What it is of: `host`, `disk vda`, `broker 1`, `topic orders`, `load writers`.
    pub of: String,
    /// The setting, by the name that its owner gives it.
    pub setting: String,
    /// Its value now; `None`: not known here.
    pub current: Option<String>,
    /// The recommended value.
    pub recommended: String,
    /// How the two compare.
    pub verdict: AdviceStatus,
    /// How much it matters.
    pub severity: AdviceSeverity,
    /// Why it is recommended.
    pub why: String,
    /// Who recommends it.
    pub source: &'static str,
    /// How it is changed; `None` where it is followed or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<SettingChange>,
}

impl Advice {
    /// What it is of, the setting, its value now and the recommended one, as a terminal or a script's comment may have them.
    pub(crate) fn plain_words(&self) -> [String; 4] {
        let now = self.current.as_deref().unwrap_or("unknown");
        [&self.of, &self.setting, now, &self.recommended].map(plain)
    }
}

/// What `kdyno doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "What kdyno doctor found", extend("$id" = "urn:kdyno:doctor:1"))]
pub struct AdviceDocument<'a> {
    /// Version of this form; it grows when a field changes its meaning or goes.
    pub format: u32,
    /// Every recommendation that applies.
    pub advice: &'a [Advice],
    /// What was measured of disks (`--measure`).
    pub measured: &'a [MeasuredDisk],
    /// What was measured of the network to another host (`--measure --network`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_network: Option<&'a MeasuredNetwork>,
}

impl<'a> AdviceDocument<'a> {
    /// The document of what was found.
    #[must_use]
    pub fn new(
        advice: &'a [Advice],
        measured: &'a [MeasuredDisk],
        measured_network: Option<&'a MeasuredNetwork>,
    ) -> Self {
        Self { format: 1, advice, measured, measured_network }
    }
}

/// JSON Schema of [`AdviceDocument`].
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(AdviceDocument<'static>).to_value()
}
