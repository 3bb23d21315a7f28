//! The plan of a comparison: its sides, what is judged, and how much evidence it collects.

use crate::budget::Budget;
use crate::choices::{Choices, PlanError};
use crate::choices::{CompareChoices, PlanQuestion, SideChoices};
use crate::estimate::units_longest_ns;
use crate::planned::PlannedCases;
use crate::set_overrides::NOWHERE;
use crate::sides::{self, PlannedSides, SideScenario, is_attached};
use crate::{clusters, pair_design};
use kdyno_analysis::comparison::{margin as usual_margin, pair_sd, pair_sds, starts_sd};
use kdyno_analysis::statistics::{MEAN_UNITS_MIN, UnitSpread, look_least, smallest_visible};
use kdyno_model::command_metrics;
use kdyno_model::metric::{Address, Unit, is_cost};
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::plan::{
    Better, CasePlan, ComparePlan, Depth, EvidenceUnit, Judge, LoadPlan, PairDesign, Plan, Rate, Role,
    Strategy,
};
use kdyno_scenario::Scenario;
use kdyno_scenario::file::{CompareFile, SideFile};
use kdyno_scenario::input::{InputError, not_allowed, quoted};
use kdyno_scenario::units::{self, Dimension};
use kdyno_scenario::yaml::Scalar;

/// Units of evidence after which it is looked, with enough time.
const LOOKS: [u32; 3] = [8, 16, 24];
/// Why a quick look has a least number of pairs, in words.
const QUICK_WHY: &str = ": three pairs are the fewest that have an interval";
/// Most units, and pairs of a start.
pub(crate) const UNITS_MAX: u64 = 1_000;
/// Most looks.
pub(crate) const LOOKS_MAX: usize = 10;
/// Most pairs of a quick look.
const QUICK_PAIRS: u32 = 8;

/// The sides of the requested comparison; `None`: none is requested. A scenario that also searches requests neither by
/// itself: its cases are run.
pub(crate) fn sides(
    scenario: &Scenario,
    choices: &Choices,
) -> Result<Option<(PlannedSides, PlannedCases)>, PlanError> {
    let file = scenario.typed().compare.as_ref();
    let by_hand = match &choices.ask {
        PlanQuestion::Find(_) => return Ok(None),
        PlanQuestion::Scenario if scenario.typed().find.is_some() => return Ok(None),
        PlanQuestion::Scenario => None,
        PlanQuestion::Compare(by_hand) => Some(by_hand),
    };
    let by_hand = by_hand.filter(|by_hand| !by_hand.a.is_empty() || !by_hand.b.is_empty());
    if by_hand.is_none() && file.is_none() {
        if matches!(choices.ask, PlanQuestion::Scenario) {
            return Ok(None);
        }
        return Err(InputError::whole("the scenario has no `compare`")
            .hint("say what differs: `--a kafka=3.7.2 --b kafka=4.1.1`"));
    }
    // What is named by hand takes the place of its own side: the other one is what the file says.
    let side = |typed: Option<&SideChoices>, of_file: Option<&SideFile>, name: &str, option: &str| {
        let typed = typed.filter(|typed| !typed.is_empty());
        match (typed, of_file) {
            (None, Some(of_file)) => SideScenario::of_file(scenario, of_file, name, choices),
            (typed, _) => {
                SideScenario::by_hand(scenario, typed.unwrap_or(&SideChoices::default()), option, choices)
            }
        }
    };
    let a = side(by_hand.map(|by_hand| &by_hand.a), file.map(|file| &file.a), "A", "--a")?;
    let b = side(by_hand.map(|by_hand| &by_hand.b), file.map(|file| &file.b), "B", "--b")?;
    let (sides, planned) = sides::plan(&a, &b)?;
    let further = clusters::further(&a, &b)?;
    Ok(Some((PlannedSides { further, ..sides }, planned)))
}

