//! The plan of a search: what is raised, between which loads, and what must hold.

use crate::budget::Budget;
use crate::choices::{Ask, FindChoices};
use crate::comparison::share;
use crate::estimate::{start_expected_ns, trial_expected_ns};
use crate::load::CLIENTS_MAX;
use crate::planned::Planned;
use crate::reader::Reader;
use crate::set_overrides::NOWHERE;
use crate::strategy::conditioned_by;
use crate::{Choices, PlanError};
use kdyno_analysis::search::lengths::{settings_for, settle_ns};
use kdyno_model::plan::{
    Arrivals, CasePlan, ClaimOp, Condition, Depth, FindPlan, Rate, RatePiece, Role, Strategy, Threshold, Vary,
};
use kdyno_model::units::count;
use kdyno_scenario::Scenario;
use kdyno_scenario::file::FindFile;
use kdyno_scenario::input::{InputError, known_hint, quoted};
use kdyno_scenario::judged::{Expr, comparison};
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Typed;

const SECOND_NS: u64 = 1_000_000_000;
/// Longest trial of a search.
const TRIAL_NS_MAX: u64 = 3600 * SECOND_NS;
/// First load where the item has no rate of its own, records/s.
const FROM_PER_S: f64 = 1_000.0;
/// Fewest trials with which a bracket can be found and narrowed.
const TRIALS_MIN: u32 = 8;
/// Most trials of a search.
const TRIALS_MAX: u32 = 1_000;
/// Trials of the ramp, usually: each raises the load by 1.6.
const RAMP_TRIALS: u64 = 6;
/// Trials that decide, usually.
const DECIDING_TRIALS: u64 = 13;
/// Highest load that is tried where nothing else is said, records/s.
const TO_PER_S: f64 = 10e6;

/// How narrow the answer is to be where nothing else is said.
fn usual_within(depth: Depth) -> f64 {
    if depth == Depth::Quick { 0.05 } else { 0.02 }
}

/// Whether a search is asked for.
pub(crate) fn is_asked(scenario: &Scenario, choices: &Choices) -> bool {
    match &choices.ask {
        Ask::Find(_) => true,
        Ask::Compare(_) => false,
        // Of one that also compares the cases are run.
        Ask::Scenario => scenario.typed().find.is_some() && scenario.typed().compare.is_none(),
    }
}

/// The `find` section with what was chosen by hand laid over it.
fn asked(scenario: &Scenario, choices: &Choices) -> Result<FindFile, PlanError> {
    let by_hand = match &choices.ask {
        Ask::Find(by_hand) => by_hand.clone(),
        _ => FindChoices::default(),
    };
    let typed = |text: String| Typed::assumed(&text, NOWHERE);
    let file = scenario.typed().find.clone();
    let lacks = |option: &str, example: &str| {
        InputError::whole(format!("the scenario has no `find`, so `{option}` is needed"))
            .hint(format!("e.g. `{option} {example}`"))
    };
    let conditions: Vec<Typed> = by_hand.conditions.into_iter().map(typed).collect();
    let mut found = match file {
        Some(file) => file,
        None => FindFile {
            place: NOWHERE,
            highest: typed(by_hand.highest.clone().ok_or_else(|| lacks("--highest", "writers.rate"))?),
            each: None,
            from: None,
            to: None,
            within: None,
            conditions: Vec::new(),
            ramp: None,
            trial: None,
            confirm: None,
            confirmations: None,
            trials: None,
        },
    };
    if let Some(highest) = by_hand.highest {
        // Loads of another item mean nothing for this one.
        let is_other = highest != found.highest.text;
        found.highest = typed(highest);
        if is_other {
            (found.each, found.from, found.to) = (None, None, None);
        }
    }
    if !conditions.is_empty() {
        found.conditions = conditions;
    }
    if found.conditions.is_empty() {
        return Err(lacks("--while", "'writers.response.p99 <= 20ms'"));
    }
    found.each = by_hand.each.map(typed).or(found.each);
    found.from = by_hand.from.map(typed).or(found.from);
    found.within = by_hand.within.map(typed).or(found.within);
    found.to = by_hand.to.map(typed).or(found.to);
    Ok(found)
}

