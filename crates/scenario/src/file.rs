//! A scenario as typed: every section taken apart, every value still a text with its place.

mod broker_config;
mod command;
mod component;
mod consume;
mod driver;
mod http_load;
mod listeners;
mod load;
mod phases;
mod quotas;
mod records;
mod strimzi;
mod transactions;
mod zones;

pub use broker_config::BrokerConfigFile;
pub use command::{ColumnsFile, CommandFile, CommandKindFile, CommandLineFile, CommandPodsFile};
pub use component::{ComponentFile, ComponentKindFile, ProxyFile, ReadyFile, StopFile};
pub use consume::{ConsumeFile, WorkFile};
pub use driver::{ItemClientFile, JavaClientFile};
pub use http_load::{HttpStepFile, HttpTargetFile, JobFile, UsersFile};
pub use listeners::ListenersFile;
pub use load::{LoadFile, MomentFile, ProduceFile, RateFile, RoleFile};
pub use phases::{MeasureFile, PhasesFile};
pub use quotas::QuotasFile;
pub use records::{GivenNameFile, KeyFile, NumberedFile, PayloadFile, ValueFile, ValuesFile};
pub use strimzi::StrimziFile;
pub use transactions::TransactionsFile;
pub use zones::ZonesFile;

use super::keys;
use super::question;
pub use super::question::{CompareFile, ContrastFile, ExpectFile, FindFile, JudgeFile, SideFile};
use super::walk::{Fields, entries, list, list_of, opt, scalar, scalars, settings};
use crate::facts::facts;
use crate::input::{InputError, TextPosition};
use crate::yaml::{Scalar, YamlNode};
use broker_config::broker_config;
use listeners::listeners;
use phases::phases;
use quotas::quotas;
use std::collections::BTreeMap;
use strimzi::strimzi;
use zones::zones;

/// A row of param values, as typed.
#[derive(Debug, Clone)]
pub struct RowFile {
    /// Its place.
    pub place: TextPosition,
    /// Names and values.
    pub values: Vec<(Scalar, Scalar)>,
}

/// A map from params to lists of values.
pub type VaryFile = Vec<(Scalar, Vec<Scalar>)>;

/// Which cases there are.
#[derive(Debug, Clone, Default)]
pub struct CasesFile {
    /// Chosen rows.
    pub rows: Option<Vec<RowFile>>,
    /// Lists whose combinations are taken.
    pub vary: Option<VaryFile>,
}

impl CasesFile {
    /// The params that may differ between the cases, as they are there.
    pub fn names(&self) -> impl Iterator<Item = &Scalar> {
        let rows = self.rows.iter().flatten().flat_map(|row| row.values.iter().map(|(name, _)| name));
        rows.chain(self.vary.iter().flatten().map(|(name, _)| name))
    }
}

/// A profile.
#[derive(Debug, Clone)]
pub struct ProfileFile {
    /// Its name.
    pub name: Scalar,
    /// Params it sets.
    pub params: Vec<(Scalar, Scalar)>,
    /// Cases of its own.
    pub cases: CasesFile,
}

/// The whole file.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ScenarioFile {
    pub id: Scalar,
    pub question: Scalar,
    pub params: Vec<(Scalar, Scalar)>,
    pub profiles: Vec<ProfileFile>,
    pub cases: CasesFile,
    pub system: SystemFile,
    pub topics: Vec<(Scalar, TopicFile)>,
    pub load: Vec<(Scalar, LoadFile)>,
    /// The items under `load` that are commands.
    pub commands: Vec<(Scalar, CommandFile)>,
    pub components: Vec<(Scalar, ComponentFile)>,
    pub phases: PhasesFile,
    pub repeat: Scalar,
    pub isolation: Scalar,
    pub budget: Option<Scalar>,
    pub flame: Option<Scalar>,
    pub environment: BTreeMap<String, String>,
    pub compare: Option<CompareFile>,
    pub find: Option<FindFile>,
    /// Thresholds of a run.
    pub fail_if: Vec<Scalar>,
    pub expect: Vec<ExpectFile>,
    pub contrasts: Vec<ContrastFile>,
    pub show: ShowFile,
    pub published: Option<PublishedFile>,
}

