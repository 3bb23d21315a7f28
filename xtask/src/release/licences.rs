//! The licences of what is linked into the program: which crates those are, as Cargo knows it, and the texts that lie in
//! their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cargo;

/// What names of files with a licence begin with, in small letters.
const NAMES: &[&str] = &["license", "licence", "copying", "copyright", "notice", "unlicense"];

/// Folders of sources whose code is not linked.
const NOT_LINKED: &[&str] =
    &["benches", "contrib", "examples", "fuzz", "programs", "test", "tests", "zlib-ng"];

/// Features of the program that a release has, as `make release` builds it.
const RELEASED: &str = "--features=kdyno/kubernetes";

/// What Cargo reports of this workspace.
pub struct CargoMetadata {
    /// The program's version.
    pub version: String,
    /// The folder of builds.
    pub target: PathBuf,
    /// Crates of other authors that are linked into the program, by name.
    pub crates: Vec<Crate>,
}

/// A crate of other authors.
#[derive(Debug, Clone, PartialEq)]
pub struct Crate {
    /// Name and version.
    title: String,
    /// SPDX expression.
    licence: Option<String>,
    authors: Vec<String>,
    folder: PathBuf,
}

impl CargoMetadata {
    /// Asks Cargo. What it reports of packages includes some that features leave out, and the tree that it prints is of
    /// all programs here: what is in both is linked.
    pub fn read(root: &Path) -> anyhow::Result<CargoMetadata> {
        let host = cargo::host(root)?;
        let reported = cargo::metadata(root, &host, &["--locked", RELEASED])?;
        let tree =
            ["tree", "--locked", RELEASED, "--workspace", "--target", &host, "--edges=normal,no-proc-macro"];
        let tree = cargo::cargo(root, &[&tree[..], &["--prefix=none", "--format={p}"]].concat())?;
        CargoMetadata::parse(&reported, &tree)
    }

    /// From what `cargo metadata` and `cargo tree` say.
    fn parse(reported: &Value, tree: &str) -> anyhow::Result<CargoMetadata> {
        let packages = reported["packages"].as_array().context("no packages")?;
        let packages: BTreeMap<&str, &Value> =
            packages.iter().filter_map(|package| Some((package["id"].as_str()?, package))).collect();
        let program = packages.iter().find(|(_, package)| package["name"] == "kdyno");
        let (id, program) = program.context("no package is the program")?;
        let in_tree: BTreeSet<String> = tree
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                Some(format!("{} {}", words.next()?, words.next()?.trim_start_matches('v')))
            })
            .collect();
        let reached = reached(id, &reported["resolve"]["nodes"], &packages)?;
        let foreign = reached.iter().map(|id| packages[id]).filter(|package| !package["source"].is_null());
        let mut crates = foreign.map(Crate::parse).collect::<anyhow::Result<Vec<_>>>()?;
        crates.retain(|one| in_tree.contains(&one.title));
        crates.sort_by(|a, b| a.title.cmp(&b.title));
        Ok(CargoMetadata {
            version: program["version"].as_str().context("no version")?.to_owned(),
            target: reported["target_directory"].as_str().context("no target_directory")?.into(),
            crates,
        })
    }

    /// The licences of all crates as one text: a list of crates with numbers, then each distinct text once with its number.
    pub fn notices(&self) -> anyhow::Result<String> {
        let mut list = format!(
            "{} crates of other authors are linked into kdyno {}. Of each: its name and version, its licence as an SPDX\n\
             expression (where it has an OR, kdyno takes any of them), and which texts below lie in its source.\n\n",
            self.crates.len(),
            self.version
        );
        let mut texts: Vec<(String, String)> = Vec::new();
        for one in &self.crates {
            let mut numbers = Vec::new();
            for (name, text) in one.texts()? {
                let known = texts.iter().position(|(_, known)| *known == text);
                numbers.push(known.unwrap_or(texts.len()) + 1);
                if known.is_none() {
                    texts.push((format!("{name} of {}", one.title), text));
                }
            }
            writeln!(list, "{}", one.line(&numbers)?)?;
        }
        for (index, (of, text)) in texts.iter().enumerate() {
            write!(list, "\n{}\nText {}: {of}\n\n{text}\n", "=".repeat(100), index + 1)?;
        }
        Ok(list)
    }
}

