//! Load items as typed: which role one has, and how records are sent.

use super::command::{self, CommandFile};
use super::consume::{self, ConsumeFile};
use super::driver::{self, ItemClientFile};
use super::records::{self, KeyFile, PayloadFile, ValueFile};
use super::transactions::{TransactionsFile, transactions};
use crate::input::{InputError, TextPosition, listed};
use crate::keys;
use crate::walk::{Fields, entries, known, list, opt, scalar, scalars};
use crate::yaml::{Scalar, YamlNode};

/// A load item.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct LoadFile {
    pub topic: Scalar,
    /// All topics of a list, the first one among them: each client has all of these. Empty where one topic was typed.
    pub topic_list: Vec<Scalar>,
    pub clients: Scalar,
    pub at: Option<MomentFile>,
    pub after: Option<Scalar>,
    pub until: Option<MomentFile>,
    pub zone: Scalar,
    pub client: ItemClientFile,
    pub role: RoleFile,
}

/// When a load item comes or goes.
#[derive(Debug, Clone)]
pub enum MomentFile {
    /// So long after the beginning of the measure phase.
    Time(Scalar),
    /// Once the items that write to its topic have sent so much.
    Backlog(Scalar),
}

impl MomentFile {
    /// What was typed.
    pub fn typed(&self) -> &Scalar {
        match self {
            Self::Time(typed) | Self::Backlog(typed) => typed,
        }
    }

    /// The key above it; `own` is that of the load item.
    pub(crate) fn key<'k>(&self, own: &'k str) -> &'k str {
        match self {
            Self::Time(_) => own,
            Self::Backlog(_) => "backlog",
        }
    }
}

/// What a load item's clients do.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is the key of the same name in `keys`")]
pub enum RoleFile {
    Produce(Box<ProduceFile>),
    Consume(Box<ConsumeFile>),
    EndToEnd { rate: Scalar, value: Scalar },
}

/// How records are sent.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ProduceFile {
    pub rate: RateFile,
    /// Only when typed: it has no meaning with a rate.
    pub fill: Option<Scalar>,
    /// Only when typed: it has no meaning with `rate: max`.
    pub arrivals: Option<Scalar>,
    pub value: ValueFile,
    pub payload: PayloadFile,
    pub key: KeyFile,
    pub tombstones: Option<Scalar>,
    pub headers: Vec<(Scalar, Scalar)>,
    pub partition: Option<Scalar>,
    pub sending: Scalar,
    pub transactions: TransactionsFile,
}

/// A rate.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum RateFile {
    Plain(Scalar),
    Ramp { from: Scalar, to: Scalar, over: Scalar },
    Steps(TextPosition, Vec<(Scalar, Scalar)>),
}

/// A load item: clients of kdyno's, or a command.
pub(super) enum ItemFile {
    Clients(Box<LoadFile>),
    Command(Box<CommandFile>),
}

/// Items with their names.
type NamedItems<T> = Vec<(Scalar, T)>;

/// The load items by their kind, each kind in the order of the file.
pub(super) fn items(all: Vec<(Scalar, ItemFile)>) -> (NamedItems<LoadFile>, NamedItems<CommandFile>) {
    let (mut load, mut commands) = (Vec::new(), Vec::new());
    for (name, item) in all {
        match item {
            ItemFile::Clients(item) => load.push((name, *item)),
            ItemFile::Command(item) => commands.push((name, *item)),
        }
    }
    (load, commands)
}

/// Reads one.
pub(super) fn item(node: &YamlNode) -> Result<ItemFile, InputError> {
    let (role, section) = role(node)?;
    let command = match role {
        "command" => command::command(node)?,
        "users" => command::users(node)?,
        "job" => command::job(node)?,
        _ => return Ok(ItemFile::Clients(Box::new(clients(node, role, section)?))),
    };
    Ok(ItemFile::Command(Box::new(command)))
}

/// The one role that an item has.
fn role(node: &YamlNode) -> Result<(&'static str, &'static keys::Section), InputError> {
    let has = |name: &str| matches!(node, YamlNode::Map(_, fields) if fields.iter().any(|(key, _)| key.text == name));
    let mut own = ROLES.iter().filter(|(name, _)| has(name));
    match (own.next(), own.next()) {
        (Some(role), None) => Ok(*role),
        (Some((one, _)), Some((other, _))) => {
            let message = format!("a load item has one role, not both `{one}` and `{other}`");
            Err(InputError::at(node.place(), message).hint("make two load items"))
        }
        (None, _) => {
            // A role of a later version, or a misspelt one, is a key that no role has.
            let typed = entries(node, "a load item")?.iter().map(|(key, _)| key);
            let is_known = |key: &&Scalar| {
                ROLES.iter().flat_map(|(_, section)| section.keys).any(|known| known.name == key.text)
            };
            typed.filter(|key| !is_known(key)).try_for_each(|key| known(key, &keys::LOAD))?;
            let roles = listed(keys::LOAD.keys.iter().map(|key| key.name));
            Err(InputError::at(node.place(), "the load item does nothing")
                .hint(format!("add one of {roles}")))
        }
    }
}

