//! What a stored plan may have. A run file may come from anybody: each test plants one thing in a plan as a stranger would.

use crate::common::target;
use kdyno_model::plan::Plan;
use kdyno_model::secret::SecretRef;
use kdyno_model::stacks::FlameKind;
use kdyno_plan::{Choices, check_stored, plan};
use kdyno_scenario::Scenario;
use serde_json::{Value, json};

/// One of each kind that a stored plan may have.
const TEXT: &str = "\
kdyno: 1
id: base
question: how much?
system:
  kafka: 4.1.1
  brokers: 3
  metrics: {mbeans: ['kafka.server:type=ReplicaManager,name=LeaderCount/Value']}
  jvm: ['-XX:+UseZGC', '-XX:MaxGCPauseMillis=20', -Xss512k]
  config: {num.io.threads: 8, compression.type: producer, auto.leader.rebalance.enable: false}
  quotas: {producer_byte_rate: 10MiB/s}
  zones: {brokers: [a, b, c], clients: [d], delay: 1ms}
topics: {t: {partitions: 2, config: {min.insync.replicas: 1, cleanup.policy: delete}}, probes: {partitions: 3}}
load:
  writers: {produce: t, rate: 1k/s, value: {uniform: {from: 100B, to: 200B}}, key: {zipf: {of: 100}}, zone: d}
  javas:
    produce: t
    rate: 1k/s
    value: 100B
    client: {driver: java, version: 4.1.1, jvm: [-Xmx256m], acks: all, linger.ms: 5, metrics.num.samples: 3}
  readers:
    consume: t
    group: g
    client: {client.rack: a}
  probes: {end_to_end: probes, rate: 100/s}
phases: {warmup: 5s, measure: 10s}
";

fn made(text: &str, choices: &Choices) -> Plan {
    plan(&Scenario::parse(text, "s.yaml").unwrap(), choices).unwrap()
}

/// The plan with something planted at a pointer. Objects on the way to it are made.
fn planted(pointer: &str, value: &Value) -> Plan {
    let mut stored = serde_json::to_value(made(TEXT, &Choices::default())).unwrap();
    let (above, last) = pointer.rsplit_once('/').unwrap();
    let above = stored.pointer_mut(above).unwrap_or_else(|| panic!("nothing at {above}"));
    match above {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value.clone(),
        above => above[last] = value.clone(),
    }
    serde_json::from_value(stored).unwrap_or_else(|error| panic!("{pointer}: {error}"))
}

fn refused(pointer: &str, value: &Value) -> String {
    let error =
        check_stored(&planted(pointer, value)).expect_err(&format!("{pointer}: {value} must not pass"));
    // Trust does not make a path of an id.
    let says_so = error.hint.is_some_and(|hint| hint.contains("--trust"));
    assert_eq!(says_so, pointer != "/scenario", "{pointer}");
    error.message
}

#[test]
fn what_scenarios_say_passes() {
    assert_eq!(check_stored(&made(TEXT, &Choices::default())), Ok(()));
    let flame = Choices { flame: Some(FlameKind::Cpu), ..Choices::default() };
    assert_eq!(check_stored(&made(TEXT, &flame)), Ok(()), "stacks are sampled again");
}

/// `retarget` puts the target's own in the place of what is stored.
#[test]
fn what_is_stored_of_a_target_is_not_looked_at() {
    let text = TEXT.replace("zone: d", "").replace(", }", "}");
    let choices =
        Choices { target: Some(target("there", "guard: {allow: [rate-max]}")), ..Choices::default() };
    let mut stored = made(&text, &choices);
    let secret = SecretRef::Exec(vec!["rm".to_owned()]);
    stored.cases[0].secrets.insert("pw".to_owned(), secret.clone());
    assert_eq!(check_stored(&stored), Ok(()));
    stored.cases[0].system = made(TEXT, &Choices::default()).cases[0].system.clone();
    assert!(check_stored(&stored).unwrap_err().message.starts_with("the stored plan takes secret `pw`"));
}

