//! Where the jars of a Java client are.

use crate::checkout::Checkout;
use crate::jar::ClientJar;
use kdyno_model::plan::JavaClient;
use kdyno_model::version::Version;
use kdyno_testbed::{Environment, TestbedError, download};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What the name of the client's jar begins with.
const CLIENT: &str = "kafka-clients-";
/// Jars next to a client's that have the same beginning and are none.
const NOT_THE_CLIENT: [&str; 6] =
    ["-sources.jar", "-javadoc.jar", "-test.jar", "-tests.jar", "-test-sources.jar", "-test-fixtures.jar"];

/// The jars of a client.
#[derive(Debug)]
pub(crate) struct Jars {
    /// That of kafka-clients.
    pub(crate) client: PathBuf,
    /// What it also needs.
    pub(crate) others: Vec<PathBuf>,
    /// Where it was built, if it was built in a checkout.
    pub(crate) checkout: Option<Checkout>,
}

/// The client that is meant by a release, a folder or a jar, as one types it: what a folder is shows in it.
pub(crate) fn named(text: &str) -> Result<JavaClient, TestbedError> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if text == "newest" || (text.starts_with(|first: char| first.is_ascii_digit()) && is_number(text)) {
        return Ok(JavaClient::Version(version(text)?.text));
    }
    let Ok(path) = absolute(Path::new(text)) else {
        let message = format!("`{text}` is neither a release of Kafka nor a folder or jar that is there");
        return Err(TestbedError::hinted(
            message,
            "a release has three numbers, such as 4.1.1; a path counts from here",
        ));
    };
    let shown = path.display();
    if !path.is_dir() {
        if !name(&path).ends_with(".jar") {
            let message = format!("{shown} is neither a folder nor a jar");
            return Err(TestbedError::hinted(
                message,
                "name a jar of kafka-clients, or the folder of a Kafka",
            ));
        }
        return Ok(JavaClient::Jar(path));
    }
    if in_folder(&path.join("libs")).is_some() {
        return Ok(JavaClient::Home(path));
    }
    // A distribution has no folder of the clients' sources.
    if path.join("clients").is_dir() {
        return of_checkout(&path).map(|_| JavaClient::Source(path));
    }
    let message = format!(
        "{shown} is no folder of a Kafka: an unpacked one has libs/{CLIENT}VERSION.jar, a checkout has \
         clients/build/libs/{CLIENT}VERSION.jar"
    );
    Err(TestbedError::hinted(message, "name the folder that has libs/ or clients/ in it, or the jar itself"))
}

/// Finds the jars, and fetches what is not there.
pub(crate) fn jars(
    environment: &Environment,
    client: &JavaClient,
    progress: &dyn Fn(&str),
) -> Result<Jars, TestbedError> {
    let (own, others, checkout) = match client {
        JavaClient::Version(text) => {
            let libs = download::clients(environment, &version(text)?, progress)?;
            (in_folder(&libs).unwrap_or_default(), others(&libs), None)
        }
        JavaClient::Home(home) => {
            let libs = absolute(home)?.join("libs");
            (of_home(&libs)?, others(&libs), None)
        }
        JavaClient::Source(folder) => {
            let folder = absolute(folder)?;
            let own = of_checkout(&folder)?;
            let checkout = Checkout::look(environment, &folder);
            (own, others(&other_jars(environment, progress)?), Some(checkout))
        }
        JavaClient::Jar(path) => {
            // Before anything is fetched.
            let own = ClientJar::read(&absolute(path)?)?.path;
            (own, others(&other_jars(environment, progress)?), None)
        }
    };
    Ok(Jars { client: own, others, checkout })
}

