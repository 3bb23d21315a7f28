//! What happened, when and to whom: kinds and subjects that analysis draws conclusions from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use strum::{Display, EnumString, IntoStaticStr};

/// Something that happened, for the run's time line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, on the wall clock, ns since 1970.
    pub at_unix_ns: u64,
    /// When, ns from the trial's T0; `None` before it and outside of trials.
    pub at_ns: Option<i64>,
    /// What kind of event.
    pub kind: EventKind,
    /// Whom it concerns.
    pub subject: Subject,
    /// One lowercase sentence.
    pub detail: String,
}

/// Kinds of events. Their names (`process-died`) are in run files and documents.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Display,
    EnumString,
    IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum EventKind {
    /// A process of the system under test, or a component next to it, ended in the middle of a trial.
    ProcessDied,
    /// A worker did not end as it should.
    WorkerEnded,
    /// The trial ended before its plan did; the detail says why.
    CutShort,
    /// The trial's brokers were given a setting that they do not know.
    UnknownSetting,
    /// The brokers could not be asked which of the settings they know; the detail says why.
    SettingsUnchecked,
    /// Another measured run used this host at the same time; the detail says which.
    HostShared,
    /// A broker could not be reached.
    Unreachable,
    /// A broker refused what no further attempt can change; it is not tried again.
    Refused,
    /// Clients and brokers agreed upon a version and a cipher suite of TLS; the detail says which. Each is reported
    /// once.
    Secured,
    /// A broker closed a connection, or its replies made no sense.
    Disconnected,
    /// Asking for a topic's partitions and their leaders failed.
    MetadataError,
    /// Another broker leads a partition now.
    LeaderMoved,
    /// A partition could not be fetched from, or what was fetched is damaged.
    FetchError,
    /// Records were gone before they were fetched.
    RecordsSkipped,
    /// A broker held back its answers: a quota was exceeded.
    Throttled,
    /// A broker took a batch for too large, and it was split into smaller ones, as Java's client does; reported once
    /// for each load item.
    BatchSplit,
    /// A transaction was aborted because something of it had failed.
    TransactionAborted,
    /// A transactional producer sends nothing any more; the detail says why.
    ProducerEnded,
    /// The members of a consumer group have shared out its partitions again.
    GroupRebalanced,
    /// A member lost partitions without giving them up: others may have read on in them already.
    PartitionsLost,
    /// A member of a group is none any more, for good; the detail says why.
    MemberFailed,
    /// A group's members look for their coordinator again.
    CoordinatorLost,
    /// A partition lost a replica that was in sync.
    IsrShrunk,
    /// A partition got one back.
    IsrExpanded,
    /// A broker left the cluster, or came back, as the other brokers report.
    BrokersChanged,
    /// What a topic's log holds could not be requested; the detail says why.
    LogUnchecked,
    /// The trial's cluster had just been started and had received no load.
    Unconditioned,
    /// Something of the cluster had not come to rest when the load of the trial before was over; the detail says what.
    ClusterUnsettled,
    /// The warm-up reached its longest time before it had settled; the detail says what had not.
    WarmupNotSettled,
    /// The clients of a load item that comes later than T0 begin to connect.
    ItemBegan,
    /// The load of an item that goes before the measure phase ends is over; what is in flight is answered.
    ItemEnded,
    /// The Java process of a load item's clients has started; the detail says which client and which Java it is.
    ClientStarted,
    /// The Java process of a load item's clients collected the garbage of its whole heap.
    FullGc,
    /// The Java client of a load item warns of something.
    ClientWarning,
    /// Stacks of the system's processes were sampled in the measured window; the detail says for what.
    StacksSampled,
    /// Stacks of a process were to be sampled and were not; the detail says why.
    StacksNotSampled,
    /// A process that was named with `--probe` is not there, has ended, is there again, or cannot be read in full; the detail
    /// says which.
    NamedProcess,
    /// Metrics of a broker could not be read, for the first time in the trial; the detail says why.
    MetricsNotRead,
    /// A relay did not take connections, for it had as many as it may; the detail says how many.
    ConnectionsRefused,
    /// Sizes of logs or lag of consumer groups could not be read of the cluster, for the first time in the trial; the detail
    /// says which and why.
    LogsNotRead,
    /// Settings of brokers or topics could not be read of the cluster and are not kept; the detail says which and why.
    SettingsNotRead,
    /// A command was started; the detail says with which arguments.
    CommandStarted,
    /// A command ended by itself with 0; the detail says after how long.
    CommandEnded,
    /// A command could not be started, was ended since its time was over, ended with something else than 0, or what it was to
    /// write is not there; the detail says which.
    CommandFailed,
    /// A stream had more events than are kept.
    EventsDropped,
}

