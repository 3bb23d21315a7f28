//! Load over HTTP: users of an application, and jobs that it does.
//!
//! It runs as a process of its own, started as commands of other people are (`kdyno_testbed::command`), and prints each
//! request as a line of CSV, in the form of JMeter's results: when it began, ms since 1970, how long it
//! took, ms, which step it was, and whether it was answered as it should. Nothing of it grows with their number.
//!
//! A user is a task with a connection of its own that is kept open, all on one thread: what an application gets to see is
//! as many connections as it has users, and what one user waits for holds up no other.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod client;
mod error;
mod job;
mod lines;
mod turn;
mod users;
mod values;

pub use error::HttpLoadError;

use client::ClientOptions;
use kdyno_model::plan::http_load::HttpLoad;
use lines::RequestLines;
use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use values::FileRows;

/// How often it looks whether it is to end.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// Looks whether all that a load is made of is there and of use, and sends nothing: files, rows and their columns,
/// certificates, headers.
///
/// # Errors
/// The first that is not.
pub fn check(load: &HttpLoad) -> Result<(), HttpLoadError> {
    ClientOptions::of(load.target())?;
    load.steps().into_iter().try_for_each(turn::check)?;
    match load {
        HttpLoad::Users(plan) => {
            plan.data.as_deref().map_or(Ok(()), |path| FileRows::read(path)?.serve(path, &plan.steps))
        }
        HttpLoad::Job(_) => Ok(()),
    }
}

/// Runs what a file describes, until it is done or is asked to end. Requests go to `out`, the first failures to `err`.
///
/// # Errors
/// The file is of no use, what it names is not there, or a job failed.
pub fn main(
    plan: &Path,
    stop: Arc<AtomicBool>,
    out: impl Write + 'static,
    err: impl Write + 'static,
) -> Result<(), HttpLoadError> {
    let text = std::fs::read(plan).map_err(|error| HttpLoadError::file(plan.display(), &error))?;
    let load: HttpLoad = serde_json::from_slice(&text)
        .map_err(|error| HttpLoadError(format!("the plan of what to send cannot be understood: {error}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| HttpLoadError(format!("the process cannot wait for anything: {error}")))?;
    tokio::task::LocalSet::new().block_on(&runtime, run(&load, stop, Rc::new(RequestLines::of(out, err))))
}

async fn run(load: &HttpLoad, stop: Arc<AtomicBool>, lines: Rc<RequestLines>) -> Result<(), HttpLoadError> {
    let (end, stopped) = watch::channel(false);
    tokio::task::spawn_local(async move {
        while !stop.load(Ordering::Relaxed) {
            tokio::time::sleep(LOOKS_EVERY).await;
        }
        // A receiver that is gone needs no message.
        let _ = end.send(true);
    });
    let flushed = Rc::clone(&lines);
    tokio::task::spawn_local(async move { flushed.keep_flushed().await });
    let ended = match load {
        HttpLoad::Users(plan) => users::run(plan, &lines, stopped).await,
        HttpLoad::Job(plan) => job::run(plan, &lines, stopped).await,
    };
    lines.finish();
    ended
}
