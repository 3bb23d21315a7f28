//! Data folders as a node finds them when it starts: formatted, with a cluster id and initial features.

use super::config::{self, Retention};
use super::layout::ClusterLayout;
use super::node::{ClusterNode, NodeKind};
use super::random::random_id;
use crate::distribution::KafkaDistribution;
use crate::error::TestbedError;
use crate::folder::create_folder;
use crate::host;
use crate::storage_tool::{self, CHECKPOINT};
use kdyno_model::plan::{ClusterPlan, Mode};
use kdyno_model::version::Version;
use std::path::{Path, PathBuf};

/// Settings that change what the storage formatter writes.
const FORMAT_SETTINGS: [&str; 3] =
    ["inter.broker.protocol.version", "unstable.api.versions.enable", "unstable.feature.versions.enable"];

/// The checkpoint that controllers begin with: the release's cached one, or one made now for unpacked and built
/// Kafka and where the plan's settings change it. `None` where there is nothing to write.
pub(super) fn checkpoint(
    plan: &ClusterPlan,
    distribution: &KafkaDistribution,
    layout: &ClusterLayout,
    work_dir: &Path,
) -> Result<Option<PathBuf>, TestbedError> {
    if matches!(plan.mode, Mode::Zookeeper { .. }) || !distribution.version.has_bootstrap_features() {
        return Ok(None);
    }
    let settings: Vec<(&str, &str)> = plan
        .config
        .iter()
        .filter(|(key, _)| FORMAT_SETTINGS.contains(&key.as_str()))
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    if let (Some(cached), true) = (&distribution.bootstrap, settings.is_empty()) {
        return Ok(Some(cached.clone()));
    }
    debug_assert!(!layout.voters().is_empty());
    let path = work_dir.join(CHECKPOINT);
    let classpath = distribution.classpath_argument();
    let scratch = work_dir.join("format");
    storage_tool::make_checkpoint(
        &distribution.java,
        &classpath,
        &distribution.version,
        &scratch,
        &settings,
        &path,
    )?;
    Ok(Some(path))
}

/// Prepares a node's data folders.
pub(super) fn format(
    layout: &ClusterLayout,
    node: &ClusterNode,
    version: &Version,
    checkpoint: Option<&Path>,
) -> Result<(), TestbedError> {
    for folder in &node.data {
        create_folder(folder)?;
    }
    let write = |path: PathBuf, text: String| {
        std::fs::write(&path, text).map_err(|e| TestbedError::io("cannot write", &path, e))
    };
    match node.kind {
        NodeKind::Zookeeper => {
            for folder in &node.data {
                write(folder.join("myid"), format!("{}\n", config::zookeeper_id(node)))?;
            }
        }
        // A broker of a ZooKeeper cluster writes its own.
        _ if layout.zookeepers().next().is_some() => {}
        _ => {
            for folder in &node.data {
                write(folder.join("meta.properties"), meta_properties(layout, node, version)?)?;
            }
        }
    }
    if let (true, Some(from), Some(first)) = (node.kind.is_controller(), checkpoint, node.data.first()) {
        let to = first.join(storage_tool::checkpoint_place(version));
        to.parent().map_or(Ok(()), create_folder)?;
        std::fs::copy(from, &to).map_err(|e| TestbedError::io("cannot write", &to, e))?;
    }
    Ok(())
}

fn meta_properties(
    layout: &ClusterLayout,
    node: &ClusterNode,
    version: &Version,
) -> Result<String, TestbedError> {
    let mut text = format!("version=1\ncluster.id={}\nnode.id={}\n", layout.cluster_id, node.id);
    if version.has_directory_ids() {
        text.push_str(&format!("directory.id={}\n", random_id()?));
    }
    Ok(text)
}

/// Retention that keeps all logs within half of what is free where they lie, as far as the least retention allows;
/// [`crate::preflight::check_retained`] looks at that before.
pub(super) fn retention(layout: &ClusterLayout, partition_replicas: u64) -> Retention {
    let folder = layout.brokers().next().and_then(|node| node.data.first());
    let free = folder.and_then(|folder| host::free_bytes(folder).ok());
    Retention::within(free.unwrap_or(0) / 2, partition_replicas)
}