/// The strategy of a comparison, and the time that it is to keep to. `planned` is side A.
pub(crate) fn strategy(
    scenario: &Scenario,
    choices: &Choices,
    sides: &PlannedSides,
    planned: &PlannedCases,
    budget: Option<Budget>,
) -> Result<(Strategy, Option<Budget>), PlanError> {
    let file = scenario.typed().compare.as_ref();
    let by_hand = match &choices.ask {
        PlanQuestion::Compare(by_hand) => by_hand.clone(),
        _ => CompareChoices::default(),
    };
    let mut may_differ: Vec<String> =
        file.iter().flat_map(|file| &file.may_differ).map(|typed| typed.text.clone()).collect();
    may_differ.extend(by_hand.may_differ.iter().cloned());
    let attached = planned.cases.iter().chain(&sides.b).any(is_attached);
    let unseen = planned.cases.iter().chain(&sides.b).any(sides::is_elsewhere);
    let reader = planned.reader(scenario, &sides.chosen);
    let number = |typed: &Scalar, key: &str, least: u64| reader.whole(typed, key, least..=UNITS_MAX);
    let looks = file.map_or(&[][..], |file| &file.looks);
    let looks = looks.iter().map(|look| Ok(number(look, "looks", 1)? as u32));
    let looks = looks.collect::<Result<Vec<_>, PlanError>>()?;
    let design = pair_design::of(file, by_hand.design, &planned.cases, sides, &reader)?;
    let pairs = match file.and_then(|file| file.pairs_per_start.as_ref()) {
        Some(typed) => number(typed, "pairs_per_start", 1)? as u32,
        None => pair_design::pairs_per_start(design),
    };
    let of_both = [planned.cases.as_slice(), sides.b.as_slice()].concat();
    let judge = judge(scenario, file, &by_hand.judge, &of_both, unseen)?;
    let mut plan = ComparePlan {
        labels: sides.labels.clone(),
        b: pair_design::side_b(design, &planned.cases, sides),
        looks: ascending(looks, together(&judge), file)?,
        judge,
        pairs_per_start: pairs,
        unit: EvidenceUnit::Start,
        design,
        may_differ,
        changes: sides.changes.clone(),
        further: sides.further.clone(),
    };
    let budget = Budget::within_caps(budget, planned.cases.iter().chain(plan.other_cases()));
    let budget = match choices.depth {
        Depth::Quick => {
            let budget = Budget::of_quick_look(budget);
            quick(&mut plan, planned, budget)?;
            Some(budget)
        }
        Depth::Verdict => {
            verdict(&mut plan, planned, budget, attached)?;
            budget
        }
    };
    if let Some(labels) = clusters::versions(&planned.cases, &plan) {
        plan.labels = labels;
    }
    Ok((Strategy::Compare(plan), budget))
}

/// How many metrics share the error.
fn together(judge: &[Judge]) -> u32 {
    u32::try_from(judge.len()).unwrap_or(u32::MAX)
}

/// Why a verdict has a least number of units, in words.
fn why(least: u32, together: u32) -> String {
    let one =
        if together > 1 { format!("one of {together} judged metrics") } else { "a difference".to_owned() };
    format!(": {least} units of evidence are the fewest that can show {one}")
}

/// The requested looks, else the usual ones; the first one of these can detect a difference in each judged metric.
fn ascending(looks: Vec<u32>, together: u32, file: Option<&CompareFile>) -> Result<Vec<u32>, PlanError> {
    let Some(first) = looks.first() else {
        let [first, rest @ ..] = LOOKS;
        let first = first.max(look_least(LOOKS.len(), together));
        return Ok(std::iter::once(first).chain(rest.into_iter().filter(|look| *look > first)).collect());
    };
    let wrong = |message: String, hint: &str| {
        let place = file.and_then(|file| file.looks.first()).map_or(NOWHERE, |typed| typed.place);
        Err(InputError::at(place, message).hint(hint))
    };
    if looks.len() > LOOKS_MAX || looks.windows(2).any(|pair| pair[0] >= pair[1]) {
        let listed: Vec<String> = looks.iter().map(ToString::to_string).collect();
        let message = format!(
            "`looks` takes at most {LOOKS_MAX} numbers, each larger than the one before: this is [{}]",
            listed.join(", ")
        );
        return wrong(message, "e.g. `looks: [8, 16, 24]`");
    }
    let least = look_least(looks.len(), together);
    if *first < least {
        let which = if looks.len() > 1 { "a first look after" } else { "a look after" };
        let message = format!("`looks`: {which} {first} comes too early{}", why(least, together));
        return wrong(message, "look later, or judge fewer metrics");
    }
    Ok(looks)
}

