//! Health, in every form of a report.

use crate::fixture::{RunFixture, run, search};
use kdyno_model::conclusion::{Conclusion, SearchOutcome};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::finding::Scope;
use kdyno_model::health::{Health, HealthCheck, HealthRule};
use kdyno_model::plan::{AttachedPlan, SystemPlan};
use kdyno_model::run::cluster_fact;
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{json, markdown};

const OPTIONS: TextOptions = TextOptions { width: 300, colour: false };
/// It begins a sentence in some forms, with a capital.
const SAID: &str = "roker CPUs in use: 92.0 % (brokers), above 80.0 %: requests wait for a CPU";

fn health(trial: TrialId, brokers: f64) -> Conclusion {
    let check = |rule: HealthRule, of: &str, value: f64| {
        let is_broken = rule.text().threshold.is_broken_by(value);
        HealthCheck { rule, of: of.to_owned(), value, is_broken }
    };
    let checks = vec![
        check(HealthRule::BrokerProcessors, "brokers", brokers),
        check(HealthRule::DriveWriteTime, "drive vda", 3e6),
    ];
    Conclusion::Health(Health { scope: Scope::Trial(trial), checks })
}

/// A run of one trial whose brokers were so busy.
fn one_trial(brokers: f64) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    run.conclusions.push(health(TrialId(1), brokers));
    run
}

