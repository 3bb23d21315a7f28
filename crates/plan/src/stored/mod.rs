//! What a stored plan may have: the gate that it passes before it is executed again (docs/reference/run-files.md).
//!
//! A run file may come from anybody. So each type of the plan is taken apart here field by field, without `..`: a field that
//! is new does not compile until somebody has decided what a stranger may do with it. `_` is used where the type itself
//! leaves a stranger nothing to do: a text that is only printed, a word of a fixed list, a switch.

mod case;
mod load;
mod records;
pub(crate) mod refusal;
mod settings;
pub(crate) mod system;

use crate::cases::CASES_MAX;
use crate::choices::PlanError;
use crate::comparison::{LOOKS_MAX, UNITS_MAX};
use crate::load::RATE_PER_S_MAX;
use crate::phases::PHASE_NS_MAX;
use crate::planned::{REPEAT_MAX, TRIALS_MAX};
use crate::search::{TRIAL_NS_MAX, TRIALS_MAX as SEARCHED_MAX};
use crate::strategy;
use kdyno_model::plan::{
    Claim, ClaimExpr, ComparePlan, Conditioning, Contrast, FindPlan, ListedTrial, OnClusters, Plan, Strategy,
    Vary,
};
use kdyno_scenario::is_id;
use refusal::{KeyPath, Passed};
pub(crate) use settings::is_plain_setting;

/// Most processes that `--probe` may name.
const PROBED_MAX: usize = 16;

/// Refuses a stored plan that has more than what a stranger may have others run: nothing of it is started as a program,
/// handed to a JVM or a shell, or names a file, and all of its numbers and names are those that a scenario may have.
/// Nothing of a target is looked at, for [`retarget`](crate::retarget) puts the user's own in its place.
///
/// # Errors
/// The first thing that it may not have, with its key.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    let Plan {
        scenario,
        question: _,
        profile: _,
        changed: _,
        seed: _,
        cases,
        strategy,
        // Words of a list.
        isolation: _,
        // Addresses of metrics, which are looked up by name.
        show: _,
        published: _,
        depth: _,
        conditioning,
        // More of it than the run takes changes nothing.
        budget_ns: _,
        claims,
        contrasts,
        // The profiler is kdyno's own.
        flame: _,
        // Facts, which are printed and compared.
        environment: _,
        probe,
    } = plan;
    id(scenario)?;
    // Names that the host's processes are looked through for.
    KeyPath::top("probe").within(probe.len(), 0..=PROBED_MAX)?;
    let at = KeyPath::top("cases");
    at.within(cases.len(), 1..=CASES_MAX)?;
    case::all(&at, cases)?;
    if let Some(Conditioning { least_ns, most_ns }) = conditioning {
        let at = KeyPath::top("conditioning");
        at.key("most_ns").within(*most_ns, 0..=PHASE_NS_MAX)?;
        at.key("least_ns").within(*least_ns, 0..=*most_ns)?;
    }
    let cases = cases.len();
    claims.iter().try_for_each(|of| claim(of, cases))?;
    contrasts.iter().try_for_each(|of| contrast(of, cases))?;
    match strategy {
        Strategy::List(list) => listed(list, cases),
        Strategy::Compare(of) => comparison(of, cases),
        Strategy::Find(of) => search(of),
    }?;
    strategy::check(plan)
}

/// Refuses what not even a trusted plan may have: an id that is a path. The run file and its page are written by that name.
///
/// # Errors
/// It is no plain name.
pub fn check_trusted(plan: &Plan) -> Result<(), PlanError> {
    id(&plan.scenario)
}

fn id(scenario: &str) -> Passed {
    let passed = KeyPath::top("scenario").named(scenario, is_id(scenario), "the id of a scenario");
    passed.map_err(|error| error.hint("run the scenario again"))
}

fn number(at: &KeyPath<'_>, case: u32, cases: usize) -> Passed {
    at.holds((case as usize) < cases, "names a case that it does not have")
}

