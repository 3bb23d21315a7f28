//! The widest frames of a flame graph as a table.

use super::graph::Graph;
use super::layout::place;
use super::svg::{shares, whole_name};
use crate::table::{Cell, Table};
use kdyno_model::plan::ComparePlan;

/// At most so many frames, from the thread down: how deep each lies, its share, what was counted in it.
pub(crate) fn table(graph: &Graph, frames_max: usize) -> Table {
    let of_sides = ComparePlan::SIDES.map(|side| format!("share of {side}"));
    let mut columns = vec![("frame", false), ("depth", true)];
    if graph.sides.len() == 1 {
        columns.extend([("share", true), ("counted", true)]);
    } else {
        columns.extend(of_sides.iter().map(|side| (side.as_str(), true)));
    }
    let placed = place(graph, frames_max);
    let rows = placed.iter().map(|one| {
        let mut row: Vec<Cell> = vec![whole_name(one.name).into(), one.row.to_string().into()];
        row.extend(shares(graph, one).into_iter().map(|share| format!("{:.2} %", 100.0 * share).into()));
        if let [count] = one.counts[..] {
            row.push(graph.number(count).into());
        }
        row
    });
    Table::new(&columns, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::stacks::{FlameKind, Stacks};

    fn texts(sides: &[&str], frames_max: usize) -> Vec<Vec<String>> {
        let sides = sides.iter().map(|text| Stacks::read(text).expect("stacks")).collect();
        let graph = Graph { title: String::new(), kind: FlameKind::Cpu, sides, held: Vec::new() };
        let rows = table(&graph, frames_max).rows;
        rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect()
    }

    #[test]
    fn each_frame_has_its_depth_its_share_and_its_count() {
        let rows = texts(&["[main];a/B.c 30\n[main];d 10\n"], 50);
        assert_eq!(rows[0], ["[main]", "0", "100.00 %", "40 samples"]);
        assert_eq!(rows[1], ["a.B.c", "1", "75.00 %", "30 samples"]);
        assert_eq!(texts(&["[main];a/B.c 30\n[main];d 10\n"], 2).len(), 2, "the widest ones");
    }

    #[test]
    fn a_difference_has_a_share_of_each_side() {
        let rows = texts(&["[main];a 30\n[main];b 10\n", "[main];a 5\n[main];b 5\n"], 50);
        assert_eq!(rows[1], ["a", "1", "75.00 %", "50.00 %"]);
    }
}
