//! The hosts that carry a run's load: how each is reached, a session with each for every trial, what is known of them.

use super::credentials::read_certificate;
use super::lab_session::{AgentPlace, LabSession};
use super::pods::PodHosts;
use super::session::AgentHost;
use super::tls;
use crate::error::LabError;
use crate::output::{OutputTail, last_lines, read_lines};
use crate::secrets::{VariableLookup, resolved};
use crate::task::T0_AHEAD_NS;
use kdyno_kubernetes::PodsError;
use kdyno_model::event::Subject;
use kdyno_model::generator::{GeneratorHost, GeneratorPods, Reach};
use kdyno_model::plan::{CasePlan, Plan};
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::{ProbeReading, Sample, Timing, series};
use kdyno_model::secret::{Secret, SecretRef};
use rustls::ClientConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use std::time::Duration;

/// How long a host may take to accept a connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How long ssh may take to end once its stream is closed.
const SSH_END_DEADLINE: Duration = Duration::from_secs(5);

/// From the announcement to T0 at least where workers are on other hosts, ns; and so many of the slowest round trips.
const REMOTE_T0_AHEAD_NS: u64 = 1_000_000_000;
const ROUND_TRIPS_AHEAD: u64 = 10;

/// The hosts of a run, with what reaching them takes.
pub(crate) struct Generators {
    hosts: Vec<ReachedHost>,
    /// What an agent on this host would say of it.
    own: AgentHost,
    /// Environment variables with tokens.
    variables: Vec<String>,
    /// Those of the hosts that are pods, to be made.
    planned_pods: Option<Arc<GeneratorPods>>,
    /// And once they were made.
    pods: Option<PodHosts>,
}

struct ReachedHost {
    name: String,
    by: ReachedBy,
}

enum ReachedBy {
    Ssh { destination: String, program: String },
    Tls { address: String, config: Arc<ClientConfig>, token: Secret },
    Pod { index: u16 },
}

impl Generators {
    /// Reads certificates and tokens of the hosts that the plan names.
    ///
    /// # Errors
    /// One cannot be read, or the plan names a host of which nothing is known.
    pub(crate) fn resolve(
        plan: &Plan,
        known: &[GeneratorHost],
        variables: VariableLookup<'_>,
    ) -> Result<Self, LabError> {
        let named: BTreeSet<&String> = plan.every_case().flat_map(|case| &case.generators.hosts).collect();
        let is_known = |name: &String| known.iter().any(|host| host.name == *name);
        if let Some(name) = named.iter().find(|name| !is_known(name)) {
            return Err(LabError::Generator {
                name: (*name).clone(),
                why: "how it is reached is not kept with a run".to_owned(),
                hint: "name the generators again: `--generators FILE`",
            });
        }
        let mut hosts = Vec::new();
        for host in known.iter().filter(|host| named.contains(&host.name)) {
            hosts.push(ReachedHost::resolve(host, variables)?);
        }
        let variable = |host: &GeneratorHost| match &host.reach {
            Reach::Tls { token: SecretRef::Env(name), .. } => Some(name.clone()),
            Reach::Tls { .. } | Reach::Ssh { .. } | Reach::Pod { .. } => None,
        };
        let variables = known.iter().filter_map(variable).collect();
        let own = if hosts.is_empty() { AgentHost::default() } else { AgentHost::here() };
        let planned_pods = if hosts.is_empty() { None } else { GeneratorPods::among(known) };
        Ok(Self { hosts, own, variables, planned_pods, pods: None })
    }

    /// Makes the pods that carry load, if there are some, and waits until all of them run.
    ///
    /// # Errors
    /// One does not. Nothing stays of them.
    pub(crate) fn make_pods(
        &mut self,
        run_id: u64,
        stop: &AtomicBool,
        say: &mut dyn FnMut(String),
    ) -> Result<(), LabError> {
        if let Some(planned) = &self.planned_pods {
            self.pods = Some(PodHosts::start(planned, run_id, &self.own, stop, say)?);
        }
        Ok(())
    }

