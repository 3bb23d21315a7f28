//! What is written comes back, also while the run goes on, and a finished run is one file.

use crate::common::{LATER_TRIAL, STREAMS, TRIAL, header, sample, sample_of, session, trial_start};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::finding::{Interval, IntervalMethod, NotResolvable, Scope, Value};
use kdyno_model::metric::Unit;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{AttachedPlan, Protocol, Sasl, Security, SystemPlan};
use kdyno_model::run::TrialStart;
use kdyno_model::sample::{LATENCY_NS_MAX, LATENCY_NS_MIN, Phase, Sample, Timing};
use kdyno_model::secret::SecretRef;
use kdyno_model::trial::{TrialId, TrialReason};
use kdyno_store::{RunFile, RunWriter, StoreError};
use std::path::Path;
use std::sync::mpsc::channel;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_finished_run_comes_back_from_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run #1?%.kdyno");
    crate::common::write_run(&path).unwrap();
    assert_eq!(names(folder.path()), ["run #1?%.kdyno"]);
    let before = std::fs::read(&path).unwrap();
    let file = RunFile::open(&path).unwrap();
    crate::common::assert_run(&file).unwrap();
    assert!(!file.is_live());
    drop(file);
    assert_eq!(std::fs::read(&path).unwrap(), before, "reading must not change a finished run");
}

#[test]
fn evidence_is_the_same_while_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    let early = StoreError::NoTrial { path: path.clone(), trial: TRIAL };
    assert_eq!(writer.evidence(TRIAL).unwrap_err(), early);
    crate::common::write_session(&writer).unwrap();
    assert_eq!(writer.evidence(TRIAL).unwrap(), crate::common::evidence());
    // Committed: somebody else sees it as well.
    assert_eq!(RunFile::open(&path).unwrap().evidence(TRIAL).unwrap(), crate::common::evidence());
    writer.finish(crate::common::end()).unwrap();
    assert_eq!(RunFile::open(&path).unwrap().evidence(TRIAL).unwrap(), crate::common::evidence());
}

/// They say when, and for how long what it then sent was in flight.
#[test]
fn rows_of_five_seconds_come_back_where_a_worker_stood_still() {
    let folder = tempfile::tempdir().unwrap();
    let stream = STREAMS[0];
    for (late_ns, rows) in [(40_000_000, 1), (60_000_000, 2)] {
        let path = folder.path().join(format!("{late_ns}.kdyno"));
        let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
        writer.trial_started(&trial_start()).unwrap();
        let mut delays = Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 3).unwrap();
        delays.record(late_ns).unwrap();
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&delays, &mut bytes).unwrap();
        let mut whole = crate::common::phase_row(stream, 2);
        whole.histograms.insert(Timing::ScheduleDelay, bytes);
        writer.sample(TRIAL, crate::common::five_seconds(stream, 1)).unwrap();
        writer.sample(TRIAL, whole).unwrap();
        assert_eq!(writer.evidence(TRIAL).unwrap().samples.len(), rows, "{late_ns}");
    }
}

#[test]
fn rows_of_five_seconds_come_back_of_streams_that_were_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let writer = RunWriter::create(&folder.path().join("run.kdyno"), &header(), &session(1)).unwrap();
    writer.trial_started(&trial_start()).unwrap();
    writer.trial_started(&TrialStart { session: 1, ..crate::common::later_trial() }).unwrap();
    let [whole, cut_off] = [STREAMS[0], STREAMS[1]];
    let in_warmup = Sample { phase: Phase::Warmup, ..crate::common::phase_row(cut_off, 2) };
    let rows = [crate::common::five_seconds(cut_off, 1), in_warmup, sample_of(cut_off, 3)];
    for row in [crate::common::five_seconds(whole, 1), crate::common::phase_row(whole, 2)]
        .into_iter()
        .chain(rows.clone())
    {
        writer.sample(TRIAL, row).unwrap();
    }
    // In another trial the first stream is cut off too.
    writer.sample(LATER_TRIAL, crate::common::five_seconds(whole, 1)).unwrap();
    let samples = writer.evidence(TRIAL).unwrap().samples;
    let of_cut_off: Vec<&Sample> = samples.iter().filter(|row| row.id == cut_off).collect();
    assert_eq!(of_cut_off, rows.iter().collect::<Vec<_>>());
    let of_whole: Vec<Sample> = samples.into_iter().filter(|row| row.id == whole).collect();
    assert_eq!(of_whole, [crate::common::phase_row(whole, 2)]);
    assert_eq!(writer.evidence(LATER_TRIAL).unwrap().samples, [crate::common::five_seconds(whole, 1)]);
}

