//! The driver's classes: compiled once for each client into the cache, with the configuration that makes loggers write
//! warnings to standard error.

use crate::jar::{ClientJar, sha256_of};
use crate::sources::JavaSource;
use kdyno_testbed::{Environment, TestbedError, cached, java, javac};
use std::path::{Path, PathBuf};

/// The oldest Java that runs the classes, and whose compiler can make them.
pub(crate) const JAVA_OLDEST: u32 = 11;

/// What is quoted of what the compiler says.
const CHARACTERS_MAX: usize = 2000;
/// Digits of a digest that name a folder.
const DIGITS: usize = 32;

/// For each of the loggers that a client's jars may bring: slf4j-simple, which comes with a release, and those of unpacked
/// distributions, log4j 1 and 2. Java finds them by their names, for the classes come first on the class path.
const LOGGING: [JavaSource; 3] = [
    (
        "simplelogger.properties",
        "org.slf4j.simpleLogger.defaultLogLevel=warn\norg.slf4j.simpleLogger.logFile=System.err\n",
    ),
    (
        "log4j.properties",
        "log4j.rootLogger=WARN, stderr\nlog4j.appender.stderr=org.apache.log4j.ConsoleAppender\n\
         log4j.appender.stderr.target=System.err\nlog4j.appender.stderr.layout=org.apache.log4j.PatternLayout\n\
         log4j.appender.stderr.layout.ConversionPattern=[%t] %p %c - %m%n\n",
    ),
    (
        "log4j2.properties",
        "status=error\nappender.stderr.type=Console\nappender.stderr.name=stderr\nappender.stderr.target=SYSTEM_ERR\n\
         appender.stderr.layout.type=PatternLayout\nappender.stderr.layout.pattern=[%t] %p %c - %m%n\n\
         rootLogger.level=warn\nrootLogger.appenderRef.stderr.ref=stderr\n",
    ),
];

/// The folder with the classes for a client.
pub(crate) fn classes(
    environment: &Environment,
    client: &ClientJar,
    others: &[PathBuf],
    sources: &[JavaSource],
    progress: &dyn Fn(&str),
) -> Result<PathBuf, TestbedError> {
    let texts = sources.iter().chain(&LOGGING).flat_map(|(name, text)| [*name, *text]);
    let key = sha256_of(texts.chain([client.sha256.as_str()]));
    let base = environment.cache_dir.join("java-driver");
    cached::folder(&base, &key[..DIGITS], progress, |folder: &Path| {
        progress(&format!("compiling the Java driver for {} (once)", client.name()));
        let compiler = java::find_compiler(environment, JAVA_OLDEST)?;
        compile(&compiler, client, others, sources, folder)?;
        LOGGING.iter().try_for_each(|(name, text)| javac::write(&folder.join(name), text))
    })
}

fn compile(
    compiler: &Path,
    client: &ClientJar,
    others: &[PathBuf],
    sources: &[JavaSource],
    folder: &Path,
) -> Result<(), TestbedError> {
    let jars: Vec<String> =
        std::iter::once(&client.path).chain(others).map(|jar| jar.display().to_string()).collect();
    let said = javac::compile((compiler, JAVA_OLDEST), sources, jars.join(":").as_ref(), (folder, folder))?;
    let Some(said) = said else { return Ok(()) };
    let said: String = said.chars().take(CHARACTERS_MAX).collect();
    // Its folder is of this run alone.
    let said = said.replace(&format!("{}/", folder.join(javac::SOURCES).display()), "");
    Err(TestbedError::hinted(
        format!("the Java driver does not compile against {}: {}", client.name(), said.trim()),
        "a release of kafka-clients from 2.7 on is known to work, e.g. `version: newest`",
    ))
}
