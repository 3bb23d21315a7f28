//! Settings of clients: Java's as they report them, kdyno's own as planned.

use super::clusters::OfBoth;
use super::differences::{SettingValues, because, differences as between, in_force};
use kdyno_model::conclusion::{SettingDiffers, WhyDiffers};
use kdyno_model::finding::Scope;
use kdyno_model::plan::{CasePlan, LoadPlan, ProducePlan, Role};
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce};
use kdyno_model::units;
use std::collections::BTreeSet;
use std::mem::discriminant;

/// Differences of the load: both sides are made from one scenario, so each comes from what was asked to differ, or is a
/// default of another version or of another client.
pub(super) fn differences(scope: Scope, cases: [&CasePlan; 2], reported: &OfBoth<'_>) -> Vec<SettingDiffers> {
    let items: BTreeSet<&String> = cases.iter().flat_map(|case| case.load.keys()).collect();
    let of_item = |item: &String| {
        let plans = cases.map(|case| case.load.get(item));
        let mut found = between_plans(scope, item, plans, around);
        let reported = reported.each_ref().map(|side| side.get(item.as_str()).copied());
        match (reported, plans) {
            ([Some(a), Some(b)], [Some(of_a), Some(of_b)]) => {
                let is_same_client = discriminant(&of_a.driver) == discriminant(&of_b.driver);
                found.extend(between_clients(scope, item, [a, b], is_same_client));
            }
            _ => found.extend(between_plans(scope, item, plans, named)),
        }
        found.sort_by(|a, b| a.setting.cmp(&b.setting));
        found
    };
    items.into_iter().flat_map(of_item).collect()
}

fn between_plans(
    scope: Scope,
    item: &str,
    plans: [Option<&LoadPlan>; 2],
    settings: fn(&LoadPlan) -> SettingValues,
) -> Vec<SettingDiffers> {
    let [a, b] = plans.map(|plan| plan.map(settings).unwrap_or_default());
    between(scope, item, &a, &b)
}

/// What clients reported. For another kind of client only what both have: each has settings that the other does not
/// know.
fn between_clients(
    scope: Scope,
    item: &str,
    [a, b]: [&SettingsInForce; 2],
    is_same_client: bool,
) -> Vec<SettingDiffers> {
    let both = |sides: &[Option<&SettingInForce>; 2]| sides.iter().all(Option::is_some);
    let found = in_force(scope, item, a, b).into_iter();
    let found = found.filter(|(_, sides)| is_same_client || both(sides));
    found.map(|(setting, sides)| because(setting, why(sides))).collect()
}

fn why(sides: [Option<&SettingInForce>; 2]) -> WhyDiffers {
    let origins = sides.map(|setting| setting.map(|setting| setting.origin));
    match origins {
        _ if sides.iter().flatten().any(|setting| setting.is_set()) => WhyDiffers::Asked,
        [a, b] if [a, b].into_iter().flatten().all(|origin| origin == SettingOrigin::Default) => {
            WhyDiffers::OtherDefault
        }
        _ => WhyDiffers::ComesWith,
    }
}

/// A load item's settings under Kafka's names, as planned.
fn named(item: &LoadPlan) -> SettingValues {
    let found = match &item.role {
        Role::Produce(produce) => produce.client.named(),
        Role::Consume(consume) => consume.named(),
        // It fetches with the same settings always.
        Role::EndToEnd(probe) => probe.produce.client.named(),
    };
    let mut found: SettingValues = found.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    // What is passed on to a Java client and has no effect on kdyno's own.
    for (name, value) in item.driver.as_java().into_iter().flat_map(|java| &java.properties) {
        found.entry(name.clone()).or_insert_with(|| value.clone());
    }
    found
}

/// What a load item does that is no setting of Kafka's.
fn around(item: &LoadPlan) -> SettingValues {
    let mut found = match &item.role {
        Role::Produce(produce) => around_producer(produce),
        Role::Consume(consume) => {
            let group = consume.group.as_ref().map(|group| ("group", group.name.clone()));
            [("read", consume.read.name().to_owned())].into_iter().chain(group).collect()
        }
        Role::EndToEnd(probe) => around_producer(&probe.produce),
    };
    found.push(("clients", item.clients.to_string()));
    found.push(("driver", item.driver.to_string()));
    found.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn around_producer(produce: &ProducePlan) -> Vec<(&'static str, String)> {
    let mut found = vec![
        ("sending", if produce.synchronous { "sync" } else { "async" }.to_owned()),
        ("transactions", transactions_text(produce)),
    ];
    found.extend(produce.records.described(produce.value_bytes));
    found
}

fn transactions_text(produce: &ProducePlan) -> String {
    let Some(transactions) = produce.transactions else { return "none".to_owned() };
    let records = transactions.records.map(|records| format!("{} records or ", units::count(records as f64)));
    format!(
        "{}every {} ms, {} % aborted, transaction.timeout.ms {}",
        records.unwrap_or_default(),
        transactions.every_ns as f64 / 1e6,
        units::significant(transactions.abort_share * 100.0),
        produce.client.transaction_timeout_ns as f64 / 1e6
    )
}
