//! `limits.cpus`: a broker that may use half a processor uses no more, says so, and leaves no control group behind. What is left
//! of a run that is killed is in `faults`.

use crate::common::cgroups::{self, of_brokers};
use crate::common::turns::alone;
use crate::common::{RUN_DEADLINE, TestFolder};
use crate::fixture::{broken_rules, figure, judged, ran, start_scenario};
use kdyno_model::health::HealthRule;

const SCENARIO: &str = "\
kdyno: 1
id: limited
question: How much does half a CPU carry?
system: {kafka: newest, limits: {heap: 256MiB, cpus: 0.5}, metrics: none, jvm: QUICK_JVM}
topics: {perf: {partitions: 2, replicas: 1}}
load: {writers: {produce: perf, clients: 2, rate: max, value: 200B, client: {linger.ms: 0}}}
phases: {warmup: 2s, condition: none, measure: 6s, drain: 10s}
";

#[test]
fn a_broker_stays_within_its_cpu_limit_and_every_output_says_so() {
    let _turn = alone();
    if !cgroups::can_be_made() {
        eprintln!("skipped: no control group with a limit on CPU time can be made here (needs root)");
        return;
    }
    let place = TestFolder::new();
    let said = start_scenario(&place, SCENARIO).wait(RUN_DEADLINE);
    ran(&said);
    let document = place.show();
    let used = figure(&document, "brokers.cpu_percent");
    assert!((35.0..=52.0).contains(&used), "{used} % of a core");
    assert_eq!(document["trials"][0]["cluster"]["cpu_limit"], "0.5 CPUs");
    let caveats = document["caveats"].as_array().expect("caveats");
    assert!(caveats.iter().any(|caveat| caveat["kind"] == "processor-limited"), "{caveats:?}");
    let conclusions = document["conclusions"].as_array().expect("conclusions");
    let limit = conclusions.iter().find(|one| one["kind"] == "limit").expect("a limit");
    assert_eq!(limit["details"]["named"], "broker_processors", "{limit}");
    let broken = broken_rules(&judged(&place));
    assert_eq!(broken.first(), Some(&HealthRule::BrokerProcessors), "the first of {broken:?}");
    let plan = place.kdyno(&["show", "latest", "--plan"]);
    assert!(plan.stdout.contains("each broker limited to the time of 0.5 CPUs"), "{plan:?}");
    let page = std::fs::read_to_string(place.run_file().with_extension("html")).expect("a page");
    assert!(page.contains("0.5 CPUs"), "the page");
    let left = of_brokers();
    assert!(left.is_empty(), "{left:?}");
    place.expect_no_processes();
}
