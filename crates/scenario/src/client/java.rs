//! Which of Kafka's settings are passed on to Kafka's own Java client, which carries an item with `driver: java`.

use super::known::{Other, other};
use super::{ClientSetting, ClientSide, SupportedSetting, elsewhere, find, foreign};
use crate::input::{InputError, quoted};
use crate::yaml::Scalar;

/// Settings that kdyno gives every client itself, whatever carries it.
const OWN: &[&str] = &[
    "client.id",
    "group.id",
    "transactional.id",
    "auto.offset.reset",
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
];

/// Whether kdyno gives every client this setting itself.
pub fn is_set_by_kdyno(name: &str) -> bool {
    OWN.contains(&name)
}

/// Beginnings of names that say how a cluster is reached, also where no table has the name.
const REACHING: [&str; 5] = ["bootstrap.", "config.providers", "sasl.", "security.", "ssl."];

/// A setting as far as the Java client is concerned.
#[derive(Debug, Clone, Copy)]
pub enum FoundJava {
    /// kdyno's own client acts on it as well.
    ActedOn(&'static SupportedSetting),
    /// Another one of Kafka's.
    Known(&'static Other),
    /// kdyno gives it itself: it is not passed on, and its rule says which values are given anyway.
    Own(&'static Other),
    /// No table has it: a newer release or a fork may know it.
    Unknown,
}

/// The setting of a name, for a Java client.
///
/// # Errors
/// A name of somebody else's setting, of one that says how a cluster is reached, of one that kdyno gives itself, or none
/// that a setting can have.
pub fn find_java(side: ClientSide, name: &Scalar) -> Result<FoundJava, InputError> {
    let row = other(side.client(), &name.text);
    match find(side, name) {
        Ok(ClientSetting::ActedOn(setting)) => return Ok(FoundJava::ActedOn(setting)),
        Ok(ClientSetting::Other(row)) if is_set_by_kdyno(row.name) => return Ok(FoundJava::Own(row)),
        Ok(ClientSetting::Other(row)) => return Ok(FoundJava::Known(row)),
        Err(error) => match row {
            Some(row) if !is_set_by_kdyno(row.name) => return Ok(FoundJava::Known(row)),
            None if elsewhere(side, &name.text).is_none() && foreign(&name.text).is_none() => {}
            _ => return Err(error),
        },
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let shown = quoted(&name.text);
    if name.text.is_empty() || !name.text.chars().all(is_plain) {
        return Err(InputError::at(name.place, format!("{shown} cannot be the name of a Kafka setting")));
    }
    if REACHING.iter().any(|beginning| name.text.starts_with(beginning)) {
        let message = format!("{shown} says how a cluster is reached, not what load it gets");
        return Err(InputError::at(name.place, message)
            .hint("put it into the properties file of the target's `client`"));
    }
    Ok(FoundJava::Unknown)
}
