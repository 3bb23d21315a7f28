//! Which trials a comparison runs, given what came of those before.

#![allow(clippy::unwrap_used, reason = "a helper of tests panics as a test does")]

mod duet;
mod outside;

use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::event::Subject;
use kdyno_model::finding::{Finding, Interval, NotResolvable, Quantity, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::plan::{
    Better, ComparePlan, Conditioning, Depth, EvidenceUnit, Judge, KafkaSource, OnClusters, PairDesign, Plan,
    Strategy, SystemPlan,
};
use kdyno_model::trial::{Trial, TrialId};
use kdyno_plan::{Choices, estimate, estimate_until_first_look, longest_ns, next, plan, upcoming};
use kdyno_scenario::Scenario;
use std::collections::{BTreeMap, BTreeSet};

const SCENARIO: &str = "\
kdyno: 1
id: base
question: how much?
system: {brokers: 1}
topics:
  t: {partitions: 1, replicas: 1}
load:
  writers: {produce: t, clients: 1, rate: 1k/s, value: 1KiB}
phases: {warmup: 5s, measure: 10s}
";
const P50: &str = "writers.response.p50";

fn comparing(looks: &[u32], pairs_per_start: u32, unit: EvidenceUnit) -> Plan {
    let scenario = Scenario::parse(SCENARIO, "s.yaml").unwrap();
    let mut plan = plan(&scenario, &Choices::default()).unwrap();
    let mut b = plan.cases[0].clone();
    let SystemPlan::Local(cluster) = &mut b.system else { panic!("a local cluster") };
    cluster.kafka = KafkaSource::Release("3.7.2".into());
    plan.conditioning = Some(Conditioning { least_ns: 1, most_ns: 20_000_000_000 });
    plan.strategy = Strategy::Compare(ComparePlan {
        labels: ["new".into(), "old".into()],
        b: vec![b],
        judge: vec![Judge { of: Address::parse(P50).unwrap(), better: Better::Lower, margin: 0.1 }],
        looks: looks.into(),
        pairs_per_start,
        unit,
        may_differ: Vec::new(),
        changes: Vec::new(),
        design: PairDesign::Turns,
        further: Vec::new(),
    });
    plan
}

/// A comparison as a lab runs it: every trial gets a figure, some get lost.
struct Lab<'a> {
    plan: &'a Plan,
    session: u32,
    outcomes: Vec<TrialOutcome>,
    /// B ÷ A of a pair.
    ratio: &'a dyn Fn(u32) -> f64,
    /// Whether a trial is cut short.
    cut: &'a dyn Fn(TrialId) -> bool,
    /// Every pair meets brokers that were just started.
    is_cold: bool,
}

impl<'a> Lab<'a> {
    fn new(plan: &'a Plan, ratio: &'a dyn Fn(u32) -> f64) -> Self {
        Self { plan, session: 1, outcomes: Vec::new(), ratio, cut: &|_| false, is_cold: false }
    }

    fn step(&mut self) -> bool {
        let trials = next(self.plan, &self.outcomes, self.session).trials();
        let is_any = !trials.is_empty();
        trials.into_iter().for_each(|trial| self.end(trial));
        is_any
    }

    fn end(&mut self, trial: Trial) {
        assert_eq!(trial.id.0 as usize, self.outcomes.len() + 1);
        let figure = match (trial.variant.as_deref(), trial.pair) {
            (Some("B"), Some(place)) => 1e6 * (self.ratio)(place.pair),
            _ => 1e6,
        };
        let finding = Finding {
            scope: Scope::Trial(trial.id),
            of: Address::parse(P50).unwrap(),
            quantity: Quantity::Value,
            unit: Unit::Ns,
            estimate: Value::Is(figure),
            n: 1,
            range: None,
            interval: Interval::NotResolvable(NotResolvable::OneTrial),
            marks: BTreeSet::new(),
        };
        let caveat =
            Caveat::CutShort { reason: "a broker died".into(), measured_s: 1, planned_s: 2, went_on: false };
        let scope = Scope::Trial(trial.id);
        let concerns = Concern::Everything;
        let caveat = ScopedCaveat { scope, severity: Severity::Warning, concerns, caveat };
        let cold = ScopedCaveat { caveat: Caveat::Unconditioned, ..caveat.clone() };
        let cut = Some(caveat).filter(|_| (self.cut)(trial.id));
        let caveats = cut.into_iter().chain(Some(cold).filter(|_| self.is_cold)).collect();
        let judgement = Judgement { findings: vec![finding], caveats, conclusions: Vec::new() };
        let session = self.session;
        self.outcomes.push(TrialOutcome { session, ..TrialOutcome::new(trial, judgement) });
    }

