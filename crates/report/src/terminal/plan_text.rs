//! A plan in words: what would be started, sent and measured, for how long. `--dry-run` prints all of it; before a run
//! the short form leaves out what the run itself does not depend on being read.

use super::command_text::command_lines;
use super::component_text::component_lines;
use super::load_text::{client_text, load_lines};
use super::question_text::{asked_lines, question_lines, side_b};
use crate::grid::{TextOptions, Tone, wrap};
use crate::system::shown;
use crate::terminal::first_line;
use crate::units::{self, plural};
use kdyno_model::metric::Unit;
use kdyno_model::plan::{CasePlan, Estimate, Isolation, Plan, Role, Strategy, TopicPlan};
use std::collections::BTreeMap;

/// Systems that the short form shows at most.
const SYSTEMS_SHOWN_MAX: usize = 3;
/// Most trials whose order is shown.
const ORDER_SHOWN_MAX: usize = 40;

/// How much of a plan is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanDetail {
    /// What is started and sent, for a run that begins.
    Short,
    /// Everything that was planned.
    Full,
}

/// The plan. What several cases share is shown once, with the first. In short: the question, how long it takes, what is
/// compared or searched, and the systems.
#[must_use]
pub fn plan_text(plan: &Plan, estimate: &Estimate, detail: PlanDetail, options: &TextOptions) -> String {
    let mut out = PlanText { out: String::new(), options };
    out.head(&first_line(plan));
    out.out.push_str(&wrap(&plan.question, options.columns(), 0));
    out.blank();
    out.line(0, &time_text(plan, estimate));
    match detail {
        PlanDetail::Short => out.in_short(plan),
        PlanDetail::Full => out.in_full(plan, estimate),
    }
    out.out
}

/// Systems, topics, load and settings of all cases as they are planned: what `--dry-run` shows of them.
#[must_use]
pub fn settings_text(plan: &Plan, options: &TextOptions) -> String {
    let mut out = PlanText { out: String::new(), options };
    out.cases(plan);
    out.out.trim_start_matches('\n').to_owned()
}

struct PlanText<'a> {
    out: String,
    options: &'a TextOptions,
}

impl PlanText<'_> {
    fn in_short(&mut self, plan: &Plan) {
        for line in asked_lines(plan) {
            self.line(0, &line);
        }
        let mut systems: Vec<String> = Vec::new();
        for case in plan.every_case() {
            let first = shown(&case.system).lines(case).into_iter().next();
            systems.extend(first.filter(|line| !systems.contains(line)));
        }
        let more = systems.len().saturating_sub(SYSTEMS_SHOWN_MAX);
        for line in systems.iter().take(SYSTEMS_SHOWN_MAX) {
            self.line(0, line);
        }
        if more > 0 {
            self.line(0, &format!("and {}", plural(u32::try_from(more).unwrap_or(u32::MAX), "more system")));
        }
    }

    fn in_full(&mut self, plan: &Plan, estimate: &Estimate) {
        if !plan.is_on_null_brokers() {
            self.line(0, &disk_text(plan, estimate));
        }
        self.line(0, &order_text(plan));
        for (name, value) in &plan.environment {
            self.line(0, &format!("declared: {name} = {value}"));
        }
        for line in question_lines(plan) {
            self.line(0, &line);
        }
        if let Some(kind) = plan.flame {
            let text = format!(
                "Stacks are sampled in each measured window (flame: {kind}), which costs the processes that are sampled some CPU."
            );
            self.line(0, &text);
        }
        if !plan.probe.is_empty() {
            self.line(
                0,
                &format!("Read next to the run's own processes (--probe): {}.", plan.probe.join(", ")),
            );
        }
        self.cases(plan);
    }

    /// What was planned of each case. What several share is shown once, with the first.
    fn cases(&mut self, plan: &Plan) {
        let mut reported: BTreeMap<&str, (Vec<String>, &str)> = BTreeMap::new();
        for (index, case) in plan.cases.iter().enumerate() {
            self.blank();
            if plan.cases.len() > 1 {
                self.head(&format!("Case {} of {}: {}", index + 1, plan.cases.len(), case.label));
            }
            let params: Vec<String> =
                case.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if !params.is_empty() {
                self.line(2, &format!("parameters  {}", params.join(" ")));
            }
            let parts = case_parts(case);
            // For side B only what is not as on side A.
            let others = side_b(plan, index).map(case_parts).unwrap_or_default();
            let others: Vec<_> = others.into_iter().filter(|part| !parts.contains(part)).collect();
            for (part, lines) in parts {
                match reported.get(part) {
                    Some((before, whose)) if *before == lines => {
                        self.line(2, &format!("{part}  as in {whose}"));
                    }
                    _ => {
                        self.part(part, &lines);
                        reported.insert(part, (lines, case.label.as_str()));
                    }
                }
            }
            for (part, lines) in others {
                self.part(&format!("{part} of side B"), &lines);
            }
        }
    }

    fn head(&mut self, text: &str) {
        for line in wrap(text, self.options.columns(), 4).lines() {
            self.out.push_str(&self.options.paint(line, Tone::Strong));
            self.out.push('\n');
        }
    }

    fn line(&mut self, indent: usize, text: &str) {
        let indent = indent + (text.len() - text.trim_start().len());
        let wrapped = wrap(text, self.options.columns() - indent, 4);
        for line in wrapped.lines() {
            self.out.push_str(&" ".repeat(indent));
            self.out.push_str(line);
            self.out.push('\n');
        }
    }

    fn part(&mut self, name: &str, lines: &[String]) {
        self.line(2, name);
        for line in lines {
            self.line(4, line);
        }
    }

    fn blank(&mut self) {
        self.out.push('\n');
    }
}

