//! The figures shown for every trial, whatever the scenario: rates with their cost, latencies, outcomes.

use crate::answer::steadiness;
use crate::figures::{FindingIndex, covers};
use crate::input::{ReportInput, is_cut_short};
use crate::table::Cell;
use crate::units;
use crate::without_generator;
use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::metric;
use kdyno_model::plan::{Compression, LoadPlan, ProducePlan, RoleKind};
use kdyno_model::trial::Trial;

/// One figure of a trial's stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamFigure {
    /// Lines above the column, top first.
    pub head: [&'static str; 2],
    /// `None`: the stream itself; otherwise `brokers` or `workers`.
    pub subject: Option<&'static str>,
    /// Name of the metric after its subject.
    pub metric: &'static str,
}

const fn own(top: &'static str, bottom: &'static str, metric: &'static str) -> StreamFigure {
    StreamFigure { head: [top, bottom], subject: None, metric }
}

const fn of(
    subject: &'static str,
    top: &'static str,
    bottom: &'static str,
    metric: &'static str,
) -> StreamFigure {
    StreamFigure { head: [top, bottom], subject: Some(subject), metric }
}

/// A producer's rates, and what they cost.
pub const PRODUCE_RATES: [StreamFigure; 7] = [
    own("", "offered", "offered_per_s"),
    own("", "achieved", "achieved_per_s"),
    own("", "acknowledged", "acked_per_s"),
    of("brokers", "broker CPU", "per record", "cpu_us_per_record"),
    of("workers", "worker CPU", "per record", "cpu_us_per_record"),
    own("records", "per batch", "records_per_batch"),
    own("bytes per", "request", "bytes_per_request"),
];

/// The rates of a producer that compresses, with how well that went.
pub const COMPRESSED_RATES: [StreamFigure; 8] = {
    let [offered, achieved, acknowledged, brokers, workers, batch, request] = PRODUCE_RATES;
    let ratio = own("compression", "ratio", "compression_ratio");
    [offered, achieved, acknowledged, ratio, brokers, workers, batch, request]
};

/// A producer's latencies: the headline first, then what a blocking client would print.
pub const PRODUCE_LATENCIES: &[StreamFigure] = &[
    own("response", "p50", "response.p50"),
    own("response", "p99", "response.p99"),
    own("response", "p99.9", "response.p99.9"),
    own("response", "p99.99", "response.p99.99"),
    own("response", "max", "response.max"),
    own("service", "p50", "service.p50"),
    own("service", "p99", "service.p99"),
    own("response", "÷ service", "response_over_service"),
];

/// A consumer's end-to-end latencies, and which records they are of and which they are not.
pub const CONSUME_LATENCIES: &[StreamFigure] = &[
    own("end to end", "p50", "end_to_end.p50"),
    own("end to end", "p99", "end_to_end.p99"),
    own("end to end", "p99.9", "end_to_end.p99.9"),
    own("end to end", "max", "end_to_end.max"),
    own("until", "fetched p99", "until_fetched.p99"),
    own("hand-over", "p99", "hand_over.p99"),
    own("records", "consumed", "end_to_end"),
    own("", "censored", "censored"),
    own("", "discarded", "discarded"),
];

/// What became of a producer's records.
pub const PRODUCE_OUTCOMES: &[StreamFigure] =
    &[own("", "failed", "failed"), own("", "unresolved", "unresolved")];

/// What became of a producer's transactions.
pub const PRODUCE_TRANSACTIONS: &[StreamFigure] = &[
    own("", "committed", "committed"),
    own("", "aborted", "aborted"),
    own("commit", "p50", "commit.p50"),
    own("commit", "p99", "commit.p99"),
    own("commit", "p99.9", "commit.p99.9"),
    own("commit", "max", "commit.max"),
];

/// How a producer's records are spread over the partitions of its topic.
pub const PARTITIONS: &[StreamFigure] = &[
    own("busiest", "partition", metric::BUSIEST_PARTITION),
    own("quietest", "partition", metric::QUIETEST_PARTITION),
    own("busiest", "in bytes", metric::BUSIEST_PARTITION_BYTES),
];

