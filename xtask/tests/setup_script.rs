//! The set-up script on machines that lack something, played with mock programs on an otherwise empty PATH.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Tools of the system that the script itself is written with.
const TOOLS: [&str; 6] = ["bash", "env", "sed", "head", "cat", "true"];

const JAVA_17: &str = "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2";

/// A folder that is the whole PATH of one try.
struct Machine {
    bin: tempfile::TempDir,
}

impl Machine {
    /// A machine with everything that a demo needs, whose user is root.
    fn complete() -> Machine {
        let machine = Machine { bin: tempfile::tempdir().expect("a folder") };
        for tool in TOOLS {
            let path = ["/usr/bin", "/bin"].map(|folder| PathBuf::from(folder).join(tool));
            let path = path.iter().find(|path| path.exists()).expect("a basic tool");
            std::os::unix::fs::symlink(path, machine.bin.path().join(tool)).expect("a link");
        }
        for tool in ["cargo", "rustc", "cc", "c++", "ld", "make", "git", "mvn", "python3"] {
            machine.with(tool, "");
        }
        machine.with("java", JAVA_17);
        machine.with("id", "echo 0");
        machine
    }

    /// Puts a mock program on the PATH.
    fn with(&self, name: &str, script: &str) -> &Machine {
        let path = self.bin.path().join(name);
        fs::write(&path, format!("#!/usr/bin/env bash\n{script}\n")).expect("a stand-in");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can run");
        self
    }

    fn without(&self, name: &str) -> &Machine {
        fs::remove_file(self.bin.path().join(name)).expect("it was there");
        self
    }

    /// An apt-get that writes down its arguments, and installs Maven on request.
    fn with_apt(&self) -> &Machine {
        let bin = self.bin.path().display().to_string();
        let script = format!(
            "echo \"$*\" >> {bin}/asked\n\
             case \"$*\" in *maven*) echo '#!/usr/bin/env bash' > {bin}/mvn; chmod +x {bin}/mvn ;; esac"
        );
        self.with("chmod", "exec /bin/chmod \"$@\"").with("apt-get", &script)
    }

    fn asked(&self) -> String {
        fs::read_to_string(self.bin.path().join("asked")).unwrap_or_default()
    }

    fn set_up(&self, groups: &[&str]) -> Output {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        let mut command = Command::new(self.bin.path().join("bash"));
        command.arg(root.join("scripts/setup.sh")).args(groups).env_clear().env("PATH", self.bin.path());
        command.output().expect("bash runs")
    }
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn nothing_missing_is_quiet() {
    let output = Machine::complete().set_up(&["build", "kafka", "bench"]);
    assert_eq!((output.status.code(), words(&output).as_str()), (Some(0), ""));
}

/// `sshd` and `ip` are looked for where only root's PATH leads, too.
#[test]
fn what_other_hosts_are_made_of_is_one_group() {
    let machine = Machine::complete();
    machine.with("sshd", "").with("ip", "").with("ssh", "").with("unshare", "");
    let output = machine.set_up(&["hosts"]);
    assert_eq!((output.status.code(), words(&output).as_str()), (Some(0), ""));
    machine.without("ssh").without("unshare").with("id", "echo 1000").with_apt();
    let output = machine.set_up(&["hosts"]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    let expected = "apt-get install -y --no-install-recommends openssh-client util-linux";
    assert!(words(&output).contains(expected), "{}", words(&output));
}

#[test]
fn root_installs_what_is_missing_and_says_so() {
    let machine = Machine::complete();
    machine.without("mvn").with_apt();
    let output = machine.set_up(&["kafka"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(words(&output).contains("missing: Maven"), "{}", words(&output));
    assert!(machine.asked().contains("install -y -q --no-install-recommends maven"), "{}", machine.asked());
    assert_eq!(words(&machine.set_up(&["kafka"])), "", "the second time nothing is missing");
}

#[test]
fn without_rights_the_exact_command_is_printed() {
    let machine = Machine::complete();
    machine.without("mvn").without("cc").with_apt().with("id", "echo 1000");
    for sudo in ["exit 1", ""] {
        if sudo.is_empty() {
            machine.without("sudo");
        } else {
            machine.with("sudo", sudo);
        }
        let output = machine.set_up(&["kafka"]);
        assert_eq!(output.status.code(), Some(2), "{}", words(&output));
        let expected = "apt-get update && apt-get install -y --no-install-recommends gcc maven";
        assert!(words(&output).contains(expected), "{}", words(&output));
        assert_eq!(machine.asked(), "", "nothing was installed");
    }
}

#[test]
fn sudo_without_a_password_is_used() {
    let machine = Machine::complete();
    machine.without("mvn").with_apt().with("id", "echo 1000").with("sudo", "shift; exec \"$@\"");
    let output = machine.set_up(&["kafka"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
}

#[test]
fn an_old_java_is_missing_and_a_strange_one_too() {
    for java in
        ["echo 'openjdk version \"11.0.2\" 2019' >&2", "echo 'java version \"1.8.0_402\"' >&2", "exit 1"]
    {
        let machine = Machine::complete();
        machine.with("java", java).with("id", "echo 1000").with_apt();
        let output = machine.set_up(&["kafka"]);
        assert_eq!(output.status.code(), Some(2), "{java}: {}", words(&output));
        assert!(words(&output).contains("missing: a JDK, 17 or newer"), "{java}: {}", words(&output));
        assert!(words(&output).contains("default-jdk-headless"), "{java}: {}", words(&output));
    }
    assert_eq!(Machine::complete().with("java", "exit 1").set_up(&["build"]).status.code(), Some(0));
}

#[test]
fn a_java_that_the_system_offers_is_chosen() {
    let machine = Machine::complete();
    machine.without("java").with("id", "echo 1000").with_apt();
    machine.with("apt-cache", "case \"$*\" in *openjdk-21*) exit 0 ;; *) exit 100 ;; esac");
    let output = machine.set_up(&["kafka"]);
    assert!(words(&output).contains("--no-install-recommends openjdk-21-jdk-headless"), "{}", words(&output));
}

#[test]
fn without_apt_or_rust_a_hint_is_given() {
    let machine = Machine::complete();
    let output = machine.without("mvn").set_up(&["kafka"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        words(&output).contains("hint: install the like of these Debian packages: maven"),
        "{}",
        words(&output)
    );
    let output = Machine::complete().without("cargo").set_up(&["build"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("Rust toolchain"), "{}", words(&output));
}

#[test]
fn a_failed_installation_is_no_success() {
    let machine = Machine::complete();
    let output = machine.without("mvn").with("apt-get", "exit 100").set_up(&["kafka"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("the installation failed"), "{}", words(&output));
    let output = Machine::complete().without("mvn").with("apt-get", "").set_up(&["kafka"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("still missing"), "{}", words(&output));
}
