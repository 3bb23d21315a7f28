//! What becomes of the records that a consuming client fetches.

use crate::records::Record;
use std::fmt;
use std::ops::Range;

/// What a client's application does with records, each at the moment in which it is read from an answer. Of a client with several
/// topics a partition is a number that no other partition of any of them has.
pub trait RecordSink: fmt::Debug {
    /// Whether it looks at each record: what is not decoded otherwise is then.
    fn wants_records(&self) -> bool;

    /// A record of a partition: those of one come in the order of their offsets, none of them twice.
    fn record(&mut self, partition: i32, record: &Record<'_>);

    /// An answer held so many records of a partition, between these offsets.
    fn read(&mut self, _partition: i32, _offsets: Range<i64>, _records: u64) {}

    /// The offset of the first record of a partition that has come and that its application has not taken; `None`: it has
    /// taken all.
    fn first_waiting(&self, _partition: i32) -> Option<i64> {
        None
    }

    /// What has come of a partition and was not taken is another client's now.
    fn forget(&mut self, _partition: i32) {}

    /// All records of a partition's answer have come.
    fn end_of_answer(&mut self, partition: i32, now_ns: u64);
}

/// Records are counted, and that is all.
impl RecordSink for () {
    fn wants_records(&self) -> bool {
        false
    }

    fn record(&mut self, _partition: i32, _record: &Record<'_>) {}

    fn end_of_answer(&mut self, _partition: i32, _now_ns: u64) {}
}
