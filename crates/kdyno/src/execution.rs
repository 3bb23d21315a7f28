//! From a plan to a run file, a table and an exit code: what `run`, `quick`, `omb` and `rerun` share.

use crate::cli::{ExecutionArgs, LabPlace};
use crate::command_line::command_line;
use crate::commands::show;
use crate::environment::{self, ENDING, ProgramEnvironment, current_dir, git_head, runs_dir};
use crate::evidence::RunEvidence;
use crate::failure::{CommandResult, Exit, Failure};
use crate::gate::gated;
use crate::in_kubernetes::{self, RunInPod};
use crate::looks::ComparisonLooks;
use crate::metrics_listener::MetricsListener;
use crate::progress::{Printer, tell_died};
use crate::{generators, given_files, moment, out, signals};
use kdyno_lab::generator::LabTask;
use kdyno_lab::{LabError, RunOptions, RunOutcome, RunProgress, RunRequest};
use kdyno_model::generator::GeneratorHost;
use kdyno_model::plan::Plan;
use kdyno_plan::Remark;
use kdyno_report::judged::{judged, unmet};
use kdyno_report::terminal::{self, PlanDetail, plan_text};
use kdyno_testbed::probe::named::NamedProcesses;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A run that sends an existing cluster more than this asks first: more than a first look needs.
const CONFIRM_BYTES: u64 = 1 << 30;

/// What is to be executed, and the words it came from.
pub(crate) struct PlannedExecution {
    pub(crate) plan: Plan,
    pub(crate) scenario_text: String,
    pub(crate) scenario_path: String,
    /// The files of the targets that were named.
    pub(crate) target_files: TargetFiles,
    /// What the plan makes of the scenario and its author may not expect.
    pub(crate) remarks: Vec<Remark>,
    /// The run that is gone on with.
    pub(crate) resumed: Option<Resumed>,
}

/// Target files by the id of their cluster.
pub(crate) type TargetFiles = BTreeMap<String, PathBuf>;

/// A run that was interrupted.
pub(crate) struct Resumed {
    /// Its file.
    pub(crate) path: PathBuf,
    /// Its id, which its topics have in their names.
    pub(crate) run_id: u64,
}

/// Executes the plan, keeps its evidence, prints its result.
pub(crate) fn execute(planned: PlannedExecution, args: &ExecutionArgs) -> CommandResult {
    execute_with(planned, args, &mut |_| ()).map(|(exit, _)| exit)
}

/// Executes for a command that prints more: `also` hears all that happens; hands back the run file too.
pub(crate) fn execute_with(
    mut planned: PlannedExecution,
    args: &ExecutionArgs,
    also: &mut dyn FnMut(&RunProgress),
) -> Result<(Exit, PathBuf), Failure> {
    let generators =
        generators::place(&mut planned.plan, planned.target_files.values(), &mut planned.remarks, args)?;
    let named = named_processes(&planned.plan, args)?;
    named.keep_names(&mut planned.plan.probe);
    confirm(&planned.plan, args)?;
    match args.quiet {
        true => warn(&planned.remarks),
        false => announce(&planned),
    }
    // Pairs of an earlier session are not at hand here: the answer at the end counts them.
    let looks = if planned.resumed.is_some() { None } else { ComparisonLooks::of(&planned.plan) };
    let mut printer = Printer::new(args.no_progress || args.quiet, looks);
    let mut listener = match args.metrics_listen {
        Some(address) => Some(MetricsListener::start(address, &args.metrics_host, &planned.plan.scenario)?),
        None => None,
    };
    let way = Way {
        out: args.out.as_deref(),
        named,
        generators,
        share: args.share,
        wait: Duration::from_nanos(args.wait.unwrap_or_default()),
        command_line: command_line(std::env::args_os()),
        variables: &|name| std::env::var_os(name),
        progress: &mut |progress| {
            listener.iter_mut().for_each(|listener| listener.tell(&progress));
            also(&progress);
            printer.tell(progress);
        },
    };
    let resume = match kdyno_plan::check_stored(&planned.plan) {
        Ok(()) => "",
        Err(_) => " --trust",
    };
    let outcome = match args.lab_in {
        None => measure(planned, way)?,
        Some(LabPlace::Kubernetes) => measure_in_pod(planned, way, args)?,
    };
    drop((printer, listener));
    Ok((present(&outcome, args, resume)?, outcome.path))
}

