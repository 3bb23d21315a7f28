//! `kdyno agent`: carries load on this host for a run on another one.

use super::descriptors;
use crate::cli::AgentArgs;
use crate::environment::ProgramEnvironment;
use crate::failure::{CommandResult, Exit, Failure};
use crate::{out, signals};
use kdyno_lab::generator::{AgentOptions, Listening, listen, listen_for_lab, serve_stdio};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Serves until the lab ends the session, or until it is interrupted.
pub(crate) fn agent(args: &AgentArgs) -> CommandResult {
    descriptors::allow_all();
    let environment = ProgramEnvironment::read()?;
    let options = AgentOptions {
        self_exe: environment.self_exe,
        temp_dir: environment.temp_dir,
        stop: signals::stop_flag()?,
        waits_for_first: args.until_alone.map(Duration::from_secs),
    };
    let Some(address) = args.listen else {
        // Without the buffers of the standard streams, in which bytes would wait unseen.
        let owned = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from).map_err(Failure::tool);
        let (input, output) = (owned(std::io::stdin().as_fd())?, owned(std::io::stdout().as_fd())?);
        serve_stdio(input, output, &options).map_err(Failure::tool)?;
        return Ok(Exit::Done);
    };
    let started = |of: &Listening| {
        // For scripts that let it take a free port.
        let _ = out::line(&of.address.to_string());
        let files = format!("{} and {}", of.certificate.display(), of.token.display());
        out::note(&format!("runs that name this host as a generator need copies of {files}"));
    };
    let say = |what: &str| out::note(what);
    let served = match &args.lab {
        None => listen(address, &args.identity, &options, started, &say),
        Some(runs) => listen_for_lab(runs, (address, args.identity.as_path()), &options, started, &say),
    };
    served.map_err(Failure::tool)?;
    Ok(Exit::Done)
}
