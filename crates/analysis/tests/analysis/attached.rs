//! An attached cluster on the host that the load comes from: its brokers share the processors, they are not other programs.

use crate::fixture::{S, TrialFixture, closed_loop, unscoped};
use crate::limit;
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::{LimitKind, ShortTerm, Steadiness, of_kind};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Mark, Value};
use kdyno_model::metric::{COST_PER_GB, Unit, is_cost};
use kdyno_model::plan::{AttachedPlan, Price, SystemPlan};
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::{ProbeReading, series};

/// A target; what it costs is for the test to say.
pub fn target(price: Option<Price>) -> SystemPlan {
    SystemPlan::Attached(AttachedPlan {
        target: "standing".to_owned(),
        bootstrap: vec!["redacted".to_owned()],
        cluster_id: "x".to_owned(),
        prefix: "kdyno-".to_owned(),
        price,
        ..AttachedPlan::default()
    })
}

/// Caveats about CPUs of a trial next to programs that used 0.6 of the host's two, which may be the brokers unless
/// these were probed.
fn caveats(attached_here: bool, brokers_probed: bool) -> Vec<(Severity, Caveat)> {
    let mut trial = TrialFixture::clean();
    trial.probes.retain(|reading| brokers_probed || !matches!(reading.subject, Subject::Broker(_)));
    trial.start.trial.effective.system = target(None);
    for reading in &mut trial.probes {
        if reading.subject == Subject::Host && reading.series == series::CPU_USER_S_TOTAL {
            reading.value += 0.6 * (reading.at_ns as f64 / S as f64);
        }
    }
    if attached_here {
        let fact = (cluster_fact::ON_THIS_HOST.to_owned(), cluster_fact::YES.to_owned());
        trial.start.cluster.extend([fact]);
    }
    let mut found = unscoped(kdyno_analysis::trial::judge(&trial).unwrap().caveats);
    found.retain(|(_, caveat)| matches!(caveat, Caveat::SharedProcessors { .. } | Caveat::OtherLoad { .. }));
    found
}

/// What is reported of the log of a topic that was there before the run, when it grew by so many records; 12,000 were
/// acknowledged.
fn log_caveats(growth: u64) -> Vec<Caveat> {
    let mut trial = TrialFixture::clean();
    let mut system = target(None);
    if let SystemPlan::Attached(target) = &mut system {
        target.topics.insert("perf".to_owned(), "team-a.load".to_owned());
    }
    trial.start.trial.effective.system = system;
    trial.log_grows(growth);
    let found = unscoped(kdyno_analysis::trial::judge(&trial).unwrap().caveats).into_iter();
    let of_log = |caveat: &Caveat| {
        matches!(caveat, Caveat::Lost { .. } | Caveat::LogUnexplained { .. } | Caveat::LogNotChecked { .. })
    };
    found.map(|(_, caveat)| caveat).filter(of_log).collect()
}

#[test]
fn existing_topics_may_hold_more_records_but_not_fewer() {
    assert!(log_caveats(12_000).is_empty());
    let [Caveat::LogNotChecked { detail, .. }] = &log_caveats(12_003)[..] else { panic!("not checked") };
    assert!(detail.contains("others wrote 3 records"), "{detail}");
    assert!(matches!(log_caveats(11_999)[..], [Caveat::Lost { .. }]));
}

/// Of several topics of each client one that was there is enough, also where it is not the first.
#[test]
fn others_may_write_to_any_of_several_topics() {
    let mut trial = TrialFixture::clean();
    let mut system = target(None);
    if let SystemPlan::Attached(target) = &mut system {
        target.topics.insert("second".to_owned(), "team-a.load".to_owned());
    }
    let effective = &mut trial.start.trial.effective;
    effective.system = system;
    effective.topics.insert("second".to_owned(), effective.topics["perf"].clone());
    for item in effective.load.values_mut() {
        (item.more_topics, item.shared_topics) = (vec!["second".to_owned()], true);
    }
    trial.log_grows(6_000);
    let of_second: Vec<ProbeReading> = trial
        .probes
        .iter()
        .filter(|reading| reading.subject == Subject::Topic("perf".to_owned()))
        .map(|reading| ProbeReading { subject: Subject::Topic("second".to_owned()), ..reading.clone() })
        .collect();
    trial.probes.extend(of_second.into_iter().map(|reading| {
        let more = if reading.at_ns > 0 { 3.0 } else { 0.0 };
        ProbeReading { value: reading.value + more, ..reading }
    }));
    let found = trial
        .reported(|caveat| matches!(caveat, Caveat::LogUnexplained { .. } | Caveat::LogNotChecked { .. }));
    let Caveat::LogNotChecked { detail, .. } = &found[0].caveat else { panic!("{found:?}") };
    assert!(detail.contains("others wrote 3 records"), "{detail}");
}

