//! The commands of a trial: started at their instants of the measure phase, heard until everything of the last was
//! received.

use super::command_set::{GONE_NS, StartedCommand};
use super::component_set::Components;
use super::variables::of_trial;
use super::{Execution, TrialContext};
use crate::clock::{monotonic_ns, relative_ns};
use crate::command::{self, Parse};
use crate::command_news::{CommandNews, CommandOutput};
use crate::error::LabError;
use crate::options::RunProgress;
use crate::output::last_lines;
use kdyno_model::event::{EventKind, Subject};
use kdyno_model::plan::command::series;
use kdyno_model::plan::http_load::{HTTP_LOAD, HttpLoad};
use kdyno_model::plan::{CommandPlan, StopSignal};
use kdyno_model::sample::{Phase, ProbeReading};
use kdyno_model::secret::Secret;
use kdyno_model::seed::mix;
use kdyno_model::units::length;
use kdyno_model::worker::{PhaseSpan, ToWorker};
use kdyno_testbed::command::{CommandExit, CommandSpec, MadeToEnd, find};
use kdyno_testbed::secret_file;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Between asking a command to end and killing it.
const GRACE_MS: u64 = 2_000;
/// Which draw from a trial's seed is for commands: those before it are for load items with clients.
const SEED_OF_COMMANDS: u64 = 1 << 32;
/// How long reading its results may take.
const READ_NS: u64 = 120_000_000_000;

