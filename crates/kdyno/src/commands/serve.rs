//! `kdyno serve`: the runs of a folder in a browser.

use crate::cli::{FolderArgs, RunArgs, ServeArgs};
use crate::environment::runs_dir;
use crate::failure::{CommandResult, Exit, Failure};
use crate::serve::{ServeOptions, until};
use crate::{out, signals};
use std::net::{Ipv4Addr, TcpListener};

/// Serves until it is interrupted. Prints its address first, for scripts that let it take a free port.
pub(crate) fn serve(args: &ServeArgs) -> CommandResult {
    let folder = runs_dir(args.folder.typed())?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!("there is no folder {}", folder.display()))
            .hint("`kdyno run first-light` makes kdyno-runs with a run; DIR names another folder"));
    }
    let stop = signals::stop_flag()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(|e| {
        Failure::tool(format!("could not listen on 127.0.0.1:{}: {e}", args.port))
            .hint("--port 0 takes a free port")
    })?;
    let address = listener.local_addr().map_err(Failure::tool)?;
    out::line(&format!("http://{address}/"))?;
    out::note(&format!("serving the runs of {}; Ctrl-C ends", folder.display()));
    until(listener, ServeOptions { folder, hosts: args.host.clone() }, &stop)?;
    Ok(Exit::Done)
}

/// Serves after a run, at a free port; then ends as the run did. While it measures, pages would take its CPU time.
pub(crate) fn after(run: Exit, args: &RunArgs) -> CommandResult {
    let resumed = args.choices.resume.as_ref().and(args.dir.clone());
    let dir = resumed.or_else(|| args.execution.out.clone());
    // The run's own outcome counts.
    if let Err(failure) = serve(&ServeArgs { folder: FolderArgs::of(dir), port: 0, host: Vec::new() }) {
        out::failure(&failure);
    }
    Ok(run)
}
