//! Settings of topics, with their partitions and replicas.

use super::clusters::Clusters;
use super::differences::{because, in_force, may_differ};
use kdyno_model::caveat::Degree;
use kdyno_model::conclusion::{SettingDiffers, WhyDiffers};
use kdyno_model::finding::Scope;
use kdyno_model::plan::{CasePlan, ComparePlan, TopicPlan};
use kdyno_model::run::{SettingInForce, SettingOrigin};

/// What differs between topics of both sides, each once, and how bad that is where it was not requested. What a topic
/// has from its brokers is reported with these.
pub(super) fn differences(
    scope: Scope,
    compared: &ComparePlan,
    cases: [&CasePlan; 2],
    clusters: &[Clusters<'_>],
) -> Vec<(SettingDiffers, Option<Degree>)> {
    let mut found: Vec<(SettingDiffers, Option<Degree>)> = Vec::new();
    for on in clusters {
        let [of_a, of_b] = on.of_topics();
        for (name, settings) in of_a {
            let Some(other) = of_b.get(name) else { continue };
            let topics = cases.map(|case| case.topics.get(name));
            for (setting, sides) in in_force(scope, &format!("topic {name}"), settings, other) {
                if sides.iter().flatten().any(is_of_brokers) && !sides.iter().flatten().any(is_own) {
                    continue;
                }
                let path = format!("topics.{name}.config.{}", setting.setting);
                let why = if may_differ(&compared.may_differ, &setting.setting, &path)
                    || is_asked(&setting.setting, topics)
                {
                    WhyDiffers::Asked
                } else if !sides.iter().flatten().any(is_own) && on.are_other() {
                    WhyDiffers::OtherDefault
                } else {
                    WhyDiffers::NotAsked
                };
                let setting = because(setting, why);
                let degree = (why == WhyDiffers::NotAsked).then_some(Degree::Usual);
                if !found.iter().any(|(reported, _)| *reported == setting) {
                    found.push((setting, degree));
                }
            }
        }
    }
    found
}

/// Whether the topics are to differ in it.
fn is_asked(setting: &str, topics: [Option<&TopicPlan>; 2]) -> bool {
    let [Some(a), Some(b)] = topics else { return false };
    match setting {
        TopicPlan::PARTITIONS => a.partitions != b.partitions,
        TopicPlan::REPLICATION_FACTOR => a.replicas != b.replicas,
        _ => a.config.get(setting) != b.config.get(setting),
    }
}

fn is_own(setting: &&SettingInForce) -> bool {
    setting.origin == SettingOrigin::Topic
}

fn is_of_brokers(setting: &&SettingInForce) -> bool {
    matches!(setting.origin, SettingOrigin::Static | SettingOrigin::Dynamic)
}
