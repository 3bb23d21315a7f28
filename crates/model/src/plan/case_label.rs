//! What cases are called: the values in which they differ, with the name of a parameter only where its values do not say what
//! they belong to.

use super::ParamValue;
use crate::units;
use std::collections::{BTreeMap, BTreeSet};

/// Values that switch something on or off.
const ON: &[&str] = &["true", "yes", "on"];
const OFF: &[&str] = &["false", "no", "off", "none"];
/// Words that say nothing without the name of their parameter.
const VAGUE: &[&str] = &["all", "any", "auto", "default", "max", "min", "other", "same"];
/// Shorter words are abbreviations, which need the name of their parameter.
const WORD_CHARS_MIN: usize = 3;
/// Parameters whose sizes are those of records; other sizes need the name of their parameter.
const RECORD_SIZES: &[&str] = &["size", "value", "record", "record_size", "message_size", "payload"];

/// Labels of cases by the parameters in which they differ, in this order: `SASL_SSL 1 KiB`, `lz4 brokers=3`, `+proxy`.
pub fn case_labels(cases: &[&BTreeMap<String, ParamValue>], differing: &[String]) -> Vec<String> {
    let labels = labels(cases, differing);
    // One size in two spellings.
    let is_told_apart = labels.iter().collect::<BTreeSet<_>>().len() == labels.len();
    if is_told_apart { labels } else { cases.iter().map(|case| spelt_out(case, differing)).collect() }
}

fn spelt_out(case: &BTreeMap<String, ParamValue>, names: &[String]) -> String {
    let part = |name: &String| case.get(name).map(|value| format!("{name}={value}"));
    names.iter().filter_map(part).collect::<Vec<_>>().join(" ")
}

fn labels(cases: &[&BTreeMap<String, ParamValue>], names: &[String]) -> Vec<String> {
    let values: Vec<Vec<String>> = names.iter().map(|name| values(cases, name)).collect();
    let is_alone = |index: usize| {
        // The first of several parameters that share a value may do without its name.
        let mut earlier = values[..index].iter();
        let is_shared = earlier.any(|theirs| theirs.iter().any(|value| values[index].contains(value)));
        !is_shared && values[index].iter().all(|value| says_itself(&names[index], value))
    };
    let is_alone: Vec<bool> = (0..names.len()).map(is_alone).collect();
    let label = |case: &&BTreeMap<String, ParamValue>| {
        let part = |(index, name): (usize, &String)| {
            let value = case.get(name)?.to_string();
            Some(part(name, &value, &values[index], is_alone[index]))
        };
        names.iter().enumerate().filter_map(part).collect::<Vec<_>>().join(" ")
    };
    cases.iter().map(label).collect()
}

