//! What somebody looked up of a system: nothing here says whether it is good.

use kdyno_model::plan::LoadPlan;
use std::collections::BTreeMap;

/// Everything that was looked up; what was not is empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// The host that the command runs on.
    pub host: Option<ObservedHost>,
    /// Disks below the folders that were named, each once.
    pub disks: Vec<Disk>,
    /// Brokers, by id.
    pub brokers: Vec<ObservedBroker>,
    /// Memory of the host that all of these brokers run on, bytes; `None`: not known, or several hosts.
    pub broker_memory_bytes: Option<u64>,
    /// The cluster as commands reach it; `None`: it is not there yet.
    pub cluster: Option<Cluster>,
    /// Topics.
    pub topics: Vec<ObservedTopic>,
    /// Load items by their address, as planned.
    pub clients: BTreeMap<String, LoadPlan>,
    /// Processors of the host that these clients run on; `None`: not known.
    pub client_processors: Option<u32>,
}

/// A running cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cluster {
    /// `host:port` of a broker.
    pub bootstrap: String,
    /// Whether a client needs more than that address to speak to it: TLS, a user.
    pub is_secured: bool,
}

/// A host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedHost {
    /// What each of [`LOOKED_UP`](crate::LOOKED_UP) said there, by the setting's name; one that is missing was not
    /// reported.
    pub settings: BTreeMap<&'static str, String>,
    /// Settings that each CPU has for itself: path of the file and its value.
    pub files: BTreeMap<&'static str, Vec<(String, String)>>,
    /// Memory, bytes; `None`: the kernel does not say.
    pub memory_bytes: Option<u64>,
    /// Groups of processors with memory of their own; `None`: the kernel does not say.
    pub numa_nodes: Option<u32>,
}

/// A disk, and the mount that a folder lies on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Disk {
    /// Where it is mounted.
    pub mount_point: String,
    /// Type of the file system, e.g. `ext4`.
    pub filesystem: String,
    /// Options of the mount.
    pub options: Vec<String>,
    /// Name of the device, e.g. `nvme0n1`; `None`: no device of this host is behind it.
    pub device: Option<String>,
    /// Scheduler of its queue.
    pub scheduler: Option<String>,
    /// Whether the kernel takes it for a rotating one.
    pub rotational: Option<String>,
    /// Read-ahead, KiB.
    pub read_ahead_kib: Option<String>,
    /// How many brokers have their logs on it, as far as is known.
    pub brokers: usize,
}

/// A broker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedBroker {
    /// Node id.
    pub id: i32,
    /// Its settings in force, by Kafka's names. Those that are missing have the default of Kafka, if `is_planned`, and
    /// are not known otherwise.
    pub settings: BTreeMap<String, ObservedSetting>,
    /// Whether it is one of a plan, with only the set values known.
    pub is_planned: bool,
    /// CPUs that it has for itself; `None`: not stated.
    pub processors: Option<u32>,
    /// Whether a controller runs in the same process; `None`: not known.
    pub has_controller: Option<bool>,
    /// Heap, bytes, and further options of its JVM; `None`: not known.
    pub jvm: Option<Jvm>,
}

/// A setting of a broker or topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedSetting {
    /// Its value.
    pub value: String,
    /// Where it was set.
    pub level: SettingLevel,
}

/// Where the value of a setting was set; those of a later level hide those of earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SettingLevel {
    /// In the file that a broker starts with, or nowhere.
    #[default]
    Start,
    /// While the cluster ran, for all its brokers.
    AllBrokers,
    /// While the cluster ran, for this broker.
    Broker,
    /// For this topic.
    Topic,
}

/// A broker's JVM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Jvm {
    /// `-Xmx`, bytes.
    pub heap_bytes: u64,
    /// Options of its command line; for a planned one those in addition to what Kafka's start scripts give.
    pub options: Vec<String>,
}

impl Jvm {
    /// What the command line of a running Java process says; `None` where it does not say `-Xmx`, whose default hangs on the host.
    #[must_use]
    pub fn of_command_line(words: &[String]) -> Option<Self> {
        let options: Vec<String> = words.iter().filter(|word| word.starts_with('-')).cloned().collect();
        // The last one counts.
        let heap = options.iter().rev().find_map(|option| option.strip_prefix("-Xmx"))?;
        Some(Self { heap_bytes: java_bytes(heap)?, options })
    }
}

/// A size as Java's options have it: `1g`, `512M`, `1073741824`.
pub(crate) fn java_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        "t" | "T" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// A topic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedTopic {
    /// Its name; in a plan its address.
    pub name: String,
    /// Whether it is one of Kafka's own.
    pub is_internal: bool,
    /// Number of partitions.
    pub partitions: usize,
    /// Replicas of the partition that has fewest.
    pub replicas: usize,
    /// Settings that were looked up; in a plan those that are set.
    pub settings: BTreeMap<String, ObservedSetting>,
    /// For each partition, who leads it; `None`: it is a plan's.
    pub placement: Option<Vec<Placement>>,
}

/// Where a partition is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placement {
    /// Its leader; -1: none.
    pub leader: i32,
    /// Brokers that keep a copy; the first is the preferred leader.
    pub replicas: Vec<i32>,
    /// The replicas that are in sync.
    pub isr: Vec<i32>,
}
