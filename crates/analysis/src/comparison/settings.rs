//! What was in force on both sides of a comparison, and what of it nobody asked for.

use crate::marks;
use kdyno_model::caveat::{Caveat, Concern, ScopedCaveat, Severity};
use kdyno_model::conclusion::{Conclusion, Says, SettingDiffers};
use kdyno_model::event::Subject;
use kdyno_model::finding::Scope;
use kdyno_model::identity::says_who;
use kdyno_model::outcome::Judgement;
use kdyno_model::plan::{CasePlan, ComparePlan, ConsumePlan, LoadPlan, Plan, ProducePlan, Role, SystemPlan};
use kdyno_model::run::{BrokerSettings, SettingInForce, TrialStart};
use kdyno_model::units;
use std::collections::{BTreeMap, BTreeSet};

/// Whose settings brokers' are.
const BROKERS: &str = "brokers";

type Settings = BTreeMap<String, String>;

/// Every setting that is not the same on both sides, of brokers as they tell them and of clients as the plan has them; and
/// a caveat for each that was not asked for: it may be what the verdict is about. `trials` are those of the run.
///
/// What the comparison changes, what `may_differ` names, and what comes with another version, mode or listeners is
/// declared; on clusters that are not ours, defaults where they declare other versions. Settings that only say who a broker
/// is are left out. Where each side has several clusters, those of each turn are compared, and those of a side with each
/// other; and the brokers of each cluster.
pub fn settings(plan: &Plan, compared: &ComparePlan, trials: &[TrialStart]) -> Judgement {
    let mut found = Judgement::default();
    for ((case, a), b) in (0u32..).zip(&plan.cases).zip(&compared.b) {
        let scope = Scope::Comparison { case };
        for setting in of_clients(scope, a, b) {
            found.conclusions.push(Conclusion::SettingDiffers(setting));
        }
        let of_case: Vec<&TrialStart> = trials.iter().filter(|start| start.trial.case == case).collect();
        let clusters: Vec<Clusters<'_>> = (0..compared.clusters())
            .filter_map(|turn| Clusters::of(plan, compared, case, turn, &of_case))
            .collect();
        of_brokers(scope, compared, &clusters, &mut found);
        found.caveats.extend([0, 1].into_iter().filter_map(|side| within_side(scope, side, &clusters)));
        found.caveats.extend([0, 1].into_iter().filter_map(|side| within_clusters(scope, side, &clusters)));
    }
    found
}

/// A comparison with an invalid caveat of its own, such as a setting that was not asked to differ, has no verdict.
pub fn void(judged: &mut Judgement) {
    let Judgement { findings, caveats, conclusions } = judged;
    let invalid = |caveat: &&ScopedCaveat| {
        caveat.severity == Severity::Invalid && matches!(caveat.scope, Scope::Comparison { .. })
    };
    for caveat in caveats.iter().filter(invalid) {
        let reason = match &caveat.caveat {
            Caveat::UndeclaredDifference { whose, setting, a, b } => {
                format!("{setting} of {whose} is {a} on side A and {b} on side B, which was not asked for")
            }
            _ => "the evidence of this comparison must not be used".to_owned(),
        };
        for conclusion in conclusions.iter_mut() {
            if let Conclusion::Verdict(verdict) = conclusion
                && verdict.scope == caveat.scope
                && !matches!(verdict.says, Says::Invalid { .. })
            {
                verdict.says = Says::Invalid { reason: reason.clone() };
            }
        }
    }
    marks::invalid(findings, caveats);
}

/// One cluster of each side, on which pairs run in turn.
struct Clusters<'a> {
    systems: [&'a SystemPlan; 2],
    /// Side A and side B: whether a trial ran there, and what its brokers told: the first, and those with other settings.
    has_run: [bool; 2],
    in_force: [Vec<(&'a Subject, &'a BrokerSettings)>; 2],
}

impl<'a> Clusters<'a> {
    fn of(
        plan: &'a Plan,
        compared: &'a ComparePlan,
        case: u32,
        turn: u32,
        trials: &[&'a TrialStart],
    ) -> Option<Self> {
        let system = |side| Some(&compared.effective(&plan.cases, side, case, turn + 1)?.system);
        // What conditions clusters is of no pair: it runs on those of the first turn.
        let of_turn =
            |start: &TrialStart| start.trial.pair.map_or(0, |place| compared.turn(place.pair)) == turn;
        let of_side = |side: &'static str| {
            let trials = trials.iter().copied().filter(move |start| of_turn(start));
            trials.filter(move |start| start.trial.variant.as_deref() == Some(side))
        };
        Some(Self {
            systems: [system(0)?, system(1)?],
            has_run: ComparePlan::SIDES.map(|side| of_side(side).any(|start| !start.trial.is_conditioning())),
            in_force: ComparePlan::SIDES.map(|side| of_side(side).find_map(in_force).unwrap_or_default()),
        })
    }

