//! Stored runs before and after a change.

use crate::fixture::{P99, RATE, RunFixture, address, comparing, plan, settings};
use crate::settings::producing;
use kdyno_analysis::comparison::{StoredRun, of_runs};
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, MetricRole, Says, Verdict};
use kdyno_model::finding::{Finding, Interval, IntervalMethod, Mark, NotResolvable, Scope, Value};
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{EvidenceUnit, GivenFile, LoadPlan, Role, ValuesPlan};
use kdyno_model::run::{RunHeader, Session};
use kdyno_model::trial::TrialId;
use std::collections::{BTreeMap, BTreeSet};

const ACHIEVED: &str = "writers.achieved_per_s";

const UNPAIRED: &str = "in no drawn order";

struct Stored {
    header: RunHeader,
    sessions: Vec<Session>,
    findings: Vec<Finding>,
    caveats: Vec<ScopedCaveat>,
}

fn stored(rate: Value) -> Stored {
    let plan = plan(1, &[RATE]);
    let mut run = RunFixture::default();
    run.trial(0, 1, &[(RATE, rate), (P99, Value::Is(5.0)), (ACHIEVED, Value::Is(7.0))]);
    let session = Session {
        number: 1,
        started_unix_ns: 0,
        kdyno_version: "0.1.0".into(),
        git_head: None,
        command_line: Vec::new(),
        boot_id: "boot".into(),
        processors: 2,
        host_facts: BTreeMap::from([("cpu_model".into(), "Xeon".into())]),
    };
    let header = RunHeader {
        run_id: 1,
        scenario_text: String::new(),
        scenario_path: String::new(),
        plan: plan.clone(),
    };
    Stored { header, sessions: vec![session], findings: run.judged(&plan).findings, caveats: Vec::new() }
}

fn all(rates: &[f64]) -> Vec<Stored> {
    rates.iter().map(|rate| stored(Value::Is(*rate))).collect()
}

fn compared(before: &[Stored], after: &[Stored]) -> (Vec<Verdict>, Vec<(Severity, String)>) {
    let a: Vec<StoredRun<'_>> = before.iter().map(|run| seen("before", run)).collect();
    let b: Vec<StoredRun<'_>> = after.iter().map(|run| seen("after", run)).collect();
    let Judgement { conclusions, caveats, .. } = of_runs(&a, &b);
    let verdicts = conclusions.into_iter().map(|conclusion| match conclusion {
        Conclusion::Verdict(verdict) => verdict,
        other => panic!("{other:?}"),
    });
    let reported = caveats.into_iter().map(|of| match of.caveat {
        Caveat::EvidenceOfRuns { detail } => (of.severity, detail),
        Caveat::RunsUnpaired => (of.severity, UNPAIRED.to_owned()),
        other => panic!("{other:?}"),
    });
    (verdicts.collect(), reported.collect())
}

fn seen<'a>(name: &'a str, run: &'a Stored) -> StoredRun<'a> {
    let Stored { header, sessions, findings, caveats } = run;
    StoredRun { name, header, sessions, findings, caveats }
}

#[test]
fn what_was_imported_into_every_run_is_compared_by_itself() {
    let with = |rates: &[f64], cpu: f64| {
        let mut runs = all(rates);
        for (run, scatter) in runs.iter_mut().zip([0.98, 1.0, 1.02]) {
            let mut finding = run.findings[0].clone();
            (finding.of, finding.estimate) = (address("imported-rds.CPU"), Value::Is(cpu * scatter));
            run.findings.push(finding);
        }
        runs
    };
    let rates = ([100.0, 101.0, 99.0], [120.0, 121.0, 119.0]);
    let (verdicts, _) = compared(&with(&rates.0, 0.2), &with(&rates.1, 0.4));
    let (imported, others): (Vec<Verdict>, Vec<Verdict>) =
        verdicts.into_iter().partition(|verdict| verdict.role == MetricRole::Imported);
    assert_eq!(others, compared(&all(&rates.0), &all(&rates.1)).0);
    let [cpu] = &imported[..] else { panic!("{imported:?}") };
    assert!(matches!(cpu.says, Says::Different { material: true, .. }), "{cpu:?}");
    let (verdicts, _) = compared(&all(&rates.0), &with(&rates.1, 0.4));
    let cpu = verdicts.last().unwrap();
    assert!(matches!(&cpu.says, Says::Invalid { reason } if reason.contains("not every run has")), "{cpu:?}");
}

