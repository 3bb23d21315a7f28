//! Trials that did not go as planned, clusters that changed, comparisons that compare more than was asked.

use super::words::{self, Described, Numbers, told};
use kdyno_model::caveat::{Caveat, PairsTied};
use kdyno_model::event::Subject;

/// What became of the trial itself.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::ProcessDied { subject } => told(
            &subject.to_string(),
            &[],
            format!(
                "{subject} ended during the trial: figures are those of a {} that lost it on the way",
                if matches!(subject, Subject::Component(_)) { "system" } else { "cluster" }
            ),
            "`kdyno show RUN --logs` prints the end of its log; repeat the trial",
        ),
        Caveat::CommandFailed { item, first } => told(
            item,
            &[],
            format!("a command failed, so what it took says nothing: {first}"),
            "`kdyno show RUN --logs` prints the end of its output; correct it, and repeat the trial",
        ),
        Caveat::CutShort { reason, measured_s, planned_s } => told(
            reason,
            &[f64::from(*measured_s)],
            format!(
                "the trial ended before its plan did: {reason}; its figures cover {}{} s",
                numbers.count(0),
                if *planned_s == 0 { String::new() } else { format!(" of {planned_s}") }
            ),
            "repeat the trial before its figures are set against others",
        ),
        Caveat::UnknownSetting { setting, detail } => told(
            setting,
            &[],
            detail.clone(),
            "correct its name in `system.config`; a setting of a plugin may stay as it is",
        ),
        Caveat::ClusterChanged { event, events, first } => told(
            event,
            &[*events as f64],
            format!(
                "the cluster changed under load ({event}, {} events; the first: {first}): rates and latencies include \
                 what that cost",
                numbers.count(0)
            ),
            "repeat the trial; look into the brokers' logs when it comes again",
        ),
        Caveat::WarmupNotSettled { detail } => told(
            "",
            &[],
            format!(
                "the warm-up reached its longest time before everything had settled ({}): figures may be those of a \
                 system that was still changing",
                numbers.first(detail)
            ),
            "lengthen `phases.warmup`",
        ),
        _ => looking(caveat, numbers)
            .or_else(|| steadiness(caveat, numbers))
            .or_else(|| pairs(caveat, numbers))
            .or_else(|| comparison(caveat, numbers)),
    }
}

/// What looking into processes costs them, and that it could not be done.
fn looking(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::StacksSampled { of, share } => told(
            of,
            share.as_slice(),
            format!(
                "stacks were sampled in the measured window (flame: {of}){}: processor time, rates and latencies include what \
                 that cost",
                match share {
                    Some(_) => format!(
                        ", which hold {} of the processor time of their processes",
                        numbers.percent(0)
                    ),
                    None => String::new(),
                }
            ),
            "repeat without `flame` before these figures are set against others",
        ),
        Caveat::AgentBusy { share } => told(
            "",
            &[*share],
            format!(
                "the JMX agents in the brokers took up to {} of the processor time that the brokers used: \
                 their processor time and latencies include that",
                numbers.percent(0)
            ),
            "before these figures are set against others, repeat with `metrics: none` under `system`, or, of a cluster that \
             stands, without agents in its brokers",
        ),
        Caveat::StacksNotSampled { subject, detail } => told(
            &subject.to_string(),
            &[],
            format!(
                "{subject}: no stacks were sampled, so there is no flame graph ({})",
                numbers.first(detail)
            ),
            "docs/reference/flame-graphs.md says what sampling needs",
        ),
        _ => None,
    }
}

