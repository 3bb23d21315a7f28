//! Keys of what a scenario may ask beyond a table: comparisons, searches, expectations, contrasts.

use super::{COUNT, DURATION, RATE, SYSTEM, Section, TEXT, ValueKind, key, needed, section};

/// Two sides.
pub static COMPARE: Section = section(
    "compare",
    "Pairs of trials of two sides, in an order that is drawn, until the verdict is clear or the last look is reached, e.g. \
     `compare: {A: {label: now, system: {kafka: 3.9.2}}, B: {label: next, system: {kafka: 4.4.0}}, judge: [{of: \
     writers.response.p99, margin: 10%}]}`. `--a` and `--b` of `kdyno compare` each take the place of their own side alone.",
    &[
        needed("A", ValueKind::Section(&SIDE), "the first side; ratios are B divided by A"),
        needed("B", ValueKind::Section(&SIDE), "the second side"),
        key(
            "judge",
            ValueKind::List(&ValueKind::Section(&JUDGE)),
            "metrics to judge; left out: CPU time per record of the brokers, then the rate of the first item that produces as fast as it can, or response p50 and p99 of the first that has a rate",
        ),
        key(
            "may_differ",
            ValueKind::List(&TEXT),
            "settings that may differ in addition to those that are compared, e.g. `log.segment.bytes`",
        ),
        key(
            "looks",
            ValueKind::List(&COUNT),
            "after how many units of evidence it is looked: `[8, 16, 24]` (the default), or one number: from 6 on where one metric is judged, from 7 on where two or three are",
        ),
        key(
            "pairs_per_start",
            COUNT,
            "pairs that run on one start of both clusters, 2 of a duet and else 1 when left out; a start with all its pairs \
             is one unit of evidence",
        ),
        key(
            "design",
            ValueKind::Choice(&["turns", "duet"]),
            "`turns`: the two of a pair run one after the other; `duet`: both at once, under the same arrivals, on \
             clusters of their own; left out: `duet` where both sides have local clusters of their own and every item \
             that produces has a rate, else `turns`; sides that share a system have one each in a duet",
        ),
    ],
);

/// One side of a comparison.
pub static SIDE: Section = section(
    "side",
    "What is different on this side: these keys are laid over the scenario's own (a merge patch; `null` removes a \
     key). What is not there in the scenario cannot be changed, Kafka's settings aside.",
    &[
        key("label", TEXT, "what the side is called; left out: what it changes"),
        key("params", ValueKind::Settings("params"), "params; they win over profile and cases"),
        key("system", ValueKind::Section(&SYSTEM), "keys of the system"),
        key(
            "topics",
            ValueKind::Settings(TOPICS_OF_SIDE),
            "topics of the scenario, with what is different of each",
        ),
        key(
            "load",
            ValueKind::Settings(LOAD_OF_SIDE),
            "load items of the scenario, with what is different of each",
        ),
        key(
            "components",
            ValueKind::Settings(COMPONENTS_OF_SIDE),
            "components of the scenario, with what is different of each",
        ),
    ],
);

/// What may be under `topics` of a side: some keys of each topic.
pub(crate) const TOPICS_OF_SIDE: &str = "keys of topics";
/// What may be under `load` of a side: some keys of each load item.
pub(crate) const LOAD_OF_SIDE: &str = "keys of load items";
/// What may be under `components` of a side: some keys of each component.
pub(crate) const COMPONENTS_OF_SIDE: &str = "keys of components";

/// A metric to judge.
pub static JUDGE: Section = section(
    "judge",
    "A metric to judge.",
    &[
        needed("of", TEXT, "metric address, e.g. `writers.response.p99`"),
        key(
            "better",
            ValueKind::Choice(&["lower", "higher"]),
            "which direction is better; known for latencies, rates, failures and CPU time",
        ),
        key(
            "margin",
            ValueKind::Scalar("percent", "NUMBER%"),
            "the smallest change that matters; left out: `3%` for rates and CPU time, `10%` for latencies",
        ),
    ],
);

/// A search.
pub static FIND: Section = section(
    "find",
    "A search for the highest load at which conditions hold. Each trial settles at its load for a third of its \
     window, in the place of the warm-up.",
    &[
        needed(
            "highest",
            ValueKind::Scalar("`ITEM.rate` or `ITEM.clients`", "[^.]+\\.(rate|clients)"),
            "what is raised: the rate of a load item, or the number of its clients, each at a rate of its own",
        ),
        key("each", RATE, "rate of one client; with `ITEM.clients` only"),
        key("from", RATE, "first load that is tried; left out: the item's own rate, else `1k/s`"),
        key(
            "to",
            RATE,
            "highest load that may be tried; left out: `10M/s`, on a target what its cap on `produce` allows",
        ),
        key(
            "within",
            ValueKind::Scalar("percent", "NUMBER%"),
            "how narrow the answer is to be; left out: `2%`, in a quick look `5%`",
        ),
        needed(
            "while",
            ValueKind::List(&TEXT),
            "conditions, e.g. `writers.response.p99 <= 20ms`, `writers.failed_share <= 0.1%`",
        ),
        key(
            "ramp",
            DURATION,
            "window of a trial while the load is raised step by step; left out: `10s`, in a quick look `6s`",
        ),
        key(
            "trial",
            DURATION,
            "window of a trial that decides; left out: `50s`, in a quick look `20s` (above p99 `60s` and `24s`)",
        ),
        key(
            "confirm",
            DURATION,
            "window of each of the trials that confirm the answer; left out: `90s`, in a quick look as long as one that \
             decides at most",
        ),
        key(
            "confirmations",
            COUNT,
            "how many of these must pass; left out: `3`, in a quick look `2` at most",
        ),
        key(
            "trials",
            COUNT,
            "most trials in all, two of the ramp counting as one; left out: 14 (in a quick look 10; above p99 12 and 8) \
             and three times as many as confirm",
        ),
    ],
);

/// An expectation.
pub static EXPECT: Section = section(
    "expect",
    "An expectation. Metrics of a case are written `writers.acked_per_s[batch=16KiB]`: the params in brackets select \
     exactly one case. `+ - * /` and parentheses, numbers with units, and one of `<`, `<=`, `>`, `>=`. One that speaks of \
     a case which the profile does not have is not tested.",
    &[
        needed("claim", TEXT, "in words"),
        needed(
            "that",
            TEXT,
            "what must hold, e.g. `writers.acked_per_s[batch=16KiB] >= 1.5 * writers.acked_per_s[batch=1KiB]`",
        ),
    ],
);

/// A contrast.
pub static CONTRAST: Section = section(
    "contrast",
    "A ratio between two cases. What `from` and `to` name selects exactly one case each; the other params are the same \
     on both sides.",
    &[
        needed("from", ValueKind::Settings("params"), "the case it starts from"),
        needed("to", ValueKind::Settings("params"), "the case it leads to"),
        needed("of", ValueKind::List(&TEXT), "metric addresses"),
    ],
);