#[test]
fn three_runs_of_each_side_have_an_interval() {
    let (verdicts, caveats) = compared(&all(&[100.0, 101.0, 99.0]), &all(&[80.0, 81.0, 79.0, 80.0]));
    let [verdict] = verdicts.as_slice() else { panic!("{verdicts:?}") };
    assert_eq!((verdict.n, verdict.unit_of_evidence), (3, EvidenceUnit::Run));
    assert_eq!(
        (verdict.role, verdict.a, verdict.b),
        (MetricRole::Exploratory, Value::Is(100.0), Value::Is(80.0))
    );
    let ratio = verdict.ratio.unwrap();
    let Interval::Bounds { low, high, level, method } = ratio.interval else { panic!("{ratio:?}") };
    assert_eq!((level, method), (0.95, IntervalMethod::StudentT));
    assert!(0.77 < low && low < 0.8 && 0.8 < high && high < 0.83, "{low} {high}");
    // Fewer records per second are worse.
    assert_eq!(verdict.says, Says::Different { material: true, worse: true });
    assert_eq!(caveats, [(Severity::Warning, UNPAIRED.to_owned())]);
    let (verdicts, _) = compared(&all(&[100.0, 100.1, 99.9]), &all(&[100.0, 99.9, 100.1]));
    assert_eq!(verdicts[0].says, Says::Equivalent);
    let Some(Interval::Bounds { low, high, level, .. }) = verdicts[0].judged_by().map(|of| of.interval)
    else {
        panic!("{verdicts:?}")
    };
    assert!(level == 0.9 && 0.97 < low && high < 1.03, "{level}: {low} {high}");
}

#[test]
fn the_more_metrics_the_more_it_takes() {
    let after = [102.36, 103.36, 101.36];
    let mut before = all(&[100.0, 101.0, 99.0]);
    let says = |before: &[Stored]| {
        let verdict = compared(before, &all(&after)).0.remove(0);
        (verdict.p.unwrap(), verdict.says)
    };
    let ((own, together), alone) = says(&before);
    assert!(own == together && 0.034 < own && own < 0.05, "{own}");
    assert!(matches!(alone, Says::MaybeMaterial { worse: false, .. }), "{alone:?}");
    before[0].header.plan.show.columns.extend([P99, ACHIEVED].map(address));
    let ((_, together), says) = says(&before);
    assert!((together - 3.0 * own).abs() < 1e-12);
    assert_eq!(says, Says::DifferentAlone { worse: false, together: 3, more_needed: None });
}

#[test]
fn one_run_of_each_side_has_a_ratio_and_no_interval() {
    let (verdicts, caveats) = compared(&all(&[100.0]), &all(&[50.0]));
    let ratio = verdicts[0].ratio.unwrap();
    assert!((ratio.estimate - 0.5).abs() < 1e-12);
    assert_eq!(ratio.interval, Interval::NotResolvable(NotResolvable::OneTrial));
    assert_eq!((&verdicts[0].says, verdicts[0].p), (&Says::Inconclusive { more_needed: None }, None));
    assert!(
        caveats[0].1.starts_with("there is no interval of one run before and one run after: it takes 3"),
        "{caveats:?}"
    );
    let (verdicts, _) = compared(&all(&[100.0, 101.0]), &all(&[50.0, 51.0, 50.0]));
    let too_few = Interval::NotResolvable(NotResolvable::TooFewTrials { needed: 3 });
    assert_eq!(verdicts[0].ratio.unwrap().interval, too_few);
}

#[test]
fn runs_of_different_scenarios_are_not_compared() {
    let mut after = all(&[80.0, 81.0, 79.0]);
    after[1].header.plan.scenario = "other".into();
    let (verdicts, caveats) = compared(&all(&[100.0, 101.0, 99.0]), &after);
    let detail = "the runs measure different things: after is of other, before of s";
    assert_eq!(caveats, [(Severity::Invalid, detail.to_owned())], "what else differs does not matter then");
    assert_eq!(verdicts[0].says, Says::Invalid { reason: detail.to_owned() });
    assert_eq!((verdicts[0].ratio, verdicts[0].p), (None, None), "of different things there is no ratio");
}

