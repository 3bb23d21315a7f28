//! The clients, other than kdyno's own, that carry load items: made ready before anything starts, then part of workers' tasks.
//! A worker starts a driver's program and speaks to it in the frames of docs/design/java-driver.md.

use crate::error::LabError;
use crate::options::RunProgress;
use kdyno_java_driver::{Resolved, SOURCES, resolve};
use kdyno_model::plan::{CasePlan, Driver, JavaTask, Plan};
use kdyno_model::run::cluster_fact;
use kdyno_model::worker::StreamTask;
use kdyno_testbed::Environment;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Makes a driver ready to be run; `None`: kdyno's own always is.
fn ready(
    environment: &Environment,
    driver: &Driver,
    progress: &dyn Fn(&str),
) -> Result<Option<Resolved>, LabError> {
    Ok(match driver {
        Driver::Native => None,
        Driver::Java(java) => Some(resolve(environment, java, SOURCES, progress)?),
    })
}

/// Looks whether the drivers of the plan can be made ready, without fetching or starting anything; returns what would be
/// fetched first, each a sentence.
///
/// # Errors
/// There is no such client, or no such options.
pub(crate) fn check(plan: &Plan, environment: &Environment) -> Result<Vec<String>, LabError> {
    let of_driver = |driver: &Driver| -> Result<Option<String>, LabError> {
        Ok(match driver {
            Driver::Native => None,
            Driver::Java(java) => kdyno_java_driver::check(environment, java)?,
        })
    };
    drivers(plan).into_iter().filter_map(|driver| of_driver(driver).transpose()).collect()
}

/// The drivers of a plan, ready to be run. Settings are no part of what is made ready: each item brings its own.
#[derive(Debug, Default)]
pub(crate) struct ReadyDrivers(Vec<(Driver, Resolved)>);

impl ReadyDrivers {
    /// Makes each driver of the plan ready once.
    ///
    /// # Errors
    /// There is no such client, or nothing to run it with.
    pub(crate) fn make_ready(
        plan: &Plan,
        environment: &Environment,
        progress: &mut dyn FnMut(RunProgress),
    ) -> Result<Self, LabError> {
        let progress = RefCell::new(progress);
        let tell = |step: &str| (progress.borrow_mut())(RunProgress::Step(step.to_owned()));
        let mut all = Vec::new();
        for driver in drivers(plan) {
            let Some(resolved) = ready(environment, driver, &tell)? else { continue };
            if let Some(warning) = &resolved.warning {
                (progress.borrow_mut())(RunProgress::Warning(warning.clone()));
            }
            all.push((driver.clone(), resolved));
        }
        Ok(Self(all))
    }

    fn of(&self, driver: &Driver) -> Option<&Resolved> {
        self.0.iter().find(|(ready, _)| ready.shares_program(driver)).map(|(_, resolved)| resolved)
    }

    /// The streams with the clients that carry their items.
    pub(crate) fn carry(&self, case: &CasePlan, mut streams: Vec<StreamTask>) -> Vec<StreamTask> {
        for stream in &mut streams {
            stream.java = case.load.get(&stream.name).and_then(|item| {
                let command = self.of(&item.driver)?.task.command.clone();
                Some(JavaTask { command, properties: item.driver.properties()?.clone() })
            });
        }
        streams
    }

    /// Which client carries which item of a case, as facts of a trial.
    pub(crate) fn facts(&self, case: &CasePlan) -> BTreeMap<String, String> {
        let ready = case.load.iter().filter_map(|(name, item)| Some((name, self.of(&item.driver)?)));
        let of_item = |(name, resolved): (&String, &Resolved)| {
            let facts = resolved.facts.clone().into_iter();
            let name = name.clone();
            facts.map(move |(what, value)| (cluster_fact::java_client(&name, &what), value))
        };
        ready.flat_map(of_item).collect()
    }
}

/// Each driver of the plan once.
fn drivers(plan: &Plan) -> Vec<&Driver> {
    let mut found: Vec<&Driver> = Vec::new();
    for item in plan.every_case().flat_map(|case| case.load.values()) {
        if !found.iter().any(|known| known.shares_program(&item.driver)) {
            found.push(&item.driver);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task;
    use kdyno_model::plan::{JavaClient, JavaDriver};
    use kdyno_plan::{Choices, Next};
    use kdyno_scenario::Scenario;

    fn plan() -> Plan {
        let text = "kdyno: 1\nid: small\nquestion: Which?\nsystem: {kafka: null-broker}\n\
                    topics: {perf: {partitions: 1}}\nload: {a: {produce: perf, rate: 1/s, value: 100B}, \
                    b: {produce: perf, rate: 1/s, value: 100B}, c: {produce: perf, rate: 1/s, value: 100B}}\n\
                    phases: {warmup: 0s, measure: 1s}\n";
        let scenario = Scenario::parse(text, "test").expect("a scenario");
        let mut plan = kdyno_plan::plan(&scenario, &Choices::default()).expect("a plan");
        for (item, acks) in [("a", "1"), ("b", "all")] {
            let driver = JavaDriver {
                client: JavaClient::Version("4.1.1".to_owned()),
                jvm: Vec::new(),
                properties: BTreeMap::from([("acks".to_owned(), acks.to_owned())]),
            };
            plan.cases[0].load.get_mut(item).expect("an item").driver = Driver::Java(driver);
        }
        plan
    }

    #[test]
    fn items_that_differ_in_settings_share_a_client_and_keep_these() {
        let plan = plan();
        let found = drivers(&plan);
        assert_eq!(found.len(), 2, "a Java client, and kdyno's own of the third item");
        let resolved = Resolved {
            task: JavaTask { command: vec!["java".to_owned()], properties: BTreeMap::new() },
            facts: BTreeMap::from([("version".to_owned(), "4.1.1".to_owned())]),
            warning: None,
        };
        let clients = ReadyDrivers(vec![(found[0].clone(), resolved)]);
        let Next::Trial(trial) = kdyno_plan::next(&plan, &[], 1) else { panic!("a list has trials") };
        let case = &trial.effective;
        let streams = clients.carry(case, task::streams(&trial, &case.workers[0], &BTreeMap::new()));
        let java = |name: &str| {
            let stream = streams.iter().find(|stream| stream.name == name).expect("a stream");
            stream.java.as_ref().map(|java| (java.command[0].as_str(), java.properties["acks"].as_str()))
        };
        assert_eq!((java("a"), java("b"), java("c")), (Some(("java", "1")), Some(("java", "all")), None));
        let facts: Vec<(String, String)> = clients.facts(case).into_iter().collect();
        let fact = |name: &str| (format!("java_client.{name}.version"), "4.1.1".to_owned());
        assert_eq!(facts, [fact("a"), fact("b")]);
    }
}
