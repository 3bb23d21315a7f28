//! What each process of this host used, and whether memory grows.

use super::form::{Answer, Sentence};
use super::health::{groups, of_group};
use super::words;
use crate::digits;
use crate::grid::Tone;
use crate::input::ReportInput;
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::event::Subject;
use kdyno_model::finding::Interval;
use kdyno_model::processes::{MemoryCourse, MemorySays, MemoryUntold, ProcessUse, Processes};
use std::collections::BTreeSet;

const TITLE: &str = "Processes on this host";

/// With more rows a terminal shows the sentences alone.
const TERMINAL_ROWS_MAX: usize = 24;

const NOTE: &str = "In the measured window; of several trials smallest to largest. CPU in percent of one core. Disk bytes are those \
    that went to drives for the process, written when it changed pages, not when they were flushed. Memory is resident memory, its \
    change per minute, in brackets its interval of 95 % confidence.";

/// A process in the trials of a group.
struct ProcessRow<'a> {
    group: &'a str,
    of: &'a Subject,
    trials: Vec<&'a ProcessUse>,
}

/// A table with a row for each process of each case and side, and what is said of memory; `None`: no process was probed.
pub fn answer(input: &ReportInput<'_>) -> Option<Answer> {
    let groups = groups(input);
    let found: Vec<(&str, Vec<&Processes>)> =
        groups.iter().map(|(name, trials)| (name.as_str(), of_group(input.conclusions, trials))).collect();
    let rows: Vec<ProcessRow<'_>> = found.iter().flat_map(|(group, trials)| rows(group, trials)).collect();
    if rows.is_empty() {
        return None;
    }
    let sentences = [growing(&rows), unreported(&rows)].into_iter().flatten();
    Some(Answer {
        sentences: sentences.collect(),
        ..Answer::of_table(TITLE.to_owned(), table(&rows), vec![NOTE.to_owned()])
    })
}

/// The table for a terminal, which has no room for a long one.
pub fn short_answer(input: &ReportInput<'_>) -> Option<Answer> {
    let all = answer(input)?;
    let is_long = all.table.as_ref().is_some_and(|table| table.rows.len() > TERMINAL_ROWS_MAX);
    match is_long {
        true if all.sentences.is_empty() => None,
        true => Some(all.without_table()),
        false => Some(all),
    }
}

fn rows<'a>(group: &'a str, trials: &[&'a Processes]) -> Vec<ProcessRow<'a>> {
    let mut rows: Vec<ProcessRow<'a>> = Vec::new();
    for one in trials.iter().flat_map(|trial| &trial.processes) {
        match rows.iter_mut().find(|row| *row.of == one.of) {
            Some(row) => row.trials.push(one),
            None => rows.push(ProcessRow { group, of: &one.of, trials: vec![one] }),
        }
    }
    rows.sort_by_key(|row| row.of);
    rows
}

impl<'a> ProcessRow<'a> {
    fn range(&self, of: impl Fn(&ProcessUse) -> Option<f64>, print: impl Fn(f64) -> String) -> String {
        let values = self.trials.iter().filter_map(|one| of(one));
        words::range(values, print).unwrap_or_else(|| units::NOTHING.to_owned())
    }

    fn memory(&self) -> Vec<&'a MemoryCourse> {
        self.trials.iter().filter_map(|one| one.memory.as_ref()).collect()
    }

    fn heap(&self) -> Vec<&'a MemoryCourse> {
        self.trials.iter().filter_map(|one| one.heap_after_gc.as_ref()).collect()
    }

    fn whose(&self) -> String {
        match self.group {
            "" => self.of.to_string(),
            group => format!("{} ({group})", self.of),
        }
    }
}

/// Which processes grow.
fn growing(rows: &[ProcessRow<'_>]) -> Option<Sentence> {
    let reported: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let all = row.memory();
            let growing: Vec<&MemoryCourse> =
                all.iter().copied().filter(|one| one.says == MemorySays::Growing).collect();
            if growing.is_empty() {
                return None;
            }
            let when = match growing.len() == all.len() {
                true => String::new(),
                false => format!(" in {} of {} trials", growing.len(), all.len()),
            };
            Some(format!("{} by {}{when}", row.whose(), change(&growing)))
        })
        .collect();
    let said = format!(
        "memory grows throughout the window: {}. A longer run shows whether that is a leak or a cache that fills.",
        words::list(&reported)
    );
    (!reported.is_empty()).then(|| Sentence::new(Tone::Warn, said))
}

