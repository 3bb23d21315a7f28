//! The hosts that carried the load of a trial: a table of what is known of them.

use crate::input::ReportInput;
use crate::table::{Cell, Column, Holds, Table};
use crate::units;
use kdyno_model::run::{TrialStart, cluster_fact};
use std::collections::{BTreeMap, BTreeSet};

/// Facts that have a column, and its head.
const COLUMNS: [(&str, &str); 12] = [
    (cluster_fact::NODE, "node"),
    (cluster_fact::ZONE, "zone"),
    (cluster_fact::NODE_BROKERS, "brokers on its node"),
    (cluster_fact::PROCESSORS, "CPUs"),
    (cluster_fact::CPUS_RESERVED, "CPUs reserved"),
    (cluster_fact::CPU_LIMIT, "CPU limit"),
    ("memory_bytes", "memory"),
    (cluster_fact::MEMORY_LIMIT, "memory limit"),
    ("kernel", "kernel"),
    ("cpu_model", "processor"),
    (cluster_fact::ELSEWHERE, "another host than kdyno's"),
    (cluster_fact::OWN_CLOCK, "clock of its own"),
];

/// The facts of a trial's system without those that a table of its generators has, and that table, without rows where this host
/// carried the load. A column is left out where no generator has anything in it.
pub(crate) fn apart(start: &TrialStart) -> (BTreeMap<String, String>, Table) {
    of(&start.trial.effective.generators.hosts, &start.cluster)
}

/// The table of the first trial that other hosts carried; trials of a run hardly differ in it.
pub(crate) fn of_run(input: &ReportInput<'_>) -> Option<Table> {
    input.trials.iter().map(|start| apart(start).1).find(|table| !table.rows.is_empty())
}

fn of(hosts: &[String], cluster: &BTreeMap<String, String>) -> (BTreeMap<String, String>, Table) {
    let fact = |host: &String, what: &str| cluster.get(&cluster_fact::generator(host, what));
    let is_known = |what: &str| hosts.iter().any(|host| fact(host, what).is_some());
    let measured = hosts.iter().flat_map(|host| {
        let of_item = cluster_fact::generator(host, &cluster_fact::max_per_s(""));
        cluster.keys().filter_map(move |name| name.strip_prefix(of_item.as_str()))
    });
    let measured: BTreeSet<&str> = measured.collect();
    let fixed = COLUMNS.into_iter().filter(|(what, _)| is_known(what));
    let fixed = fixed.map(|(what, head)| (what.to_owned(), head.to_owned()));
    let of_items = measured.into_iter();
    let of_items = of_items.map(|item| (cluster_fact::max_per_s(item), format!("{item}: most records/s")));
    let known: Vec<(String, String)> = fixed.chain(of_items).collect();
    let cell = |host: &String, what: &str| match fact(host, what) {
        None => units::NOTHING.to_owned(),
        Some(value) if what.starts_with(&cluster_fact::max_per_s("")) => {
            value.parse().map_or_else(|_| value.clone(), units::count)
        }
        Some(value) if what.ends_with("_bytes") => {
            value.parse::<u64>().map_or_else(|_| value.clone(), |bytes| units::bytes(bytes as f64))
        }
        Some(value) => value.clone(),
    };
    let row = |host: &String| -> Vec<Cell> {
        let cells = known.iter().map(|(what, _)| cell(host, what));
        std::iter::once(host.clone()).chain(cells).map(Cell::from).collect()
    };
    let names = std::iter::once(Column::new(&["generator"], Holds::Names));
    let words = known.iter().map(|(_, head)| Column::new(&[head], Holds::Words));
    let columns = names.chain(words).collect();
    let rows = hosts.iter().map(row).collect();
    let shown: BTreeSet<_> = hosts
        .iter()
        .flat_map(|host| known.iter().map(move |(what, _)| cluster_fact::generator(host, what)))
        .collect();
    let mut others = cluster.clone();
    others.retain(|name, _| !shown.contains(name));
    (others, Table { columns, rows, names: 1, cut_short: BTreeSet::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_have_a_table_and_other_facts_are_left() {
        let fact =
            |host: &str, what: &str, value: &str| (cluster_fact::generator(host, what), value.to_owned());
        let cluster = BTreeMap::from([
            ("kafka".to_owned(), "4.1.0".to_owned()),
            fact("gen-1.example", cluster_fact::NODE, "n1"),
            fact("gen-1.example", "memory_bytes", "2147483648"),
            fact("gen-1.example", "os", "Debian"),
            fact("b", "memory_bytes", "much"),
            fact("b", &cluster_fact::max_per_s("writers"), "70"),
        ]);
        let (others, table) = of(&["gen-1.example".to_owned(), "b".to_owned()], &cluster);
        let left: Vec<_> = others.into_keys().collect();
        assert_eq!(left, ["generator.gen-1.example.os", "kafka"]);
        let heads: Vec<_> = table.columns.iter().map(Column::title).collect();
        assert_eq!(heads, ["generator", "node", "memory", "writers: most records/s"]);
        let row = |cells: [&str; 4]| cells.map(Cell::from).to_vec();
        let size = units::bytes(2_147_483_648.0);
        assert_eq!(
            table.rows,
            [row(["gen-1.example", "n1", &size, units::NOTHING]), row(["b", units::NOTHING, "much", "70"])]
        );
        let (others, table) = of(&[], &cluster);
        assert!(others == cluster && table.rows.is_empty());
    }
}
