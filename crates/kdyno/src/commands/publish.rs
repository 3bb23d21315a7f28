//! `kdyno publish`, and `kdyno report --document`: several stored runs as one document.

use crate::cli::{PublishArgs, ReportArgs, VERSION};
use crate::environment::{current_dir, runs_dir};
use crate::evidence::{RunEvidence, file_name, find_run, newest_whole_run};
use crate::failure::{CommandResult, Exit, Failure};
use crate::{out, scenario_source};
use kdyno_report::document::{self, Document, DocumentRun, Front};
use kdyno_scenario::input::{listed, nearest};
use std::path::{Path, PathBuf};

/// Runs of one document at most: each is read whole.
const RUNS_MAX: usize = 50;

/// The fronts of the published reports whose questions are bundled.
const BUNDLED: [(&str, &str); 5] = [
    ("folio-41", include_str!("../../../../scenarios/reports/folio-41.md")),
    ("folio-kraft", include_str!("../../../../scenarios/reports/folio-kraft.md")),
    ("huawei-rate", include_str!("../../../../scenarios/reports/huawei-rate.md")),
    ("ibm-2022", include_str!("../../../../scenarios/reports/ibm-2022.md")),
    ("intel-tuning", include_str!("../../../../scenarios/reports/intel-tuning.md")),
];

/// Writes the document and says where.
pub(crate) fn publish(args: &PublishArgs) -> CommandResult {
    write(&args.front, &args.runs, args.dir.as_deref(), args.out.as_deref())
}

/// Runs `kdyno report`.
pub(crate) fn report(front: &Path, args: &ReportArgs) -> CommandResult {
    write(&front.display().to_string(), &args.runs, args.dir.as_deref(), args.out.as_deref())
}

fn write(named: &str, runs: &[String], dir: Option<&Path>, target: Option<&Path>) -> CommandResult {
    let (name, text) = front(named)?;
    let front = Front::parse(&text).map_err(|why| {
        Failure::usage(format!("the front {named}: {why}")).hint(
            "`kdyno publish ibm-2022` makes one from a front that is bundled: scenarios/reports/ibm-2022.md",
        )
    })?;
    let paths = chosen(&front, runs, dir)?;
    let read = |path: &PathBuf| Ok((file_name(path), RunEvidence::read_with_stacks(path)?));
    let evidence = paths.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    for (file, run) in &evidence {
        let scenario = &run.input().header.plan.scenario;
        let is_named = |of: &String| of.rsplit('/').next() == Some(scenario);
        if !front.scenarios.is_empty() && !front.scenarios.iter().any(is_named) {
            let of = listed(front.scenarios.iter().map(String::as_str));
            out::note(&format!("{file} is of scenario {scenario}, and the front {named} is of {of}"));
        }
    }
    let runs: Vec<DocumentRun<'_>> =
        evidence.iter().map(|(file, run)| DocumentRun { file: file.clone(), input: run.input() }).collect();
    let document = Document { front: &front, runs: &runs, kdyno: VERSION };
    let target = match target {
        Some(target) => target.to_owned(),
        None => current_dir()?.join(format!("{name}.html")),
    };
    let is_same = |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    if is_same(&target, Path::new(named)) || paths.iter().any(|path| is_same(&target, path)) {
        return Err(Failure::usage(format!("-o {}: the document is made from this file", target.display()))
            .hint("give the document another name"));
    }
    let is_markdown = target.extension().is_some_and(|ending| ending == "md" || ending == "markdown");
    let text = if is_markdown { document::markdown(&document) } else { document::html(&document) };
    out::file(&target, text)?;
    out::line(&target.display().to_string())?;
    Ok(Exit::Done)
}

/// A front's name without ending, and its text.
fn front(named: &str) -> Result<(String, String), Failure> {
    let short = named.strip_prefix("reports/").unwrap_or(named);
    if let Some((name, text)) = BUNDLED.iter().find(|(name, _)| *name == short) {
        return Ok(((*name).to_owned(), (*text).to_owned()));
    }
    let path = Path::new(named);
    let is_file = named.contains('/') || named.ends_with(".md") || named.ends_with(".markdown");
    if !is_file {
        let names = BUNDLED.iter().map(|(name, _)| *name);
        let hint = match nearest(named, names.clone()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                format!("bundled are {}; a front of your own is a file: ./NAME or NAME.md", listed(names))
            }
        };
        return Err(Failure::usage(format!("there is no bundled front `{named}`")).hint(hint));
    }
    let text = String::from_utf8(scenario_source::read_bytes(path, "front")?)
        .map_err(|_| Failure::usage(format!("the front {named} is not UTF-8")))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok((name, text))
}

/// The runs that were named, or the newest of each scenario that the front names.
fn chosen(front: &Front, named: &[String], dir: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let are_chosen = named.is_empty();
    let named = if are_chosen { &front.scenarios } else { named };
    if named.is_empty() {
        return Err(Failure::usage("no run was named, and the front names no `scenarios`")
            .hint("name runs after it; `kdyno runs` lists them"));
    }
    if named.len() > RUNS_MAX {
        return Err(Failure::usage(format!(
            "{} runs are more than the {RUNS_MAX} of a document",
            named.len()
        )));
    }
    let mut paths = Vec::new();
    for one in named {
        let whole = if are_chosen { newest_whole_run(one, dir)? } else { None };
        let path = match whole {
            Some(path) => path,
            None => found(one, front, dir)?,
        };
        if paths.contains(&path) {
            return Err(Failure::usage(format!("{} is named twice", file_name(&path))));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// A run by its name; where a scenario of the front has none, how to make one.
fn found(named: &str, front: &Front, dir: Option<&Path>) -> Result<PathBuf, Failure> {
    find_run(named, dir).map_err(|failure| {
        let folder =
            runs_dir(dir).map_or_else(|_| String::new(), |folder| format!(" in {}", folder.display()));
        if front.scenarios.iter().any(|scenario| scenario == named) {
            return Failure::usage(format!("there is no run of {named}{folder}, which the document is of"))
                .hint(format!("`kdyno run {named}` makes one; or name the runs that there are"));
        }
        failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_front_is_one_and_names_bundled_scenarios() {
        for (name, text) in BUNDLED {
            let front = Front::parse(text).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert!(!front.scenarios.is_empty(), "{name}");
            for scenario in &front.scenarios {
                assert!(scenario_source::bundled(scenario).is_ok(), "{name}: {scenario}");
            }
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/reports");
        let files = std::fs::read_dir(folder).expect("the reports").map(|file| file.expect("a file").path());
        let fronts = files.filter(|path| path.extension() == Some("md".as_ref())).count();
        assert_eq!(fronts, BUNDLED.len());
    }
}
