//! Every value of a scenario under its key, and the params that these values insert.

use crate::file::{
    CasesFile, CompareFile, FindFile, LoadFile, MeasureFile, ModeFile, PayloadFile, RateFile, RoleFile,
    ScenarioFile, StorageFile, SystemFile, TransactionsFile,
};
use crate::values::references;
use crate::yaml::{Scalar, YamlNode};
use std::collections::BTreeSet;

/// A key and the value under it, as typed or assumed.
pub type Keyed<'f> = (&'f str, &'f Scalar);

impl SystemFile {
    /// Every value of the section into which params may be inserted.
    pub fn values(&self) -> Vec<Keyed<'_>> {
        let mut found = vec![("brokers", &self.brokers), ("heap", &self.heap), ("metrics", &self.metrics)];
        found.push((self.kafka.key.as_str(), &self.kafka.value));
        found.push(match &self.mode {
            ModeFile::Word(typed) => ("mode", typed),
            ModeFile::Controllers(typed) => ("controllers", typed),
            ModeFile::Zookeeper(typed) => ("zookeeper", typed),
        });
        match &self.storage {
            StorageFile::Word(typed) => found.push(("storage", typed)),
            StorageFile::Dirs(dirs) => found.extend(dirs.iter().map(|dir| ("storage", dir))),
        }
        found.extend(self.cpus.iter().map(|cpus| ("cpus", cpus)));
        found.extend(self.pin.iter().flatten().map(|cpu| ("pin", cpu)));
        found.extend(self.jvm.iter().map(|option| ("jvm", option)));
        found.extend(self.mbeans.iter().map(|one| ("mbeans", one)));
        found.extend(self.racks.iter().map(|rack| ("racks", rack)));
        found.extend(self.quotas.iter().flat_map(|quotas| quotas.all()));
        found.extend(self.zones.iter().flat_map(|zones| zones.all()));
        found.extend(self.strimzi.iter().flat_map(|strimzi| strimzi.all()));
        found.extend(self.proxy.all());
        found.extend(self.config.all());
        let listeners = &self.listeners;
        found.extend([
            ("protocol", &listeners.protocol),
            ("sasl", &listeners.sasl),
            ("tls", &listeners.tls),
            ("certificates", &listeners.certificates),
            ("protocol", &listeners.internal),
            ("authorizer", &listeners.authorizer),
        ]);
        found
    }
}

impl ScenarioFile {
    /// The names of all load items.
    pub fn item_names(&self) -> impl Iterator<Item = &str> {
        let commands = self.commands.iter().map(|(name, _)| name.text.as_str());
        self.load.iter().map(|(name, _)| name.text.as_str()).chain(commands)
    }

    /// The labels of commands whose requests are reported by themselves: what they are called, and the label.
    pub fn labels(&self) -> impl Iterator<Item = &(Scalar, Scalar)> {
        self.commands.iter().flat_map(|(_, item)| &item.labels)
    }

    /// Every value into which params may be inserted, params and published rows aside.
    pub fn values(&self) -> Vec<Keyed<'_>> {
        let mut found = self.system.values();
        found.extend([("repeat", &self.repeat), ("isolation", &self.isolation)]);
        for (_, topic) in &self.topics {
            found.extend([
                ("count", &topic.count),
                ("partitions", &topic.partitions),
                ("replicas", &topic.replicas),
            ]);
            found.extend(settings(&topic.config));
        }
        for (_, item) in &self.load {
            load_values(item, &mut found);
        }
        found.extend(self.commands.iter().flat_map(|(_, item)| item.all()));
        found.extend(self.components.iter().flat_map(|(_, component)| component.all()));
        let phases = &self.phases;
        found.extend([
            ("warmup", &phases.warmup),
            ("condition", &phases.condition),
            ("drain", &phases.drain),
        ]);
        found.extend(self.budget.iter().map(|budget| ("budget", budget)));
        found.extend(self.flame.iter().map(|flame| ("flame", flame)));
        found.extend(self.compare.iter().flat_map(|compare| compare.values()));
        found.extend(self.find.iter().flat_map(|find| find.values()));
        match &self.phases.measure {
            MeasureFile::Time(typed) => found.push(("measure", typed)),
            MeasureFile::Records { records, within } => {
                found.extend([("records", records), ("within", within)]);
            }
            MeasureFile::Until { within, .. } => found.push(("within", within)),
        }
        found
    }

    /// The params that these values insert, also by way of other params. A reference that cannot be read counts
    /// as none: reading the scenario has refused it.
    pub fn params_in<'f>(&'f self, values: impl IntoIterator<Item = Keyed<'f>>) -> BTreeSet<String> {
        let given = self.param_values();
        let names = |typed: &Scalar| references(typed).unwrap_or_default();
        let mut open: Vec<String> = values.into_iter().flat_map(|(_, typed)| names(typed)).collect();
        let mut found = BTreeSet::new();
        while let Some(name) = open.pop() {
            if found.insert(name.clone()) {
                let own = given.iter().filter(|(param, _)| *param == name);
                open.extend(own.flat_map(|(_, value)| names(value)));
            }
        }
        found
    }

    /// Every value that the scenario gives a param, in whichever profile or case.
    fn param_values(&self) -> Vec<Keyed<'_>> {
        let mut found: Vec<Keyed<'_>> = settings(&self.params).collect();
        of_cases(&self.cases, &mut found);
        for profile in &self.profiles {
            found.extend(settings(&profile.params));
            of_cases(&profile.cases, &mut found);
        }
        found
    }
}

