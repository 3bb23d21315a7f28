//! A broker's own file, and what becomes of each of its settings.

use crate::common::{asking, comparing, facts};
use kdyno_model::plan::{ClusterPlan, IgnoredSetting};
use kdyno_plan::{Choices, FileReader, FoundFile, check_stored};
use std::collections::BTreeMap;

/// What a company's broker has, with two settings that a release has removed.
const SERVER: &str = "\
process.roles=broker,controller
node.id: 7
listeners=SASL_SSL://broker-7.example:9092,\\
  CONTROLLER://broker-7.example:9093
log.dirs = /data/hunter2
ssl.keystore.password=hunter2
sasl.jaas.config=org.example.Module required password=\"hunter2\";
password.encoder.iterations=4096
password.encoder.secret=123456
delegation.token.secret.key=654321
delegation.token.max.lifetime.ms=1000
acme.api.token=123
authorizer.class.name=org.example.Authorizer
metric.reporters=org.example.Reporter
confluent.balancer.enable=true
remote.log.storage.system.enable=true
num.io.threads=16
log.retention.ms=-1
auto.create.topics.enable=FALSE
compression.type=\\u007astd
inter.broker.protocol.version=3.7
";

const COMPOSE: &str = "\
services:
  one: {environment: {KAFKA_NODE_ID: 1, KAFKA_NUM_IO_THREADS: '5', KAFKA_SSL_KEYSTORE_PASSWORD: hunter2}}
  two: {environment: [KAFKA_NUM_IO_THREADS=6]}
";

fn files(scenario: &str, name: &str) -> Result<FoundFile, String> {
    let text = match name {
        "server.properties" => SERVER,
        "other.properties" => "node.id=8\nnum.io.threads=17\n",
        "compose.yaml" => COMPOSE,
        "kafka.env" => "KAFKA_NUM_IO_THREADS=7\nKAFKA_HEAP_OPTS=-Xmx9g\n",
        "replicated.properties" => "offsets.topic.replication.factor=3\nnum.io.threads=1\n",
        "consumer.properties" => "group.id=hunter2\nfetch.min.bytes=1\n",
        "wrong.properties" => {
            "num.io.threads=8\nlog.segment.bytes=1GiB\nhunter2ZXQ==\nlog.retention.ms=${HUNTER2}\nHunter2.x=1\n"
        }
        "escape.properties" => "num.io.threads=8\na.b=\\uhunter2\n",
        _ => return Err("could not be read: no such file".to_owned()),
    };
    assert!(scenario.is_empty() || scenario == "s.yaml", "{scenario}");
    Ok(FoundFile { path: name.to_owned(), content: text.into() })
}

fn choices() -> Choices {
    Choices { files: FileReader(files), ..Choices::default() }
}

fn text(kafka: &str, config: &str) -> String {
    format!(
        "kdyno: 1\nid: base\nquestion: how much?\nparams: {{file: server.properties}}\n\
         system: {{kafka: {kafka}, config: {{{config}}}}}\ntopics: {{t: {{partitions: 2}}}}\n\
         load: {{w: {{produce: t, rate: 1k/s, value: 1KiB}}, r: {{consume: t, group: g}}}}\nphases: {{measure: 10s}}\n"
    )
}

fn cluster(kafka: &str, config: &str) -> ClusterPlan {
    let plan = crate::common::planned(&text(kafka, config), &choices()).unwrap();
    assert_eq!(check_stored(&plan), Ok(()), "it can be run again by anybody");
    assert!(!serde_json::to_string(&plan).unwrap().contains("hunter2"), "{plan:?}");
    plan.cases[0].system.cluster().expect("a local cluster").clone()
}

fn refused(config: &str) -> String {
    let refused = crate::common::planned(&text("4.1.1", config), &choices()).unwrap_err();
    assert!(!refused.to_lowercase().contains("hunter2"), "{refused}");
    refused
}

