//! What runs next to the cluster in a trial: services of the user's own system, and databases.

use crate::plan::command::line_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::{Display, EnumString, IntoStaticStr};

/// Most components of a case: each is a process with threads that read it, and its probes cost time.
pub const COMPONENTS_MAX: usize = 32;
/// Name of the proxy among the components of its case.
pub const PROXY: &str = "proxy";
/// The release of Kroxylicious that is started: the newest that Maven Central has with all that it needs.
pub const KROXYLICIOUS: &str = "0.10.0";
/// Longest that one may take to be ready, or to end, ns.
pub const COMPONENT_WAIT_NS_MAX: u64 = 3_600 * 1_000_000_000;

/// A process that is started after the brokers and before the load of each trial, and ended after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentPlan {
    /// Its name in the scenario, in tables and in metric addresses.
    pub name: String,
    /// What runs.
    pub kind: ComponentKind,
    /// Further variables of its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// When it counts as ready: what comes after it is started then.
    pub ready: ReadyWhen,
    /// How long it may take until then, ns.
    pub ready_within_ns: u64,
    /// The signal that asks it to end.
    pub stop_signal: StopSignal,
    /// Between that signal and SIGKILL, ns.
    pub stop_within_ns: u64,
}

impl ComponentPlan {
    /// Its database, if it is one.
    pub fn as_postgres(&self) -> Option<&PostgresPlan> {
        match &self.kind {
            ComponentKind::Postgres(plan) => Some(plan),
            ComponentKind::Command(_) | ComponentKind::Proxy(_) => None,
        }
    }

    /// Whether it lies between clients and brokers.
    pub fn is_proxy(&self) -> bool {
        matches!(self.kind, ComponentKind::Proxy(_))
    }

    /// Whether it is nothing but what kdyno itself names and fetches.
    pub fn is_kdynos_own(&self) -> bool {
        // Its name is that of its folder, too.
        self.name == PROXY
            && matches!(&self.kind, ComponentKind::Proxy(ProxyPlan::Kroxylicious(version)) if version == KROXYLICIOUS)
    }

    /// What is started, for people.
    pub fn line(&self) -> String {
        match &self.kind {
            ComponentKind::Command(words) | ComponentKind::Proxy(ProxyPlan::Command(words)) => line_of(words),
            ComponentKind::Proxy(ProxyPlan::Kroxylicious(version)) => format!("Kroxylicious {version}"),
            ComponentKind::Postgres(plan) => {
                let version = plan.version.map_or_else(|| "as installed".to_owned(), |v| v.to_string());
                format!("PostgreSQL {version}, database {}", plan.database)
            }
        }
    }
}

/// What a component is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComponentKind {
    /// A program and its arguments.
    Command(Vec<String>),
    /// A PostgreSQL server with data of its own.
    Postgres(PostgresPlan),
    /// What clients connect to in the place of the brokers: at most one of a case, and its first component.
    Proxy(ProxyPlan),
}

/// A proxy that understands Kafka.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProxyPlan {
    /// A program and its arguments.
    Command(Vec<String>),
    /// Kroxylicious of this release, without filters.
    Kroxylicious(String),
}

/// A PostgreSQL server of this host's packages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresPlan {
    /// Major version; `None`: the newest that is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The database that is made in it.
    pub database: String,
    /// Settings of the server under PostgreSQL's names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// When a component counts as ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyWhen {
    /// As soon as it was started.
    Started,
    /// When its port takes connections.
    Port,
    /// When its port answers a GET of this path with a status from 200 to 399.
    Http(String),
    /// When it has written a line that contains this text.
    Line(String),
    /// When a PostgreSQL server says so in its data folder.
    Postgres,
}

impl ReadyWhen {
    /// In words, after "until".
    pub fn described(&self) -> String {
        match self {
            Self::Started => "it was started".to_owned(),
            Self::Port => "its port takes connections".to_owned(),
            Self::Http(path) => format!("GET {path} is answered"),
            Self::Line(text) => format!("it writes \"{text}\""),
            Self::Postgres => "it accepts connections".to_owned(),
        }
    }
}

/// A signal that asks a process to end.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display, EnumString, IntoStaticStr, Default,
)]
#[serde(rename_all = "UPPERCASE")]
#[strum(serialize_all = "UPPERCASE")]
pub enum StopSignal {
    /// What most programs end in good order at.
    #[default]
    Term,
    /// As by Ctrl-C.
    Int,
    /// As by Ctrl-\.
    Quit,
}

impl StopSignal {
    /// Its words in scenarios.
    pub const WORDS: [&str; 3] = ["TERM", "INT", "QUIT"];
}

/// What is read of databases, in addition to what is read of every component.
pub mod series {
    /// Connections of clients to the component's database.
    pub const CONNECTIONS: &str = "database_connections";
    /// Transactions of that database that were committed.
    pub const COMMITTED_TOTAL: &str = "database_committed_total";
    /// Transactions that were rolled back.
    pub const ROLLED_BACK_TOTAL: &str = "database_rolled_back_total";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_by_the_words_of_scenarios() {
        for word in StopSignal::WORDS {
            assert_eq!(word.parse::<StopSignal>().map(|signal| signal.to_string()), Ok(word.to_owned()));
        }
    }
}
