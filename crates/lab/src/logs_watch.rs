//! What the cluster reports of logs and groups while a trial goes on: how large the logs are on each broker, whether
//! replicas are in sync, and how far behind all groups are that commit on the run's topics, and those that a target names.
//!
//! One look is a Metadata request, and for each broker DescribeLogDirs, ListGroups, ListOffsets and OffsetFetch at most
//! once (OffsetFetch once for each group before Kafka 3.0); for each group that is named one more OffsetFetch, Metadata, and
//! ListOffsets by leader. What a user may not see is reported once and costs nothing else.

mod ends;
mod named;

use crate::clock::{monotonic_ns, relative_ns};
use crate::inbox::Heard;
use crate::metrics_watch::PolledSource;
use ends::{Ends, GroupLag};
use kdyno_kafka::admin::{Access, Admin, AdminError, Committed, TopicInfo};
use kdyno_kafka::errors::ErrorCode;
use kdyno_model::event::Subject;
use kdyno_model::sample::{ProbeReading, series};
use kdyno_testbed::metrics::UnreadMetrics;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Longest wait for one answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(3);
/// After so long nothing more is requested in a look.
const LOOK_TIME_MAX: Duration = Duration::from_secs(5);
/// Groups whose lag is read.
const GROUPS_MAX: usize = 100;
/// Groups of others that a trial remembers: some may go and others come.
const NAMES_MAX: usize = 10 * GROUPS_MAX;
/// Most offsets that are requested in one look: partitions times groups.
const OFFSETS_MAX: usize = 200_000;

/// What a reader needs.
pub(crate) struct WatchedLogs {
    pub(crate) access: Access,
    /// Begins the client id.
    pub(crate) prefix: String,
    /// Addresses to real names.
    pub(crate) topics: BTreeMap<String, String>,
    /// Ids of the trial's own groups to their names.
    pub(crate) groups: BTreeMap<String, String>,
    /// Ids of groups that the target names.
    pub(crate) named: Vec<String>,
}

/// Reads logs and groups.
pub(crate) struct LogsReader {
    watched: WatchedLogs,
    admin: Option<Admin>,
    ends: Ends,
    /// Ends of the topics of groups that are named.
    named_ends: Ends,
    /// What could not be read at some time.
    reported: BTreeSet<String>,
    /// What groups of others are called here, by their ids: two ids may be the same once what cannot be printed is left out.
    names: BTreeMap<String, String>,
}

/// What one look finds.
struct LogsLook {
    t0_ns: u64,
    /// When the newest answer came, ns from T0.
    at_ns: i64,
    begun: Instant,
    readings: Vec<ProbeReading>,
    unread: Vec<UnreadMetrics>,
}

impl LogsLook {
    /// An answer has come.
    fn answered(&mut self) {
        self.at_ns = relative_ns(monotonic_ns(), self.t0_ns);
    }

    fn take(&mut self, subject: &Subject, series: &str, value: f64) {
        let at_ns = self.at_ns;
        let (subject, series) = (subject.clone(), series.to_owned());
        self.readings.push(ProbeReading { at_ns, subject, series, value });
    }

    fn has_time(&self) -> bool {
        self.begun.elapsed() < LOOK_TIME_MAX
    }
}

impl PolledSource for LogsReader {
    fn read(&mut self, t0_ns: u64) -> Heard {
        let (readings, unread) = (Vec::new(), Vec::new());
        let mut look = LogsLook { t0_ns, at_ns: 0, begun: Instant::now(), readings, unread };
        // That the cluster does not answer at all is reported by the watch of its state.
        if let Ok(mut admin) = self.connected()
            && self.look(&mut admin, &mut look).is_ok()
        {
            self.admin = Some(admin);
        }
        Heard::Logs(look.readings, look.unread)
    }
}

impl LogsReader {
    pub(crate) fn new(watched: WatchedLogs) -> Self {
        let names = watched.named.iter().map(|id| (id.clone(), id.clone())).collect();
        Self {
            watched,
            admin: None,
            ends: Ends::default(),
            named_ends: Ends::default(),
            reported: BTreeSet::new(),
            names,
        }
    }

