//! A small HTTP server: what `--metrics-listen` and `kdyno serve` share beneath axum.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Most connections at once: a few monitoring systems, or a browser.
const CONNECTIONS_MAX: usize = 16;
/// Until the next one is taken after none could be.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Takes connections, a few at once and each for a bounded time, so that whoever leaves them open takes no descriptors from
/// anybody. One too many is closed at once.
pub(crate) async fn accept(listener: &TcpListener, router: &Router, connection_time_max: Duration) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // Mostly there is no descriptor left; asking again at once would take a processor.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
        tokio::spawn(async move {
            let _place = place;
            // Who asks wrongly or goes away has no answer.
            let _ = tokio::time::timeout(connection_time_max, connection).await;
        });
    }
}
