//! Answers a monitoring system that asks over HTTP for the state of a run (`--metrics-listen`).
//!
//! Its thread has a runtime of its own and shares nothing with the run but the values of the newest second.

use crate::cli::VERSION;
use crate::failure::Failure;
use crate::http::{self, AllowedHosts};
use crate::out;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kdyno_analysis::live_metrics::LiveItems;
use kdyno_lab::{LiveTrial, RunProgress};
use kdyno_model::live_metrics::{LiveValue, metrics};
use kdyno_model::sample::Phase;
use kdyno_report::open_metrics::{CONTENT_TYPE, document};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const NS_PER_S: f64 = 1e9;
const PHASES: [Phase; 4] = [Phase::Startup, Phase::Warmup, Phase::Measure, Phase::Drain];

/// How long one may last; who wants to ask again connects again.
const CONNECTION_TIME_MAX: Duration = Duration::from_secs(10);

/// Listens until it is dropped.
pub(crate) struct MetricsListener {
    scenario: String,
    items: LiveItems,
    /// What is answered.
    values: Arc<Mutex<Vec<LiveValue>>>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsListener {
    /// Listens on an address and says so. Those who ask may call this host by `names` too.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn start(address: SocketAddr, names: &[String], scenario: &str) -> Result<Self, Failure> {
        let failed = |why: std::io::Error| {
            Failure::tool(format!("cannot listen for metrics on {address}: {why}"))
                .hint("`--metrics-listen 0` takes a free port of the loopback address")
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hosts = AllowedHosts::new(names, "--metrics-host");
        let hosts = if address.ip().is_loopback() { hosts } else { hosts.with_addresses() };
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let values = Arc::new(Mutex::new(Vec::new()));
        let answered = Arc::clone(&values);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let thread = std::thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || runtime.block_on(serve(listener, hosts, answered, stopped)))
            .map_err(failed)?;
        out::note(&format!("metrics http://{address}/metrics"));
        if !address.ip().is_loopback() {
            out::note(
                "warning: everybody who reaches that address can read the metrics, which ask for no password",
            );
        }
        let listener = Self {
            scenario: scenario.to_owned(),
            items: LiveItems::default(),
            values,
            stop: Some(stop),
            thread: Some(thread),
        };
        listener.publish(Vec::new());
        Ok(listener)
    }

    /// Takes one piece of news.
    pub(crate) fn tell(&mut self, progress: &RunProgress) {
        match progress {
            RunProgress::TrialStarted { trial, .. } => {
                self.items.begin(&trial.label, &trial.effective.load);
                self.publish(Vec::new());
            }
            RunProgress::Live(live) => self.take(&[live]),
            RunProgress::LiveOfPair(pair) => self.take(&[&pair[0], &pair[1]]),
            RunProgress::TrialEnded(outcome, _) => {
                self.items.end(outcome.trial.id);
                self.publish(Vec::new());
            }
            RunProgress::Step(_) | RunProgress::Warning(_) | RunProgress::ClientMetrics(_) => {}
        }
    }

    fn take(&mut self, all: &[&LiveTrial]) {
        for live in all {
            self.items.take(&live.label, &live.recent, live.complete_until);
        }
        self.publish(all.iter().flat_map(|live| of_trial(live)).collect());
    }

    /// Answers with this of the trials that run, and with all that was counted, from now on.
    fn publish(&self, of_trials: Vec<LiveValue>) {
        let labels = vec![self.scenario.clone(), VERSION.to_owned()];
        let mut values = vec![LiveValue { metric: &metrics::RUN_INFO, labels, value: 1.0 }];
        values.extend(of_trials);
        values.extend(self.items.values());
        *self.values.lock().unwrap_or_else(PoisonError::into_inner) = values;
    }
}

impl Drop for MetricsListener {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A listener that failed has nothing left to end.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Answers until the other end of `stopped` is gone; requests under way are cut off with the runtime.
async fn serve(
    listener: TcpListener,
    hosts: AllowedHosts,
    values: Arc<Mutex<Vec<LiveValue>>>,
    stopped: tokio::sync::oneshot::Receiver<()>,
) {
    let answer = move || {
        let values = values.lock().unwrap_or_else(PoisonError::into_inner).clone();
        async move { ([(header::CONTENT_TYPE, CONTENT_TYPE)], document(values)) }
    };
    let checked = from_fn_with_state(Arc::new(hosts), check);
    let router = Router::new().route("/metrics", get(answer)).layer(checked);
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    tokio::select! {
        () = http::accept(&listener, &router, CONNECTION_TIME_MAX) => {}
        _ = stopped => {}
    }
}

/// Lets a request through, or says why not.
async fn check(State(hosts): State<Arc<AllowedHosts>>, request: Request, next: Next) -> Response {
    match hosts.refused(request.method(), request.headers()) {
        Some(why) => (StatusCode::FORBIDDEN, why + "\n").into_response(),
        None => next.run(request).await,
    }
}

/// Which trial runs, and how far it is.
fn of_trial(live: &LiveTrial) -> Vec<LiveValue> {
    let case = || vec![live.label.clone()];
    let mut values = vec![
        LiveValue { metric: &metrics::TRIAL, labels: case(), value: f64::from(live.trial.0) },
        LiveValue {
            metric: &metrics::TRIAL_ELAPSED,
            labels: case(),
            value: live.elapsed_ns as f64 / NS_PER_S,
        },
    ];
    let of = live.of.map(|of| (&metrics::TRIALS_PLANNED, f64::from(of)));
    let remaining = live.remaining_ns.map(|ns| (&metrics::RUN_REMAINING, ns as f64 / NS_PER_S));
    values.extend(of.into_iter().chain(remaining).map(|(metric, value)| LiveValue {
        metric,
        labels: case(),
        value,
    }));
    values.extend(PHASES.map(|phase| LiveValue {
        metric: &metrics::PHASE,
        labels: vec![live.label.clone(), phase.to_string()],
        value: if phase == live.phase { 1.0 } else { 0.0 },
    }));
    values
}