#[test]
fn nothing_is_started_or_opened() {
    let cluster = "/cases/0/system/local";
    let java = "/cases/0/load/javas/driver/java";
    for (pointer, value, words) in [
        (
            format!("{cluster}/jvm_options"),
            json!(["-XX:OnOutOfMemoryError=touch /tmp/owned"]),
            "gives the option `-XX:OnOutOfMemoryError=touch /tmp/owned` to a JVM (`cases.0.system.jvm_options`)",
        ),
        (format!("{cluster}/jvm_options"), json!(["-javaagent:/tmp/a.jar"]), "-javaagent"),
        (format!("{cluster}/jvm_options"), json!(["-XX:Flags=/tmp/f"]), "-XX:Flags"),
        (format!("{cluster}/jvm_options"), json!(["@/tmp/args"]), "@/tmp/args"),
        (format!("{cluster}/jvm_options"), json!(["-Xmx1g -javaagent:/tmp/a.jar"]), "-javaagent"),
        (format!("{cluster}/jvm_options"), json!(["-Xlog:gc:/etc/cron.d/x"]), "-Xlog"),
        (format!("{cluster}/jvm_options"), json!(["-XX:ParallelGCThreads=1 -XX:x"]), "gives the option"),
        (format!("{cluster}/kafka"), json!({"home": "/tmp/k"}), "starts what the folder `/tmp/k` holds"),
        (format!("{cluster}/kafka"), json!({"source": "/tmp/k"}), "starts what was built in `/tmp/k`"),
        (format!("{cluster}/kafka"), json!({"release": "../../x"}), "cannot be a release of Kafka"),
        (format!("{cluster}/kafka"), json!({"release": "4.1.1-/../x"}), "cannot be a release of Kafka"),
        (format!("{cluster}/storage"), json!({"dirs": ["/srv/mine"]}), "writes to `/srv/mine`"),
        (format!("{cluster}/racks"), json!(["a\nmetric.reporters=x"]), "cannot be a rack"),
        (format!("{cluster}/mbeans"), json!(["a:b=c\"\nrules: []/d"]), "a further attribute of an MBean"),
        (format!("{cluster}/mbeans"), json!(["a:*/d"]), "a further attribute of an MBean"),
        (format!("{cluster}/zones/brokers"), json!(["a/../b", "b"]), "cannot be the name of a zone"),
        (format!("{java}/jvm"), json!(["-XX:OnError=touch /tmp/x"]), "(`cases.0.load.javas.driver.jvm`)"),
        (format!("{java}/client"), json!({"home": "/tmp/k"}), "starts a Java client that lies here"),
        (format!("{java}/client"), json!({"source": "/tmp/k"}), "starts a Java client that lies here"),
        (format!("{java}/client"), json!({"jar": "/tmp/k.jar"}), "starts a Java client that lies here"),
        (format!("{java}/client"), json!({"version": "../4.1.1"}), "cannot be a release of kafka-clients"),
    ] {
        let message = refused(&pointer, &value);
        assert!(message.starts_with("the stored plan ") && message.contains(words), "{pointer}: {message}");
    }
}

/// Kafka loads classes, reads files and connects to hosts by settings.
#[test]
fn settings_are_numbers_switches_and_words_of_kafkas_own() {
    for (name, value) in [
        ("metric.reporters", "evil.Reporter"),
        ("authorizer.class.name", "evil.Authorizer"),
        ("config.providers", "file"),
        ("kafka.metrics.reporters", "kafka.metrics.KafkaCSVMetricsReporter"),
        ("log.dirs", "1"),
        ("ssl.keystore.location", "1"),
        ("listener.name.clients.sasl.enabled.mechanisms", "PLAIN"),
        ("zookeeper.connect", "10.0.0.1:2181"),
        ("remote.log.storage.manager.class.path", "/tmp/x.jar"),
        ("compression.type", "zstd\nmetric.reporters=x"),
        ("num.io.threads", "8\nmetric.reporters=x"),
        ("num.io.threads=1\nmetric.reporters", "1"),
        ("replica.selector.class", "evil.Selector"),
        ("num.io.threads", "${file:/etc/shadow:x}"),
    ] {
        let message = refused("/cases/0/system/local/config", &json!({name: value}));
        assert!(message.contains("sets `"), "{name}: {message}");
    }
    let message = refused("/cases/0/system/local/ignored", &json!({"a\u{1b}b": "secret"}));
    assert!(message.contains("cannot be the name of a setting"), "{message}");
    let config = "/cases/0/topics/t/config";
    refused(config, &json!({"remote.x": "/tmp/y"}));
    let rack_aware =
        json!({"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"});
    for value in
        [rack_aware, json!({"log.retention.ms": "-1"}), json!({"log.cleaner.io.buffer.load.factor": "0.9"})]
    {
        assert_eq!(check_stored(&planted("/cases/0/system/local/config", &value)), Ok(()), "{value}");
    }
    for (name, value) in [
        ("interceptor.classes", "evil.Interceptor"),
        ("metric.reporters", "evil.Reporter"),
        ("partitioner.class", "evil.Partitioner"),
        ("key.serializer", "evil.Serializer"),
        ("sasl.jaas.config", "com.sun.security.auth.module.JndiLoginModule required;"),
        ("ssl.truststore.location", "store"),
        ("security.providers", "evil.Provider"),
        ("sasl.kerberos.kinit.cmd", "touch"),
        ("bootstrap.servers", "10.0.0.1:9092"),
        ("config.providers", "file"),
        ("a.new.one", "1"),
        ("linger.ms", "5\nmetric.reporters=x"),
        ("client.id", "x"),
    ] {
        let message = refused("/cases/0/load/javas/driver/java/properties", &json!({name: value}));
        assert!(message.contains(&format!("as `{name}`")), "{message}");
    }
}

