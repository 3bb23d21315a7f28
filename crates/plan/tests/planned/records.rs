//! What a plan makes of the keys that say what records are made of.

use kdyno_model::plan::{
    AvroPlan, GivenFile, HeaderPlan, KeyLaw, KeyPlan, RecordPlan, Role, SamplePlan, ValuesPlan,
};
use kdyno_plan::{
    Choices, FileReader, FoundFile, Schemas, UnusableSchema, ValuesOfSchema, check_stored, plan,
};
use kdyno_scenario::Scenario;
use kdyno_scenario::target::TargetFile;

/// A scenario with these keys of the records.
fn scenario(said: &str) -> Scenario {
    let text = format!(
        "kdyno: 1\nid: base\nquestion: how much?\ntopics: {{t: {{partitions: 2}}}}\n\
         load:\n  writers: {{produce: t, rate: 1k/s, {said}}}\n\
         phases: {{warmup: 5s, condition: none, measure: 10s}}\n"
    );
    Scenario::parse_bytes(text.as_bytes(), "base.yaml").unwrap()
}

fn lines(scenario: &str, name: &str) -> Result<FoundFile, String> {
    assert_eq!(scenario, "base.yaml");
    Ok(FoundFile { path: format!("/here/{name}"), content: b"a;bcd;;e;".to_vec() })
}

/// The records of `writers` with this said of them, and the bytes of their values.
fn records(said: &str) -> (RecordPlan, u32) {
    let plan = plan(&scenario(said), &Choices { files: FileReader(lines), ..Choices::default() }).unwrap();
    let Role::Produce(writers) = &plan.cases[0].load["writers"].role else { panic!("writers produce") };
    (writers.records.clone(), writers.value_bytes)
}

#[test]
fn records_are_what_the_scenario_says() {
    assert_eq!(records("value: 1KiB"), (RecordPlan::default(), 1024));
    assert_eq!(records("value: {size: 1KiB}, key: none, tombstones: 0%"), (RecordPlan::default(), 1024));
    assert_eq!(records("value: 5B").1, 5, "the trailer goes into a header");
    let (found, mean) = records("value: {uniform: {from: 100B, to: 201B}, compressible: 3.5}, partition: 1");
    let values = ValuesPlan::Uniform { bytes_min: 100, bytes_max: 201 };
    let expected =
        RecordPlan { values, compressible: Some(3.5), partition: Some(1), ..RecordPlan::default() };
    assert_eq!((found, mean), (expected, 151));
    let (found, mean) = records("value: {lognormal: {median: 600B, p99: 8KiB}}");
    let ValuesPlan::Lognormal { median_bytes: 600, sigma, bytes_max: 81_920 } = found.values else {
        panic!("{found:?}")
    };
    assert!((sigma - 1.1236).abs() < 1e-4 && (mean.abs_diff(1_126) < 10), "{sigma} {mean}");
    let said = "value: 1KiB, key: {zipf: {of: 100k, s: 1.1}}, tombstones: 2.5%, headers: {trace: 16B}";
    let key = KeyPlan::Numbered { law: KeyLaw::Zipf { exponent: 1.1 }, of: 100_000, bytes: 5 };
    let headers = vec![HeaderPlan { name: "trace".to_owned(), bytes: 16 }];
    let expected = RecordPlan { key: Some(key), tombstone_share: 0.025, headers, ..RecordPlan::default() };
    assert_eq!(records(said).0, expected);
    let (found, mean) = records(
        "value: {file: {name: lines.txt, delimiter: \";\"}}, key: {file: {name: keys, delimiter: \";\"}}",
    );
    let file = |name: &str| GivenFile {
        path: format!("/here/{name}"),
        delimiter: ";".to_owned(),
        crc: crc32c::crc32c(b"a;bcd;;e;"),
        pieces: 4,
        piece_bytes_max: 3,
    };
    let (values, key) = (ValuesPlan::File(file("lines.txt")), Some(KeyPlan::File(file("keys"))));
    assert_eq!((found, mean), (RecordPlan { values, key, ..RecordPlan::default() }, 2));
}

