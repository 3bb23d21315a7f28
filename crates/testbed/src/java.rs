//! Finds a Java that the wanted Kafka release runs on.

use crate::environment::{Environment, is_executable};
use crate::error::TestbedError;
use kdyno_model::version::Version;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Java installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JavaInstallation {
    /// The `java` program.
    pub program: PathBuf,
    /// Major version: 8, 11, 17, ….
    pub major: u32,
    /// Its own version string, e.g. `17.0.15`.
    pub version: String,
}

/// The first Java that `kafka` runs on: `JAVA_HOME`, then `PATH`, then the system's folder of installations.
///
/// # Errors
/// None is there, or none fits; the message lists what was found.
pub fn find(environment: &Environment, kafka: &Version) -> Result<JavaInstallation, TestbedError> {
    find_between(environment, &format!("Kafka {}", kafka.text), kafka.java_range())
}

/// The first Java whose major version lies between these, both included: `JAVA_HOME`, then `PATH`, then the system's folder
/// of installations. `whom` it is for is in the message.
///
/// # Errors
/// As [`find`].
pub fn find_between(
    environment: &Environment,
    whom: &str,
    (oldest, newest): (u32, u32),
) -> Result<JavaInstallation, TestbedError> {
    let mut found: Vec<JavaInstallation> = Vec::new();
    for program in candidates(environment) {
        let Some(java) = inspect(&program) else { continue };
        if (oldest..=newest).contains(&java.major) {
            return Ok(java);
        }
        if !found.iter().any(|known| known.version == java.version) {
            found.push(java);
        }
    }
    let needs =
        if newest == u32::MAX { format!("{oldest} or newer") } else { format!("{oldest} to {newest}") };
    let hint = "install one, e.g. `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME".to_string();
    if found.is_empty() {
        let message = "no Java found: neither JAVA_HOME nor PATH has a java that answers".to_string();
        // An image of a container has none, and nothing can be installed in it.
        let hint =
            format!("{hint}; kdyno's own client measures a running cluster without (`--bootstrap-server`)");
        return Err(TestbedError::hinted(message, hint));
    }
    let list: Vec<_> =
        found.iter().map(|java| format!("{} ({})", java.version, java.program.display())).collect();
    Err(TestbedError::hinted(format!("{whom} needs Java {needs}; found {}", list.join(", ")), hint))
}

/// The compiler (`javac`) of the first Java that has one and whose major version is at least `oldest`, in the same order.
///
/// # Errors
/// No Java has one, or only an older one; the message lists what was found.
pub fn find_compiler(environment: &Environment, oldest: u32) -> Result<PathBuf, TestbedError> {
    let mut found: Vec<String> = Vec::new();
    for program in candidates(environment) {
        let Some(java) = inspect(&program) else { continue };
        // Next to it, or next to the file that a link such as /usr/bin/java points to.
        let real = program.canonicalize().unwrap_or_else(|_| program.clone());
        let compiler = [&program, &real].map(|java| java.with_file_name("javac"));
        let compiler = compiler.into_iter().find(|compiler| is_executable(compiler));
        match compiler {
            Some(compiler) if java.major >= oldest => return Ok(compiler),
            Some(_) => found.push(format!("Java {} ({})", java.version, program.display())),
            None => found.push(format!("Java {} without a compiler ({})", java.version, program.display())),
        }
    }
    found.dedup();
    let found = if found.is_empty() { "no Java".to_string() } else { found.join(", ") };
    Err(TestbedError::hinted(
        format!("a Java compiler (javac) of version {oldest} or newer is needed once; found {found}"),
        "install a JDK, e.g. `apt-get install openjdk-17-jdk-headless`, or set JAVA_HOME to one",
    ))
}

/// Programs to try, in order of preference.
fn candidates(environment: &Environment) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> = environment.java_home.iter().map(|home| home.join("bin/java")).collect();
    list.extend(environment.path.iter().map(|folder| folder.join("java")));
    let mut installed: Vec<PathBuf> = environment
        .java_folders
        .iter()
        .filter_map(|folder| folder.read_dir().ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path().join("bin/java")))
        .collect();
    installed.sort();
    list.extend(installed);
    list.retain(|program| is_executable(program));
    list
}