/// A run that compares two sides itself, B with so much of the rate of A.
fn of_two_sides(ratio: f64, b: &str) -> Stored {
    let mut plan = comparing(&[], &[8], &[RATE]);
    settings(&mut plan).labels[1] = b.to_owned();
    let mut run = RunFixture::default();
    run.pairs(RATE, &[ratio; 8]);
    let findings = run.judged(&plan).findings;
    let Stored { mut header, sessions, .. } = stored(Value::Is(1.0));
    header.plan = plan;
    Stored { header, sessions, findings, caveats: Vec::new() }
}

#[test]
fn each_side_of_two_comparisons_is_compared_with_its_like() {
    let (before, after) = ([of_two_sides(0.5, "new")], [of_two_sides(0.25, "new")]);
    let (verdicts, caveats) = compared(&before, &after);
    let of_scope = |scope| {
        let verdict = verdicts.iter().find(|one| one.scope == scope).unwrap();
        (verdict.a, verdict.b, verdict.ratio.unwrap().estimate)
    };
    assert_eq!(of_scope(Scope::Case(0)), (Value::Is(450.0), Value::Is(450.0), 1.0));
    let (a, b, ratio) = of_scope(Scope::SideB { case: 0 });
    assert_eq!((a, b), (Value::Is(225.0), Value::Is(112.5)));
    assert!((ratio - 0.5).abs() < 1e-12, "{ratio}");
    assert_eq!((verdicts.len(), caveats.len()), (2, 2), "{caveats:?}");
    // What the sides are is reported where it is not the same, and where one has none.
    let (_, caveats) = compared(&before, &[of_two_sides(0.25, "newer")]);
    let reported = "not all of the runs have the same sides, and sides A are set against each other, and sides B: before \
                compares kafka=3.7.2 (its side A) with new (its side B); after compares kafka=3.7.2 (its side A) with newer \
                (its side B)";
    assert_eq!(caveats[2], (Severity::Warning, reported.to_owned()));
    let (verdicts, caveats) = compared(&before, &all(&[100.0]));
    assert_eq!((verdicts.len(), verdicts[0].a, verdicts[0].b), (1, Value::Is(450.0), Value::Is(100.0)));
    assert!(caveats[2].1.contains("of those that have sides A is taken: "), "{caveats:?}");
    assert!(caveats[2].1.ends_with("; after has no sides"), "{caveats:?}");
}

#[test]
fn a_run_that_lost_records_is_reported_first_and_not_compared() {
    let mut after = all(&[80.0, 81.0, 79.0]);
    let lost = Caveat::Lost { topic: "t".into(), acknowledged: 100_000, growth: 99_500 };
    let of_trial = Scope::Trial(TrialId(2));
    let invalid = |scope| (scope, Severity::Invalid, Concern::Everything);
    let (scope, severity, concerns) = invalid(of_trial);
    after[1].caveats.push(ScopedCaveat { scope, severity, concerns, caveat: lost.clone() });
    // What is no loss stays with its run.
    let other = ScopedCaveat { caveat: Caveat::MemoryStorage, ..after[1].caveats[0].clone() };
    after[1].caveats.insert(0, other);
    let before = all(&[100.0, 101.0, 99.0]);
    let a: Vec<StoredRun<'_>> = before.iter().map(|run| seen("before", run)).collect();
    let b: Vec<StoredRun<'_>> = after.iter().map(|run| seen("after", run)).collect();
    let Judgement { conclusions, caveats, .. } = of_runs(&a, &b);
    let (scope, severity, concerns) = invalid(Scope::Run);
    assert_eq!(caveats[0], ScopedCaveat { scope, severity, concerns, caveat: lost });
    let detail = "after lost acknowledged records: its figures count what is gone".to_owned();
    assert_eq!(caveats[1].caveat, Caveat::EvidenceOfRuns { detail: detail.clone() });
    let rest = &caveats[2..];
    assert!(rest.iter().all(|of| of.severity == Severity::Warning), "{rest:?}");
    let Conclusion::Verdict(verdict) = &conclusions[0] else { panic!("{conclusions:?}") };
    assert_eq!(verdict.says, Says::Invalid { reason: detail });
}

