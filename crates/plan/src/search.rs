//! The plan of a search: what is raised, between which loads, and what must hold.

use crate::budget::Budget;
use crate::choices::{Choices, PlanError};
use crate::choices::{FindChoices, PlanQuestion};
use crate::comparison::share;
use crate::conditions::conditions;
use crate::estimate::of_trials;
use crate::item_topics::CLIENTS_MAX;
use crate::planned::PlannedCases;
use crate::reader::CaseReader;
use crate::set_overrides::NOWHERE;
use crate::spans;
use crate::strategy::{Extent, TrialBasis, searched as trials, searched_at};
use crate::sustained;
use kdyno_analysis::search::lengths::settings_for;
use kdyno_analysis::search::trials_min;
use kdyno_model::plan::{Arrivals, CasePlan, Depth, FindPlan, LoadPlan, Rate, Role, Strategy, Vary};
use kdyno_model::trial::SearchStage;
use kdyno_model::units::count;
use kdyno_scenario::Scenario;
use kdyno_scenario::file::FindFile;
use kdyno_scenario::input::{InputError, known_hint, nearest, quoted};
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Scalar;

const SECOND_NS: u64 = 1_000_000_000;
/// Longest trial of a search.
pub(crate) const TRIAL_NS_MAX: u64 = 3600 * SECOND_NS;
/// First load where the item has no rate of its own, records/s.
const FROM_PER_S: f64 = 1_000.0;
/// Fewest trials that a search is given.
const TRIALS_MIN: u32 = 8;
/// Most trials of a search.
pub(crate) const TRIALS_MAX: u32 = 1_000;
/// How long a quick look may take for each case, ns.
const QUICK_NS: u64 = 600 * SECOND_NS;
/// Highest load that is tried where nothing else is said, records/s.
const TO_PER_S: f64 = 10e6;

/// How narrow the answer is to be where nothing else is said.
fn usual_within(depth: Depth) -> f64 {
    if depth == Depth::Quick { 0.05 } else { 0.02 }
}

/// Whether a search is requested.
pub(crate) fn is_asked(scenario: &Scenario, choices: &Choices) -> bool {
    match &choices.ask {
        PlanQuestion::Find(_) => true,
        PlanQuestion::Compare(_) => false,
        // The cases of a scenario that also compares are run.
        PlanQuestion::Scenario => scenario.typed().find.is_some() && scenario.typed().compare.is_none(),
    }
}