    /// Why pods no longer run, one lowercase sentence each.
    pub(crate) fn gone_pods(&self) -> Vec<String> {
        self.pods.as_ref().map(PodHosts::gone).unwrap_or_default()
    }

    /// Removes the pods, which dropping this does too, without a word where it fails.
    ///
    /// # Errors
    /// Something may be left.
    pub(crate) fn remove_pods(&mut self) -> Result<(), PodsError> {
        self.pods.take().map_or(Ok(()), |mut pods| pods.remove())
    }

    /// Whether no other host carries load.
    pub(crate) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Environment variables that hold a token.
    pub(crate) fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Opens a session with each host of a case.
    ///
    /// # Errors
    /// One is not reached, or cannot carry load of this case.
    pub(crate) fn open(&self, case: &CasePlan) -> Result<TrialPlaces, LabError> {
        let wanted = case.workers.iter().filter_map(|planned| {
            let name = case.generators.host_of(planned.worker)?;
            self.hosts.iter().find(|host| host.name == name).map(|host| (planned.worker, host))
        });
        let opened: Vec<_> = std::thread::scope(|scope| {
            let opening: Vec<_> = wanted
                .map(|(worker, host)| (worker, scope.spawn(move || host.open(&self.own, self.pods.as_ref()))))
                .collect();
            let joined = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                // A defect of ours: it is not hidden by going on.
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            opening.into_iter().map(|(worker, thread)| (worker, joined(thread))).collect()
        });
        let mut sessions = BTreeMap::new();
        for (worker, session) in opened {
            sessions.insert(worker, session?);
        }
        let node = |host: &ReachedHost| match (&host.by, &self.pods) {
            (ReachedBy::Pod { index }, Some(pods)) => Some((host.name.clone(), pods.node(*index).to_owned())),
            _ => None,
        };
        let nodes = self.hosts.iter().filter_map(node).collect();
        let places = TrialPlaces { sessions, own: self.own.clone(), nodes };
        places.can_reach(case)?;
        Ok(places)
    }

    /// Tries whether all of them can be reached.
    ///
    /// # Errors
    /// The first one that cannot.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), LabError> {
        let case = plan.every_case().find(|case| !case.generators.is_empty());
        case.map_or(Ok(()), |case| self.open(case).map(drop))
    }
}

impl ReachedHost {
    fn resolve(host: &GeneratorHost, variables: VariableLookup<'_>) -> Result<Self, LabError> {
        let name = host.name.clone();
        let by = match &host.reach {
            Reach::Ssh { destination, program } => {
                ReachedBy::Ssh { destination: destination.clone(), program: program.clone() }
            }
            Reach::Tls { address, certificate, token } => {
                let config = read_certificate(certificate).and_then(|pem| {
                    tls::client(&pem).map_err(|why| format!("is no certificate of an agent: {why}"))
                });
                let config = config.map_err(|why| LabError::Generator {
                    name: name.clone(),
                    why: format!("{} {why}", certificate.display()),
                    hint: "`kdyno agent --listen` has written it: `certificate.pem`",
                })?;
                let token = resolved(&format!("token of {name}"), token, variables)?;
                ReachedBy::Tls { address: address.clone(), config, token }
            }
            Reach::Pod { index, .. } => ReachedBy::Pod { index: *index },
        };
        Ok(Self { name, by })
    }

    fn open(&self, own: &AgentHost, pods: Option<&PodHosts>) -> Result<HostSession, LabError> {
        let opened = match &self.by {
            ReachedBy::Ssh { destination, program } => self.by_ssh(destination, program, own),
            ReachedBy::Tls { address, config, token } => self.by_tls(address, config, token, own),
            ReachedBy::Pod { index } => {
                let pods = pods.ok_or_else(|| "its pod was not made".to_owned());
                let session = pods.and_then(|pods| pods.open(*index, &self.name, own));
                session.map(|session| HostSession { name: self.name.clone(), session, _ssh: None })
            }
        };
        let hint = match self.by {
            ReachedBy::Ssh { .. } => "does `ssh HOST kdyno version` work without a question?",
            ReachedBy::Tls { .. } => {
                "does `kdyno agent --listen` run there, with this certificate and token?"
            }
            ReachedBy::Pod { .. } => "",
        };
        opened.map_err(|why| LabError::Generator { name: self.name.clone(), why, hint })
    }