/// The sentence that windows are too short to determine it.
fn unreported(rows: &[ProcessRow<'_>]) -> Option<Sentence> {
    let needed = rows.iter().flat_map(ProcessRow::memory).filter_map(|one| match one.says {
        MemorySays::CannotTell(MemoryUntold::WindowTooShort { needed_s }) => Some(needed_s),
        _ => None,
    });
    let seconds = needed.max()?;
    let needed = units::duration(u64::from(seconds) * 1_000_000_000);
    let said = format!("a window shorter than {needed} cannot show whether a process leaks memory.");
    Some(Sentence::new(Tone::Plain, said))
}

/// `3.2 MiB/min [2.9 to 3.5]`, of several trials smallest to largest, without brackets.
fn change(courses: &[&MemoryCourse]) -> String {
    let print = |mib: f64| units::significant(mib).replace('-', "−");
    match courses {
        [] => units::NOTHING.to_owned(),
        [one] => match one.interval {
            Interval::Bounds { low, high, .. } => {
                format!("{} MiB/min [{} to {}]", print(one.mib_per_min), print(low), print(high))
            }
            Interval::NotResolvable(_) => format!("{} MiB/min", print(one.mib_per_min)),
        },
        all => {
            let range = words::range(all.iter().map(|one| one.mib_per_min), print);
            format!("{} MiB/min", range.unwrap_or_default())
        }
    }
}

fn says(of: MemorySays) -> &'static str {
    match of {
        MemorySays::Growing => "growing",
        MemorySays::Stable => "stable",
        MemorySays::Shrinking => "shrinking",
        MemorySays::CannotTell(why) => match why {
            MemoryUntold::WindowTooShort { .. } => "too short to tell",
            MemoryUntold::LevellingOff => "levelling off",
            MemoryUntold::Noisy => "too noisy to tell",
            MemoryUntold::OldGarbage => "may be old garbage",
        },
    }
}

/// What all trials say, each word once.
fn all_say(courses: &[&MemoryCourse]) -> String {
    let said: BTreeSet<MemorySays> = courses.iter().map(|one| one.says).collect();
    let words: Vec<&str> = said.into_iter().map(says).collect();
    if words.is_empty() { units::NOTHING.to_owned() } else { words.join("; ") }
}

/// The first column has the name alone: a narrow terminal repeats that one.
fn table(rows: &[ProcessRow<'_>]) -> Table {
    let columns = [
        ("process", false),
        ("user CPU %", true),
        ("system CPU %", true),
        ("memory", true),
        ("memory change", true),
        ("growth", false),
        ("disk read/s", true),
        ("disk written/s", true),
        ("context switches/s", true),
        ("open files", true),
    ];
    let cells = rows.iter().flat_map(|row| std::iter::once(used(row)).chain(heap(row)));
    Table::new(&columns, cells.map(|row| row.map(Cell::from).to_vec()).collect())
}

fn used(row: &ProcessRow<'_>) -> [String; 10] {
    let memory = row.memory();
    [
        row.whose(),
        row.range(|one| one.cpu_user_percent, digits::cpu_percent),
        row.range(|one| one.cpu_system_percent, digits::cpu_percent),
        row.range(|one| one.memory_rss_bytes_max, units::bytes),
        change(&memory),
        all_say(&memory),
        row.range(|one| one.disk_read_bytes_per_s, units::bytes),
        row.range(|one| one.disk_write_bytes_per_s, units::bytes),
        row.range(|one| one.context_switches_per_s, |many| units::count(many.round())),
        row.range(|one| one.open_files_max, units::count),
    ]
}

/// What a broker's heap came to, below its other memory.
fn heap(row: &ProcessRow<'_>) -> Option<[String; 10]> {
    let heap = row.heap();
    let mut cells = std::array::from_fn(|_| String::new());
    cells[0] = format!("{}, heap after GC", row.whose());
    cells[4] = change(&heap);
    cells[5] = all_say(&heap);
    (!heap.is_empty()).then_some(cells)
}

/// One trial's processes, for documents: those that grow, or how many were read.
pub fn trial_sentence(of: &Processes) -> String {
    let grows = of.processes.iter().filter_map(|one| {
        let memory = one.memory.as_ref().filter(|memory| memory.says == MemorySays::Growing)?;
        Some(format!("memory of {} grows by {}", one.of, change(&[memory])))
    });
    let grows: Vec<String> = grows.collect();
    if grows.is_empty() {
        let many = of.processes.len();
        let processes = if many == 1 { "process" } else { "processes" };
        return format!("{many} {processes} read; none is known to grow");
    }
    grows.join("; ")
}
