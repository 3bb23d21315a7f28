//! `kdyno show`: a stored run's table again.

use crate::cli::ShowArgs;
use crate::evidence::{Evidence, find_run};
use crate::failure::{Exit, Outcome};
use crate::out;
use crate::progress::text_options;
use kdyno_store::RunFile;
use std::io::IsTerminal;
use std::path::Path;

/// Prints the table, or the JSON document.
pub(crate) fn show(args: &ShowArgs) -> Outcome {
    let path = find_run(&args.run.run, args.run.dir.as_deref())?;
    if args.logs {
        return logs(&path);
    }
    let evidence = Evidence::read(&path)?;
    let input = evidence.input();
    if args.json {
        out::json(&kdyno_report::json::run(&input))?;
    } else {
        let options = text_options(std::io::stdout().is_terminal());
        out::data(&kdyno_report::terminal::run_table(&input, &options))?;
    }
    Ok(Exit::Done)
}

/// The ends of the logs that were kept because something went wrong.
fn logs(path: &Path) -> Outcome {
    let logs = RunFile::open(path)?.logs()?;
    if logs.is_empty() {
        out::note("no log was kept: nothing went wrong in a process");
    }
    for (subject, text) in logs {
        out::data(&format!("==> {subject} <==\n{}\n", text.trim_end()))?;
    }
    Ok(Exit::Done)
}
