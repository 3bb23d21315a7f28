//! `kdyno report`: a stored run as one HTML file, or several as a document.

use super::publish;
use crate::cli::ReportArgs;
use crate::evidence::{RunEvidence, find_run};
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;
use std::path::Path;
use std::process::{Command, Stdio};

/// Opens a file with the program that the desktop has for it.
const OPENER: &str = "xdg-open";

/// Writes the report and says where.
pub(crate) fn report(args: &ReportArgs) -> CommandResult {
    if let Some(front) = &args.document {
        return publish::report(front, args);
    }
    let run = match args.runs.as_slice() {
        [] => "latest",
        [run] => run,
        several => {
            return Err(Failure::usage(format!("a page shows one run, not {}", several.len()))
                .hint("`--document front.md` makes a document of several; `kdyno publish ibm-2022` has its front bundled"));
        }
    };
    let path = find_run(run, args.dir.as_deref())?;
    let evidence = RunEvidence::read_with_stacks(&path)?;
    let target = args.out.clone().unwrap_or_else(|| path.with_extension("html"));
    if target.extension().is_some_and(|ending| ending != "html" && ending != "htm") {
        return Err(Failure::usage(format!("--out {}: a page is HTML", target.display()))
            .hint("`kdyno show --format markdown` prints Markdown; a browser prints a page to PDF"));
    }
    out::file(&target, kdyno_report::html::page(&evidence.input()))?;
    out::text(format!("{}\n", target.display()))?;
    if args.open {
        open(&target)?;
    }
    Ok(Exit::Done)
}

/// Hands the page to the desktop's browser, which goes on without kdyno.
fn open(page: &Path) -> Result<(), Failure> {
    let status = Command::new(OPENER).arg(page).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let why = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(Failure::tool(format!("could not open {} with {OPENER}: {why}", page.display()))
        .hint("open the file in a browser; `kdyno serve` has an address for one"))
}
