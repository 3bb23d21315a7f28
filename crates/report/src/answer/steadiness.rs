//! Whether windows were steady, in words.

use super::words;
use crate::digits;
use crate::input::ReportInput;
use crate::units;
use kdyno_model::conclusion::{Conclusion, Level, ShortTerm, Steadiness, SteadyState, of_kind};
use kdyno_model::finding::Scope;
use kdyno_model::metric::Unit;
use kdyno_model::trial::TrialId;
use std::collections::BTreeSet;

/// The cell of a trial's row; empty where nothing was judged.
pub fn cell(conclusions: &[Conclusion], trial: TrialId, item: &str) -> String {
    let found =
        of_kind::<Steadiness>(conclusions).find(|one| one.scope == Scope::Trial(trial) && one.item == item);
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

/// Windows that were not steady, or say nothing of load that goes on: one line for each while they are few, else one for
/// each item with how many there are of each kind.
pub fn notes(input: &ReportInput<'_>) -> Vec<String> {
    const LINES_MAX: usize = 6;
    let windows = windows(input);
    let is_listed = |one: &Steadiness| one.state != SteadyState::Steady || !one.short_term.is_empty();
    let listed = || windows.iter().filter(|(_, one)| is_listed(one));
    if listed().count() > LINES_MAX {
        let items: BTreeSet<&str> = listed().map(|(_, one)| one.item.as_str()).collect();
        let of_item = |item: &str| -> Vec<&Steadiness> {
            windows.iter().map(|(_, one)| *one).filter(|one| one.item == item).collect()
        };
        return items.into_iter().map(|item| summary(item, &of_item(item))).collect();
    }
    let is_only = input.reported().count() <= 1;
    let line = |(trial, one): &(TrialId, &Steadiness)| {
        // A load item's name stays as it is typed.
        let whose = words::capital(&input.name(*trial));
        let whose = if is_only { String::new() } else { format!("{whose}, ") };
        format!("{whose}{}.", sentence(one))
    };
    listed().map(line).collect()
}

/// What was found of the windows of the trials that count.
fn windows<'a>(input: &ReportInput<'a>) -> Vec<(TrialId, &'a Steadiness)> {
    let reported: Vec<TrialId> = input.reported().map(|trial| trial.id).collect();
    let windows = of_kind::<Steadiness>(input.conclusions).filter_map(|one| match one.scope {
        Scope::Trial(trial) if reported.contains(&trial) => Some((trial, one)),
        _ => None,
    });
    windows.collect()
}

/// How long the windows would have to be that are too short to tell whether they were steady: `30 s`, `16 to 372 s`.
pub fn needed(input: &ReportInput<'_>) -> Option<String> {
    would_do(windows(input).into_iter().map(|(_, one)| one))
}

/// How long these windows would have to be, if they were too short.
fn would_do<'a>(windows: impl Iterator<Item = &'a Steadiness>) -> Option<String> {
    let needed = windows.filter_map(|one| match one.state {
        SteadyState::TooShort { needed_s } => Some(needed_s),
        SteadyState::Steady | SteadyState::Drifting { .. } | SteadyState::SeveralLevels { .. } => None,
    });
    let (least, most) =
        needed.map(|one| (one, one)).reduce(|(least, most), (one, _)| (least.min(one), most.max(one)))?;
    Some(if least == most { format!("{least} s") } else { format!("{least} to {most} s") })
}

/// All windows of an item: `writers: of 12 windows 9 too short to tell whether they were steady (16 to 372 s would do),
/// 2 drifting and 12 short-term; …`.
fn summary(item: &str, windows: &[&Steadiness]) -> String {
    let mut seen: Vec<String> = Vec::new();
    if let Some(would_do) = would_do(windows.iter().copied()) {
        let n = windows.iter().filter(|one| matches!(one.state, SteadyState::TooShort { .. })).count();
        seen.push(format!("{n} too short to tell whether they were steady ({would_do} would do)"));
    }
    let mut count = |word: &str, is_one: fn(&Steadiness) -> bool| {
        let found = windows.iter().filter(|one| is_one(one)).count();
        if found > 0 {
            seen.push(format!("{found} {word}"));
        }
    };
    count("drifting", |one| matches!(one.state, SteadyState::Drifting { .. }));
    count("on several levels", |one| matches!(one.state, SteadyState::SeveralLevels { .. }));
    count("short-term", |one| !one.short_term.is_empty());
    let n = windows.len();
    format!("{item}: of {n} windows {}; the column `steady` has each trial.", words::list(&seen))
}

