//! Trials that did not go as planned, clusters that changed, comparisons that compare more than was asked.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::Caveat;

/// What became of the trial itself.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::ProcessDied { subject } => told(
            &subject.to_string(),
            &[],
            format!("{subject} ended during the trial"),
            "see the events and the excerpt of its log in the run file",
        ),
        Caveat::CutShort { reason, measured_s, planned_s } => told(
            reason,
            &[f64::from(*measured_s)],
            format!(
                "the trial ended before its plan did: {reason}; its figures cover {} of {planned_s} s",
                numbers.count(0)
            ),
            "the figures cover the time that ran; repeat the trial for the whole",
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
                "the cluster changed under load ({event}, {} events); the first: {first}",
                numbers.count(0)
            ),
            "repeat the trial; look into the brokers' logs when it comes again",
        ),
        Caveat::WarmupNotSettled { detail } => told(
            detail,
            &[],
            format!("the warm-up reached its longest time before everything had settled: {detail}"),
            "lengthen `phases.warmup`, or read the figures as those of a system that still changes",
        ),
        _ => steadiness(caveat, numbers).or_else(|| comparison(caveat, numbers)),
    }
}

/// Whether the same figure would come again.
fn steadiness(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::Unsteady { item, detail } => told(
            item,
            &[],
            format!("{item}: the window was not steady: {detail}"),
            "measure for longer, after a longer warm-up; a mean over different levels is no level",
        ),
        Caveat::Unconditioned => told(
            "",
            &[],
            "the cluster had just been started and had carried no load before: fresh brokers are slower"
                .to_owned(),
            "let `phases.condition` stand at its default",
        ),
        Caveat::TheseStartsOnly { starts } => told(
            "",
            &[f64::from(*starts)],
            format!(
                "the trials rest on {} starts of their clusters: another start may show other figures",
                numbers.count(0)
            ),
            "a comparison without `--quick` starts the clusters anew for each unit of evidence",
        ),
        _ => None,
    }
}

/// Whether the sides of a comparison differ in what was asked for alone.
fn comparison(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::PairsLost { pairs, first } => told(
            "",
            &[f64::from(*pairs)],
            format!("{} pairs were left out, both trials of each; the first: {first}", numbers.count(0)),
            "look at the trials that were lost: a side that fails more often is an answer too",
        ),
        Caveat::UndeclaredDifference { whose, setting, a, b } => told(
            &format!("{whose} {setting}"),
            &[],
            format!("{setting} of {whose} differs between the sides and was not asked to: A {a}, B {b}"),
            "set it alike on both sides, or name it in `may_differ`",
        ),
        Caveat::EvidenceOfRuns { detail } => {
            told(detail, &[], detail.clone(), "`kdyno compare SCENARIO` runs both sides in adjacent pairs")
        }
        _ => None,
    }
}
