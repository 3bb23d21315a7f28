//! Archives of the classes that a broker loads, for the JVM's class data sharing.
//!
//! With one a test's broker is ready after 1.9 s instead of 3.1 s (2.7 s of CPU instead of 4.1 s, median of three starts
//! each on two quiet processors), and starting brokers is most of what the tests wait for. Only tests use them: a cluster
//! that is measured starts as its release's own scripts start it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The variable by which tests find the folder of archives: `RELEASE.jsa` in it.
pub const VARIABLE: &str = "KDYNO_TEST_CLASSES";

/// The releases that most tests start, as scenarios name them.
const RELEASES: [&str; 2] = ["4.1.1", "newest"];

/// Test programs whose brokers start from them.
const PROGRAMS: [&str; 2] = ["real_cluster", "clusters"];

/// Says which release is the newest one.
const RELEASES_KNOWN: &str = include_str!("../../crates/model/src/version.rs");

/// Whether `cargo test` with these arguments runs a program that uses the archives.
pub fn are_used(arguments: &[String]) -> bool {
    let mut named =
        arguments.windows(2).filter(|pair| pair[0] == "--test").map(|pair| pair[1].as_str()).peekable();
    named.peek().is_none() || named.any(|name| PROGRAMS.contains(&name))
}

/// The folder of archives for this host's Java, with an archive for each release. An archive that cannot be made is
/// left out, and standard error says so: tests start their brokers without it.
pub fn archives(programs: &Path) -> Option<PathBuf> {
    let kdyno = programs.join("kdyno");
    // Only a JDK has what writes them.
    output(Command::new("jcmd").arg("-l")).ok()?;
    // A JVM takes no archive of another JVM, or of other jars, and says so nowhere.
    let java = Command::new("java").arg("-version").output().ok()?;
    let mut hasher = DefaultHasher::new();
    (java.stderr, std::env::var_os("JAVA_HOME"), RELEASES_KNOWN).hash(&mut hasher);
    let folder = programs.join(format!("classes-{:016x}", hasher.finish()));
    std::fs::create_dir_all(&folder).ok()?;
    for release in RELEASES {
        let archive = folder.join(format!("{release}.jsa"));
        if archive.exists() {
            continue;
        }
        eprintln!("making an archive of the classes of Kafka {release}, which brokers of tests start from");
        if let Err(error) = make(&kdyno, release, &archive) {
            eprintln!("brokers of tests start without it: {error:#}");
        }
    }
    Some(folder)
}

/// Starts a broker, has its JVM write the archive, and stops it.
fn make(kdyno: &Path, release: &str, archive: &Path) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let scenario = folder.path().join("classes.yaml");
    let text = format!(
        "kdyno: 1\nid: classes\nquestion: Which classes does a broker load?\n\
         system: {{kafka: {release}, brokers: 1, metrics: none, limits: {{heap: 256MiB}}, jvm: [\"-XX:+RecordDynamicDumpInfo\"]}}\n\
         topics: {{any: {{partitions: 1}}}}\nload: {{any: {{produce: any, rate: 1/s, value: 1B}}}}\nphases: {{measure: 1s}}\n",
    );
    std::fs::write(&scenario, text)?;
    let run = |what: &str| {
        let mut command = Command::new(kdyno);
        command.arg(what).arg(&scenario).current_dir(folder.path());
        command.env("TMPDIR", folder.path()).env("XDG_STATE_HOME", folder.path());
        command.env("KDYNO_LOCK_DIR", folder.path()).stdin(Stdio::null());
        output(&mut command)
    };
    run("up")?;
    let written = write(folder.path(), archive);
    run("down")?;
    written
}

/// Asks the JVM of the only broker whose files are in a folder.
fn write(folder: &Path, archive: &Path) -> anyhow::Result<()> {
    let running = output(Command::new("jcmd").arg("-l"))?;
    let folder = folder.display().to_string();
    let broker = running.lines().find(|line| line.contains("kafka.Kafka") && line.contains(&folder));
    let broker = broker.and_then(|line| line.split(' ').next()).context("jcmd lists no such broker")?;
    // One that is half written is never taken for an archive.
    let part = archive.with_extension("part");
    let said = output(Command::new("jcmd").args([broker, "VM.cds", "dynamic_dump"]).arg(&part))?;
    std::fs::rename(&part, archive)
        .with_context(|| format!("jcmd {broker} VM.cds dynamic_dump: {}", said.trim()))
}

/// What a command prints.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let program = command.get_program().to_owned();
    let ended = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    if !ended.status.success() {
        bail!("{}: {}", program.display(), String::from_utf8_lossy(&ended.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_made_for_programs_that_start_brokers_alone() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (arguments, are_wanted) in [
            ("--lib --bins --tests", true),
            ("--test report --test clusters", true),
            ("--lib --test report", false),
        ] {
            assert_eq!(are_used(&words(arguments)), are_wanted, "{arguments}");
        }
    }
}
