//! The load of a run on two agents that have networks and clocks of their own: namespaces of this host, linked to a third one
//! in which broker and lab are.

use crate::agents::evidence;
use crate::common::served_broker::ServedBroker;
use crate::common::{RUN_DEADLINE, Running, TestFolder, ran};
use crate::{CLUSTER_ID, files};
use kdyno_kafka_server::null_broker::NullBrokerOptions;
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialEvidence;
use kdyno_model::sample::series;
use rustix::process::Signal;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::process::Command;

/// Agents, and how far their clocks are ahead of the lab's, s.
const AGENTS: [(&str, i32); 2] = [("one", 3), ("two", -3)];

/// The broker's address, which both agents reach through the lab's namespace.
const BROKER: &str = "10.213.9.1";

/// Network namespaces, until they are dropped: the lab's, and one per agent.
struct Networks {
    names: Vec<String>,
}

impl Networks {
    /// `None`: there can be none here, which is printed.
    #[expect(clippy::print_stderr, reason = "a test that cannot run here says so")]
    fn make() -> Option<Self> {
        let probe =
            Command::new("unshare").args(["--net", "--time", "--monotonic", "3", "ip", "link"]).output();
        if !probe.is_ok_and(|probe| probe.status.success()) {
            eprintln!(
                "skipped: no namespaces of network and time can be made here (needs root, iproute2, util-linux)"
            );
            return None;
        }
        let mut made = Self { names: Vec::new() };
        for role in ["lab", "one", "two"] {
            let name = format!("kdyno-{}-{role}", std::process::id());
            ip(&["netns", "add", &name]);
            made.names.push(name);
            ip(&["-n", made.name(role), "link", "set", "lo", "up"]);
        }
        let lab = made.name("lab");
        ip(&["-n", lab, "addr", "add", &format!("{BROKER}/32"), "dev", "lo"]);
        for (place, (agent, _)) in AGENTS.iter().enumerate() {
            let (theirs, link) = (made.name(agent), format!("to-{agent}"));
            let (gateway, own) = (address(place, 1), address(place, 2));
            ip(&["-n", lab, "link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", theirs]);
            ip(&["-n", lab, "addr", "add", &format!("{gateway}/24"), "dev", &link]);
            ip(&["-n", lab, "link", "set", &link, "up"]);
            ip(&["-n", theirs, "addr", "add", &format!("{own}/24"), "dev", "eth0"]);
            ip(&["-n", theirs, "link", "set", "eth0", "up"]);
            ip(&["-n", theirs, "route", "add", "default", "via", &gateway]);
        }
        Some(made)
    }

    fn name(&self, role: &str) -> &str {
        self.names.iter().find(|name| name.ends_with(&format!("-{role}"))).expect("made")
    }

    /// A kdyno in the namespace of `role`, with `before` between it and the namespace.
    fn command(&self, place: &TestFolder, role: &str, before: &[&str], args: &[&str]) -> Command {
        let kdyno = place.command(args);
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", self.name(role)]).args(before);
        inside.arg(kdyno.get_program()).args(kdyno.get_args()).current_dir(place.path());
        inside.envs(kdyno.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside
    }

    /// Listens in the lab's namespace, which is not that of this process.
    fn listener(&self) -> TcpListener {
        let path = format!("/run/netns/{}", self.name("lab"));
        // The thread alone moves there, and ends.
        let bound = std::thread::spawn(move || {
            let namespace = File::open(path).expect("the namespace");
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("moved");
            TcpListener::bind((BROKER, 0)).expect("a port")
        });
        bound.join().expect("no panic")
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in &self.names {
            // What has failed already must not fail a second time: the links go with their namespaces.
            let _ = Command::new("ip").args(["netns", "del", name]).output();
        }
    }
}

/// The address of an agent's link: 1, the lab's end; 2, its own.
fn address(place: usize, end: u8) -> String {
    format!("10.213.{}.{end}", place + 1)
}

fn ip(args: &[&str]) {
    let said = Command::new("ip").args(args).output().expect("ip");
    assert!(said.status.success(), "ip {args:?}: {}", String::from_utf8_lossy(&said.stderr));
}

fn agents<'a>(place: &'a TestFolder, networks: &Networks) -> Vec<Running<'a>> {
    let mut started: Vec<_> = (0..)
        .zip(AGENTS)
        .map(|(at, (name, ahead_s))| {
            let clock = ["unshare".to_owned(), "--time".to_owned(), format!("--monotonic={ahead_s}")];
            let clock: Vec<&str> = clock.iter().map(String::as_str).collect();
            let listen = format!("{}:7400", address(at, 2));
            let args = ["agent", "--listen", &listen, "--identity", name];
            place.start(networks.command(place, name, &clock, &args))
        })
        .collect();
    started.iter_mut().for_each(|agent| drop(agent.wait_for_line()));
    started
}