impl Execution<'_> {
    /// The measure phase, CLOCK_MONOTONIC, ns; `None`: it is not known yet when it begins.
    pub(super) fn measured_ns(&self) -> Option<(u64, u64)> {
        let span = self.phases.iter().find(|span| span.phase == Phase::Measure)?;
        Some((self.t0_ns.saturating_add(span.start_ns), self.t0_ns.saturating_add(span.end_ns)))
    }

    /// Whether nothing is left to be heard of the trial's load: of a trial without workers the measure phase is over too.
    pub(super) fn is_over(&self) -> bool {
        let is_measured = || self.measured_ns().is_some_and(|(_, end_ns)| end_ns <= monotonic_ns());
        let is_alone = self.workers.is_empty() && self.cut_short.is_none();
        self.done.len() >= self.workers.len() && self.commands.are_over() && (!is_alone || is_measured())
    }

    /// When something is to be done about commands, CLOCK_MONOTONIC, ns.
    pub(super) fn commands_wake_ns(&self) -> u64 {
        let Some((start_ns, end_ns)) = self.measured_ns() else { return u64::MAX };
        let waiting = self.commands.waiting.values().filter_map(|plan| self.commands.begins_ns(plan));
        let next_ns = waiting.min().map_or(u64::MAX, |begins_ns| start_ns.saturating_add(begins_ns));
        let has_end = !self.commands.are_stopped && (self.workers.is_empty() || !self.commands.are_over());
        if has_end { next_ns.min(end_ns) } else { next_ns }
    }

    /// Starts those whose instant has come, and ends all when the measure phase has.
    pub(super) fn run_commands(&mut self, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let Some((start_ns, end_ns)) = self.measured_ns() else { return Ok(()) };
        if self.commands.are_over() || self.commands.are_stopped {
            return Ok(());
        }
        let now_ns = monotonic_ns();
        if now_ns >= end_ns {
            let late: Vec<String> = self.commands.waiting.keys().cloned().collect();
            self.commands.stop();
            self.deadline_ns = self.deadline_ns.max(now_ns + GONE_NS);
            return late.iter().try_for_each(|item| {
                self.command_failed(item, "the measure phase ended before it was started", progress)
            });
        }
        loop {
            let commands = &self.commands;
            let is_due = |plan: &CommandPlan| {
                commands.begins_ns(plan).is_some_and(|begins_ns| start_ns.saturating_add(begins_ns) <= now_ns)
            };
            let due = commands.waiting.iter().find(|(_, plan)| is_due(plan)).map(|(item, _)| item.clone());
            let Some(item) = due else { return Ok(()) };
            self.start_command(&item, progress)?;
        }
    }

    fn start_command(&mut self, item: &str, progress: &mut dyn FnMut(RunProgress)) -> Result<(), LabError> {
        let Some(plan) = self.commands.waiting.remove(item) else { return Ok(()) };
        let context = self.context;
        let here = || {
            let (spec, folder) = prepared(context, item, &plan, &self.components)?;
            let parse = plan.parse.clone().map(|plan| Parse { plan, folder });
            command::start(item, &spec, &context.secrets.variables(), parse, self.inbox.sender())
        };
        let started = match &plan.pods {
            None => here(),
            Some(pods) => self.start_in_pods(item, &plan, pods),
        };
        match started {
            Ok((started_ns, end)) => {
                let at_ns = relative_ns(started_ns, self.t0_ns);
                let detail = format!("{item} was started: {}", plan.line());
                self.event(Some(at_ns), EventKind::CommandStarted, &Subject::Item(item.to_owned()), &detail)?;
                let running = StartedCommand { plan, started_ns, end, exit: None };
                self.commands.running.insert(item.to_owned(), running);
                Ok(())
            }
            Err(why) => {
                self.command_failed(item, &why, progress)?;
                self.command_over(item, &plan)
            }
        }
    }

    /// What is heard of a command.
    pub(super) fn hear_command(
        &mut self,
        item: &str,
        news: CommandNews,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        match news {
            CommandNews::Exited(ended) => self.command_exited(item, ended),
            CommandNews::Read(output) => self.command_read(item, &output, progress),
        }
    }

    fn command_exited(&mut self, item: &str, ended: Option<CommandExit>) -> Result<(), LabError> {
        let is_cut_short = self.cut_short.is_some();
        let Some(running) = self.commands.running.get_mut(item) else { return Ok(()) };
        let (plan, started_ns) = (running.plan.clone(), running.started_ns);
        let at_ns = ended.as_ref().map_or_else(monotonic_ns, |ended| ended.at_ns);
        let took_ns = at_ns.saturating_sub(started_ns);
        let against = failure(&plan, ended.as_ref(), took_ns, is_cut_short);
        running.exit = Some((ended.clone(), against));
        if plan.parse.is_some() && !is_cut_short {
            self.deadline_ns = self.deadline_ns.max(monotonic_ns() + READ_NS);
        }
        let (t0_ns, subject) = (self.t0_ns, Subject::Item(item.to_owned()));
        let reading = |series: &str, value: f64| ProbeReading {
            at_ns: relative_ns(at_ns, t0_ns),
            subject: subject.clone(),
            series: series.to_owned(),
            value,
        };
        let has_ended = ended.as_ref().is_some_and(|ended| ended.made.is_none());
        let took = if has_ended { series::DURATION_S } else { series::ENDED_AFTER_S };
        let mut readings = vec![
            reading(series::STARTED_S, relative_ns(started_ns, t0_ns) as f64 / 1e9),
            reading(took, took_ns as f64 / 1e9),
        ];
        // That of pods is not of this host, and not known here.
        let here = ended.as_ref().filter(|_| plan.pods.is_none());
        readings.extend(here.map(|ended| reading(series::CPU_S, ended.cpu_s)));
        let code = ended.as_ref().and_then(|ended| ended.code);
        readings.extend(code.map(|code| reading(series::EXIT_CODE, code.into())));
        self.context.store.probe(self.context.trial.id, readings)?;
        self.command_over(item, &plan)
    }

    /// A command has ended, or never began: those after it may begin, and the measure phase ends if it waited for this one.
    fn command_over(&mut self, item: &str, plan: &CommandPlan) -> Result<(), LabError> {
        self.commands.ended.insert(item.to_owned());
        if plan.ends_measure && self.cut_short.is_none() { self.end_measure() } else { Ok(()) }
    }

    /// Ends the measure phase now.
    fn end_measure(&mut self) -> Result<(), LabError> {
        let now_ns = monotonic_ns().saturating_sub(self.t0_ns);
        let spans = ended_at(&self.phases, now_ns);
        self.context.store.phases(self.context.trial.id, &spans)?;
        if let Some(observer) = &self.observer {
            observer.phases_end(spans.iter().map(|span| span.end_ns).collect());
        }
        self.phases = spans;
        self.deadline_ns = self.deadline_ns.min(monotonic_ns() + READ_NS);
        // A worker that cannot be reached has closed its socket: its next message says so.
        let _ = self.tell_workers(&ToWorker::Stop);
        Ok(())
    }

    fn command_read(
        &mut self,
        item: &str,
        output: &CommandOutput,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let Some(StartedCommand { started_ns, exit, .. }) = self.commands.running.remove(item) else {
            return Ok(());
        };
        let (ended, failure) = exit.unwrap_or_default();
        let context = self.context;
        let end_ns = ended.as_ref().map_or_else(monotonic_ns, |ended| ended.at_ns);
        let (from_ns, at_ns) = (relative_ns(started_ns, self.t0_ns), relative_ns(end_ns, self.t0_ns));
        let subject = Subject::Item(item.to_owned());
        let t0_unix_ns = context.wall_offset_ns.saturating_add_unsigned(self.t0_ns).max(0).cast_unsigned();
        let reported = output.reported.as_ref();
        let mut readings =
            reported.map(|reported| reported.readings(item, t0_unix_ns, from_ns, at_ns)).unwrap_or_default();
        let series = series::OUTPUT_BYTES.to_owned();
        readings.push(ProbeReading { at_ns, subject: subject.clone(), series, value: output.bytes as f64 });
        context.store.probe(context.trial.id, readings)?;
        let tail = self.components.hide(&context.private.hide(&output.tail));
        if !tail.trim().is_empty() {
            context.store.log(item, &tail)?;
        }
        let has_failed = failure.is_some();
        match failure {
            Some(why) => {
                self.command_failed(item, &format!("{why}{}", last_lines(&tail)), progress)?;
            }
            None => {
                let left = ended.as_ref().map_or(0, |ended| ended.left);
                let left = if left > 0 {
                    format!("; it left {left} processes running, which were ended")
                } else {
                    String::new()
                };
                let took = length(end_ns.saturating_sub(started_ns));
                let detail = format!("{item} ended after {took}{left}");
                self.event(Some(at_ns), EventKind::CommandEnded, &subject, &detail)?;
            }
        }
        let of_output = reported.and_then(|reported| reported.trouble(t0_unix_ns, (from_ns, at_ns)));
        match output.trouble.as_ref().or(of_output.as_ref()) {
            // Its last words have been reported with how it ended.
            Some(trouble) if has_failed => self.command_failed(item, trouble, progress),
            Some(trouble) => self.command_failed(item, &format!("{trouble}{}", last_lines(&tail)), progress),
            None => Ok(()),
        }
    }

    /// A command did not do what it was to.
    pub(super) fn command_failed(
        &self,
        item: &str,
        why: &str,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<(), LabError> {
        let detail = self.context.private.hide(&format!("{item}: {why}"));
        progress(RunProgress::Warning(detail.clone()));
        let at_ns = Some(relative_ns(monotonic_ns(), self.t0_ns));
        self.event(at_ns, EventKind::CommandFailed, &Subject::Item(item.to_owned()), &detail)
    }
}

