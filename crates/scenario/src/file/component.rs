//! A component as typed.

use super::command::{CommandLineFile, command_line};
use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, opt, scalar, settings};
use crate::yaml::{Scalar, YamlNode};
use kdyno_model::plan::PROXY;

/// What runs next to the cluster.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ComponentFile {
    pub kind: ComponentKindFile,
    pub at: Scalar,
    pub ready_within: Scalar,
    pub stop: Option<StopFile>,
}

/// What it is.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub enum ComponentKindFile {
    Command { command: CommandLineFile, environment: Vec<(Scalar, Scalar)>, ready: ReadyFile },
    Postgres { version: Option<Scalar>, database: Option<Scalar>, settings: Vec<(Scalar, Scalar)> },
}

/// The proxy between clients and brokers.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum ProxyFile {
    Word(Scalar),
    /// Its name as a component, its place, and what it is.
    Program(Scalar, Box<ComponentFile>),
}

impl ProxyFile {
    /// Its name as a component, where there may be one: a param may mean none.
    pub(crate) fn name(&self) -> Option<Scalar> {
        match self {
            Self::Word(typed) if typed.text == "none" => None,
            Self::Word(typed) => Some(Scalar::assumed(PROXY, typed.place)),
            Self::Program(name, _) => Some(name.clone()),
        }
    }

    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&str, &Scalar)> {
        match self {
            Self::Word(typed) => vec![("proxy", typed)],
            Self::Program(_, file) => file.all(),
        }
    }
}

/// When it is ready.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum ReadyFile {
    Word(Scalar),
    Http(Scalar),
    Line(Scalar),
}

/// How it is ended.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct StopFile {
    pub signal: Scalar,
    pub within: Scalar,
}

impl ComponentFile {
    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&str, &Scalar)> {
        let mut found = vec![("at", &self.at), ("ready_within", &self.ready_within)];
        match &self.kind {
            ComponentKindFile::Command { command, environment, ready } => {
                found.extend(command.all());
                found.extend(environment.iter().map(|(name, value)| (name.text.as_str(), value)));
                found.push(match ready {
                    ReadyFile::Word(typed) => ("ready", typed),
                    ReadyFile::Http(typed) => ("http", typed),
                    ReadyFile::Line(typed) => ("line", typed),
                });
            }
            ComponentKindFile::Postgres { version, database, settings } => {
                found.extend(version.iter().map(|version| ("version", version)));
                found.extend(database.iter().map(|database| ("database", database)));
                found.extend(settings.iter().map(|(name, value)| (name.text.as_str(), value)));
            }
        }
        if let Some(StopFile { signal, within }) = &self.stop {
            found.extend([("signal", signal), ("within", within)]);
        }
        found
    }
}

/// Reads `system.proxy`.
pub(super) fn proxy(fields: &Fields<'_>) -> Result<ProxyFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("proxy") else {
        return fields.required("proxy").map(ProxyFile::Word);
    };
    let file = component(node)?;
    if matches!(file.kind, ComponentKindFile::Postgres { .. }) {
        return Err(InputError::at(node.place(), "a database is no proxy").hint("name its `command`"));
    }
    Ok(ProxyFile::Program(Scalar::assumed(PROXY, node.place()), Box::new(file)))
}

/// Reads it.
pub(super) fn component(node: &YamlNode) -> Result<ComponentFile, InputError> {
    let fields = Fields::of(node, &keys::COMPONENT)?;
    let kind = match (fields.get("command"), fields.get("postgres")) {
        (Some(_), None) => ComponentKindFile::Command {
            command: command_line(&fields)?,
            environment: opt(&fields, "environment", |node| settings(node, "environment"))?
                .unwrap_or_default(),
            ready: opt(&fields, "ready", ready)?
                .unwrap_or_else(|| ReadyFile::Word(Scalar::assumed("port", fields.place))),
        },
        (None, Some(node)) => {
            if let Some(needless) = ["environment", "ready"].into_iter().find(|key| fields.get(key).is_some())
            {
                let message = format!("`{needless}` has no meaning for a database");
                return Err(InputError::at(fields.place, message).hint("leave it out"));
            }
            let own = Fields::of(node, &keys::POSTGRES)?;
            ComponentKindFile::Postgres {
                version: own.scalar("version")?,
                database: own.scalar("database")?,
                settings: opt(&own, "settings", |node| settings(node, "settings"))?.unwrap_or_default(),
            }
        }
        (Some(_), Some(_)) => {
            let message = "a component is one thing, not both `command` and `postgres`";
            return Err(InputError::at(fields.place, message).hint("make two components"));
        }
        (None, None) => {
            return Err(
                InputError::at(fields.place, "the component is nothing").hint("add `command` or `postgres`")
            );
        }
    };
    let stop = opt(&fields, "stop", |node| {
        let stop = Fields::of(node, &keys::STOP)?;
        Ok(StopFile { signal: stop.required("signal")?, within: stop.required("within")? })
    })?;
    let (at, ready_within) = (fields.required("at")?, fields.required("ready_within")?);
    Ok(ComponentFile { kind, at, ready_within, stop })
}

fn ready(node: &YamlNode) -> Result<ReadyFile, InputError> {
    if !matches!(node, YamlNode::Map(..)) {
        return scalar(node, "ready").map(ReadyFile::Word);
    }
    let (name, value) = Fields::of(node, &keys::READY)?.single()?;
    let value = scalar(value, name)?;
    Ok(if name == "http" { ReadyFile::Http(value) } else { ReadyFile::Line(value) })
}