/// How clients connected that came all at once.
pub const CONNECTS: &[StreamFigure] = &[
    own("", "clients", "clients"),
    own("connect", "p50", "connect.p50"),
    own("connect", "p99", "connect.p99"),
    own("connect", "max", "connect.max"),
];

/// How much brokers held clients back; a table of the affected clients alone.
pub const THROTTLED: &[StreamFigure] = &[own("throttled", "share of time", "throttled_share")];

/// A consumer's rates, and what they cost.
pub const CONSUME_RATES: &[StreamFigure] = &[
    own("", "consumed", "fetched_per_s"),
    own("batch bytes", "fetched", "fetched_wire_mib_per_s"),
    of("brokers", "broker CPU", "per record", "cpu_us_per_record"),
    of("workers", "worker CPU", "per record", "cpu_us_per_record"),
    own("records", "per batch", "records_per_batch"),
    own("bytes per", "request", "bytes_per_request"),
];

/// What a Java client took of the host it ran on.
pub const JAVA_CLIENTS: &[StreamFigure] = &[
    own("client CPU", "per record", metric::CLIENT_CPU),
    own("client threads", "CPU per record", metric::CLIENT_THREADS_CPU),
    own("allocated", "per record", metric::CLIENT_ALLOCATED),
    own("garbage", "collections", metric::CLIENT_GC),
    own("heap", "max", metric::CLIENT_HEAP),
];

/// A consumer group: what its rebalances and commits took, and how its members share the records.
pub const CONSUME_GROUPS: &[StreamFigure] = &[
    own("", "conserved", "conserved"),
    own("", "rebalances", "rebalances"),
    own("rebalance", "max", "rebalance.max"),
    own("without", "owner, max", "without_owner.max"),
    own("", "duplicates", "duplicates"),
    own("offset", "commits", "offset_commits"),
    own("offset commit", "p50", "offset_commit.p50"),
    own("offset commit", "max", "offset_commit.max"),
    own("records of a", "member, least", "member_records_least"),
    own("records of a", "member, most", "member_records_most"),
    own("coefficient", "of variation", "member_records_cv"),
];

/// What follows the figures of a stream, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrailingWords {
    /// Nothing.
    None,
    /// Whether its window was steady.
    Steadiness,
    /// Why records failed.
    Reasons,
    /// Which client carries it.
    Driver,
}

impl TrailingWords {
    /// Above the column.
    pub fn head(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Steadiness => "steady",
            Self::Reasons => "reasons",
            Self::Driver => "driver",
        }
    }
}

/// Whose figures a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamChoice {
    /// Producers.
    Producing,
    /// Producers that send records uncompressed.
    Uncompressed,
    /// Producers that compress them.
    Compressed,
    /// Producers with transactions.
    Transactional,
    /// Consumers.
    Consuming,
    /// All that are handed records.
    Handed,
    /// All.
    All,
    /// Members of consumer groups.
    Grouped,
    /// Items whose clients come in the measure phase.
    Late,
    /// Items that Kafka's Java client runs.
    Java,
}

impl StreamChoice {
    /// Whether a stream is one of them.
    pub fn has(self, load: &LoadPlan) -> bool {
        let produces = |is_it: fn(&ProducePlan) -> bool| load.role.as_produce().is_some_and(is_it);
        match self {
            Self::Producing => produces(|_| true),
            Self::Transactional => produces(|plan| plan.transactions.is_some()),
            Self::Uncompressed => produces(|plan| plan.client.compression == Compression::None),
            Self::Compressed => produces(|plan| plan.client.compression != Compression::None),
            Self::Consuming => load.role.kind() == RoleKind::Consume,
            Self::Grouped => load.role.group().is_some(),
            Self::Late => load.span.is_late(),
            Self::Java => load.driver.as_java().is_some(),
            Self::Handed => load.role.as_consume().is_some(),
            Self::All => true,
        }
    }
}

