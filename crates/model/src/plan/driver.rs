//! Which client carries a load item: kdyno's own, or a release of Kafka's Java client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Which client sends or fetches the records of a load item.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// kdyno's own.
    #[default]
    Native,
    /// Kafka's Java client, in a Java process of its own for each worker that has clients of the item.
    Java(JavaDriver),
}

/// In a few words: `native`, `java 4.1.1 -Xmx1g`.
impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|path| path.display().to_string()))
    }
}

/// A release by its number, anything else by where it lies.
impl fmt::Display for JavaClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words(|path| path.display().to_string()))
    }
}

impl JavaClient {
    /// What `shown` makes of a path, in its words.
    fn words(&self, shown: impl Fn(&Path) -> String) -> String {
        match self {
            Self::Version(version) => version.clone(),
            Self::Home(path) => format!("from {}", shown(path)),
            Self::Source(path) => format!("built in {}", shown(path)),
            Self::Jar(path) => shown(path),
        }
    }
}

impl JavaDriver {
    fn words(&self, client: &str) -> String {
        let options = self.jvm.iter().flat_map(|option| [" ", option.as_str()]);
        ["java ", client].into_iter().chain(options).collect()
    }
}

impl Driver {
    /// What tables call it: of a path only its last part, for it is long and says where it lay on one host.
    pub fn label(&self) -> String {
        self.words(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
    }

    /// What `shown` makes of a path, in its words.
    fn words(&self, shown: impl Fn(&Path) -> String) -> String {
        match self {
            Self::Native => "native".to_owned(),
            Self::Java(java) => java.words(&java.client.words(shown)),
        }
    }

    /// Whether it is kdyno's own.
    pub fn is_native(&self) -> bool {
        *self == Self::Native
    }

    /// The Java client, where it is one.
    pub fn as_java(&self) -> Option<&JavaDriver> {
        match self {
            Self::Native => None,
            Self::Java(java) => Some(java),
        }
    }

    /// The same, to be changed.
    pub fn as_java_mut(&mut self) -> Option<&mut JavaDriver> {
        match self {
            Self::Native => None,
            Self::Java(java) => Some(java),
        }
    }

    /// Settings that the client's own process gets, by Kafka's names; `None`: it has no process of its own.
    pub fn properties(&self) -> Option<&BTreeMap<String, String>> {
        match self {
            Self::Native => None,
            Self::Java(java) => Some(&java.properties),
        }
    }

    /// Whether one program serves both: they differ in no more than their settings.
    pub fn shares_program(&self, other: &Self) -> bool {
        match (self.as_java(), other.as_java()) {
            (Some(a), Some(b)) => (&a.client, &a.jvm) == (&b.client, &b.jvm),
            _ => self == other,
        }
    }

    /// Whether its requests and batches are seen. Where they are not, their counts are 0 and say nothing, and what the client
    /// itself delays is part of what the load generator does.
    pub fn shows_requests(&self) -> bool {
        match self {
            Self::Native => true,
            Self::Java(_) => false,
        }
    }

    /// Whether a client keeps the connection to its first address, in addition to those to the brokers by their ids.
    pub fn keeps_first_connection(&self) -> bool {
        match self {
            Self::Native => false,
            Self::Java(_) => true,
        }
    }
}

/// A Java client and how it is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JavaDriver {
    /// Which one.
    pub client: JavaClient,
    /// Options of its Java process, e.g. `-Xmx1g`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jvm: Vec<String>,
    /// The client's settings as they were typed, by Kafka's names, passed on as they are; how the cluster is reached is
    /// not among them. What is not named has the default of that release.
    pub properties: BTreeMap<String, String>,
}

/// A size as options of Java say it, e.g. `512M` of `-Xmx512M`, bytes: a whole number, decimal or, behind `0x`, hexadecimal,
/// with k, m, g or t behind it, as HotSpot reads it; none: Java does not start with it.
pub fn java_size(text: &str) -> Option<u64> {
    let units = [('k', 1 << 10), ('m', 1 << 20), ('g', 1 << 30), ('t', 1_u64 << 40)];
    let last = text.chars().last()?.to_ascii_lowercase();
    let unit = units.iter().find(|(letter, _)| *letter == last);
    // Letters of units are one byte long.
    let number = &text[..text.len() - usize::from(unit.is_some())];
    let (digits, radix) = number.strip_prefix("0x").map_or((number, 10), |digits| (digits, 16));
    let is_digit = |char: char| char.is_digit(radix);
    let number = digits.chars().all(is_digit).then(|| u64::from_str_radix(digits, radix).ok())??;
    number.checked_mul(unit.map_or(1, |(_, bytes)| *bytes))
}

/// Where a Java client comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JavaClient {
    /// A release of kafka-clients, e.g. `4.1.1`, from the Maven repository.
    Version(String),
    /// An unpacked Kafka distribution: the jars of its `libs` folder.
    Home(PathBuf),
    /// A checkout of Kafka's sources in which the clients' jar has been built.
    Source(PathBuf),
    /// One jar of kafka-clients; what else it needs comes as for the newest release.
    Jar(PathBuf),
}

/// What a worker needs to run a stream with the Java client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JavaTask {
    /// The program and its arguments. It finds its end of a socket pair as descriptor 0.
    pub command: Vec<String>,
    /// Settings of the client by Kafka's names, without those that hold secrets or say how the cluster is reached.
    pub properties: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_what_java_reads() {
        for (text, bytes) in
            [("7", 7), ("1k", 1024), ("512M", 512 << 20), ("0x10G", 16 << 30), ("1t", 1 << 40)]
        {
            assert_eq!(java_size(text), Some(bytes), "{text}");
        }
        for text in ["", "k", "0x", "1gb", "1 g", "+1", "-1", "1.5g", "256q", "g1", "99999999999t", "é"] {
            assert_eq!(java_size(text), None, "{text}");
        }
    }

    #[test]
    fn a_label_has_the_last_part_of_a_path() {
        let java = |client| {
            Driver::Java(JavaDriver { client, jvm: vec!["-Xmx1g".into()], properties: BTreeMap::new() })
        };
        for (client, full, label) in [
            (JavaClient::Version("4.1.1".into()), "java 4.1.1 -Xmx1g", "java 4.1.1 -Xmx1g"),
            (
                JavaClient::Home("/opt/kafka/".into()),
                "java from /opt/kafka/ -Xmx1g",
                "java from kafka -Xmx1g",
            ),
            (
                JavaClient::Source("../kafka".into()),
                "java built in ../kafka -Xmx1g",
                "java built in kafka -Xmx1g",
            ),
            (JavaClient::Jar("/m/k-4.jar".into()), "java /m/k-4.jar -Xmx1g", "java k-4.jar -Xmx1g"),
            (JavaClient::Home("..".into()), "java from .. -Xmx1g", "java from .. -Xmx1g"),
        ] {
            let driver = java(client);
            assert_eq!((driver.to_string().as_str(), driver.label().as_str()), (full, label));
        }
        assert_eq!(Driver::Native.label(), "native");
    }
}
