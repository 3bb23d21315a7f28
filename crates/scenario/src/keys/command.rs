//! The keys of load items that are commands.

use super::{COUNT, DURATION, Key, SIZE, Section, TEXT, ValueKind, key, needed, or, section};
use kdyno_model::plan::OutputFormat;

/// When a command is started.
pub(super) const AT: Key = key(
    "at",
    DURATION,
    "when it is started, from the beginning of the measure phase; left out: when that begins",
);
pub(super) const AFTER: Key =
    key("after", TEXT, "the command after whose end it is started, whatever that ended with");

/// A load item that is a command.
pub static COMMAND: Section = Section {
    name: "command item",
    purpose: "A program of somebody else, started in the measure phase and waited for: a load test, an import, a tool of Kafka's. \
              Its environment: docs/reference/components.md (Commands). `--dry-run` shows what would be run.",
    keys: &[
        needed(
            "command",
            ValueKind::Either(&[TEXT, ValueKind::List(&TEXT)]),
            "the program and its arguments, `[./import.sh, $records]`, started as they are; or one text, which `sh -c` runs \
             (`$$NAME` is a variable there, since `$name` inserts a param)",
        ),
        AT,
        AFTER,
        or(
            "timeout",
            DURATION,
            "1h",
            "how long it may take; then it is ended with all that it started, and counts as failed",
        ),
        key("environment", ValueKind::Settings("text"), "further variables of its environment"),
        key(
            "parse",
            ValueKind::Choice(&OutputFormat::WORDS),
            "how its results are read: JMeter's results as CSV, k6's JSON lines, CSV with the columns of `columns`, or the \
             standard output of Kafka's own performance tools; left out: its duration and exit code are all that is measured",
        ),
        key(
            "results",
            TEXT,
            "the file that is parsed, written by the command beneath `KDYNO_FOLDER` (or an absolute path); left out: its \
             standard output",
        ),
        key("columns", ValueKind::Section(&COLUMNS), "with `parse: csv`: the names of the columns"),
        key(
            "labels",
            ValueKind::Settings("texts"),
            "requests of one kind that are reported separately, `{check-out: \"Check out\"}`: what metrics call them, and the \
             label that JMeter or the column `label` has, or k6's tag `name`",
        ),
        key(
            "pods",
            ValueKind::Section(&COMMAND_PODS),
            "run it in pods instead of on this host, each the whole command; the rates of all are added. Needs generators with \
             `kubernetes` (`--generators`)",
        ),
    ],
    later: &[
        ("until", "a command ends by itself; `timeout` says how long it may take"),
        ("rate", "what a command sends is its own affair: hand it over as an argument"),
        ("clients", "what a command starts is its own affair: hand the number over as an argument"),
        ("zone", "a command is near every broker"),
    ],
    open: false,
};

/// The pods of a command.
pub static COMMAND_PODS: Section = section(
    "pods of a command",
    "Pods of a Kubernetes Job that run the command, with their context, namespace, `spread`, `node_selector`, `secrets` and `wait` \
     from the generators' `kubernetes`.",
    &[
        needed("image", TEXT, "the image with the command, best by its digest"),
        needed("count", COUNT, "number of pods, 1 to 100"),
        key(
            "cpu",
            ValueKind::Scalar("a number of CPUs", "NUMBER"),
            "CPUs that are reserved for each pod; left out: those of the generators",
        ),
        key("memory", SIZE, "memory of each pod; left out: that of the generators"),
    ],
);

/// The columns of a CSV.
pub static COLUMNS: Section = section(
    "columns",
    "Names in the header of a CSV.",
    &[
        or("elapsed", TEXT, "elapsed", "how long a request took, ms"),
        or("time", TEXT, "timeStamp", "when it began, ms since 1970; may be missing"),
        or(
            "success",
            TEXT,
            "success",
            "whether it succeeded: `true`, `1`, `ok` or a status from 100 to 399; may be missing",
        ),
        or("label", TEXT, "label", "its kind, for `labels`; may be missing"),
    ],
);
