//! `kdyno target init`: the target file of a cluster, from what Kafka's own tools take. Secrets stay where they are: the file
//! refers to the properties file, which kdyno reads again whenever it connects.

use super::quick::CAPS;
use super::typed_cluster::{ask_cluster_id, attached, bootstrap};
use crate::cli::TargetInitArgs;
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use crate::target_source::with_properties;
use kdyno_model::plan::Caps;
use kdyno_scenario::security::{ClientProperties, client_properties};
use kdyno_scenario::target::Target;
use std::collections::BTreeMap;
use std::path::Path;

/// Stands in the place of the id of a cluster that did not answer.
const NO_ID: &str =
    "# The cluster did not say its id; `kafka-cluster.sh cluster-id` prints it:\n# cluster_id: ID";

/// A cluster as it was typed.
pub(super) struct TypedTarget<'a> {
    /// Name of the target.
    pub(super) name: &'a str,
    /// `--bootstrap-server`; empty where the properties file is to say it.
    pub(super) bootstrap: &'a [String],
    /// The properties file, if there is one.
    pub(super) config: Option<&'a Path>,
    /// What it says.
    pub(super) properties: &'a ClientProperties,
}

/// A target file, and what it says.
pub(super) struct TargetText {
    pub(super) text: String,
    /// The target as a plan takes it. Its cluster id is empty where the cluster did not answer.
    pub(super) target: Target,
    /// How many brokers the cluster has, where it answered.
    pub(super) brokers: Option<u32>,
}

/// Prints it, and on standard error what to do with it.
pub(crate) fn init(args: &TargetInitArgs) -> CommandResult {
    let config = args.command_config.as_deref();
    let properties = match config {
        None => ClientProperties::default(),
        Some(path) => with_properties(path, |file| client_properties(file, &BTreeMap::new()))?,
    };
    properties.notes.iter().for_each(|note| out::note(note));
    let bootstrap = &args.bootstrap_server;
    let typed = TypedTarget { name: &args.name, bootstrap, config, properties: &properties };
    let written = written(&typed)?;
    out::text(&written.text)?;
    out::note(
        "next: chmod 600 FILE, then `kdyno doctor --target FILE` or `kdyno run SCENARIO --target FILE`",
    );
    Ok(Exit::Done)
}

/// Asks the cluster who it is, and writes its target file.
pub(super) fn written(typed: &TypedTarget<'_>) -> Result<TargetText, Failure> {
    let TypedTarget { name, config, properties, .. } = *typed;
    let addresses = bootstrap(typed.bootstrap, config, properties)?;
    let mut attached = attached(name, addresses, properties, BTreeMap::new());
    attached.caps = Caps { time_ns: None, ..CAPS };
    // What was given may be wrong whatever the cluster says.
    kdyno_lab::access(&attached, &properties.secrets, &|name| std::env::var_os(name))?;
    let asked = ask_cluster_id(&mut attached, &properties.secrets, &|name| std::env::var_os(name));
    let id = match &asked {
        Ok(_) if !attached.cluster_id.is_empty() => format!("cluster_id: {}", quoted(&attached.cluster_id)),
        _ => NO_ID.to_owned(),
    };
    let brokers = match asked {
        Ok((_, brokers)) => Some(brokers),
        Err(failure) => {
            out::note(&format!(
                "warning: the cluster did not say its id, fill in `cluster_id`: {}",
                failure.message
            ));
            failure.hint.iter().for_each(|hint| out::note(&format!("hint: {hint}")));
            None
        }
    };
    let text = text(typed, &id, &client(typed)?);
    Ok(TargetText {
        text,
        target: Target { attached, secrets: properties.secrets.clone(), notes: Vec::new() },
        brokers,
    })
}

/// What `client` says: addresses that were typed, and where the properties file is, which is found from anywhere.
fn client(typed: &TypedTarget<'_>) -> Result<String, Failure> {
    let addresses: Vec<String> = typed.bootstrap.iter().map(|address| quoted(address)).collect();
    let bootstrap = (!addresses.is_empty()).then(|| format!("bootstrap: [{}]", addresses.join(", ")));
    let absolute = |path: &Path| std::path::absolute(path).map_err(Failure::tool);
    let config = typed.config.map(absolute).transpose()?;
    let properties = config.map(|path| format!("properties: {}", quoted(&path.to_string_lossy())));
    Ok(bootstrap.into_iter().chain(properties).collect::<Vec<_>>().join(", "))
}

/// The file. Its caps are those of a quick look, but for the time that a run may take.
fn text(typed: &TypedTarget<'_>, id: &str, client: &str) -> String {
    let name = quoted(typed.name);
    format!(
        "# Written by `kdyno target init`. kdyno reads it only where its mode is 0600: `chmod 600 FILE`.
# `kdyno schema target` has all keys.
kdyno: 1
target: {name}
{id}
# A properties file is read as Kafka's own tools read it: addresses, security, secrets. No secret is copied from it.
client: {{{client}}}
guard:
  # kdyno makes and deletes topics with this prefix, and no others.
  prefix: kdyno-
  # A run that would exceed one of these is refused before anything is sent: raise what you mean to.
  caps: {{produce: 20MiB/s, connections: 50, partitions: 60, disk: 10GiB}}
  # `kdyno find` goes beyond what the cluster sustains, and needs both lines:
  # allow: [find]
  # abort_if: [offline_brokers > 0, under_replicated > 0 for 10s]
"
    )
}

/// A text in YAML's double quotes.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_scenario::security::PropertiesFile;
    use kdyno_scenario::target::TargetFile;

    fn text_of(bootstrap: &[String], config: Option<&Path>) -> String {
        let properties = &ClientProperties::default();
        let typed = TypedTarget { name: "007", bootstrap, config, properties };
        text(&typed, "cluster_id: \"-x\"", &client(&typed).expect("a client"))
    }

    #[test]
    fn the_file_is_read_with_the_caps_that_it_was_planned_with() {
        let addresses = ["a:1".to_owned(), "[::1]:2".to_owned()];
        let text = text_of(&addresses, None);
        let file = TargetFile::parse(&text, "printed").expect("a target file");
        let target = file.resolve(None).expect("a target").attached;
        assert_eq!((target.target.as_str(), target.cluster_id.as_str()), ("007", "-x"));
        assert_eq!(target.bootstrap, addresses);
        assert_eq!(target.caps, Caps { time_ns: None, ..CAPS });
        let allowed = text.replace("  # allow", "  allow").replace("  # abort_if", "  abort_if");
        let file = TargetFile::parse(&allowed, "printed").expect("the lines for a search");
        let target = file.resolve(None).expect("a target").attached;
        assert_eq!((target.allow.as_slice(), target.abort_if.len()), (&["find".to_owned()][..], 2));
    }

    #[test]
    fn a_properties_file_is_referred_to_by_its_whole_path() {
        let text = text_of(&[], Some(Path::new("conf/my \"own\".properties")));
        let file = TargetFile::parse(&text, "printed").expect("a target file");
        let path = file.properties().expect("a properties file").to_owned();
        assert!(Path::new(&path).is_absolute() && path.ends_with("/conf/my \"own\".properties"), "{path}");
        let bytes = b"bootstrap.servers=h:9092\n";
        let properties = PropertiesFile { path: Path::new(&path), bytes, head: &|_| Err(String::new()) };
        assert_eq!(file.resolve(Some(properties)).expect("a target").attached.bootstrap, ["h:9092"]);
    }
}
