//! Checks a typed scenario as far as that is possible without param values: names, references, metrics.

use super::client::{self, ClientSide};
use super::file::{CasesFile, LoadFile, RoleFile, RowFile, ScenarioFile};
use super::names::{known_param, metric_of};
use super::values::{ParamValues, references};
use crate::input::{InputError, Mistake, known_hint, meant, quoted};
use crate::judged;
use crate::units::{self, Dimension};
use crate::yaml::Scalar;
use kdyno_model::imported::IMPORTED;
use kdyno_model::metric::{self, Address, Unit};
use std::collections::BTreeMap;

/// Longest name of a topic in Kafka, less what kdyno adds to it.
const TOPIC_CHARS_MAX: usize = 100;
/// Longest other name.
const NAME_CHARS_MAX: usize = 50;
/// Words that metric addresses use for other subjects.
const RESERVED_ITEMS: &[&str] = &["brokers", "system", "workers", "host", "kdyno", metric::SUM];

/// Characters at their beginning.
const RESERVED_BEGINNINGS: [&str; 4] = ["broker-", "controller-", "relay-", IMPORTED];

/// Published rows with their names resolved.
#[derive(Debug, Clone)]
pub struct CheckedPublished {
    /// The rows, in order.
    pub rows: Vec<CheckedRow>,
}

/// One published row.
#[derive(Debug, Clone, Default)]
pub struct CheckedRow {
    /// Params that select the case.
    pub params: Vec<(String, Scalar)>,
    /// Printed metric address to figure; `None`: not given.
    pub values: BTreeMap<String, Option<f64>>,
}

/// All checks; gives the columns and the published rows with their names resolved.
pub(crate) fn check(file: &ScenarioFile) -> Result<(Vec<Address>, Option<CheckedPublished>), InputError> {
    head(file)?;
    params(file)?;
    for (_, typed) in file.values() {
        refer(typed, file)?;
    }
    names(file)?;
    for (_, item) in &file.load {
        load_item(item, file)?;
    }
    for name in file.show.rows.iter().flatten() {
        known_param(name, file)?;
    }
    question(file)?;
    let columns = file.show.columns.iter().flatten().map(|typed| column(typed, file));
    let columns = columns.collect::<Result<_, _>>()?;
    Ok((columns, published(file)?))
}

