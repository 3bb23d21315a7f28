//! The Java that brokers ran on: its version, what it was started with, and what CPU time it may use; and what brokers let
//! clients do.

use super::brokers::BROKERS;
use super::clusters::Clusters;
use super::differences::{SettingValues, because, differences as between};
use kdyno_model::caveat::Degree;
use kdyno_model::conclusion::{SettingDiffers, WhyDiffers};
use kdyno_model::finding::Scope;
use kdyno_model::run::TrialStart;
use kdyno_model::settings::jvm_flags;

/// How the version of Java is called.
const JAVA: &str = "Java version";
/// How options of its machine are called.
const FLAGS: &str = "JVM options";

/// How the bound of a broker's CPU time is called.
const CPU_LIMIT: &str = "CPU limit";

/// How brokers' bounds of clients are called.
const QUOTAS: &str = "quotas of clients";

/// Name of the agent that exposes brokers' own metrics, which costs them a little; `agent` or `off`.
const AGENT: &str = "JMX agent";

/// What differs between the brokers' Java of both sides, and how bad that is where it was not requested.
pub(super) fn differences(scope: Scope, clusters: &[Clusters<'_>]) -> Vec<(SettingDiffers, Option<Degree>)> {
    let mut found: Vec<(SettingDiffers, Option<Degree>)> = Vec::new();
    for on in clusters {
        let Some(trials) = on.trials() else { continue };
        let [a, b] = trials.map(reported);
        for setting in between(scope, BROKERS, &a, &b) {
            // For brokers that somebody else started, or in an older file, nothing is known of one side.
            let is_known = a.contains_key(&setting.setting) && b.contains_key(&setting.setting);
            let why = why(&setting.setting, on);
            let degree = (why == WhyDiffers::NotAsked).then_some(Degree::Usual);
            let setting = because(setting, why);
            if is_known && !found.iter().any(|(reported, _)| *reported == setting) {
                found.push((setting, degree));
            }
        }
    }
    found
}

fn reported(start: &TrialStart) -> SettingValues {
    let java = start.cluster.get("java").map(|java| (JAVA.to_owned(), java.clone()));
    let agent = start.cluster.get("jmx").map(|agent| (AGENT.to_owned(), agent.clone()));
    let limit = start.cluster.get("cpu_limit").map(|limit| (CPU_LIMIT.to_owned(), limit.clone()));
    let quotas = start.cluster.get("quotas").map(|quotas| (QUOTAS.to_owned(), quotas.clone()));
    let mut brokers = start.command_lines.iter().filter(|(of, _)| of.is_broker());
    let flags = brokers.next().map(|(_, line)| (FLAGS.to_owned(), jvm_flags(line).join(" ")));
    java.into_iter().chain(agent).chain(limit).chain(quotas).chain(flags).collect()
}

fn why(setting: &str, on: &Clusters<'_>) -> WhyDiffers {
    match on.local() {
        Some([a, b])
            if setting == FLAGS && (a.jvm_options != b.jvm_options || a.heap_bytes != b.heap_bytes) =>
        {
            WhyDiffers::Asked
        }
        Some(_) if setting == CPU_LIMIT || setting == QUOTAS => WhyDiffers::Asked,
        Some([a, b]) if setting == AGENT => match a.metrics == b.metrics {
            // It could be had for one side alone.
            true => WhyDiffers::NotAsked,
            false => WhyDiffers::Asked,
        },
        _ if on.are_other() => WhyDiffers::ComesWith,
        _ => WhyDiffers::NotAsked,
    }
}
