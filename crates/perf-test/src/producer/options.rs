//! The flags of the tool, and what they come to.

use super::argparse::{self, Flag, FlagKind, TypedFlags, Wrong, double};
use crate::driver::DriverChoice;
use crate::properties::name_and_value;

const fn flag(name: &'static str, kind: FlagKind, metavar: &'static str, help: &'static str) -> Flag {
    Flag { name, kind, metavar, is_required: false, is_choice: false, is_own: false, default: None, help }
}

const fn needed(flag: Flag) -> Flag {
    Flag { is_required: true, ..flag }
}

const fn choice(flag: Flag) -> Flag {
    Flag { is_choice: true, ..flag }
}

const fn own(flag: Flag) -> Flag {
    Flag { is_own: true, ..flag }
}

const fn or(default: &'static str, flag: Flag) -> Flag {
    Flag { default: Some(default), ..flag }
}

const BOOTSTRAP: &str = "--bootstrap-server";
const TOPIC: &str = "--topic";
const NUM_RECORDS: &str = "--num-records";
const RECORD_SIZE: &str = "--record-size";
const PAYLOAD_FILE: &str = "--payload-file";
const PAYLOAD_MONOTONIC: &str = "--payload-monotonic";
const PAYLOAD_DELIMITER: &str = "--payload-delimiter";
const THROUGHPUT: &str = "--throughput";
const PRODUCER_PROPS: &str = "--producer-props";
const COMMAND_PROPERTY: &str = "--command-property";
const PRODUCER_CONFIG: &str = "--producer.config";
const COMMAND_CONFIG: &str = "--command-config";
const PRINT_METRICS: &str = "--print-metrics";
const TRANSACTIONAL_ID: &str = "--transactional-id";
const TRANSACTION_MS: &str = "--transaction-duration-ms";
const WARMUP_RECORDS: &str = "--warmup-records";
const REPORTING_INTERVAL: &str = "--reporting-interval";

const DRIVER: &str = "--driver";
const FAIL_IF: &str = "--fail-if";

const PROPERTY: &str = "PROP-NAME=PROP-VALUE";
/// Between payloads, where nothing is said.
const NEWLINE: &str = "\\n";
/// Length of transactions where only an id is given, ms.
const TRANSACTION_MS_USUAL: u64 = 3_000;
/// A limit above this one is none: no client comes near it.
const THROUGHPUT_MAX: f64 = 1e9;
const INTERVAL_MS_USUAL: u64 = 5_000;