    /// The settings of a side's first broker; `None`: nobody told any.
    fn of_side(&self, side: usize) -> Option<&'a BrokerSettings> {
        self.in_force[side].first().map(|(_, settings)| *settings)
    }

    fn name(&self, side: usize) -> &str {
        match self.systems[side] {
            SystemPlan::Attached(target) => &target.target,
            SystemPlan::Local(_) => "a local cluster",
            SystemPlan::NullBroker(_) => "a null broker",
        }
    }
}

/// Where a setting differs with the same values.
#[derive(Default)]
struct Differs {
    /// The names of both clusters of each turn.
    on: Vec<String>,
    /// The worst of all turns.
    severity: Option<Severity>,
}

/// Differences of the brokers' settings, turn by turn; those that are the same on all clusters are told once.
fn of_brokers(scope: Scope, compared: &ComparePlan, clusters: &[Clusters<'_>], found: &mut Judgement) {
    // By setting and its values.
    let mut differ: BTreeMap<(String, String, String), Differs> = BTreeMap::new();
    let mut told = 0;
    for on in clusters {
        let [Some(of_a), Some(of_b)] = [on.of_side(0), on.of_side(1)] else { continue };
        told += 1;
        for setting in of_two_brokers(scope, of_a, of_b) {
            let is_set =
                [of_a, of_b].iter().any(|of| of.get(&setting.setting).is_some_and(SettingInForce::is_set));
            let severity = severity(&setting.setting, compared, on.systems, is_set);
            let entry = differ.entry((setting.setting, setting.a, setting.b)).or_default();
            entry.on.push(format!("{} and {}", on.name(0), on.name(1)));
            entry.severity = entry.severity.max(severity);
        }
    }
    // Of trials that ran, settings that nobody could read may differ in anything.
    let is_unread =
        |on: &Clusters<'_>| [0, 1].iter().any(|side| on.has_run[*side] && on.of_side(*side).is_none());
    if clusters.iter().any(is_unread) {
        found.caveats.push(not_compared(scope));
    }
    for ((setting, a, b), Differs { on, severity }) in differ {
        let whose =
            if on.len() == told { BROKERS.to_owned() } else { format!("{BROKERS} of {}", on.join(", ")) };
        let setting = SettingDiffers { scope, whose, setting, a, b, declared: severity.is_none() };
        found.caveats.extend(severity.map(|severity| undeclared(&setting, severity)));
        found.conclusions.push(Conclusion::SettingDiffers(setting));
    }
}

/// Settings in which clusters of one side differ from the first of them that told any.
fn within_side(scope: Scope, side: usize, clusters: &[Clusters<'_>]) -> Option<ScopedCaveat> {
    let mut told = clusters.iter().filter_map(|on| Some((on.name(side), on.of_side(side)?)));
    let (of, first) = told.next()?;
    let mut differ: BTreeMap<String, String> = BTreeMap::new();
    for (other, settings) in told {
        for one in of_two_brokers(scope, first, settings) {
            let text = format!("{} is {} on {of} and {} on {other}", one.setting, one.a, one.b);
            differ.entry(one.setting).or_insert(text);
        }
    }
    on_one_side(scope, side, differ, |side, settings, first| Caveat::ClustersDiffer { side, settings, first })
}

/// Settings in which a broker differs from the first one of its cluster, on any cluster of a side.
fn within_clusters(scope: Scope, side: usize, clusters: &[Clusters<'_>]) -> Option<ScopedCaveat> {
    let mut differ: BTreeMap<String, String> = BTreeMap::new();
    for on in clusters {
        let Some(((first, settings), others)) = on.in_force[side].split_first() else { continue };
        for (other, of_other) in others {
            for one in of_two_brokers(scope, settings, of_other) {
                let SettingDiffers { setting, a, b, .. } = &one;
                let text = format!("{setting} is {a} on {first} and {b} on {other} of {}", on.name(side));
                differ.entry(one.setting).or_insert(text);
            }
        }
    }
    on_one_side(scope, side, differ, |side, settings, first| Caveat::BrokersDiffer { side, settings, first })
}

/// A warning of settings that differ on one side: which, how many, and the first in words; `None`: none does.
fn on_one_side(
    scope: Scope,
    side: usize,
    differ: BTreeMap<String, String>,
    caveat: fn(String, u32, String) -> Caveat,
) -> Option<ScopedCaveat> {
    let settings = u32::try_from(differ.len()).unwrap_or(u32::MAX);
    let caveat = caveat(ComparePlan::SIDES[side].to_owned(), settings, differ.into_values().next()?);
    Some(ScopedCaveat { scope, severity: Severity::Warning, concerns: Concern::Everything, caveat })
}

/// What the brokers told that told any; `None`: none did. A broker with the settings of the first one tells none.
fn in_force(start: &TrialStart) -> Option<Vec<(&Subject, &BrokerSettings)>> {
    let told = start.settings.iter().filter(|(_, settings)| !settings.is_empty());
    let told: Vec<_> = told.filter(|(subject, _)| matches!(subject, Subject::Broker(_))).collect();
    (!told.is_empty()).then_some(told)
}

/// Differences between two brokers but for who and where they are.
fn of_two_brokers(scope: Scope, a: &BrokerSettings, b: &BrokerSettings) -> Vec<SettingDiffers> {
    let values = |of: &BrokerSettings| -> Settings {
        let told = of.iter().filter(|(name, _)| !says_who(name));
        told.map(|(name, setting)| (name.clone(), setting.value().to_owned())).collect()
    };
    differences(scope, BROKERS, &values(a), &values(b))
}

/// Every name with two values, or one on one side only.
fn differences(scope: Scope, whose: &str, a: &Settings, b: &Settings) -> Vec<SettingDiffers> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let value = |of: &Settings, name: &String| of.get(name).map_or("-", String::as_str).to_owned();
    let differ = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let told = differ.map(|name| SettingDiffers {
        scope,
        whose: whose.to_owned(),
        setting: name.clone(),
        a: value(a, name),
        b: value(b, name),
        declared: true,
    });
    told.collect()
}

/// How bad it is that a broker setting differs, on one side of which it `is_set` and no default; `None`: it is part of what
/// was asked for.
fn severity(
    setting: &str,
    compared: &ComparePlan,
    systems: [&SystemPlan; 2],
    is_set: bool,
) -> Option<Severity> {
    let path = format!("system.config.{setting}");
    let names = |entry: &String| {
        let entry = entry.trim_end_matches(".*");
        entry == setting
            || path == entry
            || path.strip_prefix(entry).is_some_and(|rest| rest.starts_with('.'))
    };
    if compared.may_differ.iter().any(names) {
        return None;
    }
    let is_asked = match systems {
        [SystemPlan::Local(a), SystemPlan::Local(b)] => {
            let [of_a, of_b] = [a, b].map(|cluster| cluster.config.get(setting));
            // Neither side sets it, so it is a default, and another version or mode has others; or it belongs to listeners.
            let is_another = a.kafka != b.kafka
                || a.mode != b.mode
                || a.brokers != b.brokers
                || a.listeners != b.listeners;
            of_a != of_b || (of_a.is_none() && is_another)
        }
        [SystemPlan::Attached(a), SystemPlan::Attached(b)] if a.cluster_id != b.cluster_id => {
            match a.version().zip(b.version()) {
                // A release's own file sets some too, others than that of the next: so it is told, and voids nothing.
                Some((a, b)) if a != b && is_set => return Some(Severity::Warning),
                // Another version has other defaults.
                Some((a, b)) => a != b,
                // Nobody said whether the same runs on both, so it is told and voids nothing.
                None => return Some(Severity::Warning),
            }
        }
        _ => false,
    };
    (!is_asked).then_some(Severity::Invalid)
}

fn not_compared(scope: Scope) -> ScopedCaveat {
    let detail =
        "the brokers' settings could not be read on both sides, so they were not compared".to_owned();
    let caveat = Caveat::EvidenceOfRuns { detail };
    ScopedCaveat { scope, severity: Severity::Warning, concerns: Concern::Everything, caveat }
}

fn undeclared(setting: &SettingDiffers, severity: Severity) -> ScopedCaveat {
    let SettingDiffers { scope, whose, setting, a, b, .. } = setting.clone();
    let caveat = Caveat::UndeclaredDifference { whose, setting, a, b };
    ScopedCaveat { scope, severity, concerns: Concern::Everything, caveat }
}

/// Differences of the load: both sides are made from one scenario, so each comes from what was asked to differ, or from
/// the defaults of another version.
fn of_clients(scope: Scope, a: &CasePlan, b: &CasePlan) -> Vec<SettingDiffers> {
    let items: BTreeSet<&String> = a.load.keys().chain(b.load.keys()).collect();
    let settings = |case: &CasePlan, item: &String| case.load.get(item).map(of_item).unwrap_or_default();
    items
        .into_iter()
        .flat_map(|item| differences(scope, item, &settings(a, item), &settings(b, item)))
        .collect()
}

/// A load item's settings in Kafka's names where it has them.
fn of_item(item: &LoadPlan) -> Settings {
    let mut found = match &item.role {
        Role::Produce(produce) => of_producer(produce),
        Role::Consume(consume) => of_consumer(consume),
        // It fetches with the same settings always.
        Role::EndToEnd(probe) => of_producer(&probe.produce),
    };
    found.push(("clients", item.clients.to_string()));
    found.push(("driver", item.driver.to_string()));
    let mut found: Settings = found.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    // What is passed on to a Java client and has no effect on kdyno's own.
    for (name, value) in item.driver.as_java().into_iter().flat_map(|java| &java.properties) {
        found.entry(name.clone()).or_insert_with(|| value.clone());
    }
    found
}

fn ms(ns: u64) -> String {
    format!("{}", ns as f64 / 1e6)
}

fn of_producer(produce: &ProducePlan) -> Vec<(&'static str, String)> {
    let client = &produce.client;
    let records = produce.records.described(produce.value_bytes);
    let mut found = vec![
        ("acks", client.acks.to_string()),
        ("batch.size", client.batch_bytes.to_string()),
        ("linger.ms", ms(client.linger_ns)),
        ("buffer.memory", client.buffer_bytes.to_string()),
        ("max.request.size", client.request_bytes_max.to_string()),
        ("max.in.flight.requests.per.connection", client.in_flight_max.to_string()),
        ("compression.type", format!("{:?}", client.compression).to_lowercase()),
        ("max.block.ms", ms(client.max_block_ns)),
        ("request.timeout.ms", ms(client.request_timeout_ns)),
        ("delivery.timeout.ms", ms(client.delivery_timeout_ns)),
        ("retry.backoff.ms", ms(client.retry_backoff_ns)),
        ("retry.backoff.max.ms", ms(client.retry_backoff_max_ns)),
        ("metadata.max.age.ms", ms(client.metadata_max_age_ns)),
        ("enable.idempotence", client.enable_idempotence.to_string()),
        ("partitioner.adaptive.partitioning.enable", client.adaptive_partitioning.to_string()),
        ("partitioner.availability.timeout.ms", ms(client.availability_timeout_ns)),
        ("partitioner", format!("{:?}", client.partitioner).to_lowercase()),
        ("partitioner.ignore.keys", client.ignore_keys.to_string()),
        ("sending", if produce.synchronous { "sync" } else { "async" }.to_owned()),
        ("transactions", transactions_text(produce)),
    ];
    found.extend(client.level().map(|(setting, level)| (setting, level.to_string())));
    found.extend(records);
    found
}

fn transactions_text(produce: &ProducePlan) -> String {
    let Some(transactions) = produce.transactions else { return "none".to_owned() };
    format!(
        "every {} ms, {} % aborted, transaction.timeout.ms {}",
        ms(transactions.every_ns),
        units::significant(transactions.abort_share * 100.0),
        ms(produce.client.transaction_timeout_ns)
    )
}

fn of_consumer(consume: &ConsumePlan) -> Vec<(&'static str, String)> {
    let mut found = vec![
        ("fetch.max.bytes", consume.fetch_bytes_max.to_string()),
        ("max.partition.fetch.bytes", consume.partition_bytes_max.to_string()),
        ("fetch.min.bytes", consume.fetch_bytes_min.to_string()),
        ("fetch.max.wait.ms", ms(consume.fetch_wait_ns)),
        ("request.timeout.ms", ms(consume.request_timeout_ns)),
        ("retry.backoff.ms", ms(consume.retry_backoff_ns)),
        ("isolation.level", consume.isolation_level.name().to_owned()),
        ("client.rack", consume.rack.clone()),
        ("read", consume.read.name().to_owned()),
    ];
    if let Some(group) = &consume.group {
        found.push(("group", group.name.clone()));
        found.extend(group.settings());
    }
    found
}
