//! Limits on a real worker and real sockets, of the full table (`make test-matrix`): their sizes are tested in simulated time
//! (`crates/load/tests/streams/limits.rs`).

use crate::common::turns::alone;
use crate::common::{TestFolder, is_matrix};
use crate::fixture::{StoredFigures, brokers, provoke, scenario, used};
use kdyno_model::conclusion::LimitKind;

/// Answers take 20 ms: what a client has under way sets the rate, and the machine does next to nothing.
fn two_cases(place: &TestFolder, head: &str, client: &str, fill: &str) -> StoredFigures {
    let load = format!(
        "  writers: {{produce: perf, rate: max, fill: {fill}, value: 1000B, client: {{{client}}}}}\n"
    );
    let (said, seen) = provoke(
        place,
        brokers(1, 20),
        &scenario(head, &load, "warmup: 1s, measure: 4s, drain: 5s"),
        |_, _| (),
    );
    assert!(matches!(said.code, Some(0 | 6)), "{said:?}");
    seen
}

/// The trial whose case is labelled so.
fn trial(seen: &StoredFigures, label: &str) -> u32 {
    let trials = seen.file.trials().expect("trials");
    trials.iter().find(|start| start.trial.label == label).expect("a case of that label").trial.id.0
}

fn assert_doubled(seen: &StoredFigures, [once, twice]: [&str; 2], limit: LimitKind) {
    let (once, twice) = (trial(seen, once), trial(seen, twice));
    for trial in [once, twice] {
        let found = seen.limit(trial);
        assert!(used(found, limit) >= 0.8, "{found:?}");
        // Whatever else this machine does may have filled its processors.
        let is_full = found.evidence.iter().any(|one| {
            let are_processors = matches!(one.kind, LimitKind::BrokerProcessors | LimitKind::Generator);
            are_processors && one.used.is_some_and(|used| used >= 0.9)
        });
        assert!(found.named == limit || is_full, "{found:?}");
    }
    let ratio = seen.value(twice, "writers.acked_per_s") / seen.value(once, "writers.acked_per_s");
    assert!((1.5..2.5).contains(&ratio), "lifted to twice as much, the rate became {ratio} times as high");
}

#[test]
fn requests_in_flight_are_the_limit_and_twice_as_many_double_it() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    let head = "params: {in_flight: 1}\nvary: {in_flight: [1, 2]}\n";
    let client = "max.in.flight.requests.per.connection: $in_flight";
    let seen = two_cases(&place, head, client, "in-flight");
    assert_doubled(&seen, ["in_flight=1", "in_flight=2"], LimitKind::RequestsInFlight);
}

#[test]
fn the_client_buffer_is_the_limit_and_twice_its_size_doubles_it() {
    if !is_matrix() {
        return;
    }
    let (_turn, place) = (alone(), TestFolder::new());
    // Buffers of 16 batches and of 32, with room for many more requests.
    let head = "params: {buffer: 256KiB}\nvary: {buffer: [256KiB, 512KiB]}\n";
    let client = "buffer.memory: $buffer, max.in.flight.requests.per.connection: 200, enable.idempotence: false, linger.ms: 0";
    let seen = two_cases(&place, head, client, "buffer");
    assert_doubled(&seen, ["buffer=256KiB", "buffer=512KiB"], LimitKind::ClientBuffer);
}
