//! What a transactional producer knows of its transactions, as the Java client (KIP-98, KIP-360, KIP-890).
//!
//! One transaction from end to end: a coordinator is looked up by the transactional id and gives id and epoch, which
//! fences older producers of that name. The first record begins a transaction. Where partition leaders do not add a
//! partition to it by themselves (before KIP-890), the coordinator is asked to do so before the partition's first batch
//! is sent. When the caller ends the transaction no record is taken until it is over: what it holds is sent and
//! answered, then the coordinator gets the request. Since KIP-890 its answer brings the next epoch.
//!
//! One request at a time goes to the coordinator. A batch that fails leaves nothing but to abort; before KIP-890 a new
//! epoch is requested after that, so that what became of the batch need not be known.

use crate::errors::ErrorCode;
use std::collections::BTreeSet;

/// Java's pause where the transaction before is still being written to its partitions, ns.
const CONCURRENT_PAUSE_NS: u64 = 20_000_000;

/// Settings of a transactional producer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionsConfig {
    /// `transactional.id`.
    pub transactional_id: String,
    /// `transaction.timeout.ms`.
    pub timeout_ms: i32,
}

/// A request for the sake of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionRequest {
    /// Who coordinates.
    FindCoordinator,
    /// Id and epoch.
    InitProducerId,
    /// Partitions to the transaction.
    AddPartitions,
    /// Its end.
    EndTxn,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionEnd {
    /// Committed.
    Committed,
    /// Aborted, as the caller wished.
    Aborted,
    /// Aborted, for a batch or a request failed with this reason.
    Failed(&'static str),
}

/// A transaction that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedTransaction {
    /// How.
    pub end: TransactionEnd,
    /// When its end was requested, or a failure ended it, ns.
    pub asked_ns: u64,
    /// When the coordinator had answered, ns.
    pub ended_ns: u64,
    /// Its partitions.
    pub partitions: TransactionPartitions,
}

/// The partitions of a transaction: in each the brokers write a marker at its end, which takes an offset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TransactionPartitions {
    /// Partitions that are surely in it.
    pub sure: u32,
    /// Partitions that may not be in it: no answer said whether they were added.
    pub unsure: u32,
}

/// What is to be done about an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reaction {
    GoOn,
    /// Ask again after a pause, ns.
    AskAgain(u64),
    /// Look for the coordinator, then ask again.
    LookUp,
    Abort,
    Give(ErrorCode),
}

/// How far a producer is with its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransactionState {
    /// It has no id, or needs another epoch.
    Starting,
    /// No transaction.
    Ready,
    /// Records are taken.
    Open { began_ns: u64 },
    /// What it holds is sent and answered, then the coordinator gets the request.
    Ending { end: TransactionEnd, asked_ns: u64 },
    /// Its producer will not send any more.
    Ended,
}

/// The transactions of a producer.
#[derive(Debug)]
pub(super) struct Transactions {
    config: TransactionsConfig,
    step: TransactionState,
    /// Whether leaders add partitions by themselves, and each transaction has an epoch of its own.
    is_v2: bool,
    /// The broker that coordinates.
    coordinator: Option<i32>,
    asked: Option<TransactionRequest>,
    /// The coordinator is not looked up, and not asked, before, ns.
    look_up_from_ns: u64,
    ask_from_ns: u64,
    /// Partitions that are in the transaction.
    sure: BTreeSet<usize>,
    /// Partitions that may be: their adding was requested, or a batch was sent to them.
    touched: BTreeSet<usize>,
    needs_epoch: bool,
    ended: Vec<EndedTransaction>,
}

/// What its producer asks it.
impl Transactions {
    /// The state of a producer that has no id yet.
    pub(super) fn new(config: TransactionsConfig) -> Self {
        Self {
            config,
            step: TransactionState::Starting,
            is_v2: false,
            coordinator: None,
            asked: None,
            look_up_from_ns: 0,
            ask_from_ns: 0,
            sure: BTreeSet::new(),
            touched: BTreeSet::new(),
            needs_epoch: false,
            ended: Vec::new(),
        }
    }

    /// Settings.
    pub(super) fn config(&self) -> &TransactionsConfig {
        &self.config
    }

    /// Whether records are taken.
    pub(super) fn takes_records(&self) -> bool {
        matches!(self.step, TransactionState::Ready | TransactionState::Open { .. })
    }

    /// Whether a transaction has begun and is not over.
    pub(super) fn is_in_one(&self) -> bool {
        matches!(self.step, TransactionState::Open { .. } | TransactionState::Ending { .. })
    }