/// The phases where the measure phase ends at an instant, ns from T0; the drain keeps its length.
fn ended_at(phases: &[PhaseSpan], now_ns: u64) -> Vec<PhaseSpan> {
    let mut shift_ns = 0;
    let moved = phases.iter().map(|span| match span.phase {
        Phase::Measure => {
            let end_ns = now_ns.clamp(span.start_ns, span.end_ns);
            shift_ns = span.end_ns - end_ns;
            PhaseSpan { end_ns, ..*span }
        }
        _ => PhaseSpan { start_ns: span.start_ns - shift_ns, end_ns: span.end_ns - shift_ns, ..*span },
    });
    moved.collect()
}

/// What speaks against a command that has ended, one lowercase clause; `None`: nothing.
fn failure(
    plan: &CommandPlan,
    ended: Option<&CommandExit>,
    took_ns: u64,
    is_cut_short: bool,
) -> Option<String> {
    let took = length(took_ns);
    let Some(ended) = ended else {
        return Some(format!("it was ended from outside after {took}: its keeper was killed"));
    };
    match (ended.made, ended.code, ended.signal) {
        (Some(MadeToEnd::Timeout), ..) => {
            Some(format!("it did not end within its timeout of {} and was ended", length(plan.timeout_ns)))
        }
        (Some(MadeToEnd::Stopped), ..) if is_cut_short => {
            Some(format!("it was ended with the trial after {took}"))
        }
        // Users stay until then.
        (Some(MadeToEnd::Stopped), Some(0), _) if matches!(plan.http, Some(HttpLoad::Users(_))) => None,
        (Some(MadeToEnd::Stopped), ..) => {
            Some(format!("it still ran when the measure phase ended, after {took}, and was ended"))
        }
        (None, Some(0), _) => None,
        (None, Some(code), _) => Some(format!("it ended with exit code {code} after {took}")),
        (None, None, Some(signal)) => Some(format!("it was ended by signal {signal} after {took}")),
        (None, None, None) if plan.pods.is_some() => {
            Some(format!("not all of its pods ran to their end, after {took}"))
        }
        (None, None, None) => Some(format!("how it ended is not known, after {took}")),
    }
}