#[test]
fn brokers_of_an_attached_cluster_on_this_host_share_its_cpus() {
    assert_eq!(caveats(true, false), [(Severity::Warning, Caveat::SharedProcessors { processors: 2 })]);
}

#[test]
fn programs_next_to_probed_brokers_on_this_host_are_reported() {
    let found = caveats(true, true);
    let is_reported = |of: fn(&Caveat) -> bool| found.iter().any(|(_, caveat)| of(caveat));
    assert!(is_reported(|caveat| matches!(caveat, Caveat::SharedProcessors { processors: 2 })), "{found:?}");
    assert!(is_reported(|caveat| matches!(caveat, Caveat::OtherLoad { .. })), "{found:?}");
}

#[test]
fn elsewhere_what_uses_the_host_is_not_the_cluster() {
    let found = caveats(false, false);
    assert!(matches!(found[..], [(Severity::Warning, Caveat::OtherLoad { .. })]), "{found:?}");
}

#[test]
fn cpu_time_of_others_is_not_blamed_on_unprobed_brokers() {
    let found = |busy: f64| {
        let mut trial = TrialFixture::clean();
        trial.probes.retain(|reading| !matches!(reading.subject, Subject::Broker(_)));
        trial.start.trial.effective.system = target(None);
        let fact = (cluster_fact::ON_THIS_HOST.to_owned(), cluster_fact::YES.to_owned());
        trial.start.cluster.extend([fact]);
        limit::host_busy(&mut trial, busy);
        limit::of(&limit::limit(&trial), LimitKind::BrokerProcessors).clone()
    };
    let full = found(0.95);
    let why = "busy for 95.0 %, cannot be separated from what other programs used";
    assert!(full.used.is_none() && full.detail.ends_with(why), "{full:?}");
    // What a host that is mostly idle has left its brokers have.
    limit::close(found(0.4).used, 0.4);
}

/// What a trial at 1,000 records/s of 128 bytes says of the cost of written data.
fn costs(trial: &TrialFixture) -> Vec<(String, Unit, Value)> {
    let findings = kdyno_analysis::trial::judge(trial).unwrap().findings;
    let costs = findings.into_iter().filter(|finding| is_cost(&finding.of.metric));
    costs.map(|finding| (finding.of.subject, finding.unit, finding.estimate)).collect()
}

#[test]
fn what_is_written_costs_the_price_of_its_time() {
    let priced = || target(Some(Price { per_hour: 4.608, currency: "USD".to_owned() }));
    let mut trial = TrialFixture::clean();
    assert_eq!(costs(&trial), [], "a cluster of our own has no price");
    trial.start.trial.effective.system = target(None);
    assert_eq!(costs(&trial), [], "none is declared");
    trial.start.trial.effective.system = priced();
    // 1,000 records of 128 bytes a second are 0.4608 GB an hour.
    let [(subject, Unit::CostPerGb, Value::Is(cost)), (_, Unit::CostPerMillion, Value::Is(of_records))] =
        &costs(&trial)[..]
    else {
        panic!("{:?}", costs(&trial))
    };
    assert!(subject == "brokers" && (cost - 10.0).abs() < 1e-9, "{cost}");
    // And 3.6 million records.
    assert!((of_records - 1.28).abs() < 1e-9, "{of_records}");
    for row in &mut trial.samples {
        (row.counts.acknowledged_bytes, row.counts.acknowledged) = (0, 0);
    }
    assert_eq!(costs(&trial), [], "nothing was written");
}