    /// When the open transaction began, ns; `None` if there is none, or if it is ending.
    pub(super) fn began_ns(&self) -> Option<u64> {
        match self.step {
            TransactionState::Open { began_ns } => Some(began_ns),
            _ => None,
        }
    }

    /// Whether everything is to be sent now.
    pub(super) fn is_ending(&self) -> bool {
        matches!(self.step, TransactionState::Ending { .. })
    }

    /// Whether only its abort is left.
    pub(super) fn is_failed(&self) -> bool {
        matches!(self.step, TransactionState::Ending { end: TransactionEnd::Failed(_), .. })
    }

    /// Whether leaders add partitions by themselves.
    pub(super) fn is_v2(&self) -> bool {
        self.is_v2
    }

    /// Whether a partition has to be added before something is sent to it.
    pub(super) fn misses(&self, partition: usize) -> bool {
        !self.is_v2 && !self.sure.contains(&partition)
    }

    /// The partitions of the transaction that is not over.
    pub(super) fn partitions(&self) -> TransactionPartitions {
        let count = |partitions: usize| u32::try_from(partitions).unwrap_or(u32::MAX);
        let sure = count(self.sure.len());
        TransactionPartitions { sure, unsure: count(self.touched.len()).saturating_sub(sure) }
    }

    /// Takes the transactions that ended since the last call.
    pub(super) fn take_ended(&mut self) -> std::vec::Drain<'_, EndedTransaction> {
        self.ended.drain(..)
    }
}

/// What happens.
impl Transactions {
    /// A record was taken.
    pub(super) fn begin(&mut self, now_ns: u64) {
        if self.step == TransactionState::Ready {
            self.step = TransactionState::Open { began_ns: now_ns };
        }
    }

    /// The transaction is to end. One that ends already ends otherwise only if it has failed since.
    pub(super) fn end(&mut self, end: TransactionEnd, now_ns: u64) {
        match (self.step, end) {
            (TransactionState::Open { .. }, _) => {
                self.step = TransactionState::Ending { end, asked_ns: now_ns }
            }
            (TransactionState::Ending { end: TransactionEnd::Failed(_), .. }, _) => return,
            (TransactionState::Ending { asked_ns, .. }, TransactionEnd::Failed(_)) => {
                self.step = TransactionState::Ending { end, asked_ns };
            }
            _ => return,
        }
        self.needs_epoch |= matches!(end, TransactionEnd::Failed(_)) && !self.is_v2;
    }

    /// The producer will not send any more.
    pub(super) fn give_up(&mut self) {
        self.step = TransactionState::Ended;
    }

    /// A batch is sent to a partition.
    pub(super) fn note_sent(&mut self, partition: usize) {
        self.touched.insert(partition);
    }

    /// A batch was stored in a partition.
    pub(super) fn note_stored(&mut self, partition: usize) {
        self.sure.insert(partition);
    }

    /// The partitions whose adding was requested and that are in the transaction. What the answer leaves out is
    /// requested again after a pause.
    pub(super) fn note_added(&mut self, partitions: impl Iterator<Item = usize>, now_ns: u64, pause_ns: u64) {
        self.sure.extend(partitions.filter(|partition| self.touched.contains(partition)));
        if self.sure.len() < self.touched.len() {
            self.ask_from_ns = now_ns + pause_ns;
        }
    }

    /// Ends a transaction that the coordinator does not know, or has answered.
    pub(super) fn over(&mut self, now_ns: u64) {
        let TransactionState::Ending { end, asked_ns } = self.step else { return };
        let partitions = self.partitions();
        self.ended.push(EndedTransaction { end, asked_ns, ended_ns: now_ns, partitions });
        self.sure.clear();
        self.touched.clear();
        self.step = if self.needs_epoch { TransactionState::Starting } else { TransactionState::Ready };
    }

    /// There are id and epoch.
    pub(super) fn start(&mut self, is_v2: bool) {
        (self.is_v2, self.needs_epoch) = (is_v2, false);
        if self.step == TransactionState::Starting {
            self.step = TransactionState::Ready;
        }
    }
}

/// What goes to the coordinator.
impl Transactions {
    /// What is to be asked next, and not before which instant, ns. `has_new`: something waits for a partition that is
    /// to be added; `is_flushed`: nothing waits and nothing is in flight.
    pub(super) fn next_request(&self, has_new: bool, is_flushed: bool) -> Option<(TransactionRequest, u64)> {
        if self.asked.is_some() {
            return None;
        }
        let request = match self.step {
            TransactionState::Starting => TransactionRequest::InitProducerId,
            TransactionState::Open { .. } | TransactionState::Ending { .. } if has_new => {
                TransactionRequest::AddPartitions
            }
            TransactionState::Ending { .. } if is_flushed => TransactionRequest::EndTxn,
            _ => return None,
        };
        Some(match self.coordinator {
            Some(_) => (request, self.ask_from_ns),
            None => (TransactionRequest::FindCoordinator, self.look_up_from_ns),
        })
    }

