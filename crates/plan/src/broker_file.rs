//! A broker's own file as settings of a local cluster. What depends on where the broker was, and what is secret, stays in the
//! file; so the plan never holds it, and a plan that was made from one is run again without it.

mod formats;

use crate::choices::PlanError;
use crate::kafka::{Owner, has_unit, is_name, written_by_kdyno};
use crate::reader::CaseReader;
use crate::stored::is_plain_setting;
use formats::GivenSetting;
use kdyno_model::managed::instead_of;
use kdyno_model::plan::{ClusterPlan, IgnoredSetting, Plan};
use kdyno_model::properties::trim;
use kdyno_model::version::Version;
use kdyno_scenario::file::BrokerConfigFile;
use kdyno_scenario::input::{InputError, TextPosition, quoted};
use std::collections::{BTreeMap, BTreeSet};

/// Most settings of a file: brokers know some 250.
const SETTINGS_MAX: usize = 2_000;
/// Most mistakes that are reported.
const MISTAKES_MAX: usize = 20;
/// Longest name that is kept.
const NAME_BYTES_MAX: usize = 200;

/// Settings that releases have removed, each with the first release without it; also all that begin so, where it ends in a dot.
const REMOVED: &[(&str, (u32, u32))] = &[
    ("advertised.host.name", (3, 0)),
    ("advertised.port", (3, 0)),
    ("auto.include.jmx.reporter", (4, 0)),
    ("broker.id.generation.enable", (4, 0)),
    ("control.plane.listener.name", (4, 0)),
    ("controlled.shutdown.max.retries", (4, 0)),
    ("controlled.shutdown.retry.backoff.ms", (4, 0)),
    ("delegation.token.master.key", (4, 0)),
    ("group.coordinator.new.enable", (4, 0)),
    ("host.name", (3, 0)),
    ("inter.broker.protocol.version", (4, 0)),
    ("leader.imbalance.per.broker.percentage", (4, 0)),
    ("log.message.downconversion.enable", (4, 0)),
    ("log.message.format.version", (4, 0)),
    ("log.message.timestamp.difference.max.ms", (4, 0)),
    ("offsets.commit.required.acks", (4, 0)),
    ("password.encoder.", (4, 0)),
    ("port", (3, 0)),
    ("quota.consumer.default", (3, 0)),
    ("quota.producer.default", (3, 0)),
    ("reserved.broker.max.id", (4, 0)),
    ("zookeeper.", (4, 0)),
];

/// Parts of the names of secrets.
const SECRET: [&str; 12] = [
    ".key",
    ".pin",
    "accesskey",
    "apikey",
    "credential",
    "jaas",
    "license",
    "pass",
    "private",
    "pwd",
    "secret",
    "token",
];
/// Kafka's settings that begin so are no secrets by that.
const OF_TOKENS: &str = "delegation.token.";

/// Who may do what; and how names of users are read.
const OF_LISTENERS: [&str; 6] = [
    "allow.everyone.if.no.acl.found",
    "authorizer.class.name",
    "principal.builder.class",
    "super.users",
    "zookeeper.set.acl",
    "zookeeper.ssl.",
];

/// Beginnings of what is read by plugins and by other distributions, without which a broker does not start with them.
const OF_PLUGINS: [&str; 6] = [
    "confluent.",
    "remote.log.manager.",
    "remote.log.metadata.",
    "remote.log.storage.",
    "rlmm.config.",
    "rsm.config.",
];

/// Settings of clients that no broker has.
const OF_CLIENTS: [&str; 6] = [
    "bootstrap.servers",
    "group.id",
    "key.deserializer",
    "key.serializer",
    "value.deserializer",
    "value.serializer",
];

/// Settings of a file that brokers are given, with their values; and the others, with why they are not.
pub(crate) type TakenAndIgnored = (BTreeMap<String, String>, BTreeMap<String, IgnoredSetting>);

