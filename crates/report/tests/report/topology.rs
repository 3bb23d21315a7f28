//! The topology of trials as a table.

use crate::fixture::plans::{self, component};
use crate::fixture::{RunFixture, run};
use kdyno_model::event::Subject;
use kdyno_model::plan::http_load::{HttpLoad, UsersPlan};
use kdyno_model::plan::*;
use kdyno_report::html::{SCRIPT, page};
use std::collections::BTreeMap;

/// The run with its first trial alone, changed.
fn run_of(change: impl Fn(&mut CasePlan)) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    run.trials.iter_mut().for_each(|start| change(&mut start.trial.effective));
    run
}

fn local(case: &mut CasePlan) -> &mut ClusterPlan {
    let SystemPlan::Local(cluster) = &mut case.system else { panic!("the fixture's cluster is local") };
    cluster
}

/// The table of the first topology.
fn table(run: &RunFixture) -> String {
    let html = page(&run.input()).replace(SCRIPT, "");
    let (_, table) = html.split_once("aria-label=\"Topology: ").expect("a topology");
    table.split("</table>").next().expect("its end").to_owned()
}

/// The rows of its table, cells with bars between.
fn rows(table: &str) -> String {
    let (_, table) = table.split_once("<tbody>").expect("a table");
    let rows = table.split("</tbody>").next().unwrap_or("").split("<tr>").skip(1).map(|row| {
        let cells = row.split('<').filter_map(|tag| tag.split_once('>')).map(|(_, text)| text);
        cells.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" | ")
    });
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_cluster_with_zones_a_proxy_and_components() {
    let mut run = run_of(|case| {
        let link =
            LinkPlan { delay_ns: 500_000, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let zones =
            ZonesPlan { brokers: names(&["a", "b"]), clients: names(&["c"]), link, between_brokers: false };
        let cluster = local(case);
        (cluster.mode, cluster.zones) = (Mode::KraftControllers { controllers: 1 }, Some(zones));
        (cluster.pinned_to, cluster.cpu_limit) = (vec![vec![0, 1]], Some(1.5));
        case.load.get_mut("writers").expect("an item").zone = Some("c".to_owned());
        let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        case.components = vec![
            component("proxy", ComponentKind::Proxy(ProxyPlan::Kroxylicious("0.10.0".to_owned()))),
            component("inventory", ComponentKind::Command(command(&["./inventory", "--port", "8080"]))),
        ];
    });
    for start in &mut run.trials {
        for subject in [Subject::Controller(3000), Subject::Relay(0), Subject::Relay(1)] {
            start.command_lines.insert(subject, vec!["x".to_owned()]);
        }
    }
    insta::assert_snapshot!(rows(&table(&run)));
}

#[test]
fn a_target_is_shown_without_its_addresses() {
    let mut run = run_of(|case| {
        case.system = SystemPlan::Attached(AttachedPlan {
            target: "staging".to_owned(),
            bootstrap: vec!["kafka.secret.example:9092".to_owned()],
            cluster_id: "abc".to_owned(),
            prefix: "kdyno-".to_owned(),
            facts: BTreeMap::from([("instance".to_owned(), "m7g.large".to_owned())]),
            ..AttachedPlan::default()
        });
    });
    for start in &mut run.trials {
        start.cluster = [("brokers", "3"), ("kafka_version", "4.1"), ("racks", "a,b,c")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    }
    let table = table(&run);
    let reported = rows(&table);
    let expected = "3 brokers | Target staging, elsewhere | clients connect: PLAINTEXT | Kafka 4.1, racks a,b,c, instance = m7g.large (declared)";
    assert!(reported.lines().any(|line| line == expected), "{reported}");
    assert!(!table.contains("secret.example"), "{table}");
}

#[test]
fn a_foreign_application_is_shown_without_its_address() {
    let users = |is_component| UsersPlan {
        users: 8,
        ..plans::users(if is_component { "inventory" } else { "http://library.secret.example" }, is_component)
    };
    let load = |is_component| CommandPlan {
        run: Vec::new(),
        http: Some(HttpLoad::Users(Box::new(users(is_component)))),
        timeout_ns: 1,
        ..plans::command()
    };
    let table = table(&run_of(|case| {
        case.commands = [("guests", false), ("patrons", false), ("staff", true)]
            .map(|(name, is_component)| (name.to_owned(), load(is_component)))
            .into();
    }));
    let reported = rows(&table);
    let expected = "target of guests, patrons | Under load over HTTP, not started by kdyno | – | –";
    assert_eq!(
        reported.lines().filter(|line| line.contains("target of")).collect::<Vec<_>>(),
        [expected],
        "{reported}"
    );
    assert!(
        reported
            .lines()
            .any(|line| line.starts_with("staff | Commands") && line.contains("load over HTTP to inventory")),
        "{reported}"
    );
    assert!(!table.contains("secret.example"), "{table}");
}

#[test]
fn a_null_broker_is_called_no_kafka() {
    let reported = rows(&table(&run_of(|case| {
        case.system = SystemPlan::NullBroker(NullBrokerPlan::default());
    })));
    assert!(
        reported.contains("null broker | No Kafka | clients connect: PLAINTEXT | keeps nothing"),
        "{reported}"
    );
}

#[test]
fn the_first_of_many_processes_are_listed_and_like_trials_merge() {
    let html = page(&run().input());
    assert_eq!(html.matches("aria-label=\"Topology: ").count(), 2, "three and six brokers");
    let reported = rows(&table(&run_of(|case| local(case).brokers = 60)));
    assert!(
        reported.contains("broker-23") && !reported.contains("broker-24") && reported.contains("and 36 more"),
        "{reported}"
    );
}