impl CompareFile {
    /// Every value into which params may be inserted.
    fn values(&self) -> Vec<Keyed<'_>> {
        let mut found: Vec<Keyed<'_>> = self.looks.iter().map(|look| ("looks", look)).collect();
        found.extend(self.pairs_per_start.iter().map(|pairs| ("pairs_per_start", pairs)));
        found.extend(self.design.iter().map(|design| ("design", design)));
        for side in [&self.a, &self.b] {
            found.extend(side.label.iter().map(|label| ("label", label)));
            leaves("", &side.patch, &mut found);
        }
        found
    }
}

impl FindFile {
    /// Every value into which params may be inserted.
    fn values(&self) -> Vec<Keyed<'_>> {
        let mut found = vec![("highest", &self.highest)];
        let others = [
            ("each", &self.each),
            ("from", &self.from),
            ("to", &self.to),
            ("within", &self.within),
            ("ramp", &self.ramp),
            ("trial", &self.trial),
            ("confirm", &self.confirm),
            ("confirmations", &self.confirmations),
            ("trials", &self.trials),
        ];
        found.extend(others.into_iter().filter_map(|(key, typed)| Some((key, typed.as_ref()?))));
        found.extend(self.conditions.iter().map(|condition| ("while", condition)));
        found
    }
}

/// Every single value under a node, with its key.
fn leaves<'n>(key: &'n str, node: &'n YamlNode, found: &mut Vec<Keyed<'n>>) {
    match node {
        YamlNode::Scalar(typed) => found.push((key, typed)),
        YamlNode::List(_, items) => items.iter().for_each(|item| leaves(key, item, found)),
        YamlNode::Map(_, fields) => fields.iter().for_each(|(name, value)| leaves(&name.text, value, found)),
    }
}

fn of_cases<'f>(cases: &'f CasesFile, found: &mut Vec<Keyed<'f>>) {
    found.extend(cases.rows.iter().flatten().flat_map(|row| settings(&row.values)));
    for (name, values) in cases.vary.iter().flatten() {
        found.extend(values.iter().map(|value| (name.text.as_str(), value)));
    }
}

fn settings(pairs: &[(Scalar, Scalar)]) -> impl Iterator<Item = Keyed<'_>> {
    pairs.iter().map(|(name, value)| (name.text.as_str(), value))
}

fn load_values<'f>(item: &'f LoadFile, found: &mut Vec<Keyed<'f>>) {
    found.extend([("clients", &item.clients), ("zone", &item.zone)]);
    let role = if matches!(item.role, RoleFile::Consume(_)) { "consume" } else { "produce" };
    found.extend(item.topic_list.iter().skip(1).map(|topic| (role, topic)));
    found.extend(item.at.iter().map(|at| (at.key("at"), at.typed())));
    found.extend(item.after.iter().map(|after| ("after", after)));
    found.extend(item.until.iter().map(|until| (until.key("until"), until.typed())));
    found.extend(item.client.all());
    let produce = match &item.role {
        RoleFile::Consume(consume) => {
            found.extend(consume.group.iter().map(|group| ("group", group)));
            found.extend([("consume", &item.topic), ("from", &consume.from), ("read", &consume.read)]);
            return found.extend(consume.work.all());
        }
        RoleFile::EndToEnd { rate, value } => {
            return found.extend([("end_to_end", &item.topic), ("rate", rate), ("value", value)]);
        }
        RoleFile::Produce(produce) => produce,
    };
    found.extend([("produce", &item.topic), ("sending", &produce.sending)]);
    found.extend(produce.value.all());
    found.extend(produce.key.all());
    found.extend(produce.tombstones.iter().map(|share| ("tombstones", share)));
    found.extend(produce.partition.iter().map(|partition| ("partition", partition)));
    found.extend(settings(&produce.headers));
    found.extend(produce.fill.iter().map(|fill| ("fill", fill)));
    found.extend(produce.arrivals.iter().map(|arrivals| ("arrivals", arrivals)));
    match &produce.rate {
        RateFile::Plain(typed) => found.push(("rate", typed)),
        RateFile::Ramp { from, to, over } => found.extend([("from", from), ("to", to), ("over", over)]),
        RateFile::Steps(_, steps) => {
            found.extend(steps.iter().flat_map(|(rate, length)| [("rate", rate), ("for", length)]));
        }
    }
    match &produce.payload {
        PayloadFile::Word(typed) => found.push(("payload", typed)),
        PayloadFile::Pooled(typed) => found.push(("pooled", typed)),
    }
    match &produce.transactions {
        TransactionsFile::Word(typed) => found.push(("transactions", typed)),
        TransactionsFile::Each { every, records, abort } => {
            found.extend(every.iter().map(|every| ("every", every)));
            found.extend(records.iter().map(|records| ("records", records)));
            found.push(("abort", abort));
        }
    }
}
