//! A workload file: topics, clients, records, rates and times.

use super::keys::OmbKeys;
use crate::input::{InputError, quoted};

const KEYS: &[&str] = &[
    "name",
    "topics",
    "partitionsPerTopic",
    "keyDistributor",
    "messageSize",
    "payloadFile",
    "useRandomizedPayloads",
    "randomBytesRatio",
    "randomizedPayloadPoolSize",
    "subscriptionsPerTopic",
    "consumerPerSubscription",
    "producersPerTopic",
    "producerRate",
    "consumerBacklogSizeGB",
    "backlogDrainRatio",
    "testDurationMinutes",
    "warmupDurationMinutes",
    "consumerOnly",
];
/// Topics at most.
const TOPICS_MAX: u32 = 1_000;
/// Threads of the worker at most: it has one for the producers of each topic, and one for each of its consumer groups.
const THREADS_MAX: u32 = 1_000;
/// Bytes of each of OMB's keys.
const KEY_BYTES: u32 = 10;
/// From here on OMB's files mean the maximum rate.
const AS_FAST_AS_IT_GOES: u32 = 10_000_000;

/// How fast a workload produces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OmbRate {
    /// A search for the rate that is sustained.
    Search,
    /// As fast as clients take records.
    Max,
    /// Records per second of all topics.
    PerS(u32),
}

/// What values are.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OmbPayload {
    /// One record's value, from a file.
    File(String),
    /// A share of random bytes, and zeros.
    Random { share: f64 },
    /// Nothing is named: OMB stops there.
    Missing,
}

/// A workload file of OMB.
#[derive(Debug, Clone)]
pub struct OmbWorkload {
    /// Its `name`, as results have it.
    pub name: String,
    /// Number of topics.
    pub topics: u32,
    /// Partitions of each.
    pub partitions: u32,
    /// Bytes of a record's value.
    pub message_bytes: u32,
    /// Consumer groups of each topic.
    pub subscriptions: u32,
    /// Members of each of them.
    pub consumers: u32,
    /// Producers of each topic.
    pub producers: u32,
    pub(super) keys: Option<&'static str>,
    pub(super) payload: OmbPayload,
    pub(super) rate: OmbRate,
    /// Bytes of values, in all topics, that wait for a consumer group of each before it begins; 0: it is there from the beginning.
    pub(super) backlog_bytes: u64,
    pub(super) minutes: u32,
    pub(super) warmup_minutes: u32,
    /// What becomes of keys that are not honoured.
    pub(super) notes: Vec<String>,
}

impl OmbWorkload {
    /// Whether it asks for the highest rate that is sustained.
    pub fn is_search(&self) -> bool {
        self.rate == OmbRate::Search
    }

    /// Bytes of each record's key; 0 without keys.
    pub fn key_bytes(&self) -> u32 {
        if self.keys.is_some() { KEY_BYTES } else { 0 }
    }

    /// Reads a workload file.
    ///
    /// # Errors
    /// What is no workload file, or asks for what a scenario cannot say, with its place; the file is named later.
    pub fn read(text: &str) -> Result<Self, InputError> {
        let mut file = OmbKeys::read(text, "a workload file")?;
        if file.has("driverClass") {
            return Err(InputError::whole("this is a driver file, not a workload file")
                .hint("name it with --drivers"));
        }
        let mut notes = Vec::new();
        refuse_consumers_alone(&mut file)?;
        let backlog = (file.place("consumerBacklogSizeGB"), file.int("consumerBacklogSizeGB", 0)?);
        let drain_ratio =
            file.place("backlogDrainRatio").map(|_| file.share("backlogDrainRatio", 1.0)).transpose()?;
        let (name, keys) = (file.text("name")?, key_distributor(&mut file, &mut notes)?);
        let payload = payload(&mut file, &mut notes)?;
        let topics = at_least_one(&mut file, "topics")?;
        let rate = rate(&mut file, &mut notes)?;
        let subscriptions = file.int("subscriptionsPerTopic", 0)?;
        let consumers = file.int("consumerPerSubscription", 0)?;
        let mut found = Self {
            name,
            topics: topics.0,
            partitions: at_least_one(&mut file, "partitionsPerTopic")?.0,
            message_bytes: at_least_one(&mut file, "messageSize")?.0,
            // Without a member a group is none.
            subscriptions: if consumers == 0 { 0 } else { subscriptions },
            consumers,
            producers: at_least_one(&mut file, "producersPerTopic")?.0,
            keys,
            payload,
            rate,
            backlog_bytes: 0,
            minutes: file.int("testDurationMinutes", 0)?,
            warmup_minutes: file.int("warmupDurationMinutes", 1)?,
            notes,
        };
        found.fits().map_err(|error| InputError { place: topics.1, ..error })?;
        found
            .takes_backlog(backlog.1, drain_ratio)
            .map_err(|error| InputError { place: backlog.0, ..error })?;
        Ok(Self { notes: found.notes.iter().cloned().chain(file.unknown(KEYS)).collect(), ..found })
    }

