//! A window in which answers become slower.

use crate::common::turns::alone;
use crate::common::{TestFolder, is_matrix};
use crate::fixture::{MS, brokers, measured, provoke, scenario};
use kdyno_fake_broker::Service;
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::conclusion::{Steadiness, SteadyState, of_kind};
use kdyno_model::finding::Mark;

const PACED: &str = "  writers: {produce: perf, rate: 500/s, value: 100B, client: {linger.ms: 0}}\n";

/// In the full table: series like this one are judged in `analysis` (`steady`).
#[test]
fn answers_that_become_slower_in_the_window_make_it_unsteady() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    let phases = "warmup: 2s..4s, measure: 20s, drain: 5s";
    let (said, seen) = provoke(&place, brokers(1, 2), &scenario("", PACED, phases), |server, running| {
        measured(running);
        // It has just begun.
        let middle_ns = server.now_ns() + 9_000 * MS;
        let slow = Service::Fixed { delay_ns: 20 * MS };
        server.with(|cluster| {
            cluster.script().at(middle_ns).set_service(0, slow);
        });
    });
    assert!(matches!(said.code, Some(0 | 6)), "{said:?}");
    let of_writers = |caveat: &Caveat| matches!(caveat, Caveat::Unsteady { item, .. } if item == "writers");
    assert_eq!(seen.caveat(of_writers).severity, Severity::Warning);
    seen.caveat(|caveat| matches!(caveat, Caveat::WarmupNotSettled { .. }));
    let mut all = of_kind::<Steadiness>(&seen.judgement.conclusions);
    let state = &all.find(|one| one.item == "writers").expect("a conclusion").state;
    assert!(matches!(state, SteadyState::SeveralLevels { levels, .. } if levels.len() == 2), "{state:?}");
    assert!(seen.finding(1, "writers.response.p50").marks.contains(&Mark::SeveralLevels));
    assert!(!seen.finding(1, "writers.acked_per_s").marks.contains(&Mark::SeveralLevels));
}
