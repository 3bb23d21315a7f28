//! A job: started over HTTP, then polled until it says that it is done.

use crate::client::ClientOptions;
use crate::error::HttpLoadError;
use crate::lines::RequestLines;
use crate::turn::{PreparedStep, beginning};
use crate::values::{NamedValues, text_at};
use kdyno_model::plan::http_load::JobPlan;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// So many questions in a row may be refused: a job may be known a moment after it was started, and a wrong address is
/// not polled for an hour.
const REFUSED_MAX: u32 = 20;

/// Starts it and waits.
pub(crate) async fn run(
    plan: &JobPlan,
    lines: &RequestLines,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), HttpLoadError> {
    let last = RefCell::new(None);
    tokio::select! {
        ended = until_done(plan, lines, &last) => ended,
        _ = stopped.wait_for(|stopped| *stopped) => {
            let last = match last.take() {
                Some(answer) => format!("its last answer{answer}"),
                None => "it never answered as it should".to_owned(),
            };
            Err(HttpLoadError::job(format!("it was not done when the load ended: {last}")))
        }
    }
}

/// Keeps the beginning of the last answer, for when it is not done in time.
async fn until_done(
    plan: &JobPlan,
    lines: &RequestLines,
    last: &RefCell<Option<String>>,
) -> Result<(), HttpLoadError> {
    let client = ClientOptions::of(&plan.target)?.client()?;
    let (start, poll) =
        (PreparedStep::of(&plan.start, &plan.target)?, PreparedStep::of(&plan.poll, &plan.target)?.read());
    let mut values = NamedValues::new();
    let began = Instant::now();
    let started = start.tried(&client, &mut values).await;
    lines.request(began, &start.plan.name, started.is_ok());
    started.map_err(|failed| HttpLoadError::job(format!("it was not started: {}", failed.why)))?;
    let mut refused = 0;
    loop {
        let began = Instant::now();
        // A question that goes unanswered says nothing of the job: it is asked again.
        let answer = poll.tried(&client, &mut values).await;
        lines.request(began, &poll.plan.name, answer.is_ok());
        match answer {
            Ok(answer) => {
                refused = 0;
                if let Some(failed) = any(&plan.failed, &answer) {
                    return Err(HttpLoadError::job(format!("it failed: {failed}")));
                }
                if plan.done.iter().all(|(pointer, value)| has(&answer, pointer, value)) {
                    return Ok(());
                }
                last.replace(Some(beginning(answer.to_string().as_bytes())));
            }
            Err(failed) => {
                lines.failure(&poll.plan.name, &failed.why);
                refused = if failed.is_refused { refused + 1 } else { 0 };
                if refused >= REFUSED_MAX {
                    let why = format!("{REFUSED_MAX} questions in a row were refused: {}", failed.why);
                    return Err(HttpLoadError::job(why));
                }
            }
        }
        tokio::time::sleep(Duration::from_nanos(plan.every_ns)).await;
    }
}

fn has(answer: &serde_json::Value, pointer: &str, value: &str) -> bool {
    text_at(answer, pointer).as_deref() == Some(value)
}

/// The first of these values that the answer has.
fn any(values: &BTreeMap<String, String>, answer: &serde_json::Value) -> Option<String> {
    let found = values.iter().find(|(pointer, value)| has(answer, pointer, value));
    found.map(|(pointer, value)| format!("{pointer} is {value}"))
}
