//! Topics of a scenario by their addresses: one, or with a `count` as many that are alike.

use crate::choices::PlanError;
use crate::reader::CaseReader;
use kdyno_scenario::file::{LoadFile, TopicFile};
use kdyno_scenario::input::quoted;
use kdyno_scenario::yaml::Scalar;
use kdyno_scenario::{is_topic_name, unknown_topic};
use std::collections::BTreeSet;

/// Most topics of one `count`.
pub(crate) const COUNT_MAX: u32 = 1_000;
/// Digits that a number has at least.
const DIGITS: usize = 3;

/// The addresses of a topic: its name, or where there are several, its name with a number.
pub(crate) fn addresses(
    reader: &CaseReader<'_>,
    name: &Scalar,
    typed: &TopicFile,
) -> Result<Vec<String>, PlanError> {
    let count = reader.small(&typed.count, "count", 1..=COUNT_MAX)?;
    if count == 1 {
        return Ok(vec![name.text.clone()]);
    }
    let digits = count.to_string().len().max(DIGITS);
    let all: Vec<String> = (1..=count).map(|number| format!("{}-{number:0digits$}", name.text)).collect();
    match all.iter().all(|address| is_topic_name(address)) {
        true => Ok(all),
        false => Err(reader
            .wrong(name, format!("`{}` leaves no room for the number of a topic", name.text))
            .hint("shorten the name")),
    }
}

/// The addresses of the topics that a load item names. Those of a list are sorted, so that items with the same topics have them in
/// the same order.
pub(crate) fn of_item(reader: &CaseReader<'_>, item: &LoadFile) -> Result<Vec<String>, PlanError> {
    if item.topic_list.is_empty() {
        return of_name(reader, &item.topic);
    }
    let mut all = BTreeSet::new();
    for typed in &item.topic_list {
        for address in of_name(reader, typed)? {
            if !all.insert(address) {
                let message = format!("{} is twice in the list of topics", quoted(&reader.text(typed)?));
                return Err(reader.wrong(typed, message));
            }
        }
    }
    match u32::try_from(all.len()) {
        Ok(..=COUNT_MAX) => Ok(all.into_iter().collect()),
        _ => {
            let message = format!("a client has at most {COUNT_MAX} topics, and these are {}", all.len());
            Err(reader.wrong(&item.topic, message).hint("a lower `count` of a topic, or two load items"))
        }
    }
}

/// The addresses of a topic that is named.
fn of_name(reader: &CaseReader<'_>, typed: &Scalar) -> Result<Vec<String>, PlanError> {
    let scenario = reader.scenario.typed();
    let text = reader.text(typed)?;
    match scenario.topics.iter().find(|(name, _)| name.text == text) {
        Some((name, topic)) => addresses(reader, name, topic),
        None => Err(unknown_topic(&Scalar { text, ..typed.clone() }, scenario)),
    }
}
