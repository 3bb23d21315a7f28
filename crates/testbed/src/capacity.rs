//! How many connections a host carries: open files of a process and of all, local ports to one address.

use crate::probe::parse;
use rustix::process::{Resource, getrlimit};

/// Files that a worker has open in addition to its sockets: its streams' timers and queues, its libraries.
const WORKER_FILES: u64 = 100;
/// Files that a broker has open in addition to its clients' connections and its logs: jars, connections to other
/// brokers.
const BROKER_FILES: u64 = 400;
/// Files of one replica of a partition: two segments with their indexes.
const REPLICA_FILES: u64 = 8;

/// What bounds connections on this host. `None`: the kernel does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Files that a process may have open, once it raised its own limit as far as it may.
    pub process_files: Option<u64>,
    /// Files that all processes together may still open.
    pub host_files: Option<u64>,
    /// Free local ports for connections to one address.
    pub ports: Option<u64>,
    /// Connections that have ended and keep their ports for a minute.
    pub waiting_ports: u64,
    /// Whether such a port is taken again at once, on loopback and elsewhere.
    pub reuses_ports: (bool, bool),
}

/// The connections of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connections {
    /// Load items with their clients and the connections that each of their clients has at most.
    pub items: Vec<ItemConnections>,
    /// Connections beyond these while clients connect before T0, which they do some at a time.
    pub while_connecting: u64,
    /// Replicas of partitions on the broker that has most; `None`: the brokers are no processes of this host.
    pub broker_replicas: Option<u64>,
    /// Whether they go over loopback.
    pub is_loopback: bool,
}

/// The connections of a load item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemConnections {
    /// Its address.
    pub name: String,
    /// How many clients it has.
    pub clients: u64,
    /// Connections of each of them.
    pub each: u64,
    /// Connections to one broker.
    pub each_to_broker: u64,
}

impl Capacity {
    /// That of this host and process.
    #[must_use]
    pub fn read() -> Self {
        let reuse = parse::read("/proc/sys/net/ipv4/tcp_tw_reuse");
        Self {
            // No maximum: what the kernel lets any process have.
            process_files: getrlimit(Resource::Nofile).maximum.or_else(|| number("/proc/sys/fs/nr_open")),
            host_files: parse::read("/proc/sys/fs/file-nr").as_deref().and_then(free_files),
            ports: parse::read("/proc/sys/net/ipv4/ip_local_port_range").as_deref().and_then(ports),
            waiting_ports: parse::read("/proc/net/sockstat").as_deref().and_then(waiting).unwrap_or(0),
            reuses_ports: reuse.map_or((false, false), |text| (text.trim() != "0", text.trim() == "1")),
        }
    }

    /// Says which limit the connections of a load do not fit into, with how many clients of each item do; `None` when they
    /// fit.
    #[must_use]
    pub fn shortage(&self, needed: &Connections) -> Option<Shortage> {
        let all = |each: fn(&ItemConnections) -> u64| {
            needed
                .items
                .iter()
                .fold(0u64, |sum, item| sum.saturating_add(item.clients.saturating_mul(each(item))))
        };
        let sockets = all(|item| item.each).saturating_add(needed.while_connecting);
        let to_broker = all(|item| item.each_to_broker).saturating_add(needed.while_connecting);
        let (loopback, elsewhere) = self.reuses_ports;
        let is_reused = if needed.is_loopback { loopback } else { elsewhere };
        let waiting = if is_reused { 0 } else { self.waiting_ports };
        let broker_files = needed.broker_replicas.map(|replicas| BROKER_FILES + REPLICA_FILES * replicas);
        let process = self.process_files;
        let ends = if needed.is_loopback { 2 } else { 1 };
        let limits = [
            (CapacityLimit::WorkerFiles, process, WORKER_FILES, sockets, 1),
            (
                CapacityLimit::BrokerFiles,
                process.filter(|_| broker_files.is_some()),
                broker_files.unwrap_or(0),
                to_broker,
                1,
            ),
            (CapacityLimit::HostFiles, self.host_files, WORKER_FILES, sockets, ends),
            (CapacityLimit::Ports, self.ports, waiting, to_broker, 1),
        ];
        limits.into_iter().find_map(|(limit, most, extra, needs, times)| {
            let (most, needs) = (most?, needs.saturating_mul(times).saturating_add(extra));
            let each = |item: &ItemConnections| match limit {
                CapacityLimit::WorkerFiles | CapacityLimit::HostFiles => item.each.saturating_mul(times),
                CapacityLimit::BrokerFiles | CapacityLimit::Ports => item.each_to_broker,
            };
            let fitting = |item: &ItemConnections| {
                let others = needs - item.clients.saturating_mul(each(item));
                let fit = most.saturating_sub(others) / each(item).max(1);
                (item.name.clone(), item.clients, fit.min(item.clients))
            };
            (needs > most).then(|| Shortage {
                limit,
                needs,
                most,
                items: needed.items.iter().map(fitting).collect(),
            })
        })
    }
}

/// What a load's connections do not fit into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityLimit {
    /// Open files of the worker.
    WorkerFiles,
    /// Open files of a broker on this host.
    BrokerFiles,
    /// Open files of all processes.
    HostFiles,
    /// Local ports to one broker's address.
    Ports,
}

/// A limit that a load's connections do not fit into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    /// Which one.
    pub limit: CapacityLimit,
    /// What the load needs of it.
    pub needs: u64,
    /// What there is.
    pub most: u64,
    /// Load items, their clients and how many of them fit next to the other items.
    pub items: Vec<(String, u64, u64)>,
}

