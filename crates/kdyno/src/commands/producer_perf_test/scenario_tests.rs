//! What the lines of arguments of reports come to.

use super::*;
use kdyno_model::plan::{
    Arrivals, AttachedPlan, Compression, Driver, Fill, JavaClient, Rate, RatePiece, RecordPlan,
    TransactionsPlan,
};
use kdyno_model::secret::SecretRef;
use kdyno_model::version::NEWEST;
use kdyno_perf_test::producer;
use std::collections::BTreeMap;
use std::path::Path;

const TOPIC_SHAPE: (u32, u32) = (3, 2);

fn target(name: &str) -> Target {
    let attached = AttachedPlan {
        target: ID.to_owned(),
        bootstrap: vec!["b1:9092".to_owned()],
        cluster_id: "abc".to_owned(),
        prefix: "kdyno-".to_owned(),
        topics: BTreeMap::from([(TOPIC.to_owned(), name.to_owned())]),
        allow: vec!["rate-max".to_owned()],
        ..AttachedPlan::default()
    };
    Target { attached, secrets: BTreeMap::new(), notes: Vec::new() }
}

fn planned_line(line: &str, payloads: Option<&Path>) -> Result<PlannedExecution, String> {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let options = producer::read(&args).map_err(|refusal| format!("{refusal:?}"))?;
    let properties = super::super::properties::read(&options).map_err(|failure| failure.message)?;
    let (partitions, replicas) = TOPIC_SHAPE;
    let delimiter = producer::literal(&options.delimiter)?;
    let payloads = payloads.map(|path| PayloadSource { path: path.to_owned(), delimiter });
    let carrier = DropInClient::of(&options.driver).map_err(|failure| failure.message)?;
    let at = (target("t"), TopicShape { partitions, replicas });
    planned(&options, (&properties, &carrier), at, payloads).map_err(|failure| failure.message)
}

fn produce(planned: &PlannedExecution) -> kdyno_model::plan::ProducePlan {
    let case = &planned.plan.cases[0];
    assert_eq!(case.phases.warmup_ns, 0, "every record counts");
    let Role::Produce(produce) = case.load[ITEM].role.clone() else { panic!("it produces") };
    produce
}

#[test]
fn huaweis_line_is_planned() {
    let line = "--producer-props bootstrap.servers=b1:9092 acks=1 batch.size=16384 linger.ms=0 --topic t --num-records \
                8000000 --record-size 1024 --throughput 102400";
    let planned = planned_line(line, None).expect("a plan");
    let produce = produce(&planned);
    let Rate::Open { pieces, arrivals: Arrivals::Constant } = &produce.rate else {
        panic!("{:?}", produce.rate)
    };
    assert!(matches!(pieces.as_slice(), [RatePiece { from_per_s: 102_400.0, to_per_s: 102_400.0, .. }]));
    assert_eq!((produce.records_max, produce.value_bytes), (Some(8_000_000), 1024));
    let client = &produce.client;
    assert_eq!((client.acks, client.batch_bytes, client.linger_ns), (1, 16_384, 0));
    assert!(client.max_block_ns > 20 * 86_400 * 1_000_000_000, "no record fails for waiting its turn");
    assert_eq!(produce.tool_lines, Some(ToolLines { warmup_records: 0 }));
    assert_eq!(produce.records, RecordPlan::default());
}

#[test]
fn ibms_line_is_planned() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("producer.config");
    std::fs::write(&config, "bootstrap.servers=b1:9092\nacks=all\ncompression.type=none\nmax.block.ms=5\n")
        .expect("written");
    let line = format!(
        "--topic t --num-records 20000000 --record-size 128 --throughput -1 --producer.config {}",
        config.display()
    );
    let planned = planned_line(&line, None).expect("a plan");
    let produce = produce(&planned);
    assert_eq!(produce.rate, Rate::Max { fill: Fill::Buffer });
    assert_eq!((produce.records_max, produce.value_bytes, produce.client.acks), (Some(20_000_000), 128, -1));
    assert!(produce.client.max_block_ns > 1_000_000_000_000);
    let why =
        planned_line(&format!("{line} --command-property acks=2"), None).map(|_| ()).expect_err("wrong");
    assert!(why.starts_with("--command-property: `acks`"), "{why}");
    std::fs::write(&config, "bootstrap.servers=b1:9092\nlinger.ms=soon\n").expect("written");
    let why = planned_line(&line, None).map(|_| ()).expect_err("wrong");
    assert!(why.contains("producer.config:2:1: `linger.ms`"), "{why}");
    assert!(why.contains("`soon` is not a number of milliseconds"), "a property has no unit: {why}");
}

