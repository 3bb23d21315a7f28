//! The reasons to doubt a trial: each comes when it must, and does not when it must not.

mod cluster;
mod duet;
mod generator;
mod group;
mod host;
mod load;
mod log;
mod queue;
mod relay;
mod stall;
mod stood_still;

use crate::fixture::{TrialFixture, closed_loop};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::trial::{SearchStage, TrialReason};

#[test]
fn a_clean_trial_has_nothing_to_doubt_but_its_shared_processors() {
    assert_eq!(TrialFixture::clean().caveats(), []);
}

/// A change to a clean trial, and the one caveat it must cause.
type CaveatCase = (fn(&mut TrialFixture), Severity, Caveat);

fn assert_caveats<const N: usize>(caveats: [CaveatCase; N]) {
    for (change, severity, caveat) in caveats {
        let mut trial = TrialFixture::clean();
        change(&mut trial);
        let found = trial.caveats();
        assert_eq!(found.len(), 1, "{caveat:?}: {found:?}");
        assert_eq!(found[0].0, severity, "{caveat:?}");
        assert_eq!(rounded(&found[0].1), rounded(&caveat));
    }
}

/// Shares and percentages to six places: they come from sums of fractions.
fn rounded(caveat: &Caveat) -> Caveat {
    let round = |value: f64| (value * 1e6).round() / 1e6;
    match caveat.clone() {
        Caveat::Steal { share } => Caveat::Steal { share: round(share) },
        Caveat::WorkerBusy { cpu_percent, cores } => {
            Caveat::WorkerBusy { cpu_percent: round(cpu_percent), cores }
        }
        Caveat::ThreadBusy { thread, cpu_percent } => {
            Caveat::ThreadBusy { thread, cpu_percent: round(cpu_percent) }
        }
        Caveat::WaitedForProcessor { who, share, share_of_ready } => {
            let share_of_ready = share_of_ready.map(round);
            Caveat::WaitedForProcessor { who, share: round(share), share_of_ready }
        }
        Caveat::ProcessorLimited { share } => Caveat::ProcessorLimited { share: round(share) },
        Caveat::PageCacheAbsorbed { share } => Caveat::PageCacheAbsorbed { share: round(share) },
        Caveat::SmallBatches { item, share } => Caveat::SmallBatches { item, share: round(share) },
        Caveat::CalibrationShort { item, ratio, generator } => {
            Caveat::CalibrationShort { item, ratio: round(ratio), generator }
        }
        other => other,
    }
}

/// Why a trial was chosen, and whether its rate is the maximum, for each question of the matrix.
fn asked(trial: &mut TrialFixture, question: &str) {
    match question {
        "open" => {}
        "max" => trial.writers().rate = closed_loop(),
        "find" => {
            let (stage, load_per_s) = (SearchStage::Bisect, 1000.0);
            trial.start.trial.reason = TrialReason::Search { stage, load_per_s };
        }
        "compare" => trial.start.trial.reason = TrialReason::Pair,
        other => panic!("no such question: {other}"),
    }
}

/// The severity of a caveat for each question: n, w, i, or – where it is not reported.
fn weights(change: fn(&mut TrialFixture), is_one: fn(&Caveat) -> bool) -> String {
    let weight = |question| {
        let mut trial = TrialFixture::clean();
        change(&mut trial);
        asked(&mut trial, question);
        match trial.reported(is_one).first().map(|found| found.severity) {
            Some(Severity::Note) => 'n',
            Some(Severity::Warning) => 'w',
            Some(Severity::Invalid) => 'i',
            None => '–',
        }
    };
    ["open", "max", "find", "compare"].map(weight).iter().collect()
}

/// The matrix of docs/reference/caveats.md, where a row's weights are not all the same.
#[test]
fn the_weight_of_a_caveat_depends_on_the_question() {
    let late = |trial: &mut TrialFixture| trial.stages([3_050_000, 0, 500_000, 0, 50_000, 390_000, 10_000]);
    let a_bit_late =
        |trial: &mut TrialFixture| trial.stages([1_050_000, 0, 500_000, 0, 50_000, 2_390_000, 10_000]);
    assert_eq!(weights(late, |found| matches!(found, Caveat::GeneratorLate { .. })), "i–ii");
    assert_eq!(weights(a_bit_late, |found| matches!(found, Caveat::GeneratorLate { .. })), "w–ww");
    assert_eq!(weights(|_| {}, |found| matches!(found, Caveat::SharedProcessors { .. })), "wwwn");
    assert_eq!(
        weights(
            |trial| generator::calibrated(trial, 1_500.0),
            |found| { matches!(found, Caveat::CalibrationShort { .. }) }
        ),
        "niiw"
    );
    assert_eq!(
        weights(|trial| host::written(trial, 1e5), |found| matches!(found, Caveat::PageCacheAbsorbed { .. })),
        "nwwn"
    );
    assert_eq!(
        weights(
            |trial| generator::thread_waited(trial, 0.3),
            |found| { matches!(found, Caveat::WaitedForProcessor { .. }) }
        ),
        "wnww"
    );
    assert_eq!(weights(|trial| queue::at_start(trial, 300), queue::is_one), "i–ii");
    assert_eq!(weights(|trial| queue::at_start(trial, 100), queue::is_one), "w–ww");
    assert_eq!(
        weights(|trial| trial.log_grows(1), |found| matches!(found, Caveat::Lost { .. })),
        "iiii",
        "what is lost is lost"
    );
}

#[test]
fn the_heaviest_come_first_and_of_all_loss() {
    let mut trial = TrialFixture::clean();
    trial.totals[1].counts.offered += 2;
    trial.log_grows(1);
    queue::at_start(&mut trial, 100);
    let caveats = trial.judged().caveats;
    assert!(matches!(caveats[0].caveat, Caveat::Lost { .. }), "{caveats:?}");
    assert!(caveats.is_sorted_by_key(|found| std::cmp::Reverse(found.severity)), "{caveats:?}");
}

#[test]
fn with_several_items_the_heaviest_question_counts() {
    let mut trial = TrialFixture::clean();
    host::written(&mut trial, 1e5);
    let mut other = trial.start.trial.effective.load["writers"].clone();
    if let kdyno_model::plan::Role::Produce(plan) = &mut other.role {
        plan.rate = closed_loop();
    }
    trial.start.trial.effective.load.insert("zealots".into(), other);
    let found = trial.reported(|found| matches!(found, Caveat::PageCacheAbsorbed { .. }));
    assert_eq!(found[0].severity, Severity::Warning, "one of them asks how much the cluster carries");
}
