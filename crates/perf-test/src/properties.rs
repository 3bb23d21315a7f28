//! Properties of a client as the tools take them: those of a file, those that were typed, and the addresses, in one.

use kdyno_model::properties::{Property, trim};
use std::fmt::Write;

/// Where a property was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyOrigin {
    /// On a line of the properties file.
    Line(u32),
    /// With an option.
    Option(&'static str),
}

/// A property, and where it was given.
#[derive(Clone, PartialEq, Eq)]
pub struct PropertyEntry {
    /// Its name.
    pub name: String,
    /// Its value, which may be a secret.
    pub value: String,
    /// Where it was given.
    pub from: PropertyOrigin,
}

/// `NAME=VALUE` as it was typed for the producer. The tool takes no `=` in a value; here it may have some, so that a login
/// can be typed.
///
/// # Errors
/// In the tool's words; what was typed without `=` is not repeated, for it may be a part of a password.
pub fn name_and_value(typed: &str) -> Result<(String, String), String> {
    match typed.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        Some((name, _)) => Err(format!("Invalid property: {name}=")),
        None => Err(
            "Invalid property: what was typed has no `=`; write NAME=VALUE, in quotes where it has blanks"
                .to_owned(),
        ),
    }
}

/// The properties for the consumer, whose tool splits at the first `=` and takes a name alone for one with an empty
/// value.
pub fn name_and_maybe_value(typed: &str) -> (String, String) {
    let (name, value) = typed.split_once('=').unwrap_or((typed, ""));
    (name.to_owned(), value.to_owned())
}

/// The properties of a file and those that were typed; the later one counts.
#[derive(Clone, Default)]
pub struct MergedProperties(Vec<PropertyEntry>);

impl MergedProperties {
    /// Properties of a file, in its order.
    pub fn of_file(properties: &[Property]) -> Self {
        let given = |property: &Property| PropertyEntry {
            name: property.name.clone(),
            value: property.value.clone(),
            from: PropertyOrigin::Line(property.line),
        };
        Self(properties.iter().map(given).collect())
    }

    /// Sets one that was typed with an option.
    pub fn set(&mut self, name: &str, value: &str, option: &'static str) {
        self.remove(name);
        self.0.push(PropertyEntry {
            name: name.to_owned(),
            value: value.to_owned(),
            from: PropertyOrigin::Option(option),
        });
    }

    /// Takes one out, and returns its value as Kafka's clients read it.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|given| given.name == name)?;
        Some(trim(&self.0.remove(place).value).to_owned())
    }

    /// The one on a line of [`Self::text`], from 1.
    pub fn on_line(&self, line: u32) -> Option<&PropertyEntry> {
        self.0.get(usize::try_from(line).ok()?.checked_sub(1)?)
    }

    /// All of them as a properties file, one on each line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for given in &self.0 {
            escape(&mut text, &given.name, true);
            text.push('=');
            escape(&mut text, &given.value, false);
            text.push('\n');
        }
        text
    }
}

/// Writes a name or a value so that Java reads it back.
fn escape(out: &mut String, text: &str, is_name: bool) {
    for (at, char) in text.chars().enumerate() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0c' => out.push_str("\\f"),
            ' ' if is_name || at == 0 => out.push_str("\\ "),
            '=' | ':' | '#' | '!' if is_name => {
                out.push('\\');
                out.push(char);
            }
            ' '..='~' => out.push(char),
            _ => {
                let mut units = [0u16; 2];
                for unit in char.encode_utf16(&mut units) {
                    // Writing to a text cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::properties::Properties;

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        let login = "sasl.jaas.config=x.PlainLoginModule required username=\"a\" password=\"b=c\";";
        let (name, value) = name_and_value(login).expect("a property");
        assert_eq!((name.as_str(), value.ends_with("password=\"b=c\";")), ("sasl.jaas.config", true));
        assert!(!name_and_value("secret").expect_err("none").contains("secret"));
        assert_eq!(name_and_value("acks=").expect_err("none"), "Invalid property: acks=");
        assert_eq!(name_and_value("=secret").expect_err("none"), "Invalid property: =");
    }

    #[test]
    fn what_was_typed_counts_and_all_is_read_back() {
        let file = Properties::parse(b"acks=1\nlinger.ms = 5 \nclient.rack=a").expect("properties");
        let mut merged = MergedProperties::of_file(&file.properties);
        merged.set("acks", "all", "--command-property");
        merged.set("odd name", " \\ä=:#\u{1f600}\n", "--command-property");
        assert_eq!(merged.remove("client.rack").as_deref(), Some("a"));
        let text = merged.text();
        let read = Properties::parse(text.as_bytes()).expect("properties");
        let pairs: Vec<_> =
            read.properties.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
        let typed = (" \\ä=:#\u{1f600}\n", "all");
        assert_eq!(pairs, [("linger.ms", "5 "), ("acks", typed.1), ("odd name", typed.0)]);
        assert_eq!(merged.on_line(1).map(|given| given.from.clone()), Some(PropertyOrigin::Line(2)));
        assert_eq!(merged.on_line(3).map(|given| given.name.as_str()), Some("odd name"));
        assert!(merged.on_line(0).is_none() && merged.on_line(4).is_none());
    }
}