/// The expected length. What a drain takes at most is shown with the phases.
fn time_text(plan: &Plan, estimate: &Estimate) -> String {
    let counted = plan
        .cases
        .iter()
        .flat_map(|case| case.load.values())
        .any(|load| matches!(&load.role, Role::Produce(produce) if produce.records_max.is_some()));
    let trials = plan.strategy.trials_planned().map_or_else(String::new, |trials| plural(trials, "trial"));
    // Warm-ups that end by evidence, and strategies that end early, make the longest time another one.
    let longest = if estimate.longest_ns > estimate.expected_ns {
        format!(", at most about {}", units::duration(estimate.longest_ns))
    } else {
        String::new()
    };
    let trials = if trials.is_empty() { "trials".to_owned() } else { trials };
    format!(
        "time: about {}{longest}: {trials} with {}{} of load in all, starts and short drains",
        units::duration(estimate.expected_ns),
        if counted { "at most " } else { "" },
        units::duration(estimate.load_ns),
    )
}

/// What is written in all, which is mostly more than a disk holds, and how little of it is there at a time.
fn disk_text(plan: &Plan, estimate: &Estimate) -> String {
    let Some(bytes) = estimate.disk_bytes else {
        let has = |is_there: fn(&CasePlan) -> bool| plan.every_case().any(is_there);
        let who = match (has(|case| !case.commands.is_empty()), has(CasePlan::has_others_writing)) {
            (true, _) => "a command writes",
            (false, true) => "a component writes",
            (false, false) => "`rate: max`",
        };
        return format!("disk: unbounded ({who})");
    };
    let written = format!("disk: {} written by the brokers", units::bytes(bytes as f64));
    let unpaced = match plan.unpaced_conditioning() {
        Some(_) => "; conditioning a fresh cluster at maximum rate comes on top",
        None => "",
    };
    // Which loads a search tries depends on what they show.
    if let Strategy::Find(find) = &plan.strategy {
        let highest = units::number(find.to_per_s, Unit::RecordsPerS);
        return format!(
            "{written} at most, if every trial ran at the highest load, {highest}: a lower `to` (`--to`) bounds it; \
             replicas included{unpaced}"
        );
    }
    let kept = match estimate.kept_bytes {
        Some(kept) if kept < bytes => format!(
            " in all, replicas included; about {} of it is kept at a time, for a trial's topics are deleted after it",
            units::bytes(kept as f64)
        ),
        _ => ", replicas included".to_owned(),
    };
    written + &kept + unpaced
}

