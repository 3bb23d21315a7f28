//! How a Java client's properties say that brokers are reached: addresses, TLS, SASL. Rules and defaults are those of
//! Kafka's clients; what these take and kdyno does not speak is an error that says what to do.
//!
//! Values of passwords, keys and tokens stay where they are: what comes out names them.

mod behaviour;
mod sasl;
mod tls;
mod unknown;

pub use behaviour::{PropertiesCommand, TakenProperties};
pub use unknown::is_setting_name;

use crate::client::{SettingEffect, foreign, is_known, nearest_known, reach_setting};
use crate::input::{InputError, TextPosition, known_hint, listed, meant, not_allowed, quoted};
use kdyno_model::plan::{Protocol, Security};
use kdyno_model::properties::{Properties, Property, trim};
use kdyno_model::secret::SecretRef;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use unknown::unknown_notes;

/// Addresses of a cluster's brokers, in properties.
const BOOTSTRAP_SERVERS: &str = "bootstrap.servers";
const PROTOCOL: &str = "security.protocol";
/// Settings that are secrets, or hold some.
const SECRETS: &[&str] = &[
    "ssl.truststore.password",
    "ssl.keystore.password",
    "ssl.keystore.key",
    "ssl.key.password",
    "sasl.jaas.config",
];
/// How names begin that say nothing but how a cluster is reached.
const FAMILIES: &[&str] = &["bootstrap.", "security.", "ssl.", "sasl."];

/// Whether a property says nothing but how a cluster is reached.
pub(crate) fn says_how_reached(name: &str) -> bool {
    FAMILIES.iter().any(|family| name.starts_with(family))
}

/// Whether a property is a secret, or holds some.
pub fn has_secret(name: &str) -> bool {
    SECRETS.contains(&name)
}

/// A properties file, and what has to be seen of the files that it names.
#[derive(Clone, Copy)]
pub struct PropertiesFile<'a> {
    /// Its path, for messages and for references to secrets that are in it.
    pub path: &'a Path,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// The first bytes of a file, four at least where it has so many; or why it cannot be read.
    pub head: &'a dyn Fn(&Path) -> Result<Vec<u8>, String>,
}

/// What a properties file says of how a cluster is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientProperties {
    /// `bootstrap.servers`, as typed; empty where it is not there.
    pub bootstrap: Vec<String>,
    /// Protocol, TLS and SASL.
    pub security: Security,
    /// Where the values of the secrets that `security` names come from.
    pub secrets: BTreeMap<String, SecretRef>,
    /// Settings of the file that say how clients behave and not how a cluster is reached.
    pub others: Vec<Property>,
    /// Names of the given secrets that the file refers to.
    pub used: BTreeSet<String>,
    /// What has no effect or is read otherwise than its author may think, each a lowercase sentence.
    pub notes: Vec<String>,
}

impl ClientProperties {
    /// What to report where the load says how clients behave, and the file is not used.
    pub(crate) fn notes_for_target(&self) -> Vec<String> {
        let mut reported = self.notes.clone();
        let (known, unknown): (Vec<&Property>, Vec<&Property>) =
            self.others.iter().partition(|property| is_known(&property.name));
        if !known.is_empty() {
            let names = listed(known.iter().map(|property| property.name.as_str()));
            reported.push(format!(
                "ignored settings of the properties file, since the scenario defines the clients: {names}"
            ));
        }
        reported.extend(unknown_notes(&unknown));
        reported
    }
}

/// Reads a properties file. `given` are secrets that it may refer to as `${NAME}`.
///
/// # Errors
/// All that Kafka's clients refuse, and what they take and kdyno does not; with the file and line, without any value that
/// may be secret.
pub fn client_properties(
    file: PropertiesFile<'_>,
    given: &BTreeMap<String, SecretRef>,
) -> Result<ClientProperties, InputError> {
    let name = file.path.display().to_string();
    let at = |line: u32| TextPosition { line, column: 1 };
    let properties = Properties::parse(file.bytes).map_err(|error| {
        let hint = Some(error.hint).filter(|hint| !hint.is_empty()).map(str::to_owned);
        let wrong = match error.line {
            Some(line) => InputError::at(at(line), error.message),
            None => InputError::whole(error.message),
        };
        wrong.maybe_hint(hint).in_file(&name)
    })?;
    let mut reader =
        PropertiesReader { file, properties: &properties, given, found: ClientProperties::default() };
    if let Some(error) = InputError::of_all(reader.read()) {
        return Err(error.in_file(&name));
    }
    let mut found = reader.found;
    let notes = properties.notes.iter().map(|note| format!("{name}:{}: {}", note.line, note.text));
    found.notes.splice(0..0, notes);
    Ok(found)
}

