//! What runs next to the cluster.

use crate::choices::PlanError;
use crate::command::{environment, words};
use crate::component_address;
use crate::reader::CaseReader;
use kdyno_model::plan::{
    COMPONENT_WAIT_NS_MAX, COMPONENTS_MAX, ComponentKind, ComponentPlan, PostgresPlan, ReadyWhen, StopSignal,
};
use kdyno_scenario::file::{ComponentFile, ComponentKindFile, ReadyFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::keys::READY_WORDS;
use kdyno_scenario::yaml::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// How long one has to end where the scenario says nothing: a database writes what it holds.
pub(crate) const STOP_NS: u64 = 10_000_000_000;
/// Longest name of a database: PostgreSQL cuts off what is longer.
const DATABASE_CHARS_MAX: usize = 63;
/// Settings that say where it listens: by these kdyno finds it.
const OURS: [&str; 4] = ["port", "listen_addresses", "unix_socket_directories", "data_directory"];

/// The components that are started, in the order of the scenario.
pub(crate) fn components(reader: &CaseReader<'_>) -> Result<Vec<ComponentPlan>, PlanError> {
    let typed = &reader.scenario.typed().components;
    if let Some((name, _)) = typed.get(COMPONENTS_MAX) {
        let message = format!("`components` has {} entries; at most {COMPONENTS_MAX}", typed.len());
        return Err(reader.wrong(name, message));
    }
    let mut variables = BTreeSet::new();
    let mut found = Vec::new();
    for (name, file) in typed {
        // `a-b` and `a_b` would be one variable of the environment.
        if !variables.insert(name.text.replace('-', "_")) {
            let message = format!("{} and another component have one name in variables", quoted(&name.text));
            return Err(reader.wrong(name, message).hint("`-` becomes `_` there: name it otherwise"));
        }
        // What is in it must not wait for another run to show.
        let component = component(reader, name, file)?;
        if component_address::elsewhere(reader, file)?.is_none() {
            found.push(component);
        }
    }
    Ok(found)
}

/// A component.
pub(crate) fn component(
    reader: &CaseReader<'_>,
    name: &Scalar,
    file: &ComponentFile,
) -> Result<ComponentPlan, PlanError> {
    let (kind, environment, ready) = match &file.kind {
        ComponentKindFile::Command { command, environment: variables, ready } => {
            let kind = ComponentKind::Command(words(reader, command)?);
            (kind, environment(reader, variables)?, when_ready(reader, ready)?)
        }
        ComponentKindFile::Postgres { version, database, settings } => {
            let kind = ComponentKind::Postgres(PostgresPlan {
                version: version
                    .as_ref()
                    .map(|version| reader.small(version, "version", 1..=1_000))
                    .transpose()?,
                database: database_name(reader, name, database.as_ref())?,
                settings: settings_of(reader, settings)?,
            });
            (kind, BTreeMap::new(), ReadyWhen::Postgres)
        }
    };
    // A database that is asked to end by SIGTERM waits for its clients.
    let usual = if ready == ReadyWhen::Postgres { StopSignal::Int } else { StopSignal::Term };
    let (stop_signal, stop_within_ns) = match &file.stop {
        None => (usual, STOP_NS),
        Some(stop) => {
            let word = reader.word(&stop.signal, "signal", &StopSignal::WORDS)?;
            let within_ns = reader.ns(&stop.within, "within", 0..=COMPONENT_WAIT_NS_MAX)?;
            (word.parse().unwrap_or_default(), within_ns)
        }
    };
    Ok(ComponentPlan {
        name: name.text.clone(),
        kind,
        environment,
        ready,
        ready_within_ns: reader.ns(&file.ready_within, "ready_within", 1_000_000..=COMPONENT_WAIT_NS_MAX)?,
        stop_signal,
        stop_within_ns,
    })
}

fn when_ready(reader: &CaseReader<'_>, typed: &ReadyFile) -> Result<ReadyWhen, PlanError> {
    match typed {
        ReadyFile::Word(typed) => {
            let word = reader.word(typed, "ready", READY_WORDS)?;
            Ok(if word == "started" { ReadyWhen::Started } else { ReadyWhen::Port })
        }
        ReadyFile::Http(typed) => {
            let path = reader.filled(typed, "http")?;
            let is_path = path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic());
            if is_path {
                return Ok(ReadyWhen::Http(path));
            }
            let message = format!("`http`: {} is not the path of a URL", quoted(&path));
            Err(reader.wrong(typed, message).hint("e.g. `/health`: host and port are known"))
        }
        ReadyFile::Line(typed) => Ok(ReadyWhen::Line(reader.filled(typed, "line")?)),
    }
}

fn database_name(
    reader: &CaseReader<'_>,
    component: &Scalar,
    typed: Option<&Scalar>,
) -> Result<String, PlanError> {
    let Some(typed) = typed else { return Ok(component.text.clone()) };
    let name = reader.filled(typed, "database")?;
    let fits = name.len() <= DATABASE_CHARS_MAX
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !["template0", "template1", "postgres"].contains(&name.as_str());
    if fits {
        return Ok(name);
    }
    Err(reader.wrong(typed, format!("`database`: {} cannot name the database", quoted(&name))).hint(format!(
        "at most {DATABASE_CHARS_MAX} letters, digits, `_` and `-`, and none that PostgreSQL makes itself"
    )))
}

fn settings_of(
    reader: &CaseReader<'_>,
    typed: &[(Scalar, Scalar)],
) -> Result<BTreeMap<String, String>, PlanError> {
    let mut found = BTreeMap::new();
    for (name, value) in typed {
        let is_name = !name.text.is_empty()
            && name.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if !is_name || OURS.contains(&name.text.as_str()) {
            let message = format!("`settings`: {} cannot be set", quoted(&name.text));
            return Err(reader
                .wrong(name, message)
                .hint(format!("names of PostgreSQL's, but not {}", OURS.join(", "))));
        }
        found.insert(name.text.clone(), reader.text(value)?);
    }
    Ok(found)
}