/// Looks whether the jars can be found; what would be fetched first, a sentence.
pub(crate) fn check(environment: &Environment, client: &JavaClient) -> Result<Option<String>, TestbedError> {
    let fetched = |version: &Version| {
        (!download::clients_are_cached(environment, version))
            .then(|| format!("kafka-clients {} is not in the cache and is downloaded first", version.text))
    };
    match client {
        JavaClient::Version(text) => return Ok(fetched(&version(text)?)),
        JavaClient::Home(home) => {
            ClientJar::read(&of_home(&absolute(home)?.join("libs"))?)?;
            return Ok(None);
        }
        JavaClient::Source(folder) => ClientJar::read(&of_checkout(&absolute(folder)?)?)?,
        JavaClient::Jar(path) => ClientJar::read(&absolute(path)?)?,
    };
    Ok(fetched(&Version::newest()))
}

fn version(text: &str) -> Result<Version, TestbedError> {
    Ok(Version::parse(text)?)
}

/// What a client that comes alone needs: compression, logging; as the newest release has them.
fn other_jars(environment: &Environment, progress: &dyn Fn(&str)) -> Result<PathBuf, TestbedError> {
    download::clients(environment, &Version::newest(), progress)
}

fn of_home(libs: &Path) -> Result<PathBuf, TestbedError> {
    in_folder(libs).ok_or_else(|| {
        TestbedError::hinted(
            format!("{} has no {CLIENT}VERSION.jar", libs.display()),
            "`home` takes the folder of an unpacked Kafka, which has bin/, config/ and libs/",
        )
    })
}

fn of_checkout(folder: &Path) -> Result<PathBuf, TestbedError> {
    let built = folder.join("clients/build/libs");
    in_folder(&built).ok_or_else(|| {
        TestbedError::hinted(
            format!("{} has no {CLIENT}VERSION.jar", built.display()),
            "build it first: `./gradlew :clients:jar` in the checkout",
        )
    })
}

/// The jar of kafka-clients in a folder: of several the one that was made last, for a checkout keeps those of the versions
/// it was at before.
fn in_folder(folder: &Path) -> Option<PathBuf> {
    let made = |path: &PathBuf| {
        path.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let own = jar_files(folder).into_iter().filter(|path| is_client(path));
    own.max_by_key(|path| (made(path), path.clone()))
}

/// All jars of a folder but those of kafka-clients.
fn others(folder: &Path) -> Vec<PathBuf> {
    let is_other = |path: &PathBuf| !name(path).starts_with(CLIENT);
    jar_files(folder).into_iter().filter(is_other).collect()
}

fn is_client(path: &Path) -> bool {
    let name = name(path);
    name.starts_with(CLIENT) && !NOT_THE_CLIENT.iter().any(|end| name.ends_with(end))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// By name; none where the folder cannot be read.
fn jar_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = folder
        .read_dir()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| name(path).ends_with(".jar"))
        .collect();
    files.sort();
    files
}