/// One file being read.
struct PropertiesReader<'a> {
    file: PropertiesFile<'a>,
    properties: &'a Properties,
    given: &'a BTreeMap<String, SecretRef>,
    found: ClientProperties,
}

impl<'a> PropertiesReader<'a> {
    /// Reads all of it: what is wrong. What a mistake would bring about is not looked for.
    fn read(&mut self) -> Vec<InputError> {
        let properties = self.properties;
        let mut wrong = Vec::new();
        let protocol = self.protocol().map_err(|error| wrong.push(error)).ok();
        // Before what belongs to it: with another mechanism the rest of what it needs is out of the question.
        let foreign = protocol.filter(|protocol| protocol.has_sasl()).and(self.no_foreign_mechanism().err());
        let is_foreign = foreign.is_some();
        wrong.extend(foreign);
        let mut misspelt: Vec<&str> = Vec::new();
        for property in &properties.properties {
            if let Err(error) = self.classify(property) {
                wrong.push(error);
                misspelt.push(&property.name);
            }
        }
        let Some(protocol) = protocol else { return wrong };
        let is_whole = |family: &str| !misspelt.iter().any(|name| name.starts_with(family));
        let typed = self.text(BOOTSTRAP_SERVERS).unwrap_or_default();
        let addresses = typed.split(',').map(trim).filter(|address| !address.is_empty());
        self.found.bootstrap = addresses.map(str::to_owned).collect();
        self.no_reference_is_left(protocol, &mut wrong);
        let tls = (protocol.has_tls() && is_whole("ssl.")).then(|| self.tls());
        let sasl = (protocol.has_sasl() && is_whole("sasl.") && !is_foreign).then(|| self.sasl());
        self.found.security = Security {
            protocol,
            tls: tls.and_then(|tls| tls.map_err(|error| wrong.push(error)).ok()),
            sasl: sasl.and_then(|sasl| sasl.map_err(|error| wrong.push(error)).ok()),
        };
        for (has, family) in [(protocol.has_tls(), "ssl."), (protocol.has_sasl(), "sasl.")] {
            let names = properties.properties.iter().map(|property| property.name.as_str());
            let idle: Vec<&str> = names.filter(|name| !has && name.starts_with(family)).collect();
            if !idle.is_empty() {
                let message = format!(
                    "with `{PROTOCOL}` {protocol} these have no effect: {}{}",
                    listed(idle.iter().copied()),
                    self.protocol_meant()
                );
                self.found.notes.push(message);
            }
        }
        wrong
    }

    /// The protocol that the other settings suggest where none is said.
    fn protocol_meant(&self) -> String {
        let has = |family: &str| {
            self.properties.properties.iter().any(|property| property.name.starts_with(family))
        };
        let meant = match (has("ssl."), has("sasl.")) {
            (true, true) => "`SASL_SSL`",
            (true, false) => "`SSL`",
            (false, _) => "`SASL_SSL` or `SASL_PLAINTEXT`",
        };
        match self.text(PROTOCOL) {
            Some(_) => String::new(),
            None => format!("; `{PROTOCOL}` is missing, did you mean {meant}?"),
        }
    }