fn listed(list: &[ListedTrial], cases: usize) -> Passed {
    let at = KeyPath::top("strategy.list");
    at.within(list.len() as u64, 0..=TRIALS_MAX)?;
    list.iter().try_for_each(|ListedTrial { case, repeat }| {
        number(&at, *case, cases)?;
        at.key("repeat").within(u64::from(*repeat), 1..=REPEAT_MAX)
    })
}

fn comparison(of: &ComparePlan, cases: usize) -> Passed {
    let ComparePlan {
        labels: _,
        b,
        judge: _,
        looks,
        pairs_per_start,
        unit: _,
        design: _,
        may_differ: _,
        changes: _,
        further,
    } = of;
    let at = KeyPath::top("strategy.compare");
    let side = |at: &KeyPath<'_>, side: &[_]| {
        at.holds(side.len() == cases, "has sides with different numbers of cases")?;
        case::all(at, side)
    };
    side(&at.key("b"), b)?;
    further.iter().try_for_each(|OnClusters { a, b }| {
        let at = at.key("further");
        side(&at.key("a"), a)?;
        side(&at.key("b"), b)
    })?;
    at.key("further").within(further.len() as u64, 0..=UNITS_MAX)?;
    at.key("pairs_per_start").within(u64::from(*pairs_per_start), 1..=UNITS_MAX)?;
    let at = at.key("looks");
    at.within(looks.len(), 1..=LOOKS_MAX)?;
    at.holds(looks.windows(2).all(|pair| pair[0] < pair[1]), "has looks that are not in order")?;
    looks.iter().try_for_each(|look| at.within(u64::from(*look), 1..=UNITS_MAX))
}

/// How its range and its conditions go together is looked at for every plan.
fn search(of: &FindPlan) -> Passed {
    let FindPlan {
        // Looked up by name.
        item: _,
        vary,
        from_per_s,
        to_per_s,
        within: _,
        conditions: _,
        ramp_ns,
        trial_ns,
        confirm_ns,
        confirm_trials,
        trials_max,
    } = of;
    let at = KeyPath::top("strategy.find");
    let rates = [("from_per_s", *from_per_s), ("to_per_s", *to_per_s)];
    let each = match vary {
        Vary::Rate => None,
        Vary::Clients { per_client_per_s } => Some(("vary", *per_client_per_s)),
    };
    for (key, per_s) in rates.into_iter().chain(each) {
        at.key(key).within(per_s, 0.0..=RATE_PER_S_MAX)?;
    }
    for (key, ns) in [("ramp_ns", ramp_ns), ("trial_ns", trial_ns), ("confirm_ns", confirm_ns)] {
        at.key(key).within(*ns, 0..=TRIAL_NS_MAX)?;
    }
    at.key("confirm_trials").within(*confirm_trials, 0..=SEARCHED_MAX)?;
    at.key("trials_max").within(*trials_max, 0..=SEARCHED_MAX)
}

fn claim(of: &Claim, cases: usize) -> Passed {
    let Claim { text: _, that: _, is_threshold: _, left, op: _, right } = of;
    expression(left, cases)?;
    expression(right, cases)
}

fn expression(of: &ClaimExpr, cases: usize) -> Passed {
    match of {
        ClaimExpr::Number(_) => Ok(()),
        ClaimExpr::Metric { of: _, case } => number(&KeyPath::top("claims"), *case, cases),
        ClaimExpr::Sum(left, right)
        | ClaimExpr::Difference(left, right)
        | ClaimExpr::Product(left, right)
        | ClaimExpr::Quotient(left, right) => {
            expression(left, cases)?;
            expression(right, cases)
        }
    }
}

fn contrast(of: &Contrast, cases: usize) -> Passed {
    let Contrast { name: _, from, to, of: _ } = of;
    [from, to].into_iter().try_for_each(|case| number(&KeyPath::top("contrasts"), *case, cases))
}