    fn connected(&mut self) -> Result<Admin, AdminError> {
        match self.admin.take() {
            Some(admin) => Ok(admin),
            None => {
                let client_id = format!("{}logs", self.watched.prefix);
                self.watched.access.admin(&client_id, ANSWER_TIME_MAX)
            }
        }
    }

    fn look(&mut self, admin: &mut Admin, look: &mut LogsLook) -> Result<(), AdminError> {
        let names: Vec<&str> = self.watched.topics.values().map(String::as_str).collect();
        let (cluster, topics) = admin.state(Some(&names))?;
        look.answered();
        let topics: Vec<TopicInfo> =
            topics.into_iter().filter(|topic| topic.error == ErrorCode::NONE).collect();
        self.replicas(&topics, look);
        let brokers: Vec<i32> = cluster.brokers.iter().map(|broker| broker.id).collect();
        self.log_bytes(admin, &brokers, look);
        let mut coordinators = BTreeMap::new();
        let is_all = self.lag(admin, &brokers, &topics, &mut coordinators, look);
        self.lag_of_named(admin, &coordinators, is_all, look);
        Ok(())
    }

    /// Which replicas of the run's topics are in sync.
    fn replicas(&self, topics: &[TopicInfo], look: &mut LogsLook) {
        for topic in topics {
            let Some(address) = self.address(&topic.name) else { continue };
            let subject = Subject::Topic(address.to_owned());
            let lacking = topic.partitions.iter().filter(|one| one.isr.len() < one.replicas.len()).count();
            look.take(&subject, series::UNDER_REPLICATED_PARTITIONS, lacking as f64);
            if let Some(least) = topic.partitions.iter().map(|one| one.isr.len()).min() {
                look.take(&subject, series::IN_SYNC_REPLICAS_LEAST, least as f64);
            }
        }
    }

    /// How large the logs are.
    fn log_bytes(&mut self, admin: &mut Admin, brokers: &[i32], look: &mut LogsLook) {
        let (mut all_bytes, mut own_bytes, mut reported) = (0_u64, 0_u64, 0);
        for id in brokers {
            if !look.has_time() {
                return self.not_read(look, "sizes of logs", "the brokers are slow to answer");
            }
            match admin.log_bytes(*id) {
                Ok(Some(by_topic)) => {
                    look.answered();
                    let subject = Subject::Broker(id.unsigned_abs());
                    let sum = |bytes: &mut dyn Iterator<Item = &u64>| {
                        bytes.fold(0, |a: u64, b| a.saturating_add(*b))
                    };
                    let all = sum(&mut by_topic.values());
                    let own = sum(&mut self.watched.topics.values().filter_map(|name| by_topic.get(name)));
                    look.take(&subject, series::LOG_BYTES, all as f64);
                    look.take(&subject, series::RUN_LOG_BYTES, own as f64);
                    (all_bytes, own_bytes) = (all_bytes.saturating_add(all), own_bytes.saturating_add(own));
                    reported += 1;
                }
                Ok(None) => {
                    let why =
                        format!("broker {id} names no log directory (it asks for Describe on the cluster)");
                    self.not_read(look, "sizes of logs", &why);
                }
                Err(error) => self.not_read(look, "sizes of logs", &error.to_string()),
            }
        }
        // A sum of some of them would be read as that of all.
        if reported > 0 && reported == brokers.len() {
            look.take(&Subject::Brokers, series::LOG_BYTES, all_bytes as f64);
            look.take(&Subject::Brokers, series::RUN_LOG_BYTES, own_bytes as f64);
        }
    }

