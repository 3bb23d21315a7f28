//! Takes the script of the pages from `web/dist`, where `scripts/web.sh` puts it. Where it is not, as in a build without
//! Node, pages have none, which is said once; they are complete without it.
#![allow(clippy::print_stdout, reason = "a build script speaks to cargo on standard output")]

use std::path::Path;

/// Where the script is put, from this crate's folder. The folder is always there, so that cargo sees what comes into it.
const DIST: &str = "../../web/dist";

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={DIST}");
    let dist = Path::new(DIST);
    let read = |name: &str| std::fs::read_to_string(dist.join(name)).ok();
    let (script, source) = match (read("page.js"), read("page.csp")) {
        (Some(script), Some(source)) => (format!("<script>{script}</script>"), source),
        _ => {
            println!("cargo::warning=pages will have no script: scripts/web.sh makes it, with Node");
            (String::new(), "'none'".to_owned())
        }
    };
    println!("cargo::rustc-env=KDYNO_SCRIPT_SOURCE={source}");
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    std::fs::write(Path::new(&out).join("script.html"), script)
}
