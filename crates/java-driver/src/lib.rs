//! From a Java client as a plan names it to a command line: jars, compiled classes, options of its Java process.
//! The Java sources that drive it are in `java/` and are compiled once into the cache.
//!
//! [`resolve`] is the whole of it: `client` finds the jars, `jar` looks into the one of kafka-clients, `compile` makes the
//! classes for it, `options` says how its Java process is started. Nothing here runs a client: a worker does.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod checkout;
mod client;
mod compile;
mod jar;
mod options;
mod sources;

pub use options::heap_bytes;
pub use sources::{JavaSource, SOURCES};

use checkout::Checkout;
use client::Jars;
use jar::ClientJar;
use kdyno_model::plan::{JavaClient, JavaDriver, JavaTask};
use kdyno_model::version::Version;
use kdyno_testbed::{Environment, TestbedError, java};
use std::collections::BTreeMap;

/// The class that a worker starts.
const MAIN: &str = "kdyno.driver.Main";

/// A Java client that is ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What a worker gets.
    pub task: JavaTask,
    /// What is known of it, by name: `version` and `commit` as the jar says them, `jar_sha256`, `java`, `options`; of a
    /// checkout `checkout_commit` and `checkout_dirty`. No path is among them.
    pub facts: BTreeMap<String, String>,
    /// What its user may not expect of it, a sentence: the jar of a checkout was built at another commit.
    pub warning: Option<String>,
}

/// Makes a Java client ready to be run: fetches what is not in the cache, compiles the driver's classes for it where that
/// has not been done, finds a Java. `sources` are those of the driver, [`SOURCES`]; `progress` is called with what
/// takes time.
///
/// # Errors
/// There is no such client, no Java or compiler for it, no network where one is needed, or options of its Java process
/// that cannot be.
pub fn resolve(
    environment: &Environment,
    driver: &JavaDriver,
    sources: &[JavaSource],
    progress: &dyn Fn(&str),
) -> Result<Resolved, TestbedError> {
    let options = options::all(&driver.jvm)?;
    // Before anything is fetched, which takes a Java too. A host without any needs one with a compiler.
    if java::find_between(environment, "the Java client", (compile::JAVA_OLDEST, u32::MAX)).is_err() {
        java::find_compiler(environment, compile::JAVA_OLDEST)?;
    }
    let Jars { client, others, checkout } = client::jars(environment, &driver.client, progress)?;
    let client = ClientJar::read(&client)?;
    let java = java::find_between(environment, &client.name(), java_range(&client)?)?;
    let classes = compile::classes(environment, &client, &others, sources, progress)?;

    let entries = [&classes, &client.path].into_iter().chain(&others);
    let class_path: Vec<String> = entries.map(|entry| entry.display().to_string()).collect();
    let mut command = vec![java.program.display().to_string()];
    command.extend(options.iter().cloned());
    command.extend(["-cp".to_owned(), class_path.join(":"), MAIN.to_owned()]);

    let mut facts = BTreeMap::new();
    let mut fact = |name: &str, value: String| drop(facts.insert(name.to_owned(), value));
    fact("version", client.version.clone());
    fact("commit", client.commit.clone());
    fact("jar_sha256", client.sha256.clone());
    fact("java", java.version);
    fact("options", options.join(" "));
    let warning = checkout.as_ref().and_then(|checkout| older_build(&client, checkout));
    if let Some(checkout) = checkout {
        checkout.commit.into_iter().for_each(|commit| fact("checkout_commit", commit));
        let dirty = checkout.is_dirty.map(|dirty| if dirty { "yes" } else { "no" });
        fact("checkout_dirty", dirty.unwrap_or("unknown").to_owned());
    }
    let task = JavaTask { command, properties: driver.properties.clone() };
    Ok(Resolved { task, facts, warning })
}

/// That a jar says another commit than the one that is checked out where it was built. Kafka's build writes the first 16 digits.
fn older_build(client: &ClientJar, checkout: &Checkout) -> Option<String> {
    let head = checkout.commit.as_ref()?;
    if client.commit == jar::UNKNOWN || head.starts_with(&client.commit) {
        return None;
    }
    Some(format!(
        "{} was built at commit {}, and its checkout is at {head}: an older build, which `./gradlew :clients:jar` builds again",
        client.name(),
        client.commit
    ))
}

/// Looks whether [`resolve`] would find the client, without fetching, compiling or starting anything; returns what it
/// would fetch first, a sentence.
///
/// # Errors
/// There is no such client, or no such options.
pub fn check(environment: &Environment, driver: &JavaDriver) -> Result<Option<String>, TestbedError> {
    options::all(&driver.jvm)?;
    client::check(environment, &driver.client)
}

/// The client that is meant by a release, a folder or a jar, as one types it on a command line: an unpacked Kafka and a
/// checkout are distinguished by what they hold. Paths count from the current folder.
///
/// # Errors
/// It is none of these, or a checkout in which nothing was built.
pub fn named(text: &str) -> Result<JavaClient, TestbedError> {
    client::named(text)
}

/// Java's major versions that the client runs on: its own upper bound, and a lower one that is ours where that is higher.
fn java_range(client: &ClientJar) -> Result<(u32, u32), TestbedError> {
    let (_, newest) = Version::parse(&client.version)?.java_range();
    Ok((compile::JAVA_OLDEST, newest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn an_older_build_of_a_checkout_is_reported() {
        let head = "0123456789abcdef0123456789abcdef01234567";
        let reported = |built: &str, head: Option<&str>| {
            let client = ClientJar {
                path: PathBuf::new(),
                version: "4.4.0-SNAPSHOT".to_owned(),
                commit: built.to_owned(),
                sha256: String::new(),
            };
            older_build(&client, &Checkout { commit: head.map(str::to_owned), is_dirty: None })
        };
        let warning = reported("fedcba9876543210", Some(head)).expect("a warning");
        assert!(
            warning.starts_with("kafka-clients 4.4.0-SNAPSHOT was built at commit fedcba9876543210, "),
            "{warning}"
        );
        assert!(warning.contains(&format!("at {head}: an older build")), "{warning}");
        assert_eq!(reported("0123456789abcdef", Some(head)), None, "the same one");
        assert_eq!(reported("unknown", Some(head)), None, "the jar does not say it");
        assert_eq!(reported("fedcba9876543210", None), None, "no repository");
    }
}