/// One start, some pairs on it: what these starts show.
fn quick(plan: &mut ComparePlan, planned: &PlannedCases, budget: Budget) -> Result<(), PlanError> {
    let of = |pairs: u32| ComparePlan {
        unit: EvidenceUnit::Pair,
        pairs_per_start: pairs,
        looks: vec![pairs],
        ..plan.clone()
    };
    let longest_ns = |pairs: u32| units_longest_ns(&of(pairs), planned, pairs);
    let Some(pairs) = budget.most(MEAN_UNITS_MIN, QUICK_PAIRS, longest_ns) else {
        return Err(budget.too_small("a quick look", QUICK_WHY, longest_ns(MEAN_UNITS_MIN)));
    };
    *plan = of(pairs);
    Ok(())
}

fn verdict(
    plan: &mut ComparePlan,
    planned: &PlannedCases,
    budget: Option<Budget>,
    attached: bool,
) -> Result<(), PlanError> {
    let together = together(&plan.judge);
    let least = look_least(1, together);
    let last = plan.looks.last().copied().unwrap_or(least);
    let pairs = plan.pairs_per_start;
    if attached {
        // A cluster of somebody else is not started: all pairs run on it as it is.
        (plan.unit, plan.pairs_per_start) = (EvidenceUnit::Pair, last);
    }
    if let Some(budget) = budget {
        let longest_ns = |units: u32| units_longest_ns(plan, planned, units);
        let Some(units) = budget.most(least, last, longest_ns) else {
            return Err(budget.too_small("a verdict", &why(least, together), longest_ns(least)));
        };
        let fitting: Vec<u32> = plan.looks.iter().copied().filter(|look| *look <= units).collect();
        // With a single look all of the error is spent on it, so it may as well come when the time is over.
        let cut = fitting.len() < plan.looks.len();
        plan.looks = if cut && fitting.len() < 2 { vec![units] } else { fitting };
    }
    if attached {
        plan.pairs_per_start = plan.looks.last().copied().unwrap_or(last);
        clusters::arrange(plan, planned, pairs, budget)?;
    }
    Ok(())
}

fn judge(
    scenario: &Scenario,
    file: Option<&CompareFile>,
    by_hand: &[String],
    cases: &[CasePlan],
    unseen: bool,
) -> Result<Vec<Judge>, PlanError> {
    let mut found: Vec<Judge> = Vec::new();
    let mut add = |judge: Judge, typed: &Scalar| {
        if found.iter().any(|known| known.of == judge.of) {
            return Err(InputError::at(typed.place, format!("`{}` is judged twice", judge.of)));
        }
        found.push(judge);
        Ok(())
    };
    for text in by_hand {
        let (of, margin) =
            text.rsplit_once(':').map_or((text.as_str(), None), |(of, margin)| (of, Some(margin)));
        let of = Scalar::assumed(of.trim(), NOWHERE);
        let margin = margin.map(|margin| Scalar::assumed(margin.trim(), NOWHERE));
        let named = |error: PlanError| {
            PlanError { place: None, ..error }.in_file(&quoted(&format!("--judge {text}")))
        };
        let read = read_judge(scenario, &of, None, margin.as_ref()).map_err(named)?;
        if unseen && is_of_brokers(&read.of) {
            let message =
                format!("the processes of brokers elsewhere are not seen, so `{}` is not known", read.of);
            return Err(named(InputError::whole(message).hint("judge what clients see")));
        }
        add(read, &of).map_err(named)?;
    }
    if by_hand.is_empty() {
        for typed in file.iter().flat_map(|file| &file.judge) {
            let judge = read_judge(scenario, &typed.of, typed.better.as_ref(), typed.margin.as_ref())?;
            if !(unseen && is_of_brokers(&judge.of)) {
                add(judge, &typed.of)?;
            }
        }
    }
    Ok(if found.is_empty() { usual(cases, unseen) } else { found })
}

