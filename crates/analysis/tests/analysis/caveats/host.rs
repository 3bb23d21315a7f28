//! Who else had the processors, and what the host did with the load.

use super::assert_caveats;
use crate::fixture::{S, TrialFixture};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::Subject;
use kdyno_model::plan::{NullBrokerPlan, Storage, SystemPlan};
use kdyno_model::sample::series;

/// Bytes per second that the host's drives write. The brokers are given 150,000 × 2 replicas.
pub(super) fn written(trial: &mut TrialFixture, bytes_per_s: f64) {
    trial.counter(Subject::Host, series::DISK_WRITE_BYTES_TOTAL, bytes_per_s);
}

fn in_memory(trial: &mut TrialFixture) {
    match &mut trial.start.trial.effective.system {
        SystemPlan::Local(cluster) => cluster.storage = Storage::Memory,
        SystemPlan::Attached(_) | SystemPlan::NullBroker(_) | SystemPlan::Strimzi(_) => {}
    }
}

/// The hypervisor takes so much of a core, from what was idle.
fn stolen(trial: &mut TrialFixture, per_s: f64) {
    for reading in &mut trial.probes {
        let seconds = reading.at_ns as f64 / S as f64;
        match reading.series.as_str() {
            series::CPU_STEAL_S_TOTAL => reading.value = per_s * (seconds + 1.0),
            series::CPU_IDLE_S_TOTAL => reading.value -= per_s * (seconds + 1.0),
            _ => {}
        }
    }
}

#[test]
fn each_caveat_about_the_host_is_named_by_what_causes_it() {
    assert_caveats([
        (|trial| stolen(trial, 0.05), Severity::Warning, Caveat::Steal { share: 0.025 }),
        (in_memory, Severity::Warning, Caveat::MemoryStorage),
        (
            |trial| {
                // 0.6 s per second used by both brokers.
                trial.counter(Subject::Broker(0), series::RUN_DELAY_S_TOTAL, 0.1);
                trial.counter(Subject::Broker(1), series::RUN_DELAY_S_TOTAL, 0.06);
            },
            Severity::Warning,
            // Judged, and reported, by what they did: 0.16 of 0.76 s.
            Caveat::WaitedForProcessor {
                who: "brokers".into(),
                share: 0.16,
                share_of_ready: Some(0.16 / 0.76),
            },
        ),
        (
            |trial| {
                trial.counter(Subject::Worker(0), series::CPU_THROTTLED_S_TOTAL, 0.2);
                trial.counter(Subject::Broker(0), series::CPU_THROTTLED_S_TOTAL, 0.011);
            },
            Severity::Warning,
            Caveat::ProcessorLimited { share: 0.2 },
        ),
        (
            |trial| written(trial, 149_000.0),
            Severity::Note,
            Caveat::PageCacheAbsorbed { share: 149.0 / 300.0 },
        ),
    ]);
}

#[test]
fn figures_of_a_null_broker_are_marked_as_the_clients_alone() {
    let mut trial = TrialFixture::clean();
    trial.start.trial.effective.system = SystemPlan::NullBroker(NullBrokerPlan::default());
    assert_eq!(trial.caveats(), [(Severity::Warning, Caveat::NullBroker)]);
}

#[test]
fn values_below_their_threshold_are_not_reported() {
    let mut trial = TrialFixture::clean();
    trial.counter(Subject::Broker(0), series::RUN_DELAY_S_TOTAL, 0.1);
    trial.counter(Subject::Broker(1), series::RUN_DELAY_S_TOTAL, 0.04);
    trial.counter(Subject::Worker(0), series::CPU_THROTTLED_S_TOTAL, 0.009);
    written(&mut trial, 151_000.0);
    stolen(&mut trial, 0.019);
    assert_eq!(trial.caveats(), []);
}

#[test]
fn idle_brokers_that_waited_a_moment_are_not_reported() {
    let mut trial = TrialFixture::clean();
    let is_used = |name: &str| name == series::CPU_USER_S_TOTAL || name == series::CPU_SYSTEM_S_TOTAL;
    for reading in &mut trial.probes {
        if matches!(reading.subject, Subject::Broker(_)) && is_used(&reading.series) {
            reading.value /= 100.0;
        }
    }
    let reported = |trial: &TrialFixture| {
        trial.reported(|found| matches!(found, Caveat::WaitedForProcessor { .. })).len()
    };
    trial.counter(Subject::Broker(0), series::RUN_DELAY_S_TOTAL, 0.02);
    trial.counter(Subject::Broker(1), series::RUN_DELAY_S_TOTAL, 0.02);
    assert_eq!(reported(&trial), 0, "0.04 of the window");
}

#[test]
fn without_the_readings_of_one_broker_nothing_is_said_of_all() {
    let mut trial = TrialFixture::clean();
    trial.counter(Subject::Broker(0), series::RUN_DELAY_S_TOTAL, 0.9);
    assert_eq!(trial.caveats(), []);
}

#[test]
fn the_page_cache_is_no_news_where_the_logs_lie_in_memory() {
    let mut trial = TrialFixture::clean();
    written(&mut trial, 0.0);
    in_memory(&mut trial);
    assert_eq!(trial.caveats(), [(Severity::Warning, Caveat::MemoryStorage)]);
}

/// A program that is not part of the run uses so much of a core.
pub(super) fn other(trial: &mut TrialFixture, cores: f64) {
    for reading in &mut trial.probes {
        if reading.subject == Subject::Host && reading.series == series::CPU_USER_S_TOTAL {
            reading.value += cores * (reading.at_ns as f64 / S as f64);
        }
    }
}

#[test]
fn cpu_time_of_other_programs_is_reported() {
    let mut trial = TrialFixture::clean();
    other(&mut trial, 0.6);
    let found = trial.caveats();
    let [(Severity::Warning, Caveat::OtherLoad { cpu_percent })] = found[..] else {
        panic!("expected one caveat: {found:?}")
    };
    assert!((cpu_percent - 60.0).abs() < 1e-6, "the rest of the host is the run's own: {cpu_percent}");
    let mut trial = TrialFixture::clean();
    other(&mut trial, 0.29);
    assert_eq!(trial.caveats(), [], "15 % of two CPUs are left for the kernel's work");
}

#[test]
fn what_the_hypervisor_took_no_other_program_used() {
    let mut trial = TrialFixture::clean();
    stolen(&mut trial, 0.5);
    let found = trial.caveats();
    assert!(matches!(found[..], [(Severity::Warning, Caveat::Steal { .. })]), "{found:?}");
}
