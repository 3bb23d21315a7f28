//! What values are made of schemas, as the Avro project's own reader reads them.

use crate::encode;
use crate::make::Maker;
use crate::random::Random;
use crate::reading::{SCHEMA_BYTES_MAX, read as read_schema};
use crate::values::{ALL_MAX, COUNT_MAX, values};
use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use proptest::prelude::*;

/// Bytes before the value: 0, and the id.
const FRAME_BYTES: usize = 5;

/// All values of a schema, each read to its last byte.
fn read(schema: &str) -> Vec<Value> {
    let parsed = Schema::parse_str(schema).expect("a schema");
    let reader = GenericDatumReader::builder(&parsed).build().expect("a reader");
    let made = values(schema.as_bytes(), 42).expect("values");
    let one = |framed: &Vec<u8>| {
        assert_eq!(framed[..FRAME_BYTES], [0, 0, 0, 0, 42]);
        let mut rest = &framed[FRAME_BYTES..];
        let value = reader.read_value(&mut rest).expect("a value");
        assert!(rest.is_empty(), "{} bytes behind {value:?}", rest.len());
        value
    };
    made.iter().map(one).collect()
}

/// A record of one field.
fn field(json: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{{"name": "f", "type": {json}}}]}}"#)
}

/// All values of the field.
fn read_field(json: &str) -> Vec<Value> {
    let inner = |value| match value {
        Value::Record(mut fields) => fields.pop().expect("a field").1,
        other => panic!("{other:?}"),
    };
    read(&field(json)).into_iter().map(inner).collect()
}

fn refused(schema: &str) -> String {
    let error = values(schema.as_bytes(), 1).expect_err(schema);
    match error.hint_text() {
        None => error.to_string(),
        Some(hint) => format!("{error}; {hint}"),
    }
}

const ORDER: &str = r#"{
  "type": "record", "name": "Order", "namespace": "shop.orders", "fields": [
    {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
    {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["OPEN", "PAID", "SENT"]}},
    {"name": "before", "type": ["null", "State"], "default": null},
    {"name": "total", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "tax", "type": {"type": "fixed", "name": "Tax", "size": 3, "logicalType": "decimal", "precision": 6}},
    {"name": "large", "type": {"type": "fixed", "name": "Large", "size": 8, "logicalType": "decimal", "precision": 18}},
    {"name": "lines", "type": {"type": "array", "arg.properties": {"length": {"min": 1, "max": 4}}, "items": {
      "type": "record", "name": "Line", "namespace": "shop", "fields": [
        {"name": "sku", "type": "string"},
        {"name": "count", "type": {"type": "int", "arg.properties": {"range": {"min": 1, "max": 10}}}},
        {"name": "price", "type": "double"},
        {"name": "weight", "type": ["null", "float"]}]}}},
    {"name": "first", "type": ["null", "shop.Line"]},
    {"name": "labels", "type": {"type": "map", "values": "boolean", "arg.properties": {"length": 2}}},
    {"name": "kept", "type": {"type": "fixed", "name": "Kept", "size": 12, "logicalType": "duration"}},
    {"name": "digest", "type": {"type": "fixed", "name": "Digest", "size": 16}},
    {"name": "raw", "type": "bytes"},
    {"name": "nothing", "type": "null"}]
}"#;

#[test]
fn values_of_every_type_are_read_by_the_avro_projects_reader() {
    let read = read(ORDER);
    assert!(read.len() > 10_000, "{}", read.len());
    let Value::Record(fields) = &read[0] else { panic!("{:?}", read[0]) };
    assert_eq!(fields.len(), 15);
    let states = read.iter().filter(|value| {
        let Value::Record(fields) = value else { return false };
        matches!(&fields[3].1, Value::Enum(2, symbol) if symbol == "SENT")
    });
    // A third of them, with a standard deviation of √(n·⅓·⅔).
    let (count, expected) = (states.count() as f64, read.len() as f64 / 3.0);
    assert!((count - expected).abs() < 5.0 * (expected * 2.0 / 3.0).sqrt(), "{count} of {}", read.len());
}

