//! When an application begins with which record, against what is reckoned by hand.

use super::*;
use kdyno_kafka::records::{
    BatchHeader, BodySum, Compression, HEADER_BYTES, batches, encode_record, write_batch_header,
};

const MS: u64 = 1_000_000;

fn application(work: WorkPlan, poll_records_max: u32) -> Application {
    Application {
        work: Some(ApplicationWork::new(work, 20_261_123)),
        poll_records_max: poll_records_max as usize,
        polls: None,
        does_decode: true,
        trailers: TrailerReader::new(7),
        wall_offset_ns: 0,
        at_once: AtOnce::default(),
        chunks: VecDeque::new(),
        arriving: WaitingRecords::default(),
        in_hand: 0,
        free_ns: 0,
        released: Vec::new(),
        is_members: false,
        read: Vec::new(),
    }
}

/// So many records of a partition come in one answer.
fn arrive(application: &mut Application, partition: i32, records: usize, now_ns: u64) {
    (0..records as i64).for_each(|offset| application.arriving.push((offset, UNREPORTED, 0)));
    application.end_of_answer(partition, now_ns);
}

/// What it begins with until now: partition and instant in ms.
fn begun(application: &mut Application, now_ms: u64) -> Vec<(i32, u64)> {
    let mut begun = Vec::new();
    loop {
        application.advance(now_ms * MS, |partition, one| begun.push((partition, one.at_ns / MS)));
        if application.is_at_work(now_ms * MS) || !application.poll() {
            return begun;
        }
    }
}

#[test]
fn records_are_processed_in_order_however_late_the_loop_is() {
    let mut application = application(WorkPlan::Constant { ns: 10 * MS }, 500);
    arrive(&mut application, 3, 2, 5 * MS);
    arrive(&mut application, 4, 1, 6 * MS);
    assert!(!application.is_at_work(6 * MS) && application.waiting() == 3);
    assert_eq!(begun(&mut application, 6), [(3, 5)], "as soon as it was there");
    assert!(application.is_at_work(6 * MS));
    assert_eq!((application.take_released(), application.next_deadline(6 * MS)), (vec![3], Some(15 * MS)));
    assert_eq!(begun(&mut application, 100), [(3, 15), (4, 25)], "as it would have been");
    assert_eq!((application.take_released(), application.waiting()), (vec![4], 0));
    assert!(!application.is_at_work(35 * MS) && application.next_deadline(35 * MS).is_none());
    arrive(&mut application, 4, 1, 36 * MS);
    assert_eq!(begun(&mut application, 36), [(4, 36)]);
}

#[test]
fn a_poll_takes_so_many_records_and_none_that_came_later() {
    let mut application = application(WorkPlan::Constant { ns: MS }, 3);
    arrive(&mut application, 0, 5, 0);
    arrive(&mut application, 1, 2, 4 * MS);
    assert_eq!(begun(&mut application, 0), [(0, 0)]);
    assert_eq!(application.take_released(), Vec::<i32>::new(), "two of the five are left for the next poll");
    assert_eq!(begun(&mut application, 2).len(), 2);
    assert_eq!(begun(&mut application, 3), [(0, 3)]);
    assert_eq!(application.take_released(), [0], "the second poll, at 3 ms, did not see what came at 4 ms");
    assert_eq!(begun(&mut application, 9), [(0, 4), (1, 5), (1, 6)]);
    assert_eq!(application.take_released(), [1]);
}

#[test]
fn who_leaves_at_work_begins_with_nothing_more() {
    let mut application = application(WorkPlan::Constant { ns: MS }, 500);
    arrive(&mut application, 0, 5, 0);
    assert_eq!(begun(&mut application, 1).len(), 2);
    assert_eq!(application.first_waiting(0), Some(2), "what a commit says is read on from");
    application.stop();
    assert_eq!((begun(&mut application, 9), application.waiting()), (vec![], 0));
}

#[test]
fn an_application_without_work_keeps_nothing() {
    let mut application = Application { work: None, ..application(WorkPlan::Constant { ns: 1 }, 500) };
    assert!(!application.is_at_work(0));
    assert_eq!((begun(&mut application, 9), application.waiting()), (vec![], 0));
}

