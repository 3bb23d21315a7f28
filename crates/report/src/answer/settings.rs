//! In which settings the sides of a comparison differ, and which of these were not requested.

use super::form::Sentence;
use crate::grid::Tone;
use crate::units::plural;
use kdyno_model::conclusion::{Conclusion, SettingDiffers, WhyDiffers, of_kind};
use kdyno_model::finding::Scope;

/// Most settings that are named one by one; a comparison of two releases has dozens of other defaults.
const SETTINGS_MAX: usize = 20;

/// Most settings that one line names.
const NAMED_MAX: usize = 2;

/// Most defaults of another version that are named; the configuration has all.
const DEFAULTS_MAX: usize = 5;

/// Why settings differ, in the order of the report.
const KINDS: [(Option<WhyDiffers>, &str, usize); 5] = [
    (Some(WhyDiffers::NotAsked), "Not requested", SETTINGS_MAX),
    (Some(WhyDiffers::Asked), "Requested", SETTINGS_MAX),
    (None, "Allowed to differ", SETTINGS_MAX),
    (
        Some(WhyDiffers::ComesWith),
        "Follow from another release, mode, number of brokers, listeners or client",
        DEFAULTS_MAX,
    ),
    (Some(WhyDiffers::OtherDefault), "Defaults of another release", DEFAULTS_MAX),
];

/// In what B differs from A; `None`: no difference is known.
pub(super) fn difference(conclusions: &[Conclusion], scope: Scope, labels: &[String; 2]) -> Option<Sentence> {
    let all: Vec<&SettingDiffers> = of_scope(conclusions, scope).collect();
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let [a, b] = labels;
    let mut text = format!("{b} differs from {a} in {}", plural(count, "setting"));
    for (why, words, shown_max) in KINDS {
        let of_kind: Vec<&&SettingDiffers> = all.iter().filter(|one| reason(one) == why).collect();
        if !of_kind.is_empty() {
            text.push_str(&format!(". {words}: {}", named(&of_kind, shown_max)));
        }
    }
    let is_open = all.iter().any(|one| !one.declared);
    (!all.is_empty()).then(|| Sentence::new(if is_open { Tone::Warn } else { Tone::Plain }, text + "."))
}

/// The differences in one line: how many there are of each kind, with the names of those that were not requested.
pub(super) fn line(conclusions: &[Conclusion], scope: Scope) -> Option<String> {
    let all: Vec<&SettingDiffers> = of_scope(conclusions, scope).collect();
    let parts = KINDS.iter().filter_map(|(why, words, _)| {
        let of_kind: Vec<&&SettingDiffers> = all.iter().filter(|one| reason(one) == *why).collect();
        let names = || named(&of_kind, NAMED_MAX);
        match (of_kind.len(), why) {
            (0, _) => None,
            (_, Some(WhyDiffers::NotAsked)) => Some(format!("{}: {}", lower(words), names())),
            (many, _) => Some(format!("{}: {many}", lower(words))),
        }
    });
    let parts: Vec<String> = parts.collect();
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    let verb = if count == 1 { "differs" } else { "differ" };
    (count > 0).then(|| format!("{} {verb}: {}.", plural(count, "setting"), parts.join("; ")))
}

/// Within a sentence.
fn lower(words: &str) -> String {
    words[..1].to_lowercase() + &words[1..]
}

fn of_scope(conclusions: &[Conclusion], scope: Scope) -> impl Iterator<Item = &SettingDiffers> {
    of_kind::<SettingDiffers>(conclusions).filter(move |of| of.scope == scope)
}

/// Why it differs, as far as the run file says.
fn reason(one: &SettingDiffers) -> Option<WhyDiffers> {
    one.why.or((!one.declared).then_some(WhyDiffers::NotAsked))
}

fn named(settings: &[&&SettingDiffers], shown_max: usize) -> String {
    let name = |one: &&&SettingDiffers| format!("{} of {} ({} → {})", one.setting, one.whose, one.a, one.b);
    let shown: Vec<String> = settings.iter().take(shown_max).map(name).collect();
    let more = settings.len().saturating_sub(shown_max);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join("; "))
}

/// One setting that differs.
pub(super) fn sentence(one: &SettingDiffers) -> String {
    let SettingDiffers { whose, setting, a, b, .. } = one;
    let asked = match reason(one) {
        Some(WhyDiffers::Asked) => "as requested",
        Some(WhyDiffers::OtherDefault) => "by its default",
        Some(WhyDiffers::ComesWith) => "because of a requested difference",
        Some(WhyDiffers::NotAsked) => "and was not requested",
        None => "as allowed",
    };
    format!("{setting} of {whose} differs {asked}: {a} on side A, {b} on side B")
}
