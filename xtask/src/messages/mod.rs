//! `cargo xtask messages`: `crates/kafka/src/messages/generated` from Kafka's own message specifications.
//!
//! To speak one more API, or another range of versions, change [`SPOKEN`] and run it with `--write`.

mod jar;
mod rust;
mod spec;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};

pub use self::jar::KAFKA_VERSION;
use self::rust::COMMAND;

/// Where the generated files are, from the workspace's root.
const FOLDER: &str = "crates/kafka/src/messages/generated";

/// A message we speak: Kafka's name of the API, and the lowest and highest version.
///
/// Produce and Fetch are not here: they are written by hand, without copies of the records.
const SPOKEN: [(&str, i16, i16); 38] = [
    ("ListOffsets", 2, 6),
    ("Metadata", 4, 13),
    ("OffsetCommit", 2, 9),
    ("OffsetFetch", 1, 9),
    ("FindCoordinator", 0, 6),
    ("JoinGroup", 0, 9),
    ("Heartbeat", 0, 4),
    ("LeaveGroup", 0, 5),
    ("SyncGroup", 0, 5),
    ("DescribeGroups", 0, 6),
    ("ListGroups", 0, 5),
    ("SaslHandshake", 0, 1),
    ("ApiVersions", 0, 3),
    ("CreateTopics", 2, 7),
    ("DeleteTopics", 1, 5),
    ("InitProducerId", 0, 5),
    ("OffsetForLeaderEpoch", 2, 4),
    ("AddPartitionsToTxn", 0, 5),
    ("AddOffsetsToTxn", 0, 4),
    ("EndTxn", 0, 5),
    ("TxnOffsetCommit", 0, 5),
    ("DescribeAcls", 1, 3),
    ("CreateAcls", 1, 3),
    ("DeleteAcls", 1, 3),
    ("DescribeConfigs", 1, 4),
    ("DescribeLogDirs", 1, 4),
    ("SaslAuthenticate", 0, 2),
    ("CreatePartitions", 0, 3),
    ("DeleteGroups", 0, 2),
    ("ElectLeaders", 0, 2),
    ("IncrementalAlterConfigs", 0, 1),
    ("DescribeClientQuotas", 0, 1),
    ("AlterClientQuotas", 0, 1),
    ("DescribeUserScramCredentials", 0, 0),
    ("AlterUserScramCredentials", 0, 0),
    ("DescribeCluster", 0, 2),
    ("ConsumerGroupHeartbeat", 0, 1),
    ("ConsumerGroupDescribe", 0, 1),
];

/// Makes all files and compares them with those of the tree at `root`, or with `write` puts them there.
///
/// # Errors
/// When a file differs, or the specifications cannot be had or hold what [`spec`] does not know.
pub fn run(root: &Path, write: bool) -> anyhow::Result<()> {
    let wanted = match write {
        true => generate(&jar::get(root)?)?,
        false => match jar::find(root) {
            Some(jar) => generate(&jar)?,
            None => {
                println!(
                    "messages: not compared, kafka-clients {KAFKA_VERSION} is not here; `make test` does"
                );
                return Ok(());
            }
        },
    };
    let folder = root.join(FOLDER);
    if write {
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => fs::create_dir_all(&folder)?,
        }
        for (name, text) in &wanted {
            fs::write(folder.join(name), text)?;
        }
        return Ok(());
    }
    let stale = differences(&folder, &wanted)?;
    if !stale.is_empty() {
        bail!("not as {COMMAND} makes them: {}\nhint: {COMMAND}", stale.join(", "));
    }
    Ok(())
}

/// Names of the files that differ from what is wanted, are missing, or should not be there.
fn differences(folder: &Path, wanted: &BTreeMap<String, String>) -> anyhow::Result<Vec<String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.insert(name, fs::read_to_string(&path)?);
    }
    let names = wanted.keys().chain(found.keys().filter(|name| !wanted.contains_key(*name)));
    Ok(names.filter(|name| wanted.get(*name) != found.get(*name)).cloned().collect())
}

/// The files by name, from the specifications in `jar`.
fn generate(jar: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut specifications = jar::Specifications::open(jar)?;
    let mut messages = Vec::new();
    for (api, version_min, version_max) in SPOKEN {
        let mut read = |kind: &str| {
            let name = format!("{api}{kind}");
            let text = specifications.read(&name)?;
            spec::MessageSpec::parse(&text).with_context(|| format!("specification of {name}"))
        };
        let (request, response) = (read("Request")?, read("Response")?);
        let api = rust::SpokenApi { name: api, version_min, version_max };
        messages.push((api, request, response));
    }
    messages.sort_by_key(|(_, request, _)| request.api_key);
    let mut files = BTreeMap::new();
    for (api, request, response) in &messages {
        let text = rust::file(api, request, response).with_context(|| format!("generating {}", api.name))?;
        files.insert(format!("{}.rs", rust::module(api.name, request.api_key)), text);
    }
    let names: Vec<_> = messages.iter().map(|(api, request, _)| (api.name, request.api_key)).collect();
    files.insert("mod.rs".to_owned(), rust::index(&names));
    Ok(files)
}
