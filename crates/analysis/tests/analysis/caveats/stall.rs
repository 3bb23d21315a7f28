//! Stops by the instants of acknowledgements, and tails that are one event.

use crate::fixture::{MS, S, TrialFixture, WRITERS, histogram};
use kdyno_model::caveat::{Caveat, Severity, Stalled};
use kdyno_model::finding::Mark;
use kdyno_model::sample::{Counts, Grain, Phase, Timing};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::BTreeMap;

/// The clean trial with acknowledgements all the time but from one instant to another; what was due meanwhile is carried at
/// once afterwards.
fn stopped(from_ms: u64, to_ms: u64) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Second) {
        let second_ms = 1000 * u64::from(row.written_second);
        let (mut first, mut last) = (second_ms + 1, second_ms + 999);
        if (from_ms..to_ms).contains(&first) {
            first = to_ms;
        }
        if (from_ms..to_ms).contains(&last) {
            last = from_ms;
        }
        if first > second_ms + 999 || last < first {
            // Nothing came in this second: what is left of it comes when the stop is over.
            row.written_second = u32::try_from(to_ms / 1000).unwrap();
            continue;
        }
        row.counts.first_acknowledged_ns = Some(first * MS);
        row.counts.last_acknowledged_ns = Some(last * MS);
        // Half of what was due in the second in which it began was open at its end.
        if (from_ms..to_ms).contains(&(second_ms + 999)) {
            let open = row.counts.acknowledged / 2;
            row.counts.acknowledged -= open;
        }
    }
    trial
}

fn stalls(trial: &TrialFixture) -> Vec<Caveat> {
    let found = trial.reported(|found| matches!(found, Caveat::Stalled(_)));
    assert!(found.iter().all(|found| found.severity == Severity::Warning));
    found.into_iter().map(|found| found.caveat).collect()
}

/// A stop of 1.9 s begins and ends in seconds in which something is acknowledged.
#[test]
fn a_stop_is_as_long_as_the_gap_between_two_acknowledgements() {
    let [Caveat::Stalled(Stalled { seconds, at_s, .. })] = stalls(&stopped(5_050, 6_950))[..] else {
        panic!("no stall")
    };
    assert!((seconds - 1.9).abs() < 1e-9 && (at_s - 5.05).abs() < 1e-9, "{seconds} {at_s}");
    let [Caveat::Stalled(Stalled { seconds, .. })] = stalls(&stopped(5_050, 8_040))[..] else {
        panic!("no stall")
    };
    assert!((seconds - 2.99).abs() < 1e-9, "{seconds}");
    assert_eq!(stalls(&stopped(5_100, 6_090)), [], "less than a second");
    assert_eq!(stalls(&stopped(0, 0)), []);
    // Records that linger for as long explain it.
    let mut lingering = stopped(5_050, 6_950);
    lingering.writers().client.linger_ns = S;
    assert_eq!(stalls(&lingering), []);
}

/// A load that pauses: all that was offered was answered, and nothing waits.
#[test]
fn a_pause_of_the_load_is_no_stall() {
    let mut trial = stopped(5_050, 6_950);
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Second) {
        row.counts.offered = row.counts.acknowledged;
        if row.t0_second == 6 {
            (row.counts.offered, row.counts.acknowledged) = (0, 0);
        }
    }
    assert_eq!(stalls(&trial), []);
}

/// Two workers: one of them carries on, so the item does.
#[test]
fn an_item_is_stalled_when_all_of_its_streams_are() {
    let mut trial = stopped(5_050, 6_950);
    let mut other = trial.samples.clone();
    other.retain(|row| row.id == WRITERS && row.written_second == 5 && row.grain == Grain::Second);
    for mut row in other {
        row.written_second = 6;
        row.sequence += 1_000_000;
        row.counts.first_acknowledged_ns = Some(6_000 * MS);
        row.counts.last_acknowledged_ns = Some(6_100 * MS);
        trial.samples.push(row);
    }
    assert_eq!(stalls(&trial), []);
}

/// Response times of a window of so many seconds from second 2 on; these were slow.
fn slow_in(slow: &[u32], slow_records: u64) -> TrialFixture {
    let mut trial = TrialFixture::clean();
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Second) {
        let slow = if slow.contains(&row.t0_second) { slow_records } else { 0 };
        let counts = [(4 * MS, 1000 - slow), (700 * MS, slow)];
        row.histograms.insert(Timing::Response, histogram(&counts, 2));
    }
    let all: u64 = slow.len() as u64 * slow_records;
    for row in trial.samples.iter_mut().filter(|row| row.id == WRITERS && row.grain == Grain::Phase) {
        if row.histograms.contains_key(&Timing::Response) && row.t0_second > 2 {
            row.histograms.insert(Timing::Response, histogram(&[(4 * MS, 10_000 - all), (700 * MS, all)], 3));
        }
    }
    trial
}

