//! What every kind of system under test can be asked.

use super::cluster::{ClusterPlan, Mode};
use super::target::{AttachedPlan, Caps, Price};
use crate::plan::{ClientListener, ComponentPlan, Mechanism, Protocol, Role, TlsVersion, ZonesPlan};
use std::collections::BTreeMap;

/// Why something cannot be on a system, and what to do instead.
pub type Refusal = (&'static str, &'static str);

/// A kind of system under test. Each kind answers in a file of its own; what most kinds have in common is answered here.
pub trait System {
    /// The cluster that kdyno starts for it; `None`: it starts none.
    fn cluster(&self) -> Option<&ClusterPlan> {
        None
    }

    /// The same, to be changed.
    fn cluster_mut(&mut self) -> Option<&mut ClusterPlan> {
        None
    }

    /// The existing cluster that it is; `None`: it is made for the run.
    fn target(&self) -> Option<&AttachedPlan> {
        None
    }

    /// The same, to be changed.
    fn target_mut(&mut self) -> Option<&mut AttachedPlan> {
        None
    }

    /// What it is called next to another one: a name, or `a ...`.
    fn name(&self) -> &str;

    /// What kind it is, and which one, where there are several: what tables call it.
    fn kind(&self) -> String;

    /// What it does unlike a cluster of Kafka, in two words; `None`: nothing.
    fn peculiarity(&self) -> Option<&'static str> {
        None
    }

    /// What a plan says of it, each a line, unless reports have more to say.
    fn lines(&self) -> Vec<String> {
        vec![self.kind()]
    }

    /// Whether it is Kafka, kdyno's own or another's.
    fn is_kafka(&self) -> bool {
        true
    }

    /// Whether kdyno starts brokers of Kafka for it, or has them started, which are cold then, and ends them after it.
    fn starts_brokers(&self) -> bool {
        self.cluster().is_some()
    }

    /// What a run that is ended at once leaves of it, and who removes it; `None`: nothing, or what targets have.
    fn left_behind(&self) -> Option<String> {
        self.cluster().map(|_| "the guard ends the brokers and removes their data".to_owned())
    }

    /// Whether its brokers are started on the host that the load comes from. Those of a target may be there as well
    /// ([`TrialStart::is_on_this_host`](crate::run::TrialStart::is_on_this_host)).
    fn runs_here(&self) -> bool;

    /// How many brokers it has, at least 1; `None`: that shows when they are asked.
    fn brokers(&self) -> Option<u32>;

    /// How clients connect and log in.
    fn protocol(&self) -> (Protocol, Option<Mechanism>);

    /// Versions of TLS that clients may agree on; empty: they speak none.
    fn tls(&self) -> &[TlsVersion];

    /// What clients need to know of the listener that kdyno makes for them; `None`: nothing, or the target says it.
    fn listener(&self) -> Option<ClientListener> {
        None
    }

    /// The release of Kafka that runs, as the plan names it; `None`: it names none.
    fn release(&self) -> Option<&str> {
        self.cluster()?.kafka.release()
    }

    /// How its metadata is kept, where the plan says it.
    fn mode(&self) -> Option<Mode> {
        self.cluster().map(|cluster| cluster.mode)
    }

    /// Settings that its brokers are started with, by Kafka's names; `None`: they are not kdyno's to set.
    fn broker_config(&self) -> Option<&BTreeMap<String, String>> {
        self.cluster().map(|cluster| &cluster.config)
    }

    /// Attributes of its brokers' MBeans that are read in addition to what is read anyway.
    fn mbeans(&self) -> &[String] {
        self.cluster().map_or(&[], |cluster| &cluster.mbeans)
    }

    /// The zones that its brokers and clients are in; `None`: nothing lies between them.
    fn zones(&self) -> Option<&ZonesPlan> {
        self.cluster()?.zones.as_ref()
    }

    /// Name of the topic that was there before the run and takes the place of a topic of the scenario.
    fn existing_topic(&self, address: &str) -> Option<&str> {
        self.target()?.topics.get(address).map(String::as_str)
    }

    /// The target that it is and the price that the target declares, where there is one.
    fn priced(&self) -> Option<(&AttachedPlan, &Price)> {
        let target = self.target()?;
        Some((target, target.price.as_ref()?))
    }

    /// Limits that hold for the load on it.
    fn caps(&self) -> Option<&Caps> {
        self.target().map(|target| &target.caps)
    }

    /// Why it cannot carry what clients of a load item do; `None`: it can.
    fn refuses_role(&self, _role: &Role) -> Option<Refusal> {
        None
    }

    /// Why a proxy cannot be between it and its clients; `None`: it can.
    fn refuses_proxy(&self, proxy: &ComponentPlan) -> Option<Refusal>;

    /// Why a lab that runs in a pod cannot have it; `has_account`: the pod has a service account. `None`: it can.
    fn refuses_lab_in_pod(&self, _has_account: bool) -> Option<Refusal> {
        None
    }

    /// What to do where the scenario names a zone and the system has none.
    fn without_zones(&self) -> &'static str;

    /// Says whether it is the second of two that are alike, one for each side of a duet.
    fn set_second(&mut self, _is_second: bool) {}

    /// Takes out what is private: addresses, names, paths.
    fn redact(&mut self) {}
}
