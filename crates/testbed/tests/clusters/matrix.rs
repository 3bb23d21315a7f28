//! Every tested release in every mode it has. Long, so only with `KDYNO_MATRIX=full`, which also prints the
//! table of docs/CLUSTERS.md. Always: one cluster of each mode that the other tests have not.

use crate::scene::{PATIENCE, TestFolder, ensure, plan, reports_unknown_settings, with_odd_settings};
use kdyno_kafka::admin::Admin;
use kdyno_model::plan::{KafkaSource, Mode};
use kdyno_model::version::{NEWEST, TESTED, Version};
use kdyno_testbed::distribution;
use libtest_mimic::{Failed, Trial};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// The variable that turns the matrix on, and its value.
const SWITCH: (&str, &str) = ("KDYNO_MATRIX", "full");

/// Mode, brokers, heading.
const COLUMNS: [(Mode, u32, &str); 5] = [
    (Mode::KraftCombined, 1, "KRaft combined, 1 broker"),
    (Mode::KraftCombined, 3, "KRaft combined, 3 brokers"),
    (Mode::KraftControllers { controllers: 1 }, 1, "1 controller, 1 broker"),
    (Mode::Zookeeper { nodes: 1 }, 1, "1 ZooKeeper, 1 broker"),
    (Mode::Zookeeper { nodes: 3 }, 1, "3 ZooKeeper, 1 broker"),
];

/// Started by every test run, so that neither mode can break unnoticed: the cheapest with ZooKeeper, and
/// controllers apart from brokers that replicate.
const ALWAYS: [(&str, Mode, u32, &str); 2] = [
    ("2.7.2", Mode::Zookeeper { nodes: 1 }, 1, "zookeeper_carries_a_broker_of_its_time"),
    (NEWEST, Mode::KraftControllers { controllers: 1 }, 3, "a_dedicated_controller_leads_three_brokers"),
];

/// Cells of the table: (row, column) to what was seen.
static CELLS: Mutex<BTreeMap<(usize, usize), String>> = Mutex::new(BTreeMap::new());

pub fn is_on() -> bool {
    std::env::var(SWITCH.0).is_ok_and(|value| value == SWITCH.1)
}

pub fn trials() -> Vec<Trial> {
    let always = ALWAYS.into_iter().map(|(version, mode, brokers, name)| {
        Trial::test(name, move || starts(version, mode, brokers).map(drop))
    });
    let mut trials: Vec<Trial> = always.collect();
    if !is_on() {
        return trials;
    }
    for (row, version) in TESTED.iter().enumerate() {
        for (column, (mode, brokers, heading)) in COLUMNS.iter().enumerate() {
            if !Version::parse(version).is_ok_and(|version| version.check_mode(*mode, *brokers).is_ok()) {
                continue;
            }
            let name = format!("matrix: {version}, {heading}");
            trials.push(Trial::test(name, move || cell((row, column), version, *mode, *brokers)));
        }
    }
    trials.extend(crate::secured::of_every_release());
    trials
}

/// Fills a cell of the table.
fn cell(place: (usize, usize), version: &str, mode: Mode, brokers: u32) -> Result<(), Failed> {
    note(place, "**fails**".to_string());
    let facts = starts(version, mode, brokers)?;
    let seconds = facts["ready_ms"].parse::<f64>()? / 1000.0;
    note(place, format!("{seconds:.1} s (Java {})", facts["java"].split('.').next().unwrap_or_default()));
    Ok(())
}

/// Starts, creates a replicated topic, ends; returns what is known of the cluster.
fn starts(version: &str, mode: Mode, brokers: u32) -> Result<BTreeMap<String, String>, Failed> {
    let scene = TestFolder::new()?;
    // Fetched apart, so that it does not count as start.
    distribution::prepare(&scene.environment, &KafkaSource::Release(version.to_string()), &|_| {})?;
    let cluster = scene.start(&with_odd_settings(plan(version, mode, brokers)))?;
    reports_unknown_settings(&cluster)?;
    let subjects: Vec<String> =
        cluster.processes().into_iter().map(|process| process.subject.to_string()).collect();
    let (word, nodes) = match mode {
        Mode::KraftCombined => ("controller-", 0),
        Mode::KraftControllers { controllers } => ("controller-", controllers),
        Mode::Zookeeper { nodes } => ("zookeeper-", nodes),
    };
    let count = |word| subjects.iter().filter(|subject| subject.starts_with(word)).count();
    let as_planned = count("broker-") == brokers as usize && count(word) == nodes as usize;
    ensure(as_planned && subjects.len() == (brokers + nodes) as usize, format!("{subjects:?}"))?;
    let mut admin = Admin::connect(&cluster.bootstrap(), "test", PATIENCE)?;
    admin.create_topic("t", 4, i16::try_from(brokers)?, &BTreeMap::new())?;
    let topics = admin.topics(Some(&["t"]))?;
    let in_sync = topics[0].partitions.iter().all(|partition| partition.isr.len() == brokers as usize);
    ensure(in_sync && topics[0].partitions.len() == 4, format!("{topics:?}"))?;
    let facts = cluster.facts();
    cluster.stop()?;
    ensure(!scene.work_dir().exists(), "the folder is removed")?;
    Ok(facts)
}

fn note(place: (usize, usize), text: String) {
    CELLS.lock().unwrap_or_else(PoisonError::into_inner).insert(place, text);
}

/// Prints what was seen as a Markdown table; nothing when the matrix did not run.
pub fn print_table() {
    let cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
    if cells.is_empty() {
        return;
    }
    let headings: Vec<_> = COLUMNS.iter().map(|(_, _, heading)| *heading).collect();
    let mut text = format!("\n| Kafka | {} |\n|---|{}\n", headings.join(" | "), "---|".repeat(COLUMNS.len()));
    for (row, version) in TESTED.iter().enumerate() {
        let cell = |column| cells.get(&(row, column)).map_or("–", String::as_str);
        let columns: Vec<_> = (0..COLUMNS.len()).map(cell).collect();
        text.push_str(&format!("| {version} | {} |\n", columns.join(" | ")));
    }
    // A closed output only loses the table.
    let _ = std::io::stdout().write_all(text.as_bytes());
}
