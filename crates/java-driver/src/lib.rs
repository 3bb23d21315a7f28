//! From a Java client as a plan names it to a command line: jars, compiled classes, options of its Java process.
//! The Java sources that drive it stand in `java/` and are compiled once into the cache.
//!
//! [`resolve`] is the whole of it: `client` finds the jars, `jar` looks into the one of kafka-clients, `compile` makes the
//! classes for it, `options` says how its Java process is started. Nothing here runs a client: a worker does.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod checkout;
mod client;
mod compile;
mod error;
mod jar;
mod options;
mod sources;

pub use error::JavaDriverError;
pub use options::heap_bytes;
pub use sources::{SOURCES, Source};

use client::Jars;
use jar::ClientJar;
use kdyno_model::plan::{JavaClient, JavaDriver, JavaTask};
use kdyno_model::version::Version;
use kdyno_testbed::{Environment, java};
use std::collections::BTreeMap;

/// The class that a worker starts.
const MAIN: &str = "kdyno.driver.Main";

/// A Java client that is ready to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What a worker is told.
    pub task: JavaTask,
    /// What is known of it, by name: `version` and `commit` as the jar says them, `jar_sha256`, `java`, `options`; of a
    /// checkout `checkout_commit` and `checkout_dirty`. No path is among them.
    pub facts: BTreeMap<String, String>,
}

/// Makes a Java client ready to be run: fetches what is not in the cache, compiles the driver's classes for it where that
/// has not been done, finds a Java. `sources` are those of the driver, [`SOURCES`]; `progress` is told what takes time.
///
/// # Errors
/// There is no such client, no Java or compiler for it, no network where one is needed, or options of its Java process
/// that cannot be.
pub fn resolve(
    environment: &Environment,
    driver: &JavaDriver,
    sources: &[Source],
    progress: &dyn Fn(&str),
) -> Result<Resolved, JavaDriverError> {
    let options = options::all(&driver.jvm)?;
    // Before anything is fetched, which takes a Java too. Whoever has none needs one with a compiler.
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
    if let Some(checkout) = checkout {
        checkout.commit.into_iter().for_each(|commit| fact("checkout_commit", commit));
        let dirty = checkout.is_dirty.map(|dirty| if dirty { "yes" } else { "no" });
        fact("checkout_dirty", dirty.unwrap_or("unknown").to_owned());
    }
    let task = JavaTask { command, properties: driver.properties.clone() };
    Ok(Resolved { task, facts })
}

/// Looks whether [`resolve`] would find the client, without fetching, compiling or starting anything; tells what it would
/// fetch first, a sentence.
///
/// # Errors
/// There is no such client, or no such options.
pub fn check(environment: &Environment, driver: &JavaDriver) -> Result<Option<String>, JavaDriverError> {
    options::all(&driver.jvm)?;
    client::check(environment, &driver.client)
}

/// The client that is meant by a release, a folder or a jar, as one types it on a command line: an unpacked Kafka and a
/// checkout are told from each other by what they hold. Paths count from the current folder.
///
/// # Errors
/// It is none of these, or a checkout in which nothing was built.
pub fn named(text: &str) -> Result<JavaClient, JavaDriverError> {
    client::named(text)
}

/// Java's major versions that the client runs on: its own upper bound, and a lower one that is ours where that is higher.
fn java_range(client: &ClientJar) -> Result<(u32, u32), JavaDriverError> {
    let (_, newest) =
        Version::parse(&client.version).map_err(kdyno_testbed::TestbedError::from)?.java_range();
    Ok((compile::JAVA_OLDEST, newest))
}
