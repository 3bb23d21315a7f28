//! Where rows are cut, and what is in each.

use super::*;

const LENGTHS: PhasesPlan =
    PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 3 * NS_PER_S / 2, drain_ns: NS_PER_S };

/// Rows as (grain, phase, second, offered), after a record at each of these instants, ms.
fn rows(
    mut recorder: Recorder,
    before: &[u64],
    start_ns: Option<u64>,
    after: &[u64],
) -> Vec<(Grain, Phase, u32, u64)> {
    let offer = |recorder: &mut Recorder, instants: &[u64]| {
        for at_ms in instants {
            recorder.tick(at_ms * 1_000_000);
            recorder.offered(at_ms * 1_000_000, 1);
        }
    };
    offer(&mut recorder, before);
    if let Some(start_ns) = start_ns {
        recorder.measure_begins(start_ns);
    }
    offer(&mut recorder, after);
    recorder.finish();
    let samples = recorder.take_samples().into_iter();
    samples.map(|row| (row.grain, row.phase, row.t0_second, row.counts.offered)).collect()
}

#[test]
fn rows_are_cut_where_the_phases_are() {
    let recorder = Recorder::new(StreamId::default(), 0, LENGTHS);
    let cut = rows(recorder, &[100, 1_900], Some(2 * NS_PER_S), &[1_950, 2_000, 3_499, 3_500, 9_000]);
    let seconds = [
        (Grain::Second, Phase::Warmup, 0, 1),
        (Grain::Second, Phase::Warmup, 1, 2),
        (Grain::Second, Phase::Measure, 2, 1),
        (Grain::Second, Phase::Measure, 3, 1),
        (Grain::Second, Phase::Drain, 3, 1),
        (Grain::Second, Phase::Drain, 9, 1),
    ];
    let ends = [(Phase::Warmup, 2), (Phase::Measure, 3), (Phase::Drain, 4)];
    let phases = ends.map(|(phase, second)| (Grain::Phase, phase, second, 0));
    assert_eq!(cut, [seconds.as_slice(), &phases].concat());
}

/// One row of each second says when its first and its last acknowledgement came, whatever their records' seconds are.
#[test]
fn each_seconds_row_has_its_first_and_last_acknowledgement() {
    const MS: u64 = 1_000_000;
    let mut recorder = Recorder::new(StreamId::default(), 7 * MS, LENGTHS);
    for (intended_ms, known_ms) in [(100, 250), (200, 900), (900, 1_100), (1_000, 1_100), (2_000, 4_321)] {
        let at = |ms: u64| (7 + ms) * MS;
        recorder.tick(at(known_ms));
        let (handed_ns, accepted_ns) = (at(intended_ms), at(intended_ms));
        let record =
            RecordInstants { intended_ns: at(intended_ms), handed_ns, accepted_ns, known_ns: at(known_ms) };
        recorder.sent(record, Weight::default());
    }
    let totals = recorder.finish();
    let rows = recorder.take_samples().into_iter().filter(|row| row.grain == Grain::Second);
    let instants = rows.filter_map(|row| {
        let Counts { first_acknowledged_ns, last_acknowledged_ns, .. } = row.counts;
        Some((row.written_second, first_acknowledged_ns? / MS, last_acknowledged_ns? / MS))
    });
    assert_eq!(instants.collect::<Vec<_>>(), [(0, 250, 900), (1, 1_100, 1_100), (4, 4_321, 4_321)]);
    assert_eq!((totals.first_acknowledged_ns, totals.last_acknowledged_ns), (None, None));
}

/// A load that is stopped in its warm-up: the phase has no announced end.
#[test]
fn a_warm_up_that_nothing_follows_ends_with_the_stream() {
    let recorder = Recorder::new(StreamId::default(), 0, LENGTHS);
    let rows = rows(recorder, &[100, 7_200], None, &[]);
    let last = rows.last().expect("rows");
    assert_eq!((rows.len(), *last), (3, (Grain::Phase, Phase::Warmup, 7, 0)));
}
