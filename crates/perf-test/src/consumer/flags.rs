//! The flags of `kafka-consumer-perf-test`: which there are, which exclude each other, and what is said of those that are
//! wrong.

use super::date_format::DateFormat;
use super::parser::{OptionSpec, Takes, TypedOptions, typed};
use super::rows::header;
use crate::driver::DriverChoice;
use crate::properties::name_and_maybe_value;
use std::fmt;
use std::fmt::Write as _;

/// What a command line asks for.
#[derive(Debug, PartialEq)]
pub enum ToolRequest {
    /// What there is to be typed.
    Help,
    /// Which version this is.
    Version,
    /// To consume.
    Run(Box<ConsumerOptions>),
}

/// Which topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopicChoice {
    /// The one of this name.
    Named(String),
    /// Topics whose names match as a whole.
    Matching(String),
}

/// What was typed, and what the tool takes where nothing was.
#[derive(Clone, PartialEq)]
pub struct ConsumerOptions {
    /// `--bootstrap-server`, as typed.
    pub bootstrap_server: String,
    /// `--topic` or `--include`.
    pub topics: TopicChoice,
    /// `--num-records`, or `--messages`.
    pub records: i64,
    /// `--group`; without it the tool makes one up.
    pub group: Option<String>,
    /// `--fetch-size`: `max.partition.fetch.bytes`.
    pub fetch_size: i32,
    /// `--socket-buffer-size`: `receive.buffer.bytes`, where it is typed.
    pub socket_buffer_size: Option<i32>,
    /// `--from-latest`.
    pub from_latest: bool,
    /// `--command-config`, or `--consumer.config`.
    pub config: Option<String>,
    /// `--command-property`, in order.
    pub properties: Vec<(String, String)>,
    /// `--timeout`, ms.
    pub timeout_ms: i64,
    /// `--reporting-interval`, ms; above 0.
    pub reporting_interval_ms: u64,
    /// `--date-format`.
    pub date_format: DateFormat,
    /// `--show-detailed-stats`.
    pub shows_intervals: bool,
    /// `--print-metrics`.
    pub prints_metrics: bool,
    /// `--driver`, which is kdyno's own: the client that carries the load.
    pub driver: DriverChoice,
    /// `--fail-if`, which is kdyno's own: what makes the run fail, if it is true of its figures.
    pub fail_if: Vec<String>,
    /// Lines for standard output before anything is done.
    pub printed: Vec<&'static str>,
}

/// Without what was typed: properties may hold secrets.
impl fmt::Debug for ConsumerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

/// A command line that cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagsError {
    /// Lines that standard output has by then: values are read when they are needed, after the header is printed.
    pub printed: Vec<&'static str>,
    /// A line.
    pub message: String,
    /// Whether the usage follows it.
    pub shows_usage: bool,
}

const fn spec(name: &'static str, takes: Takes, argument: &'static str, about: &'static str) -> OptionSpec {
    OptionSpec { name, takes, argument, about }
}

use Takes::{Argument, MaybeNumber, Nothing};

const BOOTSTRAP: &str = "bootstrap-server";
const TOPIC: &str = "topic";
const INCLUDE: &str = "include";
const MESSAGES: &str = "messages";
const NUM_RECORDS: &str = "num-records";
const CONSUMER_CONFIG: &str = "consumer.config";
const COMMAND_CONFIG: &str = "command-config";
const INTERVAL: &str = "reporting-interval";
const SOCKET_BUFFER: &str = "socket-buffer-size";

