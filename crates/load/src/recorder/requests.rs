//! What is counted of requests and of what was sent again.

use super::Recorder;

impl Recorder {
    /// A request of `bytes` with `batches` record batches was answered now.
    pub fn request(&mut self, now_ns: u64, batches: u32, bytes: u64) {
        let counts = &mut self.slot(now_ns).counts;
        counts.requests += 1;
        counts.batches += u64::from(batches);
        counts.request_bytes += bytes;
    }

    /// A request that was answered now had been in flight for so long.
    pub fn in_flight(&mut self, now_ns: u64, in_flight_ns: u64) {
        self.slot(now_ns).counts.in_flight_ns += in_flight_ns;
    }

    /// Batches with so many records were sent again.
    pub fn retried(&mut self, now_ns: u64, batches: u64, records: u64) {
        let counts = &mut self.slot(now_ns).counts;
        counts.retries += batches;
        counts.retried_records += records;
    }

    /// A broker said now that it holds back answers for so long.
    pub fn throttled(&mut self, now_ns: u64, throttled_ns: u64) {
        self.slot(now_ns).counts.throttled_ns += throttled_ns;
    }
}
