//! The metrics that brokers keep of themselves: read from the agents of local brokers, from endpoints of a target's brokers in
//! the Prometheus text format, from a Prometheus server, or from their JMX through an exporter.
//!
//! Whatever answers, or does not: a reading takes a bounded time and memory, and its failure is a clause and nothing else.

pub(crate) mod console;
mod http;
pub(crate) mod mbeans;
mod names;
mod prometheus;
mod text;

pub use http::HttpLogin;

use http::Http;
use kdyno_model::event::Subject;
use kdyno_model::plan::MetricsFrom;
use kdyno_model::sample::series;
use names::ProcessMetrics;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Where the agent of a broker on this host exposes its metrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalEndpoint {
    /// The broker.
    pub subject: Subject,
    /// Its port on the loopback address.
    pub port: u16,
    /// The broker counts the request handlers of the controller in its process with its own.
    pub counts_controller: bool,
    /// Attributes of MBeans that it exposes in addition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mbeans: Vec<String>,
}

/// What one broker exposed of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokerReading {
    /// The broker.
    pub subject: Subject,
    /// When, on the wall clock of who scraped it, ns since 1970; `None`: just now.
    pub at_unix_ns: Option<u64>,
    /// Names of series, and their values.
    pub values: Vec<(String, f64)>,
}

/// Why nothing is read of a broker, or of all: one lowercase sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadMetrics {
    /// The broker, or all of them.
    pub subject: Subject,
    /// Why.
    pub why: String,
}

/// One endpoint of metrics.
#[derive(Debug)]
pub struct MetricsSource {
    http: Http,
    of: Of,
    /// For how long an agent of our own has answered so far.
    answered: Duration,
}

/// What is said of an answer that has nothing of Kafka's.
const NO_METRICS: &str = "it has none of Kafka's metrics (kafka_server_…)";

#[derive(Debug)]
enum Of {
    Broker {
        subject: Subject,
        url: String,
        is_own: bool,
        counts_controller: bool,
        /// Attributes of MBeans that it exposes in addition.
        mbeans: Vec<String>,
        /// What an intermediate exporter writes.
        console: Option<PathBuf>,
    },
    Server(prometheus::PrometheusServer),
}

impl MetricsSource {
    /// The agent of a broker on this host.
    ///
    /// # Errors
    /// There is no client for HTTP.
    pub fn local(endpoint: &LocalEndpoint) -> Result<Self, UnreadMetrics> {
        let unread = |why| UnreadMetrics { subject: endpoint.subject.clone(), why };
        Ok(Self {
            http: Http::new(&[], None).map_err(unread)?,
            of: Of::Broker {
                subject: endpoint.subject.clone(),
                url: format!("http://127.0.0.1:{}/metrics", endpoint.port),
                is_own: true,
                counts_controller: endpoint.counts_controller,
                mbeans: endpoint.mbeans.clone(),
                console: None,
            },
            answered: Duration::ZERO,
        })
    }

    /// An exporter on this host that reads a broker's JMX, and the file that its console is.
    ///
    /// # Errors
    /// There is no client for HTTP.
    pub(crate) fn exporter(endpoint: &LocalEndpoint, console: &Path) -> Result<Self, UnreadMetrics> {
        let mut source = Self::local(endpoint)?;
        if let Of::Broker { console: of, .. } = &mut source.of {
            *of = Some(console.to_owned());
        }
        Ok(source)
    }

    /// What a target names, for its brokers with their hosts. `trusted`: certificates of authorities as DER.
    ///
    /// # Errors
    /// Brokers cannot be distinguished, or the login cannot be sent.
    pub fn of_target(
        from: &MetricsFrom,
        brokers: &[(Subject, String)],
        trusted: &[Vec<u8>],
        login: Option<HttpLogin<'_>>,
    ) -> Result<Vec<Self>, UnreadMetrics> {
        let unread = |why| UnreadMetrics { subject: Subject::Brokers, why };
        let hosts: BTreeMap<String, Subject> =
            brokers.iter().map(|(subject, host)| (host.clone(), subject.clone())).collect();
        if hosts.len() < brokers.len() {
            let why = "metrics of the brokers are not read, for some have the same host and cannot be distinguished";
            return Err(unread(why.to_string()));
        }
        let http = || Http::new(trusted, login).map_err(|why| unread(not_read("the brokers", &why)));
        match from {
            MetricsFrom::Prometheus(url) => {
                let of = Of::Server(prometheus::PrometheusServer::new(url, hosts));
                Ok(vec![Self { http: http()?, of, answered: Duration::ZERO }])
            }
            MetricsFrom::PerBroker(url) => {
                let one = |(host, subject): (String, Subject)| {
                    // As in a broker's address, an IPv6 address needs brackets.
                    let host = if host.contains(':') { format!("[{host}]") } else { host };
                    let url = url.replace(MetricsFrom::HOST, &host);
                    Ok(Self {
                        http: http()?,
                        of: Of::Broker {
                            subject,
                            url,
                            is_own: false,
                            counts_controller: false,
                            mbeans: Vec::new(),
                            console: None,
                        },
                        answered: Duration::ZERO,
                    })
                };
                hosts.into_iter().map(one).collect()
            }
            // Read through exporters of our own.
            MetricsFrom::Jmx(_) => Ok(Vec::new()),
        }
    }

