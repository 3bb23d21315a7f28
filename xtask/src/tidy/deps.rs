//! Dependency rules: who may use whom, read from `cargo metadata` so that renames, features and
//! what lies several crates deep are seen as Cargo sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::problem::Problem;
use super::rules::{CRATES, CrateRule, PROGRAM_CRATES, WORLD_CRATES};
use crate::cargo;

/// Normal and build dependencies of one workspace member.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct WorkspaceMember {
    /// Package name.
    pub name: String,
    /// Manifest path relative to the workspace root.
    pub manifest: String,
    /// Packages that the manifest names (not for tests only).
    pub direct: BTreeSet<String>,
    /// Every package reached, with the path of names that leads to it.
    pub reached: BTreeMap<String, Vec<String>>,
}

/// Asks Cargo for the workspace's dependency graph.
pub fn read(root: &Path) -> anyhow::Result<Vec<WorkspaceMember>> {
    members(&cargo::metadata(root, &cargo::host(root)?, &[])?)
}

/// Package id → the packages it needs in order to be built and run.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// Reads `cargo metadata` output; test-only dependencies are left out.
pub fn members(metadata: &Value) -> anyhow::Result<Vec<WorkspaceMember>> {
    let root = metadata["workspace_root"].as_str().context("no workspace_root")?;
    let packages = metadata["packages"].as_array().context("no packages")?;
    let names: BTreeMap<&str, &str> = packages
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let mut edges = Edges::new();
    for node in metadata["resolve"]["nodes"].as_array().context("no resolve.nodes")? {
        let id = node["id"].as_str().context("node without id")?;
        let needed = node["deps"].as_array().into_iter().flatten().filter(|dependency| {
            let kinds = dependency["dep_kinds"].as_array();
            kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind["kind"].as_str() != Some("dev")))
        });
        let needed = needed.filter_map(|dependency| dependency["pkg"].as_str()).map(str::to_owned);
        edges.insert(id.to_owned(), needed.collect());
    }
    let mut members = Vec::new();
    for id in metadata["workspace_members"].as_array().context("no workspace_members")? {
        let id = id.as_str().context("member without id")?;
        let package = packages.iter().find(|package| package["id"].as_str() == Some(id));
        let manifest = package.and_then(|package| package["manifest_path"].as_str()).unwrap_or_default();
        let direct = edges.get(id).into_iter().flatten();
        members.push(WorkspaceMember {
            name: names.get(id).copied().unwrap_or_default().to_owned(),
            manifest: manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/').to_owned(),
            direct: direct.filter_map(|id| names.get(id.as_str())).map(|name| (*name).to_owned()).collect(),
            reached: reached(id, &edges, &names),
        });
    }
    Ok(members)
}

/// Breadth first, so that the path shown is a shortest one.
fn reached(from: &str, edges: &Edges, names: &BTreeMap<&str, &str>) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut queue: Vec<(String, Vec<String>)> = vec![(from.to_owned(), Vec::new())];
    let mut at = 0;
    while at < queue.len() {
        let (id, path) = queue[at].clone();
        at += 1;
        for next in edges.get(&id).into_iter().flatten() {
            let name = names.get(next.as_str()).copied().unwrap_or(next);
            if found.contains_key(name) {
                continue;
            }
            let mut longer = path.clone();
            longer.push(name.to_owned());
            found.insert(name.to_owned(), longer.clone());
            queue.push((next.clone(), longer));
        }
    }
    found
}

/// Applies the table to every member.
pub fn check(root: &Path, members: &[WorkspaceMember]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for member in members {
        let text = std::fs::read_to_string(root.join(&member.manifest)).unwrap_or_default();
        let complain = |dependency: &str, what: String, instead: &str| Problem {
            path: member.manifest.clone(),
            line: line_of(&text, dependency),
            what,
            instead: instead.to_owned(),
        };
        if member.name == "xtask" {
            let internal = member.direct.iter().filter(|name| folder(name).is_some());
            problems.extend(internal.map(|name| {
                complain(name, format!("xtask depends on {name}"), "run the binary; xtask must build fast")
            }));
            continue;
        }
        let Some(rule) = CRATES.iter().find(|rule| folder(&member.name) == Some(rule.place)) else {
            let what = format!("{} is not in the table of crates", member.name);
            problems.push(complain("name", what, "add its row to xtask/src/tidy/rules.rs"));
            continue;
        };
        for (dependency, what, instead) in violations(rule, member) {
            problems.push(complain(&dependency, what, instead));
        }
    }
    problems
}

