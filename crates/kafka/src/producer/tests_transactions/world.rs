//! A transactional producer whose coordinator and leaders say what a test wants.

use super::*;

/// A batch that was sent: partition, sequence, epoch.
pub(super) type Sent = (i32, i32, i16);

pub(super) struct TransactionFixture {
    pub(super) producer: Producer<Vec<u64>>,
    pub(super) bodies: Plain,
    pub(super) now_ns: u64,
    /// Level of `transaction.version`.
    pub(super) level: i16,
    pub(super) admitted: u64,
    pub(super) epoch: i16,
}

impl TransactionFixture {
    /// One that has its id.
    pub(super) fn new(level: i16) -> Self {
        let transactions = TransactionsConfig { transactional_id: "mine".to_owned(), timeout_ms: 60_000 };
        let config = ProducerConfig {
            transactions: Some(transactions),
            retry_backoff_ns: PAUSE_NS,
            retry_backoff_max_ns: PAUSE_NS,
            partitioner: Partitioner::RoundRobin,
            linger_ns: 0,
            ..config()
        };
        let producer = Producer::new(config, SHAPE, &[PARTITIONS]);
        let bodies = Plain { shape: SHAPE, share: 1.0 };
        let mut world = Self { producer, bodies, now_ns: 0, level, admitted: 0, epoch: 0 };
        assert!(!world.producer.takes_records(), "without an id");
        world.answer(FindCoordinator, ErrorCode::NONE);
        assert_eq!(world.producer.coordinator(), Some(COORDINATOR));
        world.answer(InitProducerId, ErrorCode::NONE);
        world
    }

    /// What is asked next, if that is now.
    pub(super) fn asks(&self) -> Option<TransactionRequest> {
        let next = self.producer.next_transaction_request();
        next.filter(|(_, at)| *at <= self.now_ns).map(|(request, _)| request)
    }

    /// The request is asked, and answered with an error or without.
    pub(super) fn answer(&mut self, request: TransactionRequest, error: ErrorCode) {
        assert_eq!(self.asks(), Some(request), "at {} ns", self.now_ns);
        self.note_asked(request);
        assert_eq!(self.asks(), None, "one at a time");
        let (version, mut body) = (3, Vec::new());
        match request {
            FindCoordinator => {
                let answer = m10_find_coordinator::Response {
                    error_code: error,
                    node_id: COORDINATOR,
                    ..Default::default()
                };
                answer.encode(version, &mut body);
            }
            InitProducerId => {
                self.epoch += i16::from(!error.is_error());
                let (producer_id, producer_epoch) = (1, self.epoch);
                let answer = m22_init_producer_id::Response {
                    error_code: error,
                    producer_id,
                    producer_epoch,
                    ..Default::default()
                };
                answer.encode(version, &mut body);
            }
            AddPartitions => {
                added(self.producer.queues.waiting(), error).encode(version, &mut body);
            }
            EndTxn if self.level >= 2 => {
                self.epoch += i16::from(!error.is_error());
                let (producer_id, producer_epoch) = (1, self.epoch);
                let answer = m26_end_txn::Response {
                    error_code: error,
                    producer_id,
                    producer_epoch,
                    ..Default::default()
                };
                answer.encode(5, &mut body);
                return self.take(request, 5, &body);
            }
            EndTxn => {
                let answer = m26_end_txn::Response { error_code: error, ..Default::default() };
                answer.encode(version, &mut body);
            }
        }
        self.take(request, version, &body);
    }

    pub(super) fn take(&mut self, request: TransactionRequest, version: i16, body: &[u8]) {
        let answer = (version, body);
        self.producer.on_transaction_answer(request, answer, self.level, self.now_ns).expect("an answer");
        self.producer.conclude(self.now_ns);
    }

    pub(super) fn note_asked(&mut self, request: TransactionRequest) {
        let added: Vec<usize> = match request {
            AddPartitions => self.producer.queues.waiting().collect(),
            _ => Vec::new(),
        };
        self.producer.transactions.as_mut().expect("transactions").note_asked(request, &added);
    }

    /// One record for each partition.
    pub(super) fn admit(&mut self) {
        let mut next = self.admitted;
        let taken = self.producer.admit(
            3,
            self.now_ns,
            |_| Some(0),
            |data, count| {
                data.extend(next..next + u64::from(count));
                next += u64::from(count);
            },
        );
        self.admitted += taken;
    }

    /// Sends what may be sent: the sequences and epochs of its batches, by partition.
    pub(super) fn send(&mut self) -> Option<(usize, Vec<Sent>)> {
        self.producer.collect(0, self.now_ns, self.producer.is_ending(), |_| true, &mut self.bodies);
        if self.producer.staged.is_empty() {
            return None;
        }
        self.producer.staged.clear();
        let token = self.producer.track();
        let batches = self.producer.in_flight[token].iter().flatten();
        let mut sent: Vec<_> = batches
            .map(|batch| (batch.partition, batch.producer().sequence, batch.producer().epoch))
            .collect();
        sent.sort_unstable();
        Some((token, sent))
    }

    /// The batches of a request are stored, or the broker says this.
    pub(super) fn reply(&mut self, token: usize, error: ErrorCode) {
        for batch in self.producer.untrack(token) {
            if error == ErrorCode::NONE {
                self.producer.note_stored(&batch);
                let outcome = Delivery::Acknowledged { written_ns: self.now_ns, received_ns: self.now_ns };
                self.producer.resolve(batch, outcome);
            } else {
                self.producer.on_error(batch, error, self.now_ns);
            }
        }
        self.producer.conclude(self.now_ns);
    }

    pub(super) fn ended(&mut self) -> Vec<(TransactionEnd, u32, u32)> {
        let ended = self.producer.take_ended();
        ended.map(|one| (one.end, one.partitions.sure, one.partitions.unsure)).collect()
    }

    pub(super) fn reasons(&mut self) -> Vec<&'static str> {
        let mut outcomes = Vec::new();
        self.producer.take_outcomes(&mut outcomes);
        let reason = |outcome: Delivery| match outcome {
            Delivery::Failed { reason } => Some(reason),
            Delivery::Acknowledged { .. } => None,
        };
        outcomes.into_iter().filter_map(|(_, outcome)| reason(outcome)).collect()
    }
}
