//! The consumer's properties: those of a file, those of the command line over them.

use crate::failure::Failure;
use crate::scenario_source;
use crate::target_source::with_properties_of;
use kdyno_model::jaas;
use kdyno_model::properties::{Properties, trim};
use kdyno_model::secret::SecretRef;
use kdyno_perf_test::consumer::Options;
use kdyno_scenario::security::{ClientProperties, client_properties};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// Where messages say that a property stands which no file has.
pub(super) const TYPED: &str = "--command-property";

/// What was given.
pub(super) struct Given {
    /// How the cluster is reached, and how the consumer is set.
    pub(super) properties: ClientProperties,
    /// Secrets that were typed, by the names of the variables that the plan takes for them: nothing writes them anywhere.
    typed: BTreeMap<String, String>,
}

impl Given {
    /// Reads the file, and what was typed.
    pub(super) fn read(options: &Options) -> Result<Self, Failure> {
        let path = options.config.as_deref().map(Path::new);
        let mut bytes = match path {
            Some(path) => scenario_source::read_bytes(path, "properties file")?,
            None => Vec::new(),
        };
        let typed: String = options.properties.iter().map(|(name, value)| line(name, value)).collect();
        if !typed.is_empty() {
            // A last line that goes on ends with the empty one.
            bytes.extend_from_slice(b"\n\n");
            bytes.extend_from_slice(typed.as_bytes());
        }
        let path = path.unwrap_or(Path::new(TYPED));
        let properties = with_properties_of(path, &bytes, |file| client_properties(file, &BTreeMap::new()))?;
        let mut given = Self { properties, typed: BTreeMap::new() };
        given.keep_typed(
            &Properties::parse(typed.as_bytes()).map_err(|error| Failure::usage(error.message))?,
        )?;
        Ok(given)
    }

    /// Secrets that were typed stand in no file: the plan names variables for them that are this command's own.
    fn keep_typed(&mut self, typed: &Properties) -> Result<(), Failure> {
        for (known_as, reference) in &mut self.properties.secrets {
            let SecretRef::Property { name, option, .. } = &*reference else { continue };
            let Some(value) = typed.get(name) else { continue };
            let value = match option {
                None => trim(value).to_owned(),
                Some(option) => {
                    let module = jaas::parse(value)
                        .map_err(|error| Failure::usage(format!("{TYPED}: {}", error.message)))?;
                    module.options.get(option).cloned().unwrap_or_default()
                }
            };
            let variable = format!("{TYPED} {known_as}");
            self.typed.insert(variable.clone(), value);
            *reference = SecretRef::Env(variable);
        }
        Ok(())
    }

    /// The value of an environment variable, or of one of the command's own.
    pub(super) fn variable(&self, name: &str) -> Option<OsString> {
        self.typed.get(name).map(OsString::from).or_else(|| std::env::var_os(name))
    }
}

/// A property as a line of a file.
fn line(name: &str, value: &str) -> String {
    let escaped = |text: &str, specials: &str| {
        let mut units = [0; 2];
        let of = |letter: char| match letter {
            ' '..='~' if specials.contains(letter) => format!("\\{letter}"),
            ' '..='~' => letter.to_string(),
            _ => letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
        };
        text.chars().map(of).collect::<String>()
    };
    let blanks = value.len() - value.trim_start_matches(' ').len();
    let value = format!("{}{}", "\\ ".repeat(blanks), escaped(&value[blanks..], "\\"));
    format!("{}={value}\n", escaped(name, "\\ :=#!"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_read_back_as_it_was() {
        for (name, value) in [
            ("fetch.min.bytes", "1"),
            ("sasl.jaas.config", "a.B required password=\"x\\\"=y\" z='#!:'; "),
            (" odd:name#", "  \tblanks \u{e9}\u{1f600}\nline"),
            ("empty", ""),
        ] {
            let read = Properties::parse(line(name, value).as_bytes()).expect("a line");
            assert_eq!(read.get(name), Some(value), "{:?}", line(name, value));
            assert_eq!(read.properties.len(), 1);
        }
    }
}
