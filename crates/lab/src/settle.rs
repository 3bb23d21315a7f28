//! After a load: the next trial must not meet replicas that are still catching up with it.
//!
//! Requests in flight are gone when the workers are, and the readings of the log's end wait until it no longer moves
//! (`log_ends`); here the replicas are waited for.

use crate::cluster_view::ClusterView;
use crate::observer::MayGoOn;
use crate::system::SystemUnderTest;
use crate::topics::TrialTopics;
use std::time::{Duration, Instant};

/// Longest wait. A follower that is behind copies some 100 MB/s.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Pause between looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Longest wait for an answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);

/// Waits until every replica of the run's topics is in sync; what is not so in the end, in words. A system that has
/// lost a process will not get there, and is replaced.
pub(crate) fn wait(
    system: &dyn SystemUnderTest,
    topics: &TrialTopics,
    may_go_on: &MayGoOn,
) -> Option<String> {
    if !topics.are_replicated() || !system.ended().is_empty() {
        return None;
    }
    let started = Instant::now();
    loop {
        let lacking = match look(system, topics) {
            Ok(0) => return None,
            Ok(partitions) => {
                let seconds = WAIT_MAX.as_secs();
                format!(
                    "{partitions} partitions were still under-replicated {seconds} s after the load before"
                )
            }
            Err(error) => {
                format!("after the load before it could not be seen whether replicas are in sync: {error}")
            }
        };
        if started.elapsed() > WAIT_MAX || may_go_on.must_end().is_some() {
            return Some(lacking);
        }
        std::thread::sleep(PAUSE);
    }
}

/// How many partitions lack replicas in sync.
fn look(system: &dyn SystemUnderTest, topics: &TrialTopics) -> kdyno_kafka::admin::Result<usize> {
    let client_id = format!("{}admin", system.prefix());
    let mut admin = system.access().admin(&client_id, ANSWER_TIME_MAX)?;
    Ok(ClusterView::look(&mut admin, &topics.names)?.under_replicated())
}
