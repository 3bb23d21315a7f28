//! What processes used, and whether memory grows, in every form of a report.

use crate::fixture::{RunFixture, run};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::event::Subject;
use kdyno_model::finding::{Interval, IntervalMethod, NotResolvable, Scope};
use kdyno_model::processes::{MemoryCourse, MemorySays, MemoryUntold, ProcessUse, Processes};
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{json, markdown};

const OPTIONS: TextOptions = TextOptions { width: 300, colour: false };
const SHORT: MemorySays = MemorySays::CannotTell(MemoryUntold::WindowTooShort { needed_s: 300 });

fn course(mib_per_min: f64, says: MemorySays) -> MemoryCourse {
    let (low, high) = (mib_per_min - 0.5, mib_per_min + 0.5);
    let interval = Interval::Bounds { low, high, level: 0.95, method: IntervalMethod::Sen };
    MemoryCourse { mib_per_min, interval, says }
}

fn used(of: Subject, memory: Option<MemoryCourse>) -> ProcessUse {
    ProcessUse {
        of,
        cpu_user_percent: Some(41.5),
        cpu_system_percent: Some(7.25),
        memory_rss_bytes_max: Some(512.0 * 1_048_576.0),
        memory,
        heap_after_gc: None,
        disk_read_bytes_per_s: None,
        disk_write_bytes_per_s: Some(2_097_152.0),
        context_switches_per_s: Some(1234.4),
        open_files_max: Some(310.0),
    }
}

fn reported(run: &mut RunFixture, trial: TrialId, processes: Vec<ProcessUse>) {
    run.conclusions.push(Conclusion::Processes(Processes { scope: Scope::Trial(trial), processes }));
}

fn one_trial(memory: MemoryCourse) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    let broker = ProcessUse {
        heap_after_gc: Some(course(0.25, MemorySays::CannotTell(MemoryUntold::OldGarbage))),
        ..used(Subject::Broker(0), Some(memory))
    };
    let database = used(Subject::Process("postgres".into()), None);
    reported(&mut run, TrialId(1), vec![broker, database]);
    run
}

#[test]
fn a_growing_process_has_its_interval_in_every_form() {
    let run = one_trial(course(3.25, MemorySays::Growing));
    let said = "Memory grows throughout the window: broker-0 by 3.25 MiB/min [2.75 to 3.75].";
    let text = run_table(&run.input(), &OPTIONS);
    let shown = text.split("\nProcesses on this host\n").nth(1).unwrap_or_else(|| panic!("{text}"));
    assert!(shown.starts_with(said), "{shown}");
    for cell in ["process-postgres", "41.5", "7.25", "512 MiB", "growing", "2.00 MiB", "1,234", "310"] {
        assert!(shown.contains(cell), "{cell}: {shown}");
    }
    assert!(shown.contains("broker-0, heap after GC") && shown.contains("may be old garbage"), "{shown}");
    assert!(
        markdown::block(&run.input()).contains("Memory grows throughout the window: broker-0 by 3.25 MiB")
    );
    let html = page(&run.input());
    assert!(html.contains(said) && html.contains(">process-postgres</th>"), "the page");
    let json = json::run(&run.input()).to_string();
    assert!(json.contains("memory of broker-0 grows by 3.25 MiB/min [2.75 to 3.75]"), "{json}");
}

#[test]
fn of_a_short_window_it_is_said_that_nothing_can_be_said() {
    let mut short = course(3.25, SHORT);
    short.interval = Interval::NotResolvable(NotResolvable::TooShort);
    let run = one_trial(short);
    let text = run_table(&run.input(), &OPTIONS);
    assert!(text.contains("window shorter than 5 min cannot show whether a process leaks"), "{text}");
    assert!(text.contains("3.25 MiB/min ") && !text.contains("Memory grows"), "{text}");
    let json = json::run(&run.input()).to_string();
    assert!(json.contains("2 processes read; none is known to grow"), "{json}");
}

#[test]
fn trials_are_summed_up_and_a_long_table_is_left_to_the_page() {
    let mut run = run();
    let case = run.trials[0].trial.case;
    let trials: Vec<TrialId> = run
        .trials
        .iter_mut()
        .map(|start| {
            start.trial.case = case;
            start.trial.id
        })
        .collect();
    for (number, trial) in trials.into_iter().enumerate() {
        let memory =
            if number == 0 { course(2.0, MemorySays::Growing) } else { course(0.0, MemorySays::Stable) };
        reported(&mut run, trial, (0..30).map(|id| used(Subject::Broker(id), Some(memory))).collect());
    }
    let text = run_table(&run.input(), &OPTIONS);
    let said = "broker-0 (brokers=3) by 2.00 MiB/min [1.50 to 2.50] in 1 of 4 trials";
    assert!(text.contains(said) && !text.contains("growing; stable"), "{text}");
    let html = page(&run.input());
    assert!(html.contains(">growing; stable</td>") && html.contains(">0 to 2.00 MiB/min</td>"), "the page");
}