/// The strategy of a search; sets the varied item's first load in every case, and says how deep the search goes.
pub(crate) fn strategy(
    scenario: &Scenario,
    choices: &Choices,
    planned: &mut Planned,
    readers: &[Reader<'_>],
    budget: Option<Budget>,
) -> Result<(Strategy, Depth), PlanError> {
    let file = asked(scenario, choices)?;
    let mut found: Option<FindPlan> = None;
    for (case, reader) in planned.cases.iter().zip(readers) {
        let plan =
            find(scenario, &file, case, reader, choices.depth).map_err(|error| by_option(error, &file))?;
        if found.as_ref().is_some_and(|first| *first != plan) {
            return Err(reader.wrong(&file.highest, "`find` must not differ between cases"));
        }
        found = Some(plan);
    }
    let Some(mut plan) = found else { return Err(InputError::whole("there is no case")) };
    let arrivals = readers.first().map_or(Arrivals::Poisson, |reader| arrivals(reader, &plan.item));
    for case in &mut planned.cases {
        start_at(case, &plan, arrivals);
    }
    let depth = within_budget(&mut plan, &file, planned, budget, choices.depth)?;
    Ok((Strategy::Find(plan), depth))
}

/// Errors about what was chosen by hand name no place of the scenario.
fn by_option(error: PlanError, file: &FindFile) -> PlanError {
    if error.place.is_some_and(|place| place.line == 0) {
        let option = if file.place == NOWHERE { "find" } else { "the search's options" };
        return PlanError { place: None, ..error }.in_file(option);
    }
    error
}

fn find(
    scenario: &Scenario,
    file: &FindFile,
    case: &CasePlan,
    reader: &Reader<'_>,
    depth: Depth,
) -> Result<FindPlan, PlanError> {
    let conditions = conditions(scenario, file, reader)?;
    let usual = settings_for(depth, &conditions);
    let (item, is_clients) = varied(file, case, reader)?;
    let length = |typed: &Option<Typed>, key: &str, usual: u64| {
        typed.as_ref().map_or(Ok(usual), |typed| reader.ns(typed, key, SECOND_NS..=TRIAL_NS_MAX))
    };
    let vary = vary(file, case, reader, (&item, is_clients))?;
    let (from_per_s, to_per_s) = range(file, reader, vary, own_rate(case, &item))?;
    let number = |typed: &Option<Typed>, key: &str, usual: u32, least: u32| {
        typed.as_ref().map_or(Ok(usual), |typed| reader.small(typed, key, least..=TRIALS_MAX))
    };
    let within = match &file.within {
        Some(typed) => share(&Typed { text: reader.text(typed)?, ..typed.clone() }, "within")?,
        None => usual_within(depth),
    };
    let confirm_trials = number(&file.confirmations, "confirmations", usual.confirm_trials, 0)?;
    Ok(FindPlan {
        conditions,
        item,
        vary,
        from_per_s,
        to_per_s,
        within,
        ramp_ns: length(&file.ramp, "ramp", usual.ramp_ns)?,
        trial_ns: length(&file.trial, "trial", usual.trial_ns)?,
        confirm_ns: length(&file.confirm, "confirm", usual.confirm_ns)?,
        confirm_trials: if depth == Depth::Quick { 0 } else { confirm_trials },
        trials_max: number(&file.trials, "trials", usual.trials_max, TRIALS_MIN)?,
    })
}

/// The load item whose load is raised, and whether by its clients.
fn varied(file: &FindFile, case: &CasePlan, reader: &Reader<'_>) -> Result<(String, bool), PlanError> {
    let text = reader.text(&file.highest)?;
    let wrong = |message: String| reader.wrong(&file.highest, message);
    let produces = |name: &&String| matches!(case.load[*name].role, Role::Produce(_));
    let names: Vec<&str> = case.load.keys().filter(produces).map(String::as_str).collect();
    let example = names.first().copied().unwrap_or("writers");
    let Some((item, what)) = text.trim().split_once('.') else {
        return Err(wrong(format!("{} is nothing that can be raised", quoted(&text)))
            .hint(format!("write `{example}.rate` or `{example}.clients`")));
    };
    let Some(Role::Produce(produce)) = case.load.get(item).map(|load| &load.role) else {
        return Err(
            wrong(format!("{} is no load item that produces", quoted(item))).hint(known_hint(item, names))
        );
    };
    if !matches!(what, "rate" | "clients") {
        let hint = known_hint(what, ["rate", "clients"]);
        return Err(wrong(format!("{} of `{item}` cannot be raised", quoted(what))).hint(hint));
    }
    let courses = matches!(&produce.rate, Rate::Open { pieces, .. } if pieces.len() > 1);
    if courses || produce.records_max.is_some() {
        let message =
            format!("`{item}` has a rate that changes, or ends by records: its load cannot be raised");
        return Err(wrong(message).hint("give it one rate, and `measure` a duration"));
    }
    Ok((item.to_owned(), what == "clients"))
}

/// What is varied of the item, and the rate of one of its clients.
fn vary(
    file: &FindFile,
    case: &CasePlan,
    reader: &Reader<'_>,
    (item, is_clients): (&str, bool),
) -> Result<Vary, PlanError> {
    let each = file.each.as_ref().map(|each| rate(reader, each, "each")).transpose()?;
    if !is_clients {
        let Some(typed) = &file.each else { return Ok(Vary::Rate) };
        let message = "`each` is the rate of a client, but clients are not what is raised";
        let hint = format!("write `highest: {item}.clients`, or leave `each` out");
        return Err(reader.wrong(typed, message).hint(hint));
    }
    let clients = case.load.get(item).map_or(1, |load| load.clients.max(1));
    let own = own_rate(case, item).map(|per_s| per_s / f64::from(clients));
    let per_client_per_s = each.or(own).ok_or_else(|| {
        let message = format!("`each` is needed: `{item}` has no rate that a client could have");
        reader.wrong(&file.highest, message).hint("e.g. `each: 50k/s`")
    })?;
    Ok(Vary::Clients { per_client_per_s })
}

/// The first load and the highest, records/s.
fn range(
    file: &FindFile,
    reader: &Reader<'_>,
    vary: Vary,
    own: Option<f64>,
) -> Result<(f64, f64), PlanError> {
    let least = match vary {
        Vary::Rate => own.unwrap_or(FROM_PER_S),
        Vary::Clients { per_client_per_s } => per_client_per_s,
    };
    let from_per_s = file.from.as_ref().map_or(Ok(least), |from| rate(reader, from, "from"))?;
    let most = match vary {
        Vary::Rate => TO_PER_S,
        Vary::Clients { per_client_per_s } => TO_PER_S.min(per_client_per_s * f64::from(CLIENTS_MAX)),
    };
    let to_per_s = file.to.as_ref().map_or(Ok(most), |to| rate(reader, to, "to"))?;
    if from_per_s < to_per_s {
        return Ok((from_per_s, to_per_s));
    }
    let typed = file.from.as_ref().or(file.to.as_ref()).unwrap_or(&file.highest);
    let (from, to) = (count(from_per_s), count(to_per_s));
    let message = format!("the search begins at {from}/s, which is not below `to`, {to}/s");
    Err(reader.wrong(typed, message).hint("`from` is the first load, `to` the highest that may be tried"))
}

/// A rate above zero.
fn rate(reader: &Reader<'_>, typed: &Typed, key: &str) -> Result<f64, PlanError> {
    let text = reader.text(typed)?;
    let rate = units::parse_as(&text, Dimension::PerS);
    match rate.map_err(|message| reader.wrong(typed, format!("`{key}`: {message}")))? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(reader.wrong(typed, format!("`{key}`: {} is not above zero", quoted(&text)))),
    }
}