    /// Puts a property where it belongs: how the cluster is reached, or how clients behave.
    fn classify(&mut self, property: &Property) -> Result<(), InputError> {
        let name = property.name.as_str();
        let Some(row) = reach_setting(name) else {
            if says_how_reached(name) {
                // Java only logs it. Here the connection would be another than the one that was meant.
                if let Some(foreign) = foreign(name) {
                    return Err(self.wrong(name, foreign.message(name)).hint(foreign.hint));
                }
                let message = format!("{} is no setting of Kafka's clients", quoted(name));
                let hint = nearest_known(name).map(|near| format!("did you mean `{near}`?"));
                return Err(self.wrong(name, message).maybe_hint(hint));
            }
            self.found.others.push(property.clone());
            return Ok(());
        };
        match row.rule {
            SettingEffect::Used => Ok(()),
            SettingEffect::WithoutEffect(why) => {
                self.found.notes.push(format!("`{name}` has no effect here: {why}"));
                Ok(())
            }
            SettingEffect::Always(..) => match row.complaint(&property.value) {
                Some((message, hint)) => Err(self.wrong(name, message).hint(hint)),
                None => Ok(()),
            },
        }
    }

    /// References are whole values of secrets. What is left of them elsewhere would be sent unchanged.
    fn no_reference_is_left(&self, protocol: Protocol, wrong: &mut Vec<InputError>) {
        for property in &self.properties.properties {
            let name = property.name.as_str();
            let is_read = reach_setting(name).is_some_and(|row| matches!(row.rule, SettingEffect::Used));
            let is_idle = name.starts_with("ssl.") && !protocol.has_tls()
                || name.starts_with("sasl.") && !protocol.has_sasl();
            if is_read && !is_idle && !has_secret(name) {
                wrong.extend(self.no_reference(name, None, &property.value).err());
            }
        }
    }

    /// Refuses a value that has a reference in it; the value may be a part of a secret, and is not printed.
    fn no_reference(&self, name: &str, option: Option<&str>, value: &str) -> Result<(), InputError> {
        let has_one = value.split_once("${").is_some_and(|(_, rest)| rest.contains('}'));
        if !has_one {
            return Ok(());
        }
        let what = option.map_or_else(|| format!("`{name}`"), |option| format!("`{option}` in `{name}`"));
        let message = format!("{what} has `${{…}}` in it, which can only be the whole value of a secret");
        Err(self.wrong(name, message).hint(
            "write its value; a secret that has `${…}` in itself may lie in a file: `${file:PATH:NAME}`",
        ))
    }

    fn protocol(&self) -> Result<Protocol, InputError> {
        let Some(typed) = self.text(PROTOCOL) else { return Ok(Protocol::default()) };
        typed.to_ascii_uppercase().parse().map_err(|_| {
            let (message, hint) = not_allowed(typed, Protocol::NAMES);
            self.wrong(PROTOCOL, format!("`{PROTOCOL}`: {message}")).maybe_hint(hint)
        })
    }

