//! Groups that a target names: their lag over all topics on which they have committed, whether the run uses these or not.

use super::{LogsLook, LogsReader, OFFSETS_MAX};
use kdyno_kafka::admin::{Admin, Committed};
use kdyno_kafka::errors::ErrorCode;
use std::collections::{BTreeMap, BTreeSet};

impl LogsReader {
    /// Reads them. `coordinators`: which broker lists which of them; `is_all`: every broker said which groups it has.
    pub(super) fn lag_of_named(
        &mut self,
        admin: &mut Admin,
        coordinators: &BTreeMap<String, i32>,
        is_all: bool,
        look: &mut LogsLook,
    ) {
        for group in self.watched.named.clone() {
            let why = match coordinators.get(&group) {
                // What a broker does not answer is reported as such.
                None if !is_all => continue,
                None => "no broker lists it; it is not there, or the user may not describe it".to_owned(),
                Some(_) if !look.has_time() => "the brokers are slow to answer".to_owned(),
                Some(broker) => match self.lag_of_one(admin, *broker, &group, look) {
                    Ok(()) => continue,
                    Err(why) => why,
                },
            };
            self.not_read(look, &format!("the lag of group {group}"), &why);
        }
    }

    /// The error is a clause.
    fn lag_of_one(
        &mut self,
        admin: &mut Admin,
        coordinator: i32,
        group: &str,
        look: &mut LogsLook,
    ) -> Result<(), String> {
        let found = admin.committed(coordinator, &[group.to_owned()], None);
        let found = found.map_err(|error| error.to_string())?;
        let Some(found) = found.into_iter().next() else {
            return Err("its coordinator does not report it".to_owned());
        };
        if found.error == ErrorCode::NONE {
            self.ends_of(admin, &found, look)?;
        }
        self.lag_of(&found, look);
        Ok(())
    }

    /// Reads the ends of the logs that a group reads.
    fn ends_of(&mut self, admin: &mut Admin, of: &Committed, look: &mut LogsLook) -> Result<(), String> {
        let names: BTreeSet<&str> = of.offsets.keys().map(|(topic, _)| topic.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        if names.is_empty() {
            return Err("it has committed no offset".to_owned());
        }
        if of.offsets.len() > OFFSETS_MAX {
            return Err(format!("more than {OFFSETS_MAX} offsets are not requested in one look"));
        }
        let (_, mut topics) = admin.state(Some(&names)).map_err(|error| error.to_string())?;
        // A topic that is gone is behind nothing. The lag over the others alone would be read as that of all.
        topics.retain(|topic| topic.error != ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        if let Some(error) = topics.iter().map(|topic| topic.error).find(|error| *error != ErrorCode::NONE) {
            return Err(format!("one of its topics is not described: {error}"));
        }
        let ends = admin.log_ends(&topics).map_err(|error| error.to_string())?;
        look.answered();
        self.named_ends.take(look.at_ns, ends);
        Ok(())
    }
}