/// The `system` section.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct SystemFile {
    /// Whether the section is in the file; if not, all of it is defaults.
    pub given: bool,
    pub kafka: KafkaFile,
    pub mode: ModeFile,
    pub brokers: Scalar,
    pub heap: Scalar,
    pub cpus: Option<Scalar>,
    pub pin: Vec<Vec<Scalar>>,
    pub jvm: Vec<Scalar>,
    pub racks: Vec<Scalar>,
    pub storage: StorageFile,
    pub config: BrokerConfigFile,
    pub listeners: ListenersFile,
    pub metrics: Scalar,
    /// MBeans of the map under `metrics`.
    pub mbeans: Vec<Scalar>,
    pub quotas: Option<QuotasFile>,
    pub zones: Option<ZonesFile>,
    pub strimzi: Option<StrimziFile>,
    pub proxy: ProxyFile,
}

/// Where Kafka comes from.
#[derive(Debug, Clone)]
pub struct KafkaFile {
    /// The key that says it: `kafka` itself, or one of the section under it.
    pub key: String,
    /// What is under that key.
    pub value: Scalar,
}

/// How metadata is kept.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is the key of the same name in `keys`")]
pub enum ModeFile {
    /// `kraft`, or `zookeeper` for one node.
    Word(Scalar),
    Controllers(Scalar),
    Zookeeper(Scalar),
}

/// Where logs lie.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each variant is described in `keys`")]
pub enum StorageFile {
    Word(Scalar),
    Dirs(Vec<Scalar>),
}

/// A topic.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct TopicFile {
    pub count: Scalar,
    pub partitions: Scalar,
    pub replicas: Scalar,
    pub config: Vec<(Scalar, Scalar)>,
}

/// The table.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct ShowFile {
    pub rows: Option<Vec<Scalar>>,
    pub columns: Option<Vec<Scalar>>,
}

/// Published figures.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each field is the key of the same name in `keys`")]
pub struct PublishedFile {
    pub title: String,
    pub date: String,
    pub hardware: String,
    pub definition: String,
    pub rows: Vec<RowFile>,
}

impl ScenarioFile {
    /// Takes the tree apart.
    ///
    /// # Errors
    /// The first unknown, later, missing or misplaced key, with its place; no file name yet.
    pub fn read(root: &YamlNode) -> Result<Self, InputError> {
        let fields = Fields::of(root, &keys::SCENARIO)?;
        version(&fields)?;
        let (load, commands) = load::items(named(&fields, "load", load::item)?);
        Ok(Self {
            id: fields.required("id")?,
            question: fields.required("question")?,
            params: opt(&fields, "params", |node| settings(node, "params"))?.unwrap_or_default(),
            profiles: opt(&fields, "profiles", profiles)?.unwrap_or_default(),
            cases: cases(&fields)?,
            system: system(fields.get("system"), fields.place)?,
            topics: named(&fields, "topics", topic)?,
            load,
            commands,
            components: named(&fields, "components", component::component)?,
            phases: opt(&fields, "phases", phases)?.ok_or_else(|| missing(&fields, "phases"))?,
            repeat: fields.required("repeat")?,
            isolation: fields.required("isolation")?,
            budget: fields.scalar("budget")?,
            flame: fields.scalar("flame")?,
            environment: opt(&fields, "environment", |node| facts(node, "environment"))?.unwrap_or_default(),
            compare: opt(&fields, "compare", question::compare)?,
            find: opt(&fields, "find", question::find)?,
            fail_if: list_of(&fields, "fail_if", |node| scalar(node, "fail_if"))?,
            expect: list_of(&fields, "expect", question::expect)?,
            contrasts: question::contrasts(&fields)?,
            show: opt(&fields, "show", show)?.unwrap_or_default(),
            published: opt(&fields, "published", published)?,
        })
    }
}

