//! Courses over time come back as they were drawn; where none are, or none of this form, there are the rows.

use crate::common::{LATER_TRIAL, TRIAL};
use kdyno_model::event::Subject;
use kdyno_model::finding::Value;
use kdyno_model::metric::Unit;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::RoleKind;
use kdyno_model::sample::Phase;
use kdyno_model::series::{
    CpuPoint, CpuSeries, HeatColumn, HeatMap, ImportedPoint, ImportedSeries, Outcomes, QuantilePoint,
    Resource, ResourcePoint, ResourceSeries, SecondPoint, StreamSeries, TrialSeries,
};
use kdyno_model::worker::PhaseSpan;
use kdyno_store::{RunFile, RunWriter, StoreError};
use std::path::Path;

fn second(second: u32) -> SecondPoint {
    SecondPoint {
        second,
        phase: Phase::Measure,
        offered: 1,
        achieved: 2,
        acknowledged: 3,
        fetched: 4,
        failed: 5,
        open_records: Some(6),
        lag_records: Value::None,
        lag_ns: Value::Is(0.1),
        response_ns_p50: Value::Is(7e6),
        response_ns_p99: Value::AtLeast(8e6),
        response_ns_max: Value::AtLeast(9e6),
        end_to_end_ns_p50: Value::None,
        end_to_end_ns_p99: Value::None,
        end_to_end_ns_max: Value::None,
    }
}

/// Something of each type that is stored.
fn series(seconds: u32) -> TrialSeries {
    let heat = HeatMap {
        seconds: 1,
        edges_ns: vec![1e6, 2e6],
        columns: vec![HeatColumn { second: 3, records: vec![4], unfinished: 5 }],
    };
    let stream = StreamSeries {
        name: "writers".to_owned(),
        role: RoleKind::Produce,
        seconds: (0..seconds).map(second).collect(),
        percentiles: vec![QuantilePoint { quantile: 0.5, ns: Value::Is(7e6) }],
        service_percentiles: Vec::new(),
        end_to_end_percentiles: Vec::new(),
        outcomes: Outcomes { kept: 1, failed: 2, unseen: 3 },
        end_to_end_outcomes: Outcomes::default(),
        heat,
        end_to_end_heat: HeatMap::default(),
    };
    let (subject, points) = (Subject::Broker(1), vec![ResourcePoint { at_s: -0.5, value: 1e9 }]);
    let points_of_others = vec![ImportedPoint { at_s: 2.5, value: f64::NAN }];
    TrialSeries {
        trial: TRIAL,
        label: "brokers=3 #1".to_owned(),
        phases: vec![PhaseSpan { phase: Phase::Measure, start_ns: 1, end_ns: u64::MAX }],
        streams: vec![stream],
        cpu: vec![CpuSeries {
            subject: subject.clone(),
            points: vec![CpuPoint { at_s: 1.0, percent: 80.0 }],
        }],
        resources: vec![ResourceSeries { subject: subject.clone(), resource: Resource::Heap, points }],
        imported: vec![ImportedSeries {
            subject,
            name: "x".to_owned(),
            unit: Unit::Ns,
            points: points_of_others,
        }],
    }
}

/// As text, in which a NaN is like another one.
fn reported(series: Option<TrialSeries>) -> String {
    format!("{series:?}")
}

fn write(path: &Path, series: TrialSeries) {
    let writer = RunWriter::create(path, &crate::common::header(), &crate::common::session(1)).unwrap();
    crate::common::write_session(&writer).unwrap();
    writer.course(series).unwrap();
    writer.finish(crate::common::end()).unwrap();
}

fn sql(path: &Path, text: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(text).unwrap();
}

#[test]
fn they_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path, series(3));
    let file = RunFile::open(&path).unwrap();
    assert_eq!(reported(file.course(TRIAL).unwrap()), reported(Some(series(3))));
    assert!(file.course(LATER_TRIAL).unwrap().is_none());
    crate::common::assert_session(&file).unwrap();
}

/// Their form is that of the types they are made of. If this is another one, so must be `FORM` in `courses.rs`.
#[test]
fn their_form_is_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path, series(1));
    let connection = rusqlite::Connection::open(&path).unwrap();
    let packed: Vec<u8> = connection.query_row("SELECT packed FROM course", [], |row| row.get(0)).unwrap();
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::DeflateDecoder::new(&packed[5..]), &mut plain).unwrap();
    let reported: String = plain.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        reported,
        "01010c62726f6b6572733d33202331010201ffffffffffffffffff010107777269746572730001000201020304050106\
         02009a9999999999b93f0000000000f0b35a41010000000080845e410100000000882a614102020201000000000000e0\
         3f0000000000f0b35a41000001020300000001020000000080842e410000000080843e41010301040500000001086272\
         6f6b65722d3101000000000000f03f0000000000005440010862726f6b65722d310301000000000000e0bf0000000065\
         cdcd41010862726f6b65722d31017806010000000000000440000000000000f87f"
    );
}

#[test]
fn those_of_another_form_are_none_and_damaged_ones_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path, series(3));
    // Plain forms of one byte: form 2, and form 1 with nothing behind it.
    sql(&path, "UPDATE course SET packed = x'000000000102'");
    assert!(RunFile::open(&path).unwrap().course(TRIAL).unwrap().is_none());
    for damaged in ["000000000101", "01ffffffff00", "01"] {
        sql(&path, &format!("UPDATE course SET packed = x'{damaged}'"));
        let error = RunFile::open(&path).unwrap().course(TRIAL).unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
}

#[test]
fn what_is_too_large_is_not_stored_and_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path, series(400_000));
    assert!(RunFile::open(&path).unwrap().course(TRIAL).unwrap().is_none());
}

#[test]
fn an_import_and_another_try_take_them_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    write(&path, series(3));
    kdyno_store::import(&path, &Subject::Imported("x".to_owned()), &[], &Judgement::default()).unwrap();
    assert!(RunFile::open(&path).unwrap().course(TRIAL).unwrap().is_none());
    let writer = RunWriter::resume(&path, &crate::common::session(2)).unwrap();
    writer.course(series(3)).unwrap();
    writer.forget(TRIAL).unwrap();
    writer.finish(crate::common::end()).unwrap();
    assert!(RunFile::open(&path).unwrap().course(TRIAL).unwrap().is_none());
}