    fn run(mut self) -> Vec<Trial> {
        while self.step() {
            let trials =
                || self.outcomes.iter().take(40).map(|outcome| reported(&outcome.trial)).collect::<Vec<_>>();
            assert!(self.outcomes.len() < 1000, "it never ends: {:?}", trials());
        }
        self.outcomes.into_iter().map(|outcome| outcome.trial).collect()
    }
}

/// Start, and side or pair: `1 A conditions`, `1 B #3`.
fn reported(trial: &Trial) -> String {
    let side = trial.variant.clone().unwrap_or_default();
    match trial.pair {
        None => format!("{} {side} conditions", trial.start),
        Some(place) => format!("{} {side} #{}", trial.start, place.pair),
    }
}

fn pairs(trials: &[Trial]) -> BTreeMap<u32, Vec<&Trial>> {
    let mut found: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        if let Some(place) = trial.pair {
            found.entry(place.pair).or_default().push(trial);
        }
    }
    found
}

/// A comparison of so many existing clusters of each side, with so many pairs each.
fn on_clusters(clusters: usize, pairs: u32) -> Plan {
    let mut plan = comparing(&[clusters as u32], pairs, EvidenceUnit::Cluster);
    let cases = plan.cases.clone();
    let Strategy::Compare(compare) = &mut plan.strategy else { panic!("a comparison") };
    compare.b = cases.clone();
    for number in 1..clusters {
        let on = |side: &str| {
            let mut cases = cases.clone();
            cases[0].label = format!("{side}{number}");
            cases
        };
        compare.further.push(OnClusters { a: on("a"), b: on("b") });
    }
    plan.conditioning = None;
    plan
}

#[test]
fn clusters_take_turns_pair_by_pair() {
    let plan = on_clusters(6, 2);
    let trials = Lab::new(&plan, &|_| 1.0).run();
    assert_eq!(trials.len(), 24);
    for (number, pair) in pairs(&trials) {
        let turn = (number - 1) % 6;
        for trial in pair {
            let side = trial.variant.as_deref().unwrap().to_lowercase();
            let on = if turn == 0 { String::new() } else { format!("{side}{turn}") };
            assert_eq!((trial.effective.label.as_str(), trial.start), (on.as_str(), 1), "pair {number}");
        }
    }
    assert_eq!(upcoming(&plan, 0).count(), 24);
}

#[test]
fn a_comparison_ends_when_a_cluster_loses_all_its_pairs() {
    let plan = on_clusters(6, 1);
    let mut lab = Lab::new(&plan, &|_| 1.0);
    // Every pair of the second cluster: the first trial of pair 2, and, after the other five, of all further ones.
    lab.cut = &|id| id.0 == 3 || id.0 > 11;
    let trials = lab.run();
    assert_eq!(pairs(&trials).into_keys().collect::<Vec<u32>>(), [1, 2, 3, 4, 5, 6, 8, 14]);
}

