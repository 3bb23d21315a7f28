//! Data folders as a node finds them when it starts: formatted, with a cluster id and initial features.

use super::config::{self, Retention};
use super::layout::{Layout, Node, NodeKind};
use crate::distribution::Distribution;
use crate::error::TestbedError;
use crate::folder::create_folder;
use crate::host;
use crate::storage_tool::{self, CHECKPOINT};
use kdyno_model::plan::{ClusterPlan, Mode};
use kdyno_model::version::Version;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Settings that change what the storage formatter writes.
const FORMAT_SETTINGS: [&str; 3] =
    ["inter.broker.protocol.version", "unstable.api.versions.enable", "unstable.feature.versions.enable"];

/// The checkpoint that controllers begin with: the release's cached one, or one made now for unpacked and built
/// Kafka and where the plan's settings change it. `None` where there is nothing to write.
pub(super) fn checkpoint(
    plan: &ClusterPlan,
    distribution: &Distribution,
    layout: &Layout,
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
    layout: &Layout,
    node: &Node,
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
        let to = first.join(CHECKPOINT);
        std::fs::copy(from, &to).map_err(|e| TestbedError::io("cannot write", &to, e))?;
    }
    Ok(())
}

fn meta_properties(layout: &Layout, node: &Node, version: &Version) -> Result<String, TestbedError> {
    let mut text = format!("version=1\ncluster.id={}\nnode.id={}\n", layout.cluster_id, node.id);
    if version.has_directory_ids() {
        text.push_str(&format!("directory.id={}\n", random_id()?));
    }
    Ok(text)
}

/// Retention that keeps all logs within half of what is free where they lie, as far as the least retention allows;
/// [`crate::preflight::check_retained`] looks at that before.
pub(super) fn retention(layout: &Layout, partition_replicas: u64) -> Retention {
    let folder = layout.brokers().next().and_then(|node| node.data.first());
    let free = folder.and_then(|folder| host::free_bytes(folder).ok());
    Retention::within(free.unwrap_or(0) / 2, partition_replicas)
}

/// An id as Kafka writes them: 16 random bytes in URL-safe base64, 22 characters, no leading dash.
pub(super) fn random_id() -> Result<String, TestbedError> {
    let mut bytes = [0u8; 16];
    loop {
        fill_random(&mut bytes)?;
        let id = base64_url(&bytes);
        // One in 64 begins with a dash, which tools would take for an option.
        if !id.starts_with('-') {
            return Ok(id);
        }
    }
}

/// Any number.
pub(super) fn random_number() -> Result<u64, TestbedError> {
    let mut bytes = [0u8; 8];
    fill_random(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Fills bytes by chance.
pub(super) fn fill_random(bytes: &mut [u8]) -> Result<(), TestbedError> {
    let path = Path::new("/dev/urandom");
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(bytes));
    read.map_err(|e| TestbedError::io("cannot read", path, e))
}

fn base64_url(bytes: &[u8; 16]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::with_capacity(22);
    for group in bytes.chunks(3) {
        let word =
            group.iter().enumerate().fold(0u32, |word, (i, byte)| word | u32::from(*byte) << (16 - 8 * i));
        for digit in 0..=group.len() {
            out.push(char::from(ALPHABET[(word >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_kafkas_form() {
        assert_eq!(base64_url(&[0; 16]), "A".repeat(22));
        assert_eq!(base64_url(&[0xff; 16]), format!("{}w", "_".repeat(21)));
        let (a, b) = (random_id().expect("random"), random_id().expect("random"));
        assert_eq!(a.len(), 22);
        assert_ne!(a, b);
    }
}
