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
/// Topics that a scenario of this command has at most: each has load items of its own.
const TOPICS_MAX: u32 = 100;
/// Load items at most.
const ITEMS_MAX: u32 = 300;
/// Bytes of each of OMB's keys.
const KEY_BYTES: u32 = 10;
/// From here on OMB's files mean as fast as it goes.
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
        refuse_backlog(&mut file, &mut notes)?;
        let (name, keys) = (file.text("name")?, key_distributor(&mut file, &mut notes)?);
        let payload = payload(&mut file, &mut notes)?;
        let topics = at_least_one(&mut file, "topics")?;
        let rate = rate(&mut file, topics.0, &mut notes)?;
        let subscriptions = file.int("subscriptionsPerTopic", 0)?;
        let consumers = file.int("consumerPerSubscription", 0)?;
        let found = Self {
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
            minutes: file.int("testDurationMinutes", 0)?,
            warmup_minutes: file.int("warmupDurationMinutes", 1)?,
            notes,
        };
        found.fits().map_err(|error| InputError { place: topics.1, ..error })?;
        Ok(Self { notes: found.notes.iter().cloned().chain(file.unknown(KEYS)).collect(), ..found })
    }

    /// Refuses more topics than a scenario is written for.
    pub(super) fn fits(&self) -> Result<(), InputError> {
        let items = self.topics.saturating_mul(self.subscriptions.saturating_add(1));
        if self.topics > TOPICS_MAX || items > ITEMS_MAX {
            let message = format!(
                "`topics`: {} with {} consumer groups each are more than the {TOPICS_MAX} topics and {ITEMS_MAX} load items that a \
                 scenario is written for",
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

/// Consumers that pause until there is a backlog are not to be had.
fn refuse_backlog(file: &mut OmbKeys, notes: &mut Vec<String>) -> Result<(), InputError> {
    let refused = |place, key: &str| {
        let message = format!(
            "`{key}`: consumers that stop until a backlog of so many bytes is there are not in this version"
        );
        let hint = "`kdyno run catch-up` measures how fast consumers catch up that come later than the load";
        Err(InputError { place, ..InputError::whole(message).hint(hint) })
    };
    let (backlog, only) = (file.place("consumerBacklogSizeGB"), file.place("consumerOnly"));
    if file.is_set("consumerOnly")? {
        return refused(only, "consumerOnly");
    }
    if file.int("consumerBacklogSizeGB", 0)? > 0 {
        return refused(backlog, "consumerBacklogSizeGB");
    }
    if file.has("backlogDrainRatio") {
        file.share("backlogDrainRatio", 1.0)?;
        notes.push("`backlogDrainRatio`: not used, since no backlog is built".to_owned());
    }
    Ok(())
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

fn rate(file: &mut OmbKeys, topics: u32, notes: &mut Vec<String>) -> Result<OmbRate, InputError> {
    let place = file.place("producerRate");
    match file.int("producerRate", 0)? {
        0 if topics > 1 => {
            let message = format!(
                "`producerRate: 0` searches for a rate, and a search raises that of one topic, not of {topics}"
            );
            Err(InputError { place, ..InputError::whole(message).hint("give a rate, or one topic") })
        }
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
