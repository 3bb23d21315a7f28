//! `cargo xtask proofs`: a new kind of what the product grows by touches few files. Each patch in `xtask/proofs` adds one to
//! an axis. Tidy counts the files that it touches and sees that it applies; the chore compiles what comes of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::problem::{Problem, SourceFile, listed, tracked};

/// Where the patches are.
const FOLDER: &str = "xtask/proofs";
/// The axes, each with a patch of its name.
const AXES: [&str; 4] = ["caveat", "driver", "fault", "system"];
/// Most product files that a new kind touches, its own among them.
const FILES_MAX: usize = 5;
/// What to do about a patch that others have overtaken.
const REFRESH: &str =
    "apply it with `git apply --3way`, mend it, and write it again: `git diff -U1 HEAD -- crates`";

/// Whether a file is of the product: no test, and nothing that is made from something else.
pub fn is_product(path: &str) -> bool {
    let is_other = path.contains("/tests/") || path.ends_with("tests.rs") || path.contains("/generated/");
    path.starts_with("crates/") && !is_other
}

/// The product files that a patch touches, new ones and those that go among them.
fn touched(patch: &str) -> BTreeSet<&str> {
    let named = patch.lines().filter_map(|line| line.strip_prefix("diff --git a/")?.split_once(" b/"));
    named.flat_map(|(before, after)| [before, after]).filter(|path| is_product(path)).collect()
}

/// Checks every patch, without compiling.
pub fn check(root: &Path, files: &[SourceFile]) -> anyhow::Result<Vec<Problem>> {
    let mut problems = Vec::new();
    for axis in AXES {
        let path = format!("{FOLDER}/{axis}.patch");
        if !files.iter().any(|file| file.path == path) {
            let (what, instead) = ("is not there".to_owned(), "keep a patch that adds a kind".to_owned());
            problems.push(Problem { path, line: 1, what, instead });
        }
    }
    for file in patches(files) {
        problems.extend(of_patch(root, file)?);
    }
    Ok(problems)
}

fn patches(files: &[SourceFile]) -> impl Iterator<Item = &SourceFile> {
    files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path.ends_with(".patch"))
}

fn of_patch(root: &Path, file: &SourceFile) -> anyhow::Result<Option<Problem>> {
    let touched = touched(&file.text).len();
    if !(1..=FILES_MAX).contains(&touched) {
        let what = format!("touches {touched} product files, and may touch 1 to {FILES_MAX}");
        let instead = "ask the kind's interface, or do it in the one place that a crate has for all kinds";
        return Ok(Some(Problem::new(file, 1, what, instead)));
    }
    let refused = apply(root, &root.join(&file.path), "--check")?;
    Ok(refused.map(|why| Problem::new(file, 1, format!("does not apply any more: {why}"), REFRESH)))
}

/// Applies a patch to the tree in a folder, a repository or not; the first line of what Git has against it.
fn apply(tree: &Path, patch: &Path, how: &str) -> anyhow::Result<Option<String>> {
    let output = Command::new("git")
        .args(["-c", "safe.directory=*", "apply", how])
        .arg(patch)
        .current_dir(tree)
        // Below another repository's folder Git would skip the files of the tree.
        .env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(tree))
        .output()
        .context("cannot start git")?;
    let said = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or_default().to_owned();
    Ok((!output.status.success()).then_some(said))
}

/// Compiles the sources with each patch, one after the other.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let files = tracked(root)?;
    let problems = check(root, &files)?;
    for problem in &problems {
        println!("{problem}");
    }
    if !problems.is_empty() {
        bail!("proofs: {} broken rules", problems.len());
    }
    let target = root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let copy = TreeCopy::make(root, target.join("proofs"))?;
    for file in patches(&files) {
        let patch = root.join(&file.path);
        for (how, is_back) in [("--apply", false), ("--reverse", true)] {
            if let Some(why) = apply(&copy.0, &patch, how)? {
                bail!("proofs: {}: {why}", file.path);
            }
            if !is_back && !compiles(&copy.0, &target)? {
                bail!("proofs: with {} the sources do not compile", file.path);
            }
        }
        println!("proofs: {} compiles and touches {} product files", file.path, touched(&file.text).len());
    }
    Ok(())
}

/// Compiles the whole workspace, since a package by itself resolves to other features; what was built of other packages is used.
fn compiles(tree: &Path, target: &Path) -> anyhow::Result<bool> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["check", "--quiet", "--locked", "--workspace", "--lib", "--bins"]);
    cargo.current_dir(tree).env("CARGO_TARGET_DIR", target);
    Ok(cargo.status().context("cannot start cargo")?.success())
}

/// A copy of the sources, at the same place each time so that cargo knows it again. It is removed when it is dropped.
struct TreeCopy(PathBuf);

impl TreeCopy {
    fn make(root: &Path, place: PathBuf) -> anyhow::Result<Self> {
        let _ = std::fs::remove_dir_all(&place);
        let copy = Self(place);
        for path in listed(root)? {
            let (from, to) = (root.join(&path), copy.0.join(&path));
            // Deleted and not yet committed.
            if from.is_file() {
                std::fs::create_dir_all(to.parent().unwrap_or(&copy.0))?;
                std::fs::copy(&from, &to).with_context(|| format!("cannot copy {path}"))?;
            }
        }
        Ok(copy)
    }
}

impl Drop for TreeCopy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_product_file_counts_once_and_tests_do_not() {
        let header = |before: &str, after: &str| format!("diff --git a/{before} b/{after}\n");
        let same = |path: &str| header(path, path);
        let patch = same("crates/a/src/new.rs")
            + "+diff --git a/crates/a/src/text.rs b/crates/a/src/text.rs\n"
            + &same("crates/a/Cargo.toml")
            + &header("crates/a/src/old.rs", "crates/a/src/moved.rs")
            + &["crates/a/tests/a.rs", "crates/a/src/b_tests.rs", "docs/A.md"].map(same).concat();
        let found: Vec<&str> = touched(&patch).into_iter().collect();
        let expected =
            ["crates/a/Cargo.toml", "crates/a/src/moved.rs", "crates/a/src/new.rs", "crates/a/src/old.rs"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_patch_that_is_too_wide_or_stale_is_a_problem() {
        let tree = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        let of = |text: String| {
            write("one.patch", &text);
            let file = SourceFile { path: "one.patch".to_owned(), text };
            of_patch(tree.path(), &file).expect("git").map(|problem| problem.what)
        };
        let adds = |path: &str| {
            format!(
                "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,2 @@\n kinds\n+another\n"
            )
        };
        write("crates/a/src/lib.rs", "kinds\n");
        assert_eq!(of(adds("crates/a/src/lib.rs")), None);
        write("crates/a/src/lib.rs", "sorts\n");
        let stale = of(adds("crates/a/src/lib.rs")).expect("it does not fit");
        assert!(stale.contains("does not apply any more: error: patch failed"), "{stale}");
        let wide: String = (0..6).map(|nth| adds(&format!("crates/a/src/f{nth}.rs"))).collect();
        assert!(of(wide).expect("too many").contains("touches 6 product files"));
    }
}
