//! Values by an Avro schema on a real broker, as a reader of the topic finds them.

use crate::common::turns::with_others;
use crate::common::{QUICKLY, RUN_DEADLINE, TestFolder};
use crate::fixture::{GUARD_OF_CLUSTER, bootstrap, evidences, ran, stand, take_down, totals};
use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use kdyno_kafka::admin::{Access, SampleBounds};
use kdyno_kafka::security::ConnectionSecurity;
use std::collections::{BTreeMap, BTreeSet};

const SCHEMA: &str = r#"{"type": "record", "name": "Order", "fields": [
  {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
  {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
  {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID"]}},
  {"name": "lines", "type": {"type": "array", "items": "string", "arg.properties": {"length": {"min": 1, "max": 4}}}},
  {"name": "note", "type": ["null", "string"]}]}"#;

/// Kdyno's own client and Java's, compressed and not.
const LOAD: &str = "\
kdyno: 1
id: small
question: Does it work?
topics: {perf: {partitions: 1, replicas: 1}}
load:
  own: {produce: perf, rate: 200/s, value: {avro: {schema: order.avsc, id: 100001}}, client: {compression.type: zstd}}
  java: {produce: perf, rate: 50/s, value: {avro: {schema: order.avsc, id: 7}}, client: {driver: java, version: 4.1.1}}
phases: {warmup: 1s, condition: none, measure: 4s, drain: 20s}
show: {columns: [own.acked_per_s]}
";

#[test]
fn values_by_a_schema_are_in_the_log_with_their_schema_id() {
    let _turn = with_others();
    let place = TestFolder::new();
    stand(&place, "theirs", "kafka: newest, metrics: none");
    let access = Access { bootstrap: vec![bootstrap(&place)], security: ConnectionSecurity::default() };
    let mut admin = access.admin("test", QUICKLY).expect("a broker");
    admin.create_topic("orders", 1, 1, &BTreeMap::new()).expect("a topic");

    let target = place.kdyno(&["cluster", "target", "theirs"]).stdout;
    let guard = "topics: {perf: orders}\nguard: {prefix: kdyno-, allow: [rate-max, existing-topics]}";
    place.file("target.yaml", &target.replace(GUARD_OF_CLUSTER, guard));
    place.file("small.yaml", LOAD);
    place.file("order.avsc", SCHEMA);
    let args = ["run", "small.yaml", "--target", "target.yaml", "--share", "--yes", "--seed", "1"];
    ran(&place.start(place.command(&args)).wait(RUN_DEADLINE));
    let evidence = &evidences(&place)[0];
    for (item, least) in [("own", 800), ("java", 200)] {
        let written = &totals(evidence, item).counts;
        assert!(
            written.acknowledged > least && written.acknowledged == written.offered,
            "{item}: {written:?}"
        );
    }

    let bounds = SampleBounds { bytes_max: 16 << 20, value_bytes_max: 1 << 20 };
    let values = access.admin("test", QUICKLY).expect("a broker").sample("orders", bounds).expect("values");
    let schema = Schema::parse_str(SCHEMA).expect("a schema");
    let reader = GenericDatumReader::builder(&schema).build().expect("a reader");
    let mut seen: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for value in &values {
        let (frame, mut rest) = value.split_at(5);
        let Value::Record(fields) = reader.read_value(&mut rest).expect("a value") else {
            panic!("{value:?}")
        };
        assert!(frame[0] == 0 && rest.is_empty() && fields.len() == 5, "{value:?}");
        let id = u32::from_be_bytes(frame[1..].try_into().expect("four bytes"));
        seen.entry(id).or_default().insert(format!("{:?}", fields[0].1));
    }
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [7, 100_001]);
    let distinct: usize = seen.values().map(BTreeSet::len).sum();
    assert!(distinct > 500, "{distinct} of {}", values.len());
    take_down(&place, "theirs");
}
