//! Figures that a tool of somebody else's reported, in one table with those that kdyno measured.

use crate::fixture::{RunFixture, finding, plans, run};
use kdyno_model::finding::{Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::plan::{CommandPlan, CsvColumns, OutputFormat, ParsePlan};
use kdyno_report::html::page;
use kdyno_report::markdown;
use kdyno_report::terminal::{TextOptions, run_table};
use std::collections::BTreeMap;

const WIDE: TextOptions = TextOptions { width: 200, colour: false };

/// A run with a command next to its load items.
fn with_tool(format: OutputFormat) -> RunFixture {
    let mut run = run();
    let parse = ParsePlan {
        format,
        file: None,
        columns: CsvColumns::default(),
        labels: BTreeMap::new(),
        apart: None,
    };
    let command = CommandPlan { parse: Some(parse), ..plans::command() };
    for case in &mut run.header.plan.cases {
        case.commands.insert("tool".to_owned(), command.clone());
    }
    let figures =
        [("tool.requests_per_s", 51_234.0), ("tool.response.p99", 31.0e6), ("tool.duration", 30.0e9)];
    for (of, value) in figures {
        run.header.plan.show.columns.extend(Address::parse(of));
        run.findings.extend([0, 1].map(|case| finding(Scope::Case(case), of, Value::Is(value))));
    }
    run
}

#[test]
fn figures_of_a_tool_are_named_as_such_next_to_ours() {
    let run = with_tool(OutputFormat::PerfTest);
    let (text, page, block) =
        (run_table(&run.input(), &WIDE), page(&run.input()), markdown::block(&run.input()));
    let note = "as reported: figures of the tool itself (tool); latencies of Kafka's tools are from the send, those of \
                kdyno's clients from the scheduled send time.";
    for form in [&text, &block] {
        let words = form.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(note) && words.contains("51,234"), "{form}");
    }
    let head = block.lines().find(|line| line.contains("tool.requests_per_s")).expect("its heads");
    let heads: Vec<&str> = head.split('|').map(str::trim).collect();
    for (of, is_its_own) in [
        ("tool.requests_per_s", true),
        ("tool.response.p99", true),
        ("tool.duration", false),
        ("writers.response.p99", false),
    ] {
        let reported = format!("{of}, as reported");
        assert_eq!(heads.contains(&reported.as_str()), is_its_own, "{heads:?}");
        assert_eq!(heads.contains(&of), !is_its_own, "{heads:?}");
    }
    let result = text.split_once("Result\n").expect("the table").1;
    assert_eq!(result.split("as reported: ").next().expect("its heads").matches("as reported").count(), 2);
    // Two columns, and the note.
    assert_eq!(page.split_once("id=\"result\"").expect("the table").1.matches("as reported").count(), 3);
}

#[test]
fn a_tool_that_is_not_kafkas_says_nothing_of_its_times() {
    let text = run_table(&with_tool(OutputFormat::Jtl).input(), &WIDE);
    assert!(text.contains("as reported: figures of the tool itself (tool)."), "{text}");
    assert!(!run_table(&run().input(), &WIDE).contains("as reported"), "nothing of it is anybody else's");
}
