//! Load items that are commands.

use crate::choices::PlanError;
use crate::http_load;
use crate::phases::PHASE_NS_MAX;
use crate::reader::CaseReader;
use kdyno_model::generator::HOSTS_MAX;
use kdyno_model::plan::command::COMMAND_VARIABLE;
use kdyno_model::plan::http_load::{HttpLoad, UsersPlan};
use kdyno_model::plan::{
    COMMAND_NS_MAX, CommandBegins, CommandPlan, CommandPods, CsvColumns, OutputFormat, ParsePlan, PhasesPlan,
    Plan,
};
use kdyno_model::units::duration;
use kdyno_scenario::file::{CommandFile, CommandKindFile, CommandLineFile, MeasureFile, UsersFile};
use kdyno_scenario::input::{InputError, known_hint, quoted};
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// Longest argument list.
const WORDS_MAX: usize = 1_000;
/// Most labels whose requests are reported by themselves: each takes 200 KiB while the command runs.
const LABELS_MAX: usize = 100;
/// What runs a command that is one text.
const SHELL: [&str; 2] = ["sh", "-c"];

/// The commands under `load`.
pub(crate) fn commands(reader: &CaseReader<'_>) -> Result<BTreeMap<String, CommandPlan>, PlanError> {
    let typed = reader.scenario.typed();
    let mut found = BTreeMap::new();
    for (name, item) in &typed.commands {
        found.insert(name.text.clone(), command(reader, &name.text, item)?);
    }
    if let MeasureFile::Until { until, .. } = &typed.phases.measure {
        let item = reader.text(until)?;
        let Some(command) = found.get_mut(&item) else {
            let message = format!("`until`: {} is no load item that is a command", quoted(&item));
            let names = typed.commands.iter().map(|(name, _)| name.text.as_str());
            return Err(reader.wrong(until, message).hint(known_hint(&item, names.collect::<Vec<_>>())));
        };
        if matches!(command.http, Some(HttpLoad::Users(_))) {
            return Err(never_ends(reader, until, "until", &item));
        }
        command.ends_measure = true;
    }
    in_order(reader, &found)?;
    Ok(found)
}

fn command(reader: &CaseReader<'_>, name: &str, item: &CommandFile) -> Result<CommandPlan, PlanError> {
    let (run, http, parse) = match &item.command {
        CommandKindFile::Users(users) => of_http(http_load::users(reader, users)?),
        CommandKindFile::Job(job) => of_http(http_load::job(reader, name, job)?),
        CommandKindFile::Line(line) => (words(reader, line)?, None, parse(reader, item)?),
    };
    let begins = match (&item.at, &item.after) {
        (Some(_), Some(after)) => {
            let error = reader.wrong(after, "`at` and `after` both say when the command begins");
            return Err(error.hint("leave one of them out"));
        }
        (Some(at), None) => CommandBegins::At(reader.ns(at, "at", 0..=PHASE_NS_MAX)?),
        (None, Some(after)) => CommandBegins::After(before(reader, name, after)?),
        (None, None) => CommandBegins::At(0),
    };
    Ok(CommandPlan {
        run,
        http,
        begins,
        timeout_ns: reader.ns(&item.timeout, "timeout", 1_000_000..=COMMAND_NS_MAX)?,
        ends_measure: false,
        environment: environment(reader, &item.environment)?,
        parse,
        pods: pods(reader, item)?,
    })
}

/// Whether the commands that are to run in pods can: the generators say where pods are made.
///
/// # Errors
/// They name none, or pods would not reach the brokers.
pub fn check_commands_in_pods(plan: &Plan, has_pods: bool) -> Result<(), PlanError> {
    for case in plan.every_case() {
        let in_pods = case.commands.iter().find(|(_, command)| command.pods.is_some());
        let Some((item, _)) = in_pods else { continue };
        let item = quoted(item);
        if !has_pods {
            let message =
                format!("load item {item} runs in pods, and no generators with `kubernetes` say where");
            return Err(InputError::whole(message).hint("`--generators FILE`, or `generators` of the target"));
        }
        if case.system.runs_here() {
            let message = format!(
                "load item {item} runs in pods, which cannot reach brokers that listen on this host's loopback address"
            );
            return Err(InputError::whole(message).hint("name an existing cluster with --target"));
        }
    }
    Ok(())
}

