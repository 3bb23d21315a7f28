//! Runs Maven and says in one sentence what went wrong when it fails.

use super::pom::ReleaseParts;
use crate::bounded;
use crate::environment::Environment;
use crate::error::TestbedError;
use kdyno_model::version::{self, Version};
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Pinned, so that the same jars come whichever Maven is installed.
const GOAL: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
/// 92 jars, 54 MB take seconds; this is for a slow line, and against one that hangs for ever.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Fetches one jar that a run can do without.
const OPTIONAL_TIME_MAX: Duration = Duration::from_secs(60);

/// Copies every jar that the pom names, and what those need, into `libs`. The user's Maven configuration
/// (settings, mirrors, local repository) is used as it is.
pub(super) fn copy_dependencies(
    environment: &Environment,
    (version, parts): (&Version, ReleaseParts),
    pom: &Path,
    libs: &Path,
) -> Result<(), TestbedError> {
    let program = environment.find_program("mvn").ok_or_else(|| {
        TestbedError::hinted(
            format!(
                "no Maven found on PATH; it is needed once to fetch {} {}",
                parts.product(),
                version.text
            ),
            if parts.is_kafka() {
                "install it, e.g. `apt-get install maven`, or give an unpacked Kafka as kafka: {home: DIR}"
            } else {
                "install it, e.g. `apt-get install maven`"
            },
        )
    })?;
    let log = pom.with_file_name("maven.log");
    let output = File::create(&log).map_err(|e| TestbedError::io("cannot create", &log, e))?;
    let errors = output.try_clone().map_err(|e| TestbedError::io("cannot share", &log, e))?;
    let mut command = Command::new(&program);
    // -C: what differs from its published checksum, or has none, is refused. -U: a part that was missing yesterday is
    // requested again.
    command.args(["-q", "-B", "-C", "-U", "-f"]).arg(pom).arg(GOAL).arg("-DincludeScope=runtime");
    command.arg(define("outputDirectory", libs));
    if let Some(repository) = &environment.maven_repository {
        command.arg(define("maven.repo.local", repository));
    }
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    let time_max = if parts.is_optional() { OPTIONAL_TIME_MAX } else { TIME_MAX };
    let ended_well = run(command, &program, time_max)?;
    if ended_well {
        return Ok(());
    }
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    Err(explain(version, parts, &text))
}

fn define(name: &str, value: &Path) -> OsString {
    let mut argument = OsString::from(format!("-D{name}="));
    argument.push(value);
    argument
}

/// Runs to the end or to the time limit; whether it ended well.
fn run(command: Command, program: &Path, time_max: Duration) -> Result<bool, TestbedError> {
    let ended = bounded::run(command, time_max).map_err(|e| TestbedError::io("cannot run", program, e))?;
    ended.map(|status| status.success()).ok_or_else(|| {
        TestbedError::hinted(
            format!("Maven did not finish in {} s", time_max.as_secs()),
            "check the network and the mirrors of the Maven settings",
        )
    })
}

/// Turns Maven's output into one message. Patterns are those of Maven 3.6 to 4.
fn explain(version: &Version, parts: ReleaseParts, output: &str) -> TestbedError {
    let what = format!("{} {}", parts.product(), version.text);
    let errors: Vec<&str> =
        output.lines().filter_map(|line| line.split_once("[ERROR]").map(|(_, text)| text.trim())).collect();
    let has = |pattern: &str| output.contains(pattern);
    if has("Checksum validation failed") {
        let detail = errors.iter().find(|line| line.contains("Checksum validation failed")).unwrap_or(&"");
        return TestbedError::hinted(
            format!("a file of {what} is not what its published checksum says: {}", shorten(detail)),
            "look at the mirror of the Maven settings: it has to have the checksums too, and the files as they were published",
        );
    }
    let unreachable = [
        "Could not transfer",
        "Unknown host",
        "Network is unreachable",
        "Connection refused",
        "name resolution",
    ];
    if unreachable.iter().any(|pattern| has(pattern)) {
        let detail = errors.iter().find(|line| unreachable.iter().any(|p| line.contains(p))).unwrap_or(&"");
        return TestbedError::hinted(
            format!("{what} is not in the cache and Maven cannot reach its repository: {}", shorten(detail)),
            "check the network and the proxy or mirror in the Maven settings; what was fetched once works offline",
        );
    }
    if has("offline mode") {
        return TestbedError::hinted(
            format!("{what} is not in the cache and Maven is set to work offline"),
            "run once with Maven online",
        );
    }
    if let Some(error) = explain_missing(version, parts, &what, output) {
        return error;
    }
    if has("No space left on device") {
        return TestbedError::hinted(
            format!("Maven could not fetch {what}: no space left on device"),
            "about 60 MB are needed in the cache folder and as much in Maven's local repository",
        );
    }
    TestbedError::hinted(
        format!(
            "Maven could not fetch {what}: {}",
            shorten(errors.first().unwrap_or(&"it printed no error"))
        ),
        "check that `mvn -v` works and that the Maven settings are valid",
    )
}