const SPECS: &[OptionSpec] = &[
    spec(BOOTSTRAP, Argument, "server to connect to", "required: brokers to ask first"),
    spec(TOPIC, Argument, "topic", "the topic to consume; it or --include"),
    spec(INCLUDE, Argument, "regex", "a pattern that the name of one topic matches as a whole"),
    spec(NUM_RECORDS, Argument, "count", "required: end after so many records"),
    spec(MESSAGES, Argument, "count", "the same under its deprecated name"),
    spec("group", Argument, "gid", "group.id (default: perf-consumer-<0 to 99999>)"),
    spec("fetch-size", Argument, "Integer: size", "max.partition.fetch.bytes (default: 1048576)"),
    spec(
        "from-latest",
        Nothing,
        "",
        "without a committed offset begin after the last record, not at the first",
    ),
    spec(SOCKET_BUFFER, Argument, "Integer: size", "receive.buffer.bytes (default: 2097152)"),
    spec(COMMAND_CONFIG, Argument, "config file", "a properties file of the consumer"),
    spec(CONSUMER_CONFIG, Argument, "config file", "the same under its deprecated name"),
    spec(
        "command-property",
        Argument,
        "prop=val",
        "a property of the consumer; may be repeated, wins over the file",
    ),
    spec(
        "timeout",
        MaybeNumber,
        "Long: milliseconds",
        "end when no record came for so long (default: 10000)",
    ),
    spec(
        INTERVAL,
        Argument,
        "interval_ms",
        "how far apart rows of --show-detailed-stats are (default: 5000)",
    ),
    spec("show-detailed-stats", Nothing, "", "print a row for each interval instead of one at the end"),
    spec(
        "date-format",
        Argument,
        "date format",
        "of times: a pattern of SimpleDateFormat (default: yyyy-MM-dd HH:mm:ss:SSS)",
    ),
    spec("hide-header", Nothing, "", "do not print the names of columns"),
    spec("print-metrics", Nothing, "", "print the client's metrics at the end"),
    spec(
        "driver",
        Argument,
        "native|java[:VERSION|PATH]",
        "of kdyno alone: its own client (default), or Kafka's of the newest release, a release, a folder or a jar",
    ),
    spec(
        "fail-if",
        Argument,
        "expression",
        "of kdyno alone: end with exit code 3 if this is true of the run's figures, e.g. 'consumer.fetched_per_s < 1000' (may be repeated)",
    ),
    spec("help", Nothing, "", "print this"),
    spec("version", Nothing, "", "print the version"),
];

/// What there is to be typed.
pub fn usage() -> String {
    let typed = |spec: &OptionSpec| match spec.takes {
        Nothing => format!("--{}", spec.name),
        Argument => format!("--{} <{}>", spec.name, spec.argument),
        MaybeNumber => format!("--{} [{}]", spec.name, spec.argument),
    };
    let width = SPECS.iter().map(|spec| typed(spec).len()).max().unwrap_or(0);
    let mut text = format!("{:width$}  Description\n{:-<width$}  -----------\n", "Option", "");
    for spec in SPECS {
        let _ = writeln!(text, "{:width$}  {}", typed(spec), spec.about);
    }
    text
}

/// Reads the tool's arguments.
///
/// # Errors
/// What the tool refuses, in its words.
pub fn read(args: &[String]) -> Result<ToolRequest, FlagsError> {
    let with_usage = |message: String| FlagsError { printed: Vec::new(), message, shows_usage: true };
    let typed = typed(SPECS, args).map_err(with_usage)?;
    if args.is_empty() || typed.has("help") {
        return Ok(ToolRequest::Help);
    }
    if typed.has("version") {
        return Ok(ToolRequest::Version);
    }
    check(&typed).map_err(with_usage)?;
    let printed = printed(&typed);
    match options(&typed) {
        Ok(options) => Ok(ToolRequest::Run(Box::new(ConsumerOptions { printed, ..options }))),
        Err(message) => Err(FlagsError { printed, message, shows_usage: false }),
    }
}

/// What is said before anything is done: of what is deprecated, and the names of the columns.
fn printed(typed: &TypedOptions) -> Vec<&'static str> {
    let deprecated = [
        (MESSAGES, "Warning: --messages is deprecated. Use --num-records instead."),
        (CONSUMER_CONFIG, "Warning: --consumer.config is deprecated. Use --command-config instead."),
    ];
    let deprecated = deprecated.into_iter().filter(|(name, _)| typed.has(name)).map(|(_, line)| line);
    let header = header(typed.has("show-detailed-stats"));
    deprecated.chain((!typed.has("hide-header")).then_some(header)).collect()
}