#[test]
fn values_are_made_by_a_schema() {
    const SCHEMA: &[u8] = b"\"string\"";
    fn schema(_: &str, name: &str) -> Result<FoundFile, String> {
        let content = if name == "a.avsc" { SCHEMA } else { b"\"colour\"" };
        Ok(FoundFile { path: format!("/here/{name}"), content: content.to_vec() })
    }
    fn two(schema: &[u8], id: u32) -> Result<ValuesOfSchema, UnusableSchema> {
        match schema == SCHEMA {
            true => Ok(ValuesOfSchema { count: 2, bytes: u64::from(id) + 11, bytes_max: id }),
            false => Err(UnusableSchema { why: "is none".to_owned(), hint: Some("try another".to_owned()) }),
        }
    }
    let planned = |said: &str| {
        let (files, schemas) = (FileReader(schema), Schemas(two));
        let planned = plan(&scenario(said), &Choices { files, schemas, ..Choices::default() });
        planned.map(|plan| {
            let writers = plan.cases[0].load["writers"].role.as_produce().unwrap();
            (writers.records.clone(), writers.value_bytes, check_stored(&plan).unwrap_err().to_string())
        })
    };
    let (records, mean, stored) = planned("value: {avro: {schema: a.avsc, id: 42}}").unwrap();
    let (path, crc) = ("/here/a.avsc".to_owned(), crc32c::crc32c(SCHEMA));
    let avro = AvroPlan { path, crc, id: 42, count: 2, value_bytes_max: 42 };
    // Files of 42 and 11 bytes.
    assert_eq!((records.values, mean), (ValuesPlan::Avro(avro), 27));
    assert!(stored.contains("sends what the file `/here/a.avsc` holds"), "{stored}");
    for (said, reported) in [
        ("value: {avro: {schema: b.avsc, id: 42}}", "the schema `b.avsc` is none"),
        ("value: {avro: {schema: a.avsc, id: -1}}", "`id`"),
        (
            "value: {avro: {schema: a.avsc, id: 1}, compressible: 3}",
            "values of a file, a topic or a schema are what they are",
        ),
    ] {
        let error = planned(said).unwrap_err().to_string();
        assert!(error.contains(reported), "{said}: {error}");
    }
}

/// Values of a topic that no limit lets through are left out; how many partitions it has shows when it is there.
#[test]
fn a_topic_of_the_target_is_sampled_and_may_have_any_partition() {
    const TEXT: &str = "\
kdyno: 1
id: base
question: how much?
topics: {t: {partitions: 2}, orders: {partitions: 1}}
load:
  writers: {produce: t, rate: 1k/s, value: {sample: {topic: orders, mean: 600B, at_most: 2MiB}}, partition: 1}
phases: {warmup: 5s, measure: 10s}
";
    let target = "kdyno: 1\ntarget: there\ncluster_id: aB3x\nclient: {bootstrap: [127.0.0.1:9092]}\n\
                  topics: {orders: shop.orders}\nguard: {allow: [existing-topics]}\n";
    let planned = |text: &str| {
        let target = TargetFile::parse(target, "t.yaml").unwrap().resolve(None).unwrap();
        let choices = Choices { target: Some(target), ..Choices::default() };
        plan(&Scenario::parse(text, "base.yaml").unwrap(), &choices).map(|plan| {
            let writers = plan.cases[0].load["writers"].role.as_produce().unwrap();
            (writers.records.values.clone(), writers.value_bytes)
        })
    };
    let sampled = |value_bytes_max: u32| {
        let topic = "orders".to_owned();
        (ValuesPlan::Sample(SamplePlan { topic, bytes_max: 2 << 20, value_bytes_max }), 600)
    };
    // In addition to a value there are the batch's and the record's own bytes, and the header that says where it comes
    // from.
    let overhead = 61 + 21 + 5 + 32 + 4;
    assert_eq!(planned(TEXT), Ok(sampled((1 << 20) - overhead)));
    let config = "t: {partitions: 2, config: {max.message.bytes: 64KiB}}";
    let limited = TEXT.replace("t: {partitions: 2}", config);
    assert_eq!(planned(&limited), Ok(sampled((64 << 10) - overhead)));
    let other = TEXT.replace("partition: 1}", "partition: 7}");
    assert!(planned(&other).unwrap_err().to_string().contains("topic `t` has no partition 7"));
    assert!(planned(&other.replace("produce: t,", "produce: orders,")).is_ok());
}

#[test]
fn files_named_by_a_stored_plan_are_not_read_unless_bundled() {
    let scenario = scenario("value: {file: lines.txt}");
    let stored = plan(&scenario, &Choices { files: FileReader(lines), ..Choices::default() }).unwrap();
    let reported = check_stored(&stored).unwrap_err().to_string();
    assert!(reported.contains("sends what the file `/here/lines.txt` holds"), "{reported}");
    let bundled: fn(&str, &str) -> Result<FoundFile, String> =
        |_, _| Ok(FoundFile { path: "bundled:lines.txt".to_owned(), content: b"a\n".to_vec() });
    let stored = plan(&scenario, &Choices { files: FileReader(bundled), ..Choices::default() }).unwrap();
    assert_eq!(check_stored(&stored), Ok(()));
}

/// Behind the last rate of an item that compresses, and of no other.
#[test]
fn the_ratio_of_compression_is_next_to_the_rate() {
    let columns = |said: &str| {
        let plan = plan(&scenario(said), &Choices::default()).unwrap();
        plan.show.columns.iter().map(|column| column.metric.clone()).collect::<Vec<_>>()
    };
    let plain = columns("value: 1KiB");
    assert!(plain.iter().all(|column| column != "compression_ratio"), "{plain:?}");
    let compressed = columns("value: 1KiB, client: {compression.type: lz4}");
    let at = plain.iter().rposition(|column| column.starts_with("acked_")).unwrap() + 1;
    let expected = [&plain[..at], &["compression_ratio".to_owned()], &plain[at..]].concat();
    assert_eq!(compressed, expected);
}
