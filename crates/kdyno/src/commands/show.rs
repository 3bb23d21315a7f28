//! `kdyno show`: a stored run's result again.

use crate::cli::{OutputForm, ShowArgs};
use crate::evidence::{RunEvidence, file_name, find_run};
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use kdyno_report::course::CourseRun;
use kdyno_report::{ReportInput, terminal};
use kdyno_store::RunFile;
use std::path::Path;

/// Most runs next to each other.
const RUNS_MAX: usize = 20;

/// Prints the result, or the JSON document, or what was requested, or what was in force.
pub(crate) fn show(args: &ShowArgs) -> CommandResult {
    let path = match args.runs.as_slice() {
        [run] => find_run(run, args.dir.as_deref())?,
        runs => return side_by_side(runs, args),
    };
    if args.logs {
        return logs(&path);
    }
    if args.plan {
        return plan(&path);
    }
    if args.config {
        return config(&path, args.json);
    }
    // Documents and details have the course of each trial.
    let has_courses = args.json || args.details;
    let evidence = if has_courses { RunEvidence::read(&path)? } else { RunEvidence::read_judged(&path)? };
    let input = evidence.input();
    if args.json {
        out::json(&kdyno_report::json::run(&input))?;
    } else if args.details {
        let options = out::options();
        out::painted(&terminal::run_table(&input, &options))?;
    } else {
        print(&input, args.format)?;
    }
    Ok(Exit::Done)
}

/// Several runs next to each other.
fn side_by_side(runs: &[String], args: &ShowArgs) -> CommandResult {
    let of_one = [
        ("--details", args.details),
        ("--plan", args.plan),
        ("--config", args.config),
        ("--logs", args.logs),
    ];
    if let Some((option, _)) = of_one.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!("{option} is printed of one run, and {} are named", runs.len()))
            .hint("`kdyno compare RUN RUN` says in which settings two runs differ"));
    }
    if runs.len() > RUNS_MAX {
        return Err(Failure::usage(format!(
            "{} runs are more than the {RUNS_MAX} that fit next to each other",
            runs.len()
        ))
        .hint("`kdyno compare --course METRIC RUN…` prints one figure of many runs"));
    }
    let read = |run: &String| {
        let path = find_run(run, args.dir.as_deref())?;
        Ok((file_name(&path), RunEvidence::read_judged(&path)?))
    };
    let read = runs.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let of_runs: Vec<CourseRun<'_>> =
        read.iter().map(|(file, run)| CourseRun { file: file.clone(), input: run.input() }).collect();
    let table = kdyno_report::side_by_side::table(&of_runs);
    if args.json {
        out::json(&table.json())?;
    } else {
        out::painted(&match args.format {
            OutputForm::Text => table.text(&out::options()),
            OutputForm::Markdown => table.markdown(),
        })?;
    }
    Ok(Exit::Done)
}

/// The result in short, in words and tables.
pub(crate) fn print(input: &ReportInput<'_>, form: OutputForm) -> Result<(), Failure> {
    out::painted(&match form {
        OutputForm::Text => terminal::run_summary(input, &out::options()),
        OutputForm::Markdown => kdyno_report::markdown::block(input),
    })
}

/// What was really in force.
fn config(path: &Path, is_json: bool) -> CommandResult {
    let evidence = RunEvidence::read_judged(path)?;
    if is_json {
        out::json(&kdyno_report::json::config(&evidence.input()))?;
    } else {
        let options = out::options();
        out::painted(&terminal::config_text(&evidence.input(), &options))?;
    }
    Ok(Exit::Done)
}

/// What was requested.
fn plan(path: &Path) -> CommandResult {
    let options = out::options();
    let header = RunFile::open(path)?.header()?;
    out::painted(&terminal::settings_text(&header.plan, &options))?;
    Ok(Exit::Done)
}

/// The ends of the logs that were kept because something went wrong.
fn logs(path: &Path) -> CommandResult {
    let logs = RunFile::open(path)?.logs()?;
    if logs.is_empty() {
        out::note("no log was kept: nothing went wrong in a process");
    }
    for (subject, text) in logs {
        out::text(format!("==> {subject} <==\n{}\n", text.trim_end()))?;
    }
    Ok(Exit::Done)
}
