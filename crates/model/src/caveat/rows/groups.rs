//! What consumers were handed, alone or in groups.

use super::records::SEE_EVENTS;
use crate::caveat::row::{CaveatGroup, CaveatRow, reported, warning};
use crate::caveat::{Caveat, CaveatKind};

const RECORDS: CaveatRow = CaveatRow { group: CaveatGroup::Records, ..CaveatRow::PLAIN };

const OF_ITEM: CaveatRow = CaveatRow { name: "item", ..RECORDS };

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::ConsumerBehind,
        short: "{item}: consumers did not keep up ({records:record|records} behind at the end)",
        usual: warning(
            "at the window's end the next record to fetch was acknowledged more than 1 s ago; where the trial does not write the topic: \
             consumers are further from its end than when the window began",
        ),
        words: &[
            reported(
                "{item}",
                "{item}: {records:count} records behind the end of the log when the window ended, {seconds:seconds} of what is produced: \
                 consumers did not keep up",
                BEHIND_REMEDY,
            )
            .only(|of| matches!(of, Caveat::ConsumerBehind { seconds: Some(_), .. })),
            reported(
                "{item}",
                "{item}: {records:count} records behind the end of the log when the window ended: consumers did not keep up",
                BEHIND_REMEDY,
            ),
        ],
        more: "[Lag](load-items.md#lag) says how it is read, in records and in time.",
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::FetchErrors,
        short: "{item}: fetching failed for a while",
        usual: warning(
            "after T0 a partition could not be fetched from, or what was fetched is damaged (wrong checksum); an event reports each change \
             of a partition's error",
        ),
        words: &[reported(
            "{item}",
            "{item}: fetching failed for a while ({events:count} events; the first: {first}): the fetched rate includes that",
            SEE_EVENTS,
        )],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::RecordsSkipped,
        short: "{item}: records were deleted before they were consumed",
        usual: warning(
            "after T0 a broker no longer had the offset to go on from; an event says how many records were not fetched",
        ),
        words: &[reported(
            "{item}",
            "{item}: records were deleted before they were fetched ({events:count} events; the first: {first}): they are missing from \
             the fetched rate",
            "keep records longer (`retention.ms` and `retention.bytes` of the topic), or read faster",
        )],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::GroupNotConserved,
        short: "group {group} consumed {handed_over:count} records of {topic}; {least:count} were acknowledged",
        usual: warning(
            "a group consumed fewer different records of a topic than were acknowledged, or more than it can hold",
        ),
        words: &[reported(
            "{group} {topic}",
            "group {group}: its members consumed {handed_over:count} records of {topic}, each counted once, where {least:count} were \
             acknowledged and it can hold {most:count}",
            "fewer: members that begin at `latest`, that commit nothing, or that were still behind when the drain ended; the run's events \
             say when partitions changed hands",
        )],
        more: "[Consumer groups](load-items.md#consumer-groups) says when this is judged.",
        ..RECORDS
    },
    CaveatRow {
        kind: CaveatKind::MembersPutOut,
        short: "{item}: the group removed members ({losses:count} times)",
        usual: warning(
            "members of a group lost partitions without giving them up since T0: the group had gone on without them; \
             `max.poll.interval.ms` is printed",
        ),
        words: &[reported(
            "{item}",
            "{item}: the group put members out {losses:count} times, and records that these had not committed were delivered again \
             (`max.poll.interval.ms` is {poll_interval_max_ns:duration})",
            "lower `max.poll.records` or raise `max.poll.interval.ms`, if members work longer on a poll than that",
        )],
        ..OF_ITEM
    },
    CaveatRow {
        kind: CaveatKind::MemberFailed,
        short: "{item}: a consumer left its group for good",
        usual: warning("a coordinator refused a member for good; nothing was read in its place"),
        words: &[reported(
            "{item}",
            "{item}: a member left its group for good, and nothing was read in its place: {first}",
            SEE_EVENTS,
        )],
        ..OF_ITEM
    },
];

const BEHIND_REMEDY: &str = "use more consumers or partitions, or offer less";