/// The pods that run it, if it is not to run here.
fn pods(reader: &CaseReader<'_>, item: &CommandFile) -> Result<Option<CommandPods>, PlanError> {
    /// Thousandths of a CPU.
    const MILLI: f64 = 1e3;
    let Some(typed) = &item.pods else { return Ok(None) };
    if let Some(results) = &item.results {
        let error = reader.wrong(results, "`results`: a file in a pod is not read");
        return Err(error.hint("let the command print its results, and leave `results` out"));
    }
    let image = reader.filled(&typed.image, "image")?;
    if image.contains(char::is_whitespace) {
        return Err(reader.wrong(&typed.image, format!("`image`: {} is no image", quoted(&image))));
    }
    let cpu = typed.cpu.as_ref().map(|cpu| reader.number(cpu, "cpu", 1.0 / MILLI..=1e3)).transpose()?;
    let memory = typed.memory.as_ref();
    Ok(Some(CommandPods {
        image,
        count: reader.whole(&typed.count, "count", 1..=HOSTS_MAX as u64)? as u16,
        cpu_milli: cpu.map(|cpus| (cpus * MILLI).round() as u32),
        memory_bytes: memory.map(|memory| reader.bytes(memory, "memory", 1..=1 << 50)).transpose()?,
    }))
}

/// What kdyno itself sends is started by its own name.
fn of_http((http, parse): (HttpLoad, ParsePlan)) -> (Vec<String>, Option<HttpLoad>, Option<ParsePlan>) {
    (Vec::new(), Some(http), Some(parse))
}

/// The program and its arguments.
pub(crate) fn words(reader: &CaseReader<'_>, typed: &CommandLineFile) -> Result<Vec<String>, PlanError> {
    match typed {
        CommandLineFile::Shell(text) => {
            let shell = SHELL.map(str::to_owned).into_iter();
            Ok(shell.chain([reader.filled(text, "command")?]).collect())
        }
        CommandLineFile::Program(words) if words.len() > WORDS_MAX => {
            let message = format!("`command` has {} words; at most {WORDS_MAX}", words.len());
            Err(reader.wrong(&words[0], message).hint("put them into a script"))
        }
        CommandLineFile::Program(words) => {
            let program = reader.filled(&words[0], "command")?;
            let rest = words[1..].iter().map(|word| reader.text(word));
            std::iter::once(Ok(program)).chain(rest).collect()
        }
    }
}

/// The command after which one begins.
fn before(reader: &CaseReader<'_>, own: &str, after: &Scalar) -> Result<String, PlanError> {
    let before = reader.text(after)?;
    let others = || reader.scenario.typed().commands.iter().filter(|(name, _)| name.text != own);
    match others().find(|(name, _)| name.text == before) {
        Some((_, CommandFile { command: CommandKindFile::Users(_), .. })) => {
            return Err(never_ends(reader, after, "after", &before));
        }
        Some(_) => return Ok(before),
        None => {}
    }
    let others = others().map(|(name, _)| name.text.as_str());
    Err(reader
        .wrong(after, format!("`after`: {} is no other command", quoted(&before)))
        .hint(known_hint(&before, others.collect::<Vec<_>>())))
}

/// What waits for users waits until the measure phase is over.
fn never_ends(reader: &CaseReader<'_>, typed: &Scalar, key: &str, item: &str) -> PlanError {
    let message = format!("`{key}`: {} are users, and users stay until the measure phase ends", quoted(item));
    reader.wrong(typed, message).hint("name a job or a command")
}

/// No command waits for itself by way of others.
fn in_order(reader: &CaseReader<'_>, commands: &BTreeMap<String, CommandPlan>) -> Result<(), PlanError> {
    for (name, item) in &reader.scenario.typed().commands {
        let mut at = &name.text;
        for _ in 0..=commands.len() {
            let Some(CommandBegins::After(before)) = commands.get(at).map(|plan| &plan.begins) else { break };
            if let (true, Some(after)) = (*before == name.text, &item.after) {
                let message = format!("`after`: `{}` would wait for itself", name.text);
                return Err(reader.wrong(after, message).hint("one of them begins without `after`"));
            }
            at = before;
        }
    }
    Ok(())
}

/// Variables that the scenario sets.
pub(crate) fn environment(
    reader: &CaseReader<'_>,
    typed: &[(Scalar, Scalar)],
) -> Result<BTreeMap<String, String>, PlanError> {
    let mut found = BTreeMap::new();
    for (name, value) in typed {
        let is_name = name.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || name.text.starts_with(COMMAND_VARIABLE) {
            let message = format!("`environment`: {} cannot be set", quoted(&name.text));
            let hint = format!("letters, digits and `_`, not beginning with a digit or `{COMMAND_VARIABLE}`");
            return Err(reader.wrong(name, message).hint(hint));
        }
        found.insert(name.text.clone(), reader.text(value)?);
    }
    Ok(found)
}

