//! Where the processes of a trial were, by its plan and by what is known of them: load, proxy and links, cluster, components.

mod parts;
mod tiers;

use crate::input::{ReportInput, trial_name};
use crate::units;
use kdyno_model::run::TrialStart;
use std::fmt::Write;
pub use tiers::{Frame, Tier, TopologyNode};
pub(crate) use tiers::{frame, shown};

/// Topologies of a run that are drawn at most.
const DRAWN_MAX: usize = 6;
/// Trials of one topology that are named at most.
const NAMED_MAX: usize = 4;

/// All of it, from the load down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// From the top down.
    pub tiers: Vec<Tier>,
}

/// The topologies of all trials that count, each once, with the trials that it is of: a few at most, and how many more there
/// are.
pub fn all(input: &ReportInput<'_>) -> (Vec<(String, Topology)>, usize) {
    let mut found: Vec<(Vec<String>, Topology)> = Vec::new();
    for start in input.trials.iter().filter(|start| !start.trial.is_conditioning()) {
        let topology = Topology::of(start);
        let name = trial_name(&start.trial);
        match found.iter_mut().find(|(_, other)| *other == topology) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], topology)),
        }
    }
    let is_one = found.len() == 1;
    let concerns = |names: Vec<String>| {
        let more = names.len().saturating_sub(NAMED_MAX);
        match (is_one, more) {
            (true, _) => "all trials".to_owned(),
            (false, 0) => names.join("; "),
            (false, more) => format!("{} and {more} more", names[..NAMED_MAX].join("; ")),
        }
    };
    let more = found.len().saturating_sub(DRAWN_MAX);
    let all = found.into_iter().map(|(names, topology)| (concerns(names), topology));
    (all.take(DRAWN_MAX).collect(), more)
}

/// That so many further ones are not shown.
pub fn left_out(more: usize) -> String {
    let are = if more == 1 { "topology is" } else { "topologies are" };
    format!("{} more {are} not shown: the plan of each trial has its own.", units::count(more as f64))
}

impl Topology {
    /// That of a trial.
    pub fn of(start: &TrialStart) -> Self {
        let case = &start.trial.effective;
        let mut tiers = vec![Tier { link: None, frames: parts::load(case) }];
        let mut components = parts::components(case);
        let is_http_alone = parts::is_http_alone(case);
        if is_http_alone {
            tiers.extend(components.take().map(|tier| Tier { link: Some("HTTP".to_owned()), ..tier }));
        }
        let who = if is_http_alone { "services" } else { "clients" };
        let proxy = parts::proxy(case, who);
        let reach = if proxy.is_some() { "the proxy connects".to_owned() } else { format!("{who} connect") };
        tiers.extend(proxy);
        tiers.push(parts::cluster(start, &reach));
        tiers.extend(parts::nodes_without_broker(start));
        tiers.extend(components);
        tiers.retain(|tier| !tier.frames.is_empty());
        Self { tiers }
    }

    /// As indented lines.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for tier in &self.tiers {
            // Writing to a String cannot fail.
            let _ = tier.link.iter().try_for_each(|link| writeln!(out, "↓ {link}"));
            for frame in &tier.frames {
                let _ = writeln!(out, "{}", frame.title);
                for node in &frame.nodes {
                    let _ = writeln!(out, "  {}", node.describe());
                }
            }
        }
        out
    }
}
