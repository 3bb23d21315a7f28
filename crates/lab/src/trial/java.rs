//! What a trial does for Java clients that carry its items: how they reach the cluster, what they cost, what they counted of
//! themselves. And the secrets of all workers, for how a cluster is reached is one.

use super::{Execution, TrialContext};
use crate::error::LabError;
use crate::inbox::Renewed;
use crate::settings::{self, SettingsBySubject};
use crate::task;
use kdyno_model::event::Subject;
use kdyno_model::plan::{LoadPlan, WorkerPlan};
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::ProbeReading;
use kdyno_model::secret::{SECRET_BYTES_MAX, Secret};
use kdyno_model::worker::{ClientReading, ClientSettings, JAVA_CONNECTION};
use kdyno_testbed::cluster::{TokenFrom, client_properties};
use std::collections::BTreeMap;

/// Clients of a load item whose metrics are kept, the first ones: a client has some 100 metrics.
const METRICS_CLIENTS_MAX: u32 = 8;

/// Secrets by their names in the plan.
type SecretsByName<'s> = BTreeMap<&'s str, &'s Secret>;

impl Execution<'_> {
    /// Gives each worker the secrets, and one that runs a Java client what it reaches the cluster with.
    pub(super) fn give_secrets(&mut self, secrets: &SecretsByName<'_>) -> Result<(), LabError> {
        let context = self.context;
        let connection = connection(context, secrets, &self.components.bootstrap(context.system));
        for (worker, planned) in self.workers.iter_mut().zip(&context.trial.effective.workers) {
            let mut given = secrets.clone();
            if has_foreign(&context.trial.effective.load, planned) {
                let bytes = connection.expose().len();
                if bytes > SECRET_BYTES_MAX {
                    let message = format!(
                        "the certificates and the login of a Java client are {bytes} bytes, more than the \
                         {SECRET_BYTES_MAX} that are taken"
                    );
                    let hint = "name the certificates by file (`ssl.truststore.location`)";
                    return Err(LabError::hinted(message, hint));
                }
                given.insert(JAVA_CONNECTION, &connection);
            }
            if !given.is_empty() {
                worker.send_secrets(&given)?;
            }
        }
        Ok(())
    }

    /// Hands a newer token to the workers, which give it to their Java clients too; in words, why there is none.
    pub(super) fn hand_over(&mut self, renewed: &Renewed) -> Option<String> {
        let newer = match &renewed.value {
            Ok(newer) => BTreeMap::from([(renewed.name.as_str(), newer)]),
            Err(why) => return Some(format!("no newer token: {why}; logins go on with the one before it")),
        };
        for worker in &mut self.workers {
            // One that cannot be reached has closed its socket: its next message says so.
            let _ = worker.send_secrets(&newer);
        }
        None
    }

    /// What is known of the system, of what the load generator can do, and of the clients that are not its own.
    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let context = self.context;
        let clients = context.drivers.facts(&context.trial.effective);
        let declared =
            context.declared.iter().map(|(name, value)| (cluster_fact::declared(name), value.clone()));
        // What a target declares of itself is nearer to it than what a scenario does.
        let system = context.system.facts().into_iter().chain(context.in_force.facts.clone());
        let hosts = self.places.facts(&context.system.hosts());
        let generators = context.generator_facts.clone().into_iter().chain(hosts);
        declared.chain(system).chain(generators).chain(clients).collect()
    }

    /// Keeps what a Java client reported of its settings, for each load item the first that does.
    pub(super) fn keep_settings(&mut self, worker: u16, reported: ClientSettings) {
        if let Some(item) = task::item_of(self.context.trial, worker, reported.stream) {
            let kept = || settings::of_client(reported.settings, self.context.private);
            self.clients_in_force.entry(Subject::Item(item.to_owned())).or_insert_with(kept);
        }
    }

    /// All settings in force: of brokers, topics and clients; kdyno's own run with what is planned.
    pub(super) fn settings(&self) -> SettingsBySubject {
        let in_force = self.context.in_force;
        let own = kdyno_plan::clients_in_force(&self.context.trial.effective);
        let own = own.into_iter().map(|(item, settings)| (Subject::Item(item), settings));
        let brokers = in_force.brokers.clone().into_iter().chain(in_force.topics.clone());
        brokers.chain(own).chain(self.clients_in_force.clone()).collect()
    }

    /// Keeps what the Java processes of a worker cost.
    pub(super) fn keep_readings(&self, worker: u16, reported: Vec<ClientReading>) -> Result<(), LabError> {
        Ok(self.context.store.probe(self.context.trial.id, readings(worker, reported))?)
    }

    /// Keeps what a client counted of itself, with the logs of the run.
    pub(super) fn keep_metrics(
        &self,
        worker: u16,
        stream: u16,
        client: u32,
        text: &str,
    ) -> Result<(), LabError> {
        let (trial, store) = (self.context.trial, self.context.store);
        let Some(item) = task::item_of(trial, worker, stream).filter(|_| client < METRICS_CLIENTS_MAX) else {
            return Ok(());
        };
        let subject = format!("client-metrics trial {} {item} client {client}", trial.id);
        Ok(store.log(&subject, &self.context.private.hide(text))?)
    }
}

