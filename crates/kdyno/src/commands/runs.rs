//! `kdyno runs`: what was measured here, and what came of it.

use crate::cli::RunsArgs;
use crate::environment::runs_dir;
use crate::evidence::file_name;
use crate::failure::{CommandResult, Exit, Failure};
use crate::{moment, out};
use kdyno_model::run::RunStatus;
use kdyno_report::judged::{RunAnswer, judged};
use kdyno_report::terminal::clean;
use kdyno_report::{ReportInput, status_words};
use kdyno_store::{RunFile, RunList, RunSummary};

/// Lists the run files of a folder, oldest first.
pub(crate) fn runs(args: &RunsArgs) -> CommandResult {
    let folder = runs_dir(args.folder.typed())?;
    let list = match folder.is_dir() {
        true => kdyno_store::list(&folder)?,
        false if args.folder.typed().is_none() => RunList { runs: Vec::new(), unreadable: Vec::new() },
        false => {
            return Err(Failure::usage(format!("there is no folder {}", folder.display()))
                .hint("`kdyno show RUN` prints one run"));
        }
    };
    for (path, error) in &list.unreadable {
        out::note(&format!("left out {}: {error}", path.display()));
    }
    if args.json {
        out::json(&serde_json::Value::Array(list.runs.iter().map(as_json).collect()))?;
    } else if list.runs.is_empty() {
        out::note(&format!("no runs in {}", folder.display()));
    } else {
        out::text(table(&list.runs))?;
    }
    Ok(Exit::Done)
}

fn table(runs: &[RunSummary]) -> String {
    let rows: Vec<[String; 7]> = runs.iter().map(cells).collect();
    let head = ["started", "scenario", "profile", "on, changed", "begun", "ended", "file"].map(str::to_owned);
    let width =
        |column: usize| rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    [&head].into_iter().chain(&rows).map(line).collect()
}

fn cells(run: &RunSummary) -> [String; 7] {
    [
        moment::readable(run.started_unix_ns),
        run.scenario.clone(),
        run.profile.clone(),
        differs(run),
        trials(run),
        status(run, answer(run)),
        file_name(&run.path),
    ]
    .map(|cell| clean(&cell))
}

/// Trials begun, of those planned where that is known.
pub(crate) fn trials(run: &RunSummary) -> String {
    match run.trials_planned {
        Some(planned) => format!("{}/{planned}", run.trials_started),
        None => run.trials_started.to_string(),
    }
}

/// What distinguishes it from other runs of its scenario: the target it was on, the params that `--set` changed; for a
/// drop-in command, whose scenario has no params and whose target has no name, its flags.
pub(crate) fn differs(run: &RunSummary) -> String {
    if let Some(asked) = asked(&run.command_line) {
        return asked;
    }
    let target = run.target.iter().map(|target| format!("target {target}"));
    let changed = run.changed.iter().map(|(name, value)| format!("{name}={value}"));
    let all: Vec<String> = target.chain(changed).collect();
    if all.is_empty() { "–".to_owned() } else { all.join(", ") }
}

/// Flags of the drop-in commands that say what load it was. No run file has the name of the topic.
const TOLD: [&str; 7] =
    ["num-records", "messages", "record-size", "payload-file", "payload-monotonic", "throughput", "driver"];

/// The flags of a drop-in command; `None`: it is another command.
fn asked(command_line: &[String]) -> Option<String> {
    let command = command_line.get(1)?;
    if !["producer-perf-test", "consumer-perf-test"].contains(&command.as_str()) {
        return None;
    }
    let mut words = command_line.iter().skip(2).peekable();
    let mut reported = Vec::new();
    while let Some(word) = words.next() {
        // Kafka's consumer tool takes its flags with one dash, too.
        let Some(flag) = word.strip_prefix('-') else { continue };
        let flag = flag.strip_prefix('-').unwrap_or(flag);
        let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        if !TOLD.contains(&name) {
            continue;
        }
        // A value may begin with a dash, but only with one.
        let next = words.peek().filter(|next| !next.starts_with("--")).map(|next| next.as_str());
        reported.push(value.or(next).map_or_else(|| name.to_owned(), |value| format!("{name}={value}")));
    }
    Some(reported.join(", ")).filter(|reported| !reported.is_empty())
}

