//! The server of `kdyno serve`: the pages of stored runs, for browsers of this host.
//!
//! Pages are made by blocking threads, a few at once, for a run file is read and analysed for each; nothing is kept but the
//! list of runs ([`library`]). Who may ask is said by [`http`].

mod guarded;
mod library;
mod pages;

use crate::failure::Failure;
use crate::http::{self, AllowedHosts};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use library::Library;
use pages::{PageResponse, Site};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a connection may last: a browser opens another one.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(60);
/// How often it is looked whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is served, and to whom.
#[derive(Debug)]
pub(crate) struct ServeOptions {
    /// The folder of run files.
    pub(crate) folder: PathBuf,
    /// Names, in addition to this host's own, under which a proxy reaches it.
    pub(crate) hosts: Vec<String>,
}

/// Serves until `stop` is set.
///
/// # Errors
/// There is no runtime to be had.
pub(crate) fn until(listener: TcpListener, served: ServeOptions, stop: &AtomicBool) -> Result<(), Failure> {
    let failed = |why: std::io::Error| Failure::tool(format!("cannot serve: {why}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let site = Arc::new(Site::new(Library::new(served.folder)));
    let router = router(Arc::clone(&site), &served.hosts);
    runtime.spawn_blocking(move || site.read_ahead());
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
        tokio::select! {
            () = http::accept(&listener, &router, CONNECTION_TIME_MAX) => {}
            () = is_set(stop) => {}
        }
        Ok::<(), Failure>(())
    })?;
    // A page that is being made has no reader any more.
    runtime.shutdown_background();
    Ok(())
}

async fn is_set(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn router(site: Arc<Site>, hosts: &[String]) -> Router {
    let hosts = Arc::new(AllowedHosts::new(hosts, "--host"));
    Router::new()
        .route("/", get(pages::list))
        .route("/run/{file}", get(pages::run))
        .route("/compare", get(pages::compare))
        .route("/course", get(pages::course))
        .route("/export/{format}/{file}", get(pages::export))
        .fallback(|| async { PageResponse::Nothing("there is no such page".to_owned()) })
        .layer(from_fn_with_state(hosts, guarded::check))
        .with_state(site)
}