/// Whether a text can be the id of a scenario: names of files are made of it.
pub fn is_id(text: &str) -> bool {
    text.len() <= NAME_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Whether a text can be the name of a topic in a scenario.
pub fn is_topic_name(text: &str) -> bool {
    (1..=TOPIC_CHARS_MAX).contains(&text.len())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Whether a text can be the name of a load item: it comes before the dot of metric addresses.
pub fn is_item_name(text: &str) -> bool {
    !is_reserved(text)
        && text.len() <= NAME_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Whether metric addresses use a name for other subjects.
fn is_reserved(text: &str) -> bool {
    RESERVED_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) || RESERVED_ITEMS.contains(&text)
}

fn head(file: &ScenarioFile) -> Result<(), InputError> {
    let id = &file.id;
    if is_id(&id.text) {
        return Ok(());
    }
    Err(InputError::at(id.place, format!("{} cannot be an id", quoted(&id.text)))
        .hint(format!(
            "an id has at most {NAME_CHARS_MAX} lowercase letters, digits and `-`, and begins with a letter"
        ))
        .of_value())
}

/// Every param that a value refers to must exist.
fn refer(typed: &Scalar, file: &ScenarioFile) -> Result<(), InputError> {
    for name in references(typed)? {
        known_param(&Scalar { text: name, ..typed.clone() }, file)?;
    }
    Ok(())
}

fn params(file: &ScenarioFile) -> Result<(), InputError> {
    for (name, value) in &file.params {
        let fits = name.text.len() <= NAME_CHARS_MAX
            && name.text.starts_with(|c: char| c.is_ascii_lowercase())
            && name.text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !fits || matches!(name.text.as_str(), "cases" | "vary" | "min" | "max" | "ceil") {
            return Err(InputError::at(
                name.place,
                format!("{} cannot be the name of a param", quoted(&name.text)),
            )
            .hint("a param's name has lowercase letters, digits and `_`, and is no word of this format"));
        }
        refer(value, file)?;
    }
    rows(&file.cases, file)?;
    for profile in &file.profiles {
        pairs(&profile.params, file)?;
        rows(&profile.cases, file)?;
    }
    // Circles show when each param is looked up once.
    let mut values = ParamValues::default();
    for (name, value) in &file.params {
        values.set(&name.text, value.clone());
    }
    for (name, _) in &file.params {
        values.param(name)?;
    }
    Ok(())
}

fn rows(cases: &CasesFile, file: &ScenarioFile) -> Result<(), InputError> {
    for row in cases.rows.iter().flatten() {
        pairs(&row.values, file)?;
    }
    for (name, values) in cases.vary.iter().flatten() {
        known_param(name, file).map_err(no_key)?;
        values.iter().try_for_each(|value| refer(value, file))?;
    }
    Ok(())
}

fn pairs(pairs: &[(Scalar, Scalar)], file: &ScenarioFile) -> Result<(), InputError> {
    for (name, value) in pairs {
        known_param(name, file).map_err(no_key)?;
        refer(value, file)?;
    }
    Ok(())
}

/// The error about a name that is a key here.
fn no_key(error: InputError) -> InputError {
    error.about(Mistake::Key(None))
}

fn names(file: &ScenarioFile) -> Result<(), InputError> {
    for (name, _) in &file.topics {
        if !is_topic_name(&name.text) {
            return Err(InputError::at(name.place, format!("{} cannot name a topic", quoted(&name.text)))
                .hint(format!("at most {TOPIC_CHARS_MAX} letters, digits, `-` and `_`")));
        }
    }
    let commands = file.commands.iter().map(|(name, _)| name);
    let items: Vec<&Scalar> = file.load.iter().map(|(name, _)| name).chain(commands).collect();
    let labels: Vec<&Scalar> = file.labels().map(|(name, _)| name).collect();
    let components: Vec<&Scalar> = file.components.iter().map(|(name, _)| name).collect();
    let proxy = file.system.proxy.name();
    let proxy: Vec<&Scalar> = proxy.iter().collect();
    let named: Vec<&Scalar> = [&items[..], &labels, &components, &proxy].concat();
    for (at, name) in named.iter().enumerate().skip(items.len()) {
        if let Some(first) = named[..at].iter().find(|first| first.text == name.text) {
            let message =
                format!("`{}` is already the name of what is in line {}", name.text, first.place.line);
            return Err(InputError::at(name.place, message).hint(
                "load items, labels, components and a `proxy` need names of their own: metrics are called by them",
            ));
        }
    }
    items
        .into_iter()
        .chain(labels)
        .try_for_each(|name| subject_name(name, "load item or a label", "`writers`"))?;
    components.into_iter().try_for_each(|name| subject_name(name, "component", "`inventory`"))
}

/// Whether a name can come before the dot of a metric address.
fn subject_name(name: &Scalar, what: &str, example: &str) -> Result<(), InputError> {
    if is_reserved(&name.text) {
        let message = format!("`{}` names something else in metrics", name.text);
        return Err(
            InputError::at(name.place, message).hint(format!("name it after what it does, e.g. {example}"))
        );
    }
    if is_item_name(&name.text) {
        return Ok(());
    }
    Err(InputError::at(name.place, format!("{} cannot name a {what}", quoted(&name.text)))
        .hint("letters, digits, `-` and `_`, beginning with a lowercase letter"))
}

fn load_item(item: &LoadFile, file: &ScenarioFile) -> Result<(), InputError> {
    let is_known = |topic: &&Scalar| {
        topic.text.contains('$') || file.topics.iter().any(|(name, _)| name.text == topic.text)
    };
    if let Some(unknown) = item.topic_list.iter().chain([&item.topic]).find(|topic| !is_known(topic)) {
        return Err(unknown_topic(unknown, file));
    }
    let side = match item.role {
        // A probe has no settings.
        RoleFile::Produce(_) | RoleFile::EndToEnd { .. } => ClientSide::Produce,
        RoleFile::Consume(_) => ClientSide::Consume,
    };
    item.client.settings.iter().try_for_each(|(name, _)| {
        // Which names there are with `driver: $param` shows when params are chosen.
        let found = match item.client.may_be_java() {
            true => client::find_java(side, name).map(|_| ()),
            false => client::find(side, name).map(|_| ()),
        };
        found.map_err(no_key)
    })
}

/// The error for a topic that is not under `topics`.
pub fn unknown_topic(typed: &Scalar, file: &ScenarioFile) -> InputError {
    let names: Vec<&str> = file.topics.iter().map(|(name, _)| name.text.as_str()).collect();
    let other = meant(&typed.text, names.iter().copied()).or(names.first().copied());
    InputError::at(typed.place, format!("{} is not a topic of this scenario", quoted(&typed.text)))
        .about(Mistake::Value(other.map(Into::into)))
        .hint(known_hint(&typed.text, names))
}

/// Comparisons, searches, expectations and contrasts, as far as their names go.
fn question(file: &ScenarioFile) -> Result<(), InputError> {
    if let Some(compare) = &file.compare {
        for judge in &compare.judge {
            metric_of(&judge.of, file)?;
        }
    }
    for condition in file.find.iter().flat_map(|find| &find.conditions) {
        // What params insert is read when they are known.
        if !condition.text.contains('$') {
            judged::comparison(condition, file)?;
        }
    }
    for text in file.expect.iter().map(|expect| &expect.that).chain(&file.fail_if) {
        judged::comparison(text, file)?;
    }
    for contrast in &file.contrasts {
        pairs(&contrast.from, file)?;
        pairs(&contrast.to, file)?;
        contrast.of.iter().try_for_each(|of| metric_of(of, file).map(|_| ()))?;
    }
    Ok(())
}

fn column(typed: &Scalar, file: &ScenarioFile) -> Result<Address, InputError> {
    metric_of(typed, file).map(|(address, _)| address)
}

fn published(file: &ScenarioFile) -> Result<Option<CheckedPublished>, InputError> {
    let Some(published) = &file.published else { return Ok(None) };
    let rows = published.rows.iter().map(|row| published_row(row, file)).collect::<Result<_, _>>()?;
    Ok(Some(CheckedPublished { rows }))
}

fn published_row(row: &RowFile, file: &ScenarioFile) -> Result<CheckedRow, InputError> {
    let mut checked = CheckedRow::default();
    for (name, value) in &row.values {
        if !name.text.contains('.') {
            known_param(name, file).map_err(no_key)?;
            refer(value, file)?;
            checked.params.push((name.text.clone(), value.clone()));
            continue;
        }
        let (address, unit) = metric_of(name, file).map_err(no_key)?;
        let figure = figure(&value.text, unit).map_err(|message| InputError::at(value.place, message))?;
        checked.values.insert(address.to_string(), figure);
    }
    if checked.values.is_empty() {
        return Err(InputError::at(row.place, "the published row has no figure")
            .hint("add a metric address with its number, e.g. `writers.acked_per_s: 250000`"));
    }
    Ok(checked)
}

/// A published figure in the metric's unit; `null` is "not given".
fn figure(text: &str, unit: Unit) -> Result<Option<f64>, String> {
    if matches!(text, "null" | "~") {
        return Ok(None);
    }
    match (unit, text) {
        (Unit::YesNo, "yes" | "true") => return Ok(Some(1.0)),
        (Unit::YesNo, "no" | "false") => return Ok(Some(0.0)),
        (Unit::YesNo, _) => return Err(format!("{} is neither `yes` nor `no`", quoted(text))),
        _ => {}
    }
    let dimension = match unit {
        Unit::Ns => Dimension::Ns,
        Unit::Bytes => Dimension::Bytes,
        _ => Dimension::Plain,
    };
    units::parse_as(text, dimension).map(Some)
}
