//! The programs of `web/tests`, which Node runs.

use crate::common::{RUN_DEADLINE, TestFolder};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to do where something is missing.
pub const HINT: &str = "hint: `make test` installs it; by hand: scripts/setup.sh web && scripts/web.sh";

/// A page that is looked at.
pub struct Page {
    /// Its name in messages, and its pictures.
    pub name: &'static str,
    /// Where it lies.
    pub url: String,
    /// Words that are seen on it.
    pub says: Vec<String>,
    /// Whether pictures of it are kept, where they are requested (`KDYNO_PICTURES=yes`): they are for the eye alone, and half of
    /// the time.
    pub pictures: bool,
    /// Whether the chart that answers its question is on its first screen.
    pub first: bool,
}

impl Page {
    /// One that is photographed.
    pub fn new(name: &'static str, url: String, says: &[&str]) -> Self {
        Self {
            name,
            url,
            says: says.iter().map(|words| (*words).to_owned()).collect(),
            pictures: true,
            first: false,
        }
    }

    fn reported(&self) -> Value {
        let pictures =
            self.pictures && std::env::var_os("KDYNO_PICTURES").is_some_and(|value| value == "yes");
        json!({"name": self.name, "url": self.url, "says": self.says, "pictures": pictures, "first": self.first})
    }
}

/// The address of a file.
pub fn file_url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Where pictures are kept.
pub fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    folder
}

/// Looks at pages; fails with what is wrong with them.
pub fn look_at(place: &TestFolder, pages: &[Page]) {
    let pages: Vec<Value> = pages.iter().map(Page::reported).collect();
    passes(place, "pages.mjs", &json!({"pages": pages}));
}

/// Runs a program of `web/tests` with this to do; fails when it does, with what it said.
pub fn passes(place: &TestFolder, program: &str, job: &Value) {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    assert!(web.join("node_modules/playwright-core").is_dir(), "npm's packages are missing in web/\n{HINT}");
    let mut job = job.clone();
    job["chromium"] = json!(in_path("chromium"));
    job["folder"] = json!(folder());
    let job = place.file(&format!("{program}.json"), &job.to_string());
    let mut node = Command::new(in_path("node"));
    // The browser's profile lies in the test's own folder, by which its processes are recognized.
    node.arg(web.join("tests").join(program)).arg(job).current_dir(place.path()).env("TMPDIR", place.path());
    let said = place.start(node).wait(RUN_DEADLINE);
    // Times and sizes, for a human reader.
    #[allow(clippy::print_stdout, reason = "a test's own output")]
    {
        println!("{}", said.stdout);
    }
    assert_eq!(said.code, Some(0), "{program}:\n{}{}", said.stdout, said.stderr);
}

/// A program that the tests need.
fn in_path(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|one| one.is_file());
    found.unwrap_or_else(|| panic!("{program} is missing, in which pages are tested\n{HINT}"))
}
