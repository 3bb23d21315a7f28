//! What the plan makes of `strimzi`.

use crate::common::{asking, compared, comparing};
use kdyno_model::plan::{
    KafkaSource, PairDesign, Plan, StrimziListener, StrimziPlan, StrimziVolume, SystemPlan,
};
use kdyno_plan::{Choices, FileReader, FoundFile, Next, check_stored};

const HEAD: &str = "kdyno: 1\nid: pods\nquestion: How much?\nparams: {memory: 4GiB}\n";
const LOAD: &str = "topics: {t: {partitions: 3}}\nload: {writers: {produce: t, rate: 10/s, value: 100B}}\n\
                    phases: {warmup: 5s, measure: 10s}\n";

fn files(_: &str, name: &str) -> Result<FoundFile, String> {
    let text = match name {
        "kafka.yaml" => "kind: Kafka\nspec: {kafka: {rack: {topologyKey: zone}}}\n---\nkind: KafkaNodePool\n",
        "topic.yaml" => "kind: Kafka\n---\nkind: KafkaTopic\n",
        "two.yaml" => "kind: Kafka\n---\nkind: Kafka\n",
        "bad.yaml" => "kind: Kafka\n---\nspec: {\n",
        _ => return Err("could not be read: no such file".to_owned()),
    };
    Ok(FoundFile { path: name.to_owned(), content: text.into() })
}

fn planned(system: &str) -> Result<Plan, String> {
    let text = format!("{HEAD}system: {{{system}}}\n{LOAD}");
    crate::common::planned(&text, &Choices { files: FileReader(files), ..Choices::default() })
}

fn made(system: &str) -> StrimziPlan {
    let plan = planned(system).expect("a plan");
    let SystemPlan::Strimzi(made) = &plan.cases[0].system else { panic!("by Strimzi") };
    made.clone()
}

#[test]
fn brokers_are_those_of_the_system_and_their_place_is_said_once() {
    let found = made(
        "kafka: 4.1.1, brokers: 3, config: {num.io.threads: 8}, limits: {heap: 2GiB, cpus: 2}, \
         strimzi: {namespace: kafka, cpu: 1.5, memory: $memory, storage: 100GiB, class: fast, listener: nodeport, wait: 20m}",
    );
    assert_eq!((&found.cluster.kafka, found.cluster.brokers), (&KafkaSource::Release("4.1.1".to_owned()), 3));
    assert_eq!((found.cluster.heap_bytes, found.cluster.cpu_limit), (2 << 30, Some(2.0)));
    assert_eq!((found.cpu_milli, found.memory_bytes, found.wait_s), (Some(1500), Some(4 << 30), 1200));
    assert_eq!(found.volume, Some(StrimziVolume { bytes: 100 << 30, class: Some("fast".to_owned()) }));
    assert_eq!((found.listener, found.namespace.as_deref()), (StrimziListener::Nodeport, Some("kafka")));
    let usual = made("strimzi: {}");
    assert_eq!((usual.listener, usual.volume, usual.wait_s), (StrimziListener::Internal, None, 600));
}

#[test]
fn its_starts_are_conditioned_as_those_of_a_local_cluster() {
    let plan = planned("strimzi: {}").expect("a plan");
    let Next::Trial(first) = kdyno_plan::next(&plan, &[], 1) else { panic!("a list has trials") };
    assert!(first.is_conditioning());
    let system = &plan.cases[0].system;
    assert!(system.starts_brokers() && !system.runs_here() && system.target().is_none());
    assert!(system.left_behind().is_some_and(|left| left.contains("kdyno kubernetes clean")));
}

#[test]
fn its_sides_take_turns_and_are_judged_by_what_clients_see() {
    let text = format!("{HEAD}system: {{strimzi: {{}}}}\n{LOAD}");
    let (_, compare) = compared(&text, &asking(comparing(&["brokers=1"], &["brokers=3"])));
    assert_eq!(compare.design, PairDesign::Turns);
    let judged: Vec<String> = compare.judge.iter().map(|judge| judge.of.to_string()).collect();
    assert_eq!(judged, ["writers.response.p50", "writers.response.p99"]);
}

#[test]
fn what_strimzi_has_not_is_refused() {
    for (system, wanted) in [
        ("mode: zookeeper, kafka: 3.9.1, strimzi: {}", "no ZooKeeper"),
        ("racks: [a], strimzi: {}", "no racks"),
        ("storage: memory, strimzi: {}", "write `storage` in `strimzi`"),
        ("kafka: null-broker, strimzi: {}", "a null broker has no place in Kubernetes"),
        ("listeners: {clients: {protocol: SASL_SSL, sasl: PLAIN}}, strimzi: {}", "one login"),
        ("strimzi: {namespace: A}", "`A` is no name of a namespace"),
        ("strimzi: {class: fast}", "`class` is of volumes"),
        ("strimzi: {memory: 1GiB}", "no room for the heap"),
        ("limits: {cpus: 1}, strimzi: {cpu: 2}", "`limits.cpus` lets a broker have 1"),
        ("strimzi: {listener: route}", "`listener`"),
        ("strimzi: {template: topic.yaml}", "neither a Kafka nor a KafkaNodePool"),
        ("strimzi: {template: two.yaml}", "more than one Kafka"),
        ("strimzi: {template: bad.yaml}", "the file `bad.yaml` is wrong in line"),
        ("strimzi: {template: none.yaml}", "no such file"),
    ] {
        let reported = planned(system).expect_err(system);
        assert!(reported.contains(wanted), "{system}: {reported}");
    }
}

#[test]
fn what_a_stranger_may_not_have_made_is_refused() {
    let own = planned("strimzi: {namespace: kafka, template: kafka.yaml}").expect("a plan");
    let stored = serde_json::to_value(&own).expect("JSON");
    let template = &stored["cases"][0]["system"]["strimzi"]["template"];
    assert_eq!(template[0]["spec"]["kafka"]["rack"]["topologyKey"], "zone");
    let plan: Plan = serde_json::from_value(stored).expect("a plan");
    let refused = check_stored(&plan).expect_err("it makes things in the user's cluster").to_string();
    assert!(refused.contains("makes brokers in your Kubernetes cluster"), "{refused}");
}
