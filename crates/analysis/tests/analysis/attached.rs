//! An attached cluster on the host that the load comes from: its brokers share the processors, they are not other programs.

use crate::fixture::{S, Trial, unscoped};
use kdyno_model::caveat::{Caveat, Severity};
use kdyno_model::event::Subject;
use kdyno_model::plan::{AttachedPlan, Caps, SystemPlan};
use kdyno_model::run::cluster_fact;
use kdyno_model::sample::series;
use std::collections::BTreeMap;

/// Caveats about processors of a trial whose brokers are no processes of the run and used 0.6 of the host's two.
fn doubts(attached_here: bool) -> Vec<(Severity, Caveat)> {
    let mut trial = Trial::clean();
    let caps = Caps {
        produce_bytes_per_s: None,
        connections: None,
        partitions: None,
        disk_bytes: None,
        time_ns: None,
    };
    trial.start.trial.effective.system = SystemPlan::Attached(AttachedPlan {
        target: "standing".to_owned(),
        bootstrap: vec!["redacted".to_owned()],
        cluster_id: "x".to_owned(),
        prefix: "kdyno-".to_owned(),
        caps,
        allow: vec![],
        abort_if: Vec::new(),
        facts: BTreeMap::new(),
    });
    for reading in &mut trial.probes {
        if reading.subject == Subject::Host && reading.series == series::CPU_USER_S_TOTAL {
            reading.value += 0.6 * (reading.at_ns as f64 / S as f64);
        }
    }
    if attached_here {
        let fact = (cluster_fact::ON_THIS_HOST.to_owned(), cluster_fact::YES.to_owned());
        trial.start.cluster.extend([fact]);
    }
    let mut found = unscoped(kdyno_analysis::trial::judge(&trial).unwrap().caveats);
    found.retain(|(_, caveat)| matches!(caveat, Caveat::SharedProcessors { .. } | Caveat::OtherLoad { .. }));
    found
}

#[test]
fn brokers_of_an_attached_cluster_on_this_host_share_its_processors() {
    assert_eq!(doubts(true), [(Severity::Warning, Caveat::SharedProcessors { processors: 2 })]);
}

#[test]
fn elsewhere_what_uses_the_host_is_not_the_cluster() {
    let found = doubts(false);
    assert!(matches!(found[..], [(Severity::Warning, Caveat::OtherLoad { .. })]), "{found:?}");
}
