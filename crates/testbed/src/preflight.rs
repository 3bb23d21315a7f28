//! Looks before a run: is there room for what it will write, memory for its brokers, a place for its file?

use crate::cluster::Retention;
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::host::{existing, free_bytes};
use kdyno_model::plan::{ClusterPlan, Mode, Storage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Left free on every disk: a file system that is nearly full slows down before it fails.
const RESERVE_BYTES: u64 = 1 << 30;

/// Checks that files can be made in the folder, or it can be made itself. Makes nothing.
///
/// # Errors
/// The folder, or the nearest one above it that is there, is a file or may not be written to.
pub fn check_writable(folder: &Path) -> Result<(), TestbedError> {
    let existing = existing(folder);
    let access = match existing.is_dir() {
        true => rustix::fs::access(existing, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK),
        false => Err(rustix::io::Errno::NOTDIR),
    };
    access.map_err(|errno| {
        TestbedError::hinted(
            format!(
                "files cannot be made in {}: {}: {}",
                folder.display(),
                existing.display(),
                std::io::Error::from(errno)
            ),
            "name another folder with --out",
        )
    })
}

/// Heaps of the cluster's brokers and controllers together, bytes. As long as a heap is not used it
/// takes address space only, but a loaded broker comes to use all of its own.
#[must_use]
pub fn heap_bytes(cluster: &ClusterPlan) -> u64 {
    let processes = match cluster.mode {
        Mode::KraftControllers { controllers } => u64::from(cluster.brokers) + u64::from(controllers),
        Mode::KraftCombined | Mode::Zookeeper { .. } => u64::from(cluster.brokers),
    };
    cluster.heap_bytes.saturating_mul(processes)
}

/// A size in words.
fn shown(bytes: u64) -> String {
    kdyno_model::units::bytes(bytes as f64)
}

/// Says that heaps do not fit into `available_bytes` of memory, and what to lower; `None` when they do. `heaps`: whose they
/// are, and their bytes.
#[must_use]
pub fn memory_warning(heaps: &[(&str, u64)], available_bytes: u64, remedy: &str) -> Option<String> {
    let all = heaps.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
    (all > available_bytes).then(|| {
        let each = heaps.iter().enumerate().map(|(place, (whose, bytes))| match place {
            0 => format!("the heaps of {whose} are {}", shown(*bytes)),
            _ => format!("those of {whose} {}", shown(*bytes)),
        });
        format!(
            "{}, but this host has {} of memory free: processes may fail to start or be swapped out; lower {remedy}",
            each.collect::<Vec<_>>().join(" and "),
            shown(available_bytes)
        )
    })
}

/// The check where brokers alone have heaps.
#[must_use]
pub fn brokers_memory_warning(heap_bytes: u64, available_bytes: u64) -> Option<String> {
    memory_warning(&[("all brokers", heap_bytes)], available_bytes, "`limits.heap` or the number of brokers")
}

/// The folders in which brokers' logs will lie.
#[must_use]
pub fn log_folders(storage: &Storage, work_dir: &Path, environment: &Environment) -> Vec<PathBuf> {
    match storage {
        Storage::Disk => vec![work_dir.to_path_buf()],
        Storage::Memory => vec![environment.memory_dir.clone()],
        Storage::Dirs(drives) => drives.clone(),
    }
}

/// The folders that a cluster's processes are given the names of: those of its logs, and its own.
pub fn folders(
    storage: &Storage,
    work_dir: &Path,
    environment: &Environment,
) -> impl Iterator<Item = PathBuf> {
    log_folders(storage, work_dir, environment).into_iter().chain([work_dir.to_path_buf()])
}

/// Checks that the bytes a run writes (replicas included, evenly spread over the folders) fit.
///
/// # Errors
/// They do not; the message has the figures.
pub fn check_room(folders: &[PathBuf], write_bytes: u64) -> Result<(), TestbedError> {
    let would = |each: &str| format!("the run would write {each} to");
    let hint = "shorten the run, lower the rate or the replicas, or let the logs lie elsewhere (storage)";
    check_free(folders, write_bytes, would, hint)
}

/// Checks that bytes which are evenly spread over the folders fit, and leave some free; `would` says what comes of those of one.
fn check_free(
    folders: &[PathBuf],
    bytes: u64,
    would: impl Fn(&str) -> String,
    hint: &str,
) -> Result<(), TestbedError> {
    let each = bytes / folders.len().max(1) as u64;
    for folder in folders {
        let free = free_bytes(folder)?;
        if each.saturating_add(RESERVE_BYTES) > free {
            let (would, folder) = (would(&shown(each)), folder.display());
            let (free, reserve) = (shown(free), shown(RESERVE_BYTES));
            let message = format!("{would} {folder}, which has {free} free ({reserve} stay reserved)");
            return Err(TestbedError::hinted(message, hint));
        }
    }
    Ok(())
}

/// The most bytes that one replica of a partition comes to take when the retention is the least: what is kept and the
/// segment being written. Settings of its topic and of the brokers count where they ask for less; a larger retention
/// is their author's choice.
#[must_use]
pub fn least_replica_bytes(cluster: &ClusterPlan, topic_config: &BTreeMap<String, String>) -> u64 {
    let least = Retention::least();
    let at_most = |of_topic: &str, of_broker: &str, bytes: u64| {
        let given = topic_config.get(of_topic).or_else(|| cluster.config.get(of_broker));
        given.and_then(|text| text.parse::<u64>().ok()).map_or(bytes, |given| given.min(bytes))
    };
    at_most("retention.bytes", "log.retention.bytes", least.partition_bytes)
        + at_most("segment.bytes", "log.segment.bytes", least.segment_bytes)
}

/// Checks that so many replicas of partitions, which take `bytes` in all at the least retention (evenly spread over
/// the folders), fit: the retention is all that bounds what an unknown load writes.
///
/// # Errors
/// They do not; the message has the figures.
pub fn check_retained(folders: &[PathBuf], partition_replicas: u64, bytes: u64) -> Result<(), TestbedError> {
    let of_one = shown(bytes / partition_replicas.max(1));
    let would = |each: &str| {
        format!(
            "with the least retention {partition_replicas} replicas of partitions take up to {of_one} each, so {each} may \
             be stored in"
        )
    };
    let hint =
        "use fewer partitions or replicas, set `log.retention.bytes` lower, or let the logs lie elsewhere";
    check_free(folders, bytes, would, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_below_a_file_cannot_be_made() {
        let temp = tempfile::tempdir().expect("temp");
        std::fs::write(temp.path().join("file"), "").expect("write");
        assert!(check_writable(&temp.path().join("not/yet/there")).is_ok());
        let error = check_writable(&temp.path().join("file/runs")).expect_err("a file is no folder");
        assert!(error.to_string().contains("/file: Not a directory"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--out")));
    }

    fn three_brokers() -> ClusterPlan {
        ClusterPlan { brokers: 3, heap_bytes: 1_000_000_000, ..crate::plans::cluster() }
    }

    #[test]
    fn replicas_that_do_not_fit_are_refused_with_the_arithmetic() {
        let temp = tempfile::tempdir().expect("temp");
        let folders = [temp.path().join("not/yet/there")];
        let (mut cluster, mut topic) = (three_brokers(), BTreeMap::new());
        assert_eq!(least_replica_bytes(&cluster, &topic), 80 << 20);
        let replicas = free_bytes(temp.path()).expect("free") / (80 << 20) + 1;
        let error = check_retained(&folders, replicas, replicas * (80 << 20)).expect_err("too many");
        let words = format!(
            "with the least retention {replicas} replicas of partitions take up to 80.0 MiB each, so "
        );
        assert!(error.to_string().starts_with(&words), "{error}");
        assert!(check_retained(&folders, 1, 0).is_ok(), "these tests need more than the reserve");
        cluster.config.insert("log.retention.bytes".into(), "1048576".into());
        cluster.config.insert("log.segment.bytes".into(), "1073741824".into());
        assert_eq!(least_replica_bytes(&cluster, &topic), (1 << 20) + (16 << 20));
        topic.insert("segment.bytes".into(), "1048576".into());
        assert_eq!(
            least_replica_bytes(&cluster, &topic),
            2 << 20,
            "a topic's setting counts before the brokers'"
        );
    }

    #[test]
    fn heaps_count_brokers_and_controllers_and_must_fit() {
        let mut cluster = three_brokers();
        assert_eq!(heap_bytes(&cluster), 3_000_000_000);
        cluster.mode = Mode::KraftControllers { controllers: 2 };
        assert_eq!(heap_bytes(&cluster), 5_000_000_000);
        assert_eq!(brokers_memory_warning(5 << 30, 5 << 30), None);
        let warning = brokers_memory_warning(5 << 30, 5000 << 20).expect("too large");
        assert!(warning.contains("5.00 GiB") && warning.contains("4.88 GiB"), "{warning}");
    }

    #[test]
    fn too_much_is_refused_with_figures() {
        let temp = tempfile::tempdir().expect("temp");
        let folders = [temp.path().join("not/yet/there")];
        assert!(free_bytes(&folders[0]).expect("free") > 0);
        let error = check_room(&folders, u64::MAX).expect_err("no disk is that large");
        assert!(error.to_string().contains("16,777,216 TiB"), "{error}");
        assert!(error.to_string().contains(" free ("), "{error}");
    }
}
