//! Runs against a fake cluster in the test's own process, and what is read of them.

use crate::common::{ProgramOutput, RUN_DEADLINE, Running, TestFolder, broken_rules};
use kdyno_fake_broker::{FakeCluster, FakeConfig, Service, tcp};
use kdyno_model::caveat::{Caveat, ScopedCaveat};
use kdyno_model::conclusion::{Limit, LimitKind, of_kind};
use kdyno_model::finding::{Finding, Scope, Value};
use kdyno_model::health::HealthRule;
use kdyno_model::outcome::Judgement;
use kdyno_model::trial::TrialId;
use kdyno_store::RunFile;
use std::process::Command;

pub const MS: u64 = 1_000_000;
const CLUSTER_ID: &str = "kdyno-fake-cluster";

/// Waits until records are measured. The program shows its state every five seconds, so the measure phase must last
/// for longer than that.
pub fn measured(running: &mut Running<'_>) {
    running.wait_for("· measure");
}

/// The real name of the only topic.
pub fn topic(place: &TestFolder) -> String {
    let file = RunFile::open(&place.run_file()).expect("the run file");
    file.trials().expect("a trial")[0].streams[0].topic.clone()
}

/// Brokers that answer after so many ms and keep what they are sent.
pub fn brokers(count: u32, delay_ms: u64) -> FakeCluster {
    let service = Service::Fixed { delay_ns: delay_ms * MS };
    FakeCluster::new(FakeConfig::new(count).service(service).keep_batches())
}

/// A scenario on two partitions without replicas, from the lines of its load on.
pub fn scenario(head: &str, load: &str, phases: &str) -> String {
    format!(
        "kdyno: 1\nid: provoked\nquestion: Does it say so?\n{head}topics: {{perf: {{partitions: 2, replicas: 1}}}}\n\
         load:\n{load}phases: {{{phases}}}\n"
    )
}

/// Writes a target file of a cluster at an address and returns its path.
pub fn target(place: &TestFolder, address: &str, cluster_id: &str) -> String {
    let text = format!(
        "kdyno: 1\ntarget: fake\ncluster_id: {cluster_id}\nclient: {{bootstrap: [\"{address}\"]}}\n\
         guard: {{prefix: kdyno-, allow: [rate-max]}}\n"
    );
    place.file("target.yaml", &text).to_str().expect("plain path").to_owned()
}

/// `kdyno COMMAND scenario --target … MORE` against a cluster at an address.
pub fn command(
    place: &TestFolder,
    command: &str,
    scenario: &str,
    (address, cluster_id): (&str, &str),
    more: &[&str],
) -> Command {
    let scenario = place.file("provoked.yaml", scenario);
    let target = target(place, address, cluster_id);
    let fixed =
        [scenario.to_str().expect("plain path"), "--target", &target, "--share", "--yes", "--seed", "1"];
    let mut command = place.command(&[&[command], &fixed[..], more].concat());
    // What the generator can do is measured again: other tests leave no trace here, nor does this one elsewhere.
    command.env("XDG_CACHE_HOME", place.path().join("cache"));
    command
}

/// Runs a scenario against a fake cluster, while `during` does things.
pub fn provoke(
    place: &TestFolder,
    cluster: FakeCluster,
    scenario: &str,
    during: impl FnOnce(&tcp::FakeServer, &mut Running<'_>),
) -> (ProgramOutput, StoredFigures) {
    provoke_with(place, cluster, scenario, &[], during)
}

/// The command with further arguments.
pub fn provoke_with(
    place: &TestFolder,
    cluster: FakeCluster,
    scenario: &str,
    more: &[&str],
    during: impl FnOnce(&tcp::FakeServer, &mut Running<'_>),
) -> (ProgramOutput, StoredFigures) {
    let server = tcp::spawn(cluster).expect("a fake cluster");
    let address = server.bootstrap().remove(0);
    let mut running = place.start(command(place, "run", scenario, (&address, CLUSTER_ID), more));
    during(&server, &mut running);
    let said = running.wait(RUN_DEADLINE);
    let seen = StoredFigures::of(place);
    place.expect_no_processes();
    (said, seen)
}

/// The command for a comparison.
pub fn compare<'a>(
    place: &'a TestFolder,
    server: &tcp::FakeServer,
    scenario: &str,
    more: &[&str],
) -> Running<'a> {
    place.start(command(place, "compare", scenario, (&server.bootstrap()[0], CLUSTER_ID), more))
}

/// What the run file says.
pub struct StoredFigures {
    pub file: RunFile,
    pub judgement: Judgement,
}

impl StoredFigures {
    pub fn of(place: &TestFolder) -> Self {
        let file = RunFile::open(&place.run_file()).expect("the run file");
        let judgement = file.judgement().expect("what was concluded");
        Self { file, judgement }
    }

    /// The caveats that `is_one` is looking for.
    pub fn caveats(&self, is_one: impl Fn(&Caveat) -> bool) -> Vec<&ScopedCaveat> {
        self.judgement.caveats.iter().filter(|found| is_one(&found.caveat)).collect()
    }

    /// The only caveat that `is_one` is looking for.
    pub fn caveat(&self, is_one: impl Fn(&Caveat) -> bool) -> &ScopedCaveat {
        let mut found = self.caveats(is_one);
        assert_eq!(found.len(), 1, "{:#?}", self.judgement.caveats);
        found.remove(0)
    }

    pub fn finding(&self, trial: u32, address: &str) -> &Finding {
        let is_it = |finding: &&Finding| {
            finding.scope == Scope::Trial(TrialId(trial)) && finding.of.to_string() == address
        };
        self.judgement.findings.iter().find(is_it).unwrap_or_else(|| panic!("no {address} of trial {trial}"))
    }

    /// The value of a trial's finding.
    pub fn value(&self, trial: u32, address: &str) -> f64 {
        match self.finding(trial, address).estimate {
            Value::Is(value) | Value::AtLeast(value) => value,
            Value::None => panic!("{address} of trial {trial} has no value"),
        }
    }

    /// The rules of health that its trials break, the heaviest first.
    pub fn broken(&self) -> Vec<HealthRule> {
        broken_rules(&self.judgement)
    }

    pub fn limit(&self, trial: u32) -> &Limit {
        let limits = of_kind::<Limit>(&self.judgement.conclusions);
        let mut of_trial = limits.filter(|limit| limit.scope == Scope::Trial(TrialId(trial)));
        of_trial.next().unwrap_or_else(|| panic!("nothing was the limit of trial {trial}"))
    }
}

/// How much of a candidate was used.
pub fn used(limit: &Limit, kind: LimitKind) -> f64 {
    let found = limit.evidence.iter().find(|one| one.kind == kind).and_then(|one| one.used);
    found.unwrap_or_else(|| panic!("{kind} was not judged: {limit:?}"))
}