/// What Maven's repositories lack, where that is why it failed.
fn explain_missing(version: &Version, parts: ReleaseParts, what: &str, output: &str) -> Option<TestbedError> {
    let main = format!("{}:{}:", parts.group(), parts.main());
    let missing = missing_artifact(output, &main)?;
    let release = &version.text;
    Some(match (parts.is_kafka(), missing.starts_with(&main)) {
        (false, is_main) => TestbedError::hinted(
            match is_main {
                true => format!("Maven's repositories have not {what}"),
                false => format!("{what} is not complete on Maven's repositories: {missing} is missing"),
            },
            "look whether the mirror of the Maven settings lacks it",
        ),
        (true, true) => TestbedError::hinted(
            format!("Kafka {release} is unknown: Maven's repositories have no such release"),
            format!("nearest known: {}; newest known: {}", version::nearest(release), version::NEWEST),
        ),
        (true, false) => TestbedError::hinted(
            format!("Kafka {release} is not complete on Maven's repositories: {missing} is missing"),
            format!("newest known to be complete: {}", version::NEWEST),
        ),
    })
}

/// The artifact of "Could not find artifact X in Y" or "X was not found in Y"; the `main` one first.
fn missing_artifact(output: &str, main: &str) -> Option<String> {
    let mut missing: Vec<&str> = output
        .split("Could not find artifact ")
        .skip(1)
        .filter_map(|rest| rest.split([' ', '\n']).next())
        .chain(output.split(" was not found in ").filter_map(|before| before.rsplit([' ', '\n']).next()))
        .filter(|word| word.split(':').count() >= 4)
        .collect();
    missing.sort_by_key(|word| !word.starts_with(main));
    missing.first().map(|word| word.trim_end_matches(',').to_string())
}

/// Bounds what is quoted of a foreign program.
fn shorten(text: &str) -> String {
    const CHARACTERS_MAX: usize = 300;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(version: &str, output: &str) -> (String, String) {
        message_of(ReleaseParts::Broker, version, output)
    }

    fn message_of(parts: ReleaseParts, version: &str, output: &str) -> (String, String) {
        let error = explain(&Version::parse(version).expect("version"), parts, output);
        (error.to_string(), error.hint().unwrap_or_default().to_string())
    }

    #[test]
    fn an_unknown_version_names_the_nearest_known() {
        let output = "[ERROR] Failed to execute goal on project kafka-parts: Could not resolve dependencies: \
                      Could not find artifact org.apache.kafka:kafka_2.13:jar:3.7.9 in central (https://x) -> [Help 1]";
        let (message, hint) = message("3.7.9", output);
        assert_eq!(message, "Kafka 3.7.9 is unknown: Maven's repositories have no such release");
        assert!(hint.contains("nearest known: 3.7.2"), "{hint}");
    }

    #[test]
    fn a_missing_client_release_names_the_nearest_and_the_newest() {
        let output =
            "[ERROR] Could not find artifact org.apache.kafka:kafka-clients:jar:3.7.9 in central (https://x)";
        let (message, hint) = message_of(ReleaseParts::Client, "3.7.9", output);
        assert_eq!(message, "Kafka 3.7.9 is unknown: Maven's repositories have no such release");
        assert_eq!(hint, format!("nearest known: 3.7.2; newest known: {}", version::NEWEST));
    }

    #[test]
    fn a_half_published_version_names_the_missing_part() {
        let output = "[ERROR] Could not find artifact org.apache.kafka:kafka-tools-api:jar:4.4.0 in central (https://x)";
        let (message, _) = message("4.4.0", output);
        assert!(message.contains("org.apache.kafka:kafka-tools-api:jar:4.4.0 is missing"), "{message}");
    }

    #[test]
    fn what_is_not_kafka_is_not_called_so() {
        let lacks = |artifact: &str| {
            let output = format!("[ERROR] Could not find artifact {artifact} in central (https://x)");
            message_of(ReleaseParts::Kroxylicious, "3.7.2", &output).0
        };
        let main = lacks("io.kroxylicious:kroxylicious-runtime:jar:3.7.2");
        assert_eq!(main, "Maven's repositories have not Kroxylicious 3.7.2");
        let other = lacks("io.netty:netty-codec:jar:4.1.0");
        assert!(
            other.contains("not complete") && other.contains("io.netty:netty-codec:jar:4.1.0"),
            "{other}"
        );
    }

    #[test]
    fn a_wrong_checksum_is_no_matter_of_the_network() {
        let output = "[ERROR] Failed to execute goal on project kafka-parts: Could not transfer artifact \
                      org.apache.kafka:kafka_2.13:jar:3.7.2 from/to m (file:///m): Checksum validation failed, expected 0 but is 1";
        let (message, hint) = message("3.7.2", output);
        assert!(
            message.starts_with("a file of Kafka 3.7.2 is not what its published checksum says"),
            "{message}"
        );
        assert!(message.contains("expected 0 but is 1") && hint.contains("mirror"), "{message} {hint}");
    }

    #[test]
    fn no_network_and_offline_are_distinguished() {
        let (message_network, _) = message(
            "3.7.2",
            "[ERROR] Plugin x: Could not transfer artifact y from/to central: Unknown host z",
        );
        assert!(message_network.contains("cannot reach its repository"), "{message_network}");
        let (message_offline, _) = message("3.7.2", "[ERROR] Cannot access central in offline mode");
        assert!(message_offline.contains("offline"), "{message_offline}");
    }

    #[test]
    fn anything_else_is_quoted_but_bounded() {
        let (message, _) = message("3.7.2", &format!("[ERROR] {}", "x".repeat(100_000)));
        assert!(message.len() < 500);
    }
}
