//! The table to print, and the published figures next to it.

use crate::cases::{Chosen, param_value};
use crate::choices::PlanError;
use kdyno_model::command_metrics;
use kdyno_model::metric::{self, Address, CLIENT_CPU, DRAINED};
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::plan::{CasePlan, ConsumePlan, ParamValue, Published, PublishedRow, Role, Show};
use kdyno_scenario::Scenario;
use kdyno_scenario::input::InputError;
use kdyno_scenario::units;
use std::collections::BTreeMap;

/// The table: as typed, or what the cases differ in and the usual figures of each load item.
pub(crate) fn show(scenario: &Scenario, chosen: &Chosen, cases: &[CasePlan]) -> Result<Show, PlanError> {
    let typed = &scenario.typed().show;
    let rows = match &typed.rows {
        Some(rows) => rows.iter().map(|name| name.text.clone()).collect(),
        None => chosen.varying.clone(),
    };
    let columns = match &typed.columns {
        Some(typed) => {
            for (column, typed) in scenario.columns().iter().zip(typed) {
                broker_exists(&column.subject, cases)
                    .map_err(|message| InputError::at(typed.place, message))?;
            }
            scenario.columns().to_vec()
        }
        None => usual(cases),
    };
    Ok(Show { rows, columns })
}

/// `broker-N` must be a broker of at least one case.
pub(crate) fn broker_exists(subject: &str, cases: &[CasePlan]) -> Result<(), String> {
    let Some(number) = subject.strip_prefix("broker-").and_then(|number| number.parse::<u32>().ok()) else {
        return Ok(());
    };
    let brokers = cases.iter().map(|case| case.system.brokers().unwrap_or(u32::MAX));
    let most = brokers.max().unwrap_or(0);
    if number < most {
        return Ok(());
    }
    Err(format!("there is no `{subject}`: no case has more than {most} brokers, counted from `broker-0`"))
}

/// From so many load items that send on, what all of them send is shown first.
const SUMMED_MIN: usize = 5;

fn usual(cases: &[CasePlan]) -> Vec<Address> {
    let of = |subject: &str, metric: &str| Address { subject: subject.to_owned(), metric: metric.to_owned() };
    let mut found = Vec::new();
    let sends = |case: &CasePlan| case.load.values().filter(|item| item.role.as_produce().is_some()).count();
    if cases.first().is_some_and(|case| sends(case) >= SUMMED_MIN) {
        found.extend(["acked_per_s", "acked_mib_per_s"].map(|metric| of(metric::SUM, metric)));
    }
    let items = cases.first().into_iter().flat_map(|case| case.load.iter().map(move |item| (case, item)));
    for (case, (name, item)) in items {
        let metrics: &[&str] = match item.role {
            Role::Produce(_) => &["acked_per_s", "acked_mib_per_s", "response.p50", "response.p99"],
            // For clients that come later to what is there already the window's rate also counts the time in which
            // nothing was left.
            Role::Consume(_) if item.span.is_late() => &[DRAINED, "caught_up"],
            Role::Consume(_) => &["fetched_per_s", "fetched_wire_mib_per_s"],
            Role::EndToEnd(_) => &["acked_per_s", "response.p99"],
        };
        found.extend(metrics.iter().map(|metric| of(name, metric)));
        // For these it is judged whether they keep up.
        let may_fall_behind = |consume: &ConsumePlan| consume.group.is_some() || consume.work.is_some();
        if item.role.as_consume().is_some_and(may_fall_behind) {
            found.push(of(name, "lag"));
        }
        if case.has_end_to_end(item) {
            found.extend(["end_to_end.p50", "end_to_end.p99"].map(|metric| of(name, metric)));
        }
        // What the workers take is no part of it.
        if cases.iter().any(|case| case.load.get(name).is_some_and(|item| item.driver.as_java().is_some())) {
            found.push(of(name, CLIENT_CPU));
        }
    }
    for (name, command) in cases.iter().take(1).flat_map(|case| &case.commands) {
        if !matches!(command.http, Some(HttpLoad::Users(_))) {
            found.push(of(name, command_metrics::DURATION));
        }
        if command.parse.is_some() {
            let reported = [command_metrics::REQUESTS_PER_S, "response.mean", "response.p95"];
            found.extend(reported.map(|metric| of(name, metric)));
        }
        let labels = command.labels();
        found.extend(
            labels.flat_map(|label| ["response.mean", "response.p95"].map(|metric| of(label, metric))),
        );
    }
    if cases.iter().any(|case| !case.load.is_empty()) {
        found.extend([of("brokers", "cpu_us_per_record"), of("workers", "cpu_us_per_record")]);
    }
    found
}

/// The published rows, each with a value for every param that heads the table's rows.
pub(crate) fn published(scenario: &Scenario, chosen: &Chosen) -> Result<Option<Published>, PlanError> {
    let (Some(typed), Some(checked)) = (&scenario.typed().published, scenario.published()) else {
        return Ok(None);
    };
    let heads = scenario.typed().show.rows.iter().flatten().map(|name| name.text.clone());
    let heads: Vec<String> = heads.chain(chosen.varying.clone()).collect();
    let mut rows = Vec::new();
    for row in &checked.rows {
        let mut values = chosen.base.clone();
        for (name, value) in &row.params {
            values.set(name, value.clone());
        }
        let mut params = BTreeMap::new();
        for name in row.params.iter().map(|(name, _)| name).chain(&heads) {
            let Some(typed) = values.typed(name) else { continue };
            let value = param_value(&values.text(typed)?, typed.quoted);
            params.insert(name.clone(), as_in_cases(name, value, chosen));
        }
        rows.push(PublishedRow { params, values: row.values.clone() });
    }
    Ok(Some(Published {
        title: typed.title.clone(),
        date: typed.date.clone(),
        hardware: typed.hardware.clone(),
        definition: typed.definition.clone(),
        rows,
    }))
}

/// The spelling a case uses for the same quantity (`1KiB` for `1024B`), so that equal values compare equal.
pub(crate) fn as_in_cases(name: &str, value: ParamValue, chosen: &Chosen) -> ParamValue {
    let quantity = |value: &ParamValue| units::parse(&value.to_string());
    let own = quantity(&value);
    let same = |other: &&ParamValue| **other == value || own.is_some() && quantity(other) == own;
    chosen.cases.iter().filter_map(|case| case.params.get(name)).find(same).cloned().unwrap_or(value)
}
