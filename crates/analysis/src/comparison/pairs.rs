//! The pairs of a comparison: which are whole, which are lost, and the units of evidence that they make.

use crate::analysed::AnalysedTrial;
use kdyno_model::caveat::Caveat;
use kdyno_model::event::Subject;
use kdyno_model::metric::Address;
use kdyno_model::plan::{ComparePlan, EvidenceUnit, Plan};
use std::collections::BTreeMap;

/// Units beyond the last look that may be run in place of lost ones, as a part of the last look.
const REPLACED_PART: u32 = 4;
/// And at least so many.
const REPLACED_MIN: u32 = 2;

/// Both trials of a pair that are evidence.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairedTrials<'a> {
    pub(super) unit: u32,
    pub(super) start: u32,
    /// Trials of side A and side B.
    pub(super) sides: [AnalysedTrial<'a>; 2],
}

/// What was left out, and why.
#[derive(Debug)]
pub(super) struct Lost {
    /// A pair and its trial, or a start: `pair 9: trial 17`.
    what: String,
    /// The rest of the sentence: `was cut short: a broker died`.
    pub(super) why: String,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.what, self.why)
    }
}

/// What became of the pairs of one case.
#[derive(Debug, Default)]
pub(super) struct CasePairs<'a> {
    /// In the order in which they ran.
    pub(super) whole: Vec<PairedTrials<'a>>,
    /// Pairs, and starts with them, that were left out.
    pub(super) lost: Vec<Lost>,
    /// Pairs that ran, lost ones among them.
    ran: u32,
    /// Units whose pairs have all run, lost ones among them.
    pub(super) attempted: u32,
    /// Units whose pairs have all run and at least one of them is whole; for clusters all are, as long as lost ones are
    /// replaced.
    pub(super) units: u32,
    /// Number of the pair that is to run next, if one is.
    next_pair: u32,
    /// No lost pair of a cluster is replaced any more.
    is_spent: bool,
}

/// How far a comparison of one case has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComparisonProgress {
    /// Units of evidence that can be used.
    pub units: u32,
    /// No further unit is to be run: so many were lost that they are not replaced any more, or the last look is reached.
    pub is_exhausted: bool,
    /// The units are as many as a look wants, so a verdict may be drawn.
    pub is_look: bool,
    /// Number of the pair that is to run next, if one is: numbers are left out whose clusters have all of their pairs.
    pub next_pair: u32,
}

