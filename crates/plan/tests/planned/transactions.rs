//! Transactions that end with so many records.

use kdyno_model::plan::TransactionsPlan;
use kdyno_plan::{Choices, plan};
use kdyno_scenario::Scenario;

/// What is planned of a client with this setting.
fn planned(transactions: &str, setting: &str) -> Result<TransactionsPlan, String> {
    let text = format!(
        "kdyno: 1\nid: atomic\nquestion: How many?\ntopics: {{t: {{partitions: 1}}}}\n\
         load: {{w: {{produce: t, rate: 10/s, value: 100B, transactions: {transactions}, client: {{{setting}}}}}}}\n\
         phases: {{warmup: 1s, measure: 9s}}\n"
    );
    let scenario = Scenario::parse(&text, "s.yaml").map_err(|error| error.to_string())?;
    let plan = plan(&scenario, &Choices::default()).map_err(|error| error.to_string())?;
    let produce = plan.cases[0].load["w"].role.as_produce().expect("it produces");
    Ok(produce.transactions.expect("transactions"))
}

#[test]
fn a_transaction_ends_with_its_records_or_in_time() {
    let of = |transactions: &str, setting: &str| {
        let planned = planned(transactions, setting).expect("a plan");
        (planned.every_ns, planned.records, planned.abort_share)
    };
    assert_eq!(of("{records: 100}", ""), (30_000_000_000, Some(100), 0.0), "half of the timeout");
    assert_eq!(of("{records: 7}", "transaction.timeout.ms: 10s"), (5_000_000_000, Some(7), 0.0));
    assert_eq!(of("{every: 2s, records: 100, abort: 50%}", ""), (2_000_000_000, Some(100), 0.5));
    assert_eq!(of("{every: 2s}", ""), (2_000_000_000, None, 0.0));
    for (transactions, words) in [
        ("{abort: 1%}", "`transactions` says neither `every` nor `records`"),
        ("{records: 0}", "`records`: `0` is outside 1 to 1000000000"),
        ("{records: 1.5}", "`records`"),
    ] {
        let error = planned(transactions, "").expect_err(words);
        assert!(error.contains(words), "{words}: {error}");
    }
}