/// What is run, and the folder that the command may write to.
fn prepared(
    context: &TrialContext<'_>,
    item: &str,
    plan: &CommandPlan,
    components: &Components,
) -> Result<(CommandSpec, PathBuf), String> {
    let folder = context.work_dir.join(format!("command-{item}"));
    let made = std::fs::create_dir_all(&folder);
    made.map_err(|error| format!("its folder {} cannot be made: {error}", folder.display()))?;
    if let Some(file) = plan.parse.as_ref().and_then(|parse| parse.file.as_ref())
        && folder.join(file).exists()
    {
        return Err(format!(
            "its results {file} are there before it is started, so they are not of this trial alone (a file beneath \
             KDYNO_FOLDER is)"
        ));
    }
    let command_line = match &plan.http {
        Some(http) => {
            let seed = seed_of(context.trial.seed, &context.trial.effective.commands, item);
            of_kdynos_own(context, &http.clone().seeded(seed), components, &folder)?
        }
        None => {
            let (name, arguments) =
                plan.run.split_first().ok_or_else(|| "nothing to run was named".to_owned())?;
            let program = find(name, context.environment)?.to_string_lossy().into_owned();
            std::iter::once(program).chain(arguments.iter().cloned()).collect()
        }
    };
    let mut variables = of_trial(context, &folder, &components.bootstrap(context.system))?;
    variables.push(("KDYNO_ITEM".to_owned(), item.to_owned()));
    variables.extend(components.variables());
    variables.extend(plan.environment.clone());
    let spec = CommandSpec {
        exe: context.self_exe.to_owned(),
        command_line,
        environment: variables,
        mark: format!("{:016x}-{}-{item}", context.run_id, context.trial.id),
        timeout_ns: plan.timeout_ns,
        signal: StopSignal::Term,
        grace_ms: GRACE_MS,
    };
    Ok((spec, folder))
}

/// The seed of an item's chance: each item's own, another one in each repeat, and the same for both sides of a pair.
fn seed_of(trial_seed: u64, commands: &BTreeMap<String, CommandPlan>, item: &str) -> u64 {
    let place = (0_u64..).zip(commands.keys()).find(|(_, name)| *name == item).map_or(0, |(place, _)| place);
    mix(mix(trial_seed, SEED_OF_COMMANDS), place)
}

