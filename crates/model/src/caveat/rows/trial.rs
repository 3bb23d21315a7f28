//! Trials that did not go as planned, and clusters that changed.

use crate::caveat::row::{CaveatGroup, CaveatRow, alike, compared, invalid, note, reported, warning};
use crate::caveat::{Caveat, CaveatKind, Severity};
use crate::event::Subject;

const TRIAL: CaveatRow = CaveatRow { group: CaveatGroup::Trial, ..CaveatRow::PLAIN };

pub(super) const ROWS: &[CaveatRow] = &[
    CaveatRow {
        kind: CaveatKind::ProcessDied,
        short: "{subject:subject} ended during the trial",
        usual: warning("a process of the system under test, or a relay between its zones, ended in the middle"),
        words: &[
            reported(
                "{subject}",
                "{subject:subject} ended during the trial: figures are those of a system that lost it on the way",
                DIED_REMEDY,
            )
            .only(|of| matches!(of, Caveat::ProcessDied { subject: Subject::Component(_) })),
            reported(
                "{subject}",
                "{subject:subject} ended during the trial: figures are those of a cluster that lost it on the way",
                DIED_REMEDY,
            ),
        ],
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::CommandFailed,
        short: "{item}: the command failed",
        usual: invalid(
            "a command could not be started, did not end by itself with 0, or its results could not be read; of its own figures \
             alone",
        ),
        brief: "a command failed",
        words: &[reported(
            "{item}",
            "a command failed, so what it took says nothing: {first}",
            "`kdyno show RUN --logs` prints the end of its output; correct it, and repeat the trial",
        )],
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::CutShort,
        short: "only {measured_s:count} s of the window were measured",
        usual: warning(
            "the trial ended before its plan did, a part of the load ended without its totals, or the end of a command that was \
             started was not seen",
        ),
        grave: Some(invalid("a worker on another host ended without its totals: what the others sent is not the load that was planned")),
        words: &[
            reported(
                "{reason}",
                "a part of the load was lost, and the trial went on without it: {reason}; its figures cover the {measured_s:count} s before \
                 that",
                CUT_SHORT_REMEDY,
            )
            .only(|of| matches!(of, Caveat::CutShort { went_on: true, .. })),
            reported(
                "{reason}",
                "the trial ended before its plan did: {reason}; its figures cover {measured_s:count} s",
                CUT_SHORT_REMEDY,
            )
            .only(|of| matches!(of, Caveat::CutShort { planned_s: 0, .. })),
            reported(
                "{reason}",
                "the trial ended before its plan did: {reason}; its figures cover {measured_s:count} of {planned_s} s",
                CUT_SHORT_REMEDY,
            ),
        ],
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::UnknownSetting,
        short: "the brokers do not know the setting {setting}",
        usual: warning(
            "the brokers were given a setting (`system.config`) that they do not know; see [Local clusters](../CLUSTERS.md)",
        ),
        words: &[reported(
            "{setting}",
            "{detail}",
            "correct its name in `system.config`; a setting of a plugin may stay as it is",
        )],
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::ClusterChanged,
        short: "the cluster changed under load: {event} ({events:event|events})",
        usual: warning(
            "since T0 leaders moved, brokers could not be reached, left or came back, replicas fell out of sync, answers were held \
             back, transactions were aborted because something of them failed; one for each kind, with the first event",
        ),
        words: &[reported(
            "{event}",
            "the cluster changed under load ({event}, {events:count} events; the first: {first}): rates and latencies include what \
             that cost",
            "repeat the trial; look into the brokers' logs when it comes again",
        )],
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::Unsteady,
        short: "{item}: not in a steady state, so one figure for the window is not representative",
        name: "item",
        usual: warning(
            "rate, latency or CPU time of the window drifted, or stayed at several levels",
        ),
        words: &[reported(
            "{item}",
            "{item}: not in a steady state ({detail:first}): one figure for the window is not representative",
            "lengthen `phases.warmup` and `phases.measure`; `kdyno report` draws the time series",
        )],
        more: "[Steady state](../METHOD.md#steady-state) says how a window is tested.",
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::WarmupNotSettled,
        short: "the warm-up ended before everything had settled",
        usual: warning("the warm-up reached its longest time before rate, latency and CPU time had settled; not reported where the window itself is steady"),
        words: &[reported(
            "",
            "the warm-up reached its longest time before everything had settled ({detail:first}): figures may be those of a system \
             that was still changing",
            "lengthen `phases.warmup`",
        )],
        more: "[Steady state](../METHOD.md#steady-state) says when a warm-up ends.",
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::Unconditioned,
        short: "brokers are cold (no load before the trial)",
        usual: warning("the cluster had just been started and had received no load"),
        words: &[reported(
            "",
            "brokers are cold: the cluster had just been started and had received no load; cold brokers are slower, so rates may be too \
             low and latencies too high",
            "leave `phases.condition` at its default, or, where kdyno itself sends no records, give the load a warm-up, and repeat \
             the trial",
        )],
        more: "[Before a trial](planning.md#before-a-trial) says how a fresh cluster is conditioned.",
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::BrokersFresh,
        short: "brokers are cold ({records:count} records since they started)",
        usual: warning(
            "brokers of a target say that since they started they had received fewer records at T0 than this load sends in 20 s",
        ),
        words: &[reported(
            "",
            "brokers are cold: {records:count} records since they started, which this load sends in {load_s:seconds}; cold brokers are \
             slower, so rates may be too low and latencies too high",
            "put this load on them for a minute beforehand, e.g. by the same run, and repeat it",
        )],
        more: "[Before a trial](planning.md#before-a-trial) says how a fresh cluster is conditioned; a target is not.",
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::StacksSampled,
        short: "stacks were sampled ({of}), which costs CPU",
        usual: alike("stacks were sampled in the window (`flame`), which costs CPU time"),
        words: &[
            reported(
                "{of}",
                "stacks were sampled in the measured window (flame: {of}), which hold {share:percent} of the CPU time of their \
                 processes: CPU time, rates and latencies include what that cost",
                SAMPLED_REMEDY,
            )
            .only(|of| matches!(of, Caveat::StacksSampled { share: Some(_), .. })),
            reported(
                "{of}",
                "stacks were sampled in the measured window (flame: {of}): CPU time, rates and latencies include what that cost",
                SAMPLED_REMEDY,
            ),
        ],
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::AgentBusy,
        short: "JMX agents used up to {share:percent_most} of the brokers' CPU",
        usual: alike(
            "the JMX agents of local brokers answered, in the window and all together, for longer than 3 % of the CPU time that \
             the brokers used; an answer takes a CPU for as long as it lasts at most; of a broker that took longer than 1 s for \
             an answer nothing is known, since that one waited",
        ),
        words: &[reported(
            "",
            "the JMX agents in the brokers took up to {share:percent} of the CPU time that the brokers used: their CPU \
             time and latencies include that",
            "before these figures are compared with others, repeat with `metrics: none` under `system`, or, of a running cluster, \
             without agents in its brokers",
        )],
        more: "[Probes](probes.md#broker-metrics) says when agents are asked and what an answer costs.",
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::StacksNotSampled,
        short: "{subject:subject}: no stacks were sampled, so no flame graph",
        usual: note("those of a process were to be and were not, with the reason; one for each process"),
        words: &[reported(
            "{subject}",
            "{subject:subject}: no stacks were sampled, so there is no flame graph ({detail:first})",
            "docs/reference/flame-graphs.md says what sampling needs",
        )],
        more: "[Flame graphs](flame-graphs.md) says what sampling needs.",
        ..TRIAL
    },
    CaveatRow {
        kind: CaveatKind::NotAtOnce,
        short: "the sides of a pair overlapped for {share:percent} of the window only",
        usual: compared(
            Severity::Warning,
            "of a duet: less than 95 % of the trial's measure phase was the other side's too; the pair is lost",
        ),
        words: &[reported(
            "",
            "the two of the pair were to be measured at once, and only {share:percent} of the window was the other one's too: what \
             disturbed one need not have disturbed the other",
            "repeat the pair; `--design turns` runs the sides one after the other",
        )],
        ..TRIAL
    },
];

const DIED_REMEDY: &str = "`kdyno show RUN --logs` prints the end of its log; repeat the trial";

const CUT_SHORT_REMEDY: &str = "repeat the trial before its figures are compared with others";

const SAMPLED_REMEDY: &str = "repeat without `flame` before these figures are compared with others";