#[test]
fn a_lost_pair_of_a_cluster_is_replaced_on_that_cluster() {
    for (per_cluster, planned) in [(1, 6), (2, 12)] {
        let plan = on_clusters(6, per_cluster);
        let mut lab = Lab::new(&plan, &|_| 1.0);
        // The first trial of pair 3, whose second one is spared.
        lab.cut = &|id| id == TrialId(5);
        let ran: Vec<u32> = pairs(&lab.run()).into_keys().collect();
        // The next number whose turn is that of the third cluster.
        assert_eq!(ran, (1..=planned).chain([planned + 3]).collect::<Vec<u32>>());
    }
    // So many are lost that the third cluster gets no other: it is left with one pair of two.
    let plan = on_clusters(6, 2);
    let mut lab = Lab::new(&plan, &|_| 1.0);
    // After the first one of them each of its trials: 12 pairs, and three more at most.
    lab.cut = &|id| id.0 == 17 || id.0 > 23;
    let ran: Vec<u32> = pairs(&lab.run()).into_keys().collect();
    assert_eq!(ran, (1..=12).chain([15, 21, 27]).collect::<Vec<u32>>());
}

#[test]
fn every_start_conditions_both_sides_and_then_runs_its_pairs() {
    let plan = comparing(&[6], 2, EvidenceUnit::Start);
    let trials = Lab::new(&plan, &|_| 1.0).run();
    assert_eq!(trials.len(), 6 * (2 + 4));
    for (at, of_start) in trials.chunks(6).enumerate() {
        assert!(of_start.iter().all(|trial| trial.start as usize == at + 1), "{at}");
        let conditioned: BTreeSet<_> =
            of_start[..2].iter().map(|trial| trial.variant.clone().unwrap()).collect();
        assert!(of_start[..2].iter().all(Trial::is_conditioning) && conditioned.len() == 2);
        assert!(!of_start[2..].iter().any(Trial::is_conditioning));
    }
    let Strategy::Compare(settings) = &plan.strategy else { panic!() };
    let mut first = BTreeMap::new();
    for (pair, trials) in pairs(&trials) {
        let [one, two] = trials[..] else { panic!("pair {pair}: {trials:?}") };
        assert_eq!((one.seed, one.repeat, one.case), (two.seed, pair, two.case));
        assert_eq!((one.pair.unwrap().place, two.pair.unwrap().place), (1, 2));
        assert_eq!(two.id.0, one.id.0 + 1, "adjacent");
        let sides = [one, two].map(|trial| trial.variant.clone().unwrap());
        assert_ne!(sides[0], sides[1]);
        *first.entry(sides[0].clone()).or_insert(0) += 1;
        for trial in [one, two] {
            let is_b = trial.variant.as_deref() == Some("B");
            assert_eq!(trial.effective, if is_b { settings.b[0].clone() } else { plan.cases[0].clone() });
            assert!(trial.label.contains(if is_b { "old" } else { "new" }), "{}", trial.label);
        }
    }
    assert_eq!(first.len(), 2, "the order is drawn: {first:?}");
    let seeds: BTreeSet<u64> =
        trials.iter().filter(|trial| trial.pair.is_some()).map(|trial| trial.seed).collect();
    assert_eq!(seeds.len(), 12, "pairs differ in their draw");
}

#[test]
fn the_order_of_pairs_is_that_of_independent_coins() {
    let mut plan = comparing(&[1000], 1, EvidenceUnit::Pair);
    plan.conditioning = None;
    let (mut a_first, mut alike) = (0, 0);
    let mut before = None;
    for seed in 0..400 {
        plan.seed = seed;
        let mut lab = Lab::new(&plan, &|_| 1.0);
        for pair in 0..10 {
            assert!(lab.step() && lab.step());
            let first = lab.outcomes[2 * pair].trial.variant.clone();
            a_first += u32::from(first.as_deref() == Some("A"));
            alike += u32::from(before.replace(first.clone()) == Some(first));
        }
    }
    // 4,000 coins: half of them, within 5 standard errors of 31.6.
    assert!((1842..=2158).contains(&a_first), "{a_first}");
    assert!((1842..=2158).contains(&alike), "{alike}");
}