/// The values of a parameter, each once.
fn values(cases: &[&BTreeMap<String, ParamValue>], name: &str) -> Vec<String> {
    let mut values: Vec<String> =
        cases.iter().filter_map(|case| case.get(name)).map(ToString::to_string).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn part(name: &str, value: &str, values: &[String], is_alone: bool) -> String {
    let is_off = |value: &str| OFF.contains(&value);
    // One of two values is none, so the other is what there is: a long one is called by its parameter.
    let is_there = values.len() == 2 && values.iter().any(|one| is_off(one)) && value.len() >= 2 * name.len();
    match value {
        off if is_off(off) => format!("no {name}"),
        on if ON.contains(&on) || is_there => format!("+{name}"),
        _ if is_alone => printed(value),
        _ => format!("{name}={value}"),
    }
}

/// Whether a value says of what it is: a word, the size of a record, or a rate.
fn says_itself(name: &str, value: &str) -> bool {
    match parted(value) {
        None => {
            value.starts_with(char::is_alphabetic)
                && value.chars().count() >= WORD_CHARS_MIN
                && !VAGUE.contains(&value)
        }
        Some((_, unit)) if unit.ends_with("/s") => name == "rate",
        Some((_, unit)) => unit.ends_with('B') && RECORD_SIZES.contains(&name),
    }
}

/// A size as one reads it, `1 KiB` where `1024B` was typed; anything else as typed.
fn printed(value: &str) -> String {
    match parted(value) {
        Some((number, "B")) => number.parse().map_or_else(|_| value.to_owned(), units::size),
        Some((number, unit)) if unit.ends_with('B') => format!("{number} {unit}"),
        _ => value.to_owned(),
    }
}

/// A number and its unit, which may be empty; `None`: it does not begin with a digit.
fn parted(value: &str) -> Option<(&str, &str)> {
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    (value.starts_with(|c: char| c.is_ascii_digit())).then(|| value.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(names: &[&str], rows: &[&[&str]]) -> Vec<String> {
        let case = |row: &&[&str]| -> BTreeMap<String, ParamValue> {
            let value = |text: &&str| {
                text.parse().map_or_else(|_| ParamValue::Text((*text).to_owned()), ParamValue::Int)
            };
            names.iter().map(|name| (*name).to_owned()).zip(row.iter().map(value)).collect()
        };
        let cases: Vec<_> = rows.iter().map(case).collect();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        case_labels(&cases.iter().collect::<Vec<_>>(), &names)
    }

    #[test]
    fn values_come_without_names_where_they_say_what_they_are() {
        let sizes: &[&[&str]] = &[&["SASL_SSL", "1024B"], &["PLAINTEXT", "512000B"], &["SSL", "1KiB"]];
        assert_eq!(
            labelled(&["protocol", "size"], sizes),
            ["SASL_SSL 1 KiB", "PLAINTEXT 500 KiB", "SSL 1 KiB"]
        );
        assert_eq!(labelled(&["brokers"], &[&["3"], &["6"]]), ["brokers=3", "brokers=6"]);
        assert_eq!(labelled(&["batch"], &[&["16KiB"], &["64KiB"]]), ["batch=16KiB", "batch=64KiB"]);
        assert_eq!(
            labelled(&["linger", "rate"], &[&["0ms", "5k/s"], &["5ms", "10k/s"]]),
            ["linger=0ms 5k/s", "linger=5ms 10k/s"]
        );
        assert_eq!(labelled(&["kafka"], &[&["3.7.2"], &["4.1.1"]]), ["kafka=3.7.2", "kafka=4.1.1"]);
        assert_eq!(labelled(&["acks"], &[&["1"], &["all"]]), ["acks=1", "acks=all"], "all of one kind");
        assert_eq!(labelled(&["size"], &[&["1024B"], &["1KiB"]]), ["size=1024B", "size=1KiB"], "told apart");
        assert_eq!(labelled(&[], &[&[]]), [""]);
    }

    #[test]
    fn what_is_there_or_not_is_called_by_its_parameter() {
        assert_eq!(labelled(&["proxy"], &[&["none"], &["kroxylicious"]]), ["no proxy", "+proxy"]);
        assert_eq!(labelled(&["tls"], &[&["yes"], &["no"]]), ["+tls", "no tls"]);
        let codecs = labelled(&["compression"], &[&["none"], &["lz4"], &["zstd"]]);
        assert_eq!(codecs, ["no compression", "lz4", "zstd"]);
    }

    #[test]
    fn all_parameters_that_differ_are_in_a_label() {
        let names = ["acks", "linger", "batch"];
        let rows: &[&[&str]] = &[&["1", "0ms", "16KiB"], &["all", "20ms", "256KiB"]];
        assert_eq!(
            labelled(&names, rows),
            ["acks=1 linger=0ms batch=16KiB", "acks=all linger=20ms batch=256KiB"]
        );
        // The second of two parameters with the same values, and of two rates, has its name.
        let rows: &[&[&str]] = &[&["SSL", "SSL"], &["SSL", "TLS"], &["TLS", "SSL"]];
        assert_eq!(labelled(&["a", "b"], rows), ["SSL b=SSL", "SSL b=TLS", "TLS b=SSL"]);
        let rates: &[&[&str]] = &[&["1k/s", "5k/s"], &["2k/s", "10k/s"]];
        assert_eq!(labelled(&["rate", "reads"], rates), ["1k/s reads=5k/s", "2k/s reads=10k/s"]);
        let letters: &[&[&str]] = &[&["1KiB", "s"], &["1KiB", "l"]];
        assert_eq!(labelled(&["size", "batch"], letters), ["1 KiB batch=s", "1 KiB batch=l"]);
    }
}