/// The settings of the file that a scenario names, without those that it gives itself, and what is ignored. `release` is the
/// brokers', where it is known.
pub(crate) fn settings(
    reader: &CaseReader<'_>,
    typed: &BrokerConfigFile,
    release: Option<&Version>,
) -> Result<TakenAndIgnored, PlanError> {
    let Some(file) = &typed.file else {
        return match &typed.service {
            None => Ok(Default::default()),
            Some(service) => Err(reader
                .wrong(service, "`service` is of a compose file, and `config` names none")
                .hint("write `config: {file: compose.yaml, service: NAME}`")),
        };
    };
    let name = reader.filled(file, "file")?;
    let wrong = |what: &str| reader.wrong(file, format!("the file {} {what}", quoted(&name))).of_value();
    let service = typed.service.as_ref().map(|service| reader.filled(service, "service")).transpose()?;
    // What is typed by hand counts from the current folder.
    let next_to = if file.place == TextPosition::default() { "" } else { reader.scenario.file_name() };
    let found = (reader.files.0)(next_to, &name).map_err(|why| wrong(&why))?;
    let given = formats::read(&name, &found.content, service.as_deref()).map_err(|error| {
        let InputError { place, message, hint, .. } = error;
        let at = place.map(|place| format!("is wrong in line {}: ", place.line)).unwrap_or_default();
        wrong(&format!("{at}{message}")).maybe_hint(hint)
    })?;
    if given.len() > SETTINGS_MAX {
        return Err(wrong(&format!("has {} settings; at most {SETTINGS_MAX} are read", given.len())));
    }
    if let Some(of_client) = given.iter().find(|given| OF_CLIENTS.contains(&given.name.as_str())) {
        let error = wrong(&format!("is a client's: line {} sets `{}`", of_client.line, of_client.name));
        return Err(error.hint("name the brokers' file, e.g. `config/server.properties`"));
    }
    let is_typed = |given: &GivenSetting| typed.settings.iter().any(|(name, _)| name.text == given.name);
    let (mut taken, mut ignored, mut mistakes) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for given in given.into_iter().filter(|given| !is_typed(given)) {
        match judged(&given, release) {
            Ok(Judged::Taken(value)) => {
                taken.insert(given.name, value);
            }
            Ok(Judged::Ignored(why)) => {
                ignored.insert(given.name, why);
            }
            Err(mistake) => mistakes.push(format!("line {} {mistake}", given.line)),
        }
    }
    if mistakes.is_empty() {
        return Ok((taken, ignored));
    }
    let more = mistakes.len().saturating_sub(MISTAKES_MAX);
    mistakes.truncate(MISTAKES_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Err(wrong(&format!("is wrong: {}{more}", mistakes.join("; "))))
}

/// What becomes of a setting.
enum Judged {
    /// It is given to the brokers with this value.
    Taken(String),
    Ignored(IgnoredSetting),
}

/// What becomes of one; the error is a clause about its line, without its value.
fn judged(given: &GivenSetting, release: Option<&Version>) -> Result<Judged, String> {
    let name = given.name.as_str();
    if !is_shown(name) {
        // After a line without its `\` a part of a secret may be where a name would.
        return Err(
            "begins with no name of a setting; does the line before it lack a `\\` at its end?".to_owned()
        );
    }
    let begins = |all: &[&str]| {
        all.iter().any(|known| name == *known || known.ends_with('.') && name.starts_with(known))
    };
    let removed = REMOVED.iter().find(|(known, _)| begins(&[*known])).map(|(_, first)| *first);
    let removed =
        removed.filter(|(major, minor)| release.is_some_and(|release| release.at_least(*major, *minor)));
    let own = name.strip_prefix(OF_TOKENS).unwrap_or(name);
    let ignored = match removed {
        Some((major, minor)) => Some(IgnoredSetting::Removed(major, minor)),
        None if SECRET.iter().any(|part| own.contains(part)) => Some(IgnoredSetting::Secret),
        None if instead_of(name).is_some() => Some(IgnoredSetting::SetByKdyno),
        None if begins(&OF_LISTENERS) || written_by_kdyno(name, Owner::Broker).is_some() => {
            Some(IgnoredSetting::OfListeners)
        }
        None if begins(&OF_PLUGINS) => Some(IgnoredSetting::OfPlugin),
        None => None,
    };
    if let Some(why) = ignored {
        return Ok(Judged::Ignored(why));
    }
    let value = trim(&given.value);
    let is_switch = ["true", "false"].iter().any(|switch| value.eq_ignore_ascii_case(switch));
    let value = if is_switch { value.to_ascii_lowercase() } else { value.to_owned() };
    if is_plain_setting(name, &value) {
        return Ok(Judged::Taken(value));
    }
    if has_unit(name) {
        let hint = if value.contains("${") { "; `docker compose config` fills variables in" } else { "" };
        return Err(format!("sets `{name}` to what is no number: there Kafka takes no unit{hint}"));
    }
    Ok(Judged::Ignored(IgnoredSetting::OtherValue))
}

/// Whether a name may be kept and shown: it is made as those of Kafka's settings are.
fn is_shown(name: &str) -> bool {
    let is_lowercase = || !name.bytes().any(|byte| byte.is_ascii_uppercase());
    let is_made_so = is_name(name) && name.contains('.') && name.len() <= NAME_BYTES_MAX && is_lowercase();
    is_made_so || instead_of(name).is_some() || name == "zookeeper.clientCnxnSocket"
}

/// A sentence for each setting of a file that is ignored.
pub(crate) fn remarks(plan: &Plan) -> BTreeSet<String> {
    let of_cluster = |cluster: &ClusterPlan| {
        let said = |(name, why): (&String, &IgnoredSetting)| {
            format!("`{name}` of the brokers' file is ignored: {}", why.why(name))
        };
        cluster.ignored.iter().map(said).collect::<Vec<_>>()
    };
    plan.every_case().filter_map(|case| case.system.cluster()).flat_map(of_cluster).collect()
}
