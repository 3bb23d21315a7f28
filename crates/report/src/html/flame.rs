//! Flame graphs on the page: of a comparison what differs between its sides, then of each trial each process.

use super::figure::folded as folded_data;
use super::table;
use crate::flame::{self, FRAMES_OF_PAGE, Graph, held, legend, picture};
use crate::input::ReportInput;
use kdyno_model::evidence::TrialStacks;
use kdyno_model::plan::ComparePlan;
use kdyno_model::stacks::Stacks;
use maud::{Markup, html};

/// Graphs of a page at most: each is some 100 kB.
const GRAPHS_MAX: usize = 24;
/// Frames of the table of a graph's data at most, the widest ones.
const FRAMES_LISTED: usize = 50;

/// All of them.
pub fn graphs(input: &ReportInput<'_>) -> Markup {
    let differences = differences(input);
    let trials: Vec<&TrialStacks> = input.stacks.iter().filter(|of| !of.stacks.is_empty()).collect();
    let room = GRAPHS_MAX.saturating_sub(differences.len());
    html! {
        @if !trials.is_empty() {
            section aria-labelledby="flame-graphs" {
                h2 id="flame-graphs" { "Flame graphs" }
                p class="note" {
                    "Stacks were sampled in the measured window. A frame is as wide as its share, the thread on top and what it \
                     called below; its tooltip has its whole name. Threads of a pool are one."
                }
                @for graph in &differences { (folded(graph, true)) }
                @for (index, of) in trials.iter().take(room).enumerate() {
                    (folded(&of_trial(input, of), index == 0 && differences.is_empty()))
                }
                @if trials.len() > room {
                    p class="note" {
                        (trials.len() - room) " more are stored: "
                        code { "kdyno export RUN --format flame --trial N --of broker-N" } " draws one."
                    }
                }
            }
        }
    }
}

fn folded(graph: &Graph, is_open: bool) -> Markup {
    html! {
        details open[is_open] {
            summary { h3 { (graph.title) } " " span class="note" { (graph.counted()) } }
            figure class="flame" aria-label=(graph.title) {
                figcaption { (legend(graph)) }
                (picture(graph, FRAMES_OF_PAGE))
                (folded_data(&data(graph), &graph.title))
            }
        }
    }
}

/// The widest frames; the whole of them is what the export is for.
fn data(graph: &Graph) -> Markup {
    html! {
        (table::texts(&flame::table(graph, FRAMES_LISTED), None))
        p class="note" {
            "The widest frames, " (FRAMES_LISTED) " at most; "
            code { "kdyno export RUN --format collapsed --trial N --of PROCESS" } " has all stacks."
        }
    }
}

fn of_trial(input: &ReportInput<'_>, of: &TrialStacks) -> Graph {
    let title = format!("{}, {}: {}", input.name(of.trial), of.subject, of.kind.shows());
    let held = vec![held(input.findings, of.trial, &of.subject.to_string())];
    Graph { title, kind: of.kind, sides: vec![of.stacks.clone()], held }
}

/// In a comparison, by case: the brokers of all trials of B against those of A.
fn differences(input: &ReportInput<'_>) -> Vec<Graph> {
    let Some(labels) = input.sides() else { return Vec::new() };
    let cases = input.plan().case_numbers();
    cases.filter_map(|case| difference(input, case, labels)).collect()
}

fn difference(input: &ReportInput<'_>, case: u32, labels: &[String; 2]) -> Option<Graph> {
    let kind = input.stacks.first()?.kind;
    let mut sides = [Stacks::default(), Stacks::default()];
    for of in input.stacks.iter().filter(|of| of.kind == kind && of.is_of_broker()) {
        let Some(trial) = input.trial(of.trial).filter(|trial| trial.case == case) else { continue };
        let side = ComparePlan::SIDES.iter().position(|side| trial.variant.as_deref() == Some(*side));
        if let Some(side) = side.and_then(|side| sides.get_mut(side)) {
            side.merge(&of.stacks);
        }
    }
    if sides.iter().any(Stacks::is_empty) {
        return None;
    }
    let of_case = Some(input.case_label(case)).filter(|label| !label.is_empty());
    let of_case = of_case.map_or_else(String::new, |label| format!("{label}: "));
    let title = format!("{of_case}brokers, B ({}) against A ({}): {}", labels[1], labels[0], kind.shows());
    // Each trial's graph says what its stacks hold.
    Some(Graph { title, kind, sides: sides.to_vec(), held: Vec::new() })
}
