//! Secrets: what a plan says of them, and their values, which are in no plan, message type or run file.
//!
//! A plan holds a [`SecretRef`]; the lab resolves it once per run. A [`Secret`] can be neither printed, compared,
//! copied nor serialised: code that needs the bytes calls [`Secret::expose`], so that every such place can be found.

use base64::{Engine, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// Largest value of a secret, bytes: far more than a key with its chain of certificates.
pub const SECRET_BYTES_MAX: usize = 64 << 10;

/// Where a secret's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretRef {
    /// The environment variable of this name.
    Env(String),
    /// This file's contents, without a newline at its end.
    File(PathBuf),
    /// A property of a Java client's properties file, in plain text.
    Property {
        /// The properties file.
        file: PathBuf,
        /// The property's name.
        name: String,
        /// The option of a login module in `sasl.jaas.config`.
        option: Option<String>,
    },
    /// What this program with its arguments writes to its standard output, without a newline at its end. No shell.
    Exec(Vec<String>),
    /// Random, made for the run: for systems that are made for it as well.
    Made,
}

/// For messages. Of a command only the program is named: an argument may be private.
impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Property { file, name, option: None } => write!(f, "`{name}` of file {}", file.display()),
            Self::Property { file, name, option: Some(option) } => {
                write!(f, "`{option}` in `{name}` of file {}", file.display())
            }
            Self::Exec(command) => write!(f, "command {}", command.first().map_or("", String::as_str)),
            Self::Made => f.write_str("made for the run"),
        }
    }
}

/// A secret's value. It is overwritten when it is dropped.
pub struct Secret(Vec<u8>);

impl Secret {
    /// Takes the value over. Bytes that do not move from here on leave no copy behind: fill a vector that has the
    /// capacity from the start.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The value itself, for the one place that hands it on.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.fill(0);
        // Somebody might still read them, as far as the compiler knows: so they are written.
        std::hint::black_box(&self.0);
    }
}

/// Base64 text (RFC 4648 with padding), as a message to a worker has it. A value of a wrong type may be in the error.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Base64;
        impl Visitor<'_> for Base64 {
            type Value = Secret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("base64 text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Secret, E> {
                let decoded = STANDARD.decode(text).ok().map(Secret::new);
                let fits = decoded.filter(|secret| secret.expose().len() <= SECRET_BYTES_MAX);
                fits.ok_or_else(|| E::custom("no base64 text, or too much"))
            }
        }
        deserializer.deserialize_str(Base64)
    }
}

/// For serde's `deserialize_with`: values by name. Its error repeats nothing of what stood there instead.
pub(crate) fn values_by_name<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Secret>, D::Error> {
    let reported =
        || format!("secrets are a map of names to base64 text of at most {SECRET_BYTES_MAX} bytes");
    BTreeMap::deserialize(deserializer).map_err(|_| D::Error::custom(reported()))
}

impl JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A secret's value; must not be repeated anywhere.",
            "type": "string",
            "contentEncoding": "base64",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does not compile when the type has the trait: the compiler then knows two functions of that name.
    macro_rules! lacks {
        ($type:ty: $($lacked:path),+) => {$({
            trait Ambiguous<T> {
                fn is_lacking() {}
            }
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + $lacked> Ambiguous<u8> for T {}
            <$type as Ambiguous<_>>::is_lacking();
        })+};
    }

    #[test]
    fn a_value_cannot_be_printed_compared_copied_or_serialised() {
        lacks!(Secret: fmt::Debug, fmt::Display, Serialize, PartialEq, Clone, AsRef<[u8]>, std::ops::Deref);
    }

    #[test]
    fn references_are_short_in_files() {
        for (reference, json) in [
            (SecretRef::Env("PW".into()), r#"{"env":"PW"}"#),
            (SecretRef::File("/run/pw".into()), r#"{"file":"/run/pw"}"#),
            (SecretRef::Exec(vec!["pass".into(), "show".into()]), r#"{"exec":["pass","show"]}"#),
            (SecretRef::Made, r#""made""#),
        ] {
            assert_eq!(serde_json::to_string(&reference).unwrap(), json);
            assert_eq!(serde_json::from_str::<SecretRef>(json).unwrap(), reference);
        }
    }

    #[test]
    fn a_command_is_named_without_its_arguments() {
        let command = SecretRef::Exec(vec!["vault".into(), "--token=hunter2".into()]);
        assert_eq!(command.to_string(), "command vault");
    }

    #[test]
    fn a_value_is_read_from_base64_and_no_error_repeats_it() {
        let read = |json: &str| values_by_name(&mut serde_json::Deserializer::from_str(json));
        let values = read(r#"{"pw":"aHVudGVyMg=="}"#).expect("a value");
        assert_eq!(values["pw"].expose(), b"hunter2");
        let large = format!(r#"{{"pw":"{}"}}"#, STANDARD.encode(vec![7; SECRET_BYTES_MAX + 1]));
        for json in
            [r#"{"pw":"hunter2!"}"#, r#"{"pw":["hunter2"]}"#, r#""hunter2""#, r#"["hunter2"]"#, &large]
        {
            let reported = read(json).err().expect("no value").to_string();
            assert!(
                reported.starts_with("secrets are a map of names to base64 text of at most 65536 bytes"),
                "{reported}"
            );
        }
    }
}
