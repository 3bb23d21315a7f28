//! Where the specifications are: inside Kafka's own clients, as `common/message/NAME.json`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use zip::ZipArchive;

/// The release of kafka-clients that the specifications are taken from.
pub const KAFKA_VERSION: &str = "4.4.0";
/// The plugin that also fetches clusters, so that nothing else has to be downloaded.
const GOAL: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy";

/// The jar, if it was fetched before: by [`get`], or by Maven for any other purpose.
pub fn find(root: &Path) -> Option<PathBuf> {
    let name = format!("kafka-clients-{KAFKA_VERSION}.jar");
    let repository = std::env::home_dir().map(|home| {
        let group = home.join(".m2/repository/org/apache/kafka/kafka-clients");
        group.join(KAFKA_VERSION).join(&name)
    });
    [Some(folder(root).join(&name)), repository].into_iter().flatten().find(|path| path.is_file())
}

/// The jar, fetched by Maven if it is not there.
pub fn get(root: &Path) -> anyhow::Result<PathBuf> {
    if let Some(jar) = find(root) {
        return Ok(jar);
    }
    let status = Command::new("mvn")
        .args(["-q", "-B", GOAL])
        .arg(format!("-Dartifact=org.apache.kafka:kafka-clients:{KAFKA_VERSION}"))
        .arg(format!("-DoutputDirectory={}", folder(root).display()))
        .status()
        .context("cannot run mvn (Maven), which fetches the specifications")?;
    if !status.success() {
        bail!("mvn (Maven) could not fetch kafka-clients {KAFKA_VERSION}: {status}");
    }
    find(root).context("Maven succeeded, but the jar is not where it was asked to put it")
}

fn folder(root: &Path) -> PathBuf {
    root.join("target/specifications")
}

/// An open jar.
pub struct Specifications {
    archive: ZipArchive<File>,
}

impl Specifications {
    /// Opens it.
    pub fn open(jar: &Path) -> anyhow::Result<Specifications> {
        let file = File::open(jar).with_context(|| format!("cannot open {}", jar.display()))?;
        let archive = ZipArchive::new(file).with_context(|| format!("{} is not a jar", jar.display()))?;
        Ok(Specifications { archive })
    }

    /// The text of one specification.
    pub fn read(&mut self, name: &str) -> anyhow::Result<String> {
        let path = format!("common/message/{name}.json");
        let mut entry = self.archive.by_name(&path).with_context(|| format!("no {path} in the jar"))?;
        let mut text = String::new();
        entry.read_to_string(&mut text)?;
        Ok(text)
    }
}
