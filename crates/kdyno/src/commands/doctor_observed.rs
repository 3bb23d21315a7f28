//! What `kdyno doctor` looks up, in the words of its rules.

use crate::environment::ProgramEnvironment;
use kdyno_doctor::Observed;
use kdyno_doctor::observed::{
    Cluster, Jvm, ObservedBroker, ObservedSetting, ObservedTopic, Placement, SettingLevel,
};
use kdyno_kafka::admin::{SettingInfo, SettingSource, TopicInfo};
use kdyno_model::plan::{AttachedPlan, CasePlan, ClusterPlan, Mode, TopicPlan};
use kdyno_testbed::inspect::Inspected;
use kdyno_testbed::{host, preflight};
use std::collections::BTreeMap;

/// This host.
pub(super) mod on_this_host {
    use kdyno_doctor::observed::{Disk, ObservedHost};
    use kdyno_doctor::{HostSource, LOOKED_UP};
    use kdyno_testbed::host::memory_bytes;
    use kdyno_testbed::host_settings as read;
    use std::path::Path;

    /// All settings that rules speak of.
    pub(crate) fn host() -> ObservedHost {
        let value = |name: &str, place| match place {
            HostSource::Files(_) => None,
            HostSource::Sysctl => read::sysctl(name),
            HostSource::OpenFiles => Some(read::open_files()),
            HostSource::LockedMemory => Some(read::locked_memory()),
            HostSource::Processes => Some(read::processes()),
            HostSource::SwapBytes => read::swap_bytes(),
            HostSource::TunedProfile => read::tuned_profile(),
        };
        let settings = LOOKED_UP.into_iter().filter_map(|(name, place)| Some((name, value(name, place)?)));
        let files = LOOKED_UP.into_iter().filter_map(|(name, place)| match place {
            HostSource::Files(pattern) => Some((name, read::values(pattern))),
            _ => None,
        });
        ObservedHost {
            settings: settings.collect(),
            files: files.collect(),
            memory_bytes: memory_bytes(),
            numa_nodes: read::numa_nodes(),
        }
    }

    /// The disk of a folder, on which so many brokers have their logs; each disk is listed once.
    pub(crate) fn add_disk(disks: &mut Vec<Disk>, folder: &Path, brokers: usize) {
        let Some(mount) = read::mount_of(folder) else { return };
        if let Some(known) = disks.iter_mut().find(|disk| disk.mount_point == mount.point) {
            known.brokers = known.brokers.max(brokers);
            return;
        }
        let queue = |file: &str| {
            mount.device.as_ref().and_then(|device| read::value(&format!("/sys/block/{device}/queue/{file}")))
        };
        disks.push(Disk {
            scheduler: queue("scheduler"),
            rotational: queue("rotational"),
            read_ahead_kib: queue("read_ahead_kb"),
            mount_point: mount.point,
            filesystem: mount.filesystem,
            options: mount.options,
            device: mount.device,
            brokers,
        });
    }
}

/// Facts of a target that may say how many processors each of its brokers has.
const PROCESSOR_FACTS: [&str; 4] = ["vcpus", "cpus", "cores", "processors"];

/// What a cluster reported.
pub(super) fn of_target(target: &AttachedPlan, reported: Inspected) -> Observed {
    let declared =
        PROCESSOR_FACTS.iter().find_map(|name| target.facts.get(*name)?.trim().parse::<u32>().ok());
    let processors = declared.or_else(|| reported.is_on_this_host.then(|| shared(reported.brokers.len())));
    let jvms: BTreeMap<i32, Jvm> = reported
        .command_lines
        .iter()
        .filter_map(|(id, words)| Some((*id, Jvm::of_command_line(words)?)))
        .collect();
    let broker_memory_bytes = host::memory_bytes().filter(|_| reported.is_on_this_host);
    let broker = |(id, settings)| {
        let settings = settings_of(settings);
        // With ZooKeeper there are no roles.
        let roles = settings.get("process.roles").map(|roles| &roles.value).filter(|roles| !roles.is_empty());
        let has_controller = roles.map(|roles| roles.contains("controller"));
        let jvm = jvms.get(&id).cloned();
        ObservedBroker { id, processors, has_controller, settings, jvm, ..ObservedBroker::default() }
    };
    Observed {
        broker_memory_bytes,
        brokers: reported.brokers.into_iter().map(broker).collect(),
        cluster: target.bootstrap.first().map(|bootstrap| Cluster {
            bootstrap: bootstrap.clone(),
            is_secured: !target.security.is_plaintext(),
        }),
        topics: reported.topics.into_iter().map(|(topic, settings)| topic_of(topic, settings)).collect(),
        ..Observed::default()
    }
}