/// In the order in which the tool lists them.
static FLAGS: &[Flag] = &[
    flag(
        BOOTSTRAP,
        FlagKind::Text,
        "BOOTSTRAP-SERVER",
        "Brokers to ask first; they win over bootstrap.servers given otherwise.",
    ),
    needed(flag(TOPIC, FlagKind::Text, "TOPIC", "The topic that records go to.")),
    needed(flag(NUM_RECORDS, FlagKind::Long, "NUM-RECORDS", "How many records are sent.")),
    choice(flag(
        RECORD_SIZE,
        FlagKind::Integer,
        "RECORD-SIZE",
        "Bytes of each record's value: random capital letters.",
    )),
    choice(flag(
        PAYLOAD_FILE,
        FlagKind::Text,
        "PAYLOAD-FILE",
        "A text file in UTF-8: each record is one of its pieces, taken at random.",
    )),
    choice(flag(
        PAYLOAD_MONOTONIC,
        FlagKind::Switch,
        "PAYLOAD-MONOTONIC",
        "Records count from 0 on: each holds its number in digits.",
    )),
    or(
        NEWLINE,
        flag(
            PAYLOAD_DELIMITER,
            FlagKind::Text,
            "PAYLOAD-DELIMITER",
            "What separates the pieces of --payload-file, a regular expression of one text.",
        ),
    ),
    needed(flag(
        THROUGHPUT,
        FlagKind::Double,
        "THROUGHPUT",
        "Records per second at most, or -1: as fast as the client's buffer takes them.",
    )),
    flag(
        PRODUCER_PROPS,
        FlagKind::List,
        PROPERTY,
        "(DEPRECATED) The same as --command-property, by its former name.",
    ),
    flag(
        COMMAND_PROPERTY,
        FlagKind::List,
        PROPERTY,
        "Properties of the producer; they win over those of the file. Example: --command-property linger.ms=10 \
         batch.size=32768",
    ),
    flag(
        PRODUCER_CONFIG,
        FlagKind::Text,
        "CONFIG-FILE",
        "(DEPRECATED) The same as --command-config, by its former name.",
    ),
    flag(COMMAND_CONFIG, FlagKind::Text, "CONFIG-FILE", "A file with properties of the producer."),
    flag(PRINT_METRICS, FlagKind::Switch, "PRINT-METRICS", "Print the client's metrics at the end."),
    flag(
        TRANSACTIONAL_ID,
        FlagKind::Text,
        "TRANSACTIONAL-ID",
        "Send in transactions. The id itself is made of the run here.",
    ),
    flag(
        TRANSACTION_MS,
        FlagKind::Long,
        "TRANSACTION-DURATION",
        "Send in transactions, each committed when it is so old; 3000 where only an id is given.",
    ),
    flag(
        WARMUP_RECORDS,
        FlagKind::Long,
        "WARMUP-RECORDS",
        "The first records, which are left out of a second total: that of the steady state.",
    ),
    or(
        "5000",
        flag(
            REPORTING_INTERVAL,
            FlagKind::Long,
            "INTERVAL-MS",
            "Time between lines of progress; whole seconds here.",
        ),
    ),
    own(or(
        "native",
        flag(
            DRIVER,
            FlagKind::Text,
            "CLIENT",
            "Which client runs the load: native is kdyno's own client, java is Kafka's, of the newest release, \
             java:VERSION, java:DIR (an unpacked Kafka, or a checkout in which it was built) or java:FILE.jar.",
        ),
    )),
    own(flag(
        FAIL_IF,
        FlagKind::List,
        "EXPRESSION",
        "Ends with exit code 3 if one of these is true of the figures of this run, e.g. 'writers.response.p99 > 50ms'.",
    )),
];

/// What records hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordContent {
    /// So many random capital letters.
    Letters(u32),
    /// One of the pieces of this file.
    File(String),
    /// Their number, from 0.
    Number,
}

/// What was requested.
#[derive(Clone, PartialEq)]
pub struct ProducerOptions {
    /// The topic.
    pub topic: String,
    /// Records to send, at least 1.
    pub records: u64,
    /// What they hold.
    pub value: RecordContent,
    /// Between the pieces of a file, as typed.
    pub delimiter: String,
    /// Records per second at most; none: as fast as it goes.
    pub throughput: Option<f64>,
    /// Brokers to ask first, as typed.
    pub bootstrap: Option<String>,
    /// Properties that were typed, in order.
    pub properties: Vec<(String, String)>,
    /// The flag that they were typed with.
    pub properties_flag: &'static str,
    /// A file of properties.
    pub config: Option<String>,
    /// Whether the client's metrics are wanted.
    pub print_metrics: bool,
    /// Id of the transactions.
    pub transactional_id: Option<String>,
    /// Length of transactions, ms.
    pub transaction_ms: Option<u64>,
    /// Records before the steady state; 0: there is none.
    pub warmup_records: u64,
    /// Time between lines of progress, ms.
    pub interval_ms: u64,
    /// Which client carries the load.
    pub driver: DriverChoice,
    /// What makes the run fail, if it is true of its figures.
    pub fail_if: Vec<String>,
    /// Flags with another name now, and that one.
    pub deprecated: Vec<(&'static str, &'static str)>,
}

/// Why nothing is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartRefusal {
    /// Help was requested, or nothing was: a text for standard output, and what the tool exits with.
    Help {
        /// The help.
        text: String,
        /// 0 where nothing was typed.
        exit: u8,
    },
    /// The line of arguments is wrong: usage and error, for standard error.
    Wrong(String),
    /// A property or number is: one sentence.
    Failed(String),
}

/// The whole help.
pub fn help() -> String {
    let purpose = "Sends records to a topic and says how fast they were acknowledged, in the lines of Kafka's own tool. With \
                   --transactional-id, --transaction-duration-ms or the property transactional.id they go in transactions.";
    let choices = "Exactly one of --record-size, --payload-file and --payload-monotonic is needed.";
    argparse::help_text(FLAGS, purpose, choices)
}

