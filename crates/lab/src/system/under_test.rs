//! What a run asks of the system under test, whichever kind it is.

use crate::abort::AbortWatch;
use crate::error::LabError;
use crate::token::RenewableToken;
use crate::topics::PREFIX;
use kdyno_kafka::admin::Access;
use kdyno_model::event::Subject;
use kdyno_model::plan::{CasePlan, Security};
use kdyno_model::secret::Secret;
use kdyno_testbed::cluster::{ListenerTls, Relayed, UnknownSetting};
use kdyno_testbed::metrics::{MetricsSource, UnreadMetrics};
use kdyno_testbed::process::ProcessRef;
use std::collections::BTreeMap;

/// What a trial is put on. What a kind does not answer is so of most.
pub(crate) trait SystemUnderTest: Send + Sync {
    /// How its brokers are reached.
    fn access(&self) -> Access;

    /// The access as tasks of workers have it: with names of secrets.
    fn security(&self) -> Security;

    /// What is known of it: version, mode, cluster id …
    fn facts(&self) -> BTreeMap<String, String>;

    /// Its processes, for the probes; of an attached system those that kdyno itself left running on this host.
    fn processes(&self) -> Vec<ProcessRef>;

    /// From where its brokers' own metrics are read.
    ///
    /// # Errors
    /// They are to be read, and cannot be.
    fn metrics(&self, _secrets: &BTreeMap<&str, &Secret>) -> Result<Vec<MetricsSource>, UnreadMetrics> {
        Ok(Vec::new())
    }

    /// Addresses of somebody else's brokers, as these advertise them.
    fn private_addresses(&self) -> Vec<String> {
        Vec::new()
    }

    /// Hosts of its brokers, as these advertise them, or names of their nodes.
    fn hosts(&self) -> Vec<(Subject, String)> {
        Vec::new()
    }

    /// What a program between its clients and its brokers needs to speak TLS as these do.
    fn listener_tls(&self) -> Option<&ListenerTls> {
        None
    }

    /// Addresses that clients of a zone ask first; `None`: those of everybody.
    fn bootstrap_of(&self, _zone: &str) -> Option<Vec<String>> {
        None
    }

    /// What its relays have done so far.
    fn relayed(&self) -> Vec<Relayed> {
        Vec::new()
    }

    /// Has the lab's own logins use the case's token as it is now, where it is one that expires.
    ///
    /// # Errors
    /// The token has no value now, or one that no login can send.
    fn renew(&self, case: &CasePlan) -> Result<Option<(RenewableToken, Secret)>, LabError> {
        RenewableToken::renewed(case, self.access().security.login.as_deref())
    }

    /// Values of the secrets that it made for itself, by name.
    fn secrets(&self) -> BTreeMap<&str, &Secret> {
        BTreeMap::new()
    }

    /// Topics of it that take the place of the scenario's, by the address of these.
    fn existing_topics(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Prefix of topics and client ids.
    fn prefix(&self) -> &str {
        PREFIX
    }

    /// At what states of it the load on it ends.
    fn abort_watch(&self) -> Option<AbortWatch> {
        None
    }

    /// Settings of the scenario that its brokers do not know.
    fn unknown_settings(&self) -> &[UnknownSetting] {
        &[]
    }

    /// Why it is not known which settings of the scenario its brokers do not know.
    fn settings_unchecked(&self) -> Option<&str> {
        None
    }

    /// The final command line of each of its processes.
    fn command_lines(&self) -> BTreeMap<Subject, Vec<String>> {
        BTreeMap::new()
    }

    /// Processes that have ended by themselves, each with how.
    fn ended(&self) -> BTreeMap<Subject, String> {
        BTreeMap::new()
    }

    /// The last lines a process logged.
    fn log_tail(&self, _subject: &Subject) -> Vec<String> {
        Vec::new()
    }

    /// Takes down what is ours and does not end when it is dropped; leaves an attached system as it is.
    ///
    /// # Errors
    /// Something of it stays.
    fn stop(self: Box<Self>) -> Result<(), LabError> {
        Ok(())
    }
}