fn recent(writer: &RunWriter, trial: TrialId, from_second: u32) -> Option<TrialEvidence> {
    let (reply, answer) = channel();
    writer.recent(trial, from_second, Box::new(move |found| reply.send(found).unwrap())).unwrap();
    answer.recv().ok()
}

#[test]
fn recent_rows_are_those_of_one_second_from_a_second_on() {
    let folder = tempfile::tempdir().unwrap();
    let writer = RunWriter::create(&folder.path().join("run.kdyno"), &header(), &session(1)).unwrap();
    assert_eq!(recent(&writer, TRIAL, 0), None, "it has not started");
    crate::common::write_session(&writer).unwrap();
    let found = recent(&writer, TRIAL, 2).unwrap();
    let mut rows: Vec<_> = found.samples.iter().map(|row| (row.id, row.written_second)).collect();
    rows.sort_unstable();
    let wanted = STREAMS.map(|stream| [(stream, 2), (stream, 3)]).concat();
    assert_eq!(rows, wanted, "not the whole phase's, which were written in second 4");
    assert_eq!(found.probes, crate::common::readings(2));
    assert_eq!((found.start, found.session), (trial_start(), session(1)));
    assert_eq!(found.phases, crate::common::phases());
    assert!(found.totals.is_empty() && found.events.is_empty() && found.noise.is_empty());
}

#[test]
fn the_phases_are_those_that_were_said_last() {
    let folder = tempfile::tempdir().unwrap();
    let writer = RunWriter::create(&folder.path().join("run.kdyno"), &header(), &session(1)).unwrap();
    writer.trial_started(&trial_start()).unwrap();
    for spans in [crate::common::warmup_without_end(), crate::common::phases(), Vec::new()] {
        writer.phases(TRIAL, &spans).unwrap();
        assert_eq!(writer.evidence(TRIAL).unwrap().phases, spans);
    }
}

#[test]
fn a_sample_that_arrives_twice_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    writer.trial_started(&trial_start()).unwrap();
    for sequence in [0, 1, 0, 1, 2] {
        writer.sample(TRIAL, sample(sequence)).unwrap();
    }
    writer.trial_started(&TrialStart { session: 1, ..crate::common::later_trial() }).unwrap();
    writer.sample(LATER_TRIAL, sample(0)).unwrap();
    assert_eq!(writer.evidence(TRIAL).unwrap().samples, [sample(0), sample(1), sample(2)]);
    assert_eq!(writer.evidence(LATER_TRIAL).unwrap().samples, [sample(0)]);
}

#[test]
fn a_second_worker_overwrites_nothing_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let writer = RunWriter::create(&folder.path().join("run.kdyno"), &header(), &session(1)).unwrap();
    writer.trial_started(&trial_start()).unwrap();
    // Same stream number, same sequence number, same trial.
    for stream in STREAMS {
        writer.sample(TRIAL, crate::common::sample_of(stream, 0)).unwrap();
    }
    for totals in crate::common::totals() {
        writer.totals(TRIAL, vec![totals]).unwrap();
    }
    let found = writer.evidence(TRIAL).unwrap();
    assert_eq!(found.samples, STREAMS.map(|stream| crate::common::sample_of(stream, 0)));
    assert_eq!(found.totals, crate::common::totals());
    assert_ne!(found.totals[0].clients, found.totals[1].clients);
}

#[test]
fn later_findings_replace_earlier_ones_of_their_scope_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    writer.judgement(&crate::common::judgement()).unwrap();
    let scopes = [Scope::Trial(TRIAL), Scope::Pair { case: 0, pair: 1 }, Scope::Run];
    let corrected =
        scopes.map(|scope| crate::common::finding(scope, "acked_per_s", Unit::RecordsPerS, Value::Is(1.0)));
    let later = Judgement { findings: corrected.to_vec(), ..Judgement::default() };
    writer.judgement(&later).unwrap();
    writer.finish(crate::common::end()).unwrap();
    let file = RunFile::open(&path).unwrap();
    let others = crate::common::findings().into_iter().filter(|finding| !scopes.contains(&finding.scope));
    assert_eq!(file.judgement().unwrap().findings, others.chain(corrected).collect::<Vec<_>>());
    assert_eq!(file.judgement().unwrap().caveats, [], "all of them were of the trial and the run");
}

#[test]
fn a_number_that_is_none_comes_back_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    let mut finding = crate::common::finding(Scope::Case(0), "x", Unit::Ratio, Value::Is(f64::NAN));
    finding.range = Some((Value::Is(f64::NEG_INFINITY), Value::AtLeast(2.0)));
    let method = IntervalMethod::OrderStatistics;
    finding.interval = Interval::Bounds { low: 0.0, high: f64::INFINITY, level: 0.95, method };
    let drawn = Judgement { findings: vec![finding.clone()], ..Judgement::default() };
    writer.judgement(&drawn).unwrap();
    writer.finish(crate::common::end()).unwrap();
    finding.estimate = Value::None;
    finding.range = Some((Value::None, Value::AtLeast(2.0)));
    finding.interval = Interval::NotResolvable(NotResolvable::NoValue);
    assert_eq!(RunFile::open(&path).unwrap().judgement().unwrap().findings, [finding]);
}

