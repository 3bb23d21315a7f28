//! The hosts that carry a run's load: how each is reached, a session with each for every trial, what is known of them.

use super::agent_place::AgentPlace;
use super::clock::Exchange;
use super::copied::OwnProgram;
use super::courses::{ClockCourse, ClockCourses, of_clock};
use super::credentials::read_certificate;
use super::lab_session::LabSession;
use super::pods::PodHosts;
use super::session::{AgentHost, SILENCE};
use super::ssh::{Opening, ProgramThere, SshHost, SshOfSession, Unreached};
use super::tls;
use crate::error::LabError;
use crate::options::{RunOptions, RunProgress};
use crate::secrets::resolved;
use crate::task::T0_AHEAD_NS;
use kdyno_kubernetes::{PodPlace, PodsError};
use kdyno_model::event::Subject;
use kdyno_model::generator::{GeneratorHost, GeneratorPods, Reach};
use kdyno_model::plan::{CasePlan, CommandBegins, Plan};
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::{ProbeReading, series};
use kdyno_model::secret::Secret;
use rustls::ClientConfig;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// How long a host may take to accept a connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// How long it may take once more, where a connection broke: some attempts fit into the time in which a session may be resumed.
const REDIAL_DEADLINE: Duration = Duration::from_secs(3);

/// From the announcement to T0 at least where workers are on other hosts, ns; and so many of the slowest round trips.
const REMOTE_T0_AHEAD_NS: u64 = 1_000_000_000;
const ROUND_TRIPS_AHEAD: u64 = 10;

/// The hosts of a run, with what reaching them takes.
pub(crate) struct Generators {
    hosts: Vec<ReachedHost>,
    /// What an agent on this host would say of it.
    own: AgentHost,
    /// Environment variables that ssh does not inherit.
    hidden: Vec<String>,
    /// Set from outside to end the run.
    stop: Arc<AtomicBool>,
    /// The pods to be made.
    planned_pods: Option<Arc<GeneratorPods>>,
    /// The pods once they were made.
    pods: Option<PodHosts>,
}

struct ReachedHost {
    name: String,
    by: ReachedBy,
}

enum ReachedBy {
    Ssh(SshHost),
    Tls { address: String, config: Arc<ClientConfig>, token: Secret },
    Pod { index: u16 },
}

impl Generators {
    /// Reads certificates and tokens of the hosts that the plan names, and this program where one takes its copy. What is
    /// started to reach one does not inherit the environment variables `hidden`.
    ///
    /// # Errors
    /// One cannot be read, or the plan names an unknown host.
    pub(crate) fn resolve(
        plan: &Plan,
        options: &RunOptions<'_>,
        hidden: Vec<String>,
    ) -> Result<Self, LabError> {
        let known = options.generators;
        let named: BTreeSet<&String> = plan.every_case().flat_map(|case| &case.generators.hosts).collect();
        let is_known = |name: &String| known.iter().any(|host| host.name == *name);
        if let Some(name) = named.iter().find(|name| !is_known(name)) {
            return Err(LabError::Generator {
                name: (*name).clone(),
                why: "how it is reached is not kept with a run".to_owned(),
                hint: "name the generators again: `--generators FILE`",
            });
        }
        let (mut hosts, mut copied) = (Vec::new(), None);
        for host in known.iter().filter(|host| named.contains(&host.name)) {
            hosts.push(ReachedHost::resolve(host, options, &mut copied)?);
        }
        let own = if hosts.is_empty() { AgentHost::default() } else { AgentHost::here() };
        let planned_pods = if hosts.is_empty() { None } else { GeneratorPods::among(known) };
        Ok(Self { hosts, own, hidden, stop: Arc::clone(&options.stop), planned_pods, pods: None })
    }

    /// Makes the pods that carry load, if there are some, and waits until all of them run; `say` gets what they wait for.
    ///
    /// # Errors
    /// One does not. Nothing stays of them.
    pub(crate) fn make_pods(
        &mut self,
        plan: &Plan,
        run_id: u64,
        say: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        if let Some(planned) = &self.planned_pods {
            let say = &mut |step| say(RunProgress::Step(step));
            let cases: Vec<_> = plan.every_case().map(|case| at_once(case, planned)).collect();
            self.pods = Some(PodHosts::start((planned, &cases), run_id, &self.own, &self.stop, say)?);
        }
        Ok(())
    }