/// Reads the arguments behind the command's name.
///
/// # Errors
/// What the tool would refuse, and a throughput of 0, with which it would never end.
pub fn read(args: &[String]) -> Result<ProducerOptions, StartRefusal> {
    let given = match argparse::read(FLAGS, args) {
        Ok(TypedFlags::Help) => return Err(StartRefusal::Help { text: help(), exit: 1 }),
        Err(_) if args.is_empty() => return Err(StartRefusal::Help { text: help(), exit: 0 }),
        Err(wrong) => return Err(StartRefusal::Wrong(argparse::error_text(FLAGS, &wrong))),
        Ok(TypedFlags::Given(given)) => FlagValues(given),
    };
    let wrong = |message: String| StartRefusal::Wrong(argparse::error_text(FLAGS, &Wrong::from(message)));
    given.refused().map_err(wrong)?;
    given.options()
}

/// What was given, by the places of [`FLAGS`].
struct FlagValues(Vec<Option<Vec<String>>>);

impl FlagValues {
    fn all(&self, name: &str) -> Option<&[String]> {
        let place = FLAGS.iter().position(|flag| flag.name == name)?;
        self.0.get(place)?.as_deref()
    }

    fn one(&self, name: &str) -> Option<&str> {
        self.all(name)?.first().map(String::as_str)
    }

    /// A number of a flag that takes one: it was looked at when it was read.
    fn number(&self, name: &str) -> Option<i64> {
        self.one(name)?.parse().ok()
    }

    /// What the tool finds wrong once it has read all flags, in its order and words.
    fn refused(&self) -> Result<(), String> {
        let is_none = |name: &str| self.all(name).is_none();
        let not_above_zero = |name: &str| self.number(name).is_some_and(|number| number <= 0);
        let above_zero = |name: &str| format!("{name} should be greater than zero.");
        if not_above_zero(NUM_RECORDS) {
            return Err(above_zero(NUM_RECORDS));
        }
        if self.number(WARMUP_RECORDS) >= self.number(NUM_RECORDS) {
            return Err("The value for --warmup-records must be strictly fewer than the number of records in the test, \
                        --num-records."
                .to_owned());
        }
        if not_above_zero(RECORD_SIZE) {
            return Err(above_zero(RECORD_SIZE));
        }
        let sources = [BOOTSTRAP, COMMAND_PROPERTY, PRODUCER_PROPS, PRODUCER_CONFIG, COMMAND_CONFIG];
        if sources.into_iter().all(is_none) {
            return Err("At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or \
                        --command-config must be specified."
                .to_owned());
        }
        for [now, before] in [[COMMAND_PROPERTY, PRODUCER_PROPS], [COMMAND_CONFIG, PRODUCER_CONFIG]] {
            if !is_none(now) && !is_none(before) {
                return Err(format!("{now} and {before} cannot be specified together."));
            }
        }
        match [TRANSACTION_MS, REPORTING_INTERVAL].into_iter().find(|name| not_above_zero(name)) {
            Some(name) => Err(above_zero(name)),
            None => Ok(()),
        }
    }