/// A plan on an attached cluster.
fn attached() -> SystemPlan {
    SystemPlan::Attached(AttachedPlan {
        target: "staging".into(),
        bootstrap: vec!["b1.corp.example:9092".into()],
        cluster_id: "abc".into(),
        security: Box::new(Security {
            protocol: Protocol::SaslPlaintext,
            tls: None,
            sasl: Some(Sasl::Plain { username: "user-of-b1.corp".into(), password: "pw".into() }),
        }),
        prefix: "kdyno-".into(),
        topics: [("perf".to_owned(), "topic-of-b1.corp".to_owned())].into(),
        ..AttachedPlan::default()
    })
}

#[test]
fn cluster_addresses_and_places_of_secrets_are_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let mut header = header();
    header.plan.cases[0].system = attached();
    let mut start = trial_start();
    start.trial.effective.system = attached();
    start.trial.effective.secrets = [
        ("pw".to_owned(), SecretRef::File("secrets/b1.corp/pw".into())),
        ("key".to_owned(), SecretRef::Exec(vec!["pass".to_owned(), "b1.corp".to_owned()])),
        (
            "jaas".to_owned(),
            SecretRef::Property {
                file: "b1.corp.properties".into(),
                name: "sasl.jaas.config".to_owned(),
                option: Some("password".to_owned()),
            },
        ),
        ("made".to_owned(), SecretRef::Made),
    ]
    .into();
    header.plan.cases[0].secrets = start.trial.effective.secrets.clone();
    let writer = RunWriter::create(&path, &header, &session(1)).unwrap();
    writer.trial_started(&start).unwrap();
    let effective = writer.evidence(TRIAL).unwrap().start.trial.effective;
    assert_eq!(effective.secrets["made"], SecretRef::Made);
    assert_eq!(effective.secrets["pw"], SecretRef::File("redacted".into()));
    let SystemPlan::Attached(kept) = effective.system else {
        panic!("another system");
    };
    assert_eq!((kept.target.as_str(), kept.bootstrap), ("staging", vec!["redacted".to_owned()]));
    for name in ["run.kdyno", "run.kdyno-wal"] {
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        assert!(!bytes.windows(7).any(|window| window == b"b1.corp"), "{name}");
    }
    drop(writer);
    assert_eq!(kdyno_store::list(folder.path()).unwrap().runs[0].target.as_deref(), Some("staging"));
}

#[test]
fn an_existing_file_is_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    std::fs::write(&path, "mine").unwrap();
    let error = RunWriter::create(&path, &header(), &session(1)).unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/run.kdyno");
    let error = RunWriter::create(&path, &header(), &session(1)).unwrap_err();
    assert!(error.to_string().contains("none/run.kdyno"), "{error}");
    assert!(matches!(error, StoreError::Write { .. }));
}

#[test]
fn a_run_that_cannot_begin_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let error = RunWriter::create(&path, &header(), &session(2)).unwrap_err();
    assert_eq!(error, StoreError::SessionNumber { path, last: 0, number: 2 });
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_writer_that_is_dropped_leaves_a_whole_file_without_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    crate::common::write_session(&writer).unwrap();
    drop(writer);
    assert_eq!(names(folder.path()), ["run.kdyno"]);
    let file = RunFile::open(&path).unwrap();
    crate::common::assert_session(&file).unwrap();
    assert_eq!(file.sessions().unwrap(), [(session(1), None)]);
}

#[test]
fn a_run_is_live_from_its_head_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.kdyno");
    let writer = RunWriter::create(&path, &header(), &session(1)).unwrap();
    for _ in 0..2 {
        assert!(kdyno_store::list(folder.path()).unwrap().runs[0].live, "nothing but the head is there yet");
    }
    drop(writer);
    assert!(!kdyno_store::list(folder.path()).unwrap().runs[0].live);
    let writer = RunWriter::resume(&path, &session(2)).unwrap();
    assert!(kdyno_store::list(folder.path()).unwrap().runs[0].live, "nothing but the session is there yet");
    drop(writer);
    assert!(!kdyno_store::list(folder.path()).unwrap().runs[0].live);
}