/// Whom an event or a probe's reading concerns.
///
/// Printed as users read it (`broker-1`, `writers`). Stored and sent as text that can be read back: a load item
/// as `item:writers`, a component as `component:inventory`, a setting as `setting:log.dirs`, a topic as `topic:events`, everything else as printed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Subject {
    /// A broker, by its id.
    Broker(u32),
    /// A dedicated controller, by its id.
    Controller(u32),
    /// A ZooKeeper node, from 0.
    Zookeeper(u32),
    /// A relay between two zones, by its number from 0.
    Relay(u32),
    /// A worker, by its number from 0.
    Worker(u16),
    /// The Java process of a load item's clients on a worker: the worker's number and that of the stream.
    Jvm(u16, u16),
    /// All brokers together.
    Brokers,
    /// The kdyno process that runs the lab.
    Kdyno,
    /// A process of the other side of a pair that runs at once with the trial, counted from 0.
    OtherSide(u32),
    /// The machine.
    Host,
    /// A load item, by its address in the scenario.
    Item(String),
    /// What runs next to the cluster, by its name in the scenario.
    Component(String),
    /// A setting, by its Kafka name.
    Setting(String),
    /// A topic, by its address in the scenario.
    Topic(String),
    /// A consumer group, by its name in the cluster.
    Group(String),
    /// Somebody else who measured: what was imported under a name.
    Imported(String),
    /// A process of this host that is none of the run's own and was named with `--probe`: by its name, and where several have
    /// that, or it was named by number, by its number too.
    Process(String),
}

/// The printed name of whose readings were imported starts with this.
pub const IMPORTED: &str = "imported-";

/// Begins the printed name of a process that was named.
const PROCESS: &str = "process-";

/// Begins the printed name of a consumer group, which may be called as a load item is.
pub const GROUP: &str = "group:";

const ITEM: &str = "item:";
const COMPONENT: &str = "component:";
const TOPIC: &str = "topic:";
const SETTING: &str = "setting:";

impl Subject {
    /// Whether it is a single broker.
    pub fn is_broker(&self) -> bool {
        matches!(self, Self::Broker(_))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broker(id) => write!(f, "broker-{id}"),
            Self::Controller(id) => write!(f, "controller-{id}"),
            Self::Zookeeper(id) => write!(f, "zookeeper-{id}"),
            Self::Relay(id) => write!(f, "relay-{id}"),
            Self::Worker(id) => write!(f, "worker-{id}"),
            Self::Jvm(worker, stream) => write!(f, "jvm-{worker}-{stream}"),
            Self::Brokers => f.write_str("brokers"),
            Self::Kdyno => f.write_str("kdyno"),
            Self::OtherSide(number) => write!(f, "other-side-{number}"),
            Self::Host => f.write_str("host"),
            Self::Item(name) | Self::Component(name) | Self::Setting(name) | Self::Topic(name) => {
                f.write_str(name)
            }
            Self::Group(name) => write!(f, "{GROUP}{name}"),
            Self::Imported(name) => write!(f, "{IMPORTED}{name}"),
            Self::Process(name) => write!(f, "{PROCESS}{name}"),
        }
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        match &subject {
            Subject::Item(name) => format!("{ITEM}{name}"),
            Subject::Component(name) => format!("{COMPONENT}{name}"),
            Subject::Setting(name) => format!("{SETTING}{name}"),
            Subject::Topic(name) => format!("{TOPIC}{name}"),
            _ => subject.to_string(),
        }
    }
}

