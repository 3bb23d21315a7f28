//! Comparisons run to their end as a lab runs them: the plan's strategy names the trials, a world gives their figures.

use crate::world::SimulatedHost;
use kdyno_analysis::comparison::verdicts;
use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::conclusion::{Conclusion, MetricRole, Says};
use kdyno_model::finding::{Finding, Interval, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::plan::{
    Better, ComparePlan, Depth, EvidenceUnit, Judge, KafkaSource, PairDesign, Plan, Strategy, SystemPlan,
};
use kdyno_model::trial::Trial;
use kdyno_plan::{Choices, next, plan};
use kdyno_scenario::Scenario;
use std::collections::BTreeSet;

const SCENARIO: &str = "\
kdyno: 1
id: base
question: how much?
system: {brokers: 1}
topics: {t: {partitions: 1, replicas: 1}}
load:
  writers: {produce: t, clients: 1, rate: 1k/s, value: 1KiB}
phases: {warmup: 5s, measure: 10s, condition: none}
";
const JUDGED: [&str; 3] = ["writers.response.p50", "writers.service.p50", "writers.request.p50"];
/// The smallest change that matters.
pub const MARGIN: f64 = 0.1;

/// A quick look of so many pairs; whether both sides run on one cluster.
pub fn quick_look(pairs: u32, is_shared: bool) -> Plan {
    let mut plan = comparing(&[pairs], pairs);
    plan.depth = Depth::Quick;
    let Strategy::Compare(settings) = &mut plan.strategy else { panic!("a comparison") };
    settings.unit = EvidenceUnit::Pair;
    if is_shared {
        settings.b[0].system = plan.cases[0].system.clone();
    }
    plan
}

/// A comparison of two releases in turns, with three judged metrics.
pub fn comparing(looks: &[u32], pairs_per_start: u32) -> Plan {
    let scenario = Scenario::parse(SCENARIO, "s.yaml").unwrap();
    let mut plan = plan(&scenario, &Choices::default()).unwrap();
    let mut b = plan.cases[0].clone();
    let SystemPlan::Local(cluster) = &mut b.system else { panic!("a local cluster") };
    cluster.kafka = KafkaSource::Release("3.7.2".into());
    let judge =
        JUDGED.map(|of| Judge { of: Address::parse(of).unwrap(), better: Better::Lower, margin: MARGIN });
    plan.strategy = Strategy::Compare(ComparePlan {
        labels: ["new".into(), "old".into()],
        b: vec![b],
        judge: judge.into(),
        looks: looks.into(),
        pairs_per_start,
        unit: EvidenceUnit::Start,
        may_differ: Vec::new(),
        changes: Vec::new(),
        design: PairDesign::Turns,
        further: Vec::new(),
    });
    plan
}

/// A comparison that goes on.
pub struct Lab<'a> {
    plan: &'a Plan,
    outcomes: Vec<TrialOutcome>,
}

impl Lab<'_> {
    /// Runs it to its end: what is said of each judged metric.
    pub fn run(plan: &Plan, world: &mut SimulatedHost) -> Vec<Says> {
        world.rest();
        let mut lab = Lab { plan, outcomes: Vec::new() };
        loop {
            let trials = next(plan, &lab.outcomes, 1).trials();
            if trials.is_empty() {
                return lab.said();
            }
            trials.into_iter().for_each(|trial| lab.end(trial, world));
        }
    }

    fn end(&mut self, trial: Trial, world: &mut SimulatedHost) {
        let figures = world.figures(&trial);
        let finding = |(of, figure)| Finding {
            scope: Scope::Trial(trial.id),
            of: Address::parse(of).unwrap(),
            quantity: Quantity::Value,
            unit: Unit::Ns,
            estimate: Value::Is(figure),
            n: 1,
            range: None,
            interval: Interval::NotResolvable(NotResolvable::OneTrial),
            marks: BTreeSet::new(),
        };
        let findings = JUDGED.into_iter().zip(figures).map(finding).collect();
        let judgement = Judgement { findings, ..Judgement::default() };
        self.outcomes.push(TrialOutcome { session: 1, ..TrialOutcome::new(trial, judgement) });
    }

    fn said(&self) -> Vec<Says> {
        let Strategy::Compare(settings) = &self.plan.strategy else { panic!("a comparison") };
        let trials: Vec<AnalysedTrial<'_>> = self.outcomes.iter().map(AnalysedTrial::of).collect();
        let judged = verdicts(self.plan, settings, &trials).conclusions.into_iter();
        let said = judged.filter_map(|one| match one {
            Conclusion::Verdict(of) if of.role == MetricRole::Judged => Some(of.says),
            _ => None,
        });
        said.collect()
    }
}
