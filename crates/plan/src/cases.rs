//! Which cases there are: profile over params, rows and combinations over that, `--set` over all.

use crate::choices::{Choices, PlanError};
use crate::set_overrides;
use kdyno_model::plan::{ParamValue, case_labels};
use kdyno_scenario::Scenario;
use kdyno_scenario::file::{CasesFile, ProfileFile, RowFile, ScenarioFile};
use kdyno_scenario::input::{InputError, known_hint, quoted};
use kdyno_scenario::units;
use kdyno_scenario::values::{ParamValues, unknown_param};
use kdyno_scenario::yaml::Scalar;
use std::collections::BTreeMap;

/// Most cases of one plan, before equal ones are taken together.
pub(crate) const CASES_MAX: usize = 1_000;

/// The name of the profile in force when the scenario has none to choose.
const NO_PROFILE: &str = "none";

/// One case before its values are resolved.
#[derive(Debug, Clone)]
pub(crate) struct UnresolvedCase {
    /// What tells it from the other cases.
    pub label: String,
    /// Every param's value, printed.
    pub params: BTreeMap<String, ParamValue>,
    /// The same, for resolving the scenario's values.
    pub values: ParamValues,
}

/// The outcome of choosing.
#[derive(Debug, Clone)]
pub(crate) struct Chosen {
    pub profile: String,
    pub changed: BTreeMap<String, String>,
    pub cases: Vec<UnresolvedCase>,
    /// The params whose values differ between the cases.
    pub varying: Vec<String>,
    /// The values under `params`, which published rows fall back on.
    pub base: ParamValues,
}

/// `over`: params of a side of a comparison; they win over everything else.
pub(crate) fn choose(
    scenario: &Scenario,
    choices: &Choices,
    over: &[(String, Scalar)],
) -> Result<Chosen, PlanError> {
    let typed = scenario.typed();
    let profile = profile(scenario, choices)?;
    let mut base = ParamValues::default();
    set_all(&mut base, &typed.params);
    let mut values = base.clone();
    if let Some(profile) = profile {
        set_all(&mut values, &profile.params);
    }
    let cases_file = match profile {
        Some(profile) if profile.cases.rows.is_some() || profile.cases.vary.is_some() => &profile.cases,
        _ => &typed.cases,
    };
    let mut set = overridden(&base, &choices.set)?;
    let changed = set.iter().map(|(name, value)| (name.clone(), value.text.clone())).collect();
    set.extend(over.iter().cloned());
    let rows = combinations(&values, cases_file)?;
    let mut cases: Vec<UnresolvedCase> = Vec::new();
    for mut values in rows {
        for (name, value) in &set {
            values.set(name, value.clone());
        }
        let case = resolve(values)?;
        // `--set` of a param that varied makes rows equal; each runs once.
        if !cases.iter().any(|known| known.params == case.params) {
            cases.push(case);
        }
    }
    if choices.target.is_none() && choices.targets.is_empty() {
        check_cases_differ(typed, &cases, cases_file)?;
    }
    let varying = varying(&cases, cases_file, &set);
    let labels = case_labels(&cases.iter().map(|case| &case.params).collect::<Vec<_>>(), &varying);
    for (case, label) in cases.iter_mut().zip(labels) {
        case.label = label;
    }
    let profile = profile.map_or(NO_PROFILE.to_owned(), |profile| profile.name.text.clone());
    Ok(Chosen { profile, changed, cases, varying, base })
}

fn profile<'s>(scenario: &'s Scenario, choices: &Choices) -> Result<Option<&'s ProfileFile>, PlanError> {
    let profiles = &scenario.typed().profiles;
    let find = |name: &str| profiles.iter().find(|profile| profile.name.text == name);
    let Some(name) = &choices.profile else {
        let is_attached = choices.target.is_some() || !choices.targets.is_empty();
        return Ok(find("attached").filter(|_| is_attached).or_else(|| find("laptop")));
    };
    match find(name) {
        Some(profile) => Ok(Some(profile)),
        None => Err(InputError::whole(format!("the scenario has no profile {}", quoted(name)))
            .hint(known_hint(name, scenario.profiles()))),
    }
}

fn set_all(values: &mut ParamValues, pairs: &[(Scalar, Scalar)]) {
    for (name, value) in pairs {
        values.set(&name.text, value.clone());
    }
}

/// `--set` takes names of params only, and bare numbers in the unit of the param. The errors name the option, not the scenario.
fn overridden(base: &ParamValues, set: &[(String, String)]) -> Result<Vec<(String, Scalar)>, PlanError> {
    let mut found = Vec::new();
    for (name, value) in set {
        let option = set_overrides::option(name, value);
        let nowhere = |text: &str| Scalar::assumed(text, set_overrides::NOWHERE);
        let Some(usual) = base.typed(name) else {
            let mut error = unknown_param(&nowhere(name), base.names()).in_file(&option);
            error.place = None;
            return Err(error);
        };
        let typed = nowhere(&units::with_unit_of(value, &usual.text));
        // A circle made by hand would otherwise be reported at a place of the scenario.
        let mut probe = base.clone();
        probe.set(name, typed.clone());
        probe.text(&typed).map_err(|mut error| {
            error.place = None;
            error.in_file(&option)
        })?;
        found.push((name.clone(), typed));
    }
    Ok(found)
}