/// How far the comparison of a case has come; `trials` are those of all sessions in the order in which they ran.
pub fn progress(
    plan: &Plan,
    settings: &ComparePlan,
    case: u32,
    trials: &[AnalysedTrial<'_>],
) -> ComparisonProgress {
    CasePairs::of(plan, settings, case, trials).progress(settings)
}

impl<'a> CasePairs<'a> {
    pub(super) fn of(plan: &Plan, settings: &ComparePlan, case: u32, trials: &[AnalysedTrial<'a>]) -> Self {
        let mut by_pair: BTreeMap<u32, Vec<AnalysedTrial<'a>>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| trial.trial.case == case) {
            if let Some(place) = trial.trial.pair {
                by_pair.entry(place.pair).or_default().push(*trial);
            }
        }
        let last_pair = by_pair.keys().copied().last();
        let last_start = by_pair.values().flatten().map(|trial| trial.trial.start).max();
        let mut found = Self::default();
        // By unit: pairs that ran, pairs that are whole.
        let mut units: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for (pair, trials) in by_pair {
            let Some(start) = trials.first().map(|trial| trial.trial.start) else { continue };
            let unit = match settings.unit {
                EvidenceUnit::Pair => pair,
                EvidenceUnit::Cluster => settings.turn(pair),
                EvidenceUnit::Start | EvidenceUnit::Run => start,
            };
            let (ran, whole) = units.entry(unit).or_default();
            match sides(plan, settings, pair, &trials) {
                PairState::Whole(sides) => {
                    (*ran, *whole) = (*ran + 1, *whole + 1);
                    found.whole.push(PairedTrials { unit, start, sides });
                }
                PairState::Lost(lost) => {
                    *ran += 1;
                    found.lost.push(lost);
                }
                PairState::HalfRun if Some(pair) < last_pair => {
                    let what = format!("pair {pair}: its second trial");
                    found.lost.push(Lost { what, why: "never ran".to_owned() });
                }
                PairState::HalfRun => {}
            }
        }
        let pairs_wanted = match settings.unit {
            EvidenceUnit::Pair => 1,
            EvidenceUnit::Start | EvidenceUnit::Run | EvidenceUnit::Cluster => {
                settings.pairs_per_start.max(1)
            }
        };
        let newest = last_pair.unwrap_or(0);
        found.next_pair = newest.saturating_add(1);
        found.ran = units.values().map(|(ran, _)| ran).sum();
        let mut whole_min = 1;
        if settings.unit == EvidenceUnit::Cluster {
            // Clusters are as many as they are: what is replaced is their pairs.
            found.is_spent = found.ran >= attempts_max(settings.pairs_on_a_start());
            if !found.is_spent {
                whole_min = pairs_wanted;
            }
            let lacks =
                |pair: &u32| units.get(&settings.turn(*pair)).is_none_or(|(_, whole)| *whole < pairs_wanted);
            let around = found.next_pair..=newest.saturating_add(settings.clusters());
            found.next_pair = around.into_iter().find(lacks).unwrap_or(found.next_pair);
        }
        if matches!(settings.unit, EvidenceUnit::Start | EvidenceUnit::Run) {
            found.lost.extend(leave_out_partial(&mut units, pairs_wanted, last_start));
        }
        units.retain(|_, (ran, _)| *ran >= pairs_wanted);
        found.attempted = u32::try_from(units.len()).unwrap_or(u32::MAX);
        units.retain(|_, (_, whole)| *whole >= whole_min);
        found.whole.retain(|pair| units.contains_key(&pair.unit));
        found.units = u32::try_from(units.len()).unwrap_or(u32::MAX);
        found
    }

    /// After how many pairs no more are run in place of lost ones, where that ended the comparison before its last look.
    pub(super) fn ended_after(&self, settings: &ComparePlan) -> Option<u32> {
        let is_short = self.units < last_look(settings);
        (is_short && self.progress(settings).is_exhausted).then_some(self.ran)
    }

    pub(super) fn progress(&self, settings: &ComparePlan) -> ComparisonProgress {
        let last = last_look(settings);
        let is_over = match settings.unit {
            EvidenceUnit::Cluster => self.is_spent,
            EvidenceUnit::Pair | EvidenceUnit::Start | EvidenceUnit::Run => {
                self.attempted >= attempts_max(last)
            }
        };
        ComparisonProgress {
            units: self.units,
            is_exhausted: self.units >= last || is_over,
            is_look: settings.looks.contains(&self.units),
            next_pair: self.next_pair,
        }
    }

    /// On how many starts of the clusters the whole pairs ran.
    pub(super) fn starts(&self) -> u32 {
        let starts: std::collections::BTreeSet<u32> = self.whole.iter().map(|pair| pair.start).collect();
        u32::try_from(starts.len()).unwrap_or(u32::MAX)
    }

    /// How many of the whole pairs met brokers that had received no load.
    pub(super) fn unconditioned(&self) -> u32 {
        let is_cold = |trial: &AnalysedTrial<'_>| {
            trial.caveats.iter().any(|scoped| matches!(scoped.caveat, Caveat::Unconditioned))
        };
        let pairs = self.whole.iter().filter(|pair| pair.sides.iter().any(is_cold)).count();
        u32::try_from(pairs).unwrap_or(u32::MAX)
    }
}

