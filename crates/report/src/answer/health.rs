//! Whether systems and host were healthy: which rules were broken, what follows and what to do next.

use super::form::{Answer, Sentence};
use super::{demand, search, words};
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::conclusion::{Conclusion, ConclusionKind, SearchResult, of_kind};
use kdyno_model::event::EventKind;
use kdyno_model::finding::Scope;
use kdyno_model::grouped::by_key;
use kdyno_model::health::{Health, HealthCheck, HealthRule, HealthThreshold, RuleText};
use kdyno_model::metric::Unit;
use kdyno_model::plan::Strategy;
use kdyno_model::run::TrialStart;
use kdyno_model::trial::TrialId;
use std::collections::BTreeSet;

const TITLE: &str = "Health";
/// Reasons at most why something could not be read.
const UNREAD_LISTED_MAX: usize = 3;
/// Broken rules at most that one line names.
const NAMED_MAX: usize = 3;

/// Said where brokers run on hosts that are not probed.
const ELSEWHERE: &str = "Drives, memory and network are those of the host that kdyno ran on; the hosts of the brokers, which are \
    elsewhere, were not probed.";

/// Trials that are judged together: those of one case, or of its side, or at the load that a search answers with.
struct HealthGroup<'a> {
    /// What they have in common; empty: there is one group.
    name: String,
    trials: Vec<&'a Health>,
}

/// A rule that was asked in the trials of a group.
struct Check<'a> {
    group: &'a str,
    rule: HealthRule,
    /// What each trial says.
    trials: Vec<&'a HealthCheck>,
}

/// The rules that were broken, what records took, and every check as a table; `None`: nothing was checked.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let groups = judged_groups(input);
    let checks: Vec<Check<'_>> = groups.iter().flat_map(checks).collect();
    if checks.is_empty() {
        return None;
    }
    let broken = HealthRule::all().filter_map(|rule| sentence(rule, &checks));
    let sentences = head(&checks).into_iter().chain(unread(input)).chain(broken).chain(demand::used(input));
    Some(Answer {
        sentences: sentences.collect(),
        ..Answer::of_table(TITLE.to_owned(), table(&checks), elsewhere(input))
    })
}

fn judged_groups<'a>(input: &ReportInput<'a>) -> Vec<HealthGroup<'a>> {
    let of_trials = |(name, trials): (String, Vec<TrialId>)| {
        let trials = of_group(input.conclusions, &trials);
        HealthGroup { name, trials }
    };
    groups(input).into_iter().map(of_trials).collect()
}

/// The broken rules in one line; `None`: all hold, or none was asked.
pub fn line(input: &ReportInput<'_>) -> Option<Sentence> {
    let groups = judged_groups(input);
    let checks: Vec<Check<'_>> = groups.iter().flat_map(checks).collect();
    let broken = || checks.iter().filter(|check| check.is_broken());
    let rules: BTreeSet<HealthRule> = broken().map(|check| check.rule).collect();
    let named: Vec<&str> = rules.iter().take(NAMED_MAX).map(|rule| rule.text().figure).collect();
    let more =
        if rules.len() > NAMED_MAX { format!(", {} more", rules.len() - NAMED_MAX) } else { String::new() };
    let (broken, all) = (broken().count(), checks.len());
    let text = format!("{broken} of {all} health checks failed: {}{more}.", named.join(", "));
    (broken > 0).then(|| Sentence::new(Tone::Warn, text))
}