/// (dependency to point at, what is wrong, what to do)
fn violations(rule: &CrateRule, member: &WorkspaceMember) -> Vec<(String, String, &'static str)> {
    let mut found = Vec::new();
    for dependency in &member.direct {
        if folder(dependency).is_some_and(|used| !rule.may_use.contains(&used)) {
            let what = format!("{} must not use {dependency}", rule.place);
            found.push((dependency.clone(), what, "move what is shared down into model, or up into lab"));
        }
        if !rule.program && PROGRAM_CRATES.contains(&dependency.as_str()) {
            let what = format!("{} must not use {dependency}: only the binary is a program", rule.place);
            found.push((dependency.clone(), what, "do it in crates/kdyno and pass the value down"));
        }
    }
    for (name, path) in &member.reached {
        let first = path.first().unwrap_or(name);
        if rule.pure && WORLD_CRATES.contains(&name.as_str()) {
            let what = format!("{} is pure and must not reach {name} (by {})", rule.place, path.join(" → "));
            found.push((first.clone(), what, "switch the feature off, or do the work in another crate"));
        } else if rule.no_tokio && name == "tokio" {
            let what = format!("{} must not reach tokio (by {})", rule.place, path.join(" → "));
            found.push((first.clone(), what, "use plain threads, mio and a tick"));
        }
    }
    found
}

/// `kdyno-load` → `load`; `kdyno` → `kdyno`; anything else is not ours.
fn folder(package: &str) -> Option<&str> {
    match package {
        "kdyno" => Some("kdyno"),
        _ => package.strip_prefix("kdyno-"),
    }
}

/// The line of a manifest that names the dependency, else its first line.
fn line_of(manifest: &str, dependency: &str) -> usize {
    let starts = |line: &str| {
        line.trim_start().strip_prefix(dependency).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
    };
    manifest.lines().position(starts).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A workspace of one member whose normal, dev and transitive dependencies are given.
    fn metadata(member: &str, direct: &[&str], dev: &[&str], deep: &[(&str, &str)]) -> Value {
        let edge = |name: &str, kind: Option<&str>| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let mut nodes = vec![json!({
            "id": member,
            "deps": direct.iter().map(|name| edge(name, None))
                .chain(dev.iter().map(|name| edge(name, Some("dev")))).collect::<Vec<_>>(),
        })];
        nodes.extend(deep.iter().map(|(from, to)| json!({"id": from, "deps": [edge(to, None)]})));
        let everyone = std::iter::once(member).chain(direct.iter().copied()).chain(dev.iter().copied());
        let everyone = everyone.chain(deep.iter().map(|(_, to)| *to));
        json!({
            "workspace_root": "/ws",
            "workspace_members": [member],
            "packages": everyone
                .map(|name| json!({"id": name, "name": name, "manifest_path": "/ws/crates/x/Cargo.toml"}))
                .collect::<Vec<_>>(),
            "resolve": {"nodes": nodes},
        })
    }

    fn complaints(metadata: &Value) -> Vec<String> {
        let members = members(metadata).expect("metadata of a test");
        check(Path::new("/nowhere"), &members).into_iter().map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn an_internal_dependency_outside_the_table_is_found() {
        let found = complaints(&metadata("kdyno-load", &["kdyno-model", "kdyno-store"], &[], &[]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("load must not use kdyno-store"), "{found:?}");
    }

    #[test]
    fn tokio_several_crates_deep_is_found_with_its_path() {
        let deep = [("helpful", "more-helpful"), ("more-helpful", "tokio")];
        let found = complaints(&metadata("kdyno-kafka", &["helpful"], &[], &deep));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("helpful → more-helpful → tokio"), "{found:?}");
    }

    #[test]
    fn a_pure_crate_may_not_reach_a_file_or_socket_crate() {
        for forbidden in ["mio", "rustix", "rusqlite", "procfs", "tokio", "getrandom"] {
            let found = complaints(&metadata("kdyno-plan", &["kdyno-model", forbidden], &[], &[]));
            assert_eq!(found.len(), 1, "{forbidden}: {found:?}");
            assert!(found[0].contains(forbidden), "{found:?}");
        }
    }

    #[test]
    fn a_dependency_of_tests_only_is_free() {
        let found = complaints(&metadata("kdyno-model", &["serde"], &["tempfile", "kdyno-lab"], &[]));
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn only_the_binary_parses_arguments_and_handles_signals() {
        assert_eq!(complaints(&metadata("kdyno-lab", &["clap"], &[], &[])).len(), 1);
        assert_eq!(complaints(&metadata("kdyno", &["clap", "kdyno-lab"], &[], &[])).len(), 0);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        let found = complaints(&metadata("kdyno-extra", &[], &[], &[]));
        assert!(found[0].contains("not in the table"), "{found:?}");
    }

    #[test]
    fn the_line_of_a_dependency_is_named() {
        let manifest =
            "[package]\nname = \"x\"\n[dependencies]\ntokio-util = \"1\"\ntokio.workspace = true\n";
        assert_eq!(line_of(manifest, "tokio"), 5);
    }
}
