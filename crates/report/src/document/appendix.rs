//! What lets others repeat a run, from what really ran.

use crate::client_properties;
use crate::command_line::repeat;
use crate::declared;
use crate::grid::{TextOptions, clean};
use crate::input::ReportInput;
use crate::systems;
use crate::terminal::{config_text, settings_text};
use crate::topology;
use crate::units;
use kdyno_model::run::TrialStart;
use std::collections::BTreeMap;

/// Columns of texts that are printed as they are.
const PRINTED: TextOptions = TextOptions { width: 120, colour: false };

/// A part of the appendix: a heading, and a text that is printed as it is.
pub(super) struct AppendixSection {
    pub(super) title: String,
    pub(super) text: String,
}

/// The parts of one run: what was typed, on what host, the command that repeats it, what was declared, what ran where,
/// the systems with their command lines, the settings in force, what was requested, the scenario.
pub(super) fn parts(input: &ReportInput<'_>) -> Vec<AppendixSection> {
    let part = |title: &str, text: String| AppendixSection {
        title: title.to_owned(),
        text: text.trim_end().to_owned(),
    };
    let mut parts = Vec::new();
    for (session, _) in input.sessions {
        let title = format!("Command line and host, {}", units::instant(session.started_unix_ns));
        let command = session.command_line.join(" ");
        parts.push(part(
            &title,
            format!("{command}\n\nkdyno {}\n{}", session.kdyno_version, facts(&session.host_facts)),
        ));
    }
    parts.extend(repeat(input).map(|command| part("Repeat it", command)));
    for (of, declared) in declared::all(input.plan()) {
        parts.push(part(&format!("Declared, not measured: {of}"), facts(&declared)));
    }
    let (topologies, more) = topology::all(input);
    for (concerns, topology) in topologies {
        parts.push(part(&format!("Topology of {concerns}"), topology.text()));
    }
    if more > 0 {
        parts.push(part("Further topologies", topology::left_out(more)));
    }
    let (started, left_out) = systems::all(input);
    for (concerns, start) in started {
        let reported = format!("{}\n{}", facts(&start.cluster), command_lines(start));
        parts.push(part(&format!("System under test: {concerns}"), reported));
    }
    if left_out > 0 {
        parts.push(part("Further starts", systems::left_out(left_out)));
    }
    parts.push(part("Settings in force that are not the defaults", config_text(input, &PRINTED)));
    parts.push(part("Requested", settings_text(input.plan(), &PRINTED)));
    for (of, text) in client_properties::all(input) {
        parts.push(part(&format!("Properties of clients: {of}"), text));
    }
    parts.push(part(
        &format!("Scenario ({})", input.header.scenario_path),
        input.header.scenario_text.clone(),
    ));
    parts.retain(|part| !part.text.is_empty());
    for part in &mut parts {
        part.text = part.text.lines().map(clean).collect::<Vec<_>>().join("\n");
    }
    parts
}

fn facts(facts: &BTreeMap<String, String>) -> String {
    facts.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

fn command_lines(start: &TrialStart) -> String {
    start.command_lines.iter().map(|(subject, line)| format!("{subject}:\n  {}\n", line.join(" "))).collect()
}
