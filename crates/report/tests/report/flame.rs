//! Flame graphs on the page.

use crate::fixture::{ComparisonEnd, RunFixture, comparison, run};
use kdyno_model::event::Subject;
use kdyno_model::evidence::TrialStacks;
use kdyno_model::plan::Depth;
use kdyno_model::stacks::{FlameKind, Stacks};
use kdyno_model::trial::TrialId;
use kdyno_report::html::{SCRIPT, page};

const STACKS: &str = "[main tid=1];kafka/Kafka.main 3\n[<script>evil];\"onload=x 2\n";

fn sampled(trial: u32, broker: u32, text: &str) -> TrialStacks {
    let stacks = Stacks::read(text).expect("stacks");
    TrialStacks { trial: TrialId(trial), subject: Subject::Broker(broker), kind: FlameKind::Cpu, stacks }
}

fn graphs(run: &RunFixture) -> (usize, String) {
    let page = page(&run.input()).replace(SCRIPT, "");
    (page.matches("<svg class=\"flame\"").count(), page)
}

#[test]
fn each_process_of_each_trial_has_a_graph_unless_it_is_empty() {
    let mut run = run();
    assert_eq!(graphs(&run).0, 0);
    assert!(!graphs(&run).1.contains("Flame graphs"));
    run.stacks = vec![sampled(1, 0, STACKS), sampled(1, 1, STACKS), sampled(2, 0, "")];
    let (count, page) = graphs(&run);
    assert_eq!(count, 2);
    assert!(page.contains("broker-1: CPU time") && page.contains("5 samples"), "{page}");
    assert!(page.contains("<title>kafka.Kafka.main: 60.00 %, 3 samples</title>"), "{page}");
    assert!(page.contains("<td>60.00 %</td><td>3 samples</td>"), "a table of its frames: {page}");
    assert!(!page.contains("<script") && !page.contains("\"onload"), "a name was not escaped");
}

#[test]
fn a_page_has_so_many_graphs_and_says_where_the_others_are() {
    let mut run = run();
    run.stacks = (0..40).map(|broker| sampled(1, broker, STACKS)).collect();
    let (count, page) = graphs(&run);
    assert_eq!(count, 24);
    assert!(page.contains("16 more are stored"), "{page}");
}

#[test]
fn a_comparison_shows_first_where_its_sides_differ() {
    let mut run = comparison(ComparisonEnd::Alike, Depth::Verdict);
    let mut b = run.trials[0].clone();
    (b.trial.id, b.trial.variant) = (TrialId(900), Some("B".to_owned()));
    let a = run.trials[0].trial.id.0;
    assert_eq!(run.trials[0].trial.variant.as_deref(), Some("A"), "the fixture's first trial");
    run.trials.push(b);
    run.stacks = vec![sampled(a, 0, "t;x 9\nt;y 1\n"), sampled(900, 0, "t;x 10\nt;y 30\n")];
    let (count, page) = graphs(&run);
    assert_eq!(count, 3);
    let (_, after) = page.split_once("<h2 id=\"flame-graphs\">").expect("the section");
    let difference = after.find("B (kafka=4.3.1) against A (kafka=3.7.2)").expect("the difference");
    assert!(difference < after.find("trial").expect("a trial's"), "{after}");
    assert!(after.contains("<title>y: A 10.00 %, B 75.00 % (+65.00 points)</title>"), "{after}");
    run.stacks.pop();
    assert_eq!(graphs(&run).0, 1, "nothing is known of B");
}
