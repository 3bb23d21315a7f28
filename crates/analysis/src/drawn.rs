//! A run as its file has it, with what was drawn from it: as it was stored, else drawn here, and stated as reports have it.

use crate::marks;
use crate::run::{self, AnalysedTrial};
use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::conclusion::{Conclusion, MetricRole};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Finding, Scope};
use kdyno_model::imported;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd, TrialStart};
use kdyno_model::trial::TrialId;
use std::collections::BTreeSet;

/// A run without its rows.
#[derive(Debug, Clone)]
pub struct DrawnRun {
    /// What was known before the first trial, with the plan.
    pub header: RunHeader,
    /// Its sessions in order, each with how it ended.
    pub sessions: Vec<(Session, Option<SessionEnd>)>,
    /// Somebody is writing it.
    pub is_live: bool,
    /// The trial that goes on, of a run that is live; [`Self::draw`] finds it.
    pub goes_on: Option<TrialId>,
    /// The trials that were started, in the order in which they ran.
    pub trials: Vec<TrialStart>,
    /// What was drawn from it.
    pub judgement: Judgement,
}

impl DrawnRun {
    /// Whether each trial's findings are stored, and what the trials say together. Nothing is stated of a trial that
    /// conditions a cluster.
    pub fn is_analysed(&self) -> bool {
        let mut reported = self.trials.iter().filter(|start| !start.trial.is_conditioning()).peekable();
        if reported.peek().is_none() {
            return true;
        }
        let scopes: BTreeSet<Scope> = self.judgement.findings.iter().map(|finding| finding.scope).collect();
        let together = scopes
            .iter()
            .any(|scope| matches!(scope, Scope::Case(_) | Scope::Comparison { .. } | Scope::Search { .. }))
            || self.judgement.conclusions.iter().any(|one| !matches!(one.scope(), Scope::Trial(_)));
        together && reported.all(|start| scopes.contains(&Scope::Trial(start.trial.id)))
    }

    /// Draws what the trials say together, of a run that was cut off, or could not store everything, or goes on. `outcomes`
    /// are what each trial's evidence says.
    pub fn draw(&mut self, outcomes: Vec<TrialOutcome>) {
        let sessions: Vec<Session> = self.sessions().cloned().collect();
        let is_out_of_time = self.is_out_of_time();
        self.judgement = run::all(&self.header.plan, outcomes, &self.trials, &sessions, is_out_of_time);
        self.find_what_goes_on();
    }

    /// The findings as reports state them: with side B of a comparison also where the run was stored before sides were
    /// stated, and with figures of a load that queued as bounds.
    pub fn stated(mut self) -> Self {
        self.state_side_b();
        marks::at_least(&mut self.judgement.findings, &self.judgement.caveats);
        self
    }

    /// What is to be stored of a series that is imported: its figures in each trial, and what all trials say together
    /// of everything that is imported. Nothing else that is stored changes. Nothing is stored for a run that was cut
    /// off: it is analysed whenever it is read, with what was imported.
    pub fn drawn_from_import(mut self, subject: &Subject, of_trials: Vec<Finding>) -> Judgement {
        if !self.is_analysed() {
            return Judgement::default();
        }
        let subject = subject.to_string();
        self.judgement.findings.retain(|one| one.of.subject != subject);
        self.judgement.findings.extend(of_trials.iter().cloned());
        let outcomes = self.outcomes();
        let trials: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
        let sessions: Vec<Session> = self.sessions().cloned().collect();
        let is_out_of_time = self.is_out_of_time();
        let mut drawn = run::judge(&self.header.plan, &trials, &self.trials, &sessions, is_out_of_time);
        drawn.findings.retain(|one| imported::is_of(&one.of));
        let is_imported =
            |one: &Conclusion| matches!(one, Conclusion::Verdict(of) if of.role == MetricRole::Imported);
        drawn.conclusions.retain(is_imported);
        drawn.findings.extend(of_trials);
        Judgement { caveats: Vec::new(), ..drawn }
    }

    /// Its sessions, in order.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().map(|(session, _)| session)
    }

    /// The trials with what is stored of each.
    fn outcomes(&self) -> Vec<TrialOutcome> {
        let outcome = |start: &TrialStart| {
            TrialOutcome::of_start(start, self.judgement.of_scope(Scope::Trial(start.trial.id)))
        };
        self.trials.iter().map(outcome).collect()
    }

    fn is_out_of_time(&self) -> bool {
        let end = self.sessions.last().and_then(|(_, end)| end.as_ref());
        end.is_some_and(|end| end.status == RunStatus::OutOfTime)
    }

    /// A trial that goes on has no totals yet, as one that was cut off: it has no caveat for that, nor for records without an
    /// outcome.
    fn find_what_goes_on(&mut self) {
        let has_ended = self.sessions.last().is_some_and(|(_, end)| end.is_some());
        let Some(last) = self.trials.last().filter(|_| self.is_live && !has_ended) else { return };
        let of_last = Scope::Trial(last.trial.id);
        let is_cut =
            |one: &ScopedCaveat| one.scope == of_last && matches!(one.caveat, Caveat::CutShort { .. });
        if self.judgement.caveats.iter().any(is_cut) {
            self.goes_on = Some(last.trial.id);
            let is_open =
                |one: &ScopedCaveat| one.scope == of_last && matches!(one.caveat, Caveat::Unresolved { .. });
            self.judgement.caveats.retain(|one| !is_cut(one) && !is_open(one));
        }
    }

    /// For a comparison that has none of its side B, from what its trials state.
    fn state_side_b(&mut self) {
        let is_stated = self.judgement.findings.iter().any(|one| matches!(one.scope, Scope::SideB { .. }));
        if is_stated || self.header.plan.strategy.as_compare().is_none() {
            return;
        }
        let outcomes = self.outcomes();
        let trials: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
        self.judgement.findings.extend(run::side_b(&self.header.plan, &trials));
    }
}
