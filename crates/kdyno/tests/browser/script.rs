//! What the script of the pages adds to them.

use crate::common::TestFolder;
use crate::fixture::{many, run};
use crate::node::{HINT, file_url, passes};
use kdyno_report::html::{SCRIPT, page};
use serde_json::json;

#[test]
fn the_script_does_what_it_is_for() {
    assert!(!SCRIPT.is_empty(), "this kdyno was built without the script of its pages\n{HINT}");
    let place = TestFolder::new();
    let file = |name: &str, text: String| file_url(&place.file(name, &text));
    let job = json!({
        "run": file("run.html", page(&run().input())),
        "long": file("long.html", page(&many(4, 600).input())),
    });
    passes(&place, "script.mjs", &job);
    place.expect_no_processes();
}