fn order_text(plan: &Plan) -> String {
    let isolation = match plan.isolation {
        Isolation::Cluster => "a fresh cluster for each trial",
        Isolation::Topic if plan.every_case().all(CasePlan::has_only_existing_topics) => {
            "existing topics, which keep what each trial writes"
        }
        Isolation::Topic => "fresh topics for each trial, the cluster stays while the system is the same",
        Isolation::None => "topics and cluster stay between trials",
    };
    let Strategy::List(list) = &plan.strategy else {
        return format!("drawn from seed {}; {isolation}", plan.seed);
    };
    let shown = list.iter().take(ORDER_SHOWN_MAX);
    let order: Vec<String> = shown.map(|trial| format!("{}.{}", trial.case + 1, trial.repeat)).collect();
    let more = if list.len() > ORDER_SHOWN_MAX { " …" } else { "" };
    format!("order (case.repeat), drawn from seed {}: {}{more}; {isolation}", plan.seed, order.join(" "))
}

/// A case's parts, each with its lines.
fn case_parts(case: &CasePlan) -> Vec<(&'static str, Vec<String>)> {
    let load = case.load.iter().flat_map(|(name, load)| load_lines(name, load, case));
    let commands = case.commands.iter().flat_map(|(name, command)| command_lines(name, command));
    let load = load.chain(commands);
    let clients = case.load.iter().map(|(name, load)| format!("{name}: {}", client_text(load)));
    let warmup = match case.phases.warmup_auto {
        None => units::duration(case.phases.warmup_ns),
        Some(auto) => format!(
            "until rate, latency and CPU time have settled, {} to {}",
            units::duration(auto.least_ns),
            units::duration(case.phases.warmup_ns)
        ),
    };
    let phases = format!(
        "warm-up {warmup}, measure {}{}, drain {} at most",
        case.measure_ends_with().map(|item| format!("until {item} ends, at most ")).unwrap_or_default(),
        units::duration(case.phases.measure_ns),
        units::duration(case.phases.drain_ns)
    );
    let components: Vec<String> = case.components.iter().flat_map(component_lines).collect();
    let mut parts = vec![
        ("system", shown(&case.system).lines(case)),
        ("topics", topic_lines(&case.topics)),
        ("load", load.collect()),
        ("client settings", clients.collect()),
        ("phases", vec![phases]),
    ];
    if !components.is_empty() {
        parts.insert(1, ("components", components));
    }
    parts
}

/// Topics, those of a `count` in one line.
fn topic_lines(topics: &BTreeMap<String, TopicPlan>) -> Vec<String> {
    let mut lines: Vec<(&str, &str, String)> = Vec::new();
    for (name, topic) in topics {
        let text = format!(
            "{}, replication factor {}{}",
            plural(topic.partitions, "partition"),
            topic.replicas,
            settings(&topic.config)
        );
        let follows = lines.last().is_some_and(|(_, last, before)| *before == text && is_next(last, name));
        match lines.last_mut().filter(|_| follows) {
            Some((_, last, _)) => *last = name.as_str(),
            None => lines.push((name.as_str(), name.as_str(), text)),
        }
    }
    let line = |(first, last, text): (&str, &str, String)| match first == last {
        true => format!("{first}: {text}"),
        false => format!("{first} to {last}: {text}"),
    };
    lines.into_iter().map(line).collect()
}

/// Whether a name has the number behind that of another one.
fn is_next(before: &str, name: &str) -> bool {
    let numbered = |name: &str| {
        let (stem, number) = name.rsplit_once('-')?;
        Some((stem.len(), number.parse::<u32>().ok()?))
    };
    match (numbered(before), numbered(name)) {
        (Some((stem, number)), Some((other, next))) => {
            before[..stem] == name[..other] && number.checked_add(1) == Some(next)
        }
        _ => false,
    }
}

fn settings(config: &BTreeMap<String, String>) -> String {
    let settings: Vec<String> = config.iter().map(|(name, value)| units::setting(name, value)).collect();
    if settings.is_empty() { String::new() } else { format!(", {}", settings.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_of_a_count_are_one_line() {
        let topic = |partitions| TopicPlan { partitions, replicas: 1, config: BTreeMap::new() };
        let named = [("a-1", 1), ("a-2", 2), ("b-001", 3), ("b-002", 3), ("b-003", 3), ("c", 3), ("d", 3)];
        let topics = named.map(|(name, partitions)| (name.to_owned(), topic(partitions))).into();
        assert_eq!(
            topic_lines(&topics),
            [
                "a-1: 1 partition, replication factor 1",
                "a-2: 2 partitions, replication factor 1",
                "b-001 to b-003: 3 partitions, replication factor 1",
                "c: 3 partitions, replication factor 1",
                "d: 3 partitions, replication factor 1",
            ]
        );
    }
}
