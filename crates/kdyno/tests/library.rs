//! The example application, `apps/library`: its own tests of what goes wrong, and its scenario, on real brokers and a real
//! PostgreSQL (`make test-library`). It is built here, in its own workspace and its own target folder, which takes minutes.

mod common;

use common::{ProgramOutput, TestFolder, is_matrix, ran};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A dozen imports with kills; some wait for a consumer's session to end.
const DEADLINE: Duration = Duration::from_secs(20 * 60);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout")
}

/// Builds all that its scenarios start, and the files that they import.
fn build() {
    let cargo = |args: &[&str]| {
        let manifest = root().join("apps/library/Cargo.toml");
        let mut command = Command::new(env!("CARGO"));
        command.args(args).args(["--quiet", "--release", "--manifest-path"]).arg(manifest);
        assert!(command.status().expect("cargo starts").success(), "{args:?}");
    };
    cargo(&["test", "--test", "faults", "--no-run"]);
    let built = Command::new(root().join("apps/library/build.sh")).status();
    assert!(built.expect("a shell").success());
}

/// Runs a scenario of the application's; its paths count from the checkout.
fn run(place: &TestFolder, scenario: &str, more: &[&str]) -> ProgramOutput {
    let open = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(place.path(), open).expect("opened for the database's user");
    let runs = place.path().join("kdyno-runs");
    let args = ["run", scenario, "--share", "--out", runs.to_str().expect("plain path")];
    let mut command = place.command(&[&args, more].concat());
    command.current_dir(root());
    place.start(command).wait(DEADLINE)
}

/// A figure of the only case.
fn figure(document: &Value, subject: &str, metric: &str) -> f64 {
    let findings = document["findings"].as_array().expect("findings");
    let is_it = |finding: &&Value| {
        let is_of_case = finding["scope"]["kind"] == "case" && finding["quantity"] == "value";
        is_of_case && finding["subject"] == subject && finding["metric"] == metric
    };
    let found = findings.iter().find(is_it).and_then(|finding| finding["value"].as_f64());
    found.unwrap_or_else(|| panic!("no {subject}.{metric} among {} findings", findings.len()))
}

#[test]
fn it_keeps_its_counts_whatever_is_killed_and_its_scenario_runs() {
    if !is_matrix() {
        return;
    }
    build();
    let place = TestFolder::new();
    ran(&run(&place, "apps/library/tests/faults.yaml", &[]));
    place.expect_no_processes();
    let document = place.show();
    assert!(!document.to_string().contains("command-failed"), "{document}");
    assert_eq!(figure(&document, "faults", "succeeded"), 1.0);

    let place = TestFolder::new();
    ran(&run(&place, "apps/library/library.yaml", &["--profile", "smoke"]));
    place.expect_no_processes();
    let document = place.show();
    assert!(!document.to_string().contains("command-failed"), "{document}");
    for item in ["patrons", "create", "update"] {
        assert_eq!(figure(&document, item, "errors"), 0.0, "of {item}");
    }
    assert!(figure(&document, "check-out", "requests_per_s") > 0.0);
    for import in ["create", "update"] {
        assert!(figure(&document, import, "duration") > 0.0, "{import}");
    }
}