impl Crate {
    fn parse(package: &Value) -> anyhow::Result<Crate> {
        let word = |key: &str| package[key].as_str().with_context(|| format!("a package without {key}"));
        let folder = Path::new(word("manifest_path")?).parent().context("a manifest lies in a folder")?;
        let authors = package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Ok(Crate {
            title: format!("{} {}", word("name")?, word("version")?),
            licence: package["license"].as_str().map(str::to_owned),
            authors: authors.map(str::to_owned).collect(),
            folder: folder.to_owned(),
        })
    }

    /// Its line in the list.
    fn line(&self, numbers: &[usize]) -> anyhow::Result<String> {
        if !numbers.is_empty() {
            let licence = self.licence.as_deref().unwrap_or("see its texts");
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            return Ok(format!("{}: {licence}; texts {}", self.title, numbers.join(", ")));
        }
        let Some(licence) = &self.licence else {
            bail!("{} has neither a licence nor a text of one: look at it before it is shipped", self.title);
        };
        let notice = if licence.contains("Apache-2.0") {
            "that of the Apache License 2.0 is the file LICENSE"
        } else {
            "the expression names it"
        };
        let authors = if self.authors.is_empty() { "not named".to_owned() } else { self.authors.join(", ") };
        Ok(format!("{}: {licence}; its source has no text, {notice}; authors: {authors}", self.title))
    }

    /// Names below its folder, and texts with the ends of lines that this system has, in the order of names.
    fn texts(&self) -> anyhow::Result<Vec<(String, String)>> {
        let (mut folders, mut found) = (vec![self.folder.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(&folder);
            for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
                if path.is_dir() && !NOT_LINKED.contains(&name.as_str()) {
                    folders.push(path);
                } else if path.is_file() && is_licence(&name) {
                    found.push(path);
                }
            }
        }
        found.sort();
        let text = |path: PathBuf| {
            let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
            let name = path.strip_prefix(&self.folder).unwrap_or(&path).display().to_string();
            Ok((name, text.trim_matches('\n').to_owned()))
        };
        found.into_iter().map(text).collect()
    }
}

/// Words in a file's name in small letters: code may be about licences, too.
fn is_licence(name: &str) -> bool {
    let is_code = [".rs", ".c", ".h", ".py", ".go", ".toml"].iter().any(|ending| name.ends_with(ending));
    NAMES.iter().any(|begin| name.starts_with(begin)) && !is_code
}

