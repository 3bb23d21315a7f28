//! Records that are drawn ahead.

use super::{DrawnRecord, Draws, Pick, RecordSource};

/// Records drawn at a time: tables of keys are larger than caches, and what is looked up for one record need not wait
/// for what is looked up for another. So where nothing but keys is drawn each step is done for all of them before the next.
const RECORDS: usize = 64;

/// One client's next records, in order.
#[derive(Debug)]
pub struct RecordBlock {
    draws: Draws,
    records: Vec<DrawnRecord>,
    /// Picks that are gone.
    gone: usize,
}

impl RecordBlock {
    /// Picks of a client.
    pub fn new(draws: Draws) -> Self {
        Self { draws, records: Vec::with_capacity(RECORDS), gone: 0 }
    }

    /// The next record. It stays the next one until it was taken.
    #[inline]
    pub fn peek(&mut self, source: &RecordSource) -> DrawnRecord {
        if self.gone == self.records.len() {
            self.draw(source);
        }
        self.records[self.gone]
    }

    /// Takes the next record.
    #[inline]
    pub fn take(&mut self) {
        self.gone += 1;
    }

    #[inline(never)]
    fn draw(&mut self, source: &RecordSource) {
        self.gone = 0;
        self.records.clear();
        match source.drawn_by_key_alone() {
            Some((keys, value)) => {
                let numbers = self.draws.keys::<RECORDS>(keys);
                let drawn = |key| DrawnRecord { pick: Pick { key, value }, partition: keys.partition(key) };
                self.records.extend(numbers.map(drawn));
            }
            None => self.records.extend((0..RECORDS).map(|_| self.draws.draw(source))),
        }
    }
}
