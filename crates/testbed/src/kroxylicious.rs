//! Kroxylicious, a proxy that understands Kafka: fetched by Maven once, with a hundred lines of Java that start it, since the artifact
//! that has its `main` is not published with the others; configured for the brokers of a run; with its command line.

use crate::cluster::ListenerTls;
use crate::download;
use crate::environment::Environment;
use crate::error::TestbedError;
use crate::java::{self, JavaInstallation};
use crate::javac;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The oldest Java that it runs on.
const JAVA_OLDEST: u32 = 17;
/// What is quoted of what the compiler says.
const CHARACTERS_MAX: usize = 1_000;

/// The Java that starts it: path below the root of packages, and text.
const SOURCES: [(&str, &str); 2] = [
    ("kdyno/proxy/Main.java", include_str!("../java/kroxylicious/kdyno/proxy/Main.java")),
    ("kdyno/proxy/Loopback.java", include_str!("../java/kroxylicious/kdyno/proxy/Loopback.java")),
];
/// Where it looks for classes that say which addresses it has, and ours.
const SERVICE: (&str, &str) = (
    "META-INF/services/io.kroxylicious.proxy.service.ClusterNetworkAddressConfigProviderService",
    "kdyno.proxy.Loopback\n",
);
const MAIN: &str = "kdyno.proxy.Main";
const ADDRESSES: &str = "kdyno.proxy.Loopback";
/// Folder of the compiled classes, next to that of the jars.
const CLASSES: &str = "classes";
/// Name of the configuration's file.
const CONFIGURATION: &str = "kroxylicious.yaml";
/// A heap of a fixed size, as brokers have; and warnings alone, to standard error.
const OPTIONS: [&str; 3] = ["-Xms512m", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"];

/// A release that can be started.
#[derive(Debug, Clone)]
pub struct KroxyliciousRelease {
    java: JavaInstallation,
    folder: PathBuf,
}

/// Where it is to listen.
pub struct ProxyOptions<'a> {
    /// Its folder, which is there.
    pub folder: &'a Path,
    /// The first of its ports, which is followed by one for each broker.
    pub port: u16,
    /// How many brokers there are, with ids from 0.
    pub brokers: u32,
    /// `host:port` of the brokers.
    pub bootstrap: &'a [String],
    /// What clients, and it to brokers, speak TLS with; `None`: neither does.
    pub tls: Option<&'a ListenerTls>,
}

/// Makes sure that the release is in the cache, and that there is a Java for it. `progress` is called with what takes
/// time.
///
/// # Errors
/// No Java, no Maven, no network, or no compiler the first time.
pub fn provide(
    environment: &Environment,
    version: &str,
    progress: &dyn Fn(&str),
) -> Result<KroxyliciousRelease, TestbedError> {
    let java = java::find_between(environment, "Kroxylicious", (JAVA_OLDEST, u32::MAX))?;
    let name = folder_name(version);
    let folder = download::kroxylicious(environment, (version, name.as_str()), progress, |libs, folder| {
        let compiler = java::find_compiler(environment, JAVA_OLDEST)?;
        compile(&compiler, libs, folder)
    })?;
    Ok(KroxyliciousRelease { java, folder })
}

/// Whether [`provide`] would fetch the release first. Asks the cache alone.
#[must_use]
pub fn is_fetched_first(environment: &Environment, version: &str) -> bool {
    !download::kroxylicious_is_cached(environment, &folder_name(version))
}

/// Other sources are another folder. A hash that another compiler of ours reckons otherwise costs one more download.
fn folder_name(version: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (SOURCES, SERVICE).hash(&mut hasher);
    format!("{version}-{:016x}", hasher.finish())
}

fn compile(compiler: &Path, libs: &Path, folder: &Path) -> Result<(), TestbedError> {
    let classes = folder.join(CLASSES);
    javac::write(&classes.join(SERVICE.0), SERVICE.1)?;
    let jars = libs.join("*");
    let said = javac::compile((compiler, JAVA_OLDEST), &SOURCES, jars.as_os_str(), (folder, &classes))?;
    let Some(said) = said else { return Ok(()) };
    let said: String = said.chars().take(CHARACTERS_MAX).collect();
    let message = format!("what starts Kroxylicious does not compile: {}", said.trim());
    Err(TestbedError::hinted(message, javac::works_hint(compiler)))
}

/// Writes its files into its folder and returns its command line.
///
/// # Errors
/// A file cannot be written.
pub fn lay_out(
    installed: &KroxyliciousRelease,
    place: &ProxyOptions<'_>,
) -> Result<Vec<String>, TestbedError> {
    let file = place.folder.join(CONFIGURATION);
    javac::write(&file, &configuration(place)?.to_string())?;
    let shown = |path: PathBuf| path.display().to_string();
    let jars = shown(installed.folder.join(download::LIBS).join("*"));
    let class_path = format!("{}:{jars}", shown(installed.folder.join(CLASSES)));
    let mut line = vec![installed.java.program.display().to_string()];
    line.extend(OPTIONS.map(str::to_owned));
    line.extend(["-cp".to_owned(), class_path, MAIN.to_owned(), shown(file)]);
    Ok(line)
}

/// The configuration; JSON, which is YAML too.
fn configuration(place: &ProxyOptions<'_>) -> Result<Value, TestbedError> {
    let mut target = json!({"bootstrapServers": place.bootstrap.join(",")});
    let mut cluster = json!({
        "clusterNetworkAddressConfigProvider": {
            "type": ADDRESSES,
            "config": {"port": place.port, "brokers": place.brokers},
        },
    });
    if let Some(tls) = place.tls {
        let files = tls.write(place.folder)?;
        let shown = |path: PathBuf| path.display().to_string();
        let versions: Vec<String> = tls.versions.iter().map(ToString::to_string).collect();
        cluster["tls"] = json!({
            "key": {"privateKeyFile": shown(files.key), "certificateFile": shown(files.certificate)},
            "protocols": {"allowed": versions},
        });
        target["tls"] = json!({"trust": {"storeFile": shown(files.authority), "storeType": "PEM"}});
    }
    cluster["targetCluster"] = target;
    Ok(json!({"virtualClusters": BTreeMap::from([("kdyno", cluster)])}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_the_brokers_and_its_ports() {
        let bootstrap = ["127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned()];
        let folder = tempfile::tempdir().expect("a folder");
        let place =
            ProxyOptions { folder: folder.path(), port: 7, brokers: 2, bootstrap: &bootstrap, tls: None };
        let java = JavaInstallation { program: "/j/java".into(), major: 17, version: "17".to_owned() };
        let installed = KroxyliciousRelease { java, folder: "/c/k".into() };
        let line = lay_out(&installed, &place).expect("written");
        assert_eq!((line[0].as_str(), line[5].as_str()), ("/j/java", "/c/k/classes:/c/k/libs/*"));
        let reported = std::fs::read_to_string(line.last().expect("its file")).expect("there");
        let wanted = r#"{"virtualClusters":{"kdyno":{"clusterNetworkAddressConfigProvider":{"config":{"brokers":2,"port":7},"type":"kdyno.proxy.Loopback"},"targetCluster":{"bootstrapServers":"127.0.0.1:1,127.0.0.1:2"}}}}"#;
        assert_eq!(serde_json::from_str::<Value>(&reported).ok(), serde_json::from_str::<Value>(wanted).ok());
    }

    #[test]
    fn another_release_is_another_folder() {
        assert_eq!(folder_name("1"), folder_name("1"));
        assert_ne!(folder_name("1"), folder_name("2"));
    }
}