    /// The pods that carry load, made or not.
    pub(crate) fn planned_pods(&self) -> Option<&GeneratorPods> {
        self.planned_pods.as_deref()
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

    /// Opens a session with each host of a case; `say` gets what takes time.
    ///
    /// # Errors
    /// One is not reached, or cannot carry load of this case.
    pub(crate) fn open(
        &self,
        case: &CasePlan,
        say: &mut dyn FnMut(RunProgress),
    ) -> Result<TrialPlaces, LabError> {
        let wanted = case.workers.iter().filter_map(|planned| {
            let name = case.generators.host_of(planned.worker)?;
            self.hosts.iter().find(|host| host.name == name).map(|host| (planned.worker, host))
        });
        let (steps, heard) = mpsc::channel();
        let opened: Vec<_> = std::thread::scope(|scope| {
            let opening: Vec<_> = wanted
                .map(|(worker, host)| {
                    let (own, hidden, stop) = (&self.own, self.hidden.as_slice(), &*self.stop);
                    let opening = Opening { own, hidden, stop, steps: steps.clone() };
                    let pods = self.pods.as_ref();
                    (worker, scope.spawn(move || host.open(&opening, pods)))
                })
                .collect();
            drop(steps);
            // Until all have come to their end.
            heard.iter().for_each(|step| say(RunProgress::Step(step)));
            opening.into_iter().map(|(worker, thread)| (worker, joined(thread))).collect()
        });
        let mut sessions = BTreeMap::new();
        for (worker, session) in opened {
            sessions.insert(worker, session?);
        }
        let place = |host: &ReachedHost| match (&host.by, &self.pods) {
            (ReachedBy::Pod { index }, Some(pods)) => Some((host.name.clone(), pods.place(*index)?.clone())),
            _ => None,
        };
        let pods = self.hosts.iter().filter_map(place).collect();
        let places = TrialPlaces { sessions, own: self.own.clone(), pods };
        places.can_reach(case)?;
        Ok(places)
    }

    /// Tries whether all of them can be reached, and gives each a copy of this program that takes one.
    ///
    /// # Errors
    /// The first one that cannot.
    pub(crate) fn check(&self, plan: &Plan, say: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let case = plan.every_case().find(|case| !case.generators.is_empty());
        case.map_or(Ok(()), |case| self.open(case, say).map(drop))
    }
}

impl ReachedHost {
    /// `copied`: this program, once it has been read.
    fn resolve(
        host: &GeneratorHost,
        options: &RunOptions<'_>,
        copied: &mut Option<Arc<OwnProgram>>,
    ) -> Result<Self, LabError> {
        let name = host.name.clone();
        let by = match &host.reach {
            Reach::Ssh { destination, config, program } => {
                let program = match (program, copied.as_ref()) {
                    (Some(path), _) => ProgramThere::Named(path.clone()),
                    (None, Some(read)) => ProgramThere::Copied(Arc::clone(read)),
                    (None, None) => {
                        let read = OwnProgram::read(&options.self_exe);
                        let failed = |why| LabError::Generator { name: name.clone(), why, hint: "" };
                        let read = copied.insert(Arc::new(read.map_err(failed)?));
                        ProgramThere::Copied(Arc::clone(read))
                    }
                };
                let (destination, config) = (destination.clone(), config.clone());
                ReachedBy::Ssh(SshHost { destination, config, program })
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
                let token = resolved(&format!("token of {name}"), token, options.variables)?;
                ReachedBy::Tls { address: address.clone(), config, token }
            }
            Reach::Pod { index, .. } => ReachedBy::Pod { index: *index },
        };
        Ok(Self { name, by })
    }

    fn open(&self, opening: &Opening<'_>, pods: Option<&PodHosts>) -> Result<HostSession, LabError> {
        let opened = match &self.by {
            ReachedBy::Ssh(host) => host.open(&self.name, opening).map(|(session, ssh)| (session, Some(ssh))),
            ReachedBy::Tls { address, config, token } => {
                let opened = self.by_tls(address, config, token, opening.own);
                let hint = "does `kdyno agent --listen` run there, with this certificate and token?";
                opened.map(|session| (session, None)).map_err(|why| Unreached { why, hint })
            }
            ReachedBy::Pod { index } => {
                let pods = pods.ok_or_else(|| "its pod was not made".to_owned());
                let opened = pods.and_then(|pods| pods.open(*index, &self.name, opening.own));
                opened.map(|session| (session, None)).map_err(|why| Unreached { why, hint: "" })
            }
        };
        let name = self.name.clone();
        match opened {
            Ok((session, ssh)) => Ok(HostSession { name, session, _ssh: ssh }),
            Err(Unreached { why, hint }) => Err(LabError::Generator { name, why, hint }),
        }
    }