/// The `find` section with what was chosen by hand laid over it.
fn asked(scenario: &Scenario, choices: &Choices) -> Result<FindFile, PlanError> {
    let by_hand = match &choices.ask {
        PlanQuestion::Find(by_hand) => by_hand.clone(),
        _ => FindChoices::default(),
    };
    let typed = |text: String| Scalar::assumed(&text, NOWHERE);
    let file = scenario.typed().find.clone();
    let lacks = |option: &str, example: &str| {
        InputError::whole(format!("the scenario has no `find`, so `{option}` is needed"))
            .hint(format!("e.g. `{option} {example}`"))
    };
    let conditions: Vec<Scalar> = by_hand.conditions.into_iter().map(typed).collect();
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

/// The strategy of a search; sets the varied item's first load in every case, and says how deep the search goes and how
/// long it may take, ns.
pub(crate) fn strategy(
    scenario: &Scenario,
    choices: &Choices,
    planned: &mut PlannedCases,
    readers: &[CaseReader<'_>],
    budget: Option<Budget>,
) -> Result<(Strategy, Depth, Option<u64>), PlanError> {
    let file = asked(scenario, choices)?;
    let at_depth = |depth| {
        let mut plan = same_in_all(scenario, &file, (&planned.cases, readers), depth)?;
        sustained::confirm(&mut plan, depth, choices.sustain_ns)?;
        Ok::<_, PlanError>(plan)
    };
    let searched = TrialBasis::of(planned);
    let quick = || at_depth(Depth::Quick);
    let (plan, depth, time_ns) =
        within_time(at_depth(choices.depth)?, quick, searched, budget, choices.depth)?;
    let arrivals = readers.first().map_or(Arrivals::Poisson, |reader| arrivals(reader, &plan.item));
    for case in &mut planned.cases {
        start_at(case, &plan, arrivals);
    }
    Ok((Strategy::Find(plan), depth, time_ns))
}

/// The search as each case makes it, which must be the same for all.
fn same_in_all(
    scenario: &Scenario,
    file: &FindFile,
    (cases, readers): (&[CasePlan], &[CaseReader<'_>]),
    depth: Depth,
) -> Result<FindPlan, PlanError> {
    let mut found: Option<FindPlan> = None;
    for (case, reader) in cases.iter().zip(readers) {
        let plan = find(scenario, file, case, reader, depth).map_err(|error| by_option(error, file))?;
        if found.as_ref().is_some_and(|first| *first != plan) {
            return Err(reader.wrong(&file.highest, "`find` must not differ between cases"));
        }
        found = Some(plan);
    }
    found.ok_or_else(|| InputError::whole("there is no case"))
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
    reader: &CaseReader<'_>,
    depth: Depth,
) -> Result<FindPlan, PlanError> {
    let (item, is_clients) = varied(file, case, reader)?;
    spans::none_in_search(reader)?;
    let conditions = conditions(scenario, &file.conditions, reader, (case, &item))?;
    let usual = settings_for(depth, &conditions);
    let length = |typed: &Option<Scalar>, key: &str, usual: u64| {
        typed.as_ref().map_or(Ok(usual), |typed| reader.ns(typed, key, SECOND_NS..=TRIAL_NS_MAX))
    };
    let vary = vary(file, case, reader, (&item, is_clients))?;
    let (from_per_s, to_per_s) = range(file, reader, vary, (case, &item))?;
    let number = |typed: &Option<Scalar>, key: &str, usual: u32, least: u32| {
        typed.as_ref().map_or(Ok(usual), |typed| reader.small(typed, key, least..=TRIALS_MAX))
    };
    let within = match &file.within {
        Some(typed) => share(&Scalar { text: reader.text(typed)?, ..typed.clone() }, "within")?,
        None => usual_within(depth),
    };
    let mut confirm_trials = number(&file.confirmations, "confirmations", usual.confirm_trials, 0)?;
    let mut confirm_ns = length(&file.confirm, "confirm", usual.confirm_ns)?;
    if depth == Depth::Quick {
        // What was typed is meant for a verdict, and a quick look has no time for it.
        confirm_trials = confirm_trials.min(usual.confirm_trials);
        confirm_ns = confirm_ns.min(usual.confirm_ns);
    }
    Ok(FindPlan {
        conditions,
        item,
        vary,
        from_per_s,
        to_per_s,
        within,
        ramp_ns: length(&file.ramp, "ramp", usual.ramp_ns)?,
        trial_ns: length(&file.trial, "trial", usual.trial_ns)?,
        confirm_ns,
        confirm_trials,
        trials_max: number(&file.trials, "trials", usual.trials_max, TRIALS_MIN)?,
    })
}

/// The load item whose load is raised, and whether by its clients.
fn varied(file: &FindFile, case: &CasePlan, reader: &CaseReader<'_>) -> Result<(String, bool), PlanError> {
    let text = reader.text(&file.highest)?;
    let wrong = |message: String| reader.wrong(&file.highest, message);
    let produces = |name: &&String| matches!(case.load[*name].role, Role::Produce(_));
    let names: Vec<&str> = case.load.keys().filter(produces).map(String::as_str).collect();
    let Some((item, what)) = text.trim().split_once('.') else {
        let example = nearest(text.trim(), names.iter().copied()).or(names.first().copied());
        let example = example.unwrap_or("writers");
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
    let topics = case.load.get(item).map_or(1, LoadPlan::stream_count);
    if what == "clients" && topics > 1 {
        let message =
            format!("`{item}` has {topics} topics, each with as many clients: these cannot be raised");
        return Err(wrong(message).hint(format!("write `{item}.rate`, or name a topic without a `count`")));
    }
    Ok((item.to_owned(), what == "clients"))
}

/// What is varied of the item, and the rate of one of its clients.
fn vary(
    file: &FindFile,
    case: &CasePlan,
    reader: &CaseReader<'_>,
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
    reader: &CaseReader<'_>,
    vary: Vary,
    (case, item): (&CasePlan, &str),
) -> Result<(f64, f64), PlanError> {
    let least = match vary {
        Vary::Rate => own_rate(case, item).unwrap_or(FROM_PER_S),
        Vary::Clients { per_client_per_s } => per_client_per_s,
    };
    let from_per_s = file.from.as_ref().map_or(Ok(least), |from| rate(reader, from, "from"))?;
    let most = match vary {
        Vary::Rate => TO_PER_S,
        Vary::Clients { per_client_per_s } => TO_PER_S.min(per_client_per_s * f64::from(CLIENTS_MAX)),
    };
    let most = allowed_per_s(case, item).map_or(most, |allowed| allowed.min(most));
    let to_per_s = file.to.as_ref().map_or(Ok(most), |to| rate(reader, to, "to"))?;
    if from_per_s < to_per_s {
        return Ok((from_per_s, to_per_s));
    }
    let typed = file.from.as_ref().or(file.to.as_ref()).unwrap_or(&file.highest);
    let (from, to) = (count(from_per_s), count(to_per_s));
    let message = format!("the search begins at {from}/s, which is not below `to`, {to}/s");
    let why = match allowed_per_s(case, item) {
        Some(_) if file.to.is_none() => "; the target's cap on `produce` allows no more",
        _ => "",
    };
    let hint = format!("`from` is the first load, `to` the highest that may be tried{why}");
    Err(reader.wrong(typed, message).hint(hint))
}

/// The highest rate of an item that a target's cap on `produce` leaves it next to the others; `None`: there is no cap.
pub(crate) fn allowed_per_s(case: &CasePlan, item: &str) -> Option<f64> {
    let cap = case.system.caps()?.produce_bytes_per_s?;
    let bytes_per_s = |name: &String| match case.load[name].role.as_produce() {
        Some(produce) => produce.rate.peak_per_s().map(|peak| peak * produce.record_bytes() as f64),
        None => Some(0.0),
    };
    let others: Option<f64> = case.load.keys().filter(|name| *name != item).map(bytes_per_s).sum();
    let produce = case.load.get(item)?.role.as_produce()?;
    let left = cap as f64 - others?;
    Some((left / produce.record_bytes().max(1) as f64).floor().max(0.0))
}

/// A rate above zero.
fn rate(reader: &CaseReader<'_>, typed: &Scalar, key: &str) -> Result<f64, PlanError> {
    let text = reader.text(typed)?;
    let rate = units::parse_as(&text, Dimension::PerS);
    match rate.map_err(|message| reader.wrong(typed, format!("`{key}`: {message}")))? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(reader.wrong(typed, format!("`{key}`: {} is not above zero", quoted(&text)))),
    }
}

fn own_rate(case: &CasePlan, item: &str) -> Option<f64> {
    case.load.get(item)?.role.as_produce()?.rate.peak_per_s()
}

/// How the item's records arrive; as typed also where its own rate is `max`.
fn arrivals(reader: &CaseReader<'_>, item: &str) -> Arrivals {
    use kdyno_scenario::file::RoleFile;
    let typed = reader.scenario.typed().load.iter().find(|(name, _)| name.text == item);
    let arrivals = typed.and_then(|(_, load)| match &load.role {
        RoleFile::Produce(produce) => produce.arrivals.as_ref(),
        RoleFile::Consume(_) | RoleFile::EndToEnd { .. } => None,
    });
    let text = arrivals.and_then(|typed| reader.text(typed).ok());
    if text.as_deref() == Some("constant") { Arrivals::Constant } else { Arrivals::Poisson }
}

/// Puts the case at the search's first load, so that no description of the plan speaks of another.
fn start_at(case: &mut CasePlan, plan: &FindPlan, arrivals: Arrivals) {
    let first_per_s = match plan.vary {
        Vary::Rate => plan.from_per_s,
        Vary::Clients { per_client_per_s } => {
            (plan.from_per_s / per_client_per_s).ceil().max(1.0) * per_client_per_s
        }
    };
    if let Some(Role::Produce(produce)) = case.load.get_mut(&plan.item).map(|load| &mut load.role) {
        produce.rate = Rate::Open { pieces: Vec::new(), arrivals };
    }
    if let Some(first) = searched_at(case, plan, SearchStage::Bisect, first_per_s) {
        *case = first;
    }
}

/// Makes the search fit its time, whatever its trials show: a quick look in the place of a verdict, then fewer trials,
/// then a single one that confirms. A quick look has ten minutes for each case, however long the budget is, and is not
/// refused when even the least takes more than these: then it has so long. The time that bounds it is the last of three.
fn within_time(
    plan: FindPlan,
    quick: impl FnOnce() -> Result<FindPlan, PlanError>,
    searched: TrialBasis<'_>,
    budget: Option<Budget>,
    depth: Depth,
) -> Result<(FindPlan, Depth, Option<u64>), PlanError> {
    let longest_ns = |plan: &FindPlan| of_trials(trials(searched, plan, Extent::Longest)).longest_ns;
    let quick_ns = match depth {
        Depth::Quick => QUICK_NS.saturating_mul(searched.cases.len() as u64),
        Depth::Verdict => u64::MAX,
    };
    let time_ns = budget.map_or(quick_ns, |budget| budget.ns.min(quick_ns));
    let bounded = |plan: FindPlan, reached| {
        let bound_ns = (time_ns < u64::MAX).then(|| time_ns.max(longest_ns(&plan)));
        (plan, reached, bound_ns)
    };
    if longest_ns(&plan) <= time_ns {
        return Ok(bounded(plan, depth));
    }
    let mut plan = if depth == Depth::Verdict { quick()? } else { plan };
    while longest_ns(&plan) > time_ns {
        if plan.trials_max > TRIALS_MIN.max(trials_min(plan.confirm_trials)) {
            plan.trials_max -= 1;
        } else if plan.confirm_trials > 1 {
            plan.confirm_trials -= 1;
        } else {
            break;
        }
    }
    match budget {
        Some(budget) if longest_ns(&plan) > budget.ns => {
            Err(budget.too_small("a search", "", longest_ns(&plan)))
        }
        _ => Ok(bounded(plan, Depth::Quick)),
    }
}