/// kdyno's own HTTP load gets its task in a file, which only its owner may read: headers may be a login.
fn of_kdynos_own(
    context: &TrialContext<'_>,
    http: &HttpLoad,
    components: &Components,
    folder: &Path,
) -> Result<Vec<String>, String> {
    let target = http.target();
    let address = match target.is_component {
        false => target.address.clone(),
        true => {
            let found = components.address(&target.address);
            format!("http://{}", found.ok_or_else(|| format!("there is no component {}", target.address))?)
        }
    };
    let http = http.clone().at(address);
    let text = Secret::new(serde_json::to_vec(&http).map_err(|error| error.to_string())?);
    let path = secret_file::write(folder, "http-load.json", &text).map_err(|error| error.to_string())?;
    let words = [context.self_exe.to_string_lossy(), HTTP_LOAD.into(), path.to_string_lossy()];
    Ok(words.map(Cow::into_owned).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans;

    const S: u64 = 1_000_000_000;

    fn ended(code: Option<i32>, signal: Option<i32>, made: Option<MadeToEnd>) -> CommandExit {
        CommandExit { at_ns: 0, code, signal, made, is_killed: false, cpu_s: 0.0, left: 0 }
    }

    #[test]
    fn seeds_of_users_differ_by_item_and_repeat_but_not_by_side() {
        let commands: BTreeMap<String, CommandPlan> =
            ["patrons", "staff"].map(|name| (name.to_owned(), plans::command())).into();
        let seed = |trial_seed, item| seed_of(trial_seed, &commands, item);
        assert_eq!(seed(7, "patrons"), seed(7, "patrons"));
        let all = [seed(7, "patrons"), seed(7, "staff"), seed(8, "patrons"), seed(8, "staff"), mix(7, 0)];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len(), "{all:?}");
        let users = plans::users("http://h", false);
        let HttpLoad::Users(seeded) = HttpLoad::Users(Box::new(users)).seeded(all[0]) else {
            panic!("users")
        };
        assert_eq!(seeded.seed, all[0]);
    }

    #[test]
    fn each_way_to_end_has_its_words() {
        let plan = plans::command();
        let reported = |of: Option<&CommandExit>, cut| failure(&plan, of, 2 * S, cut).unwrap_or_default();
        assert_eq!(reported(Some(&ended(Some(0), None, None)), false), "");
        assert_eq!(
            reported(Some(&ended(Some(3), None, None)), false),
            "it ended with exit code 3 after 2.00 s"
        );
        assert_eq!(
            reported(Some(&ended(None, Some(9), None)), false),
            "it was ended by signal 9 after 2.00 s"
        );
        let timeout = ended(None, Some(15), Some(MadeToEnd::Timeout));
        assert_eq!(
            reported(Some(&timeout), false),
            "it did not end within its timeout of 1 min and was ended"
        );
        let stopped = ended(Some(0), None, Some(MadeToEnd::Stopped));
        assert_eq!(
            reported(Some(&stopped), false),
            "it still ran when the measure phase ended, after 2.00 s, and was ended"
        );
        assert_eq!(reported(Some(&stopped), true), "it was ended with the trial after 2.00 s");
        assert_eq!(reported(None, false), "it was ended from outside after 2.00 s: its keeper was killed");
    }

    #[test]
    fn a_measure_phase_that_ends_sooner_takes_the_drain_with_it() {
        let span = |phase, start_s, end_s| PhaseSpan { phase, start_ns: start_s * S, end_ns: end_s * S };
        let phases = [span(Phase::Warmup, 0, 5), span(Phase::Measure, 5, 100), span(Phase::Drain, 100, 130)];
        let moved = ended_at(&phases, 42 * S);
        assert_eq!(
            moved,
            [span(Phase::Warmup, 0, 5), span(Phase::Measure, 5, 42), span(Phase::Drain, 42, 72)]
        );
        assert_eq!(ended_at(&phases, 200 * S), phases);
        assert_eq!(ended_at(&phases, S)[1], span(Phase::Measure, 5, 5));
    }
}
