//! Zones of a system and of load items, from a scenario's text to the plan.

use crate::common::as_written;
use kdyno_model::plan::{JitterLaw, LinkPlan, Plan, SystemPlan, ZonesPlan};

fn planned(params: &str, system: &str, zone: &str) -> Result<Plan, String> {
    let text = format!(
        "kdyno: 1\nid: apart\nquestion: What does a zone cost?\n{params}system: {{kafka: 4.1.1{system}}}\n\
         topics: {{t: {{partitions: 3}}}}\nload: {{writers: {{produce: t, rate: 10/s, value: 100B{zone}}}}}\n\
         phases: {{warmup: 5s, measure: 10s}}\n"
    );
    as_written(&text)
}

fn zones(plan: &Plan, case: usize) -> &ZonesPlan {
    let SystemPlan::Local(cluster) = &plan.cases[case].system else { panic!("a local cluster") };
    cluster.zones.as_ref().expect("zones")
}

#[test]
fn what_is_left_out_is_a_link_that_adds_nothing() {
    let plan = planned("", ", brokers: 3, zones: {brokers: [a], clients: [b]}", ", zone: b").expect("a plan");
    let link = LinkPlan { delay_ns: 0, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
    let wanted = ZonesPlan {
        brokers: vec!["a".to_owned()],
        clients: vec!["b".to_owned()],
        link,
        between_brokers: false,
    };
    assert_eq!(*zones(&plan, 0), wanted);
    assert_eq!(plan.cases[0].load["writers"].zone.as_deref(), Some("b"));
    let near = planned("", ", zones: {brokers: [a], clients: [b]}", "").expect("a plan");
    assert_eq!(near.cases[0].load["writers"].zone, None);
    assert!(planned("", "", ", zone: same").is_ok());
}

#[test]
fn a_delay_is_swept_like_anything_else() {
    let params = "params: {delay: 0ms, zone: b}\nvary: {delay: [0ms, 0.5ms, 2 ms]}\n";
    let system = ", brokers: 2, zones: {brokers: [a, b], delay: $delay, jitter: = delay / 10, jitter_law: normal, \
                  bandwidth: 100MiB/s, between_brokers: yes}";
    let plan = planned(params, system, ", zone: $zone").expect("a plan");
    let links: Vec<(u64, u64)> =
        (0..3).map(|case| zones(&plan, case).link).map(|link| (link.delay_ns, link.jitter_ns)).collect();
    assert_eq!(links, [(0, 0), (500_000, 50_000), (2_000_000, 200_000)]);
    let first = zones(&plan, 0);
    assert_eq!((first.link.bytes_per_s, first.link.jitter_law), (Some(100 << 20), JitterLaw::Normal));
    assert!(first.between_brokers);
}

#[test]
fn impossible_settings_are_refused_in_place_with_a_hint() {
    let refused = |system: &str, zone: &str| {
        let error = planned("", system, zone).expect_err("refused");
        assert!(error.starts_with("s.yaml:"), "{error}");
        error
    };
    for (system, zone, reported) in [
        ("", ", zone: b", "the system has no `zones`"),
        (", zones: {brokers: [a], clients: [zone-b]}", ", zone: zone-c", "did you mean `zone-b`?"),
        (", zones: {brokers: [a], clients: [b]}", ", zone: elsewhere", "allowed here: `a`, `b`, `same`"),
        (", zones: {brokers: [a]}", "", "`zones` are one"),
        (", zones: {brokers: []}", "", "is empty"),
        (", zones: {clients: [b]}", "", "lacks `brokers`"),
        (", zones: {brokers: [a, b]}", "", "more zones of brokers than there are brokers (1)"),
        (", zones: {brokers: [same], clients: [b]}", "", "means near every broker"),
        (", zones: {brokers: [a/b], clients: [b]}", "", "is no name of a zone"),
        (", racks: [r], zones: {brokers: [a], clients: [b]}", "", "a broker's rack is its zone"),
        (", zones: {brokers: [a], clients: [b], delay: 2s}", "", "is outside 0s to 1s"),
        (", zones: {brokers: [a], clients: [b], delay: 3}", "", "duration"),
        (
            ", zones: {brokers: [a], clients: [b], delay: 1ms, jitter: 2ms}",
            "",
            "`jitter` is more than `delay`",
        ),
        (", zones: {brokers: [a], clients: [b], delai: 1ms}", "", "did you mean `delay`?"),
        (", zones: {brokers: [a], clients: [b], jitter_law: gauss}", "", "is none of"),
        (", zones: {brokers: [a], clients: [b], bandwidth: 10MiB}", "", "not a size per second"),
        (", zones: {brokers: [a], clients: [b], bandwidth: 1B/s}", "", "is outside"),
        (", brokers: 3, zones: {brokers: [a, b], between_brokers: yes}", "", "two brokers are in zone `a`"),
        (", zones: {brokers: [a], clients: [b], between_brokers: yes}", "", "there is one broker"),
    ] {
        let error = refused(system, zone);
        assert!(error.contains(reported), "{system}{zone}: {error}");
    }
    let null = "kdyno: 1\nid: n\nquestion: Which?\nsystem: {kafka: null-broker, zones: {brokers: [a], clients: [b]}}\n\
                topics: {t: {partitions: 1}}\nload: {w: {produce: t, rate: 1/s, value: 100B}}\n\
                phases: {warmup: 5s, measure: 10s}\n";
    let error = as_written(null).unwrap_err();
    assert!(error.contains("a null broker has no zones"), "{error}");
}
