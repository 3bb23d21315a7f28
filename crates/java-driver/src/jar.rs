//! What a jar of kafka-clients says of itself.

use aws_lc_rs::digest::{Context, SHA256};
use kdyno_testbed::TestbedError;
use kdyno_testbed::digest::{hex, sha256};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use zip::ZipArchive;

/// The class without which a jar is no client.
const PRODUCER: &str = "org/apache/kafka/clients/producer/KafkaProducer.class";
/// Place of the version and the commit.
const VERSION_FILE: &str = "kafka/kafka-version.properties";
/// It has two lines; more than this is none of Kafka's.
const VERSION_BYTES_MAX: u64 = 64 << 10;
/// Replaces a version or commit that the jar does not say.
pub(crate) const UNKNOWN: &str = "unknown";
/// Characters that are kept of a version and a commit.
const CHARACTERS_MAX: usize = 80;

/// A jar of kafka-clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientJar {
    pub(crate) path: PathBuf,
    /// As it says itself, e.g. `4.1.1`, `4.2.0-SNAPSHOT`.
    pub(crate) version: String,
    /// The commit that it was built from, as it says itself; `unknown` where it does not.
    pub(crate) commit: String,
    /// Digest of the whole file, in hexadecimal digits.
    pub(crate) sha256: String,
}

impl ClientJar {
    /// Looks into a jar.
    ///
    /// # Errors
    /// It cannot be read, is no jar, or holds no Kafka client.
    pub(crate) fn read(path: &Path) -> Result<Self, TestbedError> {
        let failed = |error| TestbedError::io("cannot read", path, error);
        let mut file = File::open(path).map_err(failed)?;
        let sha256 = sha256(&mut file).map_err(failed)?;
        let no_client = || {
            TestbedError::hinted(
                format!("{} is no Kafka client: it has no {PRODUCER}", path.display()),
                "name a jar of kafka-clients, e.g. clients/build/libs/kafka-clients-4.2.0-SNAPSHOT.jar of a built checkout",
            )
        };
        file.rewind().map_err(failed)?;
        let mut jar = ZipArchive::new(file).map_err(|error| {
            TestbedError::hinted(
                format!("{} is no jar: {error}", path.display()),
                "name a jar of kafka-clients",
            )
        })?;
        if jar.index_for_name(PRODUCER).is_none() {
            return Err(no_client());
        }
        let mut text = String::new();
        if let Ok(entry) = jar.by_name(VERSION_FILE) {
            // A text that is cut short, or is none, says nothing of a version.
            let _ = entry.take(VERSION_BYTES_MAX).read_to_string(&mut text);
        }
        let value = |name: &str| property(&text, name).unwrap_or_else(|| UNKNOWN.to_owned());
        Ok(Self { path: path.to_owned(), version: value("version"), commit: value("commitId"), sha256 })
    }

    /// In messages.
    pub(crate) fn name(&self) -> String {
        format!("kafka-clients {}", self.version)
    }
}

fn property(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix('='))?.trim();
    (!value.is_empty()).then(|| value.chars().take(CHARACTERS_MAX).collect())
}

/// Digest of several texts, each with its length, so that no two lists of them are alike.
pub(crate) fn sha256_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut context = Context::new(&SHA256);
    for text in texts {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    }
    hex(context.finish().as_ref())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write as _;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    /// A jar with these files.
    pub(crate) fn jar(path: &Path, files: &[(&str, &str)]) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("its folder");
        let mut jar = ZipWriter::new(File::create(path).expect("a file"));
        for (name, text) in files {
            jar.start_file(*name, SimpleFileOptions::default()).expect("an entry");
            jar.write_all(text.as_bytes()).expect("its text");
        }
        jar.finish().expect("a jar");
    }

    /// One that looks like kafka-clients of a version.
    pub(crate) fn client(path: &Path, version: &str) {
        let text = format!("commitId=0123abcd\nversion={version}\n");
        jar(path, &[(PRODUCER, ""), (VERSION_FILE, &text)]);
    }

    #[test]
    fn a_client_says_its_version_and_commit() {
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("kafka-clients-4.2.0-SNAPSHOT.jar");
        client(&path, "4.2.0-SNAPSHOT");
        let read = ClientJar::read(&path).expect("a client");
        assert_eq!((read.version.as_str(), read.commit.as_str()), ("4.2.0-SNAPSHOT", "0123abcd"));
        assert_eq!(read.sha256.len(), 64);
        jar(&path, &[(PRODUCER, "")]);
        let other = ClientJar::read(&path).expect("a client without a version");
        assert_eq!((other.version.as_str(), other.commit.as_str()), ("unknown", "unknown"));
        assert_ne!(other.sha256, read.sha256);
    }

    #[test]
    fn a_jar_without_a_client_is_reported() {
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("x.jar");
        let reported = || ClientJar::read(&path).expect_err("no client").to_string();
        assert!(reported().starts_with("cannot read "), "{}", reported());
        std::fs::write(&path, "text").expect("write");
        assert!(reported().contains("is no jar"), "{}", reported());
        jar(&path, &[("org/example/Main.class", "")]);
        assert!(reported().contains("is no Kafka client: it has no org/apache/kafka"), "{}", reported());
    }

    #[test]
    fn known_digests_come_out() {
        let temp = tempfile::tempdir().expect("temp");
        let path = temp.path().join("abc");
        std::fs::write(&path, "abc").expect("write");
        let digest = sha256(&mut File::open(&path).expect("open")).expect("read");
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_ne!(sha256_of(["ab", "c"]), sha256_of(["a", "bc"]));
    }
}
