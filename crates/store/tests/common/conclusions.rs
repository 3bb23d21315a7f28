//! What was concluded in the run.

use super::TRIAL;
use kdyno_model::conclusion::*;
use kdyno_model::finding::{Interval, IntervalMethod, Scope, Value};
use kdyno_model::metric::{Address, Unit};
use kdyno_model::plan::{Better, Depth, EvidenceUnit};
use kdyno_model::trial::SearchStage;

/// One of every kind.
pub fn conclusions() -> Vec<Conclusion> {
    let of = Address { subject: "writers".into(), metric: "response.p99".into() };
    let interval = Interval::Bounds { low: 0.9, high: 1.1, level: 0.95, method: IntervalMethod::SignedRank };
    let ratio = Some(Ratio { estimate: 1.0 / 3.0, interval });
    vec![
        Conclusion::Steadiness(Steadiness {
            scope: Scope::Trial(TRIAL),
            item: "writers".into(),
            state: SteadyState::Drifting { of: of.clone(), per_minute: -0.25 },
            smallest_step: Some(0.07),
            short_term: vec![ShortTerm::SegmentRolls { seen: 0.5, needed: 2 }],
        }),
        Conclusion::Limit(limit()),
        Conclusion::Verdict(Verdict {
            scope: Scope::Comparison { case: 0 },
            of: of.clone(),
            unit: Unit::Ns,
            better: Better::Lower,
            margin: 0.1,
            depth: Depth::Verdict,
            role: MetricRole::Judged,
            ratio,
            equivalence_interval: Some(interval),
            a: Value::Is(1.5),
            b: Value::AtLeast(2.5),
            marks: Default::default(),
            n: 8,
            unit_of_evidence: EvidenceUnit::Start,
            unit_ns: Some(150_000_000_000),
            p: Some((0.0078, 0.01)),
            says: Says::Different { material: true, worse: true },
        }),
        Conclusion::Search(search(ratio)),
        Conclusion::Claim(JudgedClaim {
            claim: 0,
            says: ClaimSays::CannotTell,
            left: Value::Is(1.0),
            right: Value::None,
            marks: Default::default(),
            compared: None,
            n: 1,
            reason: Some("one trial says nothing about the next".into()),
            by_bound: false,
        }),
        Conclusion::ToldApart(DistinctRows { of, base: 3, differ: vec![1], same: vec![2], why_not: None }),
        Conclusion::SettingDiffers(SettingDiffers {
            scope: Scope::Comparison { case: 0 },
            whose: "brokers".into(),
            setting: "num.io.threads".into(),
            a: "8".into(),
            b: "16".into(),
            declared: false,
            why: Some(WhyDiffers::NotAsked),
        }),
    ]
}

fn limit() -> Limit {
    Limit {
        scope: Scope::Trial(TRIAL),
        item: "writers".into(),
        named: LimitKind::BrokerProcessors,
        runner_up: Some(LimitKind::Generator),
        // Not in the fixture of this format.
        delay: None,
        evidence: vec![LimitEvidence {
            kind: LimitKind::Disk,
            used: None,
            shares: Default::default(),
            others: None,
            detail: "no limit is declared".into(),
        }],
    }
}

fn search(estimate: Option<Ratio>) -> SearchResult {
    SearchResult {
        scope: Scope::Search { case: 0 },
        varied: Address { subject: "writers".into(), metric: "rate".into() },
        depth: Depth::Quick,
        outcome: SearchOutcome::Confirmed { load_per_s: 1e5 },
        estimate,
        first_failing_per_s: Some(1.1e5),
        slope: Some(4.0),
        binds: Some(0),
        inversions: vec![Inversion { passed_per_s: 2.0, failed_per_s: 1.0 }],
        points: vec![SearchPoint {
            trial: TRIAL,
            load_per_s: 1.0,
            stage: SearchStage::Bisect,
            passed: Some(true),
            values: vec![Value::Is(0.1)],
            marks: Vec::new(),
        }],
    }
}
