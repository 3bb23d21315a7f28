//! Going on with a run that was interrupted: which of its trials count, and which are run again.

use crate::error::LabError;
use crate::options::RunRequest;
use kdyno_model::event::EventKind;
use kdyno_model::finding::Scope;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::run::{Session, SessionEnd, TrialStart};
use kdyno_model::trial::{Trial, TrialId};
use kdyno_store::RunFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a run file holds of the sessions before.
#[derive(Debug, Default)]
pub(crate) struct EarlierSessions {
    /// What came of the trials that count, in order. Trials that conditioned a cluster are not
    /// among them: that cluster is gone.
    pub(crate) outcomes: Vec<TrialOutcome>,
    /// What was known when these trials began.
    pub(crate) starts: Vec<TrialStart>,
    /// Trials that were cut off, and halves of pairs: they are run again.
    pub(crate) repeated: Vec<TrialId>,
    /// Trials that stay in the file, those included that conditioned a cluster.
    pub(crate) stay: usize,
    /// Highest number of a trial; 0 when none has started.
    pub(crate) last_trial: u32,
    /// The sessions before, in order.
    pub(crate) sessions: Vec<Session>,
    /// How long they took, ns.
    pub(crate) spent_ns: u64,
}

/// Reads what the run file of an interrupted run holds.
///
/// # Errors
/// The file cannot be read, or is of another run than `request` asks for.
pub(crate) fn read(path: &Path, request: &RunRequest) -> Result<EarlierSessions, LabError> {
    let file = RunFile::open(path)?;
    let header = file.header()?;
    if (header.run_id, header.plan.seed) != (request.run_id, request.plan.seed) {
        return Err(LabError::failed(format!("{} is not of the run that is to go on", path.display())));
    }
    let cut_short: BTreeSet<TrialId> = file
        .events()?
        .into_iter()
        .filter(|(_, event)| event.kind == EventKind::CutShort)
        .filter_map(|(trial, _)| trial)
        .collect();
    let (sessions, trials) = (file.sessions()?, file.trials()?);
    let spent_ns = spent_ns(&sessions, &trials);
    let sessions = sessions.into_iter().map(|(session, _)| session).collect();
    Ok(EarlierSessions { sessions, spent_ns, ..sorted_out(trials, &cut_short, &file.judgement()?) })
}

/// How long the sessions of a run took, each from its start to its end, ns. One that was cut off is taken to have ended
/// when the load of its last trial began, as far as its trials are kept; `trials` are those of the run file.
pub fn spent_ns(sessions: &[(Session, Option<SessionEnd>)], trials: &[TrialStart]) -> u64 {
    let took_ns = |(session, end): &(Session, Option<SessionEnd>)| {
        let of_session = trials.iter().filter(|start| start.session == session.number);
        let last_load = || of_session.map(|start| start.t0_unix_ns).max();
        let until = end.as_ref().map(|end| end.ended_unix_ns).or_else(last_load);
        until.map_or(0, |until| until.saturating_sub(session.started_unix_ns))
    };
    sessions.iter().map(took_ns).fold(0, u64::saturating_add)
}

