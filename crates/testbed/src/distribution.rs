//! Where a broker's classes come from: a released version, an unpacked distribution, or a built checkout.

use crate::download;
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::java::{self, JavaInstallation};
use kdyno_model::plan::KafkaSource;
use kdyno_model::version::{LogBackend, Version};
use std::path::{Path, PathBuf};

/// Kafka, ready to be launched.
#[derive(Debug, Clone)]
pub struct KafkaDistribution {
    /// Its version.
    pub version: Version,
    /// The Java it runs on here.
    pub java: JavaInstallation,
    /// Class path entries in Java's notation (a folder of jars ends in `/*`).
    pub classpath: Vec<String>,
    /// What writes its log files.
    pub log_backend: LogBackend,
    /// The cached storage checkpoint; `None` for unpacked and built Kafka, and before 3.3.
    pub(crate) bootstrap: Option<PathBuf>,
}

impl KafkaDistribution {
    /// The class path as one argument.
    #[must_use]
    pub fn classpath_argument(&self) -> String {
        self.classpath.join(":")
    }
}

/// Finds Kafka and a Java for it, fetching the release when it is not cached.
///
/// # Errors
/// See [`TestbedError`]: version, Java, Maven, distribution.
pub fn prepare(
    environment: &Environment,
    source: &KafkaSource,
    progress: &dyn Fn(&str),
) -> Result<KafkaDistribution, TestbedError> {
    match source {
        KafkaSource::Release(text) => {
            let version = Version::parse(text)?;
            let java = java::find(environment, &version)?;
            let cached = download::release(environment, &java, &version, progress)?;
            let classpath = vec![format!("{}/*", cached.libs.display())];
            let log_backend = version.log_backend();
            Ok(KafkaDistribution { version, java, classpath, log_backend, bootstrap: cached.bootstrap })
        }
        KafkaSource::Home(folder) => unpacked(folder)?.on_java(environment),
        KafkaSource::Source(folder) => built(folder)?.on_java(environment),
    }
}

/// Makes sure that a folder holds a Kafka that [`prepare`] can take; a release needs none. Asks the file system alone.
///
/// # Errors
/// There is no such folder, or no Kafka in it.
pub fn check_folder(source: &KafkaSource) -> Result<(), TestbedError> {
    match source {
        KafkaSource::Release(_) => Ok(()),
        KafkaSource::Home(folder) => unpacked(folder).map(drop),
        KafkaSource::Source(folder) => built(folder).map(drop),
    }
}

/// Whether [`prepare`] would fetch Kafka first. Asks the cache alone.
#[must_use]
pub fn is_fetched_first(environment: &Environment, source: &KafkaSource) -> bool {
    match source {
        KafkaSource::Release(text) => !download::folder(environment, text).is_dir(),
        KafkaSource::Home(_) | KafkaSource::Source(_) => false,
    }
}

/// The Kafka of a folder.
struct InFolder {
    version: Version,
    classpath: Vec<String>,
    log_backend: LogBackend,
}

impl InFolder {
    /// With a Java of this host for it.
    fn on_java(self, environment: &Environment) -> Result<KafkaDistribution, TestbedError> {
        let Self { version, classpath, log_backend } = self;
        let java = java::find(environment, &version)?;
        Ok(KafkaDistribution { version, java, classpath, log_backend, bootstrap: None })
    }
}

fn unpacked(home: &Path) -> Result<InFolder, TestbedError> {
    let home = absolute(home)?;
    let libs = home.join("libs");
    let jars = jar_names(&libs);
    let version = version_of_jars(&jars).ok_or_else(|| {
        TestbedError::hinted(
            format!("{} is no unpacked Kafka: libs/ has no kafka_2.1x-VERSION.jar", home.display()),
            "kafka: {home: DIR} takes the folder that has bin/, config/ and libs/",
        )
    })?;
    Ok(InFolder {
        version: Version::parse(&version)?,
        classpath: vec![format!("{}/*", libs.display())],
        log_backend: backend_of(&jars),
    })
}