fn parse(reader: &CaseReader<'_>, item: &CommandFile) -> Result<Option<ParsePlan>, PlanError> {
    let Some(typed) = &item.parse else {
        let needless = item.results.as_ref().map(|results| ("results", results));
        let needless = needless.or(item.columns.as_ref().map(|columns| ("columns", &columns.elapsed)));
        let needless = needless.or(item.labels.first().map(|(_, label)| ("labels", label)));
        return match needless {
            None => Ok(None),
            Some((key, typed)) => {
                let error = reader.wrong(typed, format!("`{key}` needs `parse`, which says how it is read"));
                Err(error.hint("e.g. `parse: jtl`"))
            }
        };
    };
    let word = reader.word(typed, "parse", &OutputFormat::WORDS)?;
    let format = word.parse().unwrap_or(OutputFormat::Csv);
    let columns = match &item.columns {
        Some(columns) if format != OutputFormat::Csv => {
            let error = reader.wrong(&columns.elapsed, "`columns` has a meaning only with `parse: csv`");
            return Err(error.hint("leave it out"));
        }
        Some(columns) => CsvColumns {
            elapsed: reader.filled(&columns.elapsed, "elapsed")?,
            time: reader.filled(&columns.time, "time")?,
            success: reader.filled(&columns.success, "success")?,
            label: reader.filled(&columns.label, "label")?,
        },
        None => CsvColumns::default(),
    };
    let file = item.results.as_ref().map(|results| reader.filled(results, "results")).transpose()?;
    let labels = labels(reader, item, format)?;
    Ok(Some(ParsePlan { format, file, columns, labels, apart: None }))
}

fn labels(
    reader: &CaseReader<'_>,
    item: &CommandFile,
    format: OutputFormat,
) -> Result<BTreeMap<String, String>, PlanError> {
    let mut found = BTreeMap::new();
    for (name, typed) in &item.labels {
        if format == OutputFormat::PerfTest {
            let error = reader.wrong(typed, "`labels`: Kafka's own tools give their records none");
            return Err(error.hint("leave it out"));
        }
        if found.len() == LABELS_MAX {
            return Err(reader.wrong(typed, format!("`labels`: more than {LABELS_MAX}")));
        }
        let label = reader.filled(typed, "labels")?;
        if found.values().any(|known| *known == label) {
            let message = format!("`labels`: {} is named twice", quoted(&label));
            return Err(reader.wrong(typed, message).hint("one name for each label"));
        }
        found.insert(name.text.clone(), label);
    }
    Ok(found)
}

/// Commands begin inside of the measure phase, and of users something is left of it.
pub(crate) fn check(
    reader: &CaseReader<'_>,
    commands: &BTreeMap<String, CommandPlan>,
    phases: &PhasesPlan,
) -> Result<(), PlanError> {
    for (name, item) in &reader.scenario.typed().commands {
        let Some(plan) = commands.get(&name.text) else { continue };
        let at_ns = if let CommandBegins::At(at_ns) = &plan.begins { *at_ns } else { 0 };
        let length = duration(phases.measure_ns);
        if let Some(typed) = item.at.as_ref().filter(|_| at_ns >= phases.measure_ns) {
            let at = duration(at_ns);
            let message = format!("`at`: {at} lies outside of the measure phase, which lasts {length}");
            return Err(reader.wrong(typed, message).hint("it counts from the beginning of that phase"));
        }
        if let (CommandKindFile::Users(typed), Some(HttpLoad::Users(users))) = (&item.command, &plan.http) {
            users_fit(reader, typed, users, (at_ns, phases.measure_ns))?;
        }
    }
    Ok(())
}

/// All users who come at an instant of the measure phase do come, and something is left to be measured.
fn users_fit(
    reader: &CaseReader<'_>,
    typed: &UsersFile,
    users: &UsersPlan,
    (at_ns, measure_ns): (u64, u64),
) -> Result<(), PlanError> {
    let length = duration(measure_ns);
    if at_ns.saturating_add(users.warmup_ns) >= measure_ns {
        let warmup = duration(users.warmup_ns);
        let message = format!("`warmup`: {warmup} leaves nothing of the measure phase, which lasts {length}");
        let hint = "it counts from when users come, and figures are of what begins after it";
        return Err(reader.wrong(&typed.warmup, message).hint(hint));
    }
    if at_ns.saturating_add(users.ramp_ns) > measure_ns {
        let ramp = duration(users.ramp_ns);
        let message = format!(
            "`ramp`: within {ramp} not all users come before the measure phase ends, which lasts {length}"
        );
        return Err(reader.wrong(&typed.ramp, message).hint("let them come sooner, or measure longer"));
    }
    Ok(())
}
