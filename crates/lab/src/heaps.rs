//! Heaps that are there at once, of brokers and of the processes of Java clients, against the memory of the host.

use kdyno_model::plan::{CasePlan, PairDesign, Plan, Strategy};
use kdyno_testbed::{host, preflight};
use std::fmt;

/// Largest heaps, bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Heaps {
    /// Heaps of the brokers and controllers of our own clusters.
    brokers: u64,
    /// Heaps of the processes of Java clients.
    clients: u64,
}

/// Heaps of the plan where they are most, and the host's free memory; `None` where nothing of ours is Java.
pub(crate) fn heaps(plan: &Plan) -> Option<(Heaps, u64)> {
    let heaps = Heaps::at_once(plan, host::memory_bytes()?)?;
    Some((heaps, host::memory_available_bytes()?))
}

impl Heaps {
    /// Heaps where they are most. In a comparison the clusters of both sides of a case run together, sides with the
    /// same system share one, and clients of both run at once only in a duet.
    fn at_once(plan: &Plan, memory_bytes: u64) -> Option<Self> {
        let of =
            |case: &CasePlan| Self { brokers: of_brokers(case), clients: of_clients(case, memory_bytes) };
        let most = match &plan.strategy {
            Strategy::Compare(comparison) => {
                let of_pair = |(a, b): (&CasePlan, &CasePlan)| {
                    let (one, other) = (of(a), of(b));
                    let is_shared = a.system == b.system;
                    Self {
                        brokers: if is_shared {
                            one.brokers
                        } else {
                            one.brokers.saturating_add(other.brokers)
                        },
                        clients: match comparison.design {
                            PairDesign::Turns => one.clients.max(other.clients),
                            PairDesign::Duet => one.clients.saturating_add(other.clients),
                        },
                    }
                };
                plan.cases.iter().zip(&comparison.b).map(of_pair).max_by_key(Self::all)
            }
            Strategy::List(_) | Strategy::Find(_) => plan.every_case().map(of).max_by_key(Self::all),
        };
        most.filter(|heaps| heaps.all() > 0)
    }

    fn all(&self) -> u64 {
        self.brokers.saturating_add(self.clients)
    }

    /// Says that they do not fit into so much memory; `None` when they do.
    pub(crate) fn warning(&self, available_bytes: u64) -> Option<String> {
        let (brokers, clients) = (("all brokers", self.brokers), ("Java clients", self.clients));
        let of_clients = "`-Xmx` in the clients' `jvm`, or the number of workers";
        match (self.brokers, self.clients) {
            (heap_bytes, 0) => preflight::brokers_memory_warning(heap_bytes, available_bytes),
            (0, _) => preflight::memory_warning(&[clients], available_bytes, of_clients),
            _ => {
                let of_all = format!("`limits.heap`, the number of brokers, {of_clients}");
                preflight::memory_warning(&[brokers, clients], available_bytes, &of_all)
            }
        }
    }
}

/// In a few words, to follow "heaps of".
impl fmt::Display for Heaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.brokers, self.clients) {
            (brokers, 0) => f.write_str(&shown(brokers)),
            (0, clients) => write!(f, "{} of Java clients", shown(clients)),
            (brokers, clients) => write!(f, "{} and of Java clients {}", shown(brokers), shown(clients)),
        }
    }
}

fn of_brokers(case: &CasePlan) -> u64 {
    case.system.cluster().map_or(0, preflight::heap_bytes)
}

/// Each worker has a process for each load item that it has a share of.
fn of_clients(case: &CasePlan, memory_bytes: u64) -> u64 {
    let shares = case.workers.iter().flat_map(|worker| &worker.shares);
    let drivers = shares.filter_map(|share| case.load.get(&share.item)?.driver.as_java());
    let heaps = drivers.map(|driver| kdyno_java_driver::heap_bytes(&driver.jvm, memory_bytes));
    heaps.fold(0, u64::saturating_add)
}

/// A size in words.
fn shown(bytes: u64) -> String {
    kdyno_model::units::bytes(bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_plan::Choices;
    use kdyno_scenario::Scenario;

    const MIB: u64 = 1 << 20;
    /// Memory of the host.
    const MEMORY: u64 = 8192 * MIB;

    /// A plan of a system that is compared with side B, unless that is empty.
    fn plan(system: &str, b: &str) -> Plan {
        let text = format!(
            "kdyno: 1\nid: small\nquestion: Is it enough?\nsystem: {{{system}}}\ntopics: {{perf: {{partitions: 3}}}}\n\
             load:\n  writers: {{produce: perf, rate: 100/s, value: 1KiB, client: {{driver: java, jvm: [-Xmx1g]}}}}\n  \
             readers: {{consume: perf, client: {{driver: java}}}}\n  others: {{consume: perf}}\nphases: {{measure: 30s}}\n{}",
            if b.is_empty() { String::new() } else { format!("compare: {{A: {{}}, B: {b}}}\n") }
        );
        let scenario = Scenario::parse(&text, "test").expect("a scenario");
        kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan")
    }

    #[test]
    fn each_process_of_a_java_client_has_a_heap() {
        let mut plan = plan("kafka: {null_broker: 1KiB}", "");
        let of = |plan: &Plan| Heaps::at_once(plan, MEMORY);
        assert_eq!(of(&plan), Some(Heaps { brokers: 0, clients: 1536 * MIB }));
        let worker = plan.cases[0].workers[0].clone();
        plan.cases[0].workers.push(worker);
        let twice = of(&plan).expect("clients");
        assert_eq!(twice, Heaps { brokers: 0, clients: 3072 * MIB });
        assert_eq!(
            (twice.to_string().as_str(), twice.warning(3072 * MIB)),
            ("3.00 GiB of Java clients", None)
        );
        let reported = twice.warning(3071 * MIB).expect("too large");
        assert!(reported.contains("the heaps of Java clients are 3.00 GiB, but"), "{reported}");
        assert!(reported.contains("; lower `-Xmx` in the clients' `jvm`"), "{reported}");
        plan.cases[0].workers.clear();
        assert_eq!(of(&plan), None);
    }

    #[test]
    fn client_heaps_add_to_broker_heaps_for_both_sides_of_a_duet() {
        let system = "kafka: 3.7.2, brokers: 3, limits: {heap: 256MiB}";
        let alone = Heaps::at_once(&plan(system, ""), MEMORY).expect("heaps");
        assert_eq!(alone, Heaps { brokers: 768 * MIB, clients: 1536 * MIB });
        assert_eq!(alone.to_string(), "768 MiB and of Java clients 1.50 GiB");
        let reported = alone.warning(MIB).expect("too large");
        assert!(
            reported.contains("all brokers are 768 MiB and those of Java clients 1.50 GiB, but"),
            "{reported}"
        );
        assert!(reported.contains("; lower `limits.heap`, the number of brokers, `-Xmx`"), "{reported}");

        let mut plan = plan(system, "{system: {kafka: 4.3.1}}");
        let mut of = |design| {
            let Strategy::Compare(comparison) = &mut plan.strategy else { panic!("a comparison") };
            comparison.design = design;
            Heaps::at_once(&plan, MEMORY).expect("heaps")
        };
        assert_eq!(of(PairDesign::Turns), Heaps { brokers: 1536 * MIB, clients: 1536 * MIB });
        assert_eq!(of(PairDesign::Duet), Heaps { brokers: 1536 * MIB, clients: 3072 * MIB });
    }
}