#[test]
fn a_cost_has_the_marks_of_the_rate() {
    let marks = |change: fn(&mut TrialFixture)| {
        let mut trial = TrialFixture::clean();
        trial.start.trial.effective.system =
            target(Some(Price { per_hour: 1.0, currency: "USD".to_owned() }));
        change(&mut trial);
        let findings = kdyno_analysis::trial::judge(&trial).unwrap().findings;
        let of = |subject: &str, metric: &str| {
            let found = findings.iter().find(|one| one.of.subject == subject && one.of.metric == metric);
            found.unwrap().marks.clone()
        };
        (of("writers", "acked_per_s"), of("brokers", COST_PER_GB))
    };
    let (rate, cost) = marks(|_| {});
    assert_eq!(rate, cost);
    let (rate, cost) = marks(|trial| {
        for row in &mut trial.samples {
            if row.written_second >= 7 {
                row.counts.acknowledged *= 2;
                row.counts.acknowledged_bytes *= 2;
            }
        }
    });
    assert_eq!((rate.contains(&Mark::SeveralLevels), &rate), (true, &cost));
    // A maximum that lasted for 10 s may be one on burst credits.
    let (rate, cost) = marks(|trial| trial.writers().rate = closed_loop());
    assert_eq!((rate.contains(&Mark::ShortTerm), &rate), (true, &cost));
}

#[test]
fn a_window_is_short_of_what_the_one_who_measures_says() {
    let missing = |sustain_ns: Option<u64>| {
        let mut trial = TrialFixture::clean();
        let SystemPlan::Attached(mut plan) = target(None) else { panic!("attached") };
        plan.sustain_ns = sustain_ns;
        trial.start.trial.effective.system = SystemPlan::Attached(plan);
        let judged = kdyno_analysis::trial::judge(&trial).unwrap();
        let p99 = judged.findings.iter().find(|one| one.of.to_string() == "writers.response.p99").unwrap();
        let writers = of_kind::<Steadiness>(&judged.conclusions).find(|one| one.item == "writers").unwrap();
        let is_burst = |one: &&ShortTerm| matches!(one, ShortTerm::BurstCredits { .. });
        let burst = writers.short_term.iter().find(is_burst).cloned();
        (burst, p99.marks.contains(&Mark::ShortTerm))
    };
    // The window is of 10 s.
    let of = |needed_s| (Some(ShortTerm::BurstCredits { seen_s: 10, needed_s }), true);
    assert_eq!(missing(None), of(3600));
    assert_eq!(missing(Some(11 * S)), of(11));
    assert_eq!(missing(Some(10 * S)), (None, false));
}

/// What is reported of brokers that had taken so many records each when the load began, which brings each 500 per
/// second, and that were first asked at this instant.
fn fresh(system: SystemPlan, taken: f64, first_ms: i64) -> Vec<(Severity, Caveat)> {
    let mut trial = TrialFixture::clean();
    trial.start.trial.effective.system = system;
    for broker in [0, 1] {
        let row = |at_ms: i64| ProbeReading {
            at_ns: at_ms * 1_000_000,
            subject: Subject::Broker(broker),
            series: series::MESSAGES_IN_TOTAL.to_owned(),
            value: taken + 500.0 * (at_ms - first_ms) as f64 / 1e3,
        };
        trial.probes.extend([first_ms, 12_005].map(row));
    }
    let mut found = unscoped(trial.judged().caveats);
    found.retain(|(_, caveat)| matches!(caveat, Caveat::BrokersFresh { .. }));
    found
}

#[test]
fn cold_brokers_of_a_target_are_reported() {
    let of = |taken| fresh(target(None), taken, 1);
    let [(Severity::Warning, Caveat::BrokersFresh { records: 3_000, load_s })] = of(1_500.0)[..] else {
        panic!("{:?}", of(1_500.0));
    };
    assert!((load_s - 3.0).abs() < 1e-6, "{load_s}");
    assert_eq!(of(10_000.0), [], "as much as 20 s of this load");
    assert_eq!(of(9_000.0).len(), 1);
    assert_eq!(fresh(target(None), 0.0, 6_000), [], "what they had taken at T0 is not known");
    assert_eq!(
        fresh(TrialFixture::clean().start.trial.effective.system.clone(), 0.0, 1),
        [],
        "a start that the run saw"
    );
}