    fn by_ssh(&self, destination: &str, program: &str, own: &AgentHost) -> Result<HostSession, String> {
        let failed = |error: std::io::Error| format!("ssh could not be started: {error}");
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let output = theirs.try_clone().map_err(failed)?;
        let mut command = Command::new("ssh");
        // It asks nobody anything, for nobody might be there.
        command.args(["-T", "-o", "BatchMode=yes", "--", destination, program, "agent", "--stdio"]);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::from(OwnedFd::from(output)));
        let child = command.stderr(Stdio::piped()).process_group(0).spawn().map_err(failed)?;
        // It holds ends of the socket, which must close when ssh ends.
        drop(command);
        let mut ssh = Ssh::new(child);
        match LabSession::open(&self.name, ours, &[], own) {
            Ok(session) => Ok(HostSession { name: self.name.clone(), session, _ssh: Some(ssh) }),
            Err(why) => Err(format!("{why}{}", ssh.last_words())),
        }
    }

    fn by_tls(
        &self,
        address: &str,
        config: &Arc<ClientConfig>,
        token: &Secret,
        own: &AgentHost,
    ) -> Result<HostSession, String> {
        let tcp = connected(address).map_err(|error| format!("it is not reached: {error}"))?;
        let (stream, carrier) = tls::connect(config, tcp).map_err(|error| error.to_string())?;
        match LabSession::open(&self.name, stream, token.expose(), own) {
            Ok(session) => Ok(HostSession { name: self.name.clone(), session, _ssh: None }),
            // What ended the stream says more than that it ended.
            Err(why) => Err(match carrier.join() {
                Ok(Err(error)) => format!("it is not spoken to by TLS: {error}"),
                _ => why,
            }),
        }
    }
}

