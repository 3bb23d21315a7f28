//! What a plan makes of items that Kafka's Java client carries.

use crate::common::{asking, compared, comparing, facts, planned};
use kdyno_model::plan::{Driver, JavaClient, JavaDriver, LoadPlan, Partitioner, Role};
use kdyno_model::version::NEWEST;
use kdyno_plan::{Choices, PathCheck, estimate, plan};
use kdyno_scenario::Scenario;
use std::path::PathBuf;

/// A scenario with these keys of the writers and of the readers.
fn text(writers: &str, readers: &str) -> String {
    format!(
        "kdyno: 1\nid: base\nquestion: how much?\nparams: {{version: 3.9.2, driver: java, linger: 5ms}}\n\
         topics: {{t: {{partitions: 2}}}}\nload:\n  writers: {{produce: t, rate: 1k/s, value: 100B, {writers}}}\n  \
         readers: {{consume: t, {readers}}}\nphases: {{warmup: 5s, condition: none, measure: 10s}}\n"
    )
}

const USED: &str = "headers: {v: 1B}, clients: 1";

fn item(name: &str, writers: &str, readers: &str) -> LoadPlan {
    planned(&text(writers, readers), &Choices::default()).unwrap().cases[0].load[name].clone()
}

fn java(name: &str, writers: &str, readers: &str) -> JavaDriver {
    item(name, writers, readers).driver.as_java().unwrap().clone()
}