#[test]
fn a_schema_gives_the_same_values_each_time() {
    let made = values(ORDER.as_bytes(), 42).expect("values");
    assert_eq!(made, values(ORDER.as_bytes(), 42).expect("the same"));
    let bytes: usize = made.iter().map(Vec::len).sum();
    assert!(made.len() == COUNT_MAX || bytes > ALL_MAX / 2, "{} of {bytes} bytes", made.len());
    let distinct: std::collections::BTreeSet<&Vec<u8>> = made.iter().collect();
    assert_eq!(distinct.len(), made.len());
}

#[test]
fn what_a_schema_says_of_its_values_is_so() {
    let lengths = |json| {
        let lengths = read_field(json).into_iter().map(|value| match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.len(),
            other => panic!("{other:?}"),
        });
        let (mut least, mut most) = (usize::MAX, 0);
        for length in lengths {
            (least, most) = (least.min(length), most.max(length));
        }
        (least, most)
    };
    assert_eq!(lengths(r#""string""#), (8, 15));
    assert_eq!(lengths(r#"{"type": "string", "arg.properties": {"length": 20}}"#), (20, 20));
    assert_eq!(lengths(r#"{"type": "string", "arg.properties": {"length": {"min": 2, "max": 5}}}"#), (2, 4));
    assert_eq!(lengths(r#"{"type": "string", "arg.properties": {"length": {"max": 10}}}"#), (0, 9));
    assert_eq!(lengths(r#"{"type": "string", "arg.properties": {"length": {"min": 40}}}"#), (40, 40));
    assert_eq!(lengths(r#"{"type": "array", "items": "int", "arg.properties": {"length": 0}}"#), (0, 0));

    let whole = |json| {
        let numbers = read_field(json).into_iter().map(|value| match value {
            Value::Int(number) | Value::Date(number) => i64::from(number),
            Value::Long(number) | Value::TimestampMillis(number) => number,
            other => panic!("{other:?}"),
        });
        let numbers: Vec<i64> = numbers.collect();
        (numbers.iter().copied().min().unwrap(), numbers.iter().copied().max().unwrap())
    };
    assert_eq!(whole(r#"{"type": "int", "arg.properties": {"range": {"min": -3, "max": 4}}}"#), (-3, 3));
    assert_eq!(whole(r#"{"type": "long", "arg.properties": {"options": [7, -9]}}"#), (-9, 7));
    assert_eq!(whole(r#"{"type": "int", "logicalType": "date"}"#), (20_089, 20_453));
    let (least, most) = whole(r#"{"type": "int", "arg.properties": {"range": {"min": 2147483600}}}"#);
    assert_eq!((least, most), (2_147_483_600, i32::MAX.into()));
    let (least, most) = whole(r#"{"type": "long", "logicalType": "timestamp-millis"}"#);
    assert!(least >= 1_735_689_600_000 && most < 1_767_225_600_000, "{least} {most}");

    let texts = read_field(r#"{"type": "string", "arg.properties": {"options": ["ä", ""]}}"#);
    let count = |text: &str| texts.iter().filter(|value| **value == Value::String(text.to_owned())).count();
    assert_eq!(count("ä") + count(""), texts.len());
    assert!(count("ä").abs_diff(count("")) < 5 * 256, "{} of {}", count("ä"), texts.len());
    let always = read_field(r#"{"type": "boolean", "arg.properties": {"odds": 1}}"#);
    assert!(always.iter().all(|value| *value == Value::Boolean(true)));
    let real = read_field(r#"{"type": "double", "arg.properties": {"range": {"min": -2, "max": 2}}}"#);
    let sum: f64 = real
        .iter()
        .map(|value| match value {
            Value::Double(number) if (-2.0..=2.0).contains(number) => *number,
            other => panic!("{other:?}"),
        })
        .sum();
    // A standard deviation of 4/√12 each.
    assert!((sum / real.len() as f64).abs() < 5.0 * 1.155 / (real.len() as f64).sqrt());
    let symbols = read_field(
        r#"{"type": "enum", "name": "E", "symbols": ["A", "B"], "arg.properties": {"options": ["B"]}}"#,
    );
    assert!(symbols.iter().all(|value| *value == Value::Enum(1, "B".to_owned())));
}

/// The specification's own examples of numbers, and of a string.
#[test]
fn numbers_are_written_as_the_specification_has_them() {
    for (number, bytes) in [(0, vec![0]), (-1, vec![1]), (1, vec![2]), (-64, vec![0x7f]), (64, vec![0x80, 1])]
    {
        let mut out = Vec::new();
        encode::long(number, &mut out);
        assert_eq!(out, bytes, "{number}");
    }
    let mut out = Vec::new();
    encode::bytes(b"foo", &mut out);
    assert_eq!(out, [6, 0x66, 0x6f, 0x6f]);
    for (number, bytes) in
        [(0, vec![0]), (127, vec![127]), (128, vec![0, 128]), (-128, vec![128]), (-129, vec![255, 127])]
    {
        assert_eq!(encode::unscaled(number), bytes, "{number}");
    }
}

#[test]
fn types_that_hold_themselves_come_to_an_end() {
    let tree = r#"{"type": "record", "name": "Tree", "fields": [
        {"name": "left", "type": ["null", "Tree"]}, {"name": "right", "type": ["Tree", "null"]},
        {"name": "all", "type": {"type": "array", "items": "Tree", "arg.properties": {"length": 1}}}]}"#;
    assert!(read(tree).len() > 1_000);
    let expression = r#"{"type": "record", "name": "Expr", "fields": [{"name": "node", "type": [
        {"type": "record", "name": "Add", "fields": [{"name": "a", "type": "Expr"}, {"name": "b", "type": "Expr"}]},
        {"type": "record", "name": "Literal", "fields": [{"name": "value", "type": "int"}]}]}]}"#;
    assert!(read(expression).len() > 1_000);
    let list = r#"{"type": "record", "name": "List", "fields": [{"name": "next", "type": [
        {"type": "enum", "name": "End", "symbols": ["END"]}, "List"]}]}"#;
    assert!(read(list).len() > 1_000);
    // Children of children of children, eight to fifteen each: an ordinary value stays small.
    let family = r#"{"type": "record", "name": "Node", "fields": [{"name": "name", "type": "string"},
        {"name": "children", "type": {"type": "array", "items": "Node"}}]}"#;
    assert!(values(family.as_bytes(), 1).expect("values").iter().all(|value| value.len() < 100_000));
    let endless = r#"{"type": "record", "name": "Loop", "fields": [{"name": "next", "type": "Loop"}]}"#;
    assert!(refused(endless).starts_with("has no end: `Loop` holds itself, "), "{}", refused(endless));
}

/// Depth alone is no recursion: a chain of types that lead on is followed to its end, or cut off where arrays are empty.
#[test]
fn a_long_chain_of_types_is_no_recursion() {
    let chain = |count: usize, link: &str| {
        (0..count).rev().fold(r#""int""#.to_owned(), |inner, number| {
            let inner = link.replace("INNER", &inner);
            format!(
                r#"{{"type": "record", "name": "R{number}", "fields": [{{"name": "f", "type": {inner}}}]}}"#
            )
        })
    };
    assert_eq!(read(&chain(25, "INNER")).len(), COUNT_MAX);
    let array = r#"{"type": "array", "items": INNER, "arg.properties": {"length": 1}}"#;
    assert_eq!(read(&chain(18, array)).len(), COUNT_MAX);
}

#[test]
fn names_are_found_in_their_namespaces() {
    let inner = r#"{"type": "record", "name": "R", "namespace": "n", "fields": [
        {"name": "a", "type": {"type": "enum", "name": "E", "symbols": ["A"]}},
        {"name": "b", "type": {"type": "enum", "name": "E", "namespace": "", "symbols": ["X", "Y", "Z"]}},
        {"name": "c", "type": "E"}, {"name": "d", "type": "n.E"}]}"#;
    // The Avro project's reader takes no name without a namespace within one that has it: each is one byte here.
    let made = values(inner.as_bytes(), 1).expect("values");
    assert!(made.iter().all(|value| value[5] == 0 && value[7..] == [0, 0] && value[6] <= 4), "places 0 to 2");
    assert!(made.iter().any(|value| value[6] == 4));
    let by_full_name = inner.replace(r#""namespace": """#, r#""namespace": "m""#);
    assert_eq!(read(&by_full_name).len(), made.len());
}

/// What is made is bounded in bytes, whatever it consists of.
#[test]
fn all_values_of_a_schema_together_are_bounded() {
    let field = |number: usize| format!(r#"{{"name": "f{number}", "type": "double"}}"#);
    let doubles: Vec<String> = (0..100).map(field).collect();
    let doubles = format!(r#"{{"type": "record", "name": "R", "fields": [{}]}}"#, doubles.join(","));
    let longs = r#"{"type": "array", "items": "long", "arg.properties": {"length": 1000000}}"#;
    for schema in [doubles.as_str(), r#"{"type": "string", "logicalType": "uuid"}"#] {
        let made = values(schema.as_bytes(), 1).expect("values");
        let bytes: usize = made.iter().map(Vec::len).sum();
        assert!(bytes <= ALL_MAX && (made.len() == COUNT_MAX || bytes > ALL_MAX - 2_000), "{bytes}");
    }
    assert!(refused(longs).starts_with("has values of more than 8 MiB"));
}

/// Files that someone made to do harm: each is refused, or done with soon.
#[test]
fn hostile_schemas_are_refused_or_soon_done_with() {
    let twice = r#"{"type": "record", "name": "Top", "fields": [
        {"name": "a", "type": {"type": "record", "name": "S", "fields": []}, "default": {}},
        {"name": "b", "type": ["null", {"type": "record", "name": "S", "fields": [
            {"name": "next", "type": "S", "default": {}}]}]},
        {"name": "c", "type": "S", "default": {}}]}"#;
    assert_eq!(refused(twice), "defines the type `S` twice");
    let defaults = (0..40).fold(r#""int""#.to_owned(), |inner, number| {
        let again = if number == 0 { r#""int""#.to_owned() } else { format!("\"R{}\"", number - 1) };
        let fields = format!(r#"{{"name": "a", "type": {inner}, "default": {{}}}}, {{"name": "b", "type": {again}, "default": {{}}}}"#);
        format!(r#"{{"type": "record", "name": "R{number}", "fields": [{fields}]}}"#)
    });
    let _ = values(defaults.as_bytes(), 1);
    let symbols: Vec<String> = (0..20_000).map(|number| format!("\"S{number}\"")).collect();
    let symbols = symbols.join(",");
    let many = format!(
        r#"{{"type": "enum", "name": "E", "symbols": [{symbols}], "arg.properties": {{"options": [{symbols}]}}}}"#
    );
    assert_eq!(values(many.as_bytes(), 1).expect("values").len(), COUNT_MAX);
    let name = "N".repeat(600_000);
    assert!(refused(&format!("\"{name}\"")).len() < 400);
}

#[test]
fn a_schema_that_cannot_be_used_says_why() {
    let cases = [
        ("{", "is no JSON: EOF while parsing an object at line 1 column 1"),
        (r#""colour""#, "is no Avro schema: "),
        (r#"{"schema": "\"int\"", "id": 5}"#, "is the answer of a registry; the schema is the text"),
        (&field(r#""Absent""#), "Absent"),
        (
            &field(r#"{"type": "string", "arg.properties": {"regex": "a+"}}"#),
            "says `regex` in `arg.properties` of `f`, which is not known here; of this type it may say `length`, `options`",
        ),
        (
            &field(r#"{"type": "int", "arg.properties": 3}"#),
            "says `arg.properties` of `f`, which is no object",
        ),
        (
            &field(r#"{"type": "int", "arg.properties": {"range": {"min": 3, "max": 3}}}"#),
            "says `range` in `arg.properties` of `f`, which leaves no value; `max` itself is not reached: it must be more than `min`",
        ),
        (
            &field(r#"{"type": "int", "arg.properties": {"range": {"max": 3000000000}}}"#),
            "says `range` in `arg.properties` of `f`, which goes beyond the type: -2147483648 to 2147483647",
        ),
        (
            &field(r#"{"type": "int", "arg.properties": {"options": ["a"]}}"#),
            "is no list of values of its type",
        ),
        (
            &field(r#"{"type": "string", "arg.properties": {"length": -1}}"#),
            "is no map of `min` and `max` with numbers",
        ),
        (&field(r#"{"type": "boolean", "arg.properties": {"odds": 2}}"#), "is no number from 0 to 1"),
        (
            &field(r#"["null", {"type": "int", "arg.properties": {"odds": 1}}]"#),
            "of this type it may say `range`, `options`",
        ),
        (&field(r#"{"type": "fixed", "name": "F", "size": 1000000000}"#), "has values of more than 8 MiB"),
        (
            &field(
                r#"{"type": "array", "arg.properties": {"length": 4000}, "items":
                {"type": "array", "arg.properties": {"length": 4000}, "items": "null"}}"#,
            ),
            "has values of more than 8 MiB",
        ),
    ];
    for (schema, reported) in cases {
        let error = refused(schema);
        assert!(error.contains(reported), "{schema}: {error}");
    }
    let long = format!("\"{}\"", " ".repeat(SCHEMA_BYTES_MAX as usize));
    assert_eq!(refused(&long), "has 1048578 bytes, more than the 1048576 that are read");
}

/// Any JSON, most of it nearly a schema.
fn nearly_a_schema() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("0".to_owned()),
        Just("3".to_owned()),
        Just("-1".to_owned()),
        Just("1e18".to_owned()),
        any::<i64>().prop_map(|n| n.to_string())
    ];
    let word = prop::sample::select(vec![
        "null",
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "bytes",
        "string",
        "R",
        "a.R",
        "record",
        "enum",
        "fixed",
        "array",
        "map",
        "decimal",
        "uuid",
        "date",
        "duration",
        "timestamp-nanos",
        "big-decimal",
        "",
    ]);
    let leaf = prop_oneof![number, word.prop_map(|word| format!("{word:?}")), Just("null".to_owned())];
    let key = prop::sample::select(vec![
        "type",
        "name",
        "fields",
        "items",
        "values",
        "symbols",
        "size",
        "logicalType",
        "precision",
        "scale",
        "namespace",
        "arg.properties",
        "length",
        "range",
        "options",
        "odds",
        "min",
        "max",
        "default",
        "aliases",
    ]);
    leaf.prop_recursive(6, 40, 6, move |inner| {
        let object = prop::collection::vec((key.clone(), inner.clone()), 0..6).prop_map(|entries| {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key:?}: {value}")).collect();
            format!("{{{}}}", entries.join(", "))
        });
        let list =
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(", ")));
        let typed = inner.prop_map(|inner| field(&inner));
        prop_oneof![object, list, typed]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_does_harm(schema in nearly_a_schema()) {
        let shapes = read_schema(schema.as_bytes());
        if let Ok(shapes) = shapes {
            let mut random = Random::new();
            let mut out = Vec::new();
            let mut maker = Maker::new(&shapes, &mut random, 10_000);
            let made = maker.append(shapes.whole(), &mut out);
            // Other than the last part, which may be a number.
            prop_assert!(out.len() <= 10_040);
            if made.is_ok() {
                let parsed = Schema::parse_str(&schema).expect("it was read");
                let reader = GenericDatumReader::builder(&parsed).build().expect("a reader");
                let mut rest = out.as_slice();
                prop_assert!(reader.read_value(&mut rest).is_ok() && rest.is_empty(), "{schema}: {out:?}");
            }
        }
    }
}