/// What is missing, and what excludes what.
fn check(typed: &TypedOptions) -> Result<(), String> {
    if !typed.has(BOOTSTRAP) {
        return Err(format!("Missing required argument \"[{BOOTSTRAP}]\""));
    }
    for (one, other) in [(TOPIC, INCLUDE), (MESSAGES, NUM_RECORDS)] {
        if typed.has(one) == typed.has(other) {
            return Err(format!("Exactly one of the following arguments is required: [{one}], [{other}]"));
        }
    }
    if typed.has(CONSUMER_CONFIG) && typed.has(COMMAND_CONFIG) {
        return Err(format!(
            "Option \"[{CONSUMER_CONFIG}]\" can't be used with option \"[{COMMAND_CONFIG}]\""
        ));
    }
    Ok(())
}

fn options(typed: &TypedOptions) -> Result<ConsumerOptions, String> {
    let text = |name: &str| typed.one(name).map(|found| found.map(str::to_owned));
    let topics = match text(TOPIC)? {
        Some(name) => TopicChoice::Named(name),
        None => TopicChoice::Matching(text(INCLUDE)?.unwrap_or_default()),
    };
    let records = if typed.has(NUM_RECORDS) { NUM_RECORDS } else { MESSAGES };
    let config = if typed.has(COMMAND_CONFIG) { COMMAND_CONFIG } else { CONSUMER_CONFIG };
    let pattern = typed.one("date-format")?.unwrap_or(DateFormat::DEFAULT);
    Ok(ConsumerOptions {
        bootstrap_server: text(BOOTSTRAP)?.unwrap_or_default(),
        topics,
        records: typed.number(records, 0)?,
        group: text("group")?,
        fetch_size: typed.number("fetch-size", 1 << 20)?,
        socket_buffer_size: typed.has(SOCKET_BUFFER).then(|| typed.number(SOCKET_BUFFER, 0)).transpose()?,
        from_latest: typed.has("from-latest"),
        config: text(config)?,
        properties: typed.all("command-property").map(name_and_maybe_value).collect(),
        timeout_ms: typed.number("timeout", 10_000)?,
        reporting_interval_ms: interval(typed)?,
        date_format: DateFormat::parse(pattern)?,
        shows_intervals: typed.has("show-detailed-stats"),
        prints_metrics: typed.has("print-metrics"),
        driver: typed.one("driver")?.map(DriverChoice::parse).transpose()?.unwrap_or_default(),
        fail_if: typed.all("fail-if").map(str::to_owned).collect(),
        printed: Vec::new(),
    })
}

