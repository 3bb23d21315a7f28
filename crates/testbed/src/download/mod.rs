//! Kafka releases by Maven into the per-user cache: complete or not there at all, once per host.

mod maven;
mod pom;
mod sums;

use crate::cached;
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::java::JavaInstallation;
use crate::storage_tool;
use kdyno_model::version::Version;
use pom::ReleaseParts;
use std::path::{Path, PathBuf};

/// Folder of the cache with the Java clients of releases.
const CLIENTS: &str = "kafka-clients";
/// Folder of the cache with Kroxylicious.
const KROXYLICIOUS: &str = "kroxylicious";
/// Folder of a release's jars.
pub(crate) const LIBS: &str = "libs";

/// A release in the cache.
#[derive(Debug, Clone)]
pub(crate) struct Cached {
    /// Folder with every jar.
    pub libs: PathBuf,
    /// What `kafka-storage format` writes of a new cluster's features; absent before 3.3.
    pub bootstrap: Option<PathBuf>,
}

impl Cached {
    fn at(folder: &Path, version: &Version) -> Self {
        let bootstrap = version.has_bootstrap_features().then(|| folder.join(storage_tool::CHECKPOINT));
        Self { libs: folder.join(LIBS), bootstrap }
    }
}

/// Where a release lies in the cache; the folder is there only when it is complete.
pub(crate) fn folder(environment: &Environment, version: &str) -> PathBuf {
    environment.cache_dir.join("kafka").join(version)
}

/// Makes sure the release is in the cache and returns where. `progress` is called only when something is fetched.
///
/// # Errors
/// No Maven, no network, unknown version, or no room; what is already cached needs none of them.
pub(crate) fn release(
    environment: &Environment,
    java: &JavaInstallation,
    version: &Version,
    progress: &dyn Fn(&str),
) -> Result<Cached, TestbedError> {
    let base = environment.cache_dir.join("kafka");
    let folder = cached::folder(&base, &version.text, progress, |folder: &Path| {
        progress(&format!("fetching Kafka {} by Maven (once)", version.text));
        fill(environment, java, version, folder, progress)
    })?;
    Ok(Cached::at(&folder, version))
}

/// Makes sure that the Java client of a release, what it needs at run time, and what writes its warnings to standard error
/// are in the cache; returns the folder of their jars.
///
/// # Errors
/// As for a release's brokers.
pub fn clients(
    environment: &Environment,
    version: &Version,
    progress: &dyn Fn(&str),
) -> Result<PathBuf, TestbedError> {
    let base = environment.cache_dir.join(CLIENTS);
    let folder = cached::folder(&base, &version.text, progress, |folder: &Path| {
        progress(&format!("fetching kafka-clients {} by Maven (once)", version.text));
        fetch(environment, (version, ReleaseParts::Client), folder, progress)
    })?;
    Ok(folder.join(LIBS))
}

/// Whether [`clients`] would fetch the release first. Asks the cache alone.
#[must_use]
pub fn clients_are_cached(environment: &Environment, version: &Version) -> bool {
    environment.cache_dir.join(CLIENTS).join(&version.text).is_dir()
}

/// Version of the Prometheus JMX agent and exporter: the newest that is on Maven Central; later ones are published elsewhere.
const METRICS_AGENT: (u32, u32, u32) = (1, 0, 1);

/// Makes sure that the Prometheus JMX agent is in the cache; returns its jar.
///
/// # Errors
/// No Maven, no network, or no room; what is already cached needs none of them.
pub(crate) fn metrics_agent(
    environment: &Environment,
    progress: &dyn Fn(&str),
) -> Result<PathBuf, TestbedError> {
    one_jar(environment, ReleaseParts::MetricsAgent, "jmx-agent", progress)
}

/// Makes sure that the standalone Prometheus JMX exporter is in the cache; returns its jar.
///
/// # Errors
/// As for the agent.
pub(crate) fn metrics_exporter(
    environment: &Environment,
    progress: &dyn Fn(&str),
) -> Result<PathBuf, TestbedError> {
    one_jar(environment, ReleaseParts::MetricsExporter, "jmx-exporter", progress)
}

/// The jar of the agent's release that these parts are.
fn one_jar(
    environment: &Environment,
    parts: ReleaseParts,
    name: &str,
    progress: &dyn Fn(&str),
) -> Result<PathBuf, TestbedError> {
    let (major, minor, patch) = METRICS_AGENT;
    let version = Version { major, minor, patch, text: format!("{major}.{minor}.{patch}") };
    let folder = optional(environment, (&version, parts), name, progress, |_, _| Ok(()))?;
    Ok(main_jar(&folder, &version, parts))
}