/// The processes that `--probe` names, found on this host, and those that it named when the plan was run before.
pub(crate) fn named_processes(plan: &Plan, args: &ExecutionArgs) -> Result<NamedProcesses, Failure> {
    NamedProcesses::find(&args.probe, &plan.probe).map_err(|error| Failure::usage(&error).hint(error.hint()))
}

/// How a plan is executed.
pub(crate) struct Way<'a> {
    /// Folder of the run file, if it was typed.
    pub(crate) out: Option<&'a Path>,
    /// Processes of this host that are read in addition to those of the run.
    pub(crate) named: NamedProcesses,
    /// How the hosts are reached that carry the load.
    pub(crate) generators: Vec<GeneratorHost>,
    /// Run although another run measures on this host.
    pub(crate) share: bool,
    /// How long to wait for one that does.
    pub(crate) wait: Duration,
    /// The command line that the run file keeps.
    pub(crate) command_line: Vec<String>,
    /// Values of secrets that the plan takes from environment variables.
    pub(crate) variables: &'a dyn Fn(&str) -> Option<OsString>,
    /// Called with what happens.
    pub(crate) progress: &'a mut dyn FnMut(RunProgress),
}

/// Has a pod execute the plan.
fn measure_in_pod(
    planned: PlannedExecution,
    way: Way<'_>,
    args: &ExecutionArgs,
) -> Result<RunOutcome, Failure> {
    let (Some(file), None) = (args.generators.as_deref(), &planned.resumed) else {
        return Err(Failure::usage("--in kubernetes: an interrupted run goes on where its file is")
            .hint("without --in it goes on from this host"));
    };
    let RunAt { run_id, run_file, git_head } = RunAt::of(&planned, way.out)?;
    let task = LabTask {
        plan: planned.plan,
        scenario_text: planned.scenario_text,
        scenario_path: planned.scenario_path,
        command_line: way.command_line,
        git_head,
        run_id,
        run_file: run_file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        generators: None,
        no_progress: args.no_progress || args.quiet,
    };
    let (generators, variables) = ((file, way.generators.as_slice()), way.variables);
    in_kubernetes::measure(RunInPod { task, run_file, id: random_u64(), generators, variables })
}

/// Which run it is, and where its evidence goes.
pub(crate) struct RunAt {
    pub(crate) run_id: u64,
    pub(crate) run_file: PathBuf,
    /// Commit of the repository in which it was typed.
    pub(crate) git_head: Option<String>,
}

impl RunAt {
    /// A new run, or the one that is gone on with.
    pub(crate) fn of(planned: &PlannedExecution, out: Option<&Path>) -> Result<Self, Failure> {
        let (run_id, run_file) = match &planned.resumed {
            Some(run) => (run.run_id, run.path.clone()),
            None => (random_u64(), run_file(&planned.plan, runs_dir(out)?)?),
        };
        Ok(Self { run_id, run_file, git_head: git_head(&current_dir()?) })
    }
}

/// Executes the plan and keeps its evidence; a signal ends it.
pub(crate) fn measure(planned: PlannedExecution, way: Way<'_>) -> Result<RunOutcome, Failure> {
    let at = RunAt::of(&planned, way.out)?;
    measure_at(at, planned, way, &given_files::read)
}