#[test]
fn a_folder_lists_its_runs_by_age_and_names_what_it_cannot_read() {
    let folder = tempfile::tempdir().unwrap();
    for (name, started_unix_ns) in [("b", 1), ("a", 2)] {
        let path = folder.path().join(format!("{name}.kdyno"));
        let first = kdyno_model::run::Session { started_unix_ns, ..session(1) };
        let writer = RunWriter::create(&path, &header(), &first).unwrap();
        writer.trial_started(&trial_start()).unwrap();
        if name == "a" {
            let mut conditioning = trial_start();
            conditioning.trial.id = TrialId(conditioning.trial.id.0 + 1);
            conditioning.trial.reason = TrialReason::Conditioning;
            writer.trial_started(&conditioning).unwrap();
            writer.finish(crate::common::interrupted()).unwrap();
            RunWriter::resume(&path, &session(2)).unwrap().finish(crate::common::end()).unwrap();
        }
    }
    std::fs::write(folder.path().join("c.kdyno"), "nothing").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "nothing").unwrap();
    let found = kdyno_store::list(folder.path()).unwrap();
    let stems: Vec<_> = found.runs.iter().map(|run| run.path.file_stem().unwrap().to_owned()).collect();
    assert_eq!(stems, ["b", "a"]);
    let [cut_off, resumed] = &found.runs[..] else { panic!("two runs") };
    assert_eq!((cut_off.sessions, &cut_off.end), (1, &None));
    assert_eq!((resumed.sessions, &resumed.end), (2, &Some(crate::common::end())));
    assert_eq!((resumed.started_unix_ns, resumed.trials_planned, resumed.trials_started), (2, Some(2), 1));
    assert_eq!((resumed.scenario.as_str(), resumed.profile.as_str()), ("fixture", "laptop"));
    assert_eq!((&resumed.target, &resumed.changed), (&None, &header().plan.changed));
    assert_eq!(resumed.run_id, header().run_id);
    assert_eq!(found.unreadable.len(), 1);
    assert!(matches!(found.unreadable[0].1, StoreError::NotARunFile { .. }));
    assert!(kdyno_store::list(&folder.path().join("none")).unwrap().runs.is_empty());
}

#[test]
fn an_import_joins_a_finished_run_and_replaces_an_earlier_one() {
    use kdyno_model::conclusion::{Conclusion, MetricRole};
    use kdyno_model::event::Subject;
    use kdyno_model::outcome::Judgement;
    use kdyno_model::sample::ProbeReading;
    use kdyno_store::{ImportedTrial, import};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    crate::common::write_run(&path).unwrap();
    let before = RunFile::open(&path).unwrap();
    let (own, judged) = (before.evidence(TRIAL).unwrap().probes, before.judgement().unwrap());
    drop(before);
    let subject = Subject::Imported("cloudwatch".to_owned());
    let imported = |values: &[f64]| {
        let reading = |(at_s, value): (i64, &f64)| ProbeReading {
            at_ns: at_s * 1_000_000_000,
            subject: subject.clone(),
            series: "ratio:CPU".to_owned(),
            value: *value,
        };
        let mut finding = judged.findings[0].clone();
        finding.scope = Scope::Trial(TRIAL);
        finding.of.subject = subject.to_string();
        let mut of_case = finding.clone();
        of_case.scope = Scope::Case(0);
        let verdict = judged.conclusions.iter().find_map(|one| match one {
            Conclusion::Verdict(verdict) => Some(verdict.clone()),
            _ => None,
        });
        let mut verdict = verdict.expect("one is there");
        (verdict.of, verdict.role) = (finding.of.clone(), MetricRole::Imported);
        let drawn = Judgement {
            findings: vec![finding, of_case],
            caveats: Vec::new(),
            conclusions: vec![Conclusion::Verdict(verdict)],
        };
        let readings = (0..).zip(values).map(reading).collect();
        (vec![ImportedTrial { trial: TRIAL, readings }], drawn)
    };
    for (values, replaced) in [(&[0.1, 0.2, 0.3][..], false), (&[0.4][..], true)] {
        let (trials, drawn) = imported(values);
        assert_eq!(import(&path, &subject, &trials, &drawn).unwrap(), replaced);
        assert_eq!(names(folder.path()), ["run.kdyno"], "one file, as before");
        let file = RunFile::open(&path).unwrap();
        let probes = file.evidence(TRIAL).unwrap().probes;
        let (theirs, ours): (Vec<_>, Vec<_>) = probes.into_iter().partition(|one| one.subject == subject);
        assert_eq!((theirs, ours), (trials[0].readings.clone(), own.clone()));
        let mut all = judged.clone();
        all.extend(drawn);
        assert_eq!(file.judgement().unwrap(), all, "what was there before is as it was");
    }
    assert!(import(&folder.path().join("no"), &subject, &[], &Judgement::default()).is_err());
}