/// Topics, folders and files are named after these.
#[test]
fn names_pass_the_rules_of_scenarios() {
    for (pointer, value, words) in [
        ("/scenario", json!("x/../../../victim/index"), "cannot be the id of a scenario (`scenario`)"),
        ("/scenario", json!(""), "cannot be the id"),
        (
            "/cases/0/topics/..%2f",
            json!({"partitions": 1, "replicas": 1, "config": {}}),
            "the name of a topic",
        ),
        ("/cases/0/load/readers/topic", json!("u"), "cannot be a topic of its load"),
        ("/cases/0/load/writers/zone", json!("/etc"), "cannot be a zone of its clients"),
        ("/cases/0/load/readers/role/consume/group/name", json!("a/b"), "cannot be the name of a group"),
        ("/cases/0/load/readers/role/consume/rack", json!("a\u{7}"), "cannot be a rack"),
        (
            "/cases/0/load/readers/role/consume/group/id",
            json!("orders"),
            "commits offsets of the group `orders` (`cases.0.load.readers.group.id`)",
        ),
        ("/cases/0/load/writers/role/produce/client/defaults", json!("x"), "a version of Kafka's clients"),
    ] {
        let message = refused(pointer, &value);
        assert!(message.contains(words), "{pointer}: {message}");
    }
    let mut stored = made(TEXT, &Choices::default());
    let item = stored.cases[0].load.remove("readers").unwrap();
    stored.cases[0].load.insert("../x".to_owned(), item);
    assert!(check_stored(&stored).unwrap_err().message.contains("cannot be the name of a load item"));
}