/// Checks the format's version, before anything else is judged.
pub(crate) fn version(fields: &Fields<'_>) -> Result<(), InputError> {
    let version = fields.required("kdyno")?;
    if version.text == "1" {
        return Ok(());
    }
    let message = format!("this kdyno reads format version 1, not {}", crate::input::quoted(&version.text));
    Err(InputError::at(version.place, message).hint("write `kdyno: 1`"))
}

fn missing(fields: &Fields<'_>, name: &str) -> InputError {
    InputError::at(fields.place, format!("`{name}` is missing"))
}

fn named<T>(
    fields: &Fields<'_>,
    name: &str,
    read: impl Fn(&YamlNode) -> Result<T, InputError>,
) -> Result<Vec<(Scalar, T)>, InputError> {
    let Some(node) = fields.get(name) else { return Ok(Vec::new()) };
    let entries = entries(node, name)?;
    if entries.is_empty() {
        return Err(InputError::at(node.place(), format!("`{name}` is empty; it takes at least one entry")));
    }
    entries.iter().map(|(key, value)| Ok((key.clone(), read(value)?))).collect()
}

fn row(node: &YamlNode) -> Result<RowFile, InputError> {
    Ok(RowFile { place: node.place(), values: settings(node, "a row")? })
}

fn cases(fields: &Fields<'_>) -> Result<CasesFile, InputError> {
    let rows = match fields.get("cases") {
        None => None,
        Some(node) => {
            let rows = list(node, "cases")?.iter().map(row).collect::<Result<Vec<_>, _>>()?;
            if rows.is_empty() {
                return Err(InputError::at(node.place(), "`cases` is empty; leave it out for a single case"));
            }
            Some(rows)
        }
    };
    Ok(CasesFile { rows, vary: opt(fields, "vary", vary)? })
}

fn vary(node: &YamlNode) -> Result<VaryFile, InputError> {
    let one = |(key, value): &(Scalar, YamlNode)| {
        let values = scalars(value, &key.text)?;
        if values.is_empty() {
            return Err(InputError::at(value.place(), format!("`{}` has no values to vary over", key.text)));
        }
        Ok((key.clone(), values))
    };
    entries(node, "vary")?.iter().map(one).collect()
}

fn profiles(node: &YamlNode) -> Result<Vec<ProfileFile>, InputError> {
    let one = |(name, body): &(Scalar, YamlNode)| {
        let fields = Fields::of(body, &keys::PROFILE)?;
        let params = fields.others().map(|(key, value)| Ok((key.clone(), scalar(value, &key.text)?)));
        let params = params.collect::<Result<Vec<_>, InputError>>()?;
        Ok(ProfileFile { name: name.clone(), params, cases: cases(&fields)? })
    };
    entries(node, "profiles")?.iter().map(one).collect()
}

fn system(node: Option<&YamlNode>, place: TextPosition) -> Result<SystemFile, InputError> {
    let empty = YamlNode::Map(place, Vec::new());
    let fields = Fields::of(node.unwrap_or(&empty), &keys::SYSTEM)?;
    let (metrics, mbeans) = metrics(&fields)?;
    let limits = Fields::of(fields.get("limits").unwrap_or(&empty), &keys::LIMITS)?;
    Ok(SystemFile {
        given: node.is_some(),
        kafka: kafka(&fields)?,
        mode: mode(&fields)?,
        brokers: fields.required("brokers")?,
        heap: limits.required("heap")?,
        cpus: opt(&limits, "cpus", |node| scalar(node, "cpus"))?,
        pin: list_of(&limits, "pin", pin)?,
        jvm: list_of(&fields, "jvm", |node| scalar(node, "jvm"))?,
        racks: list_of(&fields, "racks", |node| scalar(node, "racks"))?,
        storage: match fields.get("storage") {
            Some(YamlNode::List(_, items)) => {
                StorageFile::Dirs(items.iter().map(|item| scalar(item, "storage")).collect::<Result<_, _>>()?)
            }
            _ => StorageFile::Word(fields.required("storage")?),
        },
        config: opt(&fields, "config", broker_config)?.unwrap_or_default(),
        listeners: listeners(fields.get("listeners").unwrap_or(&empty), &empty)?,
        metrics,
        mbeans,
        quotas: opt(&fields, "quotas", quotas)?,
        zones: opt(&fields, "zones", zones)?,
        strimzi: opt(&fields, "strimzi", strimzi)?,
        proxy: component::proxy(&fields)?,
    })
}