/// Reads the installation's `release` file, or else asks the program itself.
fn inspect(program: &Path) -> Option<JavaInstallation> {
    let real = program.canonicalize().ok()?;
    let version = release_file_version(&real).or_else(|| ask_version(&real))?;
    Some(JavaInstallation { program: program.to_path_buf(), major: major(&version)?, version })
}

fn release_file_version(real: &Path) -> Option<String> {
    let text = std::fs::read_to_string(real.parent()?.parent()?.join("release")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(line.trim_matches('"').to_string())
}

fn ask_version(real: &Path) -> Option<String> {
    let output = Command::new(real).arg("-version").stdin(Stdio::null()).output().ok()?;
    // `openjdk version "17.0.15" 2025-04-15`, on standard error.
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.split('"').nth(1).map(str::to_string)
}

/// `1.8.0_152` is Java 8, `17.0.15` Java 17.
fn major(version: &str) -> Option<u32> {
    let mut parts = version.split(|c: char| !c.is_ascii_digit());
    let first = parts.next()?.parse().ok()?;
    if first == 1 { parts.next()?.parse().ok() } else { Some(first) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn majors_of_old_and_new_version_strings() {
        assert_eq!(major("1.8.0_152"), Some(8));
        assert_eq!(major("17.0.15"), Some(17));
        assert_eq!(major("25-ea"), Some(25));
        assert_eq!(major("GraalVM"), None);
    }

    /// A pretended installation: a `java` file and a `release` file.
    fn install(folder: &Path, version: &str) -> PathBuf {
        let bin = folder.join("bin");
        std::fs::create_dir_all(&bin).expect("folder");
        let program = bin.join("java");
        std::fs::write(&program, "#!/bin/sh\nexit 1\n").expect("java");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("mode");
        std::fs::write(folder.join("release"), format!("JAVA_VERSION=\"{version}\"\n")).expect("release");
        bin
    }

    #[test]
    fn a_runtime_without_a_compiler_differs_from_a_jdk() {
        let temp = tempfile::tempdir().expect("temp");
        let mut environment = Environment::in_folder(temp.path());
        let reported = |environment: &Environment| {
            let error = find_compiler(environment, 11).expect_err("no compiler");
            assert!(error.hint().is_some_and(|hint| hint.contains("-jdk-")), "{error}");
            error.to_string()
        };
        assert!(reported(&environment).ends_with("found no Java"));
        environment.path = vec![install(&temp.path().join("jre"), "21.0.1")];
        assert!(
            reported(&environment).contains("found Java 21.0.1 without a compiler"),
            "{}",
            reported(&environment)
        );
        let jdk = |folder: &str, version: &str| {
            let bin = install(&temp.path().join("jvm").join(folder), version);
            std::fs::copy(bin.join("java"), bin.join("javac")).expect("javac");
            bin.join("javac")
        };
        jdk("1-old", "1.8.0_152");
        environment.java_folders = vec![temp.path().join("jvm")];
        assert!(reported(&environment).contains("Java 1.8.0_152 ("), "{}", reported(&environment));
        let javac = jdk("2-new", "17.0.2");
        assert_eq!(find_compiler(&environment, 11).expect("a JDK"), javac);
    }

    #[test]
    fn the_first_java_that_fits_is_taken_and_misfits_are_named() {
        let temp = tempfile::tempdir().expect("temp");
        let mut environment = Environment::in_folder(temp.path());
        let kafka = Version::parse("4.1.1").expect("version");
        let error = find(&environment, &kafka).expect_err("no Java");
        assert!(error.to_string().starts_with("no Java found"), "{error}");

        environment.path = vec![install(&temp.path().join("old"), "11.0.2")];
        let error = find(&environment, &kafka).expect_err("too old");
        assert!(error.to_string().contains("needs Java 17 or newer; found 11.0.2"), "{error}");

        install(&temp.path().join("jvm/new"), "21.0.1");
        environment.java_folders = vec![temp.path().join("jvm")];
        assert_eq!(find(&environment, &kafka).expect("21 fits").major, 21);
        let old = Version::parse("3.7.2").expect("version");
        assert_eq!(find(&environment, &old).expect("11 fits").major, 11);
    }
}