/// How many checks hold, and which of these do not in some trials.
fn head(checks: &[Check<'_>]) -> Vec<Sentence> {
    let all = units::count(checks.len() as f64);
    let broken = checks.iter().filter(|check| check.is_broken()).count();
    let in_some: Vec<String> = checks
        .iter()
        .filter(|check| !check.is_broken() && check.broken() > 0)
        .map(|check| format!("{} ({}; {})", check.rule.text().figure, check.whose(), check.in_trials()))
        .collect();
    let first = match broken {
        0 if in_some.is_empty() => Sentence::new(Tone::Plain, format!("all {all} checks hold.")),
        0 => Sentence::new(Tone::Plain, format!("all {all} checks hold in most trials.")),
        _ => Sentence::new(Tone::Warn, format!("{broken} of {all} checks do not hold.")),
    };
    let second = format!("In fewer than half of the trials these do not hold: {}.", in_some.join("; "));
    let second = (!in_some.is_empty()).then(|| Sentence::new(Tone::Warn, second));
    std::iter::once(first).chain(second).collect()
}

/// What was not judged, since it could not be read.
fn unread(input: &ReportInput<'_>) -> Option<Sentence> {
    let whys = input.details_of(&[EventKind::MetricsNotRead, EventKind::LogsNotRead]);
    let reported: Vec<&str> = whys.iter().take(UNREAD_LISTED_MAX).copied().collect();
    let more = whys.len().saturating_sub(UNREAD_LISTED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let text =
        format!("Rules that rest on what could not be read were not asked: {}{more}.", reported.join("; "));
    (!whys.is_empty()).then(|| Sentence::new(Tone::Warn, text))
}

fn elsewhere(input: &ReportInput<'_>) -> Vec<String> {
    let is_elsewhere = |start: &TrialStart| !start.is_on_this_host();
    input.trials.iter().any(is_elsewhere).then(|| ELSEWHERE.to_owned()).into_iter().collect()
}

/// One trial's broken rules, for documents.
pub fn trial_sentence(health: &Health) -> String {
    let broken: Vec<String> = health.checks.iter().filter(|check| check.is_broken).map(of_check).collect();
    if broken.is_empty() {
        return format!("all {} checks hold", health.checks.len());
    }
    broken.join("; ")
}

fn of_check(check: &HealthCheck) -> String {
    let text = check.rule.text();
    format!("{}, {}: {}", check.of, text.figure, with_threshold(&text, &figure(check.value, text.unit)))
}

/// Trials that are reported together, by the cases of the table, or of a search by its answer; each with what they have
/// in common.
pub(super) fn groups(input: &ReportInput<'_>) -> Vec<(String, Vec<TrialId>)> {
    if matches!(input.plan().strategy, Strategy::Find(_)) {
        let answers = of_kind::<SearchResult>(input.conclusions).filter_map(|result| {
            let (load, trials) = search::trials_at_answer(result)?;
            let case = match result.scope {
                Scope::Search { case } => input.case_label(case),
                _ => "",
            };
            let name = if case.is_empty() { load } else { format!("{case}, {load}") };
            Some((name, trials))
        });
        return answers.collect();
    }
    by_key(input.reported().map(|trial| {
        let case = Some(input.case_label(trial.case)).filter(|label| !label.is_empty());
        let side = trial.variant.as_deref().map(|side| format!("side {side}"));
        let parts: Vec<String> = case.map(str::to_owned).into_iter().chain(side).collect();
        (parts.join(", "), trial.id)
    }))
}

/// The conclusions of one kind of some trials.
pub(super) fn of_group<'a, T: ConclusionKind + 'a>(
    conclusions: &'a [Conclusion],
    trials: &[TrialId],
) -> Vec<&'a T> {
    let is_one = |one: &&Conclusion| trials.iter().any(|trial| one.scope() == Scope::Trial(*trial));
    conclusions.iter().filter(is_one).filter_map(T::of).collect()
}

/// Every rule that was asked in a group's trials, of things that each trial asks it of apart from each other; in the order of the
/// rules.
fn checks<'a>(group: &'a HealthGroup<'a>) -> Vec<Check<'a>> {
    let mut checks: Vec<Check<'a>> = Vec::new();
    for one in group.trials.iter().flat_map(|health| &health.checks) {
        // The worst of several may be another in each trial.
        let is_same = |known: &HealthCheck| !one.rule.is_of_each() || known.of == one.of;
        match checks.iter_mut().find(|known| known.rule == one.rule && is_same(known.trials[0])) {
            Some(known) => known.trials.push(one),
            None => checks.push(Check { group: &group.name, rule: one.rule, trials: vec![one] }),
        }
    }
    checks.sort_by_key(|check| check.rule);
    checks
}

impl Check<'_> {
    /// In how many trials it is broken.
    fn broken(&self) -> usize {
        self.trials.iter().filter(|trial| trial.is_broken).count()
    }

    /// In half of the trials in which it was asked, or in more: then it is not said to hold.
    fn is_broken(&self) -> bool {
        2 * self.broken() >= self.trials.len()
    }

    fn range(&self, unit: Unit) -> String {
        let values = self.trials.iter().map(|trial| trial.value);
        let range = words::range(values, |value| figure(value, unit));
        range.unwrap_or_else(|| units::NOTHING.to_owned())
    }

    /// What it was asked of: of the trials in which it is broken, where there are any.
    fn of(&self) -> String {
        let any_broken = self.broken() > 0;
        let reported = self.trials.iter().filter(|trial| trial.is_broken || !any_broken);
        let names: BTreeSet<&str> = reported.map(|trial| trial.of.as_str()).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// That and the group.
    fn whose(&self) -> String {
        let of = self.of();
        let parts = [of.as_str(), self.group].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(", ")
    }

    fn in_trials(&self) -> String {
        format!("in {} of {} trials", self.broken(), self.trials.len())
    }
}

/// What is said of a broken rule: where, by how much, what follows, what to do.
fn sentence(rule: HealthRule, checks: &[Check<'_>]) -> Option<Sentence> {
    let text = rule.text();
    let broken: Vec<&Check<'_>> = checks.iter().filter(|one| one.rule == rule && one.is_broken()).collect();
    let ranges: Vec<String> = broken
        .iter()
        .map(|check| {
            let is_always = check.broken() == check.trials.len();
            let when = if is_always { String::new() } else { format!("; beyond it {}", check.in_trials()) };
            format!("{} ({}{when})", check.range(text.unit), check.whose())
        })
        .collect();
    if ranges.is_empty() {
        return None;
    }
    let said = format!(
        "{}: {}: {}. Next: {} [{}].",
        text.figure,
        with_threshold(&text, &words::list(&ranges)),
        text.consequence,
        text.next_step,
        text.source
    );
    Some(Sentence::new(Tone::Warn, said))
}

/// `92 %, above 80 %`.
fn with_threshold(text: &RuleText, figures: &str) -> String {
    let (direction, limit) = match text.threshold {
        HealthThreshold::Above(limit) => ("above", limit),
        HealthThreshold::Below(limit) => ("below", limit),
    };
    format!("{figures}, {direction} {}", figure(limit, text.unit))
}

fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ratio => format!("{} %", units::significant(100.0 * value)),
        _ => units::number(value, unit),
    }
}

fn table(checks: &[Check<'_>]) -> Table {
    let is_grouped = checks.iter().any(|check| !check.group.is_empty());
    let names: &[(&str, bool)] = if is_grouped { &[("of", false)] } else { &[] };
    let columns =
        [names, &[("check", false), ("", false), ("figure", true), ("threshold", true), ("holds", false)]];
    let rows = checks.iter().map(|check| {
        let text = check.rule.text();
        let (sign, limit) = match text.threshold {
            HealthThreshold::Above(limit) => ("at most", limit),
            HealthThreshold::Below(limit) => ("at least", limit),
        };
        let holds = match check.broken() {
            0 => "yes".to_owned(),
            broken if broken == check.trials.len() => "no".to_owned(),
            _ => format!("not {}", check.in_trials()),
        };
        let group = is_grouped.then(|| check.group.to_owned());
        let cells = [
            text.figure.to_owned(),
            check.of(),
            check.range(text.unit),
            format!("{sign} {}", figure(limit, text.unit)),
            holds,
        ];
        group.into_iter().chain(cells).map(Cell::from).collect()
    });
    Table::new(&columns.concat(), rows.collect())
}