/// Whether a metric is read from the brokers' processes, which those of a target do not show. What writing costs follows
/// from the price and what clients see.
fn is_of_brokers(of: &Address) -> bool {
    let is_one = of.subject.starts_with("broker-");
    (is_one || ["brokers", "system"].contains(&of.subject.as_str())) && !is_cost(&of.metric)
}

/// What the scenario names to be judged and is not, of brokers elsewhere: a sentence each.
pub(crate) fn not_judged(scenario: &Scenario, choices: &Choices, plan: &Plan) -> Vec<String> {
    let by_hand = matches!(&choices.ask, PlanQuestion::Compare(by_hand) if !by_hand.judge.is_empty());
    if by_hand || !plan.every_case().any(sides::is_elsewhere) {
        return Vec::new();
    }
    let named = scenario.typed().compare.iter().flat_map(|file| &file.judge);
    let named = named.filter_map(|judge| kdyno_scenario::metric_of(&judge.of, scenario.typed()).ok());
    let left_out = named.map(|(of, _)| of).filter(is_of_brokers);
    left_out
        .map(|of| format!("{of} is not judged: the processes of brokers elsewhere are not seen"))
        .collect()
}

fn read_judge(
    scenario: &Scenario,
    of: &Scalar,
    better: Option<&Scalar>,
    margin: Option<&Scalar>,
) -> Result<Judge, PlanError> {
    let (address, unit) = kdyno_scenario::metric_of(of, scenario.typed())?;
    let usual = Better::of(&address.metric, unit);
    let better = match (better, usual) {
        (Some(typed), _) => typed.text.parse().map_err(|_| {
            let (message, hint) = not_allowed(&typed.text, &["lower", "higher"]);
            InputError::at(typed.place, format!("`better`: {message}")).maybe_hint(hint)
        })?,
        (None, Some(better)) => better,
        (None, None) => {
            let message = format!("it is not known which direction of `{address}` is better");
            return Err(InputError::at(of.place, message).hint("say it in the scenario: `better: lower`"));
        }
    };
    let margin = match margin {
        None => usual_margin(unit),
        Some(typed) => share(typed, "margin")?,
    };
    Ok(Judge { of: address, better, margin })
}