/// Measures a run that is known; `files` gives the content of a file of keys or values.
pub(crate) fn measure_at(
    at: RunAt,
    planned: PlannedExecution,
    way: Way<'_>,
    files: &dyn Fn(&str) -> Result<Vec<u8>, String>,
) -> Result<RunOutcome, Failure> {
    let environment = ProgramEnvironment::read()?;
    let RunAt { run_id, run_file, git_head } = at;
    let left = left_behind(&planned.plan, &planned.target_files, run_id);
    let evidence = run_file.clone();
    let stop = signals::stop_flag_with(move || last_words(&left, &evidence))?;
    let request = RunRequest {
        plan: planned.plan,
        scenario_text: planned.scenario_text,
        scenario_path: planned.scenario_path,
        command_line: way.command_line,
        git_head,
        kdyno_version: crate::cli::VERSION.to_owned(),
        run_id,
    };
    let options = RunOptions {
        run_file,
        resume: planned.resumed.is_some(),
        work_dir: environment.temp_dir.join(format!("kdyno-{run_id:016x}")),
        self_exe: environment.self_exe.clone(),
        environment: environment.testbed.clone(),
        named: way.named,
        generators: &way.generators,
        share: way.share,
        wait: way.wait,
        stop,
        variables: way.variables,
        files,
        progress: way.progress,
    };
    Ok(kdyno_lab::run(&request, options)?)
}

/// A random number: for run ids, and for seeds where none is given. The standard library's hasher
/// is seeded by the operating system.
pub(crate) fn random_u64() -> u64 {
    RandomState::new().hash_one(moment::now_unix_ns())
}

/// Prints the table or the document, writes the report next to the run file, chooses the exit code. `resume` is what
/// `--resume` takes in addition to the run file to go on with it.
fn present(outcome: &RunOutcome, args: &ExecutionArgs, resume: &str) -> CommandResult {
    let evidence = match RunEvidence::read_with_stacks(&outcome.path) {
        Ok(evidence) => evidence,
        // What stopped the run is to be reported, not that its file cannot be read after that.
        Err(_) if outcome.failure.is_some() => return failed_or(outcome, Some(resume), || Ok(Exit::Done)),
        Err(failure) => return Err(failure),
    };
    let input = evidence.input();
    let page = outcome.path.with_extension("html");
    if args.json {
        out::json(&kdyno_report::json::run(&input))?;
    } else if args.quiet {
        out::painted(&terminal::answer_alone(&input, &out::options()))?;
    } else if !input.findings.is_empty() {
        show::print(&input, args.format)?;
    }
    if let Some(target) = &args.junit {
        out::file(target, kdyno_report::junit::document(&input, args.gate.into()))?;
    }
    let say = |text: String| {
        if !args.quiet {
            out::note(&text);
        }
    };
    if outcome.failure.is_none() {
        // After a failure the last line says where the evidence is.
        say(format!("run     {}", outcome.path.display()));
    }
    if !input.trials.is_empty() {
        match out::file(&page, kdyno_report::html::page(&input)) {
            Ok(()) => say(format!("page    {}", page.display())),
            // The run's own outcome counts: its evidence is kept, and the page can be made from it later.
            Err(failure) => out::note(&format!("no report: {}", failure.message)),
        }
    }
    tell_died(&outcome.caveats);
    failed_or(outcome, Some(resume), || Ok(gated(judged(&input), args.gate, &unmet(&input))))
}

/// What went wrong together with where the evidence is; else what comes of the answer. `resume` is what `--resume`
/// takes in addition to the run file; `None`: nothing goes on with it.
pub(crate) fn failed_or(
    outcome: &RunOutcome,
    resume: Option<&str>,
    answer: impl FnOnce() -> CommandResult,
) -> CommandResult {
    let kept = format!("what was measured until then is kept in {}", outcome.path.display());
    match &outcome.failure {
        Some(LabError::Interrupted) => {
            let resume = resume.map(|more| {
                format!("; `kdyno run --resume {}{more}` goes on with it", outcome.path.display())
            });
            Err(Failure::new(Exit::Interrupted, "the run was interrupted")
                .hint(kept + &resume.unwrap_or_default()))
        }
        Some(error) => {
            let hints = error.hint().into_iter().chain([kept]);
            Err(Failure::tool(error).hint(hints.collect::<Vec<_>>().join("; ")))
        }
        None => answer(),
    }
}

/// Says what is about to happen and how long it takes.
fn announce(planned: &PlannedExecution) {
    let options = out::note_options();
    let estimate = kdyno_plan::estimate(&planned.plan);
    out::note_painted(plan_text(&planned.plan, &estimate, PlanDetail::Short, &options).trim_end());
    if let Some(first) = kdyno_plan::estimate_until_first_look(&planned.plan) {
        let length = kdyno_model::units::duration(first.expected_ns);
        out::note(&format!("first look: after about {length}, and there it may end"));
    }
    tell(&planned.remarks);
}