fn connected(address: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_DEADLINE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A running ssh, and the end of what it and the agent wrote.
struct Ssh {
    child: Child,
    tail: Option<JoinHandle<String>>,
}

impl Ssh {
    fn new(mut child: Child) -> Self {
        let tail = child.stderr.take().and_then(|stderr| {
            let read = move || {
                let mut tail = OutputTail::default();
                read_lines(stderr, |line| tail.push(line));
                tail.text()
            };
            std::thread::Builder::new().name("ssh-output".to_owned()).spawn(read).ok()
        });
        Self { child, tail }
    }

    /// Ends it; what it wrote last.
    fn last_words(&mut self) -> String {
        self.end();
        self.tail
            .take()
            .and_then(|thread| thread.join().ok())
            .map(|tail| last_lines(&tail))
            .unwrap_or_default()
    }

    fn end(&mut self) {
        super::exited_within(self.child.id(), SSH_END_DEADLINE);
        // Both fail only when there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        self.end();
    }
}

/// A session, and what carries it.
struct HostSession {
    name: String,
    session: LabSession,
    /// Ends after the session.
    _ssh: Option<Ssh>,
}

/// Where the workers of a trial are: sessions with the hosts of those that are not children of the lab.
pub(crate) struct TrialPlaces {
    sessions: BTreeMap<u16, HostSession>,
    own: AgentHost,
    /// The nodes of those that are pods, by the names of hosts.
    nodes: BTreeMap<String, String>,
}

impl TrialPlaces {
    /// The place of a worker; `None`: this host.
    pub(crate) fn of<'s>(&'s self, worker: u16, work_dir: &'s Path) -> Option<AgentPlace<'s>> {
        self.sessions.get(&worker).map(|host| host.session.place(work_dir))
    }

    /// Refuses brokers that listen on this host's loopback address alone for a host that is another one.
    fn can_reach(&self, case: &CasePlan) -> Result<(), LabError> {
        let elsewhere = self.sessions.values().find(|host| !host.session.host.is_host_of(&self.own));
        match elsewhere.filter(|_| case.system.runs_here()) {
            None => Ok(()),
            Some(host) => Err(LabError::Generator {
                name: host.name.clone(),
                why: "it cannot reach the brokers of this run, which listen on this host's loopback address"
                    .to_owned(),
                hint: "name an existing cluster with --target",
            }),
        }
    }

    /// What is known of the hosts, as facts of a trial: the same in each trial of a run.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        let of_host = |host: &HostSession| {
            let there = &host.session.host;
            let yes_if = |is_so: bool| if is_so { cluster_fact::YES } else { "no" }.to_owned();
            let found = [
                (cluster_fact::PROCESSORS, there.processors.to_string()),
                (cluster_fact::ELSEWHERE, yes_if(!there.is_host_of(&self.own))),
                (cluster_fact::OWN_CLOCK, yes_if(host.session.clock.bound_ns > 0)),
            ];
            let node = self.nodes.get(&host.name).map(|node| (cluster_fact::NODE, node.clone()));
            let all: Vec<_> = found.into_iter().chain(node).chain(there.known_facts()).collect();
            let name = host.name.clone();
            all.into_iter().map(move |(what, value)| (cluster_fact::generator(&name, what), value))
        };
        self.sessions.values().flat_map(of_host).collect()
    }

    /// How far their clocks are from ours, before T0.
    pub(crate) fn clocks(&self) -> Vec<ProbeReading> {
        let of_worker = |(worker, host): (&u16, &HostSession)| {
            let clock = host.session.clock;
            let named = [
                (series::CLOCK_OFFSET_S, clock.offset_ns as f64 / 1e9),
                (series::CLOCK_BOUND_S, clock.bound_ns as f64 / 1e9),
            ];
            let subject = Subject::Worker(*worker);
            named.map(|(series, value)| ProbeReading {
                at_ns: 0,
                subject: subject.clone(),
                series: series.to_owned(),
                value,
            })
        };
        self.sessions.iter().flat_map(of_worker).collect()
    }

    /// Leaves out of a sample what two clocks would have to be one for.
    pub(crate) fn keep_known(&self, sample: &mut Sample) {
        if self.sessions.values().any(|host| host.session.clock.bound_ns > 0) {
            let is_of_two = |timing: &Timing| {
                Timing::OF_HANDED.iter().any(|one| one == timing || one.below_zero() == Some(*timing))
            };
            sample.histograms.retain(|timing, _| !is_of_two(timing));
            sample.sums_ns.retain(|timing, _| !is_of_two(timing));
        }
    }

    /// How far ahead T0 is announced, ns.
    pub(crate) fn t0_ahead_ns(&self) -> u64 {
        let slowest = self.sessions.values().map(|host| host.session.round_trip_ns).max();
        slowest
            .map_or(T0_AHEAD_NS, |slowest| REMOTE_T0_AHEAD_NS.max(slowest.saturating_mul(ROUND_TRIPS_AHEAD)))
    }

    /// Whether every agent has heard of T0 before it.
    ///
    /// # Errors
    /// One has not.
    pub(crate) fn check_in_time(&self, t0_ns: u64) -> Result<(), LabError> {
        self.sessions.values().try_for_each(|host| {
            let checked = host.session.check_in_time(t0_ns);
            checked.map_err(|why| LabError::Generator { name: host.name.clone(), why, hint: "" })
        })
    }

    /// Workers are read from T0 on.
    pub(crate) fn load_starts(&self, t0_ns: u64) {
        self.sessions.values().for_each(|host| host.session.load_starts(t0_ns));
    }

    /// And at the ends of phases, ns from T0.
    pub(crate) fn phases_end(&self, ends_ns: &[u64]) {
        self.sessions.values().for_each(|host| host.session.phases_end(ends_ns));
    }
}