/// Ids of the packages that are linked into one, itself included: what runs when it is built is not.
fn reached<'a>(
    id: &'a str,
    nodes: &'a Value,
    packages: &BTreeMap<&str, &Value>,
) -> anyhow::Result<BTreeSet<&'a str>> {
    let nodes = nodes.as_array().context("no resolve.nodes")?;
    let nodes: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let (mut waiting, mut reached) = (vec![id], BTreeSet::new());
    while let Some(id) = waiting.pop() {
        let package = packages.get(id).with_context(|| format!("no package {id}"))?;
        let mut targets = package["targets"].as_array().into_iter().flatten();
        let is_macro = targets
            .any(|target| target["kind"].as_array().is_some_and(|all| all.contains(&"proc-macro".into())));
        if is_macro || !reached.insert(id) {
            continue;
        }
        for needed in nodes.get(id).and_then(|node| node["deps"].as_array()).into_iter().flatten() {
            let mut kinds = needed["dep_kinds"].as_array().into_iter().flatten();
            if kinds.any(|kind| kind["kind"].is_null()) {
                waiting.extend(needed["pkg"].as_str());
            }
        }
    }
    Ok(reached)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A program with a crate that has texts, one that has none, one that is left out by features, a macro, and one that
    /// only builds.
    fn metadata(folder: &Path) -> (Value, String) {
        let package = |name: &str, kind: &str| {
            let manifest = folder.join(name).join("Cargo.toml");
            let source = if name == "kdyno" { Value::Null } else { "registry".into() };
            json!({"id": name, "name": name, "version": "1.2.3", "source": source, "license": "MIT OR Apache-2.0",
                   "authors": ["Ann"], "manifest_path": manifest, "targets": [{"kind": [kind]}]})
        };
        let needs = |kind: Value, name: &str| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let deps = [
            needs(Value::Null, "texts"),
            needs(Value::Null, "bare"),
            needs(Value::Null, "left-out"),
            needs(Value::Null, "macro"),
            needs("build".into(), "builds"),
        ];
        let packages = [
            package("kdyno", "bin"),
            package("texts", "lib"),
            package("bare", "lib"),
            package("left-out", "lib"),
            package("macro", "proc-macro"),
            package("builds", "lib"),
        ];
        let reported = json!({"packages": packages, "target_directory": "/built",
                          "resolve": {"nodes": [{"id": "kdyno", "deps": deps}]}});
        (reported, "kdyno v1.2.3 (/here)\ntexts v1.2.3\nbare v1.2.3 (*)\n\nbuilds v1.2.3\n".to_owned())
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in [
            ("texts/LICENSE-MIT", "Ann\r\n"),
            ("texts/src/licenses.rs", "fn f() {}"),
            ("texts/c/COPYING", "of C"),
            ("texts/c/tests/COPYING", "of tests"),
            ("bare/README.md", "no licence"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("below a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    #[test]
    fn linked_crates_are_listed_with_their_texts_and_no_others() {
        let folder = folder();
        let (reported, tree) = metadata(folder.path());
        let metadata = CargoMetadata::parse(&reported, &tree).expect("what Cargo says");
        assert_eq!((metadata.version.as_str(), metadata.target.as_path()), ("1.2.3", Path::new("/built")));
        let notices = metadata.notices().expect("each has a licence");
        let lines: Vec<&str> = notices.lines().filter(|line| !line.starts_with('=')).collect();
        assert_eq!(
            lines[3..],
            [
                "bare 1.2.3: MIT OR Apache-2.0; its source has no text, that of the Apache License 2.0 is the file \
                 LICENSE; authors: Ann",
                "texts 1.2.3: MIT OR Apache-2.0; texts 1, 2",
                "",
                "Text 1: LICENSE-MIT of texts 1.2.3",
                "",
                "Ann",
                "",
                "Text 2: c/COPYING of texts 1.2.3",
                "",
                "of C",
            ]
        );
    }

    #[test]
    fn a_text_occurs_once_and_a_crate_without_licence_is_an_error() {
        let folder = folder();
        let (mut reported, tree) = metadata(folder.path());
        std::fs::write(folder.path().join("bare/LICENSE"), "Ann\n").expect("written");
        let notices = CargoMetadata::parse(&reported, &tree).and_then(|all| all.notices()).expect("licences");
        assert!(notices.contains("\ntexts 1.2.3: MIT OR Apache-2.0; texts 1, 2\n"), "{notices}");
        assert_eq!(notices.matches("Ann").count(), 1, "{notices}");
        std::fs::remove_file(folder.path().join("bare/LICENSE")).expect("removed");
        reported["packages"][2]["license"] = Value::Null;
        let error =
            CargoMetadata::parse(&reported, &tree).and_then(|all| all.notices()).expect_err("no licence");
        assert!(error.to_string().starts_with("bare 1.2.3 has neither"), "{error}");
    }
}