fn pairs(cluster: &ClusterPlan) -> Vec<String> {
    cluster.config.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn what_a_broker_is_tuned_by_is_taken_and_the_rest_is_named() {
    use IgnoredSetting::{OfListeners, OfPlugin, OtherValue, Removed, Secret, SetByKdyno};
    let newest = cluster("4.1.1", "file: server.properties");
    let taken = [
        "auto.create.topics.enable=false",
        "compression.type=zstd",
        "delegation.token.max.lifetime.ms=1000",
        "log.retention.ms=-1",
        "num.io.threads=16",
    ];
    assert_eq!(pairs(&newest), taken);
    let ignored = [
        ("acme.api.token", Secret),
        ("authorizer.class.name", OfListeners),
        ("confluent.balancer.enable", OfPlugin),
        ("delegation.token.secret.key", Secret),
        ("inter.broker.protocol.version", Removed(4, 0)),
        ("listeners", SetByKdyno),
        ("log.dirs", SetByKdyno),
        ("metric.reporters", OtherValue),
        ("node.id", SetByKdyno),
        ("password.encoder.iterations", Removed(4, 0)),
        ("password.encoder.secret", Removed(4, 0)),
        ("process.roles", SetByKdyno),
        ("remote.log.storage.system.enable", OfPlugin),
        ("sasl.jaas.config", Secret),
        ("ssl.keystore.password", Secret),
    ];
    assert_eq!(newest.ignored, BTreeMap::from(ignored.map(|(name, why)| (name.to_owned(), why))));
    let older = cluster("3.7.2", "file: $file");
    assert_eq!(older.config["inter.broker.protocol.version"], "3.7");
    assert_eq!(older.ignored["password.encoder.secret"], Secret);
    assert!(!older.config.values().any(|value| value == "123456"), "{older:?}");
}

#[test]
fn settings_next_to_the_file_replace_those_in_it() {
    let found = cluster(
        "4.1.1",
        "file: server.properties, num.io.threads: 2, metric.reporters: 'true', log.retention.ms: 5m",
    );
    let expected = [
        "auto.create.topics.enable=false",
        "compression.type=zstd",
        "delegation.token.max.lifetime.ms=1000",
        "log.retention.ms=300000",
    ];
    assert_eq!(pairs(&found), [&expected[..], &["metric.reporters=true", "num.io.threads=2"]].concat());
    assert!(!found.ignored.contains_key("metric.reporters"), "{:?}", found.ignored);
}

#[test]
fn variables_of_a_compose_file_are_settings_too() {
    let found = cluster("4.1.1", "file: compose.yaml, service: one");
    assert_eq!(pairs(&found), ["num.io.threads=5"]);
    assert_eq!(found.ignored.keys().collect::<Vec<_>>(), ["node.id", "ssl.keystore.password"]);
    assert_eq!(pairs(&cluster("4.1.1", "file: compose.yaml, service: two")), ["num.io.threads=6"]);
    assert_eq!(pairs(&cluster("4.1.1", "file: kafka.env")), ["num.io.threads=7"]);
    assert!(
        refused("file: compose.yaml").contains("several services with `KAFKA_…` variables: `one`, `two`")
    );
    assert!(refused("service: one").contains("`service` is of a compose file, and `config` names none"));
}

#[test]
fn all_mistakes_of_a_file_have_their_lines_and_no_value() {
    let found = refused("file: wrong.properties");
    for words in [
        "s.yaml:5:",
        "the file `wrong.properties` is wrong: line 2 sets `log.segment.bytes` to what is no number: there Kafka takes no unit; \
         line 3 begins with no name of a setting",
        "line 4 sets `log.retention.ms` to what is no number: there Kafka takes no unit; `docker compose config` fills",
        "line 5 begins with no name",
    ] {
        assert!(found.contains(words), "no {words:?} in {found}");
    }
    assert!(
        refused("file: escape.properties")
            .contains("is wrong in line 2: a `\\u` without four hexadecimal digits")
    );
    assert!(
        refused("file: none.properties")
            .contains("the file `none.properties` could not be read: no such file")
    );
    let of_client = refused("file: consumer.properties");
    assert!(of_client.contains("is a client's: line 1 sets `group.id`"), "{of_client}");
    assert!(refused("file: server.properties, listeners: x").contains("kdyno writes `listeners` itself"));
    let scalar = text("4.1.1", "x").replace("{x}", "server.properties");
    let scalar = crate::common::planned(&scalar, &choices()).unwrap_err();
    assert!(scalar.contains("`config` takes a map, not a single value"), "{scalar}");
}

#[test]
fn a_factor_above_the_broker_count_says_what_to_write() {
    let found = refused("file: replicated.properties");
    assert!(
        found.contains(
            "`offsets.topic.replication.factor` is 3, but the cluster has 1 broker: `r` needs a group"
        ),
        "{found}"
    );
    let hint = "start 3 brokers, or write `offsets.topic.replication.factor: 1` next to `file`";
    assert!(found.ends_with(hint), "{found}");
    let config = "file: replicated.properties, offsets.topic.replication.factor: 1";
    assert_eq!(pairs(&cluster("4.1.1", config)).len(), 2);
}

#[test]
fn each_ignored_setting_is_a_note_of_the_dry_run() {
    let (found, _) = facts(&text("4.1.1", "file: server.properties"), &choices());
    let notes: Vec<&String> =
        found.iter().filter(|note| note.contains("of the brokers' file is ignored: ")).collect();
    assert_eq!(notes.len(), 15, "{found:?}");
    for note in [
        "`inter.broker.protocol.version` of the brokers' file is ignored: Kafka 4.0 removed it",
        "`log.dirs` of the brokers' file is ignored: kdyno sets it itself: use `storage`",
    ] {
        assert!(found.iter().any(|found| found == note), "no {note:?} in {found:?}");
    }
    assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
}

#[test]
fn the_sides_of_a_comparison_may_have_a_file_each() {
    let ask = comparing(&["system.config.file=server.properties"], &["system.config.file=other.properties"]);
    let ask = Choices { files: FileReader(files), ..asking(ask) };
    let (plan, compare) = crate::common::compared(&text("4.1.1", ""), &ask);
    assert_eq!(compare.changes, ["system.config.file: server.properties → other.properties"]);
    let threads = |case: &kdyno_model::plan::CasePlan| {
        case.system.cluster().expect("local").config["num.io.threads"].clone()
    };
    assert_eq!([threads(&plan.cases[0]), threads(&compare.b[0])], ["16", "17"]);
    assert_eq!(check_stored(&plan), Ok(()));
}
