//! Records that were released so late that a worker must have stood still.

use crate::histogram;
use crate::sample::{Sample, Timing};

/// A record that is released later than this was held up by a worker that stood still, ns: 250 ticks.
pub const HELD_UP_NS: u64 = 50_000_000;

/// Whether a row has such records; a damaged histogram says nothing.
pub fn has_held_up(row: &Sample) -> bool {
    let delays = row.histograms.get(&Timing::ScheduleDelay);
    delays.and_then(|bytes| histogram::decode(bytes).ok()).is_some_and(|delays| delays.max() > HELD_UP_NS)
}
