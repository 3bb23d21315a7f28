//! One stored run, read and made ready for a report.

use crate::environment::{ENDING, runs_dir};
use crate::failure::Failure;
use crate::out;
use crate::scenario_source::{self, last_part};
use kdyno_analysis::marks;
use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::conclusion::{Conclusion, MetricRole};
use kdyno_model::event::{Event, Subject};
use kdyno_model::evidence::TrialStacks;
use kdyno_model::finding::{Finding, Scope};
use kdyno_model::imported;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::run::{RunHeader, RunStatus, Session, SessionEnd, TrialStart};
use kdyno_model::sample::NoiseReading;
use kdyno_model::series::TrialSeries;
use kdyno_model::trial::TrialId;
use kdyno_report::ReportInput;
use kdyno_scenario::input::nearest;
use kdyno_store::{RunFile, RunList, RunSummary, StoreError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Everything of one run that reports are made of.
pub(crate) struct Evidence {
    header: RunHeader,
    sessions: Vec<(Session, Option<SessionEnd>)>,
    is_live: bool,
    /// The trial that goes on, of one that is live.
    goes_on: Option<TrialId>,
    trials: Vec<TrialStart>,
    events: Vec<(Option<TrialId>, Event)>,
    noise: Vec<(TrialId, NoiseReading)>,
    judgement: Judgement,
    series: Vec<TrialSeries>,
    stacks: Vec<TrialStacks>,
}

impl Evidence {
    /// Reads what was drawn from a run when it was made, of trials without courses over time the rows. A run that was cut off,
    /// or could not store everything, has rows from which nothing has been drawn yet: it is analysed anew.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let file = RunFile::open(path)?;
        let mut run = Self::stored(&file)?;
        let is_analysed = run.is_analysed();
        let mut outcomes = Vec::new();
        for start in &run.trials {
            let id = start.trial.id;
            run.noise.extend(file.noise(id)?.into_iter().map(|reading| (id, reading)));
            if is_analysed && let Some(series) = file.course(id)? {
                run.series.push(series);
                continue;
            }
            let evidence = file.evidence(id)?;
            run.series.push(kdyno_analysis::series::trial(&evidence).map_err(Failure::tool)?);
            if !is_analysed {
                let drawn = kdyno_analysis::trial::judge(&evidence).map_err(Failure::tool)?;
                outcomes.push(TrialOutcome::of_start(start, drawn));
            }
        }
        if !is_analysed {
            let sessions: Vec<Session> = run.sessions().cloned().collect();
            let is_out_of_time = run.is_out_of_time();
            let (plan, starts) = (&run.header.plan, &run.trials);
            run.judgement = kdyno_analysis::run::all(plan, outcomes, starts, &sessions, is_out_of_time);
            run.goes_on();
        }
        Ok(run.stated())
    }

    /// The same with the stacks that were sampled, for the page.
    pub(crate) fn read_with_stacks(path: &Path) -> Result<Self, Failure> {
        let mut run = Self::read(path)?;
        let file = RunFile::open(path)?;
        for (trial, subject, _) in file.sampled()? {
            run.stacks.extend(file.stacks(trial, &subject)?);
        }
        Ok(run)
    }

    /// Reads what was drawn from a run when it was made, and none of its rows: they are many, and tables and sentences
    /// need none of them. Without courses over time and readings of noise.
    pub(crate) fn read_judged(path: &Path) -> Result<Self, Failure> {
        let file = RunFile::open(path)?;
        let run = Self::stored(&file)?;
        drop(file);
        if !run.is_analysed() {
            return Self::read(path);
        }
        Ok(run.stated())
    }

    /// What is to be stored of a series that is imported: what it comes to in each trial, and what all trials say together of
    /// everything that is imported. Nothing else that is stored changes. Of a run that was cut off nothing is: it is analysed
    /// anew whenever it is read, with what was imported.
    pub(crate) fn drawn_from_import(
        file: &RunFile,
        subject: &Subject,
        of_trials: Vec<Finding>,
    ) -> Result<Judgement, Failure> {
        let run = Self::stored(file)?;
        if !run.is_analysed() {
            return Ok(Judgement::default());
        }
        Ok(run.drawn_anew(subject, of_trials))
    }

    fn drawn_anew(mut self, subject: &Subject, of_trials: Vec<Finding>) -> Judgement {
        let subject = subject.to_string();
        self.judgement.findings.retain(|one| one.of.subject != subject);
        self.judgement.findings.extend(of_trials.iter().cloned());
        let outcomes = self.outcomes();
        let trials: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
        let sessions: Vec<Session> = self.sessions().cloned().collect();
        let (plan, is_out_of_time) = (&self.header.plan, self.is_out_of_time());
        let mut drawn = kdyno_analysis::run::judge(plan, &trials, &self.trials, &sessions, is_out_of_time);
        drawn.findings.retain(|one| imported::is_of(&one.of));
        let is_imported =
            |one: &Conclusion| matches!(one, Conclusion::Verdict(of) if of.role == MetricRole::Imported);
        drawn.conclusions.retain(is_imported);
        drawn.findings.extend(of_trials);
        Judgement { caveats: Vec::new(), ..drawn }
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

    /// A trial that goes on has no totals yet, as one that was cut off: it is not told as that, nor that records have no outcome.
    fn goes_on(&mut self) {
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

    /// As reports state it.
    fn stated(mut self) -> Self {
        self.state_side_b();
        marks::at_least(&mut self.judgement.findings, &self.judgement.caveats);
        self
    }

    /// States side B of a comparison that was stored before its cases were stated of that side too, from what its trials
    /// state.
    fn state_side_b(&mut self) {
        let is_stated = self.judgement.findings.iter().any(|one| matches!(one.scope, Scope::SideB { .. }));
        if is_stated || self.header.plan.strategy.as_compare().is_none() {
            return;
        }
        let outcomes = self.outcomes();
        let trials: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
        let side_b = kdyno_analysis::run::side_b(&self.header.plan, &trials);
        self.judgement.findings.extend(side_b);
    }

    fn stored(file: &RunFile) -> Result<Self, Failure> {
        Ok(Self {
            header: file.header()?,
            sessions: file.sessions()?,
            is_live: file.is_live(),
            goes_on: None,
            trials: file.trials()?,
            events: file.events()?,
            noise: Vec::new(),
            judgement: file.judgement()?,
            series: Vec::new(),
            stacks: Vec::new(),
        })
    }

    /// Whether each trial's findings are stored, and what the trials say together. Of a trial that conditions a cluster
    /// nothing is stated.
    fn is_analysed(&self) -> bool {
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

    /// Its sessions, in order.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.iter().map(|(session, _)| session)
    }

    /// Which run it is, wherever its file lies.
    pub(crate) fn run_id(&self) -> u64 {
        self.header.run_id
    }

    /// When its first session began, ns since 1970.
    pub(crate) fn started_unix_ns(&self) -> u64 {
        self.sessions.first().map_or(0, |(session, _)| session.started_unix_ns)
    }

    /// The same, as reports take it.
    pub(crate) fn input(&self) -> ReportInput<'_> {
        ReportInput {
            header: &self.header,
            sessions: &self.sessions,
            is_live: self.is_live,
            goes_on: self.goes_on,
            trials: &self.trials,
            events: &self.events,
            noise: &self.noise,
            findings: &self.judgement.findings,
            caveats: &self.judgement.caveats,
            conclusions: &self.judgement.conclusions,
            series: &self.series,
            stacks: &self.stacks,
        }
    }
}

/// The files of all runs of a scenario, oldest first; none when it is not the name of one that ran.
pub(crate) fn runs_of_scenario(named: &str, dir: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    Ok(runs_of(named, dir)?.into_iter().map(|run| run.path).collect())
}

fn runs_of(named: &str, dir: Option<&Path>) -> Result<Vec<RunSummary>, Failure> {
    let folder = runs_dir(dir)?;
    if Path::new(named).is_file() || !folder.is_dir() {
        return Ok(Vec::new());
    }
    let scenario = if scenario_source::bundled(named).is_ok() { last_part(named) } else { named };
    let mut runs = kdyno_store::list(&folder)?.runs;
    runs.retain(|run| run.scenario == scenario);
    Ok(runs)
}

/// The newest run of a scenario that ended as planned, of those without `--set` where there are any, and a word about a newer one
/// that was passed over; `None` where no scenario that ran was named, or none of its runs ended so.
pub(crate) fn newest_whole_run(named: &str, dir: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let of_scenario = runs_of(named, dir)?;
    let is_whole = |run: &RunSummary| run.end.as_ref().is_some_and(|end| end.status == RunStatus::Completed);
    let as_written = of_scenario.iter().rfind(|run| is_whole(run) && run.changed.is_empty());
    let Some(whole) = as_written.or_else(|| of_scenario.iter().rfind(|run| is_whole(run))) else {
        return Ok(None);
    };
    let (path, profile) = (whole.path.display(), &whole.profile);
    out::note(&format!("the newest whole run of {named} is {path}, profile {profile}"));
    if let Some(newer) = of_scenario.last().filter(|run| run.path != whole.path) {
        let why = match is_whole(newer) {
            true => "was changed by `--set`",
            false if newer.live => "goes on",
            false => "did not end as planned",
        };
        let newer = newer.path.display();
        out::note(&format!("{newer} is newer and {why}; name it to have it instead"));
    }
    Ok(Some(whole.path.clone()))
}

/// The run that was named: a file, `latest`, a file's whole name in the folder of runs without its ending, a scenario
/// for its newest run there, or the beginning of a file's name.
pub(crate) fn find_run(named: &str, dir: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = Path::new(named);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let folder = runs_dir(dir)?;
    let RunList { mut runs, unreadable } = kdyno_store::list(&folder)?;
    if named == "latest" {
        left_out(&unreadable);
        return runs.pop().map(|run| run.path).ok_or_else(|| {
            Failure::usage(format!("there is no run in {}", folder.display()))
                .hint("`kdyno run first-light` makes one; `--dir DIR` names another folder")
        });
    }
    let whole = folder.join(format!("{named}.{ENDING}"));
    if !named.contains('/') && whole.is_file() {
        return Ok(whole);
    }
    // A run knows a bundled scenario by the last part of its name.
    let scenario = if scenario_source::bundled(named).is_ok() { last_part(named) } else { named };
    if let Some(run) = runs.iter().rfind(|run| run.scenario == scenario) {
        out::note(&format!("the newest run of {named} is {}", run.path.display()));
        return Ok(run.path.clone());
    }
    let scenarios: BTreeSet<String> = runs.iter().map(|run| run.scenario.clone()).collect();
    let mut paths: Vec<PathBuf> = runs.into_iter().map(|run| run.path).collect();
    let stems: Vec<String> =
        paths.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    paths.extend(unreadable.into_iter().map(|(path, _)| path));
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(named)));
    let hint = "`latest` is the newest, a scenario's name its newest run; `kdyno runs` lists all";
    match paths.as_slice() {
        [one] => Ok(one.clone()),
        [] => {
            let there = scenarios.iter().chain(&stems).map(String::as_str);
            let meant = nearest(named.strip_suffix(&format!(".{ENDING}")).unwrap_or(named), there);
            let meant = meant.map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let message = format!("there is no run `{named}`, neither as a file nor in {}", folder.display());
            Err(Failure::usage(message).hint(format!("{meant}{hint}")))
        }
        several => Err(Failure::usage(format!(
            "{} runs in {} begin with `{named}`",
            several.len(),
            folder.display()
        ))
        .hint(hint)),
    }
}