/// What was found, without the trial: `writers: acked_per_s drifted by +3.1 % per minute; …`.
pub fn sentence(one: &Steadiness) -> String {
    let seen = match one.smallest_step {
        Some(step) => format!("; smallest detectable change: {}", share(step)),
        None => String::new(),
    };
    let state = match &one.state {
        SteadyState::Steady => format!("steady{seen}"),
        SteadyState::Drifting { per_minute, of } => {
            format!("{} drifted by {} of its median{seen}", of.metric, slope(*per_minute))
        }
        SteadyState::SeveralLevels { levels, of } => {
            let unit = units::of_metric(&of.metric);
            let level = |level: &Level| {
                let value = digits::number(level.value, unit, Some(level.value * 0.05));
                format!("{value} from {} to {} s", level.from_s, level.to_s)
            };
            let levels = words::list(&levels.iter().map(level).collect::<Vec<_>>());
            // Quantiles of seconds do not add up to that of a stretch.
            let made_of = if unit == Unit::Ns { " (each the mean of its seconds)" } else { "" };
            format!("{} stayed at several levels{made_of}: {levels}{seen}", of.metric)
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
            format!(
                "covered {} log segments per partition ({needed} needed for a long-term claim)",
                units::significant(*seen)
            )
        }
        ShortTerm::FlushCycles { seen, needed } => {
            format!("covered {} flushes of dirty pages ({needed} needed)", units::significant(*seen))
        }
        ShortTerm::BurstCredits { seen_s, needed_s } => {
            format!("{seen_s} s of load are too short to exhaust burst credits ({needed_s} s needed)")
        }
    }
}

fn share(share: f64) -> String {
    format!("{} %", digits::number(share * 100.0, Unit::Count, Some(share * 10.0)))
}

fn slope(per_minute: f64) -> String {
    let sign = if per_minute < 0.0 { "−" } else { "+" };
    format!("{sign}{} per minute", share(per_minute.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::metric::Address;

    #[test]
    fn many_windows_are_counted_by_kind() {
        let window = |state| Steadiness {
            scope: Scope::Trial(TrialId(1)),
            item: "writers".to_owned(),
            state,
            smallest_step: None,
            short_term: Vec::new(),
        };
        let short = |needed_s| window(SteadyState::TooShort { needed_s });
        let levels = window(SteadyState::SeveralLevels { of: address("acked_per_s"), levels: Vec::new() });
        let mut steady = window(SteadyState::Steady);
        steady.short_term = vec![ShortTerm::BurstCredits { seen_s: 9, needed_s: 3600 }];
        assert_eq!(
            summary("writers", &[&short(40), &levels, &short(16), &steady]),
            "writers: of 4 windows 2 too short to tell whether they were steady (16 to 40 s would do), 1 on several levels \
             and 1 short-term; the column `steady` has each trial."
        );
    }

    fn address(metric: &str) -> Address {
        Address { subject: "writers".to_owned(), metric: metric.to_owned() }
    }

    #[test]
    fn a_level_of_a_quantile_is_called_what_it_is() {
        let listed = |metric: &str, value: f64| {
            let level = |from_s: u32, to_s: u32, value: f64| Level { from_s, to_s, value };
            let levels = vec![level(5, 17, value), level(17, 35, 2.0 * value)];
            sentence(&Steadiness {
                scope: Scope::Trial(TrialId(1)),
                item: "writers".to_owned(),
                state: SteadyState::SeveralLevels { of: address(metric), levels },
                smallest_step: None,
                short_term: Vec::new(),
            })
        };
        let p50 = listed("response.p50", 3e6);
        assert!(
            p50.contains("response.p50 stayed at several levels (each the mean of its seconds): 3"),
            "{p50}"
        );
        let rate = listed("acked_per_s", 3e4);
        assert!(rate.contains("acked_per_s stayed at several levels: 30,000/s from 5 to 17 s"), "{rate}");
    }
}
