//! A small HTTP server: what `--metrics-listen` and `kdyno serve` share beneath axum.

mod callers;

pub(crate) use callers::AllowedHosts;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Most connections at once: a few monitoring systems, or a browser.
const CONNECTIONS_MAX: usize = 16;
/// In this time a connection has to ask for something: on one host a request comes at once.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);
/// Until the next one is taken after none could be.
const ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Takes connections, a few at once, each for one request and a bounded time, so that a client that leaves them open
/// takes neither descriptors nor places from others. Where there is no place left, the oldest one without a request yet
/// gives way; where all have one, the new one is closed at once.
pub(crate) async fn accept(listener: &TcpListener, router: &Router, connection_time_max: Duration) {
    let mut open: Vec<HttpConnection> = Vec::new();
    loop {
        let socket = match listener.accept().await {
            Ok((socket, _)) => socket,
            // A caller that was gone before it was taken.
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(_) => {
                // No descriptor or memory is left; asking again at once would take a processor.
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        open.retain(|connection| !connection.task.is_finished());
        if open.len() >= CONNECTIONS_MAX {
            let silent = open.iter().position(|connection| !connection.has_asked.load(Ordering::Relaxed));
            let Some(silent) = silent else { continue };
            open.remove(silent).task.abort();
        }
        open.push(HttpConnection::serve(socket, router.clone(), connection_time_max));
    }
}

/// An open connection.
struct HttpConnection {
    /// Whether the head of a request has come.
    has_asked: Arc<AtomicBool>,
    task: AbortHandle,
}

impl HttpConnection {
    fn serve(socket: TcpStream, router: Router, time_max: Duration) -> Self {
        let has_asked = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&has_asked);
        let router = TowerToHyperService::new(router);
        let service = service_fn(move |request| {
            asked.store(true, Ordering::Relaxed);
            router.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME_MAX)
            // Between two requests a place would be idle.
            .keep_alive(false)
            .serve_connection(TokioIo::new(socket), service);
        // Who asks wrongly or goes away has no answer.
        let task = tokio::spawn(async move { drop(tokio::time::timeout(time_max, connection).await) });
        Self { has_asked, task: task.abort_handle() }
    }
}
