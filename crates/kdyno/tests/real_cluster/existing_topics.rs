//! Topics of somebody else's, and a user who may write and read them and nothing more.

use crate::common::turns::with_others;
use crate::common::{QUICKLY, RUN_DEADLINE, TestFolder};
use crate::fixture::{GUARD_OF_CLUSTER, client_properties, ended, evidences, files, kafka_tool, ran, totals};
use kdyno_kafka::admin::{Access, Acl, AclResource, Admin, Operation};
use kdyno_kafka::security::sasl::scram::{Hash, ITERATIONS_MIN};
use kdyno_kafka::security::{ConnectionSecurity, Hidden};
use kdyno_model::properties::Properties;
use kdyno_model::version::NEWEST;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

const USER: &str = "guest";
const PASSWORD: &str = "guest-may-do-little";
/// What is in the topic that values are drawn from.
const VALUES: u64 = 300;

const LOAD: &str = "\
kdyno: 1
id: small
question: Does it work?
topics:
  perf: {partitions: 2, replicas: 1}
  theirs: {partitions: 1, replicas: 1}
load:
  writers: {produce: perf, clients: 2, rate: 200/s, value: {sample: {topic: theirs, mean: 25B}}}
  readers: {consume: perf}
phases: {warmup: 1s, condition: none, measure: 4s, drain: 20s}
show: {columns: [writers.acked_per_s]}
";

/// The address of the listener at which brokers talk to each other: it is PLAINTEXT, and its clients may do all.
fn internal_address(place: &TestFolder) -> String {
    let settings = files(place, "server.properties");
    let text = std::fs::read(settings.first().expect("settings of a broker")).expect("settings");
    let all = Properties::parse(&text).expect("properties");
    let listeners = all.get("advertised.listeners").expect("listeners");
    let internal = listeners.split(',').find_map(|one| one.strip_prefix("INTERNAL://"));
    internal.expect("an address").to_owned()
}

/// Makes two topics, and a user who may write to one and read both. Nothing else is allowed to it: neither to make topics nor
/// to see settings.
fn make_topics_and_user(admin: &mut Admin) {
    let password = Hidden::new(PASSWORD.as_bytes().to_vec());
    let iterations = NonZeroU32::new(ITERATIONS_MIN).expect("more than 0");
    let salted_with: (&[u8], NonZeroU32) = (b"as good as any for a test", iterations);
    admin.set_scram_password(USER, Hash::Sha512, &password, salted_with).expect("a user");
    let acl = |(name, operation): (&str, Operation)| Acl {
        principal: format!("User:{USER}"),
        resource: AclResource::Topic,
        name: name.to_owned(),
        is_prefix: false,
        operation,
    };
    let all = [("orders", Operation::Write), ("orders", Operation::Read), ("samples", Operation::Read)];
    admin.create_acls(&all.map(acl)).expect("access control lists");
    for (name, partitions) in [("orders", 2), ("samples", 1)] {
        admin.create_topic(name, partitions, 1, &BTreeMap::new()).expect("a topic");
    }
}

/// A target file by which the user reaches the cluster.
fn target(place: &TestFolder) -> String {
    let own = client_properties(place);
    let own = own.to_str().expect("plain path");
    let all = Properties::parse(&std::fs::read(own).expect("the file")).expect("properties");
    let address = all.get("bootstrap.servers").expect("an address");
    let module = "org.apache.kafka.common.security.scram.ScramLoginModule";
    let properties = format!(
        "bootstrap.servers={address}\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\n\
         sasl.jaas.config={module} required username=\"{USER}\" password=\"{PASSWORD}\";\n"
    );
    let properties = place.file("guest.properties", &properties);
    let said = place.kdyno(&["cluster", "target", "theirs"]);
    ended(&said, 0);
    let target = said.stdout.replace(own, properties.to_str().expect("plain path"));
    target.replace(
        GUARD_OF_CLUSTER,
        "topics: {perf: orders, theirs: samples}\nguard: {prefix: kdyno-, allow: [existing-topics]}",
    )
}

/// Writes each of the values to `samples`, most of them several times: the drop-in command draws them.
fn fill(place: &TestFolder, internal: &str) {
    let topic = ["producer-perf-test", "--topic", "samples", "--num-records", "3000"];
    let what = ["--payload-file", "values.txt", "--throughput", "-1", "--bootstrap-server", internal];
    ended(&place.start(place.command(&[&topic[..], &what].concat())).wait(RUN_DEADLINE), 0);
    std::fs::remove_file(place.run_file()).expect("a run file");
}

