//! `kdyno show`: a stored run's result again.

use crate::cli::{Form, ShowArgs};
use crate::evidence::{Evidence, find_run};
use crate::failure::{Exit, Failure, Outcome};
use crate::out;
use crate::progress::text_options;
use kdyno_report::{ReportInput, terminal};
use kdyno_store::RunFile;
use std::io::IsTerminal;
use std::path::Path;

/// Prints the result, or the JSON document, or what was asked for, or what was in force.
pub(crate) fn show(args: &ShowArgs) -> Outcome {
    let path = find_run(&args.run, args.dir.as_deref())?;
    if args.logs {
        return logs(&path);
    }
    if args.plan {
        return plan(&path);
    }
    if args.config {
        return config(&path, args.json);
    }
    let evidence = if args.json { Evidence::read(&path)? } else { Evidence::read_judged(&path)? };
    let input = evidence.input();
    if args.json {
        out::json(&kdyno_report::json::run(&input))?;
    } else if args.details {
        let options = text_options(std::io::stdout().is_terminal());
        out::data(terminal::run_table(&input, &options))?;
    } else {
        print(&input, args.format)?;
    }
    Ok(Exit::Done)
}

/// The result in short, in words and tables.
pub(crate) fn print(input: &ReportInput<'_>, form: Form) -> Result<(), Failure> {
    out::data(&match form {
        Form::Text => terminal::run_summary(input, &text_options(std::io::stdout().is_terminal())),
        Form::Markdown => kdyno_report::markdown::block(input),
    })
}

/// What was really in force.
fn config(path: &Path, is_json: bool) -> Outcome {
    let evidence = Evidence::read_judged(path)?;
    if is_json {
        out::json(&kdyno_report::json::config(&evidence.input()))?;
    } else {
        let options = text_options(std::io::stdout().is_terminal());
        out::data(terminal::config_text(&evidence.input(), &options))?;
    }
    Ok(Exit::Done)
}

/// What was asked for.
fn plan(path: &Path) -> Outcome {
    let options = text_options(std::io::stdout().is_terminal());
    let header = RunFile::open(path)?.header()?;
    out::data(terminal::settings_text(&header.plan, &options))?;
    Ok(Exit::Done)
}

/// The ends of the logs that were kept because something went wrong.
fn logs(path: &Path) -> Outcome {
    let logs = RunFile::open(path)?.logs()?;
    if logs.is_empty() {
        out::note("no log was kept: nothing went wrong in a process");
    }
    for (subject, text) in logs {
        out::data(format!("==> {subject} <==\n{}\n", text.trim_end()))?;
    }
    Ok(Exit::Done)
}
