//! Puts the Java sources of the driver, every `.java` file below `java/`, into the program.
#![allow(clippy::print_stdout, reason = "a build script speaks to cargo on standard output")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).unwrap_or_default());
    let root = variable("CARGO_MANIFEST_DIR").join("java");
    let mut files = Vec::new();
    if root.is_dir() {
        collect(&root, &mut files)?;
    }
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file);
        // Writing to a String cannot fail.
        let _ = writeln!(table, "    ({name:?}, include_str!({file:?})),");
    }
    table.push_str("]\n");
    std::fs::write(variable("OUT_DIR").join("sources.rs"), table)?;
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", root.display());
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "java") {
            files.push(path);
        }
    }
    Ok(())
}