#[test]
fn what_else_differs_is_named() {
    let mut after = all(&[80.0]);
    after[0].header.plan.profile = "published".into();
    after[0].header.plan.changed.insert("size".into(), "1KiB".into());
    after[0].sessions[0].boot_id = "another".into();
    after[0].sessions[0].processors = 64;
    after[0].sessions[0].kdyno_version = "0.2.0".into();
    let (_, caveats) = compared(&all(&[100.0]), &after);
    let reported: Vec<&str> = caveats.iter().map(|(_, detail)| detail.as_str()).collect();
    assert_eq!(
        reported[2..],
        [
            "the profiles differ: p, published",
            "parameters set by hand differ: (), (size=1KiB)",
            "the hosts differ: cpu_model Xeon · 2 CPUs, cpu_model Xeon · 64 CPUs",
            "versions of kdyno differ: 0.1.0, 0.2.0",
            "the host was restarted in between: 2 boots",
        ]
    );
}

#[test]
fn changed_content_of_a_value_file_is_named_not_its_folder() {
    let stored = |path: &str, crc: u32| {
        let delimiter = "\n".to_owned();
        let file = GivenFile { path: path.to_owned(), delimiter, crc, pieces: 2, piece_bytes_max: 3 };
        let mut produce = producing();
        produce.records.values = ValuesPlan::File(file);
        let item = LoadPlan {
            more_topics: Vec::new(),
            shared_topics: false,
            topic: "t".into(),
            clients: 1,
            zone: None,
            span: Default::default(),
            driver: Default::default(),
            role: Role::Produce(produce),
        };
        let mut run = all(&[100.0]);
        run[0].header.plan.cases[0].load.insert("writers".into(), item);
        run
    };
    let reported = |before: &[Stored], after: &[Stored]| {
        let reported = compared(before, after).1.into_iter().map(|(_, detail)| detail);
        reported.filter(|detail| detail.starts_with("files")).collect::<Vec<_>>()
    };
    let before = stored("/here/orders.txt", 0x1a2b);
    assert_eq!(reported(&before, &stored("/there/orders.txt", 0x1a2b)), [""; 0]);
    let differ =
        "files of keys and values differ: (orders.txt, CRC-32C 00001a2b), (orders.txt, CRC-32C 00001a2c)";
    assert_eq!(reported(&before, &stored("/here/orders.txt", 0x1a2c)), [differ]);
}

#[test]
fn a_case_or_figure_that_a_run_lacks_is_reported() {
    let mut after = all(&[80.0]);
    after[0].header.plan.cases[0].label = "brokers=3".into();
    let (verdicts, caveats) = compared(&all(&[100.0]), &after);
    assert!(verdicts.is_empty());
    let detail = &caveats.last().unwrap().1;
    assert!(detail.ends_with(" has no figures of the scenario's one case: it is left out"), "{detail}");
    let mut before = all(&[100.0]);
    before[0].header.plan.cases[0].label = "brokers=1".into();
    before[0].header.plan.cases[0].params.insert("brokers".into(), kdyno_model::plan::ParamValue::Int(1));
    let caveats = compared(&before, &after).1;
    let detail = &caveats.last().unwrap().1;
    let says = " has no figures of a case called `brokers=1` (cases are matched by what they are called): it is left out";
    assert!(detail.ends_with(says), "{detail}");
    let says = |after: Stored| compared(&all(&[100.0]), &[after]).0.remove(0).says;
    let reason = |says: Says| match says {
        Says::Invalid { reason } => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        reason(says(stored(Value::AtLeast(5.0)))),
        format!("{RATE} of a run lies among records that were not acknowledged")
    );
    let mut invalid = stored(Value::Is(5.0));
    for finding in &mut invalid.findings {
        finding.marks.insert(Mark::Invalid);
    }
    // It is in the table all the same, with its mark.
    let verdict = compared(&all(&[100.0]), &[invalid]).0.remove(0);
    assert_eq!(verdict.marks, [BTreeSet::new(), BTreeSet::from([Mark::Invalid])]);
    assert_eq!(reason(verdict.says), format!("{RATE} of a run is invalid"));
    assert!(of_runs(&[], &[]).conclusions.is_empty());
}