/// Whether the same figure would come again.
fn steadiness(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::Unsteady { item, detail } => told(
            item,
            &[],
            format!(
                "{item}: the window was not steady ({}): one figure for all of it describes no state that lasted",
                numbers.first(detail)
            ),
            "lengthen `phases.warmup` and `phases.measure`; `kdyno report` draws the course over time",
        ),
        Caveat::Unconditioned => told(
            "",
            &[],
            "the cluster had just been started and had carried no load: fresh brokers are slower, so rates may be too low \
             and latencies too high"
                .to_owned(),
            "leave `phases.condition` at its default, or give the load a warm-up where no records of kdyno's own are it, and repeat \
             the trial",
        ),
        Caveat::BrokersFresh { records, load_s } => told(
            "",
            &[*records as f64, *load_s],
            format!(
                "the brokers had taken only {} records since they started, as many as this load brings in {}: fresh \
                 brokers are slower, so rates may be too low and latencies too high",
                numbers.count(0),
                numbers.seconds(1)
            ),
            "put this load on them for a minute beforehand, e.g. by the same run, and repeat it",
        ),
        Caveat::TheseStartsOnly { starts } => told(
            "",
            &[f64::from(*starts)],
            format!(
                "all pairs ran on the same clusters (number of starts: {}): another start may show another ratio",
                numbers.count(0)
            ),
            "without `--quick` a comparison starts local clusters anew for each unit of evidence",
        ),
        _ => None,
    }
}

/// The first number with the first words for one, with the others for more.
fn pairs_told(numbers: &Numbers<'_>, [one, more]: [&str; 2]) -> String {
    let count = numbers.count(0);
    format!("{count} {}", if count == "1" { one } else { more })
}

/// Whether the pairs of a comparison are what they were to be.
fn pairs(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::NotAtOnce { share } => told(
            "",
            &[*share],
            format!(
                "the two of the pair were to be measured at once, and only {} of the window was the other one's too: what \
                 disturbed one need not have disturbed the other",
                numbers.percent(0)
            ),
            "repeat the pair; `--design turns` runs the sides one after the other",
        ),
        Caveat::PairsUnconditioned { pairs } => told(
            "",
            &[f64::from(*pairs)],
            format!(
                "{} met brokers that had just been started and had carried no load: the ratio speaks of such brokers",
                pairs_told(numbers, ["pair", "pairs"])
            ),
            "leave `phases.condition` at its default to compare brokers that have carried load; without records of kdyno's own give \
             the load a warm-up",
        ),
        Caveat::PairsLost { pairs, first, likewise, .. } => told(
            "",
            &[f64::from(*pairs)],
            format!(
                "{} left out of the comparison, both trials of each; the first: {first}{}",
                pairs_told(numbers, ["pair was", "pairs were"]),
                words::likewise(*likewise)
            ),
            "look at the trials that were left out: a side that fails more often is an answer too",
        ),
        Caveat::PairsTied(PairsTied { metric, pairs, first }) => told(
            metric,
            &[f64::from(*pairs)],
            format!(
                "{} as ties in {metric}, since a figure of theirs must not be used; the first: {first}",
                pairs_told(numbers, ["pair counts", "pairs count"])
            ),
            "look at what speaks against these figures: a tie is for neither side, and hides a difference",
        ),
        _ => None,
    }
}

/// Whether the sides of a comparison differ in what was asked for alone.
fn comparison(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::UndeclaredDifference { whose, setting, a, b } => told(
            &format!("{whose} {setting}"),
            &[],
            format!(
                "{setting} of {whose} differs between the sides and was not asked to (A {a}, B {b}): the difference may \
                 be its doing"
            ),
            "set it alike on both sides, or name it in `may_differ`; targets of different versions say so with \
             `facts: {kafka: VERSION}`",
        ),
        Caveat::ClustersDiffer { side, settings, first } => told(
            side,
            &[f64::from(*settings)],
            format!(
                "the clusters of side {side} differ among themselves in {} settings of their brokers; the first: {first}",
                numbers.count(0)
            ),
            "set them alike, or take what is said for a mean over clusters that differ",
        ),
        Caveat::BrokersDiffer { side, settings, first } => told(
            side,
            &[f64::from(*settings)],
            format!(
                "the brokers of side {side} differ from each other in {} settings; the first: {first}",
                numbers.count(0)
            ),
            "set them alike: what is said is of brokers of both kinds, and the sides are compared by the first of each",
        ),
        Caveat::RunsUnpaired => told(
            "",
            &[],
            "the runs took place at different times, in no drawn order: whatever else changed meanwhile is part of the \
             difference"
                .to_owned(),
            "`kdyno compare SCENARIO` runs both sides in adjacent pairs",
        ),
        Caveat::EvidenceOfRuns { detail } => told(detail, &[], detail.clone(), ""),
        _ => None,
    }
}