/// Whether a client that another driver carries is on the worker.
fn has_foreign(load: &BTreeMap<String, LoadPlan>, planned: &WorkerPlan) -> bool {
    let is_foreign = |item: &str| load.get(item).is_some_and(|item| !item.driver.is_native());
    planned.shares.iter().any(|share| is_foreign(&share.item))
}

/// How a Java client reaches the cluster, as the text of a properties file.
fn connection(context: &TrialContext<'_>, secrets: &SecretsByName<'_>, bootstrap: &[String]) -> Secret {
    let value = |name: &str| secrets.get(name).copied();
    client_properties(bootstrap, &context.system.security(), &value, TokenFrom::Driver)
}

/// What the Java processes of a worker cost, as readings of a trial.
fn readings(worker: u16, readings: Vec<ClientReading>) -> Vec<ProbeReading> {
    let reading = |reading: ClientReading| ProbeReading {
        at_ns: reading.at_ns,
        subject: Subject::Jvm(worker, reading.stream),
        series: reading.series,
        value: reading.value,
    };
    readings.into_iter().map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::{Driver, JavaClient, JavaDriver};
    use kdyno_plan::Choices;
    use kdyno_scenario::Scenario;

    #[test]
    fn only_a_worker_with_a_java_client_learns_how_it_connects() {
        let text = "kdyno: 1\nid: small\nquestion: Which?\nsystem: {kafka: 4.1.1}\ntopics: {perf: {partitions: 1}}\n\
                    load: {a: {produce: perf, rate: 1/s, value: 100B}, b: {produce: perf, rate: 1/s, value: 100B}}\n\
                    phases: {warmup: 0s, measure: 1s}\n";
        let scenario = Scenario::parse(text, "test").expect("a scenario");
        let plan = kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan");
        let mut load = plan.cases[0].load.clone();
        let mut workers = plan.cases[0].workers.clone();
        workers[0].shares.retain(|share| share.item == "a");
        assert!(!has_foreign(&load, &workers[0]));
        let (client, jvm) = (JavaClient::Version("4.1.1".to_owned()), Vec::new());
        let driver = JavaDriver { client, jvm, properties: BTreeMap::new() };
        load.get_mut("b").expect("an item").driver = Driver::Java(driver.clone());
        assert!(!has_foreign(&load, &workers[0]), "its clients are on another one");
        load.get_mut("a").expect("an item").driver = Driver::Java(driver);
        assert!(has_foreign(&load, &workers[0]));
    }

    #[test]
    fn the_cost_of_a_process_is_that_of_its_worker_and_stream() {
        let series = "jvm_cpu_s_total".to_owned();
        let reported =
            readings(3, vec![ClientReading { stream: 7, at_ns: -5, series: series.clone(), value: 1.5 }]);
        let wanted = ProbeReading { at_ns: -5, subject: Subject::Jvm(3, 7), series, value: 1.5 };
        assert_eq!(reported, [wanted]);
    }
}