/// Among equal notes only the warnings.
fn warn(remarks: &[Remark]) {
    tell(remarks.iter().filter(|remark| matches!(remark, Remark::Warning(_))));
}

/// Says on standard error, each sentence once, what a plan makes of what was typed and its author may not expect.
pub(crate) fn tell<'a>(remarks: impl IntoIterator<Item = &'a Remark>) {
    for remark in remarks {
        match remark {
            Remark::Warning(text) => out::note_once(&format!("warning: {text}")),
            Remark::Fact(fact) => out::note_once(fact),
        }
    }
}

/// What a run that is ended at once leaves for others to remove, and how.
fn left_behind(plan: &Plan, files: &TargetFiles, run_id: u64) -> String {
    let own: BTreeSet<String> = plan.every_case().filter_map(|case| case.system.left_behind()).collect();
    let of_targets = plan.targets().into_iter().map(|target| {
        let topics = format!("{}{run_id:016x}-", target.prefix);
        // The file that `kdyno quick` was given.
        let config = if target.security.is_plaintext() { "" } else { " --command-config FILE" };
        let remedy = match files.get(&target.cluster_id) {
            Some(file) => format!("{}: `kdyno clean --target {} --yes`", target.target, file.display()),
            None => format!(
                "the cluster: `kafka-topics.sh --bootstrap-server {}{config} --delete --topic '{topics}.*'`",
                target.bootstrap.join(",")
            ),
        };
        format!("topics that begin with {topics} may be left on {remedy} removes them")
    });
    own.into_iter().chain(of_targets).collect::<Vec<_>>().join("; ")
}

/// The one line of a run that is ended at once.
fn last_words(left: &str, run_file: &Path) -> String {
    let evidence = match run_file.exists() {
        true => format!("the evidence so far is in {}", run_file.display()),
        false => "nothing was measured yet".to_owned(),
    };
    format!("ended at once; {left}; {evidence}")
}

/// Asks before an existing cluster is given a large volume, or one that nothing bounds; without a terminal to
/// ask on, `--yes` must have been given.
fn confirm(plan: &Plan, args: &ExecutionArgs) -> Result<(), Failure> {
    let is_guest = !plan.targets().is_empty();
    let volume = kdyno_plan::volume_bytes(plan);
    if args.yes || environment::is_agreed() || !is_guest || volume.is_some_and(|bytes| bytes <= CONFIRM_BYTES)
    {
        return Ok(());
    }
    let volume = match volume {
        Some(bytes) => kdyno_model::units::bytes(bytes as f64),
        None => "as much as it takes".to_owned(),
    };
    let whom = match plan.targets().len() {
        1 => "an existing cluster".to_owned(),
        several => format!("{several} existing clusters"),
    };
    let what = format!("this run sends {whom} {volume}, replicas not counted");
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(what).hint("--yes says that this is meant"));
    }
    out::note(&format!("{what}. Go on? [y/N]"));
    let mut answer = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|e| Failure::tool(format!("could not read the answer: {e}")))?;
    agreed(&answer)
}

/// Whether the answer is a yes. Any other is no interruption: nothing was started, and there is no evidence.
fn agreed(answer: &str) -> Result<(), Failure> {
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::usage("nothing was started, because the volume was not agreed to")
            .hint("a lower rate, smaller values or a shorter run send less")),
    }
}