fn own_rate(case: &CasePlan, item: &str) -> Option<f64> {
    match &case.load.get(item)?.role {
        Role::Produce(produce) => produce.rate.peak_per_s(),
        Role::Consume(_) => None,
    }
}

fn conditions(
    scenario: &Scenario,
    file: &FindFile,
    reader: &Reader<'_>,
) -> Result<Vec<Condition>, PlanError> {
    let one = |typed: &Typed| {
        let text = reader.text(typed)?;
        let read = comparison(&Typed { text: text.clone(), ..typed.clone() }, scenario.typed())?;
        let (metric, op, limit) = match (&read.left, read.op, &read.right) {
            (Expr::Metric(metric), op, Expr::Number(limit)) => (metric, op, *limit),
            (Expr::Number(limit), op, Expr::Metric(metric)) => (metric, turned(op), *limit),
            _ => {
                let message = format!("{} is no condition", quoted(&text));
                return Err(reader
                    .wrong(typed, message)
                    .hint("one metric and one number, e.g. `writers.response.p99 <= 20ms`"));
            }
        };
        if let Some((name, _)) = metric.case.first() {
            return Err(InputError::at(
                name.place,
                "a condition holds for the case that is searched: it selects none",
            ));
        }
        let must_be = match op {
            ClaimOp::AtMost | ClaimOp::Less => Threshold::AtMost,
            ClaimOp::AtLeast | ClaimOp::Greater => Threshold::AtLeast,
        };
        Ok(Condition { of: metric.of.clone(), must_be, limit, text: text.trim().to_owned() })
    };
    file.conditions.iter().map(one).collect()
}