/// With one order throughout, what a trial leaves to the next one is all that a comparison of alike sides finds.
#[test]
fn no_side_comes_first_in_every_pair_up_to_the_first_look() {
    for unit in [EvidenceUnit::Pair, EvidenceUnit::Start] {
        let mut plan = comparing(&[6, 7], 1, unit);
        plan.conditioning = None;
        let mut begins: BTreeMap<String, u32> = BTreeMap::new();
        for seed in 0..400 {
            plan.seed = seed;
            let trials = Lab::new(&plan, &|_| 1.0).run();
            let firsts = trials.iter().filter(|trial| trial.pair.is_some_and(|place| place.place == 1));
            let sides: Vec<String> = firsts.map(|trial| trial.variant.clone().unwrap()).collect();
            assert_eq!(sides.len(), 6);
            assert!(sides.iter().any(|side| *side != sides[0]), "seed {seed}: {sides:?}");
            for side in sides {
                *begins.entry(side).or_default() += 1;
            }
        }
        // 2,400 coins: half of them, within 5 standard errors of 24.5.
        assert!((1077..=1323).contains(&begins["A"]), "{begins:?}");
    }
}

#[test]
fn it_stops_at_the_first_clear_look_and_in_any_case_at_the_last() {
    let plan = comparing(&[8, 16, 24], 1, EvidenceUnit::Start);
    let count = |ratio: &dyn Fn(u32) -> f64| pairs(&Lab::new(&plan, ratio).run()).len();
    assert_eq!(count(&|_| 1.2), 8, "different");
    assert_eq!(count(&|_| 1.0), 8, "equivalent");
    // Noise of ± 50 %: nothing to be seen.
    let noise = |pair: u32| if pair.is_multiple_of(2) { 1.5 } else { 0.67 };
    assert_eq!(count(&noise), 24);
    // One pair in the first eight says the opposite.
    assert_eq!(count(&|pair| if pair == 3 { 0.5 } else { 1.2 + 0.001 * f64::from(pair) }), 16);
    // It differs at the first look already; the second one says whether by more than the margin of 10 %, or none does.
    let from = |centre: f64| move |pair: u32| centre * (1.0 + 0.001 * (f64::from(pair % 8) - 4.0));
    assert_eq!(count(&from(1.2)), 8, "beyond the margin at once");
    assert_eq!(count(&from(1.05)), 8, "within it at once");
    assert_eq!(count(&from(1.104)), 16);
    assert_eq!(count(&from(1.1)), 24);
    // A metric without a figure is no reason to go on, nor one to stop before a look.
    assert_eq!(count(&|_| 0.0), 8);
}

#[test]
fn lost_pairs_are_replaced_up_to_a_bound() {
    let plan = comparing(&[8], 1, EvidenceUnit::Start);
    let mut lab = Lab::new(&plan, &|_| 1.2);
    // Trials 1 and 2 condition, 3 is the first of pair 1.
    lab.cut = &|id| id == TrialId(3);
    let trials = lab.run();
    assert_eq!(trials[..5].iter().map(|trial| trial.start).collect::<Vec<_>>(), [1, 1, 1, 2, 2]);
    let sides: BTreeSet<_> = trials[3..5].iter().map(reported).collect();
    assert_eq!(sides, ["2 A conditions", "2 B conditions"].map(str::to_owned).into());
    assert_eq!(pairs(&trials).len(), 9, "one lost, eight whole");
    assert_eq!(pairs(&trials)[&1].len(), 1, "the other half of a lost pair is spared");
    let mut lab = Lab::new(&plan, &|_| 1.2);
    lab.cut = &|_| true;
    assert_eq!(pairs(&lab.run()).len(), 10, "eight and two more");
}

#[test]
fn cold_pairs_are_lost_only_where_conditioning_was_planned() {
    let mut plan = comparing(&[8], 1, EvidenceUnit::Start);
    let pairs_run = |plan: &Plan| {
        let mut lab = Lab::new(plan, &|_| 1.2);
        lab.is_cold = true;
        pairs(&lab.run()).len()
    };
    assert_eq!(pairs_run(&plan), 10, "each is lost: eight and two more");
    plan.conditioning = None;
    assert_eq!(pairs_run(&plan), 8, "a verdict at the first look");
}

