//! Whether windows were steady, in words.

use super::words;
use crate::digits;
use crate::input::ReportInput;
use crate::units;
use kdyno_model::conclusion::{Conclusion, Level, ShortTerm, Steadiness, SteadyState};
use kdyno_model::finding::Scope;
use kdyno_model::metric::Unit;
use kdyno_model::trial::TrialId;

/// What stands in a trial's row; empty where nothing was judged.
pub fn cell(conclusions: &[Conclusion], trial: TrialId, item: &str) -> String {
    let found = all(conclusions).find(|one| one.scope == Scope::Trial(trial) && one.item == item);
    found.map_or_else(String::new, |one| match &one.state {
        SteadyState::Steady => match one.smallest_step {
            Some(step) => format!("yes, within {}", share(step)),
            None => "yes".to_owned(),
        },
        SteadyState::Drifting { per_minute, .. } => format!("drift {}", slope(*per_minute)),
        SteadyState::SeveralLevels { levels, .. } => format!("{} levels", levels.len()),
        SteadyState::TooShort { .. } => "too short to tell".to_owned(),
    })
}

/// One line for every window that was not steady, or says nothing of load that goes on.
pub fn notes(input: &ReportInput<'_>) -> Vec<String> {
    let reported: Vec<TrialId> = input.reported().map(|trial| trial.id).collect();
    let mut notes: Vec<String> = Vec::new();
    for one in all(input.conclusions) {
        let Scope::Trial(trial) = one.scope else { continue };
        let is_plain = one.state == SteadyState::Steady && one.short_term.is_empty();
        if is_plain || !reported.contains(&trial) {
            continue;
        }
        // A load item's name stays as it is typed.
        let whose = words::capital(&input.name(trial));
        let whose = if reported.len() > 1 { format!("{whose}, ") } else { String::new() };
        notes.push(format!("{whose}{}.", sentence(one)));
    }
    merged(notes)
}

/// Lines that differ in nothing but the trial are told once when they are many.
fn merged(notes: Vec<String>) -> Vec<String> {
    const LINES_MAX: usize = 12;
    let more = notes.len().saturating_sub(LINES_MAX);
    let mut notes = notes;
    notes.truncate(LINES_MAX);
    if more > 0 {
        notes.push(format!("{more} further windows were not steady: see the column of each trial."));
    }
    notes
}

/// What was found, without the trial: `writers: acked_per_s drifted by +3.1 % per minute; …`.
pub fn sentence(one: &Steadiness) -> String {
    let seen = match one.smallest_step {
        Some(step) => format!("; a step of {} would have been seen", share(step)),
        None => String::new(),
    };
    let state = match &one.state {
        SteadyState::Steady => format!("steady{seen}"),
        SteadyState::Drifting { per_minute, of } => {
            format!("{} drifted by {} of its mean{seen}", of.metric, slope(*per_minute))
        }
        SteadyState::SeveralLevels { levels, of } => {
            let unit = units::of_metric(&of.metric);
            let level = |level: &Level| {
                let value = digits::number(level.value, unit, Some(level.value * 0.05));
                format!("{value} from {} to {} s", level.from_s, level.to_s)
            };
            let levels = words::list(&levels.iter().map(level).collect::<Vec<_>>());
            format!("{} stayed at several levels: {levels}{seen}", of.metric)
        }
        SteadyState::TooShort { needed_s } => {
            format!("the window is too short to tell whether it was steady: that takes {needed_s} s at least")
        }
    };
    let short: Vec<String> = one.short_term.iter().map(short_term).collect();
    let short =
        if short.is_empty() { String::new() } else { format!("; short-term: {}", words::list(&short)) };
    format!("{}: {state}{short}", one.item)
}

fn short_term(one: &ShortTerm) -> String {
    match one {
        ShortTerm::SegmentRolls { seen, needed } => {
            format!("{} of {needed} log segments per partition were filled", units::significant(*seen))
        }
        ShortTerm::FlushCycles { seen, needed } => {
            format!("{} of {needed} rounds of writing back dirty pages were seen", units::significant(*seen))
        }
        ShortTerm::BurstCredits { seen_s, needed_s } => {
            format!("{seen_s} s of load end before burst credits do, which takes {needed_s} s")
        }
    }
}

fn all(conclusions: &[Conclusion]) -> impl Iterator<Item = &Steadiness> {
    conclusions.iter().filter_map(|one| match one {
        Conclusion::Steadiness(of) => Some(of),
        _ => None,
    })
}

fn share(share: f64) -> String {
    format!("{} %", digits::number(share * 100.0, Unit::Count, Some(share * 10.0)))
}

fn slope(per_minute: f64) -> String {
    let sign = if per_minute < 0.0 { "−" } else { "+" };
    format!("{sign}{} per minute", share(per_minute.abs()))
}
