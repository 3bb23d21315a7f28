//! What happens in a trial, as events of the run file.

use super::{Execution, TrialContext};
use crate::clock::unix_ns;
use crate::cluster_view::ClusterChange;
use crate::error::LabError;
use crate::options::RunProgress;
use kdyno_model::event::{Event, EventKind, Subject};

impl Execution<'_> {
    /// What became of processes that were named.
    pub(super) fn keep_named(
        &self,
        at_ns: Option<i64>,
        reported: Vec<(Subject, String)>,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let mut reported = reported.into_iter();
        reported.try_for_each(|(subject, detail)| {
            progress(RunProgress::Warning(detail.clone()));
            self.event(at_ns, EventKind::NamedProcess, &subject, &detail)
        })
    }

    /// What the cluster's metadata reported between two looks.
    pub(super) fn cluster_changed(
        &self,
        at_ns: Option<i64>,
        changes: Vec<ClusterChange>,
    ) -> Result<(), LabError> {
        let mut changes = changes.into_iter();
        changes.try_for_each(|change| self.event(at_ns, change.kind, &change.subject, &change.detail))
    }

    /// The ends of the topics' logs are not known.
    pub(super) fn log_unchecked(&self, at_ns: Option<i64>, why: &str) -> Result<(), LabError> {
        for address in self.context.topics.keys() {
            self.event(at_ns, EventKind::LogUnchecked, &Subject::Topic(address.clone()), why)?;
        }
        Ok(())
    }

    pub(super) fn event(
        &self,
        at_ns: Option<i64>,
        kind: EventKind,
        subject: &Subject,
        detail: &str,
    ) -> Result<(), LabError> {
        store_event(self.context, at_ns, kind, subject, detail)
    }
}

pub(super) fn store_event(
    context: &TrialContext<'_>,
    at_ns: Option<i64>,
    kind: EventKind,
    subject: &Subject,
    detail: &str,
) -> Result<(), LabError> {
    let detail = context.private.hide(detail);
    let event = Event { at_unix_ns: unix_ns(), at_ns, kind, subject: subject.clone(), detail };
    Ok(context.store.event(Some(context.trial.id), event)?)
}
