//! Brokers' settings for the topics that Kafka makes for itself: how often they are replicated must fit the cluster, or a
//! group finds no coordinator and a transaction never starts.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_model::plan::{LoadPlan, SystemPlan};
use std::collections::BTreeMap;

/// A setting that may not be above the number of brokers, what needs its topic, and whether a load item is that.
type Bounded = (&'static str, &'static str, fn(&LoadPlan) -> bool);

const BOUNDED: [Bounded; 3] = [
    ("offsets.topic.replication.factor", "a group", |item| item.role.group().is_some()),
    ("transaction.state.log.replication.factor", "transactions", has_transactions),
    ("transaction.state.log.min.isr", "transactions", has_transactions),
];

fn has_transactions(item: &LoadPlan) -> bool {
    item.role.as_produce().is_some_and(|produce| produce.transactions.is_some())
}

/// Refuses a local cluster whose settings leave the load without the internal topic that it needs.
///
/// # Errors
/// A setting of [`BOUNDED`] is above the number of brokers, and an item needs its topic.
pub(crate) fn check(
    reader: &CaseReader<'_>,
    system: &SystemPlan,
    load: &BTreeMap<String, LoadPlan>,
) -> Result<(), PlanError> {
    let Some(cluster) = system.cluster() else { return Ok(()) };
    let typed = &reader.scenario.typed().system.config;
    for (name, what, needs) in &BOUNDED {
        let key = typed.settings.iter().find(|(key, _)| key.text == *name).map(|(key, _)| key);
        let Some(place) = key.or(typed.file.as_ref()) else { continue };
        let given = cluster.config.get(*name).and_then(|value| value.parse::<u32>().ok());
        let Some(given) = given.filter(|given| *given > cluster.brokers) else { continue };
        let Some((item, _)) = load.iter().find(|(_, item)| needs(item)) else { continue };
        let brokers = cluster.brokers;
        let plural = if brokers == 1 { "" } else { "s" };
        let message = format!(
            "`{name}` is {given}, but the cluster has {brokers} broker{plural}: `{item}` needs {what}, and brokers cannot make \
             its internal topic"
        );
        let hint = match key {
            Some(_) => format!("leave it out (kdyno sets what fits), or write at most {brokers}"),
            None => format!("start {given} brokers, or write `{name}: {brokers}` next to `file`"),
        };
        return Err(reader.wrong(place, message).hint(hint));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::choices::Choices;
    use kdyno_scenario::Scenario;

    fn refused(brokers: u32, config: &str, load: &str) -> Option<String> {
        let text = format!(
            "kdyno: 1\nid: x\nquestion: why?\nsystem: {{brokers: {brokers}, config: {{{config}}}}}\n\
             topics: {{t: {{partitions: 1}}}}\nload: {{w: {{produce: t, rate: 1/s, value: 1KiB{load}}}}}\n\
             phases: {{measure: 1s}}\n"
        );
        let scenario = Scenario::parse(&text, "x.yaml").expect("a scenario");
        crate::plan(&scenario, &Choices::default()).err().map(|error| error.to_string())
    }

    #[test]
    fn a_factor_above_the_broker_count_is_refused_where_it_matters() {
        let group = "}, r: {consume: t, group: g";
        let found = refused(1, "offsets.topic.replication.factor: 3", group).expect("no group can be");
        assert!(
            found.contains(
                "`offsets.topic.replication.factor` is 3, but the cluster has 1 broker: `r` needs a group"
            ),
            "{found}"
        );
        assert_eq!(refused(3, "offsets.topic.replication.factor: 3", group), None, "it fits");
        assert_eq!(refused(1, "offsets.topic.replication.factor: 3", ""), None, "nothing needs it");
        let transactions = ", transactions: {every: 1s}";
        for name in ["transaction.state.log.replication.factor", "transaction.state.log.min.isr"] {
            let found = refused(2, &format!("{name}: 3"), transactions).expect("no transaction can be");
            assert!(found.contains(&format!("`{name}` is 3, but the cluster has 2 brokers")), "{found}");
            assert_eq!(refused(2, &format!("{name}: 3"), group), None, "groups need another one");
        }
    }
}