fn clients(node: &YamlNode, role: &str, section: &'static keys::Section) -> Result<LoadFile, InputError> {
    let fields = Fields::of(node, section)?;
    let zone = fields.required("zone")?;
    if role == "end_to_end" {
        let topic = fields.required(role)?;
        let (rate, value) = (fields.required("rate")?, fields.required("value")?);
        let clients = Scalar::assumed("1", fields.place);
        let role = RoleFile::EndToEnd { rate, value };
        return Ok(LoadFile {
            topic,
            topic_list: Vec::new(),
            clients,
            at: None,
            after: None,
            until: None,
            zone,
            client: ItemClientFile::none(fields.place),
            role,
        });
    }
    let (topic, topic_list) = topics(&fields, role)?;
    Ok(LoadFile {
        topic,
        topic_list,
        clients: fields.required("clients")?,
        at: moment(&fields, "at", role == "consume")?,
        after: fields.scalar("after")?,
        until: moment(&fields, "until", role == "produce")?,
        zone,
        client: driver::client(&fields)?,
        role: match role {
            "produce" => RoleFile::Produce(Box::new(produce(&fields)?)),
            _ => RoleFile::Consume(Box::new(consume::consume(&fields)?)),
        },
    })
}

/// A topic, or the first one of a list and the list.
fn topics(fields: &Fields<'_>, role: &str) -> Result<(Scalar, Vec<Scalar>), InputError> {
    let Some(node @ YamlNode::List(..)) = fields.get(role) else {
        return Ok((fields.required(role)?, Vec::new()));
    };
    let all = scalars(node, role)?;
    match all.first() {
        Some(first) => Ok((first.clone(), all)),
        None => Err(InputError::at(node.place(), format!("`{role}` is empty"))),
    }
}

/// A time; where it may be one, a backlog.
fn moment(fields: &Fields<'_>, key: &str, may_be_backlog: bool) -> Result<Option<MomentFile>, InputError> {
    match fields.get(key) {
        Some(node @ YamlNode::Map(..)) if may_be_backlog => {
            let size = Fields::of(node, &keys::BACKLOG)?.required("backlog")?;
            Ok(Some(MomentFile::Backlog(size)))
        }
        _ => Ok(fields.scalar(key)?.map(MomentFile::Time)),
    }
}

/// The roles of load items by the key that names them.
const ROLES: [(&str, &keys::Section); 6] = [
    ("produce", &keys::PRODUCE),
    ("consume", &keys::CONSUME),
    ("end_to_end", &keys::END_TO_END),
    ("command", &keys::COMMAND),
    ("users", &keys::USERS),
    ("job", &keys::JOB),
];

fn produce(fields: &Fields<'_>) -> Result<ProduceFile, InputError> {
    Ok(ProduceFile {
        rate: rate(fields)?,
        fill: opt(fields, "fill", |node| scalar(node, "fill"))?,
        arrivals: opt(fields, "arrivals", |node| scalar(node, "arrivals"))?,
        value: records::value(fields)?,
        payload: records::payload(fields)?,
        key: records::key(fields)?,
        tombstones: fields.scalar("tombstones")?,
        headers: records::headers(fields)?,
        partition: fields.scalar("partition")?,
        sending: fields.required("sending")?,
        transactions: transactions(fields)?,
    })
}

fn rate(fields: &Fields<'_>) -> Result<RateFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("rate") else {
        return fields.required("rate").map(RateFile::Plain);
    };
    let (name, value) = Fields::of(node, &keys::RATE_COURSE)?.single()?;
    if name == "ramp" {
        let ramp = Fields::of(value, &keys::RAMP)?;
        let (from, to) = (ramp.required("from")?, ramp.required("to")?);
        return Ok(RateFile::Ramp { from, to, over: ramp.required("over")? });
    }
    let step = |node: &YamlNode| {
        let step = Fields::of(node, &keys::STEP)?;
        Ok((step.required("rate")?, step.required("for")?))
    };
    let steps = list(value, "steps")?.iter().map(step).collect::<Result<Vec<_>, InputError>>()?;
    if steps.is_empty() {
        return Err(InputError::at(value.place(), "`steps` is empty"));
    }
    Ok(RateFile::Steps(value.place(), steps))
}