/// Version of async-profiler: that whose commands and answers are known.
const PROFILER: (u32, u32) = (4, 4);

/// Makes sure that async-profiler is in the cache; returns its folder, with what `unpack` makes of its jar there.
///
/// # Errors
/// As for the agent, or what `unpack` fails with.
pub(crate) fn profiler(
    environment: &Environment,
    progress: &dyn Fn(&str),
    unpack: impl FnOnce(&Path, &Path) -> Result<(), TestbedError>,
) -> Result<PathBuf, TestbedError> {
    let (major, minor) = PROFILER;
    let version = Version { major, minor, patch: 0, text: format!("{major}.{minor}") };
    optional(environment, (&version, ReleaseParts::Profiler), "async-profiler", progress, unpack)
}

/// Makes sure that a release of Kroxylicious and all that it needs is in the cache; returns its folder, with what `compile` makes
/// there of the jars in the folder that it is given first.
///
/// # Errors
/// As for a release's brokers, or what `compile` fails with.
pub(crate) fn kroxylicious(
    environment: &Environment,
    (version, folder): (&str, &str),
    progress: &dyn Fn(&str),
    compile: impl FnOnce(&Path, &Path) -> Result<(), TestbedError>,
) -> Result<PathBuf, TestbedError> {
    // Only the text is needed: it is no version of Kafka.
    let version = Version { major: 0, minor: 0, patch: 0, text: version.to_string() };
    let base = environment.cache_dir.join(KROXYLICIOUS);
    cached::folder(&base, folder, progress, |folder: &Path| {
        progress(&format!("fetching Kroxylicious {} by Maven (once)", version.text));
        fetch(environment, (&version, ReleaseParts::Kroxylicious), folder, progress)?;
        compile(&folder.join(LIBS), folder)
    })
}

/// Whether [`kroxylicious`] would fetch it first. Asks the cache alone.
pub(crate) fn kroxylicious_is_cached(environment: &Environment, folder: &str) -> bool {
    environment.cache_dir.join(KROXYLICIOUS).join(folder).is_dir()
}

/// A folder of the cache by that name with one jar, and what `unpack` makes of the jar in the folder before it is there.
fn optional(
    environment: &Environment,
    (version, parts): (&Version, ReleaseParts),
    name: &str,
    progress: &dyn Fn(&str),
    unpack: impl FnOnce(&Path, &Path) -> Result<(), TestbedError>,
) -> Result<PathBuf, TestbedError> {
    let base = environment.cache_dir.join(name);
    cached::folder(&base, &version.text, progress, |folder: &Path| {
        progress(&format!("fetching {} {} by Maven (once)", parts.product(), version.text));
        fetch(environment, (version, parts), folder, progress)?;
        unpack(&main_jar(folder, version, parts), folder)
    })
}

/// Where the jar lies that parts are named after.
fn main_jar(folder: &Path, version: &Version, parts: ReleaseParts) -> PathBuf {
    folder.join(LIBS).join(format!("{}-{}.jar", parts.main(), version.text))
}

fn fill(
    environment: &Environment,
    java: &JavaInstallation,
    version: &Version,
    folder: &Path,
    progress: &dyn Fn(&str),
) -> Result<(), TestbedError> {
    fetch(environment, (version, ReleaseParts::Broker), folder, progress)?;
    if version.has_bootstrap_features() {
        let classpath = format!("{}/*", folder.join(LIBS).display());
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

/// Fetches the parts of a release into the folder's `libs`, and makes sure that they are those that are known.
fn fetch(
    environment: &Environment,
    (version, parts): (&Version, ReleaseParts),
    folder: &Path,
    progress: &dyn Fn(&str),
) -> Result<(), TestbedError> {
    let libs = folder.join(LIBS);
    let pom = folder.join("pom.xml");
    std::fs::write(&pom, pom::text(version, parts)).map_err(|e| TestbedError::io("cannot write", &pom, e))?;
    maven::copy_dependencies(environment, (version, parts), &pom, &libs)?;
    let main_jar = main_jar(folder, version, parts);
    if main_jar.is_file() {
        return sums::check((version, parts), &libs, progress);
    }
    Err(TestbedError::hinted(
        format!("Maven ended well but did not deliver {}", main_jar.display()),
        "run it by hand with the generated pom.xml to see why",
    ))
}
