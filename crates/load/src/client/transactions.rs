//! When a client's transactions end, and what is reported of them.

use super::ProduceClient;
use crate::recorder::Recorder;
use crate::stream::Events;
use kdyno_kafka::errors::ErrorCode;
use kdyno_kafka::producer::TransactionEnd;

impl ProduceClient {
    /// Why its transactional producer has ended: it will not send any more.
    pub(super) fn ended_by(&self) -> Option<ErrorCode> {
        self.transactions.as_ref().and(self.kafka.producer())?.ended_by()
    }

    /// Ends the open transaction when its time is over, when it is full, or when the load is over and nothing waits.
    pub(super) fn end_transaction(&mut self, now_ns: u64, is_flushing: bool) {
        let (Some(pace), Some(producer)) = (&mut self.transactions, self.kafka.producer_mut()) else {
            return;
        };
        let Some(began_ns) = producer.transaction_began_ns() else { return };
        let is_over = now_ns >= pace.ends_ns(began_ns) || self.limits.is_transaction_full();
        if is_over || (is_flushing && self.backlog == 0) {
            producer.end_transaction(pace.draw_is_commit(), now_ns);
        }
    }

    /// Records the transactions that ended, and says when there will be no more of them.
    pub(super) fn settle_transactions(&mut self, now_ns: u64, recorder: &mut Recorder, events: &mut Events) {
        let ended_by = self.ended_by();
        let (Some(pace), Some(producer)) = (&mut self.transactions, self.kafka.producer_mut()) else {
            return;
        };
        for ended in producer.take_ended() {
            recorder.transaction(&ended);
            self.limits.transaction_over();
            self.wants_turn |= self.schedule.is_none() || self.backlog > 0;
            if let TransactionEnd::Failed(reason) = ended.end {
                events.transaction_failed(ended.asked_ns, reason);
            }
        }
        if let Some(error) = ended_by.filter(|_| !pace.is_reported) {
            pace.is_reported = true;
            events.producer_ended(now_ns, &producer.config().client_id, error);
        }
    }
}