/// Kafka's own client follows them, kdyno's says that it does not.
#[test]
fn client_properties_are_read_as_kafkas_tool_reads_them() {
    let line = "--topic t --num-records 10 --record-size 10 --throughput -1 --bootstrap-server b1:9092 --command-property \
                key.serializer=io.acme.Avro value.serializer=io.acme.Avro retries=0 connections.max.idle.ms=180000 linger.ms=7";
    let reported = |planned: &PlannedExecution| -> Vec<String> {
        let warning = |note: &kdyno_plan::Remark| match note {
            kdyno_plan::Remark::Warning(text) => Some(text.clone()),
            kdyno_plan::Remark::Fact(_) => None,
        };
        planned.remarks.iter().filter_map(warning).filter(|text| text.contains("is not followed")).collect()
    };
    let native = planned_line(line, None).expect("a plan");
    assert_eq!(produce(&native).client.linger_ns, 7_000_000);
    let [retries, idle] = &reported(&native)[..] else { panic!("{:?}", reported(&native)) };
    assert!(
        retries.starts_with("`retries` as `0`") && retries.contains("with `--driver java`, follows it"),
        "{retries}"
    );
    assert!(idle.starts_with("`connections.max.idle.ms` as `180000`"), "{idle}");
    let java = planned_line(&format!("{line} --driver java"), None).expect("a plan");
    assert_eq!(reported(&java), [""; 0]);
    let Driver::Java(driver) = &java.plan.cases[0].load[ITEM].driver else { panic!("it is Kafka's") };
    let names: Vec<&str> = driver.properties.keys().map(String::as_str).collect();
    assert_eq!(names, ["connections.max.idle.ms", "linger.ms", "retries"]);
}

#[test]
fn intels_line_is_planned() {
    let folder = tempfile::tempdir().expect("a folder");
    let payloads = folder.path().join("words.txt");
    std::fs::write(&payloads, "one|three|a longer one").expect("written");
    let line = "--topic t --payload-file x --payload-delimiter \\| --num-records 15000000 --warmup-records 3000000 \
                --throughput 50000 --print-metrics --bootstrap-server b1:9092 --command-property acks=all \
                compression.type=zstd batch.size=114688 linger.ms=5";
    let planned = planned_line(line, Some(&payloads)).expect("a plan");
    let produce = produce(&planned);
    assert_eq!(produce.tool_lines, Some(ToolLines { warmup_records: 3_000_000 }));
    let ValuesPlan::File(file) = &produce.records.values else { panic!("{:?}", produce.records) };
    assert_eq!((file.pieces, file.piece_bytes_max, file.delimiter.as_str()), (3, 12, "|"));
    assert_eq!((produce.client.compression, produce.client.linger_ns), (Compression::Zstd, 5_000_000));
    let text = &planned.scenario_text;
    assert!(!text.contains("b1:9092") && text.contains("15000000"), "{text}");
}

#[test]
fn transactions_and_numbers_are_planned() {
    let line = "--topic t --num-records 1000 --payload-monotonic --throughput 12.5 --bootstrap-server b:1 \
                --command-property transactional.id=mine";
    let planned = planned_line(line, None).expect("a plan");
    let produce = produce(&planned);
    let every = TransactionsPlan { every_ns: 3_000_000_000, records: None, abort_share: 0.0 };
    assert_eq!((produce.transactions, produce.records.values), (Some(every), ValuesPlan::Numbered));
    assert_eq!(produce.value_bytes, 3);
    let why = planned_line(&line.replace("1000", "5000000000"), None).map(|_| ()).expect_err("too many");
    assert!(why.contains("--payload-monotonic counts up to"), "{why}");
}