/// Processors that each of some brokers on this host has for itself.
fn shared(brokers: usize) -> u32 {
    (host::processors() / u32::try_from(brokers.max(1)).unwrap_or(u32::MAX)).max(1)
}

fn settings_of(reported: BTreeMap<String, SettingInfo>) -> BTreeMap<String, ObservedSetting> {
    let level = |source: SettingSource| match source {
        SettingSource::DynamicTopic => SettingLevel::Topic,
        SettingSource::DynamicBroker => SettingLevel::Broker,
        SettingSource::DynamicDefaultBroker => SettingLevel::AllBrokers,
        SettingSource::Static | SettingSource::Default | SettingSource::Unknown => SettingLevel::Start,
    };
    let setting = |info: SettingInfo| Some(ObservedSetting { level: level(info.source), value: info.value? });
    reported.into_iter().filter_map(|(name, info)| Some((name, setting(info)?))).collect()
}

fn topic_of(topic: TopicInfo, settings: BTreeMap<String, SettingInfo>) -> ObservedTopic {
    ObservedTopic {
        is_internal: topic.internal,
        partitions: topic.partitions.len(),
        replicas: topic.partitions.iter().map(|partition| partition.replicas.len()).min().unwrap_or(0),
        settings: settings_of(settings),
        placement: Some(
            topic
                .partitions
                .into_iter()
                .map(|found| Placement { leader: found.leader, replicas: found.replicas, isr: found.isr })
                .collect(),
        ),
        name: topic.name,
    }
}

/// What a case of a scenario plans.
pub(super) fn of_case(case: &CasePlan, environment: &ProgramEnvironment) -> Observed {
    let mut observed = Observed {
        clients: case.load.clone(),
        client_processors: Some(host::processors()),
        ..Observed::default()
    };
    if let Some(cluster) = case.system.cluster() {
        for folder in preflight::log_folders(&cluster.storage, &environment.temp_dir, &environment.testbed) {
            on_this_host::add_disk(&mut observed.disks, &folder, cluster.brokers as usize);
        }
        observed.broker_memory_bytes = host::memory_bytes();
        observed.brokers = (0..cluster.brokers).map(|place| planned_broker(cluster, place)).collect();
    }
    let of_brokers = case.system.broker_config().map(planned_settings).unwrap_or_default();
    let topics = case.topics.iter();
    observed.topics = topics.map(|(name, plan)| planned_topic(name, plan, &of_brokers)).collect();
    observed
}

/// The broker at this place, which is its id.
fn planned_broker(cluster: &ClusterPlan, place: u32) -> ObservedBroker {
    let pinned = cluster.pinned_to.get(place as usize % cluster.pinned_to.len().max(1)).map_or(0, Vec::len);
    ObservedBroker {
        id: i32::try_from(place).unwrap_or(i32::MAX),
        settings: planned_settings(&cluster.config),
        is_planned: true,
        processors: Some(planned_processors(cluster, pinned)),
        has_controller: Some(cluster.mode == Mode::KraftCombined),
        jvm: Some(Jvm { heap_bytes: cluster.heap_bytes, options: cluster.jvm_options.clone() }),
    }
}

/// Processors that a broker may use: those it is pinned to, or its share of the host's, within its limit.
fn planned_processors(cluster: &ClusterPlan, pinned: usize) -> u32 {
    let processors = match u32::try_from(pinned) {
        Ok(count) if count > 0 => count,
        _ => shared(cluster.brokers as usize),
    };
    // Limits are at most some thousands, and threads are whole.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let limit = cluster.cpu_limit.map_or(u32::MAX, |limit| (limit.ceil() as u32).max(1));
    processors.min(limit)
}

/// What a topic does not set it has from its brokers, under the same name where rules ask for it.
fn planned_topic(
    name: &str,
    plan: &TopicPlan,
    of_brokers: &BTreeMap<String, ObservedSetting>,
) -> ObservedTopic {
    let mut settings = of_brokers.clone();
    settings.extend(planned_settings(&plan.config));
    ObservedTopic {
        name: name.to_owned(),
        is_internal: false,
        partitions: plan.partitions as usize,
        replicas: plan.replicas as usize,
        settings,
        placement: None,
    }
}

fn planned_settings(config: &BTreeMap<String, String>) -> BTreeMap<String, ObservedSetting> {
    let setting = |value: &String| ObservedSetting { value: value.clone(), level: SettingLevel::Start };
    config.iter().map(|(name, value)| (name.clone(), setting(value))).collect()
}