/// One line for the files that no run could be read from.
fn left_out(unreadable: &[(PathBuf, StoreError)]) {
    match unreadable {
        [] => {}
        [(_, error)] => out::note(&format!("left out: {error}")),
        [(_, first), more @ ..] => {
            out::note(&format!("left out: {first}, and {} more; `kdyno runs` names them", more.len()))
        }
    }
}

impl From<StoreError> for Failure {
    /// What is no run file was named by mistake; everything else went wrong with one.
    fn from(error: StoreError) -> Self {
        let hint = error.hint().map(ToOwned::to_owned);
        let StoreError::NotARunFile { path, .. } = &error else { return Self::tool(&error).maybe_hint(hint) };
        let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let scenario = || {
            let path = path.display();
            format!("a scenario is run with `kdyno run {path}`; `kdyno runs` lists the runs that are stored")
        };
        Self::usage(&error).maybe_hint(is_yaml.then(scenario).or(hint))
    }
}

/// The name of a run's file, without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A comparison of two releases, for tests.
#[cfg(test)]
pub(crate) fn small_comparison() -> kdyno_model::plan::Plan {
    use kdyno_plan::{Ask, Change, Choices, CompareChoices, SideChoices};
    use kdyno_scenario::Scenario;

    let text = "kdyno: 1\nid: small\nquestion: How?\nsystem: {kafka: 4.1.1}\n\
                topics: {perf: {partitions: 1}}\nload: {writers: {produce: perf, rate: 1/s, value: 100B}}\n\
                phases: {warmup: 0s, measure: 1s}\n";
    let scenario = Scenario::parse(text, "test").expect("a scenario");
    let kafka = Change::Set { name: "kafka".to_owned(), value: "4.3.1".to_owned() };
    let b = SideChoices { changes: vec![kafka], ..SideChoices::default() };
    let ask = Ask::Compare(CompareChoices { b, ..CompareChoices::default() });
    kdyno_plan::plan(&scenario, &Choices { ask, ..Choices::default() }).expect("a plan")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::finding::{Interval, NotResolvable, Quantity, Value};
    use kdyno_model::metric::{Address, Unit};
    use kdyno_model::plan::Strategy;
    use kdyno_model::trial::{PairPlace, Trial, TrialReason};
    use std::collections::BTreeMap;

    /// A comparison with a trial of each side.
    fn compared() -> Evidence {
        let plan = small_comparison();
        let start = |(number, side): (u8, &str)| TrialStart {
            trial: Trial {
                id: TrialId(number.into()),
                case: 0,
                variant: Some(side.to_owned()),
                pair: Some(PairPlace { pair: 1, place: number }),
                repeat: 1,
                start: 1,
                label: String::new(),
                reason: TrialReason::Pair,
                seed: 1,
                effective: plan.cases[0].clone(),
            },
            session: 1,
            t0_unix_ns: 0,
            t0_monotonic_ns: 0,
            streams: Vec::new(),
            cluster: BTreeMap::new(),
            command_lines: BTreeMap::new(),
            settings: BTreeMap::new(),
        };
        let finding = |(number, value): (u32, f64)| Finding {
            scope: Scope::Trial(TrialId(number)),
            of: Address { subject: "writers".to_owned(), metric: "acked_per_s".to_owned() },
            quantity: Quantity::Value,
            unit: Unit::RecordsPerS,
            estimate: Value::Is(value),
            n: 1,
            range: None,
            interval: Interval::NotResolvable(NotResolvable::OneTrial),
            marks: BTreeSet::new(),
        };
        let findings = [(1, 10.0), (2, 20.0)].map(finding).to_vec();
        Evidence {
            trials: [(1, "A"), (2, "B")].map(start).to_vec(),
            judgement: Judgement { findings, ..Judgement::default() },
            header: RunHeader {
                run_id: 1,
                scenario_text: String::new(),
                scenario_path: String::new(),
                plan: plan.clone(),
            },
            is_live: false,
            goes_on: None,
            sessions: Vec::new(),
            events: Vec::new(),
            noise: Vec::new(),
            series: Vec::new(),
            stacks: Vec::new(),
        }
    }

    #[test]
    fn what_is_imported_is_drawn_by_itself_and_replaces_what_was_imported_before() {
        let subject = Subject::Imported("rds".to_owned());
        let of = Address { subject: subject.to_string(), metric: "CPU".to_owned() };
        let mut run = compared();
        if let Strategy::Compare(settings) = &mut run.header.plan.strategy {
            settings.pairs_per_start = 1;
        }
        let mean = |trial: &Finding, value: f64| Finding {
            of: of.clone(),
            unit: Unit::Ratio,
            estimate: Value::Is(value),
            ..trial.clone()
        };
        let before = mean(&run.judgement.findings[0], 0.9);
        let now: Vec<Finding> = (run.judgement.findings.iter().zip([0.2, 0.4]))
            .map(|(finding, value)| mean(finding, value))
            .collect();
        run.judgement.findings.push(before);
        let drawn = run.drawn_anew(&subject, now.clone());
        assert!(drawn.findings.iter().all(|one| one.of == of), "{:?}", drawn.findings);
        let in_scope = |scope| drawn.findings.iter().find(|one| one.scope == scope).map(|one| one.estimate);
        assert_eq!(in_scope(Scope::Case(0)), Some(Value::Is(0.2)), "side A");
        assert_eq!(in_scope(Scope::SideB { case: 0 }), Some(Value::Is(0.4)));
        assert!(now.iter().all(|one| drawn.findings.contains(one)), "{:?}", drawn.findings);
        let [Conclusion::Verdict(verdict)] = &drawn.conclusions[..] else { panic!("{drawn:?}") };
        assert_eq!((&verdict.of, verdict.role), (&of, MetricRole::Imported));
        assert_eq!((verdict.a, verdict.b), (Value::Is(0.2), Value::Is(0.4)));
    }

    #[test]
    fn side_b_of_a_run_from_before_it_was_stated_is_drawn_from_its_trials() {
        let mut run = compared();
        // A second time it is there.
        for _ in 0..2 {
            run.state_side_b();
            let findings = &run.judgement.findings;
            let of_b: Vec<&Finding> =
                findings.iter().filter(|one| one.scope == Scope::SideB { case: 0 }).collect();
            assert_eq!((of_b.len(), of_b[0].estimate), (1, Value::Is(20.0)), "{findings:?}");
        }
    }
}
