//! Which client carries a load item: kdyno's own, or a release of Kafka's Java client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

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
        let Self::Java(java) = self else { return f.write_str("native") };
        write!(f, "java {}", java.client)?;
        java.jvm.iter().try_for_each(|option| write!(f, " {option}"))
    }
}

/// A release by its number, anything else by where it lies.
impl fmt::Display for JavaClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => f.write_str(version),
            Self::Home(path) => write!(f, "from {}", path.display()),
            Self::Source(path) => write!(f, "built in {}", path.display()),
            Self::Jar(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Driver {
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
    /// One jar of kafka-clients; what it needs besides comes as for the newest release.
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