    /// How far groups are behind that commit on the run's topics; those that are named are put to their coordinators instead.
    /// Whether every broker said which groups it has.
    fn lag(
        &mut self,
        admin: &mut Admin,
        brokers: &[i32],
        topics: &[TopicInfo],
        coordinators: &mut BTreeMap<String, i32>,
        look: &mut LogsLook,
    ) -> bool {
        const WHAT: &str = "the lag of groups";
        match admin.log_ends(topics) {
            Ok(ends) => {
                look.answered();
                self.ends.take(look.at_ns, ends);
            }
            Err(error) => {
                self.not_read(look, WHAT, &error.to_string());
                return false;
            }
        }
        let mut is_all = true;
        let partitions = topics.iter().map(|topic| topic.partitions.len()).sum::<usize>().max(1);
        let mut left = GROUPS_MAX.min(OFFSETS_MAX / partitions);
        for broker in brokers {
            if !look.has_time() {
                self.not_read(look, WHAT, "the brokers are slow to answer");
                return false;
            }
            let mut groups = match admin.groups(*broker) {
                Ok(groups) => groups,
                Err(error) => {
                    self.not_read(look, WHAT, &error.to_string());
                    is_all = false;
                    continue;
                }
            };
            let named = groups.extract_if(.., |group| self.watched.named.contains(group));
            coordinators.extend(named.map(|group| (group, *broker)));
            // The trial's own come first, the others by name.
            groups.sort_by_key(|group| (!self.watched.groups.contains_key(group), group.clone()));
            if groups.len() > left {
                let why = format!(
                    "more than {GROUPS_MAX} groups, or {OFFSETS_MAX} offsets, are not requested in one look"
                );
                self.not_read(look, "the lag of some groups", &why);
                groups.truncate(left);
            }
            left -= groups.len();
            if groups.is_empty() {
                continue;
            }
            match admin.committed(*broker, &groups, Some(topics)) {
                Ok(reported) => reported.iter().for_each(|group| self.lag_of(group, look)),
                Err(error) => self.not_read(look, WHAT, &error.to_string()),
            }
        }
        is_all
    }

    fn lag_of(&mut self, reported: &Committed, look: &mut LogsLook) {
        let Some(name) = self.name_of(reported) else {
            let why = format!("there are more than {NAMES_MAX} groups in the trial");
            return self.not_read(look, "the lag of some groups", &why);
        };
        if reported.error != ErrorCode::NONE {
            let what = format!("the lag of group {name}");
            // The lag of the reported partitions alone would be read as that of all.
            return self.not_read(look, &what, &format!("its coordinator answers with {}", reported.error));
        }
        let is_named = self.watched.named.contains(&reported.group);
        let ends = if is_named { &self.named_ends } else { &self.ends };
        let behind =
            reported.offsets.iter().filter_map(|(partition, offset)| ends.behind(partition, *offset));
        let Some(behind) = behind.reduce(GroupLag::with) else { return };
        let subject = Subject::Group(name);
        look.take(&subject, series::COMMITTED_LAG_RECORDS, behind.records as f64);
        let series =
            if behind.is_at_least { series::COMMITTED_LAG_S_AT_LEAST } else { series::COMMITTED_LAG_S };
        look.take(&subject, series, behind.seconds);
    }

    /// What a group is called: the scenario's name for it, else its id as it can be printed, with a number where another
    /// group has that name. It is the same in each look.
    fn name_of(&mut self, reported: &Committed) -> Option<String> {
        if let Some(name) =
            self.watched.groups.get(&reported.group).or_else(|| self.names.get(&reported.group))
        {
            return Some(name.clone());
        }
        let printable = reported.printable_group();
        let is_taken = |name: &String| {
            self.watched.groups.values().chain(self.names.values()).any(|taken| taken == name)
        };
        let numbered = (2..=NAMES_MAX + 1).map(|number| format!("{printable} ({number})"));
        let name = std::iter::once(printable.clone()).chain(numbered).find(|name| !is_taken(name))?;
        if self.names.len() >= NAMES_MAX {
            return None;
        }
        self.names.insert(reported.group.clone(), name.clone());
        Some(name)
    }

    /// What cannot be read is reported once.
    fn not_read(&mut self, look: &mut LogsLook, what: &str, why: &str) {
        // What others call their groups and how many there are must not fill memory.
        if self.reported.len() < GROUPS_MAX && self.reported.insert(what.to_owned()) {
            let why = format!("{what} cannot be read: {why}");
            look.unread.push(UnreadMetrics { subject: Subject::Brokers, why });
        }
    }

    fn address(&self, name: &str) -> Option<&str> {
        let found = self.watched.topics.iter().find(|(_, real)| *real == name);
        found.map(|(address, _)| address.as_str())
    }
}

#[cfg(test)]
mod tests;
