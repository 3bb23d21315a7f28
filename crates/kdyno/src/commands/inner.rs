//! Commands that kdyno starts itself with: the worker of a trial, the guard of a cluster's brokers, a relay
//! between its zones.

use super::descriptors;
use crate::cli::{GuardExecArgs, HttpLoadArgs, RelayArgs, WatchKeeperArgs};
use crate::failure::{CommandResult, Exit, Failure};
use std::os::fd::AsFd;

/// Serves the lab over the socket that is standard input, until it is done or the socket closes.
pub(crate) fn worker() -> CommandResult {
    descriptors::allow_all();
    let socket = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(|e| Failure::tool(format!("could not take over standard input: {e}")))?;
    kdyno_load::worker::main(socket).map_err(Failure::tool)?;
    Ok(Exit::Done)
}

/// Owns the processes of one cluster and ends them when kdyno is gone.
pub(crate) fn guard() -> CommandResult {
    kdyno_testbed::guard::main().map_err(Failure::tool)?;
    Ok(Exit::Done)
}

/// Becomes a broker; returns only when that failed.
pub(crate) fn guard_exec(args: &GuardExecArgs) -> CommandResult {
    kdyno_testbed::guard::exec_main(&args.spec).map_err(Failure::tool)?;
    Ok(Exit::Done)
}

/// Runs a command of a load item, and leaves nothing of it.
pub(crate) fn keep_command() -> CommandResult {
    kdyno_testbed::command::main().map_err(Failure::tool)?;
    Ok(Exit::Done)
}

/// Starts the keeper of a command, and leaves nothing of what that leaves.
pub(crate) fn watch_keeper(args: &WatchKeeperArgs) -> CommandResult {
    kdyno_testbed::command::watch(&args.exe).map_err(Failure::tool)?;
    Ok(Exit::Done)
}

/// Sends what a load item of users or a job asks for.
pub(crate) fn http_load(args: &HttpLoadArgs) -> CommandResult {
    // Before it reads what it sends: headers may be a login.
    kdyno_credentials::close_memory();
    descriptors::allow_all();
    let stop = crate::signals::stop_flag()?;
    kdyno_http_load::main(&args.plan, stop, std::io::stdout(), std::io::stderr()).map_err(Failure::tool)?;
    Ok(Exit::Done)
}

/// Passes connections on between two zones until it is ended; returns only when that failed.
pub(crate) fn relay(args: &RelayArgs) -> CommandResult {
    descriptors::allow_all();
    kdyno_testbed::relay::main(&args.spec).map(|never| match never {}).map_err(Failure::tool)
}
