//! Records that are gone, and counts that do not add up.

use crate::caveat::CaveatKind;
use crate::caveat::row::{CaveatGroup, CaveatRow, invalid, note, reported, warning};

const ACCOUNTING: CaveatRow = CaveatRow { group: CaveatGroup::Accounting, ..CaveatRow::PLAIN };

const REPORT_IT: &str = "do not use these figures; please report it with the run file";

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::Lost,
        short: "{acknowledged - growth:count} of {acknowledged:count} acknowledged records of {topic} are not in its log",
        name: "topic",
        usual: invalid("a topic's log holds fewer records than were acknowledged"),
        words: &[reported(
            "{topic}",
            "{acknowledged - growth:count} of {acknowledged:count} acknowledged records are not in the log of topic {topic}",
            "keep the run file and the brokers' logs; look for unclean leader elections, brokers that ended, and too small a retention",
        )],
        more: "[Truth from the log](../METHOD.md#truth-from-the-log) says how logs are compared.",
        ..CaveatRow::PLAIN
    },
    CaveatRow {
        kind: CaveatKind::AccountingBroken,
        short: "{item}: counts do not add up (a defect of kdyno)",
        name: "item",
        usual: invalid("offered ≠ acknowledged + failed + unresolved"),
        words: &[reported(
            "{item}",
            "{item}: offered records differ from acknowledged + failed + unresolved by {difference:count}: a defect of kdyno",
            REPORT_IT,
        )],
        ..ACCOUNTING
    },
    CaveatRow {
        kind: CaveatKind::SamplesMissing,
        short: "{item}: samples were lost (a defect of kdyno)",
        name: "item",
        usual: invalid(
            "stored rows and the stream's totals differ in any count but the lag, which is a state",
        ),
        words: &[reported(
            "{item}",
            "{item}: the stored rows and the stream's own totals differ by {difference:count} ({count:first}): samples were lost",
            REPORT_IT,
        )],
        ..ACCOUNTING
    },
    CaveatRow {
        kind: CaveatKind::LogUnexplained,
        short: "topic {topic}: its log has {growth - expected_max:count} records more than were written",
        name: "topic",
        usual: warning("a topic's log holds more records than can have been written"),
        words: &[reported(
            "{topic}",
            "the log of topic {topic} grew by {growth - expected_max:count} records more than were acknowledged, sent again, failed \
             or left open: somebody else wrote to it, or records are in it twice",
            "make sure that no one else writes to the topic; otherwise report it with the run file",
        )],
        more: "[Truth from the log](../METHOD.md#truth-from-the-log) says how logs are compared.",
        ..ACCOUNTING
    },
    CaveatRow {
        kind: CaveatKind::LogNotChecked,
        short: "topic {topic}: its log was not checked for lost records",
        name: "topic",
        usual: note("acknowledged records could not be compared with the log"),
        grave: Some(warning("the same, where a broker died or left the cluster since T0")),
        words: &[reported(
            "{topic}",
            "acknowledged records of topic {topic} were not compared with its log ({detail:first}): a loss would not have been seen",
            "repeat the trial when the loss of records is part of the question",
        )],
        more: "[Truth from the log](../METHOD.md#truth-from-the-log) says what the comparison needs.",
        ..ACCOUNTING
    },
];
