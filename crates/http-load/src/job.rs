//! A job: started over HTTP, then asked for until it says that it is done.

use crate::client::Clients;
use crate::error::HttpLoadError;
use crate::lines::Lines;
use crate::turn::Step;
use crate::values::{Values, told};
use kdyno_model::plan::http_load::JobPlan;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Starts it and waits.
pub(crate) async fn run(
    plan: &JobPlan,
    lines: &Lines,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), HttpLoadError> {
    let client = Clients::of(&plan.target)?.client()?;
    let (start, poll) = (Step::of(&plan.start, &plan.target)?, Step::of(&plan.poll, &plan.target)?.read());
    let mut values = Values::new();
    let began = Instant::now();
    let started = start.tried(&client, &mut values).await;
    lines.request(began, &start.plan.name, started.is_ok());
    started.map_err(|why| HttpLoadError::Job(format!("it was not started: {why}")))?;
    loop {
        let began = Instant::now();
        // A question that goes unanswered says nothing of the job: it is asked again.
        let answer = poll.tried(&client, &mut values).await;
        lines.request(began, &poll.plan.name, answer.is_ok());
        match answer {
            Ok(answer) => {
                if let Some(failed) = any(&plan.failed, &answer) {
                    return Err(HttpLoadError::Job(format!("it failed: {failed}")));
                }
                if plan.done.iter().all(|(pointer, value)| has(&answer, pointer, value)) {
                    return Ok(());
                }
            }
            Err(why) => lines.failure(&poll.plan.name, &why),
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_nanos(plan.every_ns)) => {}
            _ = stopped.wait_for(|stopped| *stopped) => {
                return Err(HttpLoadError::Job("it was not done when the load ended".to_owned()));
            }
        }
    }
}

fn has(answer: &serde_json::Value, pointer: &str, value: &str) -> bool {
    told(answer, pointer).as_deref() == Some(value)
}

/// The first of these values that the answer has.
fn any(values: &BTreeMap<String, String>, answer: &serde_json::Value) -> Option<String> {
    let found = values.iter().find(|(pointer, value)| has(answer, pointer, value));
    found.map(|(pointer, value)| format!("{pointer} is {value}"))
}
