//! Items that come or go with a backlog of so many bytes.

use crate::common::as_written;
use kdyno_model::plan::LoadSpan;

const S: u64 = 1_000_000_000;

/// The spans of `writers` and `readers`.
fn spans(load: &str, phases: &str) -> Result<[LoadSpan; 2], String> {
    let text = format!(
        "kdyno: 1\nid: late\nquestion: How fast?\nparams: {{backlog: 10MB}}\ntopics: {{t: {{partitions: 3}}, other: {{partitions: 1}}}}\n\
         load:\n{load}phases: {{{phases}}}\n"
    );
    let load = &as_written(&text)?.cases[0].load;
    Ok(["writers", "readers"].map(|name| load[name].span))
}

const PHASES: &str = "warmup: 4s, measure: 30s";
/// 1 MB of values in a second.
const WRITERS: &str = "  writers: {produce: t, rate: 1k/s, value: 1000B}\n";
const READERS: &str = "  readers: {consume: t, from: earliest, at: {backlog: $backlog}}\n";

#[test]
fn readers_come_when_writers_have_sent_so_much() {
    let late = |load: &str| spans(load, PHASES).expect("a plan")[1].at_ns.expect("they come later");
    // 4 MB in the warm-up.
    assert_eq!(late(&format!("{WRITERS}{READERS}")), 6 * S);
    // Others write too, from the second second on and to another topic.
    let more = "  more: {produce: t, rate: 3k/s, value: 1000B, at: 2s}\n  others: {produce: other, rate: 9k/s, value: 9KB}\n";
    assert_eq!(late(&format!("{WRITERS}{more}{READERS}")), 3 * S);
    let steps = "  writers: {produce: t, rate: {steps: [{rate: 1k/s, for: 4s}, {rate: 500/s, for: 1s}]}, value: 1000B}\n";
    assert_eq!(late(&format!("{steps}{READERS}")), 8 * S, "4 MB, 4 MB and 2 MB");
    let deleting =
        WRITERS.replace("value: 1000B", "value: 1000B, key: {uniform: {of: 100}}, tombstones: 50%");
    assert_eq!(late(&format!("{deleting}{READERS}")), 16 * S, "a tombstone has no value");
}

#[test]
fn writers_stop_when_it_is_there_and_readers_come_after_them() {
    let load = "  writers: {produce: t, rate: 1k/s, value: 1000B, until: {backlog: $backlog}}\n  \
                readers: {consume: t, from: earliest, after: writers}\n";
    let [writers, readers] = spans(load, PHASES).expect("a plan");
    assert_eq!((writers.at_ns, writers.until_ns), (None, Some(6 * S)));
    assert_eq!((readers.at_ns, readers.until_ns), (Some(6 * S), None));
}

#[test]
fn a_backlog_that_cannot_be_is_refused_in_place() {
    let both = format!("{WRITERS}{READERS}");
    for (load, phases, words) in [
        (both.clone(), "warmup: auto, measure: 30s", "the warm-up ends by evidence"),
        (both.clone(), "warmup: 20s, measure: 30s", "the warm-up alone writes"),
        (both.clone(), "warmup: 1s, measure: 5s", "until the measure phase ends"),
        (
            both.clone(),
            "warmup: 1s, measure: {records: 100, within: 1m}",
            "`at` needs a measure phase of a given length",
        ),
        (both.replace("1k/s", "max"), PHASES, "`rate: max`"),
        (both.replace("produce: t", "produce: other"), PHASES, "no load item produces to `t`"),
        (both.replace("from: earliest, ", ""), PHASES, "write `from: earliest`"),
        (
            both.replace("at: {backlog: $backlog}", "at: {backlog: $backlog}, until: 5s"),
            PHASES,
            "has ended by then",
        ),
        (both.replace("{backlog: $backlog}", "{backlog: 5s}"), PHASES, "`backlog`"),
        (both.replace("{backlog: $backlog}", "{backlogs: 1MB}"), PHASES, "`backlogs`"),
        (both.replace("rate: 1k/s", "rate: 1k/s, at: {backlog: 1MB}"), PHASES, "`at` takes a single value"),
    ] {
        let error = spans(&load, phases).expect_err(words);
        assert!(error.starts_with("s.yaml:") && error.contains(words), "{words}: {error}");
    }
}