/// A table of every trial's figures: title, whose streams, columns, the words that follow. A stream that has none of the
/// figures is left out.
pub type TrialsTable = (&'static str, StreamChoice, &'static [StreamFigure], TrailingWords);

/// The main figures of a producer.
const PRODUCE_BRIEF: &[StreamFigure] = &[
    own("", "offered", "offered_per_s"),
    own("", "acknowledged", "acked_per_s"),
    own("response", "p50", "response.p50"),
    own("response", "p99", "response.p99"),
    own("response", "p99.9", "response.p99.9"),
    own("response", "max", "response.max"),
];

/// The main figures of a consumer.
const CONSUME_BRIEF: &[StreamFigure] = &[
    own("", "consumed", "fetched_per_s"),
    own("end to end", "p50", "end_to_end.p50"),
    own("end to end", "p99", "end_to_end.p99"),
    own("end to end", "max", "end_to_end.max"),
    own("lag at", "the end", "lag"),
    own("without", "owner, max", "without_owner.max"),
    own("", "conserved", "conserved"),
];

/// The tables of main figures.
pub const BRIEF_TABLES: [TrialsTable; 5] = [
    ("Produce", StreamChoice::Producing, PRODUCE_BRIEF, TrailingWords::None),
    ("Produce: transactions", StreamChoice::Transactional, PRODUCE_TRANSACTIONS, TrailingWords::None),
    ("Consume", StreamChoice::Handed, CONSUME_BRIEF, TrailingWords::None),
    ("Records that were not acknowledged", StreamChoice::Producing, PRODUCE_OUTCOMES, TrailingWords::Reasons),
    ("Clients that brokers throttled", StreamChoice::All, THROTTLED, TrailingWords::None),
];

/// Names of the main figures of producers and consumers, after their subjects.
pub fn brief_metrics() -> impl Iterator<Item = &'static str> {
    PRODUCE_BRIEF.iter().chain(CONSUME_BRIEF).map(|shown| shown.metric)
}

/// The tables of all figures.
pub const TABLES: [TrialsTable; 12] = [
    (
        "Produce: rates and what they cost",
        StreamChoice::Uncompressed,
        &PRODUCE_RATES,
        TrailingWords::Steadiness,
    ),
    (
        "Produce: compressed rates and what they cost",
        StreamChoice::Compressed,
        &COMPRESSED_RATES,
        TrailingWords::Steadiness,
    ),
    ("Produce: latency", StreamChoice::Producing, PRODUCE_LATENCIES, TrailingWords::None),
    ("Produce: transactions", StreamChoice::Transactional, PRODUCE_TRANSACTIONS, TrailingWords::None),
    ("Produce: share of partitions", StreamChoice::Producing, PARTITIONS, TrailingWords::None),
    (
        "Produce: records that were not acknowledged",
        StreamChoice::Producing,
        PRODUCE_OUTCOMES,
        TrailingWords::Reasons,
    ),
    ("Consume: rates and what they cost", StreamChoice::Consuming, CONSUME_RATES, TrailingWords::Steadiness),
    ("End-to-end latency", StreamChoice::Handed, CONSUME_LATENCIES, TrailingWords::None),
    ("Consume: groups", StreamChoice::Grouped, CONSUME_GROUPS, TrailingWords::None),
    ("Clients that brokers throttled", StreamChoice::All, THROTTLED, TrailingWords::None),
    ("Clients that came in the measure phase", StreamChoice::Late, CONNECTS, TrailingWords::None),
    ("Java clients: what they cost", StreamChoice::Java, JAVA_CLIENTS, TrailingWords::Driver),
];

/// Said under the tables when a stream asks for no acknowledgement.
const UNANSWERED_NOTE: &str =
    "With acks=0 brokers do not answer: acknowledged then means written to the socket.";

/// Said under the tables when a Java client carries a stream.
const JAVA_NOTE: &str = "Of a Java client schedule delay, block and service are seen, and no stage of the service: linger, \
    retry, send wait, request and callback have no figures, nor have its batches, requests and retries; of what it fetches, \
    until fetched and hand-over have none.";

