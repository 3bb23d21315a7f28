//! Which batches belong to transactions that were aborted: a leader that is asked for committed records alone sends
//! the others too, and names the transactions.

use crate::messages::m01_fetch::AbortedTransactions;
use crate::records::{Batch, RecordsError, TRANSACTIONAL_BIT};

/// Type, in the key of a control record, of the marker of an abort.
const ABORT: i16 = 0;
/// Takes the place of the first offset of a transaction whose marker was met.
const OVER: i64 = i64::MAX;

/// The aborted transactions of a partition's answer. It takes 16 bytes for each, as the answer does at least.
#[derive(Debug, Default)]
pub(super) struct Aborted {
    /// Producer and first offset of each, ascending. Each producer's finished ones come first, though their
    /// offset does not say so any more.
    transactions: Vec<(i64, i64)>,
}

impl Aborted {
    /// As an answer names them.
    pub(super) fn of(reported: &AbortedTransactions<'_>) -> Self {
        // They were read once, so that there are as many as it says.
        let mut transactions = Vec::with_capacity(reported.count());
        transactions.extend(reported.iter());
        transactions.sort_unstable();
        Self { transactions }
    }

    /// Whether the batch that comes next is of an aborted transaction. `body` is for its records, where it is a marker.
    ///
    /// # Errors
    /// When it is a marker that cannot be read.
    pub(super) fn begin_batch(
        &mut self,
        batch: &Batch<'_>,
        body: &mut Vec<u8>,
    ) -> Result<bool, RecordsError> {
        if self.transactions.is_empty() || batch.header.producer_id < 0 {
            return Ok(false);
        }
        let last = batch.next_offset() - 1;
        let open = self.open(batch.header.producer_id, last);
        if !batch.is_control() {
            return Ok(!open.is_empty() && batch.header.attributes & TRANSACTIONAL_BIT != 0);
        }
        if !open.is_empty() && is_abort(batch, body)? {
            open.iter_mut().for_each(|(_, first)| *first = OVER);
        }
        Ok(false)
    }

    /// The transactions of a producer that have begun at `last` or before, and are not over.
    fn open(&mut self, producer: i64, last: i64) -> &mut [(i64, i64)] {
        let from = self.transactions.partition_point(|(id, _)| *id < producer);
        let own = &mut self.transactions[from..];
        let count = own.partition_point(|(id, _)| *id == producer);
        let own = &mut own[..count];
        let over = own.partition_point(|(_, first)| *first == OVER);
        let begun = own[over..].partition_point(|(_, first)| *first <= last);
        &mut own[over..over + begun]
    }
}

/// Whether a control batch marks the end of a transaction that was aborted.
fn is_abort(batch: &Batch<'_>, body: &mut Vec<u8>) -> Result<bool, RecordsError> {
    let first = batch.records(body, batch.bytes())?.next().transpose()?;
    // Version, then type.
    let kind = first.and_then(|record| record.key).and_then(|key| key.get(2..4));
    Ok(kind == Some(&ABORT.to_be_bytes()))
}
