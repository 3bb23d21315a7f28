//! What follows the first part of a packed value: what came in later versions, each part left out with all that follow
//! where none of them has anything, as in files that were written before.

use crate::blob::{PackError, decode, plain};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Counts that came later. They follow what was there before, and are left out where all of them are 0, as in files
/// that were written before.
#[derive(Serialize, Deserialize, Default, PartialEq)]
pub(crate) struct PackedLater {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) markers: u64,
    pub(crate) markers_unsure: u64,
    pub(crate) record_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) header_trailers: u64,
    pub(crate) aborted_records: u64,
    pub(crate) control_records: u64,
    pub(crate) missing_offsets: u64,
}

/// What follows a value.
#[derive(Default, PartialEq)]
pub(crate) struct ValueBasis {
    pub(crate) later: PackedLater,
    /// Counts that came after those, behind them and left out in the same way: later ones are at the end, and those
    /// that are 0 are left out.
    pub(crate) latest: Vec<u64>,
    /// In totals: what each client did as a member of a group, if any of them is one: records, partitions, rebalances.
    pub(crate) members: Vec<Option<(u64, u32, u32)>>,
    /// In totals: the records behind the first ones, if they were requested.
    pub(crate) steady: Option<PackedSteady>,
    /// In totals: how often each client lost partitions as a member, if any did.
    pub(crate) losses: Vec<u32>,
    /// In totals: one more than the ns from T0 to each client's first record, 0 where it is not known; empty where none
    /// is.
    pub(crate) began: Vec<u64>,
    /// In totals: when a stream that came late had caught up, ns from T0, and its records until then, if it had.
    pub(crate) caught_up: Option<(u64, u64)>,
    /// In totals: records and bytes acknowledged of each partition in the measure phase, where they were counted.
    pub(crate) partitions: Vec<(u64, u64)>,
}

/// Records, bytes of values, span and sum of service times in ns, and these as HdrHistogram V2 bytes.
pub(crate) type PackedSteady = (u64, u64, u64, u128, Vec<u8>);

impl ValueBasis {
    /// Writes it, unless it is nothing. What precedes something that is written is written too, for it is read in this
    /// order.
    pub(crate) fn append(&self, bytes: &mut Vec<u8>) -> Result<(), PackError> {
        let Self { later, latest, members, steady, losses, began, caught_up, partitions } = self;
        let reported = [
            *later != PackedLater::default(),
            !latest.is_empty(),
            !members.is_empty(),
            steady.is_some(),
            !losses.is_empty(),
            !began.is_empty(),
            caught_up.is_some(),
            !partitions.is_empty(),
        ];
        for part in 0..reported.iter().rposition(|is_reported| *is_reported).map_or(0, |last| last + 1) {
            bytes.extend(match part {
                0 => plain(later)?,
                1 => plain(latest)?,
                2 => plain(members)?,
                3 => plain(steady)?,
                4 => plain(losses)?,
                5 => plain(began)?,
                6 => plain(caught_up)?,
                _ => plain(partitions)?,
            });
        }
        Ok(())
    }

    /// Reads what is left of the bytes of a value, to their end.
    pub(crate) fn read(mut rest: &[u8]) -> Result<Self, PackError> {
        let behind = Self {
            later: next(&mut rest)?,
            latest: next(&mut rest)?,
            members: next(&mut rest)?,
            steady: next(&mut rest)?,
            losses: next(&mut rest)?,
            began: next(&mut rest)?,
            caught_up: next(&mut rest)?,
            partitions: next(&mut rest)?,
        };
        if rest.is_empty() { Ok(behind) } else { Err(PackError::Length) }
    }
}

/// The next part; nothing where the bytes end before it.
fn next<T: DeserializeOwned + Default>(rest: &mut &[u8]) -> Result<T, PackError> {
    if rest.is_empty() {
        return Ok(T::default());
    }
    let (part, behind) = decode(rest)?;
    *rest = behind;
    Ok(part)
}