    fn by_tls(
        &self,
        address: &str,
        config: &Arc<ClientConfig>,
        token: &Secret,
        own: &AgentHost,
    ) -> Result<LabSession, String> {
        let not_reached = |error: std::io::Error| format!("it is not reached: {error}");
        let tcp = connected(address).map_err(not_reached)?;
        let peer = tcp.peer_addr().map_err(not_reached)?;
        let (stream, carrier) = tls::connect(config, tcp).map_err(|error| error.to_string())?;
        let config = Arc::clone(config);
        // The session is with the agent at this very address: its name is not resolved again.
        let again = move || {
            let tcp = TcpStream::connect_timeout(&peer, REDIAL_DEADLINE).map_err(not_reached)?;
            tls::connect(&config, tcp).map(|(stream, _)| stream).map_err(|error| error.to_string())
        };
        match LabSession::open(&self.name, stream, token.expose(), own, Box::new(again)) {
            Ok(session) => Ok(session),
            // What ended the stream says more than that it ended.
            Err(why) => Err(match carrier.join() {
                Ok(Err(error)) => format!("it is not spoken to by TLS: {error}"),
                _ => why,
            }),
        }
    }
}

/// What a thread came to. That it panicked is a defect of ours, which is not hidden by going on.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// All pods that a case has at the same time: those that carry its load, and those of commands that begin with the measure phase.
fn at_once(case: &CasePlan, carrying: &GeneratorPods) -> Vec<GeneratorPods> {
    let first = case.commands.values().filter(|command| command.begins == CommandBegins::At(0));
    let pods = first.filter_map(|command| command.pods.as_ref()).map(|pods| pods.like(carrying));
    std::iter::once(carrying.clone()).chain(pods).collect()
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

/// A session, and what carries it.
struct HostSession {
    name: String,
    session: LabSession,
    /// Ends after the session.
    _ssh: Option<SshOfSession>,
}

impl HostSession {
    /// What was asked of it, with its name where that failed.
    fn answered<T>(&self, answer: Result<T, String>) -> Result<T, LabError> {
        answer.map_err(|why| LabError::Generator { name: self.name.clone(), why, hint: "" })
    }
}

/// Where the workers of a trial are: sessions with the hosts of those that are not children of the lab.
pub(crate) struct TrialPlaces {
    sessions: BTreeMap<u16, HostSession>,
    own: AgentHost,
    /// Where those are that are pods, by the names of hosts.
    pods: BTreeMap<String, PodPlace>,
}

impl Drop for TrialPlaces {
    fn drop(&mut self) {
        // All of them are asked to end before the first is waited for.
        self.sessions.values().for_each(|host| host.session.close());
    }
}

#[cfg(test)]
impl TrialPlaces {
    /// Sessions that are open already, for workers from 0 on.
    pub(super) fn carried_by(sessions: impl IntoIterator<Item = LabSession>) -> Self {
        let host = |session| HostSession { name: "there".to_owned(), session, _ssh: None };
        let sessions = (0..).zip(sessions.into_iter().map(host)).collect();
        Self { sessions, own: AgentHost::here(), pods: BTreeMap::new() }
    }
}

impl TrialPlaces {
    /// The place of a worker; `None`: this host.
    pub(crate) fn of<'s>(&'s self, worker: u16, work_dir: &'s Path) -> Option<AgentPlace<'s>> {
        self.sessions.get(&worker).map(|host| AgentPlace::of(&host.session, work_dir))
    }

    /// Does something on each of the named hosts, on all at once: what came of it, by host.
    pub(crate) fn on_each<T: Send>(
        &self,
        named: &[&str],
        work_dir: &Path,
        act: impl Fn(u16, &AgentPlace<'_>) -> Result<T, String> + Sync,
    ) -> Vec<(String, Result<T, String>)> {
        let meant = || self.sessions.iter().filter(|(_, host)| named.contains(&host.name.as_str()));
        std::thread::scope(|scope| {
            let started = meant().map(|(worker, host)| {
                let (act, worker, session) = (&act, *worker, &host.session);
                scope.spawn(move || act(worker, &AgentPlace::of(session, work_dir)))
            });
            // All of them, before one is waited for.
            let acting: Vec<_> = started.collect();
            let names = meant().map(|(_, host)| host.name.clone());
            names.zip(acting.into_iter().map(joined)).collect()
        })
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

    /// What is known of the hosts, as facts of a trial: the same in each trial of a run. `brokers` are those of the trial, with
    /// the hosts at which they are advertised, or their nodes.
    pub(crate) fn facts(&self, brokers: &[(Subject, String)]) -> BTreeMap<String, String> {
        let of_host = |host: &HostSession| {
            let there = &host.session.host;
            let yes_if = |is_so: bool| if is_so { cluster_fact::YES } else { "no" }.to_owned();
            let found = [
                (cluster_fact::PROCESSORS, there.processors.to_string()),
                (cluster_fact::ELSEWHERE, yes_if(!there.is_host_of(&self.own))),
                (cluster_fact::OWN_CLOCK, yes_if(host.session.clock.bound_ns > 0)),
            ];
            let pod = self.pods.get(&host.name);
            let is_there = |at: &str| pod.is_some_and(|pod| pod.has_on_its_node(at));
            let near = brokers.iter().filter(|(_, at)| is_there(at)).map(|(broker, _)| broker.to_string());
            let near = Some(near.collect::<Vec<_>>().join(", ")).filter(|near| !near.is_empty());
            let near = near.map(|near| (cluster_fact::NODE_BROKERS, near));
            let of_pod = pod.into_iter().flat_map(|pod| pod.facts.clone()).chain(near);
            let all: Vec<_> = found.into_iter().chain(of_pod).chain(there.known_facts()).collect();
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
            named.map(|(series, value)| of_clock(*worker, 0, series, value))
        };
        self.sessions.iter().flat_map(of_worker).collect()
    }

    /// How their clocks have gone from T0 to `until_ns`, instants of ours. All are read once more before one is waited for.
    pub(crate) fn clock_courses(&self, from_ns: u64, until_ns: u64) -> ClockCourses {
        self.sessions.values().for_each(|host| host.session.ask_course());
        let course = |(worker, host): (&u16, &HostSession)| {
            let (used, spans) = (host.session.clock, host.session.clock_course(until_ns));
            (*worker, ClockCourse { used, spans })
        };
        ClockCourses { from_ns, until_ns, clocks: self.sessions.iter().map(course).collect() }
    }

    /// Has all agents read their clocks. All are asked before the first is waited for, so that many hosts take no longer
    /// than the slowest of them.
    fn read_clocks(&self) -> Result<Vec<(&HostSession, Exchange)>, LabError> {
        let hosts = || self.sessions.values();
        let asked = hosts().map(|host| host.answered(host.session.ask_clock()));
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        let read = hosts().zip(asked);
        read.map(|(host, asked_ns)| Ok((host, host.answered(host.session.clock_read(asked_ns))?))).collect()
    }

    /// How long what a worker says may be under way when all is over, ns: a session may just have to be resumed.
    pub(crate) fn cut_ns_max(&self) -> u64 {
        if self.sessions.is_empty() { 0 } else { u64::try_from(SILENCE.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// How far ahead T0 is announced, ns, by round trips of this moment too.
    ///
    /// # Errors
    /// An agent does not answer.
    pub(crate) fn t0_ahead_ns(&self) -> Result<u64, LabError> {
        let clocks = self.read_clocks()?;
        let round_trip_ns = |(host, exchange): &(&HostSession, Exchange)| {
            exchange.round_trip_ns().max(host.session.round_trip_ns)
        };
        let slowest = clocks.iter().map(round_trip_ns).max();
        let ahead_ns = |slowest: u64| REMOTE_T0_AHEAD_NS.max(slowest.saturating_mul(ROUND_TRIPS_AHEAD));
        Ok(slowest.map_or(T0_AHEAD_NS, ahead_ns))
    }

    /// Whether every agent has heard of T0 before it. What is announced to a worker goes another way there: it sees by
    /// itself whether that comes in time.
    ///
    /// # Errors
    /// One has not.
    pub(crate) fn check_in_time(&self, t0_ns: u64) -> Result<(), LabError> {
        let in_time = |(host, exchange): (&HostSession, Exchange)| {
            host.answered(host.session.was_in_time(&exchange, t0_ns))
        };
        self.read_clocks()?.into_iter().try_for_each(in_time)
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
