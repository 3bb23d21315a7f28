//! A local cluster in the words of reports.

use super::SystemWords;
use crate::topology::{Tier, TopologyNode, frame, shown};
use crate::units::{self, plural};
use kdyno_model::event::Subject;
use kdyno_model::link_words::link_words;
use kdyno_model::plan::{CasePlan, ClusterPlan, IgnoredSetting, KafkaSource, Mode, Storage, ZonesPlan};
use kdyno_model::run::TrialStart;
use std::collections::BTreeMap;

impl SystemWords for ClusterPlan {
    fn lines(&self, _case: &CasePlan) -> Vec<String> {
        let kafka = match &self.kafka {
            KafkaSource::Release(version) => format!("Apache Kafka {version}"),
            KafkaSource::Home(path) => format!("Apache Kafka from {}", path.display()),
            KafkaSource::Source(path) => format!("Apache Kafka built in {}", path.display()),
        };
        let mode = match self.mode {
            Mode::KraftCombined => "KRaft, brokers are controllers too".to_owned(),
            Mode::KraftControllers { controllers } => {
                format!("KRaft with {} of their own", plural(controllers, "controller"))
            }
            Mode::Zookeeper { nodes } => format!("ZooKeeper with {}", plural(nodes, "node")),
        };
        let storage = match &self.storage {
            Storage::Disk => "logs on disk".to_owned(),
            Storage::Memory => "logs in memory-backed storage".to_owned(),
            Storage::Dirs(dirs) => {
                let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
                format!("logs in {}", dirs.join(", "))
            }
        };
        let mut lines = vec![format!(
            "{kafka}, {}, {mode}, heap {} each, {storage}",
            plural(self.brokers, "broker"),
            units::size(self.heap_bytes)
        )];
        if !self.config.is_empty() {
            let settings = self.config.iter().map(|(name, value)| units::setting(name, value));
            lines.push(format!("broker settings: {}", settings.collect::<Vec<_>>().join(" ")));
        }
        lines.extend(ignored(self).map(|names| format!("ignored of the brokers' file: {names}")));
        if !self.mbeans.is_empty() {
            lines.push(format!("MBeans read too: {}", self.mbeans.join(" | ")));
        }
        if !self.jvm_options.is_empty() {
            lines.push(format!("JVM options: {}", self.jvm_options.join(" ")));
        }
        if !self.pinned_to.is_empty() {
            let pins: Vec<String> = self
                .pinned_to
                .iter()
                .map(|cpus| cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
                .collect();
            lines.push(format!("brokers pinned to CPUs: {}", pins.join(" | ")));
        }
        if let Some(processors) = self.cpu_limit {
            let of = units::processors(processors);
            lines.push(format!("each broker limited to the time of {of} by a control group"));
        }
        if !self.racks.is_empty() {
            lines.push(format!("racks: {}", self.racks.join(" | ")));
        }
        if let Some(quotas) = &self.quotas {
            lines.push(format!("quotas: {quotas}"));
        }
        if let Some(zones) = &self.zones {
            lines.push(zones_line(zones, self.brokers));
        }
        if !self.listeners.are_plain() {
            lines.push(format!("listeners: {}", self.listeners));
        }
        lines
    }

    fn tier(&self, start: &TrialStart, mut link: String) -> Tier {
        let version = start.cluster.get("kafka").map_or_else(String::new, |version| format!(" {version}"));
        let kafka = format!("Apache Kafka{version}");
        let all = || (0..self.brokers).map(move |id| (id, broker(self, id)));
        let Some(zones) = &self.zones else {
            let nodes = shown(all().map(|(_, node)| node));
            let frames = frame(format!("{kafka}, on this host"), nodes).into_iter().collect();
            return Tier { link: Some(link), frames };
        };
        let relays = start.command_lines.keys().filter(|subject| matches!(subject, Subject::Relay(_)));
        let relays: Vec<String> = relays.map(ToString::to_string).collect();
        let whose = if zones.between_brokers { "clients and brokers" } else { "clients" };
        let over = if relays.is_empty() { "a relay".to_owned() } else { relays.join(", ") };
        link.push_str(&format!("; {whose} of another zone over {over}: {}", link_words(&zones.link)));
        let of_zone = |zone: &str| {
            let there = all().filter(|(id, _)| zones.of_broker(*id) == zone).map(|(_, node)| node);
            frame(format!("Zone {zone}: {kafka}"), shown(there))
        };
        Tier { link: Some(link), frames: zones.names().into_iter().filter_map(of_zone).collect() }
    }
}

fn broker(cluster: &ClusterPlan, id: u32) -> TopologyNode {
    let nth = |len: usize| (len > 0).then(|| id as usize % len);
    let mut lines = vec![format!("heap {}", units::size(cluster.heap_bytes))];
    if cluster.mode.is_combined(id) {
        lines.push("controller too".to_owned());
    }
    if let Some(cpus) = nth(cluster.pinned_to.len()).and_then(|nth| cluster.pinned_to.get(nth)) {
        let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        lines.push(format!("on CPUs {}", cpus.join(",")));
    }
    lines.extend(cluster.cpu_limit.map(|limit| format!("time of {}", units::processors(limit))));
    if let Some(rack) = nth(cluster.racks.len()).and_then(|nth| cluster.racks.get(nth)) {
        lines.push(format!("rack {rack}"));
    }
    TopologyNode { name: Subject::Broker(id).to_string(), lines }
}

/// What of the brokers' own file is not given to them, and why; `None`: nothing.
pub(crate) fn ignored(cluster: &ClusterPlan) -> Option<String> {
    (!cluster.ignored.is_empty()).then(|| by_reason(&cluster.ignored))
}

/// Names of settings with why they are ignored.
fn by_reason(ignored: &BTreeMap<String, IgnoredSetting>) -> String {
    let mut all = BTreeMap::<String, Vec<&str>>::new();
    for (name, why) in ignored {
        all.entry(why.why(name)).or_default().push(name);
    }
    let of_reason = |(why, names): (String, Vec<&str>)| format!("{} ({why})", names.join(" "));
    all.into_iter().map(of_reason).collect::<Vec<_>>().join("; ")
}

/// Who is in which zone, and what lies between them.
fn zones_line(zones: &ZonesPlan, brokers: u32) -> String {
    let names = zones.names().into_iter();
    let zone = |name: &str| {
        let there = (0..brokers).filter(|id| zones.of_broker(*id) == name).map(|id| format!("broker-{id}"));
        let there: Vec<String> = there.collect();
        format!("{name} ({})", if there.is_empty() { "clients alone".to_owned() } else { there.join(" ") })
    };
    let zones_text: Vec<String> = names.map(zone).collect();
    let between = if zones.between_brokers { ", between brokers too" } else { "" };
    format!("zones: {}; between them a relay: {}{between}", zones_text.join(" | "), link_words(&zones.link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_settings_are_named_by_their_reason() {
        use IgnoredSetting::{Removed, Secret, SetByKdyno};
        let ignored = [
            ("a.password", Secret),
            ("listeners", SetByKdyno),
            ("node.id", SetByKdyno),
            ("x.y", Removed(4, 0)),
        ];
        let text = by_reason(&ignored.map(|(name, why)| (name.to_owned(), why)).into());
        let secret = Secret.why("a.password");
        assert_eq!(
            text,
            format!(
                "x.y (Kafka 4.0 removed it); a.password ({secret}); listeners node.id (kdyno sets it itself)"
            )
        );
    }
}