/// Starts with a pair that is not whole count for nothing: the mean of fewer pairs is another kind of unit. By start
/// the pairs that ran and that are whole; returns why those were lost that had any.
fn leave_out_partial(
    units: &mut BTreeMap<u32, (u32, u32)>,
    pairs_wanted: u32,
    last_start: Option<u32>,
) -> Vec<Lost> {
    let mut lost = Vec::new();
    for (start, (ran, whole)) in units {
        let why = match (*ran < pairs_wanted, Some(*start) < last_start) {
            // Left behind for the next one.
            (true, true) => "ended before all of its pairs had run",
            (false, _) if *whole < pairs_wanted => "has a pair that is lost",
            _ => continue,
        };
        if *whole > 0 {
            lost.push(Lost { what: format!("start {start}"), why: why.to_owned() });
        }
        (*ran, *whole) = (pairs_wanted, 0);
    }
    lost
}

fn last_look(settings: &ComparePlan) -> u32 {
    settings.looks.iter().copied().max().unwrap_or(0)
}

/// So many are run at most, lost ones among them, where so many are wanted.
fn attempts_max(wanted: u32) -> u32 {
    wanted.saturating_add((wanted / REPLACED_PART).max(REPLACED_MIN))
}

enum PairState<'a> {
    Whole([AnalysedTrial<'a>; 2]),
    Lost(Lost),
    /// Its second trial is still to come.
    HalfRun,
}

/// Both trials of a pair. It is lost with one of them: what is left of it would be compared with another time, or with
/// another start of the cluster.
fn sides<'a>(plan: &Plan, settings: &ComparePlan, pair: u32, trials: &[AnalysedTrial<'a>]) -> PairState<'a> {
    for trial in trials {
        if let Some(why) = unusable(plan, settings, trial) {
            return PairState::Lost(Lost { what: format!("pair {pair}: trial {}", trial.trial.id), why });
        }
    }
    let side = |name: &str| trials.iter().find(|trial| trial.trial.variant.as_deref() == Some(name)).copied();
    match (side(ComparePlan::SIDES[0]), side(ComparePlan::SIDES[1])) {
        (Some(a), Some(b)) if (a.session, a.trial.start) == (b.session, b.trial.start) => {
            PairState::Whole([a, b])
        }
        (Some(_), Some(_)) => PairState::Lost(Lost {
            what: format!("pair {pair}: its trials"),
            why: "ran in different sessions".to_owned(),
        }),
        _ => PairState::HalfRun,
    }
}

/// Why a trial makes its pair useless: it ended early, lost a broker or a component, met a cluster that should have been conditioned and
/// was not, ran at another time than the other one where both were to run at once, or its counts are none. Not for a figure
/// to be judged that must not be used: what speaks against it may depend on the figure itself, and pairs that are chosen by
/// what they show say what the choice says.
fn unusable(plan: &Plan, settings: &ComparePlan, trial: &AnalysedTrial<'_>) -> Option<String> {
    if let Some(reason) = trial.cut_short() {
        return Some(format!("was cut short: {reason}"));
    }
    let met = trial.caveats.iter().find_map(|scoped| match &scoped.caveat {
        Caveat::ProcessDied {
            subject: died @ (Subject::Broker(_) | Subject::Relay(_) | Subject::Component(_)),
        } => Some(format!("lost {died}")),
        // What took the place of a cluster that lost a broker has not been conditioned. Where none is, every start is so.
        Caveat::Unconditioned if plan.conditioning.is_some() => {
            Some("ran on a cluster that had just been started".to_owned())
        }
        Caveat::NotAtOnce { share } => Some(format!(
            "was measured at once with the other one for only {:.0} % of its window",
            share * 100.0
        )),
        _ => None,
    });
    if met.is_some() {
        return met;
    }
    let is_void = |of: &&Address| trial.finding(of).is_some() && trial.is_void(of);
    let of = settings.judge.iter().map(|judge| &judge.of).find(is_void)?;
    Some(format!("is no evidence of {of}"))
}
