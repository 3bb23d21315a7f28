//! Which client runs the load of a drop-in command (`--driver`): what its scenario says of it, and what is printed.

use crate::environment::ProgramEnvironment;
use crate::failure::{Exit, Failure};
use crate::out;
use kdyno_model::event::EventKind;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::plan::{JavaClient, JavaDriver};
use kdyno_model::version::NEWEST;
use kdyno_perf_test::DriverChoice;
use kdyno_scenario::client::ClientSide;
use kdyno_scenario::security::{ClientProperties, PropertiesCommand, TakenProperties};
use kdyno_scenario::units::Dimension;
use kdyno_scenario::yaml::literal;
use std::collections::BTreeMap;
use std::path::Path;

/// The tool knows one exit code for whatever goes wrong.
pub(super) fn as_the_tool(failure: Failure) -> Failure {
    match failure.exit {
        Exit::Usage => Failure { exit: Exit::ToolFailed, ..failure },
        _ => failure,
    }
}

/// The client that carries the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DropInClient {
    /// kdyno's own.
    Native,
    /// Kafka's.
    Java(JavaClient),
}

impl DropInClient {
    /// The one that was typed.
    pub(super) fn of(driver: &DriverChoice) -> Result<Self, Failure> {
        let DriverChoice::Java(which) = driver else { return Ok(Self::Native) };
        let client = kdyno_java_driver::named(which.as_deref().unwrap_or(NEWEST));
        client.map(Self::Java).map_err(|error| {
            Failure::usage(format!("--driver: {error}")).maybe_hint(error.hint().map(str::to_owned))
        })
    }

    /// What it takes of these properties. `sets` are settings that the tool has over those of the user.
    pub(super) fn settings<'p>(
        &self,
        properties: &'p ClientProperties,
        side: ClientSide,
        sets: &'static [&'static str],
    ) -> TakenProperties<'p> {
        let command = PropertiesCommand {
            side,
            sets,
            with_java: "; Kafka's own client, with `--driver java`, follows it",
        };
        match self {
            Self::Native => properties.of_load(&command),
            Self::Java(_) => properties.of_java_load(&command),
        }
    }

    /// Whether it is Kafka's.
    pub(super) fn is_java(&self) -> bool {
        *self != Self::Native
    }

    /// What `client` of a load item says of it, as lines of the scenario.
    pub(super) fn lines(&self) -> Vec<String> {
        let Self::Java(client) = self else { return Vec::new() };
        let of_path = |key: &str, path: &Path| format!("{{{key}: {}}}", literal(&path.display().to_string()));
        let version = match client {
            JavaClient::Version(version) => literal(version),
            JavaClient::Home(path) => of_path("home", path),
            JavaClient::Source(path) => of_path("source", path),
            JavaClient::Jar(path) => of_path("jar", path),
        };
        vec!["      driver: java".to_owned(), format!("      version: {version}")]
    }

    /// Fetches Kafka's client where it is not in the cache, and compiles what runs it, so that a release that does not exist
    /// or a Java that is missing is refused before the cluster is contacted.
    pub(super) fn make_ready(&self) -> Result<(), Failure> {
        let Self::Java(client) = self else { return Ok(()) };
        let driver = JavaDriver { client: client.clone(), jvm: Vec::new(), properties: BTreeMap::new() };
        let environment = ProgramEnvironment::read()?.testbed;
        if let Some(fact) = kdyno_java_driver::check(&environment, &driver)? {
            out::note(&fact);
        }
        let tell = |step: &str| out::note(step);
        kdyno_java_driver::resolve(&environment, &driver, kdyno_java_driver::SOURCES, &tell)?;
        Ok(())
    }

    /// Names it on standard error.
    pub(super) fn announce(&self) {
        out::note(&match self {
            Self::Native => "driver  native (kdyno's own client)".to_owned(),
            Self::Java(client) => format!("driver  java {client} (Kafka's own client)"),
        });
    }

    /// Prints what the client counted of itself behind the tool's lines, as the tool does.
    pub(super) fn print_metrics(&self, metrics: Option<&str>) -> Result<(), Failure> {
        match (self, metrics) {
            (_, Some(metrics)) => out::text(format!("\n{metrics}")),
            (Self::Native, None) => {
                out::note(
                    "there are no metrics to print: this is not Kafka's client, which `--driver java` takes; `kdyno show latest` \
                     has the run's figures",
                );
                Ok(())
            }
            (Self::Java(_), None) => {
                out::note("there are no metrics to print: the client reported none");
                Ok(())
            }
        }
    }
}

/// A message about the value of one of Kafka's properties, in the units that these have: a scenario takes others too, and says
/// those.
pub(super) fn in_kafkas_unit(message: &str) -> String {
    message
        .replace(Dimension::Ns.described(), "a number of milliseconds")
        .replace(Dimension::Bytes.described(), "a number of bytes")
}

/// Names Kafka's client on standard error as its own process did, with its Java.
pub(super) fn tell_client(evidence: &TrialEvidence) {
    let started = evidence.events.iter().find(|event| event.kind == EventKind::ClientStarted);
    if let Some(event) = started {
        out::note(&format!("client  {}", event.detail));
    }
}