    /// A property's value without blanks around it, as Kafka's clients take values.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.properties.get(name).map(trim)
    }

    /// The parts of a list, as Kafka's clients take lists.
    fn list(&self, name: &str) -> Option<Vec<&'a str>> {
        let text = self.text(name)?;
        Some(if text.is_empty() { Vec::new() } else { text.split(',').map(trim).collect() })
    }

    /// An error at a property.
    fn wrong(&self, name: &str, message: impl Into<String>) -> InputError {
        match self.properties.find(name) {
            Some(property) => InputError::at(TextPosition { line: property.line, column: 1 }, message),
            None => InputError::whole(message),
        }
    }

    /// The name under which a secret is known, where the property is there.
    fn secret(&mut self, name: &str) -> Result<Option<String>, InputError> {
        match self.text(name) {
            Some(value) => self.keep(name, None, value).map(Some),
            None => Ok(None),
        }
    }

    /// Keeps where a value comes from, under a name that it gives back.
    fn keep(&mut self, name: &str, option: Option<&str>, value: &str) -> Result<String, InputError> {
        let known_as = option.map_or_else(|| name.to_owned(), |option| format!("{name}:{option}"));
        if value.is_empty() {
            return Err(self.wrong(name, format!("{} is empty", quoted(&known_as))));
        }
        let reference = match value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
            Some(inner) if !inner.contains("${") => self.referred(name, inner)?,
            _ => {
                self.no_reference(name, option, value)?;
                SecretRef::Property {
                    file: self.file.path.to_owned(),
                    name: name.to_owned(),
                    option: option.map(str::to_owned),
                }
            }
        };
        self.found.secrets.insert(known_as.clone(), reference);
        Ok(known_as)
    }

    /// `${NAME}`, or what Kafka's own providers of configuration read: `${env:NAME}`, `${file:PATH:NAME}`.
    fn referred(&mut self, property: &str, inner: &str) -> Result<SecretRef, InputError> {
        if let Some(reference) = self.given.get(inner) {
            self.found.used.insert(inner.to_owned());
            return Ok(reference.clone());
        }
        let file_and_name = || inner.strip_prefix("file:")?.rsplit_once(':');
        if let Some(variable) = inner.strip_prefix("env:").filter(|name| !name.is_empty()) {
            return Ok(SecretRef::Env(variable.to_owned()));
        }
        if let Some((file, name)) = file_and_name() {
            return Ok(SecretRef::Property {
                file: PathBuf::from(file),
                name: name.to_owned(),
                option: None,
            });
        }
        let known = self.given.keys().map(String::as_str);
        let hint = match known.clone().next() {
            Some(_) => known_hint(inner, known.clone()),
            None => "name it under `secrets` of the target's `client`, or write `${env:NAME}`".to_owned(),
        };
        // What is like no name that is given may be a password that looks like a reference.
        let what = match meant(inner, known) {
            Some(_) => quoted(inner),
            None => "something".to_owned(),
        };
        let message = format!("`{property}` refers to {what}, which is no secret of the target");
        Err(self.wrong(property, message).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClientProperties, InputError> {
        let head = |_: &Path| Err("could not be read: no such file".to_owned());
        let file = PropertiesFile { path: Path::new("p"), bytes: text.as_bytes(), head: &head };
        client_properties(file, &BTreeMap::new())
    }

    /// The mistakes of a text, each with its file and line.
    fn mistakes(text: &str) -> Vec<String> {
        let mut next = read(text).err().map(Box::new);
        let mut found = Vec::new();
        while let Some(mut one) = next {
            next = one.next.take();
            found.push(one.to_string());
        }
        found
    }

    #[test]
    fn all_mistakes_of_a_file_are_reported_without_consequences() {
        let found = mistakes(
            "security.protocol=SASL_SSL\nssl.truststore.locaton=x\nsasl.mechanism=PLAIN\nsasl.mechanisms=x\n\
             ssl.protocl=x\nssl.truststore.password=hunter2\n",
        );
        let lines = ["p:2:1: ", "p:4:1: ", "p:5:1: "];
        assert!(found.iter().map(|one| &one[..7]).eq(lines), "{found:?}");
        let found = mistakes(
            "security.protocol=SASL_SSL\nssl.endpoint.identification.algorithm=x\nsasl.mechanism=PLAIN\n",
        );
        assert_eq!(found.len(), 2, "TLS and the login: {found:?}");
        assert!(found[1].contains("`sasl.jaas.config` is missing"), "{found:?}");
        assert_eq!(mistakes("security.protocol=SSLL\nsasl.mechanism=x\n").len(), 1);
        let many: String = (0..50).map(|n| format!("ssl.x{n}=1\n")).collect();
        assert_eq!(mistakes(&many).len(), crate::input::MISTAKES_MAX);
    }

    #[test]
    fn a_protocol_that_is_missing_is_named_by_what_suggests_it() {
        let notes = |text: &str| read(text).expect("a file").notes.join("\n");
        for (text, meant) in [
            ("ssl.truststore.location=x\n", "did you mean `SSL`?"),
            ("sasl.mechanism=PLAIN\n", "did you mean `SASL_SSL` or `SASL_PLAINTEXT`?"),
            ("sasl.mechanism=PLAIN\nssl.truststore.location=x\n", "did you mean `SASL_SSL`?"),
        ] {
            let notes = notes(text);
            assert!(notes.contains("`security.protocol` is missing") && notes.contains(meant), "{notes}");
        }
        assert!(!notes("security.protocol=PLAINTEXT\nssl.truststore.location=x\n").contains("is missing"));
        assert_eq!(notes("bootstrap.servers=h:1\n"), "");
    }
}
