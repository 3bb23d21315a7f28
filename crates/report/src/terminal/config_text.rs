//! `kdyno show --config`: what was really in force.

use super::answer_text::table_text;
use crate::answer::compared_settings;
use crate::grid::{TextOptions, Tone, wrap};
use crate::in_force::{self, TrialsInForce};
use crate::input::ReportInput;
use crate::terminal::first_line;

/// Settings of brokers, topics and clients that are not the defaults, Java, and in what sides, cases and trials differ.
#[must_use]
pub fn config_text(input: &ReportInput<'_>, options: &TextOptions) -> String {
    let groups = in_force::all(input);
    let mut out = options.paint(&first_line(input.plan()), Tone::Strong) + "\n";
    for sentence in compared_settings(input) {
        out.push_str(&wrap(&sentence.text, options.columns(), 2));
        out.push('\n');
    }
    for (index, group) in groups.iter().enumerate() {
        out.push('\n');
        out.push_str(&group_text(group, in_force::differences(&groups, index), options));
    }
    for text in in_force::ignored(input.plan()) {
        out.push('\n');
        out.push_str(&wrap(&text, options.columns(), 2));
        out.push('\n');
    }
    let unread = in_force::unread(input);
    if !unread.is_empty() {
        out.push('\n');
    }
    for why in unread {
        out.push_str(&wrap(why, options.columns(), 2));
        out.push('\n');
    }
    if groups.iter().all(|group| group.settings.is_empty()) {
        out.push_str(
            "\nNo settings were kept: brokers were not asked or did not answer, and no trial has run.\n",
        );
    }
    out
}

fn group_text(
    group: &TrialsInForce<'_>,
    differences: Option<(Vec<String>, usize)>,
    options: &TextOptions,
) -> String {
    let mut out = options.paint(&format!("In force in {}", group.concerns), Tone::Strong) + "\n";
    let mut line = |text: &str| {
        out.push_str(&wrap(text, options.columns(), 4));
        out.push('\n');
    };
    if let Some(kafka) = &group.kafka {
        line(&format!("Kafka: {kafka}"));
    }
    for java in &group.javas {
        line(&format!("Java of {}: {} {}", java.whose, java.version, java.options));
    }
    if let Some((lines, more)) = differences {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = if lines.is_empty() { "nothing".to_owned() } else { lines.join("; ") };
        line(&format!("Differs from the first in: {shown}{more}"));
    }
    for (subject, settings) in group.settings {
        out.push('\n');
        out.push_str(&format!("{}: {}\n", in_force::whose(subject), in_force::count(settings)));
        let table = in_force::table(settings);
        if !table.rows.is_empty() {
            out.push_str(&table_text(&table, options));
        }
    }
    out
}