    fn options(&self) -> Result<ProducerOptions, StartRefusal> {
        let text = |name: &str| self.one(name).map(str::to_owned);
        let count = |name: &str| self.number(name).and_then(|number| u64::try_from(number).ok());
        let value = match (count(RECORD_SIZE), text(PAYLOAD_FILE)) {
            (Some(bytes), _) => RecordContent::Letters(u32::try_from(bytes).unwrap_or(u32::MAX)),
            (None, Some(file)) => RecordContent::File(file),
            (None, None) => RecordContent::Number,
        };
        let throughput = self.one(THROUGHPUT).and_then(double).unwrap_or(-1.0);
        if throughput == 0.0 || throughput.is_nan() {
            let why = "--throughput 0 would never end: Kafka's tool sends a record and then waits for ever; -1 is without \
                       limit";
            return Err(StartRefusal::Failed(why.to_owned()));
        }
        let properties_flag =
            if self.all(PRODUCER_PROPS).is_some() { PRODUCER_PROPS } else { COMMAND_PROPERTY };
        let pieces = self.all(properties_flag).unwrap_or_default().iter().map(|typed| name_and_value(typed));
        let driver = self.one(DRIVER).map(DriverChoice::parse).transpose();
        let renamed = [(PRODUCER_PROPS, COMMAND_PROPERTY), (PRODUCER_CONFIG, COMMAND_CONFIG)];
        Ok(ProducerOptions {
            topic: text(TOPIC).unwrap_or_default(),
            records: count(NUM_RECORDS).unwrap_or_default(),
            value,
            delimiter: text(PAYLOAD_DELIMITER).unwrap_or_else(|| NEWLINE.to_owned()),
            throughput: (0.0..=THROUGHPUT_MAX).contains(&throughput).then_some(throughput),
            bootstrap: text(BOOTSTRAP),
            properties: pieces.collect::<Result<_, _>>().map_err(StartRefusal::Failed)?,
            properties_flag,
            config: text(COMMAND_CONFIG).or_else(|| text(PRODUCER_CONFIG)),
            print_metrics: self.all(PRINT_METRICS).is_some(),
            transactional_id: text(TRANSACTIONAL_ID),
            transaction_ms: count(TRANSACTION_MS),
            warmup_records: count(WARMUP_RECORDS).unwrap_or_default(),
            interval_ms: count(REPORTING_INTERVAL).unwrap_or(INTERVAL_MS_USUAL),
            driver: driver.map_err(StartRefusal::Failed)?.unwrap_or_default(),
            fail_if: self.all(FAIL_IF).unwrap_or_default().to_vec(),
            deprecated: renamed.into_iter().filter(|(before, _)| self.all(before).is_some()).collect(),
        })
    }
}

impl ProducerOptions {
    /// Length of transactions, ms, where there are some; `has_id`: a property names an id.
    pub fn transactions_ms(&self, has_id: bool) -> Option<u64> {
        let is_asked_for = has_id || self.transactional_id.is_some();
        self.transaction_ms.or(is_asked_for.then_some(TRANSACTION_MS_USUAL))
    }

    /// The command line as it may be stored: every flag by its whole name, without addresses, the topic's name and what
    /// says how the cluster is reached.
    pub fn command_line(&self) -> Vec<String> {
        const REDACTED: &str = "redacted";
        let mut words: Vec<String> = vec![];
        let mut add = |flag: &str, value: Option<String>| {
            if let Some(value) = value {
                words.push(flag.to_owned());
                words.extend(Some(value).filter(|value| !value.is_empty()));
            }
        };
        let redacted = |is_given: bool| is_given.then(|| REDACTED.to_owned());
        let switch = |is_given: bool| is_given.then(String::new);
        add(BOOTSTRAP, redacted(self.bootstrap.is_some()));
        add(TOPIC, redacted(true));
        add(NUM_RECORDS, Some(self.records.to_string()));
        match &self.value {
            RecordContent::Letters(bytes) => add(RECORD_SIZE, Some(bytes.to_string())),
            RecordContent::File(file) => {
                add(PAYLOAD_FILE, Some(file.clone()));
                add(PAYLOAD_DELIMITER, Some(self.delimiter.clone()));
            }
            RecordContent::Number => add(PAYLOAD_MONOTONIC, switch(true)),
        }
        add(THROUGHPUT, Some(self.throughput.unwrap_or(-1.0).to_string()));
        add(COMMAND_CONFIG, self.config.clone());
        add(PRINT_METRICS, switch(self.print_metrics));
        add(TRANSACTIONAL_ID, redacted(self.transactional_id.is_some()));
        add(TRANSACTION_MS, self.transaction_ms.map(|ms| ms.to_string()));
        add(WARMUP_RECORDS, (self.warmup_records > 0).then(|| self.warmup_records.to_string()));
        add(REPORTING_INTERVAL, Some(self.interval_ms.to_string()));
        add(DRIVER, (self.driver != DriverChoice::Native).then(|| self.driver.to_string()));
        if !self.fail_if.is_empty() {
            add(FAIL_IF, switch(true));
            self.fail_if.iter().for_each(|expression| add(expression, switch(true)));
        }
        add(COMMAND_PROPERTY, switch(!self.properties.is_empty()));
        let reported = |(name, _): &(String, String)| format!("{name}={REDACTED}");
        words.extend(self.properties.iter().map(reported));
        words
    }
}

#[cfg(test)]
#[path = "options_tests.rs"]
mod tests;