    /// Consumers that come once so many GiB wait for all of them together.
    fn takes_backlog(&mut self, gib: u32, drain_ratio: Option<f64>) -> Result<(), InputError> {
        if gib == 0 {
            if drain_ratio.is_some() {
                self.notes.push("`backlogDrainRatio`: not used, since no backlog is built".to_owned());
            }
            return Ok(());
        }
        if self.subscriptions == 0 {
            let message = "`consumerBacklogSizeGB`: the workload has no consumers for which it could wait";
            return Err(InputError::whole(message));
        }
        if !matches!(self.rate, OmbRate::PerS(_)) {
            let message = format!(
                "`consumerBacklogSizeGB`: when it is there follows from `producerRate`, which is to be from 1 to {}",
                AS_FAST_AS_IT_GOES - 1
            );
            return Err(InputError::whole(message).hint("give a rate that the cluster carries"));
        }
        // OMB counts a record once for each group.
        self.backlog_bytes = ((u64::from(gib) << 30) / u64::from(self.subscriptions)).max(1);
        self.notes.push(
            "`consumerBacklogSizeGB`: consumers connect once so much is written, the warm-up included, and read from the \
             beginning; OMB's are there in the warm-up and pause then"
                .to_owned(),
        );
        if drain_ratio.is_some_and(|ratio| ratio < 1.0) {
            self.notes.push(
                "`backlogDrainRatio`: not used, `caught_up` is the time until nothing is left".to_owned(),
            );
        }
        Ok(())
    }

    /// Seconds in which a backlog is written, from the beginning of the load; 0 without one.
    pub(super) fn backlog_s(&self) -> f64 {
        let OmbRate::PerS(per_s) = self.rate else { return 0.0 };
        self.backlog_bytes as f64 / (f64::from(per_s) * f64::from(self.message_bytes))
    }

    /// Refuses more topics than a scenario is written for.
    pub(super) fn fits(&self) -> Result<(), InputError> {
        let threads = self.topics.saturating_mul(self.subscriptions.saturating_add(1));
        if self.topics > TOPICS_MAX || threads > THREADS_MAX {
            let message = format!(
                "`topics`: {} with {} consumer groups each are more than {TOPICS_MAX} topics or {THREADS_MAX} threads, one for \
                 the producers of each topic and one for each of its groups",
                self.topics, self.subscriptions
            );
            return Err(InputError::whole(message).hint("fewer topics, or more `partitionsPerTopic`"));
        }
        Ok(())
    }
}

/// A number that is not 0, and where it is.
type Placed = (u32, Option<crate::input::TextPosition>);

fn at_least_one(file: &mut OmbKeys, key: &str) -> Result<Placed, InputError> {
    let place = file.place(key);
    match file.int(key, 0)? {
        0 => {
            let message = format!("`{key}` is 0 or missing, and a load needs one at least");
            Err(InputError { place, ..InputError::whole(message) })
        }
        number => Ok((number, place)),
    }
}

/// Consumers of what somebody else wrote are not to be had: a run's topics are its own.
fn refuse_consumers_alone(file: &mut OmbKeys) -> Result<(), InputError> {
    let place = file.place("consumerOnly");
    if !file.is_set("consumerOnly")? {
        return Ok(());
    }
    let message = "`consumerOnly`: consumers of what was written before are not in this version, since topics of a run are its own";
    let hint = "`consumerBacklogSizeGB` writes a backlog first";
    Err(InputError { place, ..InputError::whole(message).hint(hint) })
}

/// OMB's 10,000 keys of 10 characters.
fn key_distributor(file: &mut OmbKeys, notes: &mut Vec<String>) -> Result<Option<&'static str>, InputError> {
    let typed = file.text("keyDistributor")?;
    Ok(match typed.as_str() {
        "" | "NO_KEY" => None,
        "KEY_ROUND_ROBIN" => Some("{sequential: {of: 10000, size: 10B}}"),
        "RANDOM_NANO" => Some("{uniform: {of: 10000, size: 10B}}"),
        _ => {
            notes.push(format!(
                "`keyDistributor`: {} is none of OMB's, which sends no keys then",
                quoted(&typed)
            ));
            None
        }
    })
}

fn payload(file: &mut OmbKeys, notes: &mut Vec<String>) -> Result<OmbPayload, InputError> {
    let name = file.text("payloadFile")?;
    let (share, pool) = (file.share("randomBytesRatio", 0.0)?, file.place("randomizedPayloadPoolSize"));
    file.int("randomizedPayloadPoolSize", 0)?;
    if file.is_set("useRandomizedPayloads")? {
        if !name.is_empty() {
            notes.push("`payloadFile`: not read, as OMB does with `useRandomizedPayloads`".to_owned());
        }
        if pool.is_some() {
            notes.push("`randomizedPayloadPoolSize`: not used, since each record is built".to_owned());
        }
        return Ok(OmbPayload::Random { share });
    }
    Ok(if name.is_empty() { OmbPayload::Missing } else { OmbPayload::File(name) })
}

fn rate(file: &mut OmbKeys, notes: &mut Vec<String>) -> Result<OmbRate, InputError> {
    match file.int("producerRate", 0)? {
        0 => {
            notes.push(
                "`producerRate: 0`: a search for the highest rate at which producers and consumers keep up, each rate in trials \
                 of its own; OMB changes the rate every 3 s while it measures"
                    .to_owned(),
            );
            Ok(OmbRate::Search)
        }
        AS_FAST_AS_IT_GOES.. => {
            notes.push(format!(
                "`producerRate` from {AS_FAST_AS_IT_GOES} on: maximum rate (`rate: max`); latencies show how full the clients' \
                 buffers are"
            ));
            Ok(OmbRate::Max)
        }
        per_s => Ok(OmbRate::PerS(per_s)),
    }
}