#[test]
fn a_pair_lost_within_a_start_ends_the_start() {
    let plan = comparing(&[6], 3, EvidenceUnit::Start);
    let mut lab = Lab::new(&plan, &|_| 1.2);
    // Start 1: conditioning 1, 2; pair 1 is 3, 4; of pair 2 the second trial is cut short.
    lab.cut = &|id| id == TrialId(6);
    let trials = lab.run();
    assert!(trials[6].is_conditioning() && trials[6].start == 2, "{}", reported(&trials[6]));
    let starts: BTreeSet<u32> = trials.iter().map(|trial| trial.start).collect();
    assert_eq!(starts.len(), 7, "the first start does not count");
}

#[test]
fn a_start_with_a_replaced_cluster_is_left_behind() {
    let plan = comparing(&[6], 2, EvidenceUnit::Start);
    let lost = |caveat: Caveat| {
        let mut lab = Lab::new(&plan, &|_| 1.2);
        while lab.outcomes.len() < 4 {
            assert!(lab.step());
        }
        let scope = Scope::Trial(TrialId(4));
        let (severity, concerns) = (Severity::Warning, Concern::Everything);
        lab.outcomes[3].caveats.push(ScopedCaveat { scope, severity, concerns, caveat });
        assert!(lab.step());
        let newest = &lab.outcomes.last().unwrap().trial;
        (newest.start, newest.is_conditioning())
    };
    assert_eq!(lost(Caveat::ProcessDied { subject: Subject::Broker(1) }), (2, true));
    assert_eq!(lost(Caveat::Unconditioned), (2, true), "what took a cluster's place was not conditioned");
    assert_eq!(lost(Caveat::MemoryStorage), (1, false), "anything else");
}

#[test]
fn what_comes_next_depends_on_the_outcomes_alone() {
    let plan = comparing(&[8], 2, EvidenceUnit::Start);
    let whole = Lab::new(&plan, &|_| 1.2).run();
    for done in 0..whole.len() {
        let mut lab = Lab::new(&plan, &|_| 1.2);
        for _ in 0..done {
            lab.step();
        }
        // Interrupted: the clusters are gone, so the next start begins, and half a pair stays half.
        lab.session = 2;
        assert!(lab.step(), "after {done}: {:?}", whole[..done].iter().map(reported).collect::<Vec<_>>());
        let resumed = lab.outcomes.last().unwrap().trial.clone();
        assert!(resumed.is_conditioning(), "after {done}: {}", reported(&resumed));
        let newest = whole[..done].iter().map(|trial| trial.start).max().unwrap_or(0);
        assert_eq!(resumed.start, newest + 1, "after {done}");
        let all = lab.run();
        assert_eq!(all[..done], whole[..done], "nothing is repeated");
        let halves = pairs(&all).values().filter(|trials| trials.len() < 2).count();
        assert!(halves <= 1, "after {done}: {:?}", all[done - 2..].iter().map(reported).collect::<Vec<_>>());
        let numbers: Vec<u32> = pairs(&all).into_keys().collect();
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u32), "{numbers:?}");
    }
}

#[test]
fn sides_that_share_a_system_share_its_cluster() {
    let mut plan = comparing(&[6], 1, EvidenceUnit::Start);
    let Strategy::Compare(settings) = &mut plan.strategy else { panic!() };
    settings.b[0].system = plan.cases[0].system.clone();
    settings.b[0].load.get_mut("writers").unwrap().clients = 3;
    let trials = Lab::new(&plan, &|_| 1.2).run();
    assert_eq!(trials.iter().filter(|trial| trial.is_conditioning()).count(), 6);
    assert_eq!(upcoming(&plan, 0).count(), trials.len());
}

#[test]
fn in_a_quick_look_either_side_is_first_as_often() {
    let mut first = BTreeSet::new();
    for seed in 0..20 {
        let mut plan = comparing(&[5], 5, EvidenceUnit::Pair);
        (plan.seed, plan.depth) = (seed, Depth::Quick);
        let trials = Lab::new(&plan, &|_| 1.2).run();
        let begun = trials.iter().filter(|trial| trial.pair.is_some_and(|place| place.place == 1));
        let begun: Vec<&str> = begun.map(|trial| trial.variant.as_deref().unwrap()).collect();
        assert_eq!(begun.len(), 5);
        assert!(begun[..4].chunks(2).all(|two| two[0] != two[1]), "{begun:?}");
        first.insert(begun[0].to_owned());
    }
    assert_eq!(first.len(), 2, "which one begins is drawn");
}