/// Whether what was read of a worker's clock holds the truth, from T0 on.
fn expect_clock(evidence: &TrialEvidence, worker: u16, ahead_s: i32) {
    let of = |name: &str| -> Vec<(i64, f64)> {
        let own =
            evidence.probes.iter().filter(|one| one.subject == Subject::Worker(worker) && one.series == name);
        own.map(|one| (one.at_ns, one.value)).collect()
    };
    let (offsets, bounds) = (of(series::CLOCK_OFFSET_S), of(series::CLOCK_BOUND_S));
    assert!(offsets.len() > 1 && offsets.len() == bounds.len(), "{offsets:?} {bounds:?}");
    assert!(offsets.iter().any(|(at_ns, _)| *at_ns == 0), "before the load began: {offsets:?}");
    for ((at_ns, offset_s), (_, bound_s)) in offsets.iter().zip(&bounds) {
        let error_s = (offset_s - f64::from(ahead_s)).abs();
        // A nanosecond for the fraction.
        assert!(error_s <= bound_s + 1e-9, "{at_ns}: {offset_s} ± {bound_s} s of {ahead_s} s");
        assert!((0.0..0.1).contains(bound_s) && *bound_s > 0.0, "{at_ns}: {bound_s}");
    }
}

/// Their clocks are 3 s ahead and 3 s behind: an instant that were not translated would be refused, or lie outside of the
/// window.
#[test]
fn agents_with_networks_and_clocks_of_their_own_add_up() {
    let Some(networks) = Networks::make() else { return };
    let place = TestFolder::new();
    // A null broker of its own process listens on the loopback address alone.
    let options = NullBrokerOptions { partitions: 2, ..NullBrokerOptions::default() };
    let broker = ServedBroker::start(networks.listener(), options);
    let agents = agents(&place, &networks);
    let host = |(at, (name, _)): (usize, &(&str, i32))| {
        let own = address(at, 2);
        format!(
            "- {{name: {name}, connect: '{own}:7400', certificate: {name}/certificate.pem, token: {{file: {name}/token}}}}\n"
        )
    };
    let hosts: String = AGENTS.iter().enumerate().map(host).collect();
    let generators = place.file("generators.yaml", &format!("hosts:\n{hosts}"));
    let [scenario, option, target] = files(&place, &broker.address, CLUSTER_ID);
    let generators = generators.to_str().expect("plain path");
    let args = ["run", &scenario, &option, &target, "--share", "--generators", generators];
    let said = place.start(networks.command(&place, "lab", &[], &args)).wait(RUN_DEADLINE);
    ran(&said);
    assert!(said.stderr.contains("the load runs on one, two"), "{said:?}");
    let evidence = evidence(&place);
    let mut taken = 0;
    for (worker, (name, ahead_s)) in (0..).zip(AGENTS) {
        let facts = &evidence.start.cluster;
        assert_eq!(facts[&format!("generator.{name}.is_another_host")], "no", "the kernel is one");
        assert_eq!(facts[&format!("generator.{name}.has_own_clock")], "yes");
        expect_clock(&evidence, worker, ahead_s);
        let counts: Vec<_> = evidence
            .totals
            .iter()
            .filter(|totals| totals.id.worker == worker)
            .map(|totals| &totals.counts)
            .collect();
        assert_eq!(counts.len(), 1, "{name}");
        assert!(counts[0].offered > 100 && counts[0].acknowledged == counts[0].offered, "{counts:?}");
        taken += counts[0].acknowledged;
        // All of them are booked in the seconds of the load: 1 s of warm-up, 2 s measured.
        let rows = evidence.samples.iter().filter(|row| row.id.worker == worker);
        let booked: u64 = rows.filter(|row| row.t0_second < 3).map(|row| row.counts.acknowledged).sum();
        assert_eq!(booked, counts[0].acknowledged, "{name}");
    }
    for agent in agents {
        agent.signal(Signal::TERM);
        assert_eq!(agent.wait(RUN_DEADLINE).code, Some(0));
    }
    assert_eq!(broker.stop().records, taken);
    place.expect_no_processes();
}
