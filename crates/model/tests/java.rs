//! Readers of Java's formats against Java itself: what `java.util.Properties` (17) and the JAAS reader of kafka-clients
//! 4.3.1 make of texts that were drawn once from what matters to them. A line has a text in hexadecimal digits and what
//! Java made of it: `ERROR`, or names and values in UTF-16.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

use kdyno_model::jaas;
use kdyno_model::properties::Properties;
use std::collections::BTreeMap;

const PROPERTIES: &str = include_str!("java-properties.txt");
const JAAS: &str = include_str!("java-jaas.txt");

fn bytes(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn digits(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("{unit:04x}")).collect()
}

/// Names and values as Java prints a sorted map.
fn map<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let pairs: BTreeMap<String, String> = pairs.map(|(name, value)| (digits(name), digits(value))).collect();
    let shown: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{{{}}}", shown.join(", "))
}

fn cases(text: &str) -> impl Iterator<Item = (Vec<u8>, &str)> {
    text.lines().map(|line| line.split_once('\t').map(|(text, java)| (bytes(text), java)).unwrap())
}

#[test]
fn properties_are_what_java_reads() {
    assert!(cases(PROPERTIES).count() > 500);
    for (text, java) in cases(PROPERTIES) {
        let own = match Properties::parse(&text) {
            Ok(found) => map(found.properties.iter().map(|one| (one.name.as_str(), one.value.as_str()))),
            Err(_) => "ERROR".to_owned(),
        };
        assert_eq!(own, java, "{:?}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn login_modules_are_what_kafka_reads_but_for_open_quotes() {
    assert!(cases(JAAS).filter(|(_, java)| *java != "ERROR").count() > 50);
    for (text, java) in cases(JAAS) {
        let text = String::from_utf8(text).unwrap();
        match jaas::parse(text.trim()) {
            Ok(module) => {
                let options = module.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                assert_eq!(format!("{}{}", digits(&module.class), map(options)), java, "{text:?}");
            }
            // Java ends such a text with its line.
            Err(error) if error.message.contains("not closed") => {}
            Err(error) => assert_eq!("ERROR", java, "{text:?}: {error}"),
        }
    }
}