fn interval(typed: &TypedOptions) -> Result<u64, String> {
    let ms: i64 = typed.number(INTERVAL, 5_000)?;
    match u64::try_from(ms) {
        Ok(ms) if ms > 0 => Ok(ms),
        _ => Err("Reporting interval must be greater than 0.".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<ToolRequest, FlagsError> {
        read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn run(line: &str) -> ConsumerOptions {
        match read_line(&format!("--bootstrap-server h:9092 {line}")) {
            Ok(ToolRequest::Run(options)) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refused(line: &str) -> (String, bool) {
        let refusal = read_line(line).expect_err(line);
        (refusal.message, refusal.shows_usage)
    }

    #[test]
    fn what_is_not_typed_is_as_the_tool_has_it() {
        let options = run("--topic t --num-records 10");
        let expected = ConsumerOptions {
            bootstrap_server: "h:9092".to_owned(),
            topics: TopicChoice::Named("t".to_owned()),
            records: 10,
            group: None,
            fetch_size: 1_048_576,
            socket_buffer_size: None,
            from_latest: false,
            config: None,
            properties: Vec::new(),
            timeout_ms: 10_000,
            reporting_interval_ms: 5_000,
            date_format: DateFormat::parse(DateFormat::DEFAULT).expect("a pattern"),
            shows_intervals: false,
            prints_metrics: false,
            driver: DriverChoice::Native,
            fail_if: Vec::new(),
            printed: vec![header(false)],
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn every_flag_is_read() {
        let options = run(
            "--include a.* --messages=+7 --group g --fetch-size 99 --socket-buffer-size -1 --from-latest \
                           --consumer.config f --command-property a=b=c --command-property d --timeout 5 \
                           -reporting-interval 1000 --date-format HH --show-detailed-stats --hide-header --print-metrics \
                           --driver java",
        );
        assert_eq!((options.topics, options.records), (TopicChoice::Matching("a.*".to_owned()), 7));
        assert_eq!((options.group.as_deref(), options.config.as_deref()), (Some("g"), Some("f")));
        assert_eq!((options.fetch_size, options.socket_buffer_size, options.timeout_ms), (99, Some(-1), 5));
        let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(options.properties, [property("a", "b=c"), property("d", "")]);
        assert_eq!(options.reporting_interval_ms, 1_000);
        assert!(options.from_latest && options.shows_intervals && options.prints_metrics);
        assert_eq!((options.printed.len(), options.driver), (2, DriverChoice::Java(None)));
    }

    #[test]
    fn an_argument_is_the_next_word_except_for_the_optional_one() {
        assert_eq!(run("--topic --group --num-records 1").topics, TopicChoice::Named("--group".to_owned()));
        for (line, expected) in [("--timeout", 10_000), ("--timeout x", 10_000), ("--timeout -3", -3)] {
            assert_eq!(run(&format!("--topic t --num-records 1 {line}")).timeout_ms, expected, "{line}");
        }
        let options = run("--topic t --num-records 1 --timeout --hide-header passed over -- --unknown");
        assert!(options.printed.is_empty() && options.timeout_ms == 10_000);
    }

    #[test]
    fn what_is_wrong_is_said_in_the_tools_words() {
        let full = "--bootstrap-server h:1 --topic t --num-records 1";
        let with_usage = |message: &str| (message.to_owned(), true);
        let alone = |message: &str| (message.to_owned(), false);
        for (line, expected) in [
            ("--topic t --num-records 1", with_usage("Missing required argument \"[bootstrap-server]\"")),
            ("--bogus", with_usage("bogus is not a recognized option")),
            ("--top t", with_usage("top is not a recognized option")),
            ("-x", with_usage("x is not a recognized option")),
            ("--topic", with_usage("Option topic requires an argument")),
            ("--topic t --driver", with_usage("Option driver requires an argument")),
            (
                "--bootstrap-server h:1 --num-records 1",
                with_usage("Exactly one of the following arguments is required: [topic], [include]"),
            ),
            (
                "--bootstrap-server h:1 --topic t --include t --num-records 1",
                with_usage("Exactly one of the following arguments is required: [topic], [include]"),
            ),
            (
                "--bootstrap-server h:1 --topic t",
                with_usage("Exactly one of the following arguments is required: [messages], [num-records]"),
            ),
            (
                "--bootstrap-server h:1 --topic t --num-records 1 --consumer.config a --command-config b",
                with_usage("Option \"[consumer.config]\" can't be used with option \"[command-config]\""),
            ),
            (
                "--bootstrap-server h:1 --topic t --num-records many",
                alone("Cannot parse argument 'many' of option num-records"),
            ),
            (
                "--bootstrap-server h:1 --topic t --topic u --num-records 1",
                alone("Found multiple arguments for option topic, but you asked for only one"),
            ),
            (
                "--bootstrap-server h:1 --topic t --num-records 1 --driver java --driver native",
                alone("Found multiple arguments for option driver, but you asked for only one"),
            ),
        ] {
            assert_eq!(refused(line), expected, "{line}");
        }
        let interval = |value: &str| refused(&format!("{full} --reporting-interval {value}"));
        assert_eq!(interval("0"), alone("Reporting interval must be greater than 0."));
        assert_eq!(interval("-5"), alone("Reporting interval must be greater than 0."));
        assert!(refused(&format!("{full} --date-format MMM")).0.contains("not supported here"));
        assert!(refused(&format!("{full} --driver jvm")).0.starts_with("--driver: `jvm` is none of"));
    }

    #[test]
    fn no_arguments_print_help_and_an_unknown_option_wins_over_it() {
        assert_eq!(
            (read_line(""), read_line("--help --topic t")),
            (Ok(ToolRequest::Help), Ok(ToolRequest::Help))
        );
        assert_eq!(read_line("--version"), Ok(ToolRequest::Version));
        assert!(read_line("--help --bogus").is_err());
        let usage = usage();
        assert!(SPECS.iter().all(|spec| usage.contains(&format!("--{}", spec.name))), "{usage}");
    }
}