/// Kafka's own client gets properties as they were given, also those that no table has.
#[test]
fn a_java_client_carries_what_was_typed() {
    let line = "--topic t --num-records 1000 --record-size 100 --throughput -1 --bootstrap-server b:1 --warmup-records 7 \
                --driver java:4.1.1 --command-property max.block.ms=5000 send.buffer.bytes=65536 fork.speed.up=yes acks=1";
    let planned = planned_line(line, None).expect("a plan");
    let case = &planned.plan.cases[0];
    let Driver::Java(java) = &case.load[ITEM].driver else { panic!("{:?}", case.load[ITEM].driver) };
    assert_eq!((&java.client, java.jvm.len()), (&JavaClient::Version("4.1.1".to_owned()), 0));
    let given: Vec<_> = java.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let expected =
        [("acks", "1"), ("fork.speed.up", "yes"), ("max.block.ms", "5000"), ("send.buffer.bytes", "65536")];
    assert_eq!(given, expected);
    let produce = produce(&planned);
    assert_eq!(produce.tool_lines, Some(ToolLines { warmup_records: 7 }));
    assert_eq!((produce.records_max, produce.rate), (Some(1_000), Rate::Max { fill: Fill::Buffer }));

    let newest = planned_line(&line.replace("java:4.1.1", "java"), None).expect("a plan");
    let driver = &newest.plan.cases[0].load[ITEM].driver;
    let version = driver.as_java().map(|java| java.client.clone());
    assert_eq!(version, Some(JavaClient::Version(NEWEST.to_owned())));
    let reported = |line: &str| planned_line(line, None).map(|_| ()).expect_err("refused");
    let with_transactions = line.replace("--warmup-records 7", "--transaction-duration-ms 5");
    let planned =
        planned_line(&with_transactions.replace(" acks=1", " transactional.id=x"), None).expect("a plan");
    let every = TransactionsPlan { every_ns: 5_000_000, records: None, abort_share: 0.0 };
    assert_eq!(self::produce(&planned).transactions, Some(every));
    let driver = planned.plan.cases[0].load[ITEM].driver.as_java().expect("a Java client");
    assert!(!driver.properties.contains_key("transactional.id"), "each client has one of its own");
    let why = reported(&line.replace("4.1.1", "no/such"));
    assert!(why.starts_with("--driver: `no/such` is neither a release"), "{why}");
    let why = reported(&line.replace("acks=1", "acks=2"));
    assert!(why.starts_with("--command-property: `acks`"), "{why}");
}

/// The file of a run holds the plan and the text of its scenario: of what was typed they have at most a name.
#[test]
fn secrets_that_are_typed_are_variables_of_the_command_alone() {
    let login = "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"me\" \
                 password=\"hunter2=\";";
    let mut args: Vec<String> =
        "--topic t --num-records 1 --record-size 1 --throughput -1 --bootstrap-server b:1"
            .split_whitespace()
            .map(str::to_owned)
            .collect();
    args.extend(
        ["--command-property", "security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", login]
            .map(str::to_owned),
    );
    let options = producer::read(&args).map_err(|refusal| format!("{refusal:?}")).expect("options");
    let properties =
        super::super::properties::read(&options).map_err(|failure| failure.message).expect("properties");
    assert!(properties.client.security.sasl.is_some());
    let references: Vec<&SecretRef> = properties.client.secrets.values().collect();
    let [SecretRef::Env(variable)] = references.as_slice() else { panic!("{references:?}") };
    assert_eq!(properties.variable(variable).expect("a value"), "hunter2=");
    assert_eq!(std::env::var_os(variable), None, "nobody else has it");
    assert_eq!(properties.variable("PATH"), std::env::var_os("PATH"), "a file may refer to the environment");
    let mut target = target("t");
    *target.attached.security = properties.client.security.clone();
    target.secrets.clone_from(&properties.client.secrets);
    let (partitions, replicas) = TOPIC_SHAPE;
    let planned = planned(
        &options,
        (&properties, &DropInClient::Native),
        (target, TopicShape { partitions, replicas }),
        None,
    )
    .map_err(|failure| failure.message)
    .expect("a plan");
    let plan = serde_json::to_string(&planned.plan).expect("JSON");
    assert!(plan.contains(variable.as_str()), "the lab asks for it by this name: {plan}");
    for reported in [&plan, &planned.scenario_text, &format!("{:?}", planned.remarks)] {
        assert!(!reported.contains("hunter2"), "{reported}");
    }
}