#[test]
fn a_broken_rule_says_by_how_much_what_follows_and_what_to_do() {
    let run = one_trial(0.92);
    let text = run_table(&run.input(), &OPTIONS);
    let reported = text.split("\nHealth\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(reported.starts_with("1 of 2 checks do not hold.\n"), "{reported}");
    assert!(reported.contains(SAID) && reported.contains("Next: add CPUs or brokers"), "{reported}");
    assert!(!reported.contains("drive vda"), "what holds is in the page");
    assert!(markdown::block(&run.input()).contains(SAID));
    let html = page(&run.input());
    assert!(html.contains(SAID), "the page says the same");
    for cell in ["drive vda", "3.00 ms", "at most 20.0 ms", "yes"] {
        assert!(html.contains(&format!(">{cell}</td>")), "{cell} in the table of the page");
    }
    let json = json::run(&run.input()).to_string();
    assert!(json.contains("brokers, broker CPUs in use: 92.0 %, above 80.0 %"), "{json}");
}

/// Who reads that all checks hold also reads which were not asked.
#[test]
fn unreadable_checks_are_reported_next_to_passed_ones() {
    let mut run = one_trial(0.3);
    let event = |kind, detail: &str| {
        let event = Event {
            at_unix_ns: 1,
            at_ns: Some(1),
            kind,
            subject: Subject::Broker(0),
            detail: detail.to_owned(),
        };
        (Some(TrialId(1)), event)
    };
    let why = "metrics of broker-0 cannot be read: nobody answers";
    run.events.extend([event(EventKind::MetricsNotRead, why), event(EventKind::MetricsNotRead, why)]);
    let text = run_table(&run.input(), &OPTIONS);
    let reported =
        format!("All 2 checks hold. Rules that rest on what could not be read were not asked: {why}.");
    let found = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(found.contains(&reported), "{text}");
    run.events.extend((0..4).map(|number| event(EventKind::LogsNotRead, &format!("reason {number}"))));
    assert!(run_table(&run.input(), &OPTIONS).contains("reason 1 and 2 more."));
}

#[test]
fn passed_checks_take_one_line_and_missing_checks_none() {
    let text = run_table(&one_trial(0.3).input(), &OPTIONS);
    assert!(text.contains("\nHealth\nAll 2 checks hold.\n"), "{text}");
    let text = run_table(&run().input(), &OPTIONS);
    assert!(!text.contains("Health"), "{text}");
}

/// A run of one case with four trials; in each the longest pause was that of this broker.
fn four_trials(pauses: [(&str, f64); 4]) -> RunFixture {
    let mut run = run();
    let case = run.trials[0].trial.case;
    assert_eq!(run.trials.len(), 4);
    for (start, (broker, pause_ns)) in run.trials.iter_mut().zip(pauses) {
        start.trial.case = case;
        let Conclusion::Health(mut of_trial) = health(start.trial.id, 0.5) else { unreachable!() };
        let rule = HealthRule::GcPause;
        let is_broken = rule.text().threshold.is_broken_by(pause_ns);
        of_trial.checks.push(HealthCheck { rule, of: broker.to_owned(), value: pause_ns, is_broken });
        run.conclusions.push(Conclusion::Health(of_trial));
    }
    run
}

const PAUSE: &str = "longest pause of a broker for garbage collection";

#[test]
fn one_trial_does_not_decide_whichever_broker_was_its_worst() {
    let run = four_trials([("broker-0", 20e6), ("broker-2", 150e6), ("broker-0", 30e6), ("broker-1", 20e6)]);
    let text = run_table(&run.input(), &OPTIONS);
    let reported = text.split("\nHealth\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(reported.starts_with("All 3 checks hold in most trials.\n"), "{reported}");
    let in_some = format!("these do not hold: {PAUSE} (broker-2, brokers=3; in 1 of 4 trials).");
    assert!(reported.contains(&in_some) && !reported.contains("Next:"), "{reported}");
    assert!(page(&run.input()).contains(">not in 1 of 4 trials</td>"));
}

#[test]
fn half_of_the_trials_decide() {
    let run = four_trials([("broker-0", 120e6), ("broker-2", 150e6), ("broker-0", 30e6), ("broker-1", 20e6)]);
    let text = run_table(&run.input(), &OPTIONS);
    assert!(text.contains("1 of 3 checks do not hold."), "{text}");
    let said = "20.0 ms to 150 ms (broker-0, broker-2, brokers=3; beyond it in 2 of 4 trials), above 100 ms";
    assert!(text.contains(said), "{text}");
}

#[test]
fn drives_are_told_apart() {
    let mut run = one_trial(0.5);
    let Some(Conclusion::Health(health)) = run.conclusions.last_mut() else { unreachable!() };
    let other = HealthCheck { of: "drive vdb".to_owned(), ..health.checks[1].clone() };
    health.checks.push(other);
    let text = run_table(&run.input(), &OPTIONS);
    assert!(text.contains("All 3 checks hold.\n"), "{text}");
}

#[test]
fn a_search_reports_health_at_the_load_that_is_the_answer() {
    let mut run = search(SearchOutcome::Confirmed { load_per_s: 92_000.0 });
    let points: Vec<(TrialId, f64)> = run
        .conclusions
        .iter()
        .flat_map(|one| match one {
            Conclusion::Search(result) => {
                result.points.iter().map(|point| (point.trial, point.load_per_s)).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    assert!(points.iter().any(|(_, load)| *load > 92_000.5), "some load lies above the answer: {points:?}");
    for (trial, load) in points {
        run.conclusions.push(health(trial, if load > 92_000.5 { 0.99 } else { 0.92 }));
    }
    let text = run_table(&run.input(), &OPTIONS);
    let reported = "92.0 % (brokers, at 92,000/s, the confirmed load), above 80.0 %";
    assert!(text.contains(reported), "{text}");
    assert!(!text.contains("99.0 %"), "{text}");
}

#[test]
fn remote_brokers_are_said_to_have_unprobed_hosts() {
    let said = "the hosts of the brokers, which are elsewhere, were not probed";
    assert!(!run_table(&one_trial(0.5).input(), &OPTIONS).contains(said));
    let mut run = one_trial(0.5);
    for start in &mut run.trials {
        start.trial.effective.system = target();
    }
    assert!(run_table(&run.input(), &OPTIONS).contains(said));
    let here = (cluster_fact::ON_THIS_HOST.to_owned(), cluster_fact::YES.to_owned());
    for start in &mut run.trials {
        start.cluster.extend([here.clone()]);
    }
    assert!(!run_table(&run.input(), &OPTIONS).contains(said));
}

fn target() -> SystemPlan {
    SystemPlan::Attached(AttachedPlan {
        target: "staging".to_owned(),
        bootstrap: vec!["redacted".to_owned()],
        cluster_id: "x".to_owned(),
        prefix: "kdyno-".to_owned(),
        ..AttachedPlan::default()
    })
}
