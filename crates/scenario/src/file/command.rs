//! A load item that is a command, as typed.

use super::http_load::{self, JobFile, UsersFile};
use crate::input::InputError;
use crate::keys;
use crate::walk::{Fields, opt, scalar, scalars, settings};
use crate::yaml::{Scalar, YamlNode};

/// A command.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct CommandFile {
    pub command: CommandKindFile,
    pub at: Option<Scalar>,
    pub after: Option<Scalar>,
    pub timeout: Scalar,
    pub environment: Vec<(Scalar, Scalar)>,
    pub parse: Option<Scalar>,
    pub results: Option<Scalar>,
    pub columns: Option<ColumnsFile>,
    /// What requests with a label are called, and the label.
    pub labels: Vec<(Scalar, Scalar)>,
    pub pods: Option<CommandPodsFile>,
}

/// Pods that run a command.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct CommandPodsFile {
    pub image: Scalar,
    pub count: Scalar,
    pub cpu: Option<Scalar>,
    pub memory: Option<Scalar>,
}

/// What is run, and by whom.
#[derive(Debug, Clone)]
pub enum CommandKindFile {
    /// A program of somebody else.
    Line(CommandLineFile),
    /// People who use an application, whom kdyno itself sends.
    Users(Box<UsersFile>),
    /// Something that an application does, which kdyno itself asks for.
    Job(Box<JobFile>),
}

/// A program.
#[derive(Debug, Clone)]
pub enum CommandLineFile {
    /// A text for `sh -c`.
    Shell(Scalar),
    /// The program and its arguments, at least one.
    Program(Vec<Scalar>),
}

/// Names of a CSV's columns.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ColumnsFile {
    pub elapsed: Scalar,
    pub time: Scalar,
    pub success: Scalar,
    pub label: Scalar,
}

impl CommandLineFile {
    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&'static str, &Scalar)> {
        match self {
            Self::Shell(text) => vec![("command", text)],
            Self::Program(words) => words.iter().map(|word| ("command", word)).collect(),
        }
    }
}

impl CommandFile {
    /// Every value with its key.
    pub(crate) fn all(&self) -> Vec<(&str, &Scalar)> {
        let mut found = match &self.command {
            CommandKindFile::Line(line) => line.all(),
            CommandKindFile::Users(users) => users.all(),
            CommandKindFile::Job(job) => job.all(),
        };
        found.push(("timeout", &self.timeout));
        let others = [("at", &self.at), ("parse", &self.parse), ("results", &self.results)].into_iter();
        found.extend(others.filter_map(|(key, typed)| Some((key, typed.as_ref()?))));
        found.extend(self.environment.iter().map(|(name, value)| (name.text.as_str(), value)));
        if let Some(columns) = &self.columns {
            found.extend([("elapsed", &columns.elapsed), ("time", &columns.time)]);
            found.extend([("success", &columns.success), ("label", &columns.label)]);
        }
        found.extend(self.labels.iter().map(|(name, label)| (name.text.as_str(), label)));
        if let Some(pods) = &self.pods {
            found.extend([("image", &pods.image), ("count", &pods.count)]);
            found.extend(pods.cpu.iter().map(|cpu| ("cpu", cpu)));
            found.extend(pods.memory.iter().map(|memory| ("memory", memory)));
        }
        found
    }
}

/// Reads it.
pub(super) fn command(node: &YamlNode) -> Result<CommandFile, InputError> {
    let fields = Fields::of(node, &keys::COMMAND)?;
    let command = CommandKindFile::Line(command_line(&fields)?);
    let columns = opt(&fields, "columns", |node| {
        let columns = Fields::of(node, &keys::COLUMNS)?;
        Ok(ColumnsFile {
            elapsed: columns.required("elapsed")?,
            time: columns.required("time")?,
            success: columns.required("success")?,
            label: columns.required("label")?,
        })
    })?;
    Ok(CommandFile {
        command,
        at: opt(&fields, "at", |node| scalar(node, "at"))?,
        after: fields.scalar("after")?,
        timeout: fields.required("timeout")?,
        environment: opt(&fields, "environment", |node| settings(node, "environment"))?.unwrap_or_default(),
        parse: fields.scalar("parse")?,
        results: fields.scalar("results")?,
        columns,
        labels: opt(&fields, "labels", |node| settings(node, "labels"))?.unwrap_or_default(),
        pods: opt(&fields, "pods", pods)?,
    })
}

fn pods(node: &YamlNode) -> Result<CommandPodsFile, InputError> {
    let fields = Fields::of(node, &keys::COMMAND_PODS)?;
    Ok(CommandPodsFile {
        image: fields.required("image")?,
        count: fields.required("count")?,
        cpu: fields.scalar("cpu")?,
        memory: fields.scalar("memory")?,
    })
}

/// What is under `command`.
pub(super) fn command_line(fields: &Fields<'_>) -> Result<CommandLineFile, InputError> {
    let Some(list @ YamlNode::List(..)) = fields.get("command") else {
        return Ok(CommandLineFile::Shell(fields.required("command")?));
    };
    let words = scalars(list, "command")?;
    if words.is_empty() {
        return Err(InputError::at(list.place(), "`command` is empty").hint("name a program"));
    }
    Ok(CommandLineFile::Program(words))
}

/// Reads users as what is run.
pub(super) fn users(node: &YamlNode) -> Result<CommandFile, InputError> {
    let fields = Fields::of(node, &keys::USERS)?;
    let users = http_load::users(&fields)?;
    let labels = users.names()?.into_iter().map(|name| (name.clone(), name)).collect();
    // They stay until the measure phase is over.
    let timeout = Scalar::assumed("7d", fields.place);
    let command = CommandKindFile::Users(Box::new(users));
    Ok(CommandFile { labels, ..of_kdynos_own(&fields, command, timeout)? })
}

/// Reads a job as what is run.
pub(super) fn job(node: &YamlNode) -> Result<CommandFile, InputError> {
    let fields = Fields::of(node, &keys::JOB)?;
    let command = CommandKindFile::Job(Box::new(http_load::job(&fields)?));
    of_kdynos_own(&fields, command, fields.required("timeout")?)
}

/// What kdyno itself sends: nothing of it is for its user to say how it is started and read.
fn of_kdynos_own(
    fields: &Fields<'_>,
    command: CommandKindFile,
    timeout: Scalar,
) -> Result<CommandFile, InputError> {
    Ok(CommandFile {
        command,
        at: opt(fields, "at", |node| scalar(node, "at"))?,
        after: fields.scalar("after")?,
        timeout,
        environment: Vec::new(),
        parse: None,
        results: None,
        columns: None,
        labels: Vec::new(),
        pods: None,
    })
}
