//! `kdyno man`: manual pages.

use crate::cli::{ManArgs, help};
use crate::failure::{CommandResult, Exit, Failure};
use crate::out;

/// Writes a page for each command.
pub(crate) fn manual(args: &ManArgs) -> CommandResult {
    let written = std::fs::create_dir_all(&args.dir)
        .and_then(|()| clap_mangen::generate_to(help::command(), &args.dir));
    written.map_err(|error| Failure::tool(format!("{}: {error}", args.dir.display())))?;
    out::note(&format!("try: man {}", args.dir.join("kdyno.1").display()));
    Ok(Exit::Done)
}