/// How metrics are read, and which MBeans are read in addition.
fn metrics(fields: &Fields<'_>) -> Result<(Scalar, Vec<Scalar>), InputError> {
    let Some(node @ YamlNode::Map(place, _)) = fields.get("metrics") else {
        return Ok((fields.required("metrics")?, Vec::new()));
    };
    let named = Fields::of(node, &keys::MBEANS)?;
    let named = named.get("mbeans").ok_or_else(|| missing(&named, "mbeans"))?;
    Ok((Scalar::assumed("jmx", *place), scalars(named, "mbeans")?))
}

fn pin(node: &YamlNode) -> Result<Vec<Scalar>, InputError> {
    let cpus = scalars(node, "pin")?;
    if cpus.is_empty() {
        return Err(InputError::at(node.place(), "`pin` has an empty list of CPUs"));
    }
    Ok(cpus)
}

fn kafka(fields: &Fields<'_>) -> Result<KafkaFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("kafka") else {
        return Ok(KafkaFile { key: "kafka".to_owned(), value: fields.required("kafka")? });
    };
    let (key, value) = Fields::of(node, &keys::KAFKA)?.single()?;
    Ok(KafkaFile { key: key.to_owned(), value: scalar(value, key)? })
}

fn mode(fields: &Fields<'_>) -> Result<ModeFile, InputError> {
    let Some(node @ YamlNode::Map(..)) = fields.get("mode") else {
        let mode = fields.required("mode")?;
        if mode.text == "controllers" {
            let error = InputError::at(mode.place, "`controllers` needs a number");
            return Err(error.hint("write `mode: {controllers: 3}`"));
        }
        return Ok(ModeFile::Word(mode));
    };
    let (name, value) = Fields::of(node, &keys::MODE)?.single()?;
    let value = scalar(value, name)?;
    match name {
        "controllers" => Ok(ModeFile::Controllers(value)),
        "zookeeper" => Ok(ModeFile::Zookeeper(value)),
        _ if value.text == "combined" => Ok(ModeFile::Word(Scalar { text: "kraft".to_owned(), ..value })),
        _ => Err(InputError::at(value.place, format!("`kraft` takes `combined`, not `{}`", value.text))
            .hint("for controllers of their own write `mode: {controllers: 3}`")),
    }
}

fn topic(node: &YamlNode) -> Result<TopicFile, InputError> {
    let fields = Fields::of(node, &keys::TOPIC)?;
    Ok(TopicFile {
        count: fields.required("count")?,
        partitions: fields.required("partitions")?,
        replicas: fields.required("replicas")?,
        config: opt(&fields, "config", |node| settings(node, "config"))?.unwrap_or_default(),
    })
}

fn show(node: &YamlNode) -> Result<ShowFile, InputError> {
    let fields = Fields::of(node, &keys::SHOW)?;
    Ok(ShowFile {
        rows: opt(&fields, "rows", |node| scalars(node, "rows"))?,
        columns: opt(&fields, "columns", |node| scalars(node, "columns"))?,
    })
}

fn published(node: &YamlNode) -> Result<PublishedFile, InputError> {
    let fields = Fields::of(node, &keys::PUBLISHED)?;
    let source = fields.get("source").map(|node| Fields::of(node, &keys::SOURCE)).transpose()?;
    let source = source.ok_or_else(|| missing(&fields, "source"))?;
    Ok(PublishedFile {
        title: source.required("title")?.text,
        date: source.required("date")?.text,
        hardware: source.required("hardware")?.text,
        definition: fields.required("definition")?.text,
        rows: list_of(&fields, "rows", row)?,
    })
}