/// The values that are in `orders`, as Kafka's own tool reads them.
fn stored(place: &TestFolder, internal: &str, records: u64) -> Vec<String> {
    let records = records.to_string();
    let what = ["--topic", "orders", "--from-beginning", "--max-messages", &records, "--timeout-ms", "20000"];
    let args = [&["--bootstrap-server", internal][..], &what].concat();
    let said = kafka_tool(place, "org.apache.kafka.tools.consumer.ConsoleConsumer", &args);
    ended(&said, 0);
    let values: Vec<String> = said.stdout.lines().map(str::to_owned).collect();
    assert_eq!(values.len().to_string(), records, "{}", said.stderr);
    values
}

#[test]
fn a_restricted_principal_loads_a_topic_with_values_of_another() {
    let _turn = with_others();
    let place = TestFolder::new();
    let up = ["cluster", "up", "theirs", "--heap", "256MiB", "--acls"];
    let listener = ["--protocol", "SASL_PLAINTEXT", "--sasl", "SCRAM-SHA-512"];
    ended(&place.start(place.command(&[&up[..], &listener].concat())).wait(RUN_DEADLINE), 0);
    let internal = internal_address(&place);
    let access = Access { bootstrap: vec![internal.clone()], security: ConnectionSecurity::default() };
    make_topics_and_user(&mut access.admin("test", QUICKLY).expect("a broker"));
    let values: BTreeSet<String> = (0..VALUES).map(|number| format!("order {number:08} of a shop")).collect();
    let lines: Vec<&str> = values.iter().map(String::as_str).collect();
    place.file("values.txt", &lines.join("\n"));
    fill(&place, &internal);

    let target = place.file("target.yaml", &target(&place));
    place.file("small.yaml", LOAD);
    let target = target.to_str().expect("plain path");
    let args = ["run", "small.yaml", "--target", target, "--share", "--yes", "--seed", "1"];
    let said = place.start(place.command(&args)).wait(RUN_DEADLINE);
    ran(&said);
    let unseen = "the brokers' settings are not kept with the run: ";
    let reported =
        said.stderr.lines().find(|line| line.contains(unseen)).unwrap_or_else(|| panic!("{said:?}"));
    assert!(reported.contains("CLUSTER_AUTHORIZATION_FAILED"), "{reported}");
    assert!(!said.stderr.contains(PASSWORD) && !said.stdout.contains(PASSWORD), "{said:?}");

    // What was not reported is in the run; the version is reported also to users who may not see settings.
    let document = place.show();
    let unread = document["events"].as_array().expect("events").iter();
    let unread = unread.filter(|event| event["kind"] == "settings-not-read");
    let of_brokers =
        unread.filter_map(|event| event["detail"].as_str()).filter(|why| why.starts_with(unseen));
    assert_eq!(of_brokers.count(), 1, "{}", document["events"]);
    let version = document["trials"][0]["cluster"]["kafka_version"].as_str().unwrap_or_default();
    assert!(!version.is_empty() && NEWEST.starts_with(version), "{version}");

    // Neither may sizes of logs be read, which is reported once; of groups none is seen.
    let events = document["events"].as_array().expect("events");
    let unread: Vec<_> = events.iter().filter(|event| event["kind"] == "logs-not-read").collect();
    assert_eq!(unread.len(), 1, "{events:?}");
    let detail = unread[0]["detail"].as_str().expect("a detail");
    assert!(
        detail.starts_with("sizes of logs") && detail.contains("CLUSTER_AUTHORIZATION_FAILED"),
        "{detail}"
    );

    let evidence = &evidences(&place)[0];
    let (written, read) = (&totals(evidence, "writers").counts, &totals(evidence, "readers").counts);
    assert!(written.offered > 800 && written.acknowledged == written.offered, "{written:?}");
    assert_eq!((read.fetched, written.header_trailers), (written.acknowledged, written.acknowledged));
    let stored = stored(&place, &internal, written.acknowledged);
    assert!(stored.iter().all(|value| values.contains(value)), "values of nobody's: {stored:?}");
    let distinct: BTreeSet<&String> = stored.iter().collect();
    assert!(distinct.len() > 200, "each of {VALUES} with the same probability: {}", distinct.len());
    ended(&place.start(place.command(&["cluster", "down", "theirs"])).wait(RUN_DEADLINE), 0);
    place.expect_no_processes();
}