/// The rows of `cases` times every combination of `vary`.
fn combinations(values: &ParamValues, file: &CasesFile) -> Result<Vec<ParamValues>, PlanError> {
    let one = [RowFile { place: kdyno_scenario::input::TextPosition::default(), values: Vec::new() }];
    let mut rows: Vec<ParamValues> = Vec::new();
    for row in file.rows.as_deref().unwrap_or(&one) {
        let mut values = values.clone();
        set_all(&mut values, &row.values);
        rows.push(values);
    }
    for (name, list) in file.vary.iter().flatten() {
        if rows.len().saturating_mul(list.len()) > CASES_MAX {
            return Err(InputError::at(
                name.place,
                format!("the scenario makes more than {CASES_MAX} cases"),
            ));
        }
        let each = |row: &ParamValues| {
            let row = row.clone();
            list.iter().map(move |value| {
                let mut row = row.clone();
                row.set(&name.text, value.clone());
                row
            })
        };
        rows = rows.iter().flat_map(|row| each(row).collect::<Vec<_>>()).collect();
    }
    if rows.len() > CASES_MAX {
        return Err(InputError::whole(format!("the scenario makes more than {CASES_MAX} cases")));
    }
    Ok(rows)
}

fn resolve(values: ParamValues) -> Result<UnresolvedCase, PlanError> {
    let mut params = BTreeMap::new();
    for name in values.names() {
        let typed = values.typed(name).cloned().unwrap_or_else(|| Scalar::assumed("", Default::default()));
        let text = values.text(&typed)?;
        params.insert(name.to_owned(), param_value(&text, typed.quoted));
    }
    Ok(UnresolvedCase { label: String::new(), params, values })
}

/// A value as the run file keeps it: a number where the text is one and prints as typed.
pub(crate) fn param_value(text: &str, quoted: bool) -> ParamValue {
    if !quoted {
        if let Some(whole) = text.parse::<i64>().ok().filter(|whole| whole.to_string() == text) {
            return ParamValue::Int(whole);
        }
        let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'));
        if let Some(float) = text.parse::<f64>().ok().filter(|float| plain && float.to_string() == text) {
            return ParamValue::Float(float);
        }
    }
    ParamValue::Text(text.to_owned())
}

/// The params named by `cases` and `vary`, in the order in which they first occur there, that differ.
fn varying(cases: &[UnresolvedCase], file: &CasesFile, set: &[(String, Scalar)]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in file.names().map(|name| &name.text) {
        let differs = cases.iter().any(|case| case.params.get(name) != cases[0].params.get(name));
        if differs && !found.contains(name) && !set.iter().any(|(set_overrides, _)| set_overrides == name) {
            found.push(name.clone());
        }
    }
    found
}

/// Refuses cases of a local system that differ in nothing but params that are used nowhere: their author expects a
/// difference, and would take the noise between equal runs for it.
fn check_cases_differ(
    file: &ScenarioFile,
    cases: &[UnresolvedCase],
    chosen: &CasesFile,
) -> Result<(), PlanError> {
    let used = file.params_in(file.values());
    // The values that a case uses, and the first case that has them.
    let mut known: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate() {
        let of_use = case.params.iter().filter(|(name, _)| used.contains(*name));
        let Some(first) = known.insert(of_use.map(|(_, value)| value.to_string()).collect(), index) else {
            continue;
        };
        let differs = |name: &&Scalar| {
            !used.contains(&name.text) && cases[first].params.get(&name.text) != case.params.get(&name.text)
        };
        let Some(name) = chosen.names().find(differs) else { continue };
        let message =
            format!("cases {} and {} do the same; `{}` is used nowhere", first + 1, index + 1, name.text);
        let hint = place_for(&name.text, file);
        let hint = hint.unwrap_or_else(|| format!("insert it with `${}` where it belongs", name.text));
        return Err(InputError::at(name.place, message).hint(hint));
    }
    Ok(())
}

/// The key under which a param was probably meant to be inserted.
pub(crate) fn place_for(name: &str, file: &ScenarioFile) -> Option<String> {
    let values = file.values();
    let literal = |typed: &Scalar| !typed.text.contains('$') && !typed.text.trim_start().starts_with('=');
    let spelt = values.iter().find(|(_, typed)| typed.text == name);
    let alike =
        |key: &str| key == name || key.split('.').next() == Some(name) || key.replace('.', "_") == name;
    let (key, _) = spelt.or_else(|| values.iter().find(|(key, typed)| alike(key) && literal(typed)))?;
    Some(format!("did you mean `{key}: ${name}`?"))
}