fn turned(op: ClaimOp) -> ClaimOp {
    match op {
        ClaimOp::Less => ClaimOp::Greater,
        ClaimOp::AtMost => ClaimOp::AtLeast,
        ClaimOp::Greater => ClaimOp::Less,
        ClaimOp::AtLeast => ClaimOp::AtMost,
    }
}

/// How the item's records arrive; as typed also where its own rate is `max`.
fn arrivals(reader: &Reader<'_>, item: &str) -> Arrivals {
    use kdyno_scenario::file::RoleFile;
    let typed = reader.scenario.typed().load.iter().find(|(name, _)| name.text == item);
    let arrivals = typed.and_then(|(_, load)| match &load.role {
        RoleFile::Produce(produce) => produce.arrivals.as_ref(),
        RoleFile::Consume { .. } => None,
    });
    let text = arrivals.and_then(|typed| reader.text(typed).ok());
    if text.as_deref() == Some("constant") { Arrivals::Constant } else { Arrivals::Poisson }
}

/// Puts the case at the search's first load, so that nothing that is told of the plan speaks of another.
fn start_at(case: &mut CasePlan, plan: &FindPlan, arrivals: Arrivals) {
    let Some(load) = case.load.get_mut(&plan.item) else { return };
    if let Vary::Clients { per_client_per_s } = plan.vary {
        load.clients = (plan.from_per_s / per_client_per_s).ceil().max(1.0) as u32;
    }
    if let Role::Produce(produce) = &mut load.role {
        let per_s = match plan.vary {
            Vary::Rate => plan.from_per_s,
            Vary::Clients { per_client_per_s } => per_client_per_s * f64::from(load.clients),
        };
        let piece = RatePiece { from_per_s: per_s, to_per_s: per_s, length_ns: crate::phases::PHASE_NS_MAX };
        produce.rate = Rate::Open { pieces: vec![piece], arrivals };
    }
    case.workers = crate::load::workers(&case.load);
    case.phases.measure_ns = plan.trial_ns;
}

/// What a search of every case usually takes, ns.
fn expected_ns(plan: &FindPlan, planned: &Planned) -> u64 {
    let one = |case: &CasePlan| {
        let with = |window_ns: u64| {
            let mut case = case.clone();
            let phases = &mut case.phases;
            (phases.warmup_ns, phases.warmup_auto) = (settle_ns(window_ns), None);
            phases.measure_ns = window_ns;
            trial_expected_ns(&case)
        };
        let conditioned = planned.conditioning.and_then(|how| conditioned_by(how, case));
        let start = start_expected_ns(case) + conditioned.as_ref().map_or(0, trial_expected_ns);
        let deciding = DECIDING_TRIALS.min(u64::from(plan.trials_max).saturating_sub(RAMP_TRIALS));
        start
            + RAMP_TRIALS * with(plan.ramp_ns)
            + deciding * with(plan.trial_ns)
            + u64::from(plan.confirm_trials) * with(plan.confirm_ns)
    };
    planned.cases.iter().map(one).fold(0, u64::saturating_add)
}

/// Makes the search fit the budget: a quick look in the place of a verdict, then fewer trials.
fn within_budget(
    plan: &mut FindPlan,
    file: &FindFile,
    planned: &Planned,
    budget: Option<Budget>,
    depth: Depth,
) -> Result<Depth, PlanError> {
    let Some(budget) = budget else { return Ok(depth) };
    let fits = |plan: &FindPlan| expected_ns(plan, planned) <= budget.ns;
    if fits(plan) {
        return Ok(depth);
    }
    if depth == Depth::Verdict {
        // What was typed stays; what was not is that of a quick look.
        let quick = settings_for(Depth::Quick, &plan.conditions);
        let or = |typed: &Option<Typed>, own: u64, quick: u64| if typed.is_some() { own } else { quick };
        plan.ramp_ns = or(&file.ramp, plan.ramp_ns, quick.ramp_ns);
        plan.trial_ns = or(&file.trial, plan.trial_ns, quick.trial_ns);
        plan.within = if file.within.is_some() { plan.within } else { usual_within(Depth::Quick) };
        plan.trials_max = if file.trials.is_some() { plan.trials_max } else { quick.trials_max };
        plan.confirm_trials = 0;
    }
    while !fits(plan) && plan.trials_max > TRIALS_MIN {
        plan.trials_max -= 1;
    }
    if fits(plan) {
        return Ok(Depth::Quick);
    }
    Err(budget.too_small("a search", "", expected_ns(plan, planned)))
}
