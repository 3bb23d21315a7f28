//! A producer's properties file as the settings of a scenario: the same mapping as that of `kdyno quick`. How the cluster is
//! reached, and every secret, stays in the file.

use crate::commands::quick::at_property;
use crate::commands::written_scenario::{SET_BY_PRODUCERS, WrittenSetting, setting_meant};
use crate::failure::Failure;
use crate::target_source::with_properties;
use kdyno_model::properties::{Property, trim};
use kdyno_scenario::client::{ClientKind, ClientSide, SettingEffect, is_of, other};
use kdyno_scenario::input::{InputError, listed};
use kdyno_scenario::security::{ClientProperties, PropertiesCommand, client_properties, is_setting_name};
use kdyno_scenario::yaml::literal;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const COMMAND: PropertiesCommand = PropertiesCommand {
    side: ClientSide::Produce,
    sets: SET_BY_PRODUCERS,
    with_java: "; Kafka's own client, `driver: java` of the load item, follows it",
};

/// The file, read.
pub(super) struct Producer {
    pub(super) path: PathBuf,
    pub(super) properties: ClientProperties,
}

impl Producer {
    /// Reads it; that of a consumer is refused.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let properties = with_properties(path, |file| client_properties(file, &BTreeMap::new()))?;
        let producer = Self { path: path.to_owned(), properties };
        producer.refuse_consumer()?;
        Ok(producer)
    }

    fn refuse_consumer(&self) -> Result<(), Failure> {
        let names = || self.properties.others.iter().map(|property| property.name.as_str());
        let of_one = |name: &&str, side, another| is_of(side, name) && !is_of(another, name);
        let has_own = names().any(|name| of_one(&name, ClientSide::Produce, ClientSide::Consume));
        let of_consumers: Vec<&str> =
            names().filter(|name| of_one(name, ClientSide::Consume, ClientSide::Produce)).collect();
        if has_own || of_consumers.is_empty() {
            return Ok(());
        }
        let names = listed(of_consumers);
        Err(Failure::usage(format!("{} is a consumer's properties file: {names}", self.path.display())).hint(
            "name the producer's file; `--load group` writes a consumer, whose `client` takes these settings",
        ))
    }

    /// What the load takes, each a line of the scenario.
    pub(super) fn settings(&self) -> Vec<WrittenSetting<'_>> {
        let taken = self.properties.of_load(&COMMAND).settings.into_iter();
        taken.filter(|property| !is_without_effect(&property.name)).map(setting).collect()
    }

    /// Names of what is neither taken nor says how the cluster is reached.
    pub(super) fn left(&self) -> Vec<&str> {
        let taken = self.settings();
        let names = self.properties.others.iter().map(|property| property.name.as_str());
        names.filter(|name| is_setting_name(name) && taken.iter().all(|one| one.name != *name)).collect()
    }

    /// What its author may not expect, each a lowercase sentence.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.properties.of_load(&COMMAND).warnings
    }

    /// An error about one of its settings in the scenario, at its line here.
    pub(super) fn as_given(&self, error: InputError, text: &str) -> InputError {
        match setting_meant(&error, text, &self.settings()) {
            Some(WrittenSetting { property: Some(property), .. }) => at_property(error, &self.path, property),
            _ => error,
        }
    }
}

/// Whether kdyno has nothing that a producer's setting could change.
fn is_without_effect(name: &str) -> bool {
    other(ClientKind::Producer, name).is_some_and(|row| matches!(row.rule, SettingEffect::WithoutEffect(_)))
}

/// The line as one would type it, without quotes where a value needs none.
fn setting(property: &Property) -> WrittenSetting<'_> {
    let value = trim(&property.value);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let value = match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => literal(value),
    };
    WrittenSetting {
        name: &property.name,
        line: format!("      {}: {value}", property.name),
        property: Some(property),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn producer(text: &str) -> Result<Producer, Failure> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("producer.properties");
        std::fs::write(&path, text).expect("written");
        Producer::read(&path)
    }

    #[test]
    fn settings_are_taken_and_the_rest_is_named() {
        let producer = producer(
            "bootstrap.servers=h:1\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=\
             org.apache.kafka.common.security.plain.PlainLoginModule required username=\"me\" password=\"hunter2\";\n\
             acks=all\nlinger.ms=20\nbatch.size = 65536\ncompression.type=lz4\nmax.in.flight.requests.per.connection=1\n\
             enable.idempotence=true\nbuffer.memory=67108864\nclient.id=hunter2\nvalue.serializer=io.acme.Avro\n\
             retries=0\nschema.registry.url=http://h\nhunter2ZXQ==\n",
        );
        let producer = producer.expect("a producer's");
        let lines: Vec<String> = producer.settings().into_iter().map(|one| one.line).collect();
        let names = "acks: all,linger.ms: 20,batch.size: 65536,compression.type: lz4,\
                     max.in.flight.requests.per.connection: 1,enable.idempotence: true,buffer.memory: 67108864";
        assert_eq!(lines, names.split(',').map(|line| format!("      {line}")).collect::<Vec<_>>());
        assert_eq!(producer.left(), ["client.id", "value.serializer", "retries", "schema.registry.url"]);
        let warnings = producer.warnings().join("\n");
        assert!(warnings.contains("`retries` as `0` is not followed"), "{warnings}");
        assert!(!warnings.contains("hunter2"), "{warnings}");
    }

    #[test]
    fn a_consumers_file_is_refused_and_one_of_both_is_not() {
        for text in
            ["group.id=me\nauto.offset.reset=earliest\n", "bootstrap.servers=h:1\nfetch.min.bytes=1\n"]
        {
            let failure = producer(text).err().expect("a consumer's");
            assert!(failure.message.contains("is a consumer's properties file: `"), "{failure:?}");
            assert!(!failure.message.contains("earliest"), "no value: {failure:?}");
        }
        for text in ["group.id=me\nacks=1\n", "bootstrap.servers=h:1\n", "request.timeout.ms=5000\n"] {
            assert!(producer(text).is_ok(), "{text}");
        }
    }
}
