//! The topology of trials as tables.

use crate::input::ReportInput;
use crate::topology::{self, Topology};
use crate::units::NOTHING;
use maud::{Markup, html};

/// A table for each topology; nothing before a trial began.
pub fn tables(input: &ReportInput<'_>) -> Markup {
    let (all, more) = topology::all(input);
    html! {
        @if !all.is_empty() { h3 { "Topology" } }
        @for (concerns, topology) in &all {
            p { (concerns) }
            div class="scroll" role="region" aria-label=(format!("Topology: {concerns}")) tabindex="0" { (table(topology)) }
        }
        @if more > 0 { p { (topology::left_out(more)) } }
    }
}

/// A row for each process, from the load at the top down to the cluster.
fn table(topology: &Topology) -> Markup {
    html! {
        table {
            thead { tr { @for head in ["what", "where", "how it is reached", "more"] { th class="words" scope="col" { (head) } } } }
            tbody {
                @for tier in &topology.tiers {
                    @for frame in &tier.frames {
                        @for node in &frame.nodes {
                            tr {
                                th class="words" scope="row" { (node.name) }
                                td class="words wrap" { (frame.title) }
                                td class="words wrap" { (tier.link.as_deref().unwrap_or(NOTHING)) }
                                td class="words wrap" { @if node.lines.is_empty() { (NOTHING) } @else { (node.lines.join(", ")) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