/// What the stored answer of a run comes to that went to its end; `None`: it did not, nothing was measured, or it cannot be read.
pub(crate) fn answer(run: &RunSummary) -> Option<RunAnswer> {
    let status = run.end.as_ref()?.status;
    if !matches!(status, RunStatus::Completed | RunStatus::OutOfTime) {
        return None;
    }
    let file = RunFile::open(&run.path).ok()?;
    let (header, drawn) = (file.header().ok()?, file.answer().ok()?);
    if drawn.findings.is_empty() && drawn.conclusions.is_empty() {
        return None;
    }
    Some(judged(&ReportInput {
        header: &header,
        sessions: &[],
        is_live: false,
        goes_on: None,
        trials: &[],
        events: &[],
        noise: &[],
        findings: &drawn.findings,
        caveats: &drawn.caveats,
        conclusions: &drawn.conclusions,
        series: &[],
        stacks: &[],
    }))
}

/// How it ended, in words, and what came of it where that is no plain yes.
pub(crate) fn status(run: &RunSummary, answer: Option<RunAnswer>) -> String {
    let Some(end) = &run.end else { return if run.live { "running" } else { "cut off" }.to_owned() };
    let words = status_words(end.status);
    let came_of_it = match answer {
        None | Some(RunAnswer::Fine) => return words.to_owned(),
        Some(RunAnswer::Invalid) => "invalid figures",
        Some(RunAnswer::NotMet) => "not met",
        Some(RunAnswer::Worse) => "B is worse",
        Some(RunAnswer::Undecided | RunAnswer::Inconclusive) => "no answer",
    };
    format!("{words}: {came_of_it}")
}

/// The answer as a code.
fn answer_code(answer: RunAnswer) -> &'static str {
    match answer {
        RunAnswer::Invalid => "invalid",
        RunAnswer::NotMet => "not_met",
        RunAnswer::Worse => "worse",
        RunAnswer::Undecided | RunAnswer::Inconclusive => "inconclusive",
        RunAnswer::Fine => "fine",
    }
}

/// The status as a code: that of the run file, `running` or `cut_off`.
fn status_code(run: &RunSummary) -> serde_json::Value {
    match &run.end {
        Some(end) => serde_json::json!(end.status),
        None if run.live => serde_json::json!("running"),
        None => serde_json::json!("cut_off"),
    }
}

fn as_json(run: &RunSummary) -> serde_json::Value {
    serde_json::json!({
        "file": run.path,
        "file_bytes": run.bytes,
        "run_id": format!("{:016x}", run.run_id),
        "started_unix_ns": run.started_unix_ns,
        "scenario": run.scenario,
        "profile": run.profile,
        "target": run.target,
        "changed": run.changed,
        "sessions": run.sessions,
        "trials_planned": run.trials_planned,
        "trials_started": run.trials_started,
        "status": status_code(run),
        "answer": answer(run).map(answer_code),
        "detail": run.end.as_ref().map(|end| &end.detail),
        "ended_unix_ns": run.end.as_ref().map(|end| end.ended_unix_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::run::SessionEnd;

    #[test]
    fn the_outcome_of_a_run_is_listed_with_how_it_ended() {
        let end = SessionEnd { status: RunStatus::Completed, detail: String::new(), ended_unix_ns: 2 };
        let mut run = RunSummary {
            path: "x.kdyno".into(),
            bytes: 0,
            run_id: 1,
            started_unix_ns: 1,
            scenario: "small".to_owned(),
            profile: "laptop".to_owned(),
            target: None,
            changed: Default::default(),
            command_line: Vec::new(),
            trials_planned: Some(1),
            trials_started: 1,
            sessions: 1,
            end: Some(end),
            live: false,
        };
        assert_eq!(status(&run, Some(RunAnswer::Fine)), "completed");
        assert_eq!(status(&run, None), "completed", "nothing was measured");
        assert_eq!(status(&run, Some(RunAnswer::Invalid)), "completed: invalid figures");
        assert_eq!(status(&run, Some(RunAnswer::Worse)), "completed: B is worse");
        run.end = None;
        assert_eq!(status(&run, None), "cut off");
    }

    #[test]
    fn runs_of_a_drop_in_command_are_listed_by_their_question() {
        let reported = |line: &str| asked(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        let line = "kdyno producer-perf-test --topic redacted --num-records 6000 --payload-monotonic --throughput -1 --driver java";
        let expected = "num-records=6000, payload-monotonic, throughput=-1, driver=java";
        assert_eq!(reported(line).as_deref(), Some(expected));
        let line = "/bin/kdyno consumer-perf-test --topic=redacted --num-records=10 --timeout 5";
        assert_eq!(reported(line).as_deref(), Some("num-records=10"));
        assert_eq!(reported("kdyno run upgrade-check --num-records 5"), None);
        assert_eq!(reported("kdyno"), None);
    }
}
