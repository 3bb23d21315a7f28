//! What reports say of any system under test.

use crate::topology::Tier;
use kdyno_model::plan::{CasePlan, ClusterPlan};
use kdyno_model::run::TrialStart;

/// A system in the words of reports.
pub(crate) trait SystemWords {
    /// What a plan says of it, each a line.
    fn lines(&self, case: &CasePlan) -> Vec<String>;

    /// What carried the load, in a few words.
    fn kind(&self) -> String;

    /// Its brokers in a topology; `link` says how the tier above reaches them.
    fn tier(&self, start: &TrialStart, link: String) -> Tier;

    /// The cluster that can be translated for Kubernetes.
    ///
    /// # Errors
    /// It is none that kdyno started: what a trial ran on, and what to do, where there is something.
    fn translated(&self) -> Result<&ClusterPlan, (String, Option<&'static str>)>;
}
