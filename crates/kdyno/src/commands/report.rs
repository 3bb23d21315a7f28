//! `kdyno report`: a stored run as one HTML file.

use crate::cli::ReportArgs;
use crate::evidence::{Evidence, find_run};
use crate::failure::{Exit, Outcome};
use crate::out;

/// Writes the report and says where.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    let path = find_run(&args.run.run, args.run.dir.as_deref())?;
    let evidence = Evidence::read_with_stacks(&path)?;
    let target = args.out.clone().unwrap_or_else(|| path.with_extension("html"));
    out::file(&target, kdyno_report::html::page(&evidence.input()))?;
    out::data(format!("{}\n", target.display()))?;
    Ok(Exit::Done)
}