fn absolute(path: &Path) -> Result<PathBuf, TestbedError> {
    path.canonicalize().map_err(|error| TestbedError::io("cannot find", path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jar::tests::{client, jar};
    use std::fs::File;
    use std::time::Duration;

    fn reported(client: &JavaClient) -> (String, String) {
        let temp = tempfile::tempdir().expect("temp");
        let environment = Environment::in_folder(temp.path());
        let error = check(&environment, client).expect_err("nothing is there");
        let found = jars(&environment, client, &|_| {}).expect_err("the same").to_string();
        assert_eq!(found, error.to_string());
        (found, error.hint().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_folder_without_a_client_says_what_was_looked_for() {
        let temp = tempfile::tempdir().expect("temp");
        let folder = temp.path().canonicalize().expect("a folder");
        let (message, hint) = reported(&JavaClient::Home(folder.clone()));
        assert_eq!(message, format!("{}/libs has no kafka-clients-VERSION.jar", folder.display()));
        assert!(hint.contains("libs/"), "{hint}");
        let built = folder.join("clients/build/libs");
        for name in ["kafka-clients-4.2.0-SNAPSHOT-sources.jar", "kafka-clients-4.2.0-SNAPSHOT-test.jar"] {
            client(&built.join(name), "4.2.0-SNAPSHOT");
        }
        let (message, hint) = reported(&JavaClient::Source(folder.clone()));
        assert_eq!(message, format!("{} has no kafka-clients-VERSION.jar", built.display()));
        assert!(hint.contains("./gradlew :clients:jar"), "{hint}");
        assert!(reported(&JavaClient::Home(folder.join("no"))).0.starts_with("cannot find "));
        let other = folder.join("other.jar");
        jar(&other, &[("a.class", "")]);
        assert!(reported(&JavaClient::Jar(other)).0.contains("is no Kafka client"));
        let (message, hint) = reported(&JavaClient::Version("2.6.0".to_owned()));
        assert!(message.contains("too old") && hint.contains("2.7"), "{message} {hint}");
    }

    #[test]
    fn what_is_typed_shows_in_the_folder() {
        let temp = tempfile::tempdir().expect("temp");
        let folder = temp.path().canonicalize().expect("a folder");
        let found = |name: &str| named(&folder.join(name).display().to_string());
        let reported = |text: &str| named(text).expect_err("refused").to_string();
        assert_eq!(named("4.1.1").ok(), Some(JavaClient::Version("4.1.1".to_owned())));
        assert_eq!(named("newest").ok(), Some(JavaClient::Version(Version::newest().text)));
        assert!(reported("2.6.0").contains("too old") && reported("4.1").contains("is not a Kafka version"));
        assert!(reported("no/such").contains("`no/such` is neither a release of Kafka nor a folder or jar"));
        client(&folder.join("home/libs/kafka-clients-4.1.1.jar"), "4.1.1");
        assert_eq!(found("home").ok(), Some(JavaClient::Home(folder.join("home"))));
        let jar = "home/libs/kafka-clients-4.1.1.jar";
        assert_eq!(found(jar).ok(), Some(JavaClient::Jar(folder.join(jar))));
        client(&folder.join("source/clients/build/libs/kafka-clients-4.4.0-SNAPSHOT.jar"), "4.4.0-SNAPSHOT");
        assert_eq!(found("source").ok(), Some(JavaClient::Source(folder.join("source"))));
        std::fs::create_dir_all(folder.join("unbuilt/clients/src")).expect("folders");
        let unbuilt = found("unbuilt").expect_err("no jar");
        assert!(unbuilt.hint().is_some_and(|hint| hint.contains("./gradlew :clients:jar")), "{unbuilt}");
        let neither = found("home/libs").expect_err("no Kafka").to_string();
        assert!(neither.contains("libs is no folder of a Kafka: an unpacked one has libs/"), "{neither}");
        std::fs::write(folder.join("notes.txt"), "").expect("a file");
        assert!(
            found("notes.txt").expect_err("no jar").to_string().ends_with("is neither a folder nor a jar")
        );
    }

    #[test]
    fn the_newest_jar_of_a_checkout_is_used_with_its_own_libraries() {
        let temp = tempfile::tempdir().expect("temp");
        let folder = temp.path().canonicalize().expect("a folder");
        let environment = Environment::in_folder(temp.path());
        let built = folder.join("clients/build/libs");
        let (old, new) = (built.join("kafka-clients-4.9.0.jar"), built.join("kafka-clients-4.10.0.jar"));
        client(&old, "4.9.0");
        client(&new, "4.10.0");
        let before = SystemTime::now() - Duration::from_secs(60);
        File::options().write(true).open(&old).and_then(|file| file.set_modified(before)).expect("older");
        assert_eq!(in_folder(&built), Some(new));
        let fetched = check(&environment, &JavaClient::Source(folder.clone())).expect("a client");
        assert!(fetched.is_some_and(|reported| reported.contains("is downloaded first")));

        let libs = folder.join("libs");
        client(&libs.join("kafka-clients-4.1.1.jar"), "4.1.1");
        jar(&libs.join("zstd-jni-1.jar"), &[("a", "")]);
        let home = JavaClient::Home(folder);
        let found = jars(&environment, &home, &|_| {}).expect("a client");
        assert_eq!(found.client, libs.join("kafka-clients-4.1.1.jar"));
        assert_eq!(found.others, [libs.join("zstd-jni-1.jar")]);
        assert_eq!(check(&environment, &home).expect("a client"), None);
    }
}
