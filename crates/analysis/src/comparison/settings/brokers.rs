//! Settings of brokers: between sides, between clusters of one side, within a cluster.

use super::clusters::Clusters;
use super::differences::{because, in_force, may_differ, undeclared};
use kdyno_model::caveat::{Caveat, Degree, ScopedCaveat};
use kdyno_model::conclusion::{Conclusion, SettingDiffers, WhyDiffers};
use kdyno_model::finding::Scope;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::ComparePlan;
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce};
use std::collections::BTreeMap;

/// Whose settings brokers' are.
pub(super) const BROKERS: &str = "brokers";

/// Where a setting differs with the same values.
struct Differs {
    /// The names of both clusters of each turn.
    on: Vec<String>,
    /// The worst of all turns.
    why: WhyDiffers,
    degree: Option<Degree>,
}

/// Differences of the brokers' settings, turn by turn; those that are the same on all clusters are reported once.
pub(super) fn judge(scope: Scope, compared: &ComparePlan, clusters: &[Clusters<'_>], found: &mut Judgement) {
    // By setting and its values.
    let mut differ: BTreeMap<(String, String, String), Differs> = BTreeMap::new();
    let mut reported = 0;
    for on in clusters {
        let [Some(of_a), Some(of_b)] = [on.of_side(0), on.of_side(1)] else { continue };
        reported += 1;
        for (setting, sides) in in_force(scope, BROKERS, of_a, of_b) {
            let (why, degree) = judged(&setting.setting, compared, on, sides);
            let entry = differ.entry((setting.setting, setting.a, setting.b));
            let entry = entry.or_insert_with(|| Differs { on: Vec::new(), why, degree: None });
            entry.on.push(format!("{} and {}", on.name(0), on.name(1)));
            entry.degree = entry.degree.max(degree);
            entry.why = entry.why.max(why);
        }
    }
    // In trials that ran, unread settings may differ in anything. A null broker has none.
    let has_settings = |on: &Clusters<'_>, side: usize| on.systems[side].is_kafka();
    let is_unread = |on: &Clusters<'_>| {
        [0, 1].iter().any(|&side| on.has_run[side] && has_settings(on, side) && on.of_side(side).is_none())
    };
    if clusters.iter().any(is_unread) {
        found.caveats.extend(not_compared(scope));
    }
    for ((setting, a, b), Differs { on, why, degree }) in differ {
        let whose =
            if on.len() == reported { BROKERS.to_owned() } else { format!("{BROKERS} of {}", on.join(", ")) };
        let setting = SettingDiffers { scope, whose, setting, a, b, declared: true, why: None };
        let setting = because(setting, why);
        found.caveats.extend(degree.and_then(|degree| undeclared(&setting, degree)));
        found.conclusions.push(Conclusion::SettingDiffers(setting));
    }
}

/// Settings in which clusters of one side differ from the first of them that reported any.
pub(super) fn within_side(scope: Scope, side: usize, clusters: &[Clusters<'_>]) -> Option<ScopedCaveat> {
    let mut reported = clusters.iter().filter_map(|on| Some((on.name(side), on.of_side(side)?)));
    let (of, first) = reported.next()?;
    let mut differ: BTreeMap<String, String> = BTreeMap::new();
    for (other, settings) in reported {
        for one in of_two(scope, first, settings) {
            let text = format!("{} is {} on {of} and {} on {other}", one.setting, one.a, one.b);
            differ.entry(one.setting).or_insert(text);
        }
    }
    on_one_side(scope, side, differ, |side, settings, first| Caveat::ClustersDiffer { side, settings, first })
}

/// Settings in which a broker differs from the first one of its cluster, on any cluster of a side.
pub(super) fn within_clusters(scope: Scope, side: usize, clusters: &[Clusters<'_>]) -> Option<ScopedCaveat> {
    let mut differ: BTreeMap<String, String> = BTreeMap::new();
    for on in clusters {
        let Some(((first, settings), others)) = on.in_force[side].split_first() else { continue };
        for (other, of_other) in others {
            for one in of_two(scope, settings, of_other) {
                let SettingDiffers { setting, a, b, .. } = &one;
                let text = format!("{setting} is {a} on {first} and {b} on {other} of {}", on.name(side));
                differ.entry(one.setting).or_insert(text);
            }
        }
    }
    on_one_side(scope, side, differ, |side, settings, first| Caveat::BrokersDiffer { side, settings, first })
}

fn of_two(scope: Scope, a: &SettingsInForce, b: &SettingsInForce) -> Vec<SettingDiffers> {
    in_force(scope, BROKERS, a, b).into_iter().map(|(one, _)| one).collect()
}

/// A warning of settings that differ on one side: which, how many, and the first in words; `None`: none does.
fn on_one_side(
    scope: Scope,
    side: usize,
    differ: BTreeMap<String, String>,
    caveat: fn(String, u32, String) -> Caveat,
) -> Option<ScopedCaveat> {
    let settings = u32::try_from(differ.len()).unwrap_or(u32::MAX);
    let caveat = caveat(ComparePlan::SIDES[side].to_owned(), settings, differ.into_values().next()?);
    ScopedCaveat::compared(scope, Degree::Usual, caveat)
}

/// Why a broker setting differs, and how bad that is; `None`: it is part of what was requested.
fn judged(
    setting: &str,
    compared: &ComparePlan,
    on: &Clusters<'_>,
    sides: [Option<&SettingInForce>; 2],
) -> (WhyDiffers, Option<Degree>) {
    if may_differ(&compared.may_differ, setting, &format!("system.config.{setting}")) {
        return (WhyDiffers::Asked, None);
    }
    let unasked = |degree| (WhyDiffers::NotAsked, Some(degree));
    if let Some(clusters) = on.local() {
        let [of_a, of_b] = clusters.map(|cluster| cluster.config.get(setting));
        if of_a != of_b {
            return (WhyDiffers::Asked, None);
        }
        // Neither side sets it, so it is a default, and another version or mode has others; or it belongs to listeners.
        return match of_a.is_none() && on.are_other() {
            true => (with_another(sides), None),
            false => unasked(Degree::Grave),
        };
    }
    let is_set = sides.iter().flatten().any(|setting| setting.is_set());
    match on.runs_another_version() {
        _ if !on.are_other_targets() => unasked(Degree::Grave),
        // A release's own file sets some too, others than that of the next: so it is reported, and voids nothing.
        Some(true) if is_set => unasked(Degree::Usual),
        // Another version has other defaults.
        Some(true) => (with_another(sides), None),
        Some(false) => unasked(Degree::Grave),
        // Whether the same runs on both is not stated, so it is reported and voids nothing.
        None => unasked(Degree::Usual),
    }
}

/// For what comes with another version: whether it is a default on both sides, or what was set to start such brokers.
fn with_another(sides: [Option<&SettingInForce>; 2]) -> WhyDiffers {
    let is_default = |setting: &&SettingInForce| setting.origin == SettingOrigin::Default;
    if sides.iter().flatten().all(is_default) { WhyDiffers::OtherDefault } else { WhyDiffers::ComesWith }
}

fn not_compared(scope: Scope) -> Option<ScopedCaveat> {
    let detail =
        "the brokers' settings could not be read on both sides, so they were not compared".to_owned();
    ScopedCaveat::compared(scope, Degree::Usual, Caveat::EvidenceOfRuns { detail })
}