#[test]
fn a_quantile_that_rests_on_few_seconds_is_marked_and_says_so() {
    let reported = |trial: &TrialFixture| trial.reported(|found| matches!(found, Caveat::FewSeconds(_)));
    let marked = |trial: &TrialFixture| trial.marked(Mark::FewSeconds);
    // 800 of 10,000 records in two seconds of ten.
    let trial = slow_in(&[7, 8], 400);
    let found = reported(&trial);
    let of = |caveat: &Caveat| match caveat {
        Caveat::FewSeconds(few) => (few.quantile.clone(), few.seconds, few.of_s, few.at_s),
        other => panic!("{other:?}"),
    };
    assert_eq!(found.len(), 1, "{found:?}");
    let (quantile, seconds, of_s, at_s) = of(&found[0].caveat);
    assert_eq!((seconds, of_s, at_s), (2, 10, 7));
    let marked_then = marked(&trial);
    assert!(marked_then.contains(&format!("writers.response.{quantile}")), "{marked_then:?}");
    assert!(!marked_then.contains("writers.response.p50") && !marked_then.contains("writers.response.max"));
    // As many in each second are the system's own tail.
    let even = slow_in(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11], 80);
    assert_eq!((reported(&even), marked(&even).len()), (vec![], 0));
    assert_eq!(reported(&slow_in(&[], 0)), []);
}

/// Records acknowledged, the first and the last instant of that, ns, and responses with how many records have each.
type Row = (u64, u64, u64, Vec<(u64, u64)>);

/// Windows of 10 s in which nothing happens but chance: Poisson arrivals, answers after 5 ms in the median with a lognormal
/// spread of 1.
#[test]
fn even_windows_have_neither_stalls_nor_tails_of_few_seconds() {
    let mut random = Pcg64::seed_from_u64(20_261_129);
    let mut normal = {
        let mut random = Pcg64::seed_from_u64(20_261_130);
        move || {
            let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        }
    };
    for per_s in [10.0, 20.0, 100.0, 1_000.0, 3_000.0] {
        for _ in 0..200 {
            let mut trial = TrialFixture::clean();
            trial.samples.retain(|row| row.id != WRITERS);
            let mut rows: BTreeMap<(u32, u32), Row> = BTreeMap::new();
            let mut offered: BTreeMap<u32, u64> = BTreeMap::new();
            let mut measured = Vec::new();
            let mut at_s = 0.0;
            loop {
                at_s += -(1.0 - random.random::<f64>()).ln() / per_s;
                if at_s >= 12.0 {
                    break;
                }
                let response_s = 0.005 * f64::exp(normal());
                let (intended, known) = (at_s as u32, ((at_s + response_s) * 1e9) as u64);
                let response_ns = (response_s * 1e9) as u64;
                *offered.entry(intended).or_default() += 1;
                let row = rows.entry((intended, (known / S) as u32)).or_insert((0, u64::MAX, 0, Vec::new()));
                (row.0, row.1, row.2) = (row.0 + 1, row.1.min(known), row.2.max(known));
                row.3.push((response_ns, 1));
                if intended >= 2 {
                    measured.push((response_ns, 1));
                }
            }
            for ((intended, written), (records, first, last, responses)) in rows {
                let phase = if intended < 2 { Phase::Warmup } else { Phase::Measure };
                let row = trial.push(WRITERS, Grain::Second, phase, intended, written);
                row.counts = Counts {
                    offered: offered.remove(&intended).unwrap_or(0),
                    acknowledged: records,
                    first_acknowledged_ns: Some(first),
                    last_acknowledged_ns: Some(last),
                    ..Counts::default()
                };
                row.histograms.insert(Timing::Response, histogram(&responses, 2));
            }
            let whole = trial.push(WRITERS, Grain::Phase, Phase::Measure, 12, 12);
            whole.histograms.insert(Timing::Response, histogram(&measured, 3));
            let is_reported = |found: &Caveat| matches!(found, Caveat::Stalled(_) | Caveat::FewSeconds(_));
            assert_eq!(trial.reported(is_reported), [], "{per_s}/s");
        }
    }
}
