//! A link between zones that is declared to be narrow.

use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{figure_of, is_matrix, ran, start_scenario};

/// What is declared to be narrow is the limit, and twice as much of it handles twice as much. In the full table: what
/// is named of a full link is judged in `analysis` (`limit`).
#[test]
fn a_link_of_declared_bandwidth_is_the_limit() {
    if !is_matrix() {
        return;
    }
    let _turn = alone();
    let place = TestFolder::new();
    let text = "kdyno: 1\nid: narrow\nquestion: What is the limit?\nparams: {link: 2MB/s}\nvary: {link: [2MB/s, 4MB/s]}\n\
        system: {kafka: 4.1.1, limits: {heap: 256MiB}, jvm: QUICK_JVM, \
        zones: {brokers: [a], clients: [c], bandwidth: $link}}\n\
        topics: {perf: {partitions: 2}}\n\
        load: {writers: {produce: perf, rate: max, value: 16000B, zone: c, \
        client: {linger.ms: 0, max.in.flight.requests.per.connection: 5}}}\n\
        phases: {warmup: 3s, condition: none, measure: 10s, drain: 20s}\n\
        show: {columns: [writers.acked_mib_per_s]}\n";
    ran(&start_scenario(&place, text).wait(RUN_DEADLINE));
    let document = place.show();
    let limits = document["conclusions"].as_array().expect("conclusions").iter();
    let named: Vec<_> =
        limits.filter(|one| one["kind"] == "limit").map(|one| &one["details"]["named"]).collect();
    assert_eq!(named, ["link", "link"], "{}", document["conclusions"]);
    let [once, twice] = [0, 1].map(|case| figure_of(&document, case, "writers.acked_mib_per_s"));
    assert!((1.5..=2.0).contains(&once), "of 2 MB/s, 1.9 MiB/s: {once}");
    assert!((1.7..2.3).contains(&(twice / once)), "{once} {twice}");
    place.expect_no_processes();
}