impl Shortage {
    /// In words: what is short, and how many clients fit.
    #[must_use]
    pub fn message(&self) -> String {
        let what = match self.limit {
            CapacityLimit::WorkerFiles => "open files in the worker, and a process of this user may have",
            CapacityLimit::BrokerFiles => "open files in a broker, and a process of this user may have",
            CapacityLimit::HostFiles => "open files, and this host has left",
            CapacityLimit::Ports => "local ports to one broker, and this host has",
        };
        let items = self.items.iter().map(|(name, clients, fit)| {
            let is_only = self.items.len() == 1;
            let extra = if is_only { "" } else { " next to the others" };
            format!("of the {} clients of `{name}` {} fit{extra}", shown(*clients), shown(*fit))
        });
        let items: Vec<String> = match self.limit {
            // Its logs take them all.
            CapacityLimit::BrokerFiles if self.items.iter().all(|(_, _, fit)| *fit == 0) => {
                vec!["its partitions alone leave none for clients".to_owned()]
            }
            _ => items.collect(),
        };
        format!("the load needs {} {what} {}: {}", shown(self.needs), shown(self.most), items.join(", "))
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self.limit {
            CapacityLimit::WorkerFiles => {
                "raise the hard limit of open files (`ulimit -Hn`, `LimitNOFILE`), or use fewer `clients`"
            }
            CapacityLimit::BrokerFiles => {
                "raise the hard limit of open files (`ulimit -Hn`, `LimitNOFILE`), or use fewer `clients` or `partitions`"
            }
            CapacityLimit::HostFiles => "raise `fs.file-max`, or use fewer `clients`",
            CapacityLimit::Ports => "widen `net.ipv4.ip_local_port_range`, or use fewer `clients`",
        }
    }
}

fn shown(number: u64) -> String {
    kdyno_model::units::count(number as f64)
}

fn number(path: &str) -> Option<u64> {
    parse::read(path)?.trim().parse().ok()
}

/// Reads `allocated unused most`.
fn free_files(text: &str) -> Option<u64> {
    let mut numbers = text.split_whitespace().map(|number| number.parse::<u64>().ok());
    let (allocated, _, most) = (numbers.next()??, numbers.next()??, numbers.next()??);
    Some(most.saturating_sub(allocated))
}

/// Reads `first last`.
fn ports(text: &str) -> Option<u64> {
    let (first, last) = text.trim().split_once(char::is_whitespace)?;
    let (first, last) = (first.parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?);
    Some((last + 1).saturating_sub(first))
}

/// Reads `TCP: inuse 5 orphan 0 tw 3 alloc 8 mem 1`.
fn waiting(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("TCP:"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMY: Capacity = Capacity {
        process_files: Some(20_000),
        host_files: Some(1 << 30),
        ports: Some(28_232),
        waiting_ports: 20_000,
        reuses_ports: (true, false),
    };

    fn load(writers: u64, readers: u64, each: u64) -> Connections {
        let item =
            |name: &str, clients| ItemConnections { name: name.into(), clients, each, each_to_broker: 1 };
        Connections {
            items: vec![item("readers", readers), item("writers", writers)],
            while_connecting: 200,
            broker_replicas: Some(10),
            is_loopback: true,
        }
    }

    #[test]
    fn the_kernels_figures_are_read() {
        assert_eq!(ports("32768\t60999\n"), Some(28_232));
        assert_eq!(free_files("1000\t0\t9223372036854775807\n"), Some(9_223_372_036_854_774_807));
        assert_eq!(waiting("sockets: used 20\nTCP: inuse 1 orphan 0 tw 17 alloc 1 mem 330\n"), Some(17));
        for damaged in ["", "x y", "1", "TCP: tw"] {
            assert_eq!(
                (ports(damaged), free_files(damaged), waiting(damaged)),
                (None, None, None),
                "{damaged}"
            );
        }
        assert!(Capacity::read().process_files.is_some_and(|files| files > 10));
    }

    #[test]
    fn clients_fit_or_it_is_said_how_many_do() {
        assert_eq!(ROOMY.shortage(&load(10_000, 500, 1)), None);
        let short = ROOMY.shortage(&load(10_000, 500, 2)).expect("two connections of each are too many");
        assert_eq!((short.limit, short.needs), (CapacityLimit::WorkerFiles, 2 * 10_500 + 200 + 100));
        let reported = "the load needs 21,300 open files in the worker, and a process of this user may have 20,000: of the 500 \
                    clients of `readers` 0 fit next to the others, of the 10,000 clients of `writers` 9,350 fit next to the \
                    others";
        assert_eq!(short.message(), reported);
        let fitting = load(9_350, 500, 2);
        assert_eq!(ROOMY.shortage(&fitting), None, "what is said to fit fits");
        // A broker has its logs in addition to the connections.
        let replicas = |count| Connections { broker_replicas: Some(count), ..load(10_000, 500, 1) };
        let short = ROOMY.shortage(&replicas(2_000)).expect("16,000 files of logs");
        assert_eq!((short.limit, short.needs), (CapacityLimit::BrokerFiles, 10_700 + 400 + 16_000));
        // Elsewhere than on loopback ports of connections that have ended are not to be had.
        let away = Connections { is_loopback: false, broker_replicas: None, ..load(10_000, 500, 1) };
        let short = ROOMY.shortage(&away).expect("ports");
        assert_eq!((short.limit, short.needs, short.most), (CapacityLimit::Ports, 30_700, 28_232));
        assert!(short.hint().contains("ip_local_port_range"));
        let host = Capacity { host_files: Some(21_000), ..ROOMY };
        assert_eq!(
            host.shortage(&load(10_000, 500, 1)).map(|short| short.limit),
            Some(CapacityLimit::HostFiles)
        );
        let unknown = Capacity { process_files: None, host_files: None, ports: None, ..ROOMY };
        assert_eq!(unknown.shortage(&load(1 << 40, 1 << 40, 1 << 40)), None);
    }
}
