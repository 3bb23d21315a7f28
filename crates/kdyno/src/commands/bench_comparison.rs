//! `kdyno bench-comparison` (hidden): how long the statistics of a comparison take.
//!
//! For `make bench`. The run's first trial stands for both sides of every pair, its figures spread by some percent;
//! nothing that was made here is a measurement. Prints one JSON document.

use crate::cli::BenchComparisonArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::out;
use kdyno_analysis::run::AnalysedTrial;
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::{Scope, Value};
use kdyno_model::metric::Address;
use kdyno_model::outcome::{Judgement, TrialOutcome};
use kdyno_model::plan::{Better, ComparePlan, Depth, EvidenceUnit, Judge, PairDesign, Plan, Strategy};
use kdyno_model::run::TrialStart;
use kdyno_model::trial::{PairPlace, TrialId, TrialReason};
use kdyno_store::RunFile;
use serde_json::json;
use std::time::Instant;

/// Width of the band in which a figure made up lies, as a share of it.
const SPREAD: f64 = 0.1;

/// Judges so many pairs as the last look of a comparison does, and prints how long that took each time.
pub(crate) fn bench_comparison(args: &BenchComparisonArgs) -> Outcome {
    let file = RunFile::open(&args.run)?;
    let starts = file.trials()?;
    let start = starts.first().ok_or_else(|| Failure::tool("the run has no trial"))?;
    let figures = file.judgement()?.of_scope(Scope::Trial(start.trial.id));
    let plan = comparing(file.header()?.plan, &figures, args.pairs);
    let outcomes: Vec<TrialOutcome> = (1..=args.pairs)
        .flat_map(|pair| [1, 2].map(|place| outcome(start, &figures, PairPlace { pair, place })))
        .collect();
    let mut seconds = Vec::new();
    let mut verdicts = 0;
    for _ in 0..args.rounds {
        let begin = Instant::now();
        let trials: Vec<AnalysedTrial<'_>> = outcomes.iter().map(AnalysedTrial::of).collect();
        let judged = kdyno_analysis::run::judge(&plan, &trials, &[], &[], false);
        seconds.push(begin.elapsed().as_secs_f64());
        verdicts = judged.conclusions.iter().filter(|one| rests_on_all(one, args.pairs)).count();
    }
    let figures = figures.findings.len();
    out::json(&json!({"pairs": args.pairs, "figures": figures, "verdicts": verdicts, "seconds": seconds}))?;
    Ok(Exit::Done)
}

/// Whether it is a verdict that no pair was lost for: then the statistics ran.
fn rests_on_all(conclusion: &Conclusion, pairs: u32) -> bool {
    matches!(conclusion, Conclusion::Verdict(verdict) if verdict.n == pairs)
}

/// The run's first case against itself, on one start for each pair. Each of its figures is a column, and the first three
/// are judged.
fn comparing(mut plan: Plan, figures: &Judgement, pairs: u32) -> Plan {
    plan.cases.truncate(1);
    plan.depth = Depth::Verdict;
    plan.show.columns = figures.findings.iter().map(|finding| finding.of.clone()).collect();
    let judged = |of: &Address| Judge { of: of.clone(), better: Better::Lower, margin: 0.1 };
    plan.strategy = Strategy::Compare(ComparePlan {
        labels: ["first".to_owned(), "second".to_owned()],
        b: plan.cases.clone(),
        judge: plan.show.columns.iter().take(3).map(judged).collect(),
        looks: vec![pairs],
        pairs_per_start: 1,
        unit: EvidenceUnit::Start,
        design: PairDesign::Duet,
        may_differ: Vec::new(),
        changes: Vec::new(),
        further: Vec::new(),
    });
    plan
}

fn outcome(start: &TrialStart, figures: &Judgement, place: PairPlace) -> TrialOutcome {
    let mut trial = start.trial.clone();
    trial.id = TrialId(2 * place.pair + u32::from(place.place) - 2);
    trial.variant = Some(ComparePlan::SIDES[usize::from(place.place - 1)].to_owned());
    (trial.pair, trial.repeat, trial.start) = (Some(place), place.pair, place.pair);
    trial.reason = TrialReason::Pair;
    let mut figures = figures.clone();
    for (number, finding) in (0u64..).zip(&mut figures.findings) {
        finding.scope = Scope::Trial(trial.id);
        if let Value::Is(value) = &mut finding.estimate {
            let drawn = kdyno_model::seed::mix(number, u64::from(trial.id.0)) >> 11;
            *value *= 1.0 + SPREAD * (drawn as f64 / (1u64 << 53) as f64 - 0.5);
        }
    }
    for caveat in &mut figures.caveats {
        caveat.scope = Scope::Trial(trial.id);
    }
    TrialOutcome::new(trial, figures)
}