    /// Whether the transaction may end without the coordinator, who knows of none of its partitions: as in Java before
    /// KIP-890 when no partition was added. While a request is in flight that is unknown.
    pub(super) fn ends_unheard(&self) -> bool {
        let knows_none = if self.is_v2 { self.touched.is_empty() } else { self.sure.is_empty() };
        self.is_ending() && self.asked.is_none() && knows_none
    }

    /// Whether the end is a commit.
    pub(super) fn is_commit(&self) -> bool {
        matches!(self.step, TransactionState::Ending { end: TransactionEnd::Committed, .. })
    }

    /// The broker that coordinates.
    pub(super) fn coordinator(&self) -> Option<i32> {
        self.coordinator
    }

    /// A request is sent; partitions that it adds.
    pub(super) fn note_asked(&mut self, request: TransactionRequest, added: &[usize]) {
        self.asked = Some(request);
        self.touched.extend(added);
    }

    /// A request was answered.
    pub(super) fn note_answered(&mut self) {
        self.asked = None;
    }

    /// The coordinator is this broker.
    pub(super) fn note_coordinator(&mut self, broker: i32) {
        self.coordinator = Some(broker);
    }

    /// A request got no answer, or its connection cannot be made: the coordinator is looked up again after a pause.
    pub(super) fn note_lost(&mut self, now_ns: u64, pause_ns: u64) {
        self.asked = None;
        self.coordinator = None;
        self.look_up_from_ns = now_ns + pause_ns;
        self.ask_from_ns = self.look_up_from_ns;
    }

    /// Takes in what an answer says, and returns whether it was without error. `Err`: the producer will not send any
    /// more.
    pub(super) fn settle(
        &mut self,
        request: TransactionRequest,
        error: ErrorCode,
        now_ns: u64,
        pause_ns: u64,
    ) -> Result<bool, ErrorCode> {
        match self.reaction(request, error, pause_ns) {
            Reaction::GoOn => return Ok(true),
            Reaction::AskAgain(pause_ns) if request == TransactionRequest::FindCoordinator => {
                self.look_up_from_ns = now_ns + pause_ns;
            }
            Reaction::AskAgain(pause_ns) => self.ask_from_ns = now_ns + pause_ns,
            // It is looked up at once, and asked after the pause.
            Reaction::LookUp => {
                self.coordinator = None;
                (self.look_up_from_ns, self.ask_from_ns) = (now_ns, now_ns + pause_ns);
            }
            Reaction::Abort => self.end(TransactionEnd::Failed(error.name()), now_ns),
            Reaction::Give(error) => {
                self.give_up();
                return Err(error);
            }
        }
        Ok(false)
    }

    fn reaction(&self, request: TransactionRequest, error: ErrorCode, pause_ns: u64) -> Reaction {
        use TransactionRequest::{AddPartitions, EndTxn, FindCoordinator, InitProducerId};
        let is_aborting = self.is_ending() && !self.is_commit();
        match (request, error) {
            (_, ErrorCode::NONE) => Reaction::GoOn,
            (FindCoordinator, error) if error.is_retriable() => Reaction::AskAgain(pause_ns),
            (_, ErrorCode::NOT_COORDINATOR | ErrorCode::COORDINATOR_NOT_AVAILABLE) => Reaction::LookUp,
            (AddPartitions, ErrorCode::CONCURRENT_TRANSACTIONS) if self.sure.is_empty() => {
                Reaction::AskAgain(pause_ns.min(CONCURRENT_PAUSE_NS))
            }
            (_, error) if error.is_retriable() => Reaction::AskAgain(pause_ns),
            // What coordinators before 2.7 say of a fenced producer.
            (_, ErrorCode::INVALID_PRODUCER_EPOCH) => Reaction::Give(ErrorCode::PRODUCER_FENCED),
            (FindCoordinator | InitProducerId, error) => Reaction::Give(error),
            (
                AddPartitions | EndTxn,
                ErrorCode::PRODUCER_FENCED
                | ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                | ErrorCode::INVALID_PRODUCER_ID_MAPPING
                | ErrorCode::INVALID_TXN_STATE,
            ) => Reaction::Give(error),
            (AddPartitions, _) => Reaction::Abort,
            (EndTxn, ErrorCode::TRANSACTION_ABORTABLE | ErrorCode::UNKNOWN_PRODUCER_ID) if !is_aborting => {
                Reaction::Abort
            }
            (EndTxn, error) => Reaction::Give(error),
        }
    }
}