/// Separates the trials that count from those that are run again. A trial counts when it ran to its end and was judged;
/// half of a pair does not, for the two of a pair run on the same clusters, next to each other.
fn sorted_out(
    trials: Vec<TrialStart>,
    cut_short: &BTreeSet<TrialId>,
    judgement: &Judgement,
) -> EarlierSessions {
    let last_trial = trials.iter().map(|start| start.trial.id.0).max().unwrap_or(0);
    let judged: BTreeSet<Scope> = judgement.findings.iter().map(|finding| finding.scope).collect();
    let is_whole = |trial: &Trial| !cut_short.contains(&trial.id) && judged.contains(&Scope::Trial(trial.id));
    let mut halves: BTreeMap<(u32, u32, u32), u32> = BTreeMap::new();
    for start in trials.iter().filter(|start| is_whole(&start.trial)) {
        if let Some(key) = pair_of(start) {
            *halves.entry(key).or_default() += 1;
        }
    }
    let has_its_pair = |start: &TrialStart| {
        pair_of(start).is_none_or(|key| halves.get(&key).is_some_and(|whole| *whole == 2))
    };
    let mut before = EarlierSessions { last_trial, ..EarlierSessions::default() };
    for start in trials {
        let id = start.trial.id;
        if start.trial.is_conditioning() {
            before.stay += 1;
        } else if is_whole(&start.trial) && has_its_pair(&start) {
            before.stay += 1;
            before.outcomes.push(TrialOutcome::of_start(&start, judgement.of_scope(Scope::Trial(id))));
            before.starts.push(start);
        } else {
            before.repeated.push(id);
        }
    }
    before
}

/// Case, number of the pair and session of a trial of a comparison.
fn pair_of(start: &TrialStart) -> Option<(u32, u32, u32)> {
    start.trial.pair.map(|place| (start.trial.case, place.pair, start.session))
}

