//! The topology of trials as tables.

use super::table::plain;
use crate::input::ReportInput;
use crate::table::{Cell, Column, Holds, Table};
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
            (plain(&format!("Topology: {concerns}"), &table(topology)))
        }
        @if more > 0 { p { (topology::left_out(more)) } }
    }
}

/// A row for each process, from the load at the top down to the cluster.
fn table(topology: &Topology) -> Table {
    let column = |head, holds| Column::new(&[head], holds);
    let others = ["where", "how it is reached", "more"].map(|head| column(head, Holds::Prose));
    let mut table = Table { names: 1, ..Table::default() };
    table.columns.extend(std::iter::once(column("what", Holds::Words)).chain(others));
    for (tier, frame) in
        topology.tiers.iter().flat_map(|tier| tier.frames.iter().map(move |frame| (tier, frame)))
    {
        let reached = tier.link.as_deref().unwrap_or(NOTHING);
        table.rows.extend(frame.nodes.iter().map(|node| -> Vec<Cell> {
            let more = if node.lines.is_empty() { NOTHING.to_owned() } else { node.lines.join(", ") };
            vec![node.name.as_str().into(), frame.title.as_str().into(), reached.into(), more.into()]
        }));
    }
    table
}