/// Takes the same folders as the checkout's own `bin/kafka-run-class.sh` does for a broker.
fn built(checkout: &Path) -> Result<InFolder, TestbedError> {
    let checkout = absolute(checkout)?;
    let mut folders = Vec::new();
    for module in ["core", "tools", "clients"] {
        let build = checkout.join(module).join("build");
        folders.push(build.join("libs"));
        folders.extend(sub_folders(&build).into_iter().filter(|folder| {
            folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("dependant-libs"))
        }));
    }
    let mut classpath = Vec::new();
    let mut jars = Vec::new();
    for folder in folders {
        for name in jar_names(&folder).into_iter().filter(|name| wanted_jar(name)) {
            classpath.push(folder.join(&name).display().to_string());
            jars.push(name);
        }
    }
    let version = version_of_jars(&jars).ok_or_else(|| {
        TestbedError::hinted(
            format!(
                "{} is no built Kafka checkout: core/build/libs has no kafka_2.1x-VERSION.jar",
                checkout.display()
            ),
            "build it first: `./gradlew jar copyDependantLibs`",
        )
    })?;
    if !jars.iter().any(|name| name.starts_with("scala-library")) {
        return Err(TestbedError::hinted(
            format!("{} lacks what its core needs (core/build/dependant-libs-*)", checkout.display()),
            "run `./gradlew copyDependantLibs` in it",
        ));
    }
    Ok(InFolder { version: Version::parse(&version)?, classpath, log_backend: backend_of(&jars) })
}

fn absolute(folder: &Path) -> Result<PathBuf, TestbedError> {
    folder.canonicalize().map_err(|e| TestbedError::io("cannot find folder", folder, e))
}

fn sub_folders(folder: &Path) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = folder
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(|e| e.ok().map(|e| e.path()))
        .filter(|p| p.is_dir())
        .collect();
    list.sort();
    list
}

fn jar_names(folder: &Path) -> Vec<String> {
    let mut list: Vec<String> = folder
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".jar"))
        .collect();
    list.sort();
    list
}

/// Leaves out what a broker never loads.
fn wanted_jar(name: &str) -> bool {
    !["-sources.jar", "-javadoc.jar", "-scaladoc.jar", "-test.jar", "-test-sources.jar"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Scala lines for which Kafka of these releases is built; the core's jar carries it.
const MAIN_JAR_PREFIXES: [&str; 2] = ["kafka_2.13-", "kafka_2.12-"];

/// `4.1.1` from `kafka_2.13-4.1.1.jar`.
fn version_of_jars(jars: &[String]) -> Option<String> {
    let version = |name: &str| {
        let rest = MAIN_JAR_PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
        rest.strip_suffix(".jar").map(str::to_string)
    };
    jars.iter().filter(|name| wanted_jar(name)).find_map(|name| version(name))
}

fn backend_of(jars: &[String]) -> LogBackend {
    if jars.iter().any(|name| name.starts_with("log4j-core")) {
        LogBackend::Log4j2
    } else {
        LogBackend::Log4j1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_comes_from_the_main_jar_only() {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_string()).collect::<Vec<_>>();
        assert_eq!(
            version_of_jars(&names(&["kafka_2.13-4.2.0-SNAPSHOT-test.jar", "kafka_2.13-4.2.0-SNAPSHOT.jar"])),
            Some("4.2.0-SNAPSHOT".into())
        );
        assert_eq!(version_of_jars(&names(&["kafka_2.12-2.7.2.jar"])), Some("2.7.2".into()));
        assert_eq!(version_of_jars(&names(&["kafka-clients-4.1.1.jar"])), None);
    }

    #[test]
    fn only_a_release_that_is_not_cached_is_fetched() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        let release = KafkaSource::Release("4.1.1".to_string());
        assert!(is_fetched_first(&environment, &release));
        std::fs::create_dir_all(environment.cache_dir.join("kafka/4.1.1")).expect("folder");
        assert!(!is_fetched_first(&environment, &release));
        assert!(!is_fetched_first(&environment, &KafkaSource::Home(temp.path().into())));
    }

    #[test]
    fn a_folder_without_kafka_is_named() {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        for source in [KafkaSource::Home(temp.path().into()), KafkaSource::Source(temp.path().into())] {
            let error = prepare(&environment, &source, &|_| {}).expect_err("empty folder");
            assert!(error.hint().is_some(), "{error}");
            assert_eq!(check_folder(&source).expect_err("the same").to_string(), error.to_string());
        }
        let missing = KafkaSource::Home(temp.path().join("no"));
        for found in [prepare(&environment, &missing, &|_| {}).map(drop), check_folder(&missing)] {
            assert!(matches!(found, Err(TestbedError::Io { .. })), "{found:?}");
        }
        let libs = temp.path().join("libs");
        std::fs::create_dir_all(&libs).expect("folder");
        std::fs::write(libs.join("kafka_2.13-4.1.1.jar"), "").expect("write");
        assert!(check_folder(&KafkaSource::Home(temp.path().into())).is_ok(), "without a look for a Java");
    }
}