/// A file that does not exist yet: `<time>-<scenario>.kdyno`, numbered when two start in one second.
fn run_file(plan: &Plan, folder: PathBuf) -> Result<PathBuf, Failure> {
    let stem = format!("{}-{}", moment::file_name(moment::now_unix_ns()), plan.scenario);
    let names = std::iter::once(stem.clone()).chain((2..100).map(|n| format!("{stem}-{n}")));
    names
        .map(|name| folder.join(format!("{name}.{ENDING}")))
        .find(|path| !path.exists())
        .ok_or_else(|| Failure::tool(format!("no free file name like {stem} in {}", folder.display())))
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Interrupted => Self::new(Exit::Interrupted, error),
            LabError::Testbed(error) => error.into(),
            // Checked before anything is started, so it is what was typed: a wrong password of a store, say.
            LabError::Credentials(error) if error.is_of_what_was_given() => Self::usage(error),
            error => Self::tool(&error).maybe_hint(error.hint()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::Strategy;

    #[test]
    fn a_volume_that_is_not_agreed_to_is_no_interruption() {
        assert!(["y\n", "Y", " yes "].into_iter().all(|answer| agreed(answer).is_ok()));
        for answer in ["n\n", "", "no", "yes please"] {
            let failure = agreed(answer).expect_err("not a yes");
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.message.starts_with("nothing was started"), "{failure:?}");
        }
    }

    /// A comparison of a cluster of its own (A) and an existing one (B).
    fn against_a_target() -> Plan {
        let text = "kdyno: 1\nid: x\nquestion: why?\nsystem: {kafka: 4.1.1}\ntopics: {t: {partitions: 1}}\n\
                    load: {w: {produce: t, rate: max, value: 1KiB}}\nphases: {measure: 1s}\n";
        let scenario = kdyno_scenario::Scenario::parse(text, "x.yaml").expect("a scenario");
        let target = "kdyno: 1\ntarget: staging\ncluster_id: abc\nclient: {bootstrap: [\"h:9092\"]}\n\
                      guard: {allow: [rate-max]}\n";
        let target = kdyno_scenario::target::TargetFile::parse(target, "t.yaml").expect("a target");
        let b = kdyno_plan::SideChoices { target: target.resolve(None).ok(), ..Default::default() };
        let ask = kdyno_plan::PlanQuestion::Compare(kdyno_plan::CompareChoices { b, ..Default::default() });
        kdyno_plan::plan(&scenario, &kdyno_plan::Choices { ask, ..Default::default() }).expect("a plan")
    }

    #[test]
    fn what_side_b_leaves_on_its_target_is_named() {
        let plan = against_a_target();
        let files = TargetFiles::from([("abc".to_owned(), PathBuf::from("t.yaml"))]);
        let left = left_behind(&plan, &files, 0xab);
        assert!(left.starts_with("the guard ends the brokers"), "{left}");
        assert!(
            left.contains("topics that begin with kdyno-00000000000000ab- may be left on staging"),
            "{left}"
        );
        assert!(left.contains("`kdyno clean --target t.yaml --yes`"), "{left}");
        let left = left_behind(&plan, &TargetFiles::new(), 0xab);
        assert!(left.contains("kafka-topics.sh --bootstrap-server h:9092 --delete"), "{left}");
        let mut secured = plan;
        let Strategy::Compare(compare) = &mut secured.strategy else { panic!("a comparison") };
        let target = compare.b[0].system.target_mut().expect("a target");
        target.security.protocol = kdyno_model::plan::Protocol::Ssl;
        let left = left_behind(&secured, &TargetFiles::new(), 0xab);
        assert!(left.contains("h:9092 --command-config FILE --delete"), "{left}");
    }

    #[test]
    fn a_volume_for_side_b_is_agreed_to_as_well() {
        #[derive(clap::Parser)]
        struct ParsedExecution {
            #[command(flatten)]
            execution: ExecutionArgs,
        }
        let typed = |args: &[&str]| <ParsedExecution as clap::Parser>::parse_from(args).execution;
        let plan = against_a_target();
        // `rate: max` has no bound, and a test has no terminal to ask on.
        if !std::io::stdin().is_terminal() {
            let failure = confirm(&plan, &typed(&["kdyno"])).expect_err("nobody agreed");
            assert!(failure.message.contains("an existing cluster as much as it takes"), "{failure:?}");
        }
        assert!(confirm(&plan, &typed(&["kdyno", "--yes"])).is_ok());
        assert!(confirm(&Plan { strategy: Strategy::List(Vec::new()), ..plan }, &typed(&["kdyno"])).is_ok());
    }

    #[test]
    fn two_random_numbers_differ() {
        assert_ne!(random_u64(), random_u64());
    }
}
