//! Comparisons that compare more than was asked, or rest on less.

use crate::caveat::row::{CaveatGroup, CaveatRow, compared, reported};
use crate::caveat::{Caveat, CaveatKind, Severity};

const COMPARISON: CaveatRow = CaveatRow { group: CaveatGroup::Trial, ..CaveatRow::PLAIN };

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::TheseStartsOnly,
        short: "all pairs ran on {starts:start|starts} of the clusters: another start may differ",
        usual: compared(Severity::Warning, "several pairs rest on one start of their clusters"),
        words: &[reported(
            "",
            "all pairs ran on the same clusters (number of starts: {starts:count}): another start may show another ratio",
            "without `--quick` a comparison restarts local clusters for each unit of evidence",
        )],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::PairsUnconditioned,
        short: "{pairs:pair|pairs} ran on cold brokers",
        usual: compared(
            Severity::Warning,
            "pairs met brokers that had just been started and had received no load, as the plan wants it",
        ),
        words: &[reported(
            "",
            "{pairs:pair|pairs} met brokers that had just been started and had received no load: the ratio speaks of such brokers",
            "leave `phases.condition` at its default to compare brokers that have received load; without records of kdyno's own give the \
             load a warm-up",
        )],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::PairsLost,
        short: "{pairs:pair was|pairs were} left out of the comparison",
        usual: compared(Severity::Warning, "pairs were left out, both trials of each; with the first reason"),
        words: &[
            reported(
                "",
                "{pairs:pair was|pairs were} left out of the comparison, both trials of each; the first: {first}",
                LOST_REMEDY,
            )
            .only(|of| matches!(of, Caveat::PairsLost { likewise: 0, .. })),
            reported(
                "",
                "{pairs:pair was|pairs were} left out of the comparison, both trials of each; the first: {first}, and so {likewise} more",
                LOST_REMEDY,
            ),
        ],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::PairsTied,
        short: "{pairs:pair counts|pairs count} as ties in {metric}: a figure is invalid",
        usual: compared(
            Severity::Warning,
            "pairs have an invalid judged figure: they count as ties; with the first reason",
        ),
        words: &[reported(
            "{metric}",
            "{pairs:pair counts|pairs count} as ties in {metric}, since a figure of theirs is invalid; the first: {first}",
            "look at the caveats of these figures: a tie is for neither side, and hides a difference",
        )],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::PairOrder,
        short: "{metric}: the second trial of a pair has {ratio:ratio} × the first one's",
        usual: compared(
            Severity::Warning,
            "a judged figure of the second trial of a pair differs from the first one's by more than the margin, whichever side it is: \
             Student's t for the pairs in which A came first and those in which B did, p ≤ 1 %",
        ),
        words: &[reported(
            "{metric}",
            "{metric}: the second trial of a pair has {ratio:ratio} × the first one's, whichever side it is: the trials have not settled, \
             and the interval is wide",
            "condition the brokers for longer (`phases.condition`), or run both sides at once (`--design duet`)",
        )],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::UndeclaredDifference,
        short: "{setting} of {whose} differs between the sides and was not declared",
        usual: compared(
            Severity::Warning,
            "a setting differs between the sides that was not requested, in topics, in the brokers' Java, or in the brokers of targets \
             whose versions differ or are not known",
        ),
        grave: Some(compared(
            Severity::Invalid,
            "any other setting of the brokers differs that was not requested: the comparison has no verdict",
        )),
        words: &[reported(
            "{whose} {setting}",
            "{setting} of {whose} differs between the sides and was not requested (A {a}, B {b}): it may be what causes the difference",
            "set it alike on both sides, or name it in `may_differ`; targets of different versions say so with `facts: {kafka: VERSION}`",
        )],
        more: "[Comparing A and B](../METHOD.md#comparing-a-and-b) says which settings count as requested.",
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::ClustersDiffer,
        short: "clusters of side {side} differ from each other in {settings:setting|settings}",
        usual: compared(Severity::Warning, "clusters of one side have different settings; with the first of them"),
        words: &[reported(
            "{side}",
            "the clusters of side {side} differ among themselves in {settings:count} settings of their brokers; the first: {first}",
            "set them alike, or take what is said for a mean over clusters that differ",
        )],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::BrokersDiffer,
        short: "brokers of side {side} differ from each other in {settings:setting|settings}",
        usual: compared(Severity::Warning, "brokers of one cluster have different settings; with the first of them"),
        words: &[reported(
            "{side}",
            "the brokers of side {side} differ from each other in {settings:count} settings; the first: {first}",
            "set them alike: what is said is of brokers of both kinds, and the sides are compared by the first of each",
        )],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::RunsUnpaired,
        short: "the runs took place at different times, so other changes are part of the difference",
        usual: compared(Severity::Warning, "stored runs are compared, which ran at different times"),
        words: &[reported(
            "",
            "the runs took place at different times, in no drawn order: whatever else changed meanwhile is part of the difference",
            "`kdyno compare SCENARIO` runs both sides in adjacent pairs",
        )],
        ..COMPARISON
    },
    CaveatRow {
        kind: CaveatKind::EvidenceOfRuns,
        short: "{detail}",
        usual: compared(
            Severity::Warning,
            "runs or pairs differ in more than the change (host, boot, version, profile, files), are too few for an interval, or their \
             brokers' settings could not be read",
        ),
        grave: Some(compared(
            Severity::Invalid,
            "runs are of different scenarios, or one of them lost acknowledged records",
        )),
        words: &[reported("{detail}", "{detail}", "")],
        ..COMPARISON
    },
];

const LOST_REMEDY: &str =
    "look at the trials that were left out: a side that fails more often is an answer too";