#[test]
fn cases_are_compared_one_after_the_other() {
    let mut plan = comparing(&[6], 1, EvidenceUnit::Start);
    plan.cases.push(plan.cases[0].clone());
    let Strategy::Compare(settings) = &mut plan.strategy else { panic!() };
    settings.b.push(settings.b[0].clone());
    let trials = Lab::new(&plan, &|_| 1.2).run();
    assert_eq!(trials.len(), 2 * 6 * 4);
    assert!(trials.iter().enumerate().all(|(at, trial)| trial.case as usize == at / 24));
    let starts: BTreeSet<u32> = trials.iter().map(|trial| trial.start).collect();
    assert_eq!(starts.len(), 12, "no cluster is shared by two cases");
    assert!(starts.into_iter().eq(1..=12));
}

#[test]
fn what_is_foreseen_is_what_runs_to_the_last_look() {
    for (looks, per_start, unit) in [
        (&[8, 16][..], 1, EvidenceUnit::Start),
        (&[6], 3, EvidenceUnit::Start),
        (&[7], 3, EvidenceUnit::Pair),
    ] {
        let plan = comparing(looks, per_start, unit);
        let noise = |pair: u32| if pair.is_multiple_of(2) { 1.5 } else { 0.67 };
        let trials = Lab::new(&plan, &noise).run();
        let foreseen: Vec<_> = upcoming(&plan, 0).map(|trial| (trial.start, trial.is_conditioning)).collect();
        let ran: Vec<_> = trials.iter().map(|trial| (trial.start, trial.is_conditioning())).collect();
        assert_eq!(foreseen, ran, "{looks:?} {per_start} {unit}");
    }
}

#[test]
fn the_estimate_is_of_the_last_look_and_of_the_first() {
    let plan = comparing(&[8, 24], 1, EvidenceUnit::Start);
    let (longest, shortest) = (estimate(&plan), estimate_until_first_look(&plan).unwrap());
    assert_eq!(longest.load_ns, 3 * shortest.load_ns);
    // Two conditioning trials of 20 s at most, usually three quarters of that, and 1 s; a pair of 15 s each.
    let usual_s = 8.0 * (2.0 * (15.0 + 1.0) + 2.0 * 15.0);
    assert!((shortest.load_ns as f64 / 1e9 - usual_s).abs() < 1e-3, "{shortest:?}");
    assert_eq!(shortest.longest_ns - shortest.expected_ns, longest.longest_ns / 3 - longest.expected_ns / 3);
    assert!(shortest.expected_ns < longest.expected_ns && shortest.expected_ns > shortest.load_ns);
    // A pair of 15 s and 4 s around each, which is begun only where the whole of it fits; conditioning 21 s and 4 s, begun
    // only where the other side's and a pair fit too; a cluster starts in 4.5 s.
    let mut lab = Lab::new(&plan, &|_| 1.0);
    while lab.step() && lab.outcomes.len() < 5 {}
    let longest_ms = |at: usize, session: u32| {
        longest_ns(&plan, &lab.outcomes[..at], &lab.outcomes[at].trial, session) / 1_000_000
    };
    let of_first_start: Vec<u64> = (0..4).map(|at| longest_ms(at, 1)).collect();
    assert_eq!(of_first_start, [2 * 25_000 + 38_000 + 9_000, 25_000 + 38_000 + 4_500, 38_000, 19_000]);
    assert_eq!(longest_ms(4, 1), longest_ms(0, 1), "the clusters of the start before are gone");
    assert_eq!(longest_ms(2, 2), 38_000 + 9_000, "those of a session before too");
    let list = Plan { strategy: Strategy::List(Vec::new()), ..plan };
    assert_eq!(estimate_until_first_look(&list), None);
}
