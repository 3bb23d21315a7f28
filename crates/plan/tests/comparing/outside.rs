//! Sides whose load goes to an application that runs already: whether anything can differ.

use kdyno_plan::{Choices, plan};
use kdyno_scenario::Scenario;

const USERS: &str = "u: {users: 1, chain: turn, address: shop, steps: [{name: look, get: /}]}";

/// What planning a comparison of two releases says, with the application at `there`, more load and more on side B.
fn refused(there: &str, more_load: &str, more_on_b: &str) -> Option<String> {
    let text = format!(
        "kdyno: 1\nid: outside\nquestion: Can they differ?\nparams: {{there: '{there}', other: 1}}\n\
         system: {{kafka: 3.7.2}}\ntopics: {{t: {{partitions: 3}}}}\n\
         components: {{shop: {{command: [./shop], at: $there}}, own: {{command: [./own, $other]}}}}\n\
         load:\n  {USERS}\n{more_load}phases: {{measure: 1m}}\n\
         compare: {{A: {{}}, B: {{system: {{kafka: 4.1.1}}{more_on_b}}}}}\n"
    );
    let scenario = Scenario::parse(&text, "s.yaml").expect("a scenario");
    let error = plan(&scenario, &Choices::default()).err()?;
    Some(format!("{error} | {}", error.hint.as_deref().unwrap_or_default()))
}

#[test]
fn sides_that_load_the_same_remote_application_are_refused() {
    let there = "http://shop.example:8080";
    let refused_there = refused(there, "", "").expect("nothing can differ");
    let expected =
        "sides A and B differ in `system` alone, and all load of both goes to http://shop.example:8080";
    assert!(refused_there.contains(expected), "{refused_there}");
    assert!(refused_there.contains("`at: here`"), "{refused_there}");
    let second = "  v: {users: 1, chain: other-turn, address: 'http://second.example', steps: [{name: buy, get: /}]}\n";
    let of_both = refused(there, second, "").expect("nothing can differ");
    assert!(of_both.contains("http://second.example and http://shop.example:8080"), "{of_both}");
}

#[test]
fn sides_that_anything_else_distinguishes_are_planned() {
    let there = "http://shop.example:8080";
    for (at, more_load, more_on_b) in [
        ("here", "", ""),
        (there, "", ", params: {there: 'http://second.example'}"),
        (there, "", ", params: {other: 2}"),
        (there, "", ", topics: {t: {partitions: 6}}"),
        (there, "  w: {produce: t, rate: 10/s, value: 10B}\n", ""),
        (there, "  other: {command: [./load]}\n", ""),
        (there, "  w: {users: 1, chain: c, address: own, steps: [{name: s, get: /}]}\n", ""),
    ] {
        assert_eq!(refused(at, more_load, more_on_b), None, "{at} {more_load}{more_on_b}");
    }
}
