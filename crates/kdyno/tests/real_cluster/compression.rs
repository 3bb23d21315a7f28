//! Levels of compression: what a broker, which unpacks what it is sent, makes of them.

use crate::common::turns::with_others;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{figure, ran, start_scenario};

/// Items by what their producers are set to: the ends of each codec's range, and lz4's fast compressor.
const ITEMS: [(&str, &str); 7] = [
    ("gzip-1", "compression.type: gzip, compression.gzip.level: 1"),
    ("gzip-9", "compression.type: gzip, compression.gzip.level: 9"),
    ("lz4-1", "compression.type: lz4, compression.lz4.level: 1"),
    ("lz4-fast", "compression.type: lz4"),
    ("lz4-17", "compression.type: lz4, compression.lz4.level: 17"),
    ("zstd-least", "compression.type: zstd, compression.zstd.level: -131072"),
    ("zstd-22", "compression.type: zstd, compression.zstd.level: 22"),
];

#[test]
fn brokers_take_what_is_compressed_at_any_level() {
    let _turn = with_others();
    let place = TestFolder::new();
    let item = |(name, client): &(&str, &str)| {
        let shape = "produce: perf, clients: 1, rate: 200/s, value: 500B";
        format!("  {name}: {{{shape}, client: {{{client}, linger.ms: 100}}}}\n")
    };
    let load: String = ITEMS.iter().map(item).collect();
    let text = format!(
        "kdyno: 1\nid: levels\nquestion: Does it work?\n\
         system: {{kafka: 4.1.1, mode: kraft, brokers: 1, limits: {{heap: 256MiB}}, metrics: none, jvm: QUICK_JVM}}\n\
         topics: {{perf: {{partitions: 1, replicas: 1}}}}\nload:\n{load}\
         phases: {{warmup: 1s, condition: none, measure: 3s, drain: 10s}}\n\
         show: {{columns: [zstd-22.acked_per_s]}}\n"
    );
    let said = start_scenario(&place, &text).wait(RUN_DEADLINE);
    ran(&said);
    let plan = place.kdyno(&["show", "latest", "--plan"]);
    assert!(plan.stdout.contains("compression.lz4.level=17"), "{}", plan.stdout);
    let document = place.show();
    let of = |name: &str, metric: &str| figure(&document, &format!("{name}.{metric}"));
    for (name, _) in ITEMS {
        assert_eq!((of(name, "failed"), of(name, "unresolved")), (0.0, 0.0), "{name}");
        assert!(of(name, "acked_per_s") > 0.0, "{name}");
    }
    // Random capitals, in which there is nothing to find but how seldom their bytes are.
    let ratio = |name: &str| of(name, "compression_ratio");
    assert!(ratio("zstd-least") < 1.2 && ratio("zstd-22") > 1.4, "{}", ratio("zstd-least"));
    assert!(ratio("gzip-9") > 1.4 && ratio("lz4-17") < 1.2);
    place.expect_no_processes();
}
