//! Figures of the load items together: `sum.acked_per_s`.

use crate::common::as_written;

fn columns(items: usize, more: &str) -> Result<Vec<String>, String> {
    let load: String =
        (0..items).map(|item| format!("  w{item}: {{produce: t, rate: 10/s, value: 10B}}\n")).collect();
    let text = format!(
        "kdyno: 1\nid: summed\nquestion: How much is it together?\nsystem: {{kafka: 4.1.1}}\ntopics: {{t: {{partitions: 3}}}}\n\
         load:\n{load}phases: {{measure: 1m}}\n{more}"
    );
    Ok(as_written(&text)?.show.columns.iter().map(ToString::to_string).collect())
}

#[test]
fn what_adds_up_has_a_sum_over_several_items() {
    let shown = "show: {columns: [sum.acked_per_s, sum.acked_mib_per_s, sum.failed]}\nexpect: [{claim: enough, that: 'sum.acked_per_s >= 15/s'}]\n";
    assert_eq!(
        columns(2, shown),
        Ok(vec!["sum.acked_per_s".into(), "sum.acked_mib_per_s".into(), "sum.failed".into()])
    );
    let error = columns(2, "show: {columns: [sum.response.p99]}\n").expect_err("no quantile adds up");
    assert!(error.contains("`response.p99` is not a metric of `sum`"), "{error}");
    let error = columns(1, "show: {columns: [sum.acked_per_s]}\n").expect_err("of one item it is that item");
    assert!(error.contains("`sum` is neither a load item"), "{error}");
}

#[test]
fn of_many_items_the_sum_is_shown_first() {
    assert_eq!(columns(4, "").expect("a plan")[0], "w0.acked_per_s");
    assert_eq!(columns(5, "").expect("a plan")[..2], ["sum.acked_per_s", "sum.acked_mib_per_s"]);
}
