//! A run's document as JSON, as `kdyno run --json` prints it.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};
use serde_json::Value;

/// Runs a scenario to its end, and prints its document.
pub(crate) fn run(place: &TestFolder, scenario: &str, more: &[&str]) -> ProgramOutput {
    let path = place.file("scenario.yaml", scenario);
    let path = path.to_str().expect("plain path");
    place.start(place.command(&[&["run", path, "--share", "--json"], more].concat())).wait(RUN_DEADLINE)
}

pub(crate) struct Document(pub(crate) Value);

impl Document {
    pub(crate) fn of(said: &ProgramOutput) -> Self {
        Self(serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}")))
    }

    pub(crate) fn figure(&self, subject: &str, metric: &str) -> Option<f64> {
        let findings = self.0["findings"].as_array().expect("findings");
        let is_it = |finding: &&Value| finding["subject"] == subject && finding["metric"] == metric;
        findings.iter().find(is_it).and_then(|finding| finding["value"].as_f64())
    }

    /// What was reported of a command's failure.
    pub(crate) fn failure(&self, item: &str) -> String {
        let caveats = self.0["caveats"].as_array().expect("caveats");
        let is_it = |caveat: &&Value| caveat["kind"] == "command-failed" && caveat["concerns_item"] == item;
        caveats.iter().find(is_it).map_or_else(String::new, |caveat| caveat["message"].to_string())
    }
}
