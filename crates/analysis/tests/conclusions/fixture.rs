//! Plans and trials that hold nothing but figures.

#[path = "../../../model/tests/common/plans.rs"]
pub mod plans;

use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Verdict, of_kind};
use kdyno_model::finding::{Finding, Interval, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::plan::{
    Better, CasePlan, ClusterPlan, ComparePlan, EvidenceUnit, Judge, KafkaSource, PairDesign, Plan, Show,
    Strategy, SystemPlan,
};
use kdyno_model::run::TrialStart;
use kdyno_model::trial::{PairPlace, Trial, TrialId, TrialReason};
use std::collections::{BTreeMap, BTreeSet};

pub const RATE: &str = "writers.acked_per_s";
pub const P99: &str = "writers.response.p99";
pub const CPU: &str = "brokers.cpu_us_per_record";

pub fn address(name: &str) -> Address {
    Address::parse(name).unwrap()
}

pub fn case(kafka: &str) -> CasePlan {
    let kafka = KafkaSource::Release(kafka.into());
    plans::case(SystemPlan::Local(ClusterPlan { kafka, ..plans::cluster() }))
}

/// A plan of so many cases whose table shows these columns.
pub fn plan(cases: usize, columns: &[&str]) -> Plan {
    let show = Show { rows: Vec::new(), columns: columns.iter().map(|name| address(name)).collect() };
    Plan { seed: 7, show, ..plans::plan(vec![case("3.7.2"); cases]) }
}

/// A plan that compares, with these metrics to be judged, less being better, a margin of 10 %.
pub fn comparing(judge: &[&str], looks: &[u32], columns: &[&str]) -> Plan {
    let judge = judge.iter().map(|of| Judge { of: address(of), better: Better::Lower, margin: 0.1 });
    let settings = ComparePlan {
        labels: ["kafka=3.7.2".into(), "kafka=4.3.1".into()],
        b: vec![case("4.3.1")],
        judge: judge.collect(),
        looks: looks.into(),
        pairs_per_start: 1,
        unit: EvidenceUnit::Start,
        may_differ: Vec::new(),
        changes: Vec::new(),
        design: PairDesign::Turns,
        further: Vec::new(),
    };
    Plan { strategy: Strategy::Compare(settings), ..plan(1, columns) }
}

pub fn settings(plan: &mut Plan) -> &mut ComparePlan {
    let Strategy::Compare(settings) = &mut plan.strategy else { panic!("it compares nothing") };
    settings
}

/// A run that goes on.
#[derive(Default)]
pub struct RunFixture {
    pub outcomes: Vec<TrialOutcome>,
}

impl RunFixture {
    /// A trial of a case with its figures.
    pub fn trial(&mut self, case: u32, repeat: u32, figures: &[(&str, Value)]) -> &mut TrialOutcome {
        let id = TrialId(u32::try_from(self.outcomes.len()).unwrap() + 1);
        let trial = Trial {
            id,
            case,
            variant: None,
            pair: None,
            repeat,
            start: 1,
            label: String::new(),
            reason: TrialReason::Listed { of: 1 },
            seed: 1,
            effective: self::case("3.7.2"),
        };
        let findings = figures.iter().map(|(name, estimate)| Finding {
            scope: Scope::Trial(id),
            of: address(name),
            quantity: Quantity::Value,
            unit: if name.contains("response") { Unit::Ns } else { Unit::RecordsPerS },
            estimate: *estimate,
            n: 1,
            range: None,
            interval: Interval::NotResolvable(NotResolvable::OneTrial),
            marks: BTreeSet::new(),
        });
        let judgement = Judgement { findings: findings.collect(), ..Judgement::default() };
        self.outcomes.push(TrialOutcome::new(trial, judgement));
        self.outcomes.last_mut().unwrap()
    }

    /// One metric of the cases, repeat by repeat.
    pub fn repeats(&mut self, of: &str, cases: &[&[f64]]) {
        for (case, values) in (0..).zip(cases) {
            for (repeat, value) in (1..).zip(*values) {
                self.trial(case, repeat, &[(of, Value::Is(*value))]);
            }
        }
    }

    /// A pair of a comparison, each side with its figures.
    pub fn pair(&mut self, pair: u32, start: u32, sides: [&[(&str, Value)]; 2]) {
        for (side, figures) in sides.into_iter().enumerate() {
            let outcome = self.trial(0, pair, figures);
            outcome.trial.variant = Some(ComparePlan::SIDES[side].into());
            outcome.trial.pair = Some(PairPlace { pair, place: u8::try_from(side + 1).unwrap() });
            outcome.trial.start = start;
            outcome.trial.reason = TrialReason::Pair;
        }
    }

    /// Pairs of one metric with these ratios of B to A, each on a start of its own.
    pub fn pairs(&mut self, of: &str, ratios: &[f64]) {
        for (pair, ratio) in (1..).zip(ratios) {
            // The machine drifts: only the pair's ratio means anything.
            let a = 100.0 * f64::from(pair);
            self.pair(pair, pair, [&[(of, Value::Is(a))], &[(of, Value::Is(a * ratio))]]);
        }
    }

    pub fn judged(&self, plan: &Plan) -> Judgement {
        let trials: Vec<AnalysedTrial<'_>> = self.outcomes.iter().map(AnalysedTrial::of).collect();
        kdyno_analysis::run::judge(plan, &trials, &[], &[], false)
    }

    pub fn verdicts(&self, plan: &Plan) -> Vec<Verdict> {
        of_kind(&self.judged(plan).conclusions).cloned().collect()
    }
}

/// What is known when the load of a trial starts: its session and T0.
pub fn start(outcome: &TrialOutcome, session: u32, t0_monotonic_ns: u64) -> TrialStart {
    TrialStart {
        trial: outcome.trial.clone(),
        session,
        t0_unix_ns: 0,
        t0_monotonic_ns,
        streams: Vec::new(),
        cluster: BTreeMap::new(),
        command_lines: BTreeMap::new(),
        settings: BTreeMap::new(),
    }
}

pub fn invalid(outcome: &mut TrialOutcome, concerns: Concern) {
    let caveat = Caveat::AccountingBroken { item: "writers".into(), difference: 1 };
    let scope = Scope::Trial(outcome.trial.id);
    outcome.caveats.push(ScopedCaveat { scope, severity: Severity::Invalid, concerns, caveat });
}

/// The load of a trial queued: its latencies are those of a queue.
pub fn queued(outcome: &mut TrialOutcome) {
    let caveat = Caveat::QueueGrowth { item: "writers".into(), start_s: 0.0, growth_s: 3.0, allowed_s: 0.05 };
    speak_against_latencies(outcome, caveat);
}

/// The load generator made most of a trial's latencies.
pub fn late(outcome: &mut TrialOutcome) {
    let quantile = "p50".into();
    let caveat =
        Caveat::GeneratorLate { item: "writers".into(), quantile, late_ns: 2_000, response_ns: 3_000 };
    speak_against_latencies(outcome, caveat);
}

fn speak_against_latencies(outcome: &mut TrialOutcome, caveat: Caveat) {
    let scope = Scope::Trial(outcome.trial.id);
    let concerns = Concern::Latencies { item: "writers".into() };
    outcome.caveats.push(ScopedCaveat { scope, severity: Severity::Invalid, concerns, caveat });
}

pub fn cut_short(outcome: &mut TrialOutcome) {
    let caveat =
        Caveat::CutShort { reason: "a broker died".into(), measured_s: 1, planned_s: 2, went_on: false };
    let scope = Scope::Trial(outcome.trial.id);
    let concerns = Concern::Everything;
    outcome.caveats.push(ScopedCaveat { scope, severity: Severity::Warning, concerns, caveat });
}