/// A text that names no subject.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no subject of an event or a reading")]
pub struct NoSubject(String);

impl FromStr for Subject {
    type Err = NoSubject;

    fn from_str(text: &str) -> Result<Self, NoSubject> {
        let unknown = || NoSubject(text.chars().take(100).collect());
        if let Some(name) = text.strip_prefix(IMPORTED) {
            return Ok(Self::Imported(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(PROCESS).filter(|name| !name.is_empty()) {
            return Ok(Self::Process(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(GROUP) {
            return Ok(Self::Group(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(ITEM) {
            return Ok(Self::Item(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(COMPONENT) {
            return Ok(Self::Component(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(SETTING) {
            return Ok(Self::Setting(name.to_owned()));
        }
        if let Some(name) = text.strip_prefix(TOPIC) {
            return Ok(Self::Topic(name.to_owned()));
        }
        match text {
            "brokers" => return Ok(Self::Brokers),
            "kdyno" => return Ok(Self::Kdyno),
            "host" => return Ok(Self::Host),
            _ => {}
        }
        if let Some((worker, stream)) = text.strip_prefix("jvm-").and_then(|ids| ids.split_once('-')) {
            let number = |id: &str| id.parse().map_err(|_| unknown());
            return Ok(Self::Jvm(number(worker)?, number(stream)?));
        }
        let (kind, id) = text.rsplit_once('-').ok_or_else(unknown)?;
        let number = || id.parse().map_err(|_| unknown());
        match kind {
            "broker" => Ok(Self::Broker(number()?)),
            "controller" => Ok(Self::Controller(number()?)),
            "zookeeper" => Ok(Self::Zookeeper(number()?)),
            "relay" => Ok(Self::Relay(number()?)),
            "other-side" => Ok(Self::OtherSide(number()?)),
            "worker" => Ok(Self::Worker(id.parse().map_err(|_| unknown())?)),
            _ => Err(unknown()),
        }
    }
}

impl TryFrom<String> for Subject {
    type Error = NoSubject;

    fn try_from(text: String) -> Result<Self, NoSubject> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_come_back_from_their_stored_text() {
        for subject in [
            Subject::Broker(1),
            Subject::Controller(3000),
            Subject::Zookeeper(0),
            Subject::Relay(1),
            Subject::Worker(2),
            Subject::Jvm(2, 13),
            Subject::Brokers,
            Subject::Kdyno,
            Subject::OtherSide(12),
            Subject::Host,
            Subject::Item("broker-1".into()),
            Subject::Component("host".into()),
            Subject::Setting("log.dirs".into()),
            Subject::Topic("events".into()),
            Subject::Process("kafka.Kafka-4711".into()),
            Subject::Group("broker-1".into()),
        ] {
            assert_eq!(String::from(subject.clone()).parse(), Ok(subject));
        }
        for text in [
            "",
            "broker-",
            "process-",
            "broker-x",
            "writers",
            "worker-70000",
            "zookeeper-0-1-x",
            "jvm-1",
            "jvm-1-x",
        ] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
    }

    #[test]
    fn kinds_have_one_name_everywhere() {
        assert_eq!(EventKind::ProcessDied.to_string(), "process-died");
        assert_eq!("leader-moved".parse(), Ok(EventKind::LeaderMoved));
        assert_eq!(serde_json::to_string(&EventKind::CutShort).unwrap(), "\"cut-short\"");
    }
}