/// Said under the tables when an item shares its group with another one.
const SHARED_GROUP_NOTE: &str = "For an item that shares its group with another one, censored is not known, and its lag in \
    records alone: what is written to the partitions of one of them is not counted.";

/// Said under the tables where rebalances are timed.
const REBALANCE_NOTE: &str = "A rebalance lasts from when a member learns of it to the last assignment, and protocols \
    make more or fewer: protocols are compared by the time in which a partition had no owner (without owner).";

/// Said under the tables that show whether a group's records were conserved.
const CONSERVED_NOTE: &str = "Conserved: by the counts of the whole trial the group consumed each acknowledged record of its \
    topic, duplicates not counted; – where that cannot be judged.";

/// Said under the tables where the ratio of two latencies is next to their quantiles.
const RATIO_OF_MEANS_NOTE: &str = "Response ÷ service is the mean of the one divided by the mean of the other; quantiles \
    have other ratios.";

/// Said under the tables where records consumed are next to rates.
const HANDED_NOTE: &str = "Records consumed, next to end-to-end latencies, are those intended in the measure phase, also where they \
    came after it; a rate of records consumed is of those that came in the window.";

/// Whether figures say what went wrong and nothing else.
pub fn is_of_failures(shown: &[StreamFigure]) -> bool {
    let names: Vec<&str> = shown.iter().map(|one| one.metric).collect();
    names == ["failed", "unresolved"]
}

/// Said where producers have figures and none of their records is in the table of those that were not acknowledged.
pub fn no_failure_note(rows: &[StreamRow<'_>], figures: &FindingIndex<'_>) -> Option<&'static str> {
    let mut producing = rows.iter().filter(|row| StreamChoice::Producing.has(row.load)).peekable();
    let is_any = producing.peek().is_some();
    let is_clean = producing.all(|row| !row.has_more_than_0(figures, PRODUCE_OUTCOMES));
    (is_any && is_clean).then_some("No record failed, and none stayed unresolved.")
}

/// Notes under the tables of these streams, in addition to what signs mean.
pub fn notes(rows: &[StreamRow<'_>], figures: &FindingIndex<'_>) -> Vec<String> {
    let has = |metric: &str| {
        let cell = |row: &StreamRow<'_>| Cell::from(figures.of_trial(row.trial.id, row.stream, metric));
        rows.iter().any(|row| cell(row).text() != units::NOTHING)
    };
    let notes = [
        (rows.iter().any(|row| row.cut_short), CUT_SHORT_NOTE),
        (has("response_over_service"), RATIO_OF_MEANS_NOTE),
        (has("end_to_end"), HANDED_NOTE),
        (has("rebalance.max"), REBALANCE_NOTE),
        (has("conserved"), CONSERVED_NOTE),
        (rows.iter().any(StreamRow::unanswered), UNANSWERED_NOTE),
        (rows.iter().any(StreamRow::is_java), JAVA_NOTE),
        (rows.iter().any(StreamRow::shares_group), SHARED_GROUP_NOTE),
    ];
    let notes = notes.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, note)| note);
    let latencies: Vec<&str> = PRODUCE_LATENCIES.iter().map(|shown| shown.metric).collect();
    let without = without_generator::of_trials(figures, names(rows), &latencies);
    let fixed = notes.chain(no_failure_note(rows, figures)).map(str::to_owned);
    without.into_iter().chain(fixed).collect()
}

/// Trial and stream of each row.
pub fn names<'a>(rows: &'a [StreamRow<'_>]) -> impl Iterator<Item = (&'a Trial, &'a str)> {
    rows.iter().map(|row| (row.trial, row.stream))
}

/// The mark of a row whose figures cover less than was planned.
pub fn row_mark(cut_short: bool) -> &'static str {
    if cut_short { "*" } else { "" }
}

