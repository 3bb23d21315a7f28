//! What a fake cluster is going to do wrong, and when.

use super::service::Service;
use std::collections::{BTreeMap, VecDeque};

/// Whether records are stored although the client gets no acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredAnyway {
    /// The records are in the log.
    Yes,
    /// They are not.
    No,
}

/// Bytes that are no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hostile {
    /// So many random bytes.
    Garbage {
        /// How many.
        bytes: usize,
    },
    /// The first half of the true answer; then the connection is closed.
    Truncated,
    /// A frame that claims 2 GiB.
    HugeFrame,
    /// A frame of negative length.
    NegativeFrame,
    /// A frame with the right correlation id and an array of two thousand million elements.
    HugeArray,
    /// The true answer under another correlation id.
    WrongCorrelation,
}

/// What happens to a produce request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProduceFate {
    Answer,
    Fail { code: i16, stored: StoredAnyway },
    Drop { stored: StoredAnyway },
    Close { stored: StoredAnyway },
    Hostile(Hostile),
}

/// What is done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Stall { broker: i32, duration_ns: u64 },
    MoveLeader { topic: String, partition: i32, to: Option<i32> },
    DeleteTopic { topic: String },
    RecreateTopic { topic: String },
    SetClusterId { cluster_id: String },
    RemoveBroker { broker: i32 },
    AddBroker { broker: i32 },
    CloseConnections { broker: i32 },
    SendHostile { broker: i32, hostile: Hostile },
    SetService { broker: i32, service: Service },
    Throttle { broker: i32, ms: i32 },
    DeleteRecords { topic: String, partition: i32, before: i64 },
    ForgetFetchSessions,
    MoveCoordinator { to: i32 },
    LoadCoordinator { duration_ns: u64 },
    FenceProducers,
    Fate(ProduceFate),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum When {
    At(u64),
    Request(u64),
    Every(u64),
    Share { share: f64, from_ns: u64, to_ns: u64 },
}

/// Everything scripted and still to come.
#[derive(Debug, Default)]
pub(super) struct ScriptedPlan {
    timed: BTreeMap<(u64, u64), Action>,
    steps: u64,
    numbered: BTreeMap<u64, Vec<Action>>,
    repeated: Vec<(When, Action)>,
    /// Fates whose instant has come, for the requests that arrive next.
    pub next_fates: VecDeque<ProduceFate>,
}

impl ScriptedPlan {
    /// Instant of the next timed action.
    pub fn next_ns(&self) -> Option<u64> {
        self.timed.keys().next().map(|(at, _)| *at)
    }

    /// Takes the next timed action.
    pub fn take_timed(&mut self) -> Option<Action> {
        self.timed.pop_first().map(|(_, action)| action)
    }

    /// Actions for the produce request with this number that arrives now. `chance` draws from [0, 1); it is
    /// called once for each share rule, so that rules do not change each other's draws.
    pub fn actions(&mut self, number: u64, now_ns: u64, mut chance: impl FnMut() -> f64) -> Vec<Action> {
        let mut actions = self.numbered.remove(&number).unwrap_or_default();
        actions.extend(self.next_fates.pop_front().map(Action::Fate));
        for (when, action) in &self.repeated {
            let chosen = match when {
                When::Every(every) => number.is_multiple_of(*every),
                When::Share { share, from_ns, to_ns } => {
                    let draw = chance();
                    (*from_ns..*to_ns).contains(&now_ns) && draw < *share
                }
                When::At(_) | When::Request(_) => false,
            };
            if chosen {
                actions.push(action.clone());
            }
        }
        actions
    }

    pub(super) fn add(&mut self, when: When, action: Action) {
        self.steps += 1;
        match when {
            When::At(at_ns) => {
                self.timed.insert((at_ns, self.steps), action);
            }
            When::Request(number) => self.numbered.entry(number).or_default().push(action),
            When::Every(_) | When::Share { .. } => self.repeated.push((when, action)),
        }
    }
}
