//! How an item's records are spread over the partitions of its topic.

use crate::tally::{ItemTally, ratio};
use kdyno_model::metric::{BUSIEST_PARTITION, BUSIEST_PARTITION_BYTES, QUIETEST_PARTITION};
use kdyno_model::sample::PartitionTotals;

/// A metric of partitions; `None`: it is another one, there is one partition, or their records were not counted.
pub(crate) fn value(tally: &ItemTally, name: &str) -> Option<f64> {
    if tally.partitions.len() < 2 {
        return None;
    }
    let of = |count: fn(&PartitionTotals) -> u64| tally.partitions.iter().map(count);
    let share = |one: Option<u64>, count: fn(&PartitionTotals) -> u64| {
        ratio(one?, of(count).fold(0, u64::saturating_add))
    };
    match name {
        BUSIEST_PARTITION => share(of(|one| one.records).max(), |one| one.records),
        QUIETEST_PARTITION => share(of(|one| one.records).min(), |one| one.records),
        BUSIEST_PARTITION_BYTES => share(of(|one| one.bytes).max(), |one| one.bytes),
        _ => None,
    }
}