/// What is reported where host or boot of two sessions differ; one lowercase clause. Pairs of both count for a verdict.
pub(crate) fn change_of_host(before: &Session, now: &Session) -> Option<String> {
    let what = if before.processors != now.processors || before.host_facts != now.host_facts {
        "the run goes on on another host, or on one that has changed"
    } else if before.boot_id != now.boot_id {
        "the host was started again since the run was interrupted"
    } else {
        return None;
    };
    Some(format!("{what}: no pair of trials and no ratio of rows spans both"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::finding::{Finding, Interval, NotResolvable, Quantity, Value};
    use kdyno_model::metric::{Address, Unit};
    use kdyno_model::plan::{AttachedPlan, CasePlan, PhasesPlan, SystemPlan};
    use kdyno_model::run::RunStatus;
    use kdyno_model::trial::{PairPlace, TrialReason};

    fn start(id: u32, reason: TrialReason, pair: Option<PairPlace>, session: u32) -> TrialStart {
        let attached = AttachedPlan { target: "t".to_owned(), ..AttachedPlan::default() };
        let effective = CasePlan {
            label: String::new(),
            params: BTreeMap::new(),
            system: SystemPlan::Attached(attached),
            topics: BTreeMap::new(),
            load: BTreeMap::new(),
            commands: BTreeMap::new(),
            components: Vec::new(),
            phases: PhasesPlan { warmup_ns: 0, warmup_auto: None, measure_ns: 1, drain_ns: 1 },
            generators: Default::default(),
            workers: Vec::new(),
            secrets: BTreeMap::new(),
        };
        let trial = Trial {
            id: TrialId(id),
            case: 0,
            variant: None,
            pair,
            repeat: 1,
            start: 1,
            label: String::new(),
            reason,
            seed: 0,
            effective,
        };
        TrialStart {
            trial,
            session,
            t0_unix_ns: 0,
            t0_monotonic_ns: 0,
            streams: Vec::new(),
            cluster: BTreeMap::new(),
            command_lines: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }

    fn judged(ids: &[u32]) -> Judgement {
        let finding = |id: &u32| Finding {
            scope: Scope::Trial(TrialId(*id)),
            of: Address { subject: "writers".to_owned(), metric: "acked_per_s".to_owned() },
            quantity: Quantity::Value,
            unit: Unit::Count,
            estimate: Value::Is(1.0),
            n: 1,
            range: None,
            interval: Interval::NotResolvable(NotResolvable::OneTrial),
            marks: BTreeSet::new(),
        };
        Judgement { findings: ids.iter().map(finding).collect(), ..Judgement::default() }
    }

    fn counted(before: &EarlierSessions) -> Vec<u32> {
        before.outcomes.iter().map(|outcome| outcome.trial.id.0).collect()
    }

    #[test]
    fn cut_off_trials_run_again_and_conditioning_does_not_count() {
        let listed = |id| start(id, TrialReason::Listed { of: 3 }, None, 1);
        let trials = vec![start(1, TrialReason::Conditioning, None, 1), listed(2), listed(3), listed(4)];
        let before = sorted_out(trials, &BTreeSet::from([TrialId(3)]), &judged(&[2, 3]));
        assert_eq!(counted(&before), [2]);
        assert_eq!(before.repeated, [TrialId(3), TrialId(4)]);
        assert_eq!((before.stay, before.last_trial), (2, 4));
        assert_eq!(before.outcomes[0].findings.len(), 1, "its own findings alone");
    }

    #[test]
    fn half_a_pair_is_run_again_and_a_finished_one_is_not() {
        let half =
            |id, pair, place, session| start(id, TrialReason::Pair, Some(PairPlace { pair, place }), session);
        let trials = vec![half(1, 1, 1, 1), half(2, 1, 2, 1), half(3, 2, 1, 1), half(4, 2, 2, 1)];
        let before = sorted_out(trials, &BTreeSet::new(), &judged(&[1, 2, 3]));
        assert_eq!(counted(&before), [1, 2]);
        assert_eq!(before.repeated, [TrialId(3), TrialId(4)]);
        // Never two halves of two sessions.
        let trials = vec![half(1, 1, 1, 1), half(2, 1, 2, 2)];
        let before = sorted_out(trials, &BTreeSet::new(), &judged(&[1, 2]));
        assert_eq!(before.repeated, [TrialId(1), TrialId(2)]);
    }

    #[test]
    fn another_host_and_another_boot_are_reported() {
        let session = |boot: &str, processors| Session {
            number: 1,
            started_unix_ns: 0,
            kdyno_version: String::new(),
            git_head: None,
            command_line: Vec::new(),
            boot_id: boot.to_owned(),
            processors,
            host_facts: BTreeMap::new(),
        };
        assert_eq!(change_of_host(&session("a", 2), &session("a", 2)), None);
        assert_eq!(
            change_of_host(&session("a", 2), &session("b", 2)).expect("a boot"),
            "the host was started again since the run was interrupted: no pair of trials and no ratio of rows spans both"
        );
        assert!(change_of_host(&session("a", 2), &session("b", 4)).expect("a host").contains("another host"));
    }

    const MINUTE_NS: u64 = 60_000_000_000;

    #[test]
    fn sessions_take_the_time_from_their_start_to_their_end() {
        let session = |number: u32, from: u64, to: Option<u64>| {
            let session = Session {
                number,
                started_unix_ns: from * MINUTE_NS,
                kdyno_version: String::new(),
                git_head: None,
                command_line: Vec::new(),
                boot_id: String::new(),
                processors: 1,
                host_facts: BTreeMap::new(),
            };
            let end = |ended_unix_ns| SessionEnd {
                status: RunStatus::Interrupted,
                detail: String::new(),
                ended_unix_ns,
            };
            (session, to.map(|to| end(to * MINUTE_NS)))
        };
        let begun = |id: u32, session: u32, at: u64| {
            let t0_unix_ns = at * MINUTE_NS;
            TrialStart { t0_unix_ns, ..start(id, TrialReason::Listed { of: 2 }, None, session) }
        };
        let sessions = [session(1, 100, Some(104)), session(2, 200, None), session(3, 300, None)];
        let trials = [begun(1, 1, 101), begun(2, 2, 201), begun(3, 2, 203)];
        assert_eq!(spent_ns(&sessions[..1], &trials), 4 * MINUTE_NS);
        assert_eq!(spent_ns(&sessions, &trials), 7 * MINUTE_NS, "cut off, and cut off without a trial");
        // A clock that was set back.
        assert_eq!(spent_ns(&[session(1, 100, Some(90))], &[]), 0);
    }
}
