//! Two lists of settings, and what differs between them.

use kdyno_model::caveat::{Caveat, Degree, ScopedCaveat};
use kdyno_model::conclusion::{SettingDiffers, WhyDiffers};
use kdyno_model::finding::Scope;
use kdyno_model::identity::says_who;
use kdyno_model::run::{SettingInForce, SettingsInForce};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type SettingValues = BTreeMap<String, String>;

/// Used where a side has no such setting.
const NOTHING: &str = "-";

/// Every name with two values, or one on one side only; as requested.
pub(super) fn differences(
    scope: Scope,
    whose: &str,
    a: &SettingValues,
    b: &SettingValues,
) -> Vec<SettingDiffers> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |of: &SettingValues, name: &String| of.get(name).map_or(NOTHING, String::as_str).to_owned();
    let differ = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let reported = differ.map(|name| SettingDiffers {
        scope,
        whose: whose.to_owned(),
        setting: name.clone(),
        a: value(a, name),
        b: value(b, name),
        declared: true,
        why: Some(WhyDiffers::Asked),
    });
    reported.collect()
}

/// Settings in force that differ, but for those that say who and where somebody is; each with its two sides.
pub(super) fn in_force<'s>(
    scope: Scope,
    whose: &str,
    a: &'s SettingsInForce,
    b: &'s SettingsInForce,
) -> Vec<(SettingDiffers, [Option<&'s SettingInForce>; 2])> {
    let values = |of: &SettingsInForce| -> SettingValues {
        let reported = of.iter().filter(|(name, _)| !says_who(name));
        reported.map(|(name, setting)| (name.clone(), setting.value.clone())).collect()
    };
    let found = differences(scope, whose, &values(a), &values(b)).into_iter();
    found
        .map(|one| (a.get(&one.setting), b.get(&one.setting), one))
        .map(|(a, b, one)| (one, [a, b]))
        .collect()
}

/// The difference with why it is there.
pub(super) fn because(setting: SettingDiffers, why: WhyDiffers) -> SettingDiffers {
    SettingDiffers { declared: why != WhyDiffers::NotAsked, why: Some(why), ..setting }
}

/// A caveat of an unrequested difference.
pub(super) fn undeclared(setting: &SettingDiffers, degree: Degree) -> Option<ScopedCaveat> {
    let SettingDiffers { scope, whose, setting, a, b, .. } = setting.clone();
    ScopedCaveat::compared(scope, degree, Caveat::UndeclaredDifference { whose, setting, a, b })
}

/// Whether an entry of `may_differ` names a setting, by its own name or by a path that it lies at or under.
pub(super) fn may_differ(entries: &[String], setting: &str, path: &str) -> bool {
    let names = |entry: &String| {
        let entry = entry.trim_end_matches(".*");
        entry == setting
            || path == entry
            || path.strip_prefix(entry).is_some_and(|rest| rest.starts_with('.'))
    };
    entries.iter().any(names)
}
