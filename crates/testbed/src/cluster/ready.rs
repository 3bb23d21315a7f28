//! Waits until every broker answers and is registered, or says why that will not happen.

use super::diagnose;
use super::launch::{self, TAIL_LINES};
use super::layout::ClusterLayout;
use crate::error::TestbedError;
use crate::guard::Guard;
use kdyno_kafka::admin::Access;
use kdyno_model::event::Subject;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks: small compared with the seconds a JVM takes.
const POLL: Duration = Duration::from_millis(50);
/// Lines searched for a cause: a broker prints its whole configuration and then a stack trace.
const CAUSE_LINES: usize = 400;
/// Longest wait for one broker's answer: it has a connection within a millisecond once it listens.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);

/// A failed attempt, and whether another one makes sense.
pub(super) struct FailedAttempt {
    pub error: TestbedError,
    pub port_clash: bool,
}

impl From<TestbedError> for FailedAttempt {
    fn from(error: TestbedError) -> Self {
        Self { error, port_clash: false }
    }
}

/// Waits until all brokers of the layout answer at the addresses of `access`, no longer than the deadline after `started`,
/// or until it is given up from outside.
pub(super) fn wait(
    guard: &Guard,
    (layout, access): (&ClusterLayout, &Access),
    started: Instant,
    deadline: Duration,
    give_up: Option<&AtomicBool>,
) -> Result<(), FailedAttempt> {
    let bootstrap = &access.bootstrap;
    let mut ready = 0;
    loop {
        if let Some(failed) = dead(guard, layout) {
            return Err(failed);
        }
        // In order: one that answered stays so, or is found dead above.
        while let Some(address) = bootstrap.get(ready) {
            if !answers(address, access) {
                break;
            }
            ready += 1;
        }
        let Some(waiting_for) = bootstrap.get(ready) else { return Ok(()) };
        if started.elapsed() > deadline {
            return Err(timeout(layout, ready, waiting_for, deadline).into());
        }
        if give_up.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(TestbedError::GivenUp.into());
        }
        std::thread::sleep(POLL);
    }
}

/// Whether this broker answers metadata and knows all brokers of the cluster.
fn answers(address: &str, access: &Access) -> bool {
    let one = Access { bootstrap: vec![address.to_string()], security: access.security.clone() };
    let cluster = one.admin("kdyno-testbed", ANSWER_TIME_MAX).and_then(|mut admin| admin.cluster());
    cluster.is_ok_and(|cluster| cluster.brokers.len() == access.bootstrap.len())
}

/// The failure of a process that has ended; one that lost its port first, because that is worth another try.
fn dead(guard: &Guard, layout: &ClusterLayout) -> Option<FailedAttempt> {
    let ended = guard.ended();
    let mut failures = ended.iter().map(|(subject, status)| {
        let lines = launch::tail(layout, subject, CAUSE_LINES);
        let cause = diagnose::cause(&lines);
        let message = if lines.is_empty() {
            format!("{subject} ended while starting ({status})")
        } else {
            format!("{subject} ended while starting ({status}): {}", cause.message)
        };
        let log_tail = lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec();
        FailedAttempt {
            error: TestbedError::Failed { message, hint: cause.hint, log_tail },
            port_clash: cause.port_clash,
        }
    });
    let first = failures.next()?;
    if first.port_clash { Some(first) } else { failures.find(|failed| failed.port_clash).or(Some(first)) }
}

fn timeout(layout: &ClusterLayout, index: usize, address: &str, deadline: Duration) -> TestbedError {
    let subject = Subject::Broker(u32::try_from(index).unwrap_or(u32::MAX));
    let log_tail = launch::tail(layout, &subject, TAIL_LINES);
    let last = log_tail
        .last()
        .map_or_else(|| "it logged nothing".to_string(), |line| format!("its last line: {line}"));
    TestbedError::Failed {
        message: format!("{subject} at {address} was not ready after {} s; {last}", deadline.as_secs()),
        hint: Some(
            "a busy or small host starts fewer brokers in that time; the lines below are its log".to_string(),
        ),
        log_tail,
    }
}