/// Means of 100,000 draws are within five standard errors of the law's.
#[test]
fn work_takes_as_long_as_its_law_says() {
    let mean = |plan: WorkPlan| {
        let mut work = ApplicationWork::new(plan, 7);
        (0..100_000).map(|_| work.draw_ns() as f64).sum::<f64>() / 100_000.0
    };
    assert_eq!(mean(WorkPlan::Constant { ns: 1234 }), 1234.0);
    let exponential = mean(WorkPlan::Exponential { mean_ns: 2 * MS }) / (2 * MS) as f64;
    assert!((exponential - 1.0).abs() < 5.0 / 100_000f64.sqrt(), "{exponential}");
    let plan = WorkPlan::Zipf { least_ns: MS, most_ns: 100 * MS, exponent: 2.0 };
    assert_eq!(plan.multiples(), 100);
    // For k = 1 to 100 with weights k^-2: the mean is the sum of 1/k over that of 1/k².
    let (harmonic, squares) =
        (1..=100).fold((0.0, 0.0), |(one, two), k| (one + 1.0 / f64::from(k), two + 1.0 / f64::from(k * k)));
    assert!((plan.mean_ns() / (MS as f64 * harmonic / squares) - 1.0).abs() < 1e-12);
    // Its standard deviation is below 6.7 times the least.
    let zipf = (mean(plan) - plan.mean_ns()) / MS as f64;
    assert!(zipf.abs() < 5.0 * 6.7 / 100_000f64.sqrt(), "{zipf}");
}

#[test]
fn when_a_partition_goes_taken_records_stay_and_waiting_ones_go() {
    let mut application = application(WorkPlan::Constant { ns: MS }, 3);
    arrive(&mut application, 0, 5, 0);
    arrive(&mut application, 1, 2, 0);
    assert_eq!((application.first_waiting(0), application.first_waiting(1)), (Some(0), Some(0)));
    assert_eq!(begun(&mut application, 0), [(0, 0)]);
    assert_eq!(
        application.first_waiting(0),
        Some(1),
        "it has not begun with more, though the poll took three"
    );
    application.forget(0);
    assert_eq!((application.first_waiting(0), application.waiting()), (Some(1), 4));
    assert_eq!(begun(&mut application, 9), [(0, 1), (0, 2), (1, 3), (1, 4)]);
    assert_eq!((application.first_waiting(1), application.waiting()), (None, 0));
}

/// As tiny as records can be, a reply of 30 MB has 4 million of them: they take no memory each. Those that carry their
/// scheduled send time are 40 bytes at least, and take 8 here, or 32 while they wait.
#[test]
fn records_that_say_nothing_are_only_counted() {
    let (mut body, mut head) = (Vec::new(), [0; HEADER_BYTES]);
    (0..100_000).for_each(|offset| {
        encode_record(&mut body, offset, 0, None, if offset % 2 == 0 { b"" } else { b"x" })
    });
    let header = BatchHeader::plain(Compression::None, 100_000, 0, 0);
    write_batch_header(&mut head, &header, &BodySum::of(&body));
    let set = [head.as_slice(), &body].concat();
    let batch = batches(&set).next().expect("a batch").expect("a whole one");
    let mut at_once = Application { work: None, ..application(WorkPlan::Constant { ns: 1 }, 500) };
    let mut working = application(WorkPlan::Constant { ns: 1 }, 500);
    let mut scratch = Vec::new();
    for record in batch.records(&mut scratch, 0).expect("not compressed") {
        let record = record.expect("a record");
        at_once.record(0, &record);
        working.record(0, &record);
    }
    assert_eq!((at_once.at_once.intended_ns.capacity(), working.arriving.runs.len()), (0, 1));
    assert_eq!(at_once.take_at_once(5, |_| panic!("none tells when it was intended")), 100_000);
    assert_eq!(at_once.take_at_once(6, |_| {}), 0, "once");
    working.end_of_answer(0, 0);
    assert_eq!((working.waiting(), begun(&mut working, 0).len()), (100_000, 1));
}

#[test]
fn records_of_one_instant_come_out_as_they_went_in() {
    let mut queue = WaitingRecords::default();
    let records = [(3, 7, 1), (4, 7, 1), (5, 8, 1), (6, 8, 2), (9, 8, 2), (10, 8, 2), (11, 8, 2)];
    records.into_iter().for_each(|record| queue.push(record));
    assert_eq!((queue.records, queue.runs.len()), (7, 3));
    queue.truncate(6);
    assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), records[..6]);
    queue.push((1, 1, 1));
    queue.truncate(0);
    assert_eq!((queue.records, queue.runs.len(), queue.pop()), (0, 0, None));
}
