//! Kafka releases by Maven into the per-user cache: complete or not there at all, once per host.

mod maven;
mod pom;

use crate::environment::Environment;
use crate::error::TestbedError;
use crate::folder::{create_folder, remove_folder};
use crate::java::Java;
use crate::storage_tool;
use kdyno_model::version::Version;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A release in the cache.
#[derive(Debug, Clone)]
pub(crate) struct Cached {
    /// Folder with every jar.
    pub libs: PathBuf,
    /// `bootstrap.checkpoint` as `kafka-storage format` writes it; absent before 3.3.
    pub bootstrap: Option<PathBuf>,
}

impl Cached {
    fn at(folder: &Path, version: &Version) -> Self {
        let bootstrap = version.has_bootstrap_features().then(|| folder.join(storage_tool::CHECKPOINT));
        Self { libs: folder.join("libs"), bootstrap }
    }
}

/// Where a release lies in the cache; the folder is there only when it is complete.
pub(crate) fn folder(environment: &Environment, version: &str) -> PathBuf {
    environment.cache_dir.join("kafka").join(version)
}

/// Makes sure the release is in the cache and returns where. `progress` is told only when something is fetched.
///
/// # Errors
/// No Maven, no network, unknown version, or no room; what is already cached needs none of them.
pub(crate) fn release(
    environment: &Environment,
    java: &Java,
    version: &Version,
    progress: &dyn Fn(&str),
) -> Result<Cached, TestbedError> {
    let base = environment.cache_dir.join("kafka");
    let folder = folder(environment, &version.text);
    // The folder gets its name only when it is complete, so its presence is enough.
    if folder.is_dir() {
        return Ok(Cached::at(&folder, version));
    }
    create_folder(&base)?;
    let _lock = lock(&base.join(format!("{}.lock", version.text)), progress)?;
    if folder.is_dir() {
        return Ok(Cached::at(&folder, version));
    }
    progress(&format!("fetching Kafka {} by Maven (once)", version.text));
    let unfinished = base.join(format!(".unfinished-{}", version.text));
    // A leftover of a run that was killed; the lock says nobody is using it.
    remove_folder(&unfinished)?;
    create_folder(&unfinished)?;
    let result = fill(environment, java, version, &unfinished).and_then(|()| {
        std::fs::rename(&unfinished, &folder).map_err(|e| TestbedError::io("cannot name folder", &folder, e))
    });
    if result.is_err() {
        // Best effort: the first failure is the one to report, and the next run removes the rest.
        let _ = std::fs::remove_dir_all(&unfinished);
    }
    result.map(|()| Cached::at(&folder, version))
}

fn fill(
    environment: &Environment,
    java: &Java,
    version: &Version,
    folder: &Path,
) -> Result<(), TestbedError> {
    let libs = folder.join("libs");
    let pom = folder.join("pom.xml");
    std::fs::write(&pom, pom::text(version)).map_err(|e| TestbedError::io("cannot write", &pom, e))?;
    maven::copy_dependencies(environment, version, &pom, &libs)?;
    let main_jar = libs.join(format!("kafka_2.13-{}.jar", version.text));
    if !main_jar.is_file() {
        return Err(TestbedError::Maven {
            message: format!("Maven ended well but did not deliver {}", main_jar.display()),
            hint: "run it by hand with the generated pom.xml to see why".to_string(),
        });
    }
    if version.has_bootstrap_features() {
        let classpath = format!("{}/*", libs.display());
        storage_tool::make_checkpoint(
            java,
            &classpath,
            version,
            &folder.join("format"),
            &[],
            &folder.join(storage_tool::CHECKPOINT),
        )?;
    }
    Ok(())
}

/// Waits for the release's lock; the system frees it when its holder ends, however that happens.
fn lock(path: &Path, progress: &dyn Fn(&str)) -> Result<File, TestbedError> {
    let file = File::create(path).map_err(|e| TestbedError::io("cannot create", path, e))?;
    if file.try_lock().is_err() {
        progress("another kdyno is fetching this release, waiting for it");
        file.lock().map_err(|e| TestbedError::io("cannot lock", path, e))?;
    }
    Ok(file)
}
