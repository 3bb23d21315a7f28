//! `kdyno runs`: what was measured here.

use crate::cli::RunsArgs;
use crate::environment::runs_dir;
use crate::failure::{Exit, Failure, Outcome};
use crate::{moment, out};
use kdyno_report::status_words;
use kdyno_store::{RunList, RunSummary};

/// Lists the run files of a folder, oldest first.
pub(crate) fn runs(args: &RunsArgs) -> Outcome {
    let folder = runs_dir(args.dir.as_deref())?;
    let list = match folder.is_dir() {
        true => kdyno_store::list(&folder)?,
        false if args.dir.is_none() => RunList { runs: Vec::new(), unreadable: Vec::new() },
        false => return Err(Failure::usage(format!("there is no folder {}", folder.display()))),
    };
    for (path, error) in &list.unreadable {
        out::note(&format!("left out {}: {error}", path.display()));
    }
    if args.json {
        out::json(&serde_json::Value::Array(list.runs.iter().map(as_json).collect()))?;
    } else if list.runs.is_empty() {
        out::note(&format!("no runs in {}", folder.display()));
    } else {
        out::data(&table(&list.runs))?;
    }
    Ok(Exit::Done)
}

fn table(runs: &[RunSummary]) -> String {
    let rows: Vec<[String; 7]> = runs.iter().map(cells).collect();
    let head = ["started", "scenario", "profile", "on, changed", "begun", "ended", "file"].map(str::to_owned);
    let width =
        |column: usize| rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    [&head].into_iter().chain(&rows).map(line).collect()
}

fn cells(run: &RunSummary) -> [String; 7] {
    [
        moment::readable(run.started_unix_ns),
        run.scenario.clone(),
        run.profile.clone(),
        differs(run),
        match run.trials_planned {
            Some(planned) => format!("{}/{planned}", run.trials_started),
            None => run.trials_started.to_string(),
        },
        status(run),
        run.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    ]
}

/// What tells it from other runs of its scenario: the target it was on, the params that `--set` changed.
fn differs(run: &RunSummary) -> String {
    let target = run.target.iter().map(|target| format!("target {target}"));
    let changed = run.changed.iter().map(|(name, value)| format!("{name}={value}"));
    let all: Vec<String> = target.chain(changed).collect();
    if all.is_empty() { "–".to_owned() } else { all.join(", ") }
}

fn status(run: &RunSummary) -> String {
    match &run.end {
        Some(end) => status_words(end.status).to_owned(),
        None if run.live => "running".to_owned(),
        None => "cut off".to_owned(),
    }
}

/// The same as a code: that of the run file, `running` or `cut_off`.
fn status_code(run: &RunSummary) -> serde_json::Value {
    match &run.end {
        Some(end) => serde_json::json!(end.status),
        None if run.live => serde_json::json!("running"),
        None => serde_json::json!("cut_off"),
    }
}

fn as_json(run: &RunSummary) -> serde_json::Value {
    serde_json::json!({
        "file": run.path,
        "file_bytes": run.bytes,
        "run_id": format!("{:016x}", run.run_id),
        "started_unix_ns": run.started_unix_ns,
        "scenario": run.scenario,
        "profile": run.profile,
        "target": run.target,
        "changed": run.changed,
        "sessions": run.sessions,
        "trials_planned": run.trials_planned,
        "trials_started": run.trials_started,
        "status": status_code(run),
        "detail": run.end.as_ref().map(|end| &end.detail),
        "ended_unix_ns": run.end.as_ref().map(|end| end.ended_unix_ns),
    })
}
