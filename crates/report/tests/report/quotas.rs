//! Quotas of a local cluster, before a run and in what it comes to elsewhere.

use crate::fixture::run;
use kdyno_model::plan::{Estimate, QuotaEach, QuotasPlan, SystemPlan};
use kdyno_model::trial::TrialId;
use kdyno_report::kubernetes::document;
use kdyno_report::terminal::{PlanDetail, TextOptions, plan_text};

const ESTIMATE: Estimate =
    Estimate { expected_ns: 1, longest_ns: 1, load_ns: 1, disk_bytes: None, kept_bytes: None };
const WORDS: &str = "quotas: all clients together may fetch 1MiB/s at each broker";

#[test]
fn quotas_are_shown_before_a_run_and_noted_for_kubernetes() {
    let mut run = run();
    let quotas = QuotasPlan {
        each: QuotaEach::User,
        producer_bytes_per_s: None,
        consumer_bytes_per_s: Some(1 << 20),
        request_percent: None,
    };
    let cases = run.header.plan.cases.iter_mut();
    let systems = cases.chain(run.trials.iter_mut().map(|start| &mut start.trial.effective));
    for case in systems {
        let SystemPlan::Local(cluster) = &mut case.system else { panic!("the fixture's cluster is local") };
        cluster.quotas = Some(quotas);
    }
    let options = TextOptions { width: 160, colour: false };
    let text = plan_text(&run.header.plan, &ESTIMATE, PlanDetail::Full, &options);
    assert!(text.contains(WORDS), "{text}");
    let document = document(&run.input(), TrialId(1)).expect("a translation");
    let document = document.split_whitespace().filter(|word| *word != "#").collect::<Vec<_>>().join(" ");
    assert!(document.contains(&format!("{WORDS}; resources `KafkaUser`")), "{document}");
}
