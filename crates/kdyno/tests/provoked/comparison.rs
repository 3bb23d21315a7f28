//! A comparison that is interrupted and goes on.

use crate::common::turns::beside_any;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{StoredFigures, brokers, compare, scenario};
use kdyno_fake_broker::tcp;
use kdyno_model::conclusion::Conclusion;
use rustix::process::Signal;
use std::collections::BTreeMap;

const LOAD: &str = "  writers: {produce: perf, rate: 200/s, value: 100B, client: {linger.ms: $linger}}\n";

/// Pairs that were finished stay, the one in the middle of which it ended is run again whole, and each pair has both of
/// its halves from one session.
#[test]
fn an_interrupted_comparison_does_not_repeat_finished_pairs() {
    let (_turn, place) = (beside_any(), TestFolder::new());
    let server = tcp::spawn(brokers(1, 1)).expect("a fake cluster");
    let text = scenario("params: {linger: 0ms}\n", LOAD, "warmup: 1s, measure: 1s, drain: 1s");
    let sides = ["--a", "linger=0ms", "--b", "linger=5ms", "--judge", "writers.acked_per_s:3%"];
    // Four pairs, so that one more than the fewest fits on a slow host.
    let sides = [&sides[..], &["--quick", "--budget", "59s"]].concat();
    let mut running = compare(&place, &server, &text, &sides);
    running.wait_for("trial 4");
    running.signal(Signal::INT);
    assert_eq!(running.wait(RUN_DEADLINE).code, Some(130));

    let target = place.path().join("target.yaml");
    let args = [
        "compare",
        "--resume",
        "latest",
        "--target",
        target.to_str().expect("plain path"),
        "--share",
        "--yes",
    ];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    let seen = StoredFigures::of(&place);
    let after = pairs(&seen);
    assert!((3..=4).contains(&after.len()), "{after:?}, {said:?}");
    assert!(after.values().all(|sessions| sessions.len() == 2 && sessions[0] == sessions[1]), "{after:?}");
    let of_first = after.iter().filter(|(_, sessions)| sessions[0] == 1).map(|(pair, _)| *pair);
    assert_eq!(of_first.collect::<Vec<_>>(), [1], "the finished one stays: {after:?}");
    let verdicts = seen.judgement.conclusions.iter().filter(|one| matches!(one, Conclusion::Verdict(_)));
    assert!(verdicts.count() > 0, "{said:?}");
    place.expect_no_processes();
}

/// Sessions of each pair's halves.
fn pairs(seen: &StoredFigures) -> BTreeMap<u32, Vec<u32>> {
    let mut pairs: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for start in seen.file.trials().expect("trials") {
        let pair = start.trial.pair.expect("half of a pair");
        pairs.entry(pair.pair).or_default().push(start.session);
    }
    pairs
}