/// What the mark of a row that was cut short means.
pub const CUT_SHORT_NOTE: &str =
    "* cut short: these figures cover only the part of the measure phase that ran.";

/// One stream of one trial.
#[derive(Debug, Clone)]
pub struct StreamRow<'a> {
    /// The trial that the stream ran in.
    pub trial: &'a Trial,
    /// It ended before its plan did.
    pub cut_short: bool,
    /// The load item's address.
    pub stream: &'a str,
    /// What its clients do, with every setting.
    pub load: &'a LoadPlan,
}

impl StreamRow<'_> {
    /// Whether no answer is sent (`acks=0`), so that acknowledged means written to the socket.
    pub fn unanswered(&self) -> bool {
        self.load.role.as_produce().is_some_and(|produce| produce.client.acks == 0)
    }

    /// Whether Kafka's Java client runs it, whose stages are not all seen.
    pub fn is_java(&self) -> bool {
        StreamChoice::Java.has(self.load)
    }

    /// Whether members of its group are another item's, so that its own share of a topic is not known.
    pub fn shares_group(&self) -> bool {
        self.trial.effective.shares_group(self.stream)
    }

    /// Whether the stream has any of some figures. Who was not throttled has no place among those who were.
    pub fn has_any(&self, figures: &FindingIndex<'_>, shown: &[StreamFigure]) -> bool {
        let is_there = |one: &StreamFigure| match one.metric {
            "throttled_share" => figures.is_above_0(self.trial.id, self.stream, one.metric),
            name => figures.is_known(self.trial.id, self.stream, name),
        };
        shown.iter().any(|one| one.subject.is_none() && is_there(one))
    }

    /// Whether any of some figures of the stream itself is above 0.
    pub fn has_more_than_0(&self, figures: &FindingIndex<'_>, shown: &[StreamFigure]) -> bool {
        let is_above_0 = |one: &StreamFigure| figures.is_above_0(self.trial.id, self.stream, one.metric);
        shown.iter().any(|one| one.subject.is_none() && is_above_0(one))
    }

    /// One of the stream's figures.
    pub fn cell(&self, figures: &FindingIndex<'_>, shown: &StreamFigure) -> Cell {
        figures.of_trial(self.trial.id, shown.subject.unwrap_or(self.stream), shown.metric).into()
    }

    /// What follows its figures.
    pub fn words(&self, words: TrailingWords, input: &ReportInput<'_>) -> String {
        match words {
            TrailingWords::None => String::new(),
            TrailingWords::Steadiness => steadiness::cell(input.conclusions, self.trial.id, self.stream),
            TrailingWords::Reasons => self.failures(input.caveats),
            TrailingWords::Driver => self.load.driver.label(),
        }
    }

    /// Failed records by reason, e.g. `MESSAGE_TOO_LARGE 12`; empty when none failed.
    pub fn failures(&self, caveats: &[ScopedCaveat]) -> String {
        let ours = caveats.iter().filter(|one| covers(one.scope, self.trial));
        let reasons = ours.filter_map(|one| match &one.caveat {
            Caveat::Failures { item, reason, records } if item == self.stream => {
                Some(format!("{reason} {}", units::count(*records as f64)))
            }
            _ => None,
        });
        reasons.collect::<Vec<_>>().join(", ")
    }
}

/// Every stream of every trial with any finding, in the order in which the trials ran.
pub fn stream_rows<'a>(input: &ReportInput<'a>, figures: &FindingIndex<'_>) -> Vec<StreamRow<'a>> {
    input
        .reported()
        .filter(|trial| figures.has(trial.id))
        .flat_map(|trial| streams(trial, input.caveats))
        .collect()
}

/// Every stream of one trial.
pub(crate) fn streams<'a>(
    trial: &'a Trial,
    caveats: &[ScopedCaveat],
) -> impl Iterator<Item = StreamRow<'a>> + use<'a> {
    let cut_short = is_cut_short(trial, caveats);
    let streams = trial.effective.load.iter();
    streams.map(move |(stream, load)| StreamRow { trial, cut_short, stream, load })
}