#[test]
fn numbers_are_those_that_scenarios_may_have() {
    let item = "/cases/0/load/writers";
    let produce = format!("{item}/role/produce");
    for (pointer, value) in [
        ("/cases/0/system/local/brokers".to_owned(), json!(65)),
        ("/cases/0/system/local/brokers".to_owned(), json!(0)),
        ("/cases/0/system/local/heap_bytes".to_owned(), json!(1)),
        (
            "/cases/0/system/local/mode".to_owned(),
            json!({"kraft_controllers": {"controllers": 4_000_000_000_u32}}),
        ),
        ("/cases/0/system/local/cpus".to_owned(), json!([[4_000_000_000_u32]])),
        ("/cases/0/system/local/quotas/producer_bytes_per_s".to_owned(), json!(1)),
        ("/cases/0/system/local/quotas/request_percent".to_owned(), json!(-1.0)),
        ("/cases/0/system/local/quotas/producer_bytes_per_s".to_owned(), Value::Null),
        ("/cases/0/system/local/zones/brokers".to_owned(), json!([])),
        ("/cases/0/system/local/zones/link/delay_ns".to_owned(), json!(u64::MAX)),
        ("/cases/0/topics/t/partitions".to_owned(), json!(4_000_000_000_u32)),
        ("/cases/0/phases/measure_ns".to_owned(), json!(u64::MAX)),
        ("/cases/0/phases/drain_ns".to_owned(), json!(u64::MAX)),
        ("/cases/0/workers/0/shares".to_owned(), json!([])),
        ("/cases/0/workers".to_owned(), json!([])),
        (format!("{item}/clients"), json!(4_000_000_000_u32)),
        (format!("{item}/clients"), json!(0)),
        (format!("{item}/more_topics"), json!(["../x"])),
        (format!("{item}/more_topics"), json!(["t", "t", "t"])),
        (format!("{item}/span"), json!({"at_ns": u64::MAX})),
        (format!("{produce}/value_bytes"), json!(4_000_000_000_u32)),
        (format!("{produce}/payload"), json!({"pooled": {"pool_bytes": u64::MAX}})),
        (format!("{produce}/rate/open/pieces"), json!([])),
        (format!("{produce}/rate/open/pieces/0/from_per_s"), json!(-1.0)),
        (format!("{produce}/rate/open/pieces/0/to_per_s"), json!(1e300)),
        (format!("{produce}/transactions"), json!({"every_ns": 0, "abort_share": 0.0})),
        (format!("{produce}/transactions"), json!({"every_ns": 1_000_000, "records": 0, "abort_share": 0.0})),
        (format!("{produce}/records/values"), json!({"uniform": {"bytes_min": 2, "bytes_max": 1}})),
        (format!("{produce}/records/key"), json!({"numbered": {"law": "uniform", "of": 0, "bytes": 1}})),
        (format!("{produce}/records/tombstone_share"), json!(2.0)),
        (format!("{produce}/client/batch_bytes"), json!(0)),
        (format!("{produce}/client/buffer_bytes"), json!(u64::MAX)),
        (format!("{produce}/client/in_flight_max"), json!(0)),
        (format!("{produce}/client/acks"), json!(7)),
        (
            "/cases/0/load/readers/role/consume/work".to_owned(),
            json!({"zipf": {"least_ns": 1, "most_ns": u64::MAX, "exponent": 1.0}}),
        ),
        ("/cases/0/load/readers/role/consume/idle_ns".to_owned(), json!(u64::MAX)),
        ("/cases/0/load/readers/role/consume/fetch_bytes_max".to_owned(), json!(u32::MAX)),
        ("/strategy/list/0/case".to_owned(), json!(7)),
        ("/strategy/list/0/repeat".to_owned(), json!(0)),
        ("/probe".to_owned(), json!(vec!["sh"; 17])),
        ("/conditioning".to_owned(), json!({"least_ns": 2, "most_ns": 1})),
        ("/contrasts".to_owned(), json!([{"name": "x", "from": 0, "to": 9, "of": []}])),
    ] {
        refused(&pointer, &value);
    }
}

/// A worker finds a client's topic by dividing.
#[test]
fn topics_of_an_item_are_different_ones_that_share_its_clients() {
    for (item, clients, more, words) in [
        ("writers", 2, "t", "has a topic twice in a load item (`cases.0.load.writers.more_topics`)"),
        ("writers", 3, "probes", "has clients that its topics do not share evenly"),
        ("javas", 2, "probes", "has several topics where one is possible"),
        ("probes", 2, "t", "has several topics where one is possible"),
    ] {
        let mut stored = made(TEXT, &Choices::default());
        let plan = stored.cases[0].load.get_mut(item).unwrap();
        (plan.clients, plan.more_topics) = (clients, vec![more.to_owned()]);
        let message = check_stored(&stored).unwrap_err().message;
        assert!(message.contains(words), "{item}: {message}");
    }
}

#[test]
fn both_sides_of_a_comparison_pass_the_same_gate() {
    let text = format!("{TEXT}compare: {{A: {{}}, B: {{system: {{kafka: 4.0.0}}}}}}\n");
    let stored = made(&text, &Choices::default());
    assert_eq!(check_stored(&stored), Ok(()));
    let mut document = serde_json::to_value(&stored).unwrap();
    document["strategy"]["compare"]["b"][0]["system"]["local"]["jvm_options"] = json!(["-XX:OnError=x"]);
    let planted: Plan = serde_json::from_value(document.clone()).unwrap();
    let message = check_stored(&planted).unwrap_err().message;
    assert!(message.ends_with("(`strategy.compare.b.0.system.jvm_options`)"), "{message}");
    document["strategy"]["compare"]["b"] = json!([]);
    assert!(check_stored(&serde_json::from_value(document).unwrap()).is_err(), "a side without cases");
}
