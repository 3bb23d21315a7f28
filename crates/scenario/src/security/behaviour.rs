//! What becomes of the settings of a properties file that say how clients behave. One rule for all commands that take such a
//! file: as Kafka's tools take the file of any application, whatever Kafka parses is taken here too. What a client does
//! not follow is a warning, where a scenario, which is written for kdyno, has an error.

use super::ClientProperties;
use super::unknown::{is_name_like, unknown_notes};
use crate::client::{
    ClientSide, FoundJava, SettingEffect, find_java, is_known, is_of, is_set_by_kdyno, other,
};
use crate::input::{TextPosition, listed, quoted};
use crate::yaml::Scalar;
use kdyno_model::properties::{Property, trim};

/// A command whose one load item takes what a file says.
#[derive(Debug, Clone, Copy)]
pub struct PropertiesCommand {
    /// What its clients are.
    pub side: ClientSide,
    /// Settings that it sets itself whatever the file says, as Kafka's tool does.
    pub sets: &'static [&'static str],
    /// How somebody has them followed by Kafka's own client, the end of a sentence; empty where the command has no such way.
    pub with_java: &'static str,
}

/// What a load item takes of a file, and what to say of the rest.
#[derive(Debug)]
pub struct TakenProperties<'a> {
    /// What it takes.
    pub settings: Vec<&'a Property>,
    /// What has no effect and changes nothing of what is measured, each a lowercase sentence.
    pub facts: Vec<String>,
    /// What is done otherwise than the file says, or is misspelt more likely than meant; each a lowercase sentence.
    pub warnings: Vec<String>,
}

impl ClientProperties {
    /// For a load item that kdyno's own client carries.
    pub fn of_load(&self, command: &PropertiesCommand) -> TakenProperties<'_> {
        self.taken(command, false)
    }

    /// For one that Kafka's own Java client carries, which also takes settings that no table has: a newer release or a fork
    /// may know them. Those whose names sound like secrets stay out, for plans are stored.
    pub fn of_java_load(&self, command: &PropertiesCommand) -> TakenProperties<'_> {
        self.taken(command, true)
    }

    fn taken(&self, command: &PropertiesCommand, is_java: bool) -> TakenProperties<'_> {
        let mut taken =
            TakenProperties { settings: Vec::new(), facts: self.notes.clone(), warnings: Vec::new() };
        let (mut set, mut of_others, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
        for property in &self.others {
            let name = property.name.as_str();
            if command.sets.contains(&name) {
                set.push(name);
            } else if is_of(command.side, name) {
                match not_followed(command, property, is_java) {
                    Some(warning) => taken.warnings.push(warning),
                    None => taken.settings.push(property),
                }
            } else if is_java && is_for_java(command.side, name) {
                taken.settings.push(property);
            } else if is_known(name) {
                of_others.push(name);
            } else {
                unknown.push(property);
            }
        }
        let mut fact = |what: &str, names: Vec<&str>| {
            taken.facts.extend((!names.is_empty()).then(|| format!("{what}: {}", listed(names))));
        };
        fact(
            "the command sets these itself, as Kafka's tools do, and does not take them from the properties",
            set,
        );
        fact("settings of other clients than those of the load are not taken", of_others);
        taken.warnings.extend(unknown_notes(&unknown));
        taken
    }
}

/// That a client does otherwise than a property says. What Kafka does not parse is left to be refused.
fn not_followed(command: &PropertiesCommand, property: &Property, is_java: bool) -> Option<String> {
    let row = other(command.side.client(), &property.name)?;
    let is_own = is_set_by_kdyno(row.name);
    if !matches!(row.rule, SettingEffect::Always(..))
        || row.kind.complaint(&property.value).is_some()
        || is_java && !is_own
    {
        return None;
    }
    let (_, why) = row.complaint(&property.value)?;
    let with_java = if is_own { "" } else { command.with_java };
    let value = trim(&property.value);
    let more = besides(row.name, value);
    Some(format!("`{}` as {} is not followed: {why}{more}{with_java}", row.name, quoted(value)))
}

/// What else Java's client does by a value, and kdyno's does not.
fn besides(name: &str, value: &str) -> &'static str {
    match (name, value.parse()) {
        ("retries", Ok(0)) => {
            ", and idempotence stays as it is, which Java's producer gives up with `0` unless `enable.idempotence` is set"
        }
        _ => "",
    }
}

/// Whether a name that no table has is that of a setting which may be passed on and stored.
fn is_for_java(side: ClientSide, name: &str) -> bool {
    const SECRET: [&str; 9] =
        ["password", "passwd", "passphrase", "secret", "token", "credential", "private", ".key", "user.info"];
    let typed = Scalar::assumed(name, TextPosition::default());
    let is_unknown = || matches!(find_java(side, &typed), Ok(FoundJava::Unknown));
    let is_dotted_name = name.contains('.') && is_name_like(name);
    is_dotted_name && !SECRET.iter().any(|word| name.contains(word)) && is_unknown()
}
