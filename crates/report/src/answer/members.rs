//! The members of groups, one by one: a table next to the figures of every trial.

use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::conclusion::of_kind;
use kdyno_model::finding::Scope;
use kdyno_model::members::{MemberFigures, Members, OtherMembers};
use kdyno_model::trial::Trial;

/// Above the table.
pub const TITLE: &str = "Consume: members of groups";

/// Said under the table where not every member has a row of its own.
pub const OTHERS_NOTE: &str = "Of many members those have rows of their own that lost partitions or whose records are the farthest \
    from an equal share; of the others the least and the most.";

/// The figure of a load item whose marks those of its members have.
const MARKED_AS: &str = "member_records_most";

/// The table, and whether members share rows.
#[derive(Debug)]
pub struct MembersTable {
    /// Columns and rows.
    pub table: Table,
    /// Some rows are of several members.
    pub has_others: bool,
}

/// A row for each member of each group of each trial that is reported; `None`: there are none.
pub fn table(input: &ReportInput<'_>, figures: &FindingIndex<'_>) -> Option<MembersTable> {
    let found = input.reported().filter(|trial| figures.has(trial.id)).flat_map(|trial| {
        let of_trial =
            of_kind::<Members>(input.conclusions).filter(move |one| one.scope == Scope::Trial(trial.id));
        of_trial.map(move |one| (trial, one))
    });
    let found: Vec<(&Trial, &Members)> = found.collect();
    if found.is_empty() {
        return None;
    }
    let is_labelled = found.iter().any(|(trial, _)| !trial.label.is_empty());
    let mut columns: Vec<(&str, bool)> =
        if is_labelled { vec![("trial", true), ("case", false)] } else { Vec::new() };
    columns.extend([("stream", false), ("member", false)]);
    let names = columns.len();
    columns.extend([
        ("records", true),
        ("of an equal share", true),
        ("partitions", true),
        ("rebalances", true),
        ("lost partitions", true),
    ]);
    let mut rows = Vec::new();
    for (trial, members) in &found {
        let marks = Cell::from(figures.of_trial(trial.id, &members.item, MARKED_AS)).marks;
        for [member, cells @ ..] in members_cells(members) {
            let mut row: Vec<Cell> = Vec::new();
            if is_labelled {
                row.extend([trial.id.to_string(), trial.label.clone()].map(Cell::from));
            }
            row.extend([members.item.clone(), member].map(Cell::from));
            row.extend(cells.map(|text| Cell::figure(&marks, text)));
            rows.push(row);
        }
    }
    let has_others = found.iter().any(|(_, members)| members.others.is_some());
    Some(MembersTable { table: Table::new(&columns, rows).with_names(names), has_others })
}

/// Who it is, and the figures.
fn members_cells(members: &Members) -> Vec<[String; 6]> {
    let one = |one: &MemberFigures| {
        [
            format!("client {}", one.client),
            units::count(one.records as f64),
            one.of_equal_share.map_or_else(|| units::NOTHING.to_owned(), percent),
            one.partitions.to_string(),
            one.rebalances.to_string(),
            one.losses.to_string(),
        ]
    };
    let others = |one: &OtherMembers| {
        [
            format!("{} others", one.members),
            spread(one.records.map(|records| units::count(records as f64))),
            one.of_equal_share.map_or_else(|| units::NOTHING.to_owned(), |both| spread(both.map(percent))),
            spread(one.partitions.map(|count| count.to_string())),
            spread(one.rebalances.map(|count| count.to_string())),
            spread(one.losses.map(|count| count.to_string())),
        ]
    };
    members.reported.iter().map(one).chain(members.others.iter().map(others)).collect()
}

fn percent(share: f64) -> String {
    format!("{} %", units::significant(share * 100.0))
}

/// `2 to 3`, or `2` where both are.
fn spread([least, most]: [String; 2]) -> String {
    if least == most { least } else { format!("{least} to {most}") }
}

/// How a group's members fared, without the trial: `readers: 3 members consumed 900 to 1,100 records each; 1 lost partitions`.
pub fn sentence(of: &Members) -> String {
    let others = of.others.as_ref();
    let count = of.reported.len() + others.map_or(0, |others| others.members as usize);
    let records =
        of.reported.iter().map(|one| one.records).chain(others.into_iter().flat_map(|one| one.records));
    let (least, most) = records.fold((u64::MAX, 0), |(least, most), one| (least.min(one), most.max(one)));
    let records = spread([least.min(most), most].map(|records| units::count(records as f64)));
    let lost = of.reported.iter().filter(|one| one.losses > 0).count();
    let lost = match lost {
        0 => String::new(),
        _ if others.is_some_and(|others| others.losses[1] > 0) => {
            format!("; more than {lost} lost partitions")
        }
        lost => format!("; {lost} lost partitions"),
    };
    let (members, each) = if count == 1 { ("member", "") } else { ("members", " each") };
    format!("{}: {count} {members} consumed {records} records{each}{lost}", of.item)
}
