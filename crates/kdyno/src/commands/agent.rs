//! `kdyno agent`: carries load on this host for a run on another one.

use super::descriptors;
use crate::cli::AgentArgs;
use crate::environment::ProgramEnvironment;
use crate::failure::{CommandResult, Exit, Failure};
use crate::{out, signals};
use kdyno_lab::generator::{AgentOptions, Listening, listen, listen_for_lab, serve_held, serve_stdio};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// Serves until the lab ends the session, or until it is interrupted.
pub(crate) fn agent(args: &AgentArgs) -> CommandResult {
    descriptors::allow_all();
    let environment = ProgramEnvironment::read()?;
    let (self_exe, temp_dir) = (environment.self_exe, environment.temp_dir);
    let waits_for_first = args.until_alone.map(Duration::from_secs);
    // Without the buffers of the standard streams, in which bytes would wait unseen.
    let owned = |fd: BorrowedFd<'_>| fd.try_clone_to_owned().map_err(Failure::tool);
    if args.stdio {
        // A signal ends it as it ends ssh: the lab makes another connection.
        let options = AgentOptions { self_exe, temp_dir, stop: Arc::default(), waits_for_first };
        let (input, output) = (owned(std::io::stdin().as_fd())?, owned(std::io::stdout().as_fd())?);
        serve_stdio(File::from(input), File::from(output), &options).map_err(Failure::tool)?;
        return Ok(Exit::Done);
    }
    let options = AgentOptions { self_exe, temp_dir, stop: signals::stop_flag()?, waits_for_first };
    let Some(address) = args.listen else {
        let socket = UnixStream::from(owned(std::io::stdin().as_fd())?);
        serve_held(socket, &options).map_err(Failure::tool)?;
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
