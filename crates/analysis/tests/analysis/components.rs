//! What is stated of components, and what their death means.

use crate::fixture::plans::component;
use crate::fixture::{TrialFixture, event};
use kdyno_model::event::{Event, EventKind, Subject};
use kdyno_model::finding::Value;
use kdyno_model::plan::component::series as database;
use kdyno_model::plan::{ComponentKind, KROXYLICIOUS, PROXY, PostgresPlan, ProxyPlan};
use kdyno_model::sample::series;
use std::collections::BTreeMap;

fn both() -> TrialFixture {
    let mut trial = TrialFixture::clean();
    let plan = PostgresPlan { version: None, database: "library".to_owned(), settings: BTreeMap::new() };
    trial.start.trial.effective.components = vec![
        component("db", ComponentKind::Postgres(plan)),
        component("web", ComponentKind::Command(vec!["./web".to_owned()])),
    ];
    trial
}

#[test]
fn usage_of_components_and_counters_of_databases_are_reported() {
    let before = TrialFixture::clean().findings().len();
    let mut trial = both();
    let db = || Subject::Component("db".to_owned());
    for (of, user, system) in [(db(), 0.5, 0.25), (Subject::Component("web".to_owned()), 0.1, 0.0)] {
        trial.counter(of.clone(), series::CPU_USER_S_TOTAL, user);
        trial.counter(of, series::CPU_SYSTEM_S_TOTAL, system);
    }
    trial.counter(db(), database::COMMITTED_TOTAL, 90.0);
    trial.counter(db(), database::ROLLED_BACK_TOTAL, 10.0);
    trial.is("db.cpu_percent", 75.0);
    trial.is("db.transactions_per_s", 100.0);
    trial.is("db.rolled_back_share", 0.1);
    trial.is("web.cpu_percent", 10.0);
    let of_web = trial.findings().into_iter().filter(|finding| finding.of.subject == "web");
    let of_web: Vec<String> = of_web.map(|finding| finding.of.metric).collect();
    assert_eq!(of_web, ["cpu_percent", "memory_rss_bytes_max"], "it is no database");
    assert_eq!(trial.findings().len(), before + 2 + 5);
}

/// After a crash of one of its processes PostgreSQL starts again, without being a component that died.
#[test]
fn an_unread_database_says_nothing_about_the_window() {
    let mut trial = both();
    let db = Subject::Component("db".to_owned());
    trial.counter(db.clone(), database::COMMITTED_TOTAL, 90.0);
    trial.counter(db.clone(), database::ROLLED_BACK_TOTAL, 10.0);
    trial.probes.retain(|reading| reading.subject != db || reading.at_ns < 6_000_000_000);
    for metric in ["transactions_per_s", "rolled_back_share", "connections_max"] {
        assert_eq!(trial.value(&format!("db.{metric}")), Value::None, "{metric}");
    }
}

/// What was read until it died is no figure of the whole window.
#[test]
fn each_record_passes_a_proxy_and_a_dead_proxy_has_no_cpu_time() {
    let mut trial = TrialFixture::clean();
    let kroxylicious = ProxyPlan::Kroxylicious(KROXYLICIOUS.to_owned());
    trial.start.trial.effective.components = vec![component(PROXY, ComponentKind::Proxy(kroxylicious))];
    let proxy = Subject::Component(PROXY.to_owned());
    trial.counter(proxy.clone(), series::CPU_USER_S_TOTAL, 0.5);
    trial.counter(proxy.clone(), series::CPU_SYSTEM_S_TOTAL, 0.25);
    let Value::Is(records_per_s) = trial.value("writers.acked_per_s") else { panic!("a rate") };
    trial.is("proxy.cpu_percent", 75.0);
    trial.is("proxy.cpu_us_per_record", 750_000.0 / records_per_s);
    let is_unreported = |trial: &TrialFixture| {
        for metric in ["cpu_percent", "cpu_us_per_record", "records_per_s_per_core"] {
            assert_eq!(trial.value(&format!("proxy.{metric}")), Value::None, "{metric}");
        }
    };
    let lived = trial.clone();
    trial.probes.retain(|reading| reading.subject != proxy || reading.at_ns < 6_000_000_000);
    is_unreported(&trial);
    // A second before the window's end it was read still.
    let mut trial = lived;
    trial
        .events
        .push(Event { at_ns: Some(11_000_000_000), ..event(EventKind::ProcessDied, proxy, "it ended") });
    is_unreported(&trial);
}