    /// Asks once; it takes as long as the answer does, and some seconds at most.
    ///
    /// # Errors
    /// There is no answer of use.
    pub fn read(&mut self) -> Result<Vec<BrokerReading>, UnreadMetrics> {
        match &mut self.of {
            Of::Broker { subject, url, is_own, counts_controller, mbeans, console } => {
                let begun = Instant::now();
                let named: Vec<String> = (0..mbeans.len()).map(mbeans::metric).collect();
                let mut asked: Vec<&str> = match (*is_own, console.is_some()) {
                    (false, _) => Vec::new(),
                    (true, false) => names::OF_AGENT.to_vec(),
                    (true, true) => names::OF_AGENT.into_iter().chain([names::OF_EXPORTER]).collect(),
                };
                asked.extend(named.iter().map(String::as_str));
                let values = of_broker(&self.http, url, &asked, mbeans, *counts_controller);
                let took = begun.elapsed();
                let values = match console {
                    Some(console) => {
                        values.map_err(|why| if why == NO_METRICS { console::why(console) } else { why })
                    }
                    None => values,
                };
                let whose = format!("broker {}", subject.to_string().trim_start_matches("broker-"));
                let asked_of = if *is_own { String::new() } else { format!(" (of {})", place(url)) };
                let unread = |why: String| UnreadMetrics {
                    subject: subject.clone(),
                    why: not_read(&whose, &format!("{why}{asked_of}")),
                };
                let mut values = values.map_err(unread)?;
                // An exporter is no part of a broker, to whose CPU time it would be added.
                if *is_own && console.is_none() {
                    self.answered += took;
                    values.push((series::AGENT_ANSWERED_S_TOTAL.to_owned(), self.answered.as_secs_f64()));
                }
                Ok(vec![BrokerReading { subject: subject.clone(), at_unix_ns: None, values }])
            }
            Of::Server(server) => {
                let unread = |why: String| UnreadMetrics {
                    subject: Subject::Brokers,
                    why: not_read("the brokers", &why),
                };
                let scraped = server.read(&self.http).map_err(unread)?;
                let one = |(subject, at_ms, values): prometheus::Scraped| BrokerReading {
                    subject,
                    at_unix_ns: Some(at_ms.saturating_mul(1_000_000)),
                    values,
                };
                Ok(scraped.into_iter().map(one).collect())
            }
        }
    }
}

/// `asked`: names of metrics; none for all of them. `mbeans`: attributes of MBeans in addition.
fn of_broker(
    http: &Http,
    url: &str,
    asked: &[&str],
    mbeans: &[String],
    counts_controller: bool,
) -> Result<Vec<names::NamedValue>, String> {
    let asked: Vec<(&str, &str)> = asked.iter().map(|name| ("name[]", *name)).collect();
    let answer = http.get(url, &asked)?;
    let mut reported = ProcessMetrics::default();
    let (mut is_any, mut in_addition) = (false, Vec::new());
    text::read(
        answer,
        |name| names::is_asked(name) || mbeans::is_asked(name),
        |one| {
            is_any |= one.name.starts_with("kafka_");
            reported.take(one);
            in_addition.extend(mbeans::take(mbeans, one, &mut reported));
        },
    )?;
    match is_any {
        true => Ok(reported.values(counts_controller).into_iter().chain(in_addition).collect()),
        false => Err(NO_METRICS.to_string()),
    }
}

/// Host and port of an address: neither a login in it nor its query is anybody else's business.
fn place(url: &str) -> &str {
    let behind_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = behind_scheme.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').map_or(authority, |(_, place)| place)
}

/// That metrics are not read, one lowercase sentence.
pub(crate) fn not_read(whose: &str, why: &str) -> String {
    format!("metrics of {whose} are not read: {why}")
}

/// That brokers of our own run without the agent although it is wanted, one lowercase sentence.
#[must_use]
pub fn missing_words(why: &str) -> String {
    format!("metrics of the brokers are not read: {why} (`metrics: none` under `system` does without them)")
}

#[cfg(test)]
mod tests;
