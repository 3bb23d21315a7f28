//! With which settings kdyno's own clients run: what is planned, and the defaults of the client whose defaults they
//! take.

use kdyno_model::plan::{CasePlan, ConsumePlan, GroupPlan, LoadPlan, ProducerSettings, Role};
use kdyno_model::run::{SettingInForce, SettingOrigin, SettingsInForce};
use kdyno_model::version::Version;
use kdyno_scenario::client::{classic_defaults, consumer_defaults, group_defaults, producer_defaults};
use std::collections::BTreeMap;

/// Settings of each load item that kdyno's own client runs, by its address. A Java client reports its settings by
/// itself.
pub fn clients_in_force(case: &CasePlan) -> BTreeMap<String, SettingsInForce> {
    let native = case.load.iter().filter(|(_, item)| item.driver.is_native());
    native.map(|(name, item)| (name.clone(), of_item(item))).collect()
}

fn of_item(item: &LoadPlan) -> SettingsInForce {
    match &item.role {
        Role::Produce(produce) => of_producer(&produce.client),
        Role::Consume(consume) => of_consumer(consume),
        // It fetches with the same settings always.
        Role::EndToEnd(probe) => of_producer(&probe.produce.client),
    }
}

fn of_producer(settings: &ProducerSettings) -> SettingsInForce {
    let version = Version::of_client(&settings.defaults).unwrap_or_else(|_| Version::newest());
    let mut defaults = producer_defaults(&version).named();
    if let Some(levels) = settings.compression.levels() {
        defaults.push((levels.setting, levels.default.to_string()));
    }
    with_origins(settings.named(), defaults)
}

fn of_consumer(settings: &ConsumePlan) -> SettingsInForce {
    let mut defaults = consumer_defaults(settings.from, settings.read).named();
    if let Some(group) = &settings.group {
        defaults.extend(group_defaults(&defaults_of(group), group.name.clone()).settings());
    }
    with_origins(settings.named(), defaults)
}

/// The version whose defaults a group's members take. It is not kept, and the protocol's defaults changed once, with 3.0: who
/// has all of those of before took them.
fn defaults_of(group: &GroupPlan) -> Version {
    let before = Version::of_client("2.8").unwrap_or_else(|_| Version::newest());
    if group.protocol == classic_defaults(&before) { before } else { Version::newest() }
}

/// A value that equals the default is one: typing it would have the same effect. For settings without a default here it
/// is not said whether they were set.
fn with_origins(
    named: Vec<(&'static str, String)>,
    defaults: Vec<(&'static str, String)>,
) -> SettingsInForce {
    let defaults: BTreeMap<&str, String> = defaults.into_iter().collect();
    let in_force = |(name, value): (&str, String)| {
        let default = defaults.get(name);
        let origin = match default {
            None => SettingOrigin::Unknown,
            Some(default) if *default == value => SettingOrigin::Default,
            Some(_) => SettingOrigin::Client,
        };
        (name.to_owned(), SettingInForce::new(origin, value).with_default(default.cloned()))
    };
    named.into_iter().map(in_force).collect()
}