/// A share between nothing and all, written in percent.
pub(crate) fn share(typed: &Scalar, key: &str) -> Result<f64, PlanError> {
    let percent = typed.text.trim().strip_suffix('%').and_then(|text| units::parse(text.trim()));
    let share =
        percent.filter(|percent| percent.dimension == Dimension::Plain).map(|percent| percent.value / 100.0);
    match share {
        Some(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(InputError::at(
            typed.place,
            format!("`{key}`: {} is not a share in percent", quoted(&typed.text)),
        )
        .hint("above 0% and below 100%, e.g. `3%`")),
    }
}

/// CPU time per record, where the brokers can be probed, then what the first load item is about: its rate where it
/// sends as fast as it goes, its latency where it has a rate.
fn usual(cases: &[CasePlan], unseen: bool) -> Vec<Judge> {
    let judge = |subject: &str, metric: &str, better: Better, unit: Unit| Judge {
        of: Address { subject: subject.to_owned(), metric: metric.to_owned() },
        better,
        margin: usual_margin(unit),
    };
    let Some(first) = cases.first() else { return Vec::new() };
    let mut found = Vec::new();
    if !unseen && !first.load.is_empty() && cases.iter().all(|case| case.system.is_kafka()) {
        // What ZooKeeper or controllers of their own do in one case, brokers may do in another.
        let is_alike = cases.iter().all(|case| case.system.mode() == first.system.mode());
        let subject = if is_alike { "brokers" } else { "system" };
        found.push(judge(subject, "cpu_us_per_record", Better::Lower, Unit::CpuUsPerRecord));
    }
    found.extend(first.commands.iter().map(|(name, command)| match &command.http {
        // They stay until the load ends, so that they have no duration.
        Some(HttpLoad::Users(users)) => judge(&users.chain, "response.p95", Better::Lower, Unit::Ns),
        Some(HttpLoad::Job(_)) | None => judge(name, command_metrics::DURATION, Better::Lower, Unit::Ns),
    }));
    let rate = |(name, item): (&String, &LoadPlan)| match &item.role {
        Role::Produce(produce) => Some((name.clone(), produce.rate.clone())),
        Role::Consume(_) | Role::EndToEnd(_) => None,
    };
    match first.load.iter().find_map(rate) {
        Some((name, Rate::Max { .. })) => {
            found.push(judge(&name, "acked_per_s", Better::Higher, Unit::RecordsPerS));
        }
        Some((name, Rate::Open { .. })) => {
            for quantile in ["response.p50", "response.p99"] {
                found.push(judge(&name, quantile, Better::Lower, Unit::Ns));
            }
        }
        None => {
            let items = first.load.keys().take(1);
            found.extend(items.map(|name| judge(name, "fetched_per_s", Better::Higher, Unit::RecordsPerS)));
        }
    }
    found
}

/// What units of a comparison typically differ by: pairs by their design; a start has several of them.
fn spread(judge: &Judge, plan: &Plan, compare: &ComparePlan) -> UnitSpread {
    let starts_sd = starts_sd(&judge.of, plan, compare, 0);
    let pairs = match compare.unit {
        EvidenceUnit::Start => compare.pairs_on_a_start(),
        EvidenceUnit::Pair | EvidenceUnit::Run | EvidenceUnit::Cluster => 1,
    };
    let of_pairs = pair_sd(&judge.of, compare) / f64::from(pairs).sqrt();
    // What lies between starts is not between the pairs on one.
    let sd = starts_sd.map_or(of_pairs, |starts_sd| (of_pairs.powi(2) - starts_sd.powi(2)).max(0.0).sqrt());
    UnitSpread { sd, starts_sd: starts_sd.unwrap_or(0.0), margin: judge.margin }
}

/// The smallest difference that a comparison sees in four of five cases when its units differ as they typically do and no
/// other metric differs, in a sentence; and one that names the metrics whose detectable change hardly is below what
/// matters.
pub(crate) fn smallest_differences(plan: &Plan, compare: &ComparePlan) -> (String, Option<String>) {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let (mut each, mut beyond, mut is_finer_at_once) = (Vec::new(), Vec::new(), false);
    let spreads: Vec<UnitSpread> = compare.judge.iter().map(|judge| spread(judge, plan, compare)).collect();
    let smallest = smallest_visible(&compare.looks, &spreads);
    for (Judge { of, margin, .. }, smallest) in compare.judge.iter().zip(smallest) {
        each.push(format!("{of} {}", smallest.map_or("none".to_owned(), percent)));
        if let Some(smallest) = smallest.filter(|smallest| smallest > margin) {
            beyond.push(format!("{of} ({}, margin {})", percent(smallest), percent(*margin)));
            let [turns, duet] = pair_sds(&of.metric);
            is_finer_at_once |= duet < turns;
        }
    }
    let beyond = (!beyond.is_empty()).then(|| {
        let is_coarser = is_finer_at_once
            && compare.design == PairDesign::Turns
            && pair_design::may_be_duet(&plan.cases, compare);
        let own = if plan.is_on_null_brokers() { "null brokers" } else { "clusters" };
        let duet = format!("; `--design duet`, both sides at once on {own} of their own, sees smaller ones");
        format!(
            "the smallest difference that can typically be seen is more than the margin of {}: that the sides are alike \
             within it can hardly be shown{}",
            beyond.join(", "),
            if is_coarser { &*duet } else { "" }
        )
    });
    let looks = listed(&compare.looks);
    let of = if plan.is_on_null_brokers() { "" } else { " of the clusters" };
    let what = match plan.depth {
        Depth::Quick => format!("a quick look: {looks} pairs on one start{of}, no verdict"),
        Depth::Verdict => match compare.unit {
            EvidenceUnit::Start => format!("looks after {looks} starts{of}"),
            EvidenceUnit::Pair => format!("looks after {looks} pairs"),
            EvidenceUnit::Run => format!("looks after {looks} runs"),
            EvidenceUnit::Cluster => format!("looks after {looks} clusters"),
        },
    };
    (format!("{what}; smallest differences it can typically see: {}", each.join(", ")), beyond)
}

fn listed(looks: &[u32]) -> String {
    let looks: Vec<String> = looks.iter().map(ToString::to_string).collect();
    match looks.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => looks.join(""),
    }
}