fn properties(client: &str) -> String {
    let java = java("writers", &format!("client: {{driver: java, {client}}}"), "clients: 1");
    java.properties.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

fn refused(writers: &str, readers: &str) -> String {
    planned(&text(writers, readers), &Choices::default()).expect_err(&format!("{writers} {readers}"))
}

/// As in Java a class of its own knows nothing of what came with 3.3, whatever precedes or follows it.
#[test]
fn old_partitioners_are_the_sticky_one_as_it_was() {
    let producer = |client: &str| {
        let writers = format!("key: {{sequential: {{of: 10}}}}, client: {{{client}}}");
        let Role::Produce(plan) = item("writers", &writers, "clients: 1").role else { panic!("it produces") };
        (plan.client.partitioner, plan.client.ignore_keys, plan.client.adaptive_partitioning)
    };
    let class = "partitioner.class: org.apache.kafka.clients.producer";
    assert_eq!(producer("acks: 1"), (Partitioner::Sticky, false, true));
    let uniform = format!("{class}.UniformStickyPartitioner, partitioner.ignore.keys: false");
    assert_eq!(producer(&uniform), (Partitioner::Sticky, true, false));
    let default = format!("partitioner.ignore.keys: true, {class}.internals.DefaultPartitioner");
    assert_eq!(producer(&default), (Partitioner::Sticky, false, false));
    // Java's own client is given the class.
    let uniform = format!("{class}.UniformStickyPartitioner");
    assert_eq!(
        properties(&uniform),
        "partitioner.class=org.apache.kafka.clients.producer.UniformStickyPartitioner"
    );
}

#[test]
fn the_default_is_the_native_client_and_for_java_its_newest() {
    assert_eq!(item("writers", USED, "clients: 1").driver, Driver::Native);
    assert_eq!(item("writers", "client: {driver: native, acks: 1}", "clients: 1").driver, Driver::Native);
    let newest = JavaDriver {
        client: JavaClient::Version(NEWEST.to_owned()),
        jvm: Vec::new(),
        properties: Default::default(),
    };
    assert_eq!(java("writers", "client: {driver: java}", "clients: 1"), newest);
    assert_eq!(java("readers", USED, "client: {driver: java, version: newest}"), newest);
}

/// What the workers take is next to nothing of what such a client does.
#[test]
fn the_cost_of_a_java_client_is_in_the_usual_table() {
    let costs = |writers: &str, readers: &str| {
        let plan = planned(&text(writers, readers), &Choices::default()).unwrap();
        let columns = plan.show.columns.into_iter().filter(|column| column.metric.starts_with("client_"));
        columns.map(|column| column.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(costs(USED, "clients: 1"), [""; 0]);
    let java = "client: {driver: java}";
    assert_eq!(costs(java, "clients: 1"), ["writers.client_cpu_us_per_record"]);
    assert_eq!(costs(USED, java), ["readers.client_cpu_us_per_record"]);
}

#[test]
fn a_java_client_is_a_release_or_a_path_next_to_the_scenario() {
    let client = |version: &str, file: &str| {
        let writers = format!("client: {{driver: $driver, version: {version}, jvm: [-Xmx1g, -Xss1m]}}");
        let scenario = Scenario::parse(&text(&writers, "clients: 1"), file).unwrap();
        let plan = plan(&scenario, &Choices::default()).unwrap();
        let java = plan.cases[0].load["writers"].driver.clone();
        assert_eq!(java.as_java().unwrap().jvm, ["-Xmx1g", "-Xss1m"]);
        (java.as_java().unwrap().client.clone(), java.to_string())
    };
    let release = JavaClient::Version("3.9.2".to_owned());
    assert_eq!(client("$version", "s.yaml"), (release, "java 3.9.2 -Xmx1g -Xss1m".to_owned()));
    let at = |path: &str| PathBuf::from(path);
    assert_eq!(client("{home: k}", "of/s.yaml").0, JavaClient::Home(at("of/k")));
    assert_eq!(client("{source: ../k}", "of/s.yaml").0, JavaClient::Source(at("of/../k")));
    assert_eq!(client("{jar: /k.jar}", "of/s.yaml").0, JavaClient::Jar(at("/k.jar")));
    assert_eq!(client("{jar: k.jar}", "s.yaml").0, JavaClient::Jar(at("k.jar")));
    assert_eq!(client("{jar: k.jar}", "s.yaml").1, "java k.jar -Xmx1g -Xss1m");
}

#[test]
fn a_java_client_that_is_not_there_is_refused_where_it_is_named() {
    let nothing = Choices { paths: PathCheck(|_| false), ..Choices::default() };
    let reported = |version: &str| {
        let writers = format!("client: {{driver: $driver, version: {version}}}");
        let scenario = Scenario::parse(&text(&writers, "clients: 1"), "of/s.yaml").unwrap();
        plan(&scenario, &nothing).map(|_| ()).map_err(|error| error.to_string())
    };
    for (version, sentence) in [
        ("{home: /nope}", "`home`: there is no folder /nope"),
        ("{source: ../k}", "`source`: there is no folder of/../k"),
        ("{jar: k.jar}", "`jar`: there is no file of/k.jar"),
    ] {
        let error = reported(version).expect_err(version);
        assert!(error.starts_with("of/s.yaml:7:") && error.contains(sentence), "{error}");
    }
    assert_eq!(reported("4.1.1"), Ok(()), "a release lies nowhere yet");
}

#[test]
fn settings_are_passed_on_in_javas_units() {
    assert_eq!(
        properties("acks: all, linger.ms: $linger, batch.size: 64KiB, buffer.memory: 64MiB, retries: 3"),
        "acks=all batch.size=65536 buffer.memory=67108864 linger.ms=5 retries=3"
    );
    // What kdyno's own client does not act on, or not so.
    assert_eq!(
        properties("connections.max.idle.ms: 1m, send.buffer.bytes: -1, interceptor.classes: 'a.B,c.D'"),
        "connections.max.idle.ms=60000 interceptor.classes=a.B,c.D send.buffer.bytes=-1"
    );
    assert_eq!(properties("partitioner.class: org.example.Mine"), "partitioner.class=org.example.Mine");
    assert_eq!(properties("partitioner.class: sticky, client.id: x"), "", "what is done anyway");
    assert_eq!(properties("fork.wait.ms: 2s, fork.mode: 2s"), "fork.mode=2s fork.wait.ms=2000");
    let group = "group: g, client: {driver: java, max.poll.records: 1k, partition.assignment.strategy: 'sticky, a.B'}";
    let java = java("readers", USED, group);
    let assignors = "org.apache.kafka.clients.consumer.StickyAssignor,a.B";
    assert_eq!(java.properties["partition.assignment.strategy"], assignors);
    assert_eq!(java.properties["max.poll.records"], "1000");
}

#[test]
fn the_plan_of_the_item_has_the_defaults_of_the_releases_line() {
    let client = |client: &str| {
        let Role::Produce(produce) = item("writers", &format!("client: {{{client}}}"), "clients: 1").role
        else {
            panic!("a producer")
        };
        produce.client
    };
    let old = client("driver: java, version: 2.8.1");
    assert_eq!((old.defaults.as_str(), old.acks, old.linger_ns), ("2.8", 1, 0));
    let new = client("driver: java, version: 4.1.1, batch.size: 64KiB");
    assert_eq!(
        (new.defaults.as_str(), new.acks, new.linger_ns, new.batch_bytes),
        ("4.1", -1, 5_000_000, 65_536)
    );
    let more = client("driver: java, enable.idempotence: false, max.in.flight.requests.per.connection: 9");
    assert_eq!((more.in_flight_max, more.enable_idempotence), (9, false));
}

#[test]
fn what_has_no_meaning_or_is_not_carried_is_refused() {
    for (writers, reported) in [
        (
            "client: {version: 4.1.1}",
            "`version` has a meaning only with `driver: java` | write `driver: java` next to it",
        ),
        ("client: {jvm: [-Xmx1g]}", "`jvm` has a meaning only with `driver: java`"),
        ("client: {driver: jvm}", "`driver`: `jvm` is none of"),
        ("client: {driver: java, defaults: '4.1'}", "`defaults` has no meaning with `driver: java`"),
        ("client: {driver: java, version: 4.1}", "`version`: `4.1` is not a Kafka version"),
        ("client: {driver: java, version: 4.1.0-SNAPSHOT}", "is not a release | write e.g. `4."),
        ("client: {driver: java, version: {home: a, jar: b}}", "takes exactly one key"),
        ("client: {driver: java, jvm: [Main]}", "`Main` is no option of Java | options begin with `-`"),
        (
            "client: {driver: java, jvm: [-Xms8m, -Xmx256q]}",
            "`jvm`: `-Xmx256q` says no size that Java takes | ",
        ),
        ("client: {driver: java, jvm: [-Xss]}", "`-Xss` says no size"),
        ("client: {driver: java, jvm: [-Xmx1gb]}", "`-Xmx1gb` says no size"),
        ("client: {driver: java}, payload: pooled", "does not support `payload: pooled`"),
        ("client: {driver: java}, payload: {pooled: 1MiB}", "does not support `payload: pooled`"),
        ("client: {driver: java, bootstrap.servers: 'a:1'}", "says how a cluster is reached"),
        ("client: {driver: java, ssl.fancy: x}", "`ssl.fancy` says how a cluster is reached"),
        ("client: {driver: java, sasl.jaas.config: x}", "says how a cluster is reached"),
        ("client: {driver: java, fetch.min.bytes: 1}", "is a setting of consumers"),
        ("client: {driver: java, retention.ms: 1}", "is a setting of topics"),
        ("client: {driver: java, transactional.id: x}", "`transactional.id` is not supported"),
        ("client: {driver: java, value.serializer: a.B}", "`value.serializer` is not supported as `a.B`"),
        ("client: {driver: java, linger.ms: 5KiB}", "`linger.ms`: `5KiB` is a size"),
        ("client: {driver: java, acks: some}", "`acks`: `some` is none of"),
        ("client: {driver: java, enable.metrics.push: maybe}", "is neither `true` nor `false`"),
        ("client: {driver: java, connections.max.idle.ms: long}", "`connections.max.idle.ms`"),
        ("client: {driver: java, 'a b': 1}", "cannot be the name of a Kafka setting"),
        ("client: {driver: $driver, lingr.ms: 1, 'line.text': \"a\\nb\"}", "one line"),
    ] {
        let error = refused(writers, "clients: 1");
        assert!(error.contains(reported), "{writers}: {error}");
    }
    let max =
        text("client: {driver: java}, fill: in-flight", "clients: 1").replace("rate: 1k/s", "rate: max");
    let error = planned(&max, &Choices::default()).expect_err("fill");
    assert!(error.contains("does not support `fill: in-flight`"), "{error}");
    for (readers, reported) in [
        ("client: {driver: java}, work: 1ms", "does not support `work`"),
        ("client: {driver: java}, work: {exponential: 1ms}", "does not support `work`"),
        ("client: {driver: java}, read: header", "does not support `read: header`"),
        ("client: {driver: java}, read: crc", "does not support `read: crc`"),
        ("client: {driver: java, auto.offset.reset: latest}", "`auto.offset.reset` is not supported"),
        ("client: {driver: java, group.id: g}", "`group.id` is not supported"),
        (
            "clients: 2, group: g, client: {driver: java, group.instance.id: x}",
            "`group.instance.id` must differ",
        ),
    ] {
        let error = refused(USED, readers);
        assert!(error.contains(reported), "{readers}: {error}");
    }
    let probe = text(USED, "clients: 1")
        .replace("readers: {consume: t, clients: 1}", "probe: {end_to_end: p, client: {driver: java}}")
        .replace("{t: {partitions: 2}}", "{t: {partitions: 2}, p: {partitions: 1}}");
    let error = planned(&probe, &Choices::default()).expect_err("a probe");
    assert!(error.contains("`client` is not in this version yet"), "{error}");
}

#[test]
fn sizes_are_taken_as_java_takes_them() {
    let sizes = "client: {driver: java, jvm: [-Xmx1G, -Xms0x10000000, -Xss262144, -Xmn9t]}";
    assert_eq!(
        java("writers", sizes, "clients: 1").jvm,
        ["-Xmx1G", "-Xms0x10000000", "-Xss262144", "-Xmn9t"]
    );
    let brokers = format!("{}system: {{jvm: [-Xmn64x]}}\n", text(USED, "clients: 1"));
    let error = planned(&brokers, &Choices::default()).expect_err("no size");
    assert!(error.contains("`jvm`: `-Xmn64x` says no size"), "{error}");
}

#[test]
fn an_unknown_setting_warns_with_the_nearest_and_is_passed_on() {
    let of = |client: &str| facts(&text(&format!("client: {{{client}}}"), "clients: 1"), &Choices::default());
    let (_, warnings) = of("driver: java, lingr.ms: 5, interceptor.classes: a.B");
    let reported = "`lingr.ms` of `writers` is no setting of Kafka's clients that kdyno knows: it is passed on as it is; \
                did you mean `linger.ms`?";
    let passed_on: Vec<_> = warnings.iter().filter(|text| text.contains("of `writers`")).collect();
    assert_eq!(passed_on, [reported]);
    // By the release: what it does not know, and what has no effect whatever carries the item.
    let (facts, _) =
        of("driver: java, version: 3.6.2, enable.metrics.push: false, client.id: x, metrics.num.samples: 9");
    assert!(facts.iter().any(|fact| fact.contains("from 3.7 on, not those of 3.6")), "{facts:?}");
    let idle: Vec<_> = facts.iter().filter(|fact| fact.contains("has no effect here")).collect();
    assert!(idle.len() == 1 && idle[0].starts_with("`client.id`"), "{facts:?}");
    let native = refused("client: {lingr.ms: 5}", "clients: 1");
    assert!(native.contains("`lingr.ms` is not a known client setting"), "{native}");
}

#[test]
fn driver_and_version_vary_by_params_and_by_sides() {
    let varied = "client: {driver: $driver, version: $version, jvm: [-Xmx1g], linger.ms: $linger}";
    let by_hand = |set: &[(&str, &str)]| {
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let plan = planned(&text(varied, "clients: 1"), &Choices { set, ..Choices::default() });
        plan.map(|plan| plan.cases[0].load["writers"].driver.to_string())
    };
    assert_eq!(by_hand(&[]).unwrap(), "java 3.9.2 -Xmx1g");
    assert_eq!(by_hand(&[("version", "4.1.1")]).unwrap(), "java 4.1.1 -Xmx1g");
    // Version and options are for the cases that have the Java client.
    assert_eq!(by_hand(&[("driver", "native"), ("version", "none")]).unwrap(), "native");
    assert!(by_hand(&[("version", "none")]).unwrap_err().contains("`none` is not a Kafka version"));

    let drivers = |a: &[&str], b: &[&str]| {
        let (plan, compare) = compared(&text(varied, "clients: 1"), &asking(comparing(a, b)));
        let of = |load: &std::collections::BTreeMap<String, LoadPlan>| load["writers"].driver.to_string();
        (of(&plan.cases[0].load), of(&compare.b[0].load), compare.changes.join("; "))
    };
    let reported = |a: &str, b: &str, changes: &str| (a.to_owned(), b.to_owned(), changes.to_owned());
    assert_eq!(
        drivers(&["version=3.9.1"], &["version=4.1.1"]),
        reported("java 3.9.1 -Xmx1g", "java 4.1.1 -Xmx1g", "version: 3.9.1 → 4.1.1")
    );
    assert_eq!(drivers(&["driver=native"], &["driver=java"]).0, "native");
    assert_eq!(
        drivers(&["load.writers.client.version=4.1.1"], &["load.writers.client.version.source=../kafka"]),
        reported(
            "java 4.1.1 -Xmx1g",
            "java built in ../kafka -Xmx1g",
            "load.writers.client.version: 4.1.1 → {source: ../kafka}"
        )
    );
    let (.., changes) =
        drivers(&["load.writers.client.linger.ms=0"], &["load.writers.client.linger.ms=20ms"]);
    assert_eq!(changes, "load.writers.client.linger.ms: 0 → 20ms");
}

#[test]
fn a_java_process_takes_time_to_start() {
    let expected_ns = |client: &str| {
        let plan =
            planned(&text(&format!("client: {{{client}}}"), "clients: 1"), &Choices::default()).unwrap();
        estimate(&plan).expected_ns
    };
    assert!(expected_ns("driver: java") > expected_ns("driver: native"));
}
