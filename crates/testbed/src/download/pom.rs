//! The pom.xml that names a release's parts.

use kdyno_model::version::{LogBackend, Version};
use std::fmt::Write;

/// An artifact: group, name, version.
type Artifact = (&'static str, String, String);

/// The newest of slf4j 1.7, which all releases of kafka-clients have: what writes their warnings must be of the same line.
const SLF4J_SIMPLE: &str = "1.7.36";
/// That of the slf4j that Kroxylicious brings.
const SLF4J_SIMPLE_2: &str = "2.0.16";

/// Which parts of a release are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReleaseParts {
    /// What a broker needs.
    Broker,
    /// What the Java client needs. Jackson, which its own OAUTHBEARER logins need and which it does not bring, is none of it:
    /// the token comes from us.
    Client,
    /// The agent that exposes the metrics of a JVM.
    MetricsAgent,
    /// The process that exposes those of a JVM elsewhere.
    MetricsExporter,
    /// What samples the stacks of a JVM.
    Profiler,
    /// A proxy that understands Kafka.
    Kroxylicious,
}

impl ReleaseParts {
    /// The artifact without which there is no such release.
    pub fn main(self) -> &'static str {
        match self {
            Self::Broker => "kafka_2.13",
            Self::Client => "kafka-clients",
            Self::MetricsAgent => "jmx_prometheus_javaagent",
            Self::MetricsExporter => "jmx_prometheus_httpserver",
            Self::Profiler => "async-profiler",
            Self::Kroxylicious => "kroxylicious-runtime",
        }
    }

    /// Its group.
    pub fn group(self) -> &'static str {
        match self {
            Self::Broker | Self::Client => "org.apache.kafka",
            Self::MetricsAgent | Self::MetricsExporter => "io.prometheus.jmx",
            Self::Profiler => "tools.profiler",
            Self::Kroxylicious => "io.kroxylicious",
        }
    }

    /// What it is called in messages.
    pub fn product(self) -> &'static str {
        match self {
            Self::Broker | Self::Client => "Kafka",
            Self::MetricsAgent => "the Prometheus JMX agent",
            Self::MetricsExporter => "the Prometheus JMX exporter",
            Self::Profiler => "async-profiler",
            Self::Kroxylicious => "Kroxylicious",
        }
    }

    /// Whether it is of a release of Kafka.
    pub fn is_kafka(self) -> bool {
        matches!(self, Self::Broker | Self::Client)
    }

    /// Whether it is one jar that a run can do without.
    pub fn is_optional(self) -> bool {
        match self {
            Self::Broker | Self::Client | Self::Kroxylicious => false,
            Self::MetricsAgent | Self::MetricsExporter | Self::Profiler => true,
        }
    }

    fn artifacts(self, version: &Version) -> Vec<Artifact> {
        match self {
            Self::Broker => artifacts(version),
            Self::Client => vec![
                ("org.apache.kafka", "kafka-clients".to_string(), version.text.clone()),
                ("org.slf4j", "slf4j-simple".to_string(), SLF4J_SIMPLE.to_string()),
            ],
            Self::Kroxylicious => vec![
                (self.group(), self.main().to_string(), version.text.clone()),
                ("org.slf4j", "slf4j-simple".to_string(), SLF4J_SIMPLE_2.to_string()),
            ],
            Self::MetricsAgent | Self::MetricsExporter | Self::Profiler => {
                vec![(self.group(), self.main().to_string(), version.text.clone())]
            }
        }
    }
}

/// What a broker of this release needs: Kafka's core, its tools where they are a part of their own, and the log
/// backend its distribution ships (the artifact itself names none).
fn artifacts(version: &Version) -> Vec<Artifact> {
    let kafka = |name: &str| ("org.apache.kafka", name.to_string(), version.text.clone());
    let other = |group, name: &str, version: &str| (group, name.to_string(), version.to_string());
    let mut list = vec![kafka("kafka_2.13")];
    if version.at_least(3, 5) {
        list.push(kafka("kafka-tools"));
    }
    match version.log_backend() {
        LogBackend::Log4j1 if !version.at_least(3, 0) => {
            list.push(other("org.slf4j", "slf4j-log4j12", "1.7.30"));
            list.push(other("log4j", "log4j", "1.2.17"));
        }
        LogBackend::Log4j1 => {
            list.push(other("org.slf4j", "slf4j-reload4j", "1.7.36"));
            list.push(other("ch.qos.reload4j", "reload4j", "1.2.25"));
        }
        LogBackend::Log4j2 => {
            let log4j = if version.at_least(4, 2) { "2.25.4" } else { "2.24.3" };
            for name in ["log4j-slf4j-impl", "log4j-core", "log4j-api", "log4j-1.2-api"] {
                list.push(other("org.apache.logging.log4j", name, log4j));
            }
        }
    }
    list
}

/// The whole file.
pub(super) fn text(version: &Version, parts: ReleaseParts) -> String {
    let mut out = String::from(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  \
         <groupId>kdyno</groupId>\n  <artifactId>kafka-parts</artifactId>\n  <version>1</version>\n  \
         <packaging>pom</packaging>\n  <dependencies>\n",
    );
    for (group, name, version) in parts.artifacts(version) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "    <dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        );
    }
    out.push_str("  </dependencies>\n</project>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(version: &str) -> Vec<String> {
        artifacts(&Version::parse(version).expect("version")).into_iter().map(|(_, name, _)| name).collect()
    }

    #[test]
    fn each_line_of_releases_gets_its_log_backend_and_tools() {
        assert_eq!(names("2.7.2"), ["kafka_2.13", "slf4j-log4j12", "log4j"]);
        assert_eq!(names("3.4.1"), ["kafka_2.13", "slf4j-reload4j", "reload4j"]);
        assert_eq!(names("3.5.0"), ["kafka_2.13", "kafka-tools", "slf4j-reload4j", "reload4j"]);
        assert!(names("4.0.0").contains(&"log4j-slf4j-impl".to_string()));
    }

    #[test]
    fn the_version_is_in_the_file() {
        let version = Version::parse("3.7.2").expect("version");
        for parts in [ReleaseParts::Broker, ReleaseParts::Client] {
            let main = format!("<artifactId>{}</artifactId><version>3.7.2</version>", parts.main());
            assert!(text(&version, parts).contains(&main));
        }
    }
}
