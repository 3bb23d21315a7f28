//! What is measured of a component that is a database, in addition to what every component has: the names of its
//! metrics.

use crate::metric_kind::{Metric, SubjectKind, Unit, metric};

const DATABASE: &[SubjectKind] = &[SubjectKind::Database];

/// Most connections that clients had at once.
pub const CONNECTIONS_MAX: &str = "connections_max";
/// Transactions that ended per second.
pub const TRANSACTIONS_PER_S: &str = "transactions_per_s";
/// Share of them that was rolled back.
pub const ROLLED_BACK_SHARE: &str = "rolled_back_share";

/// All of them.
pub const METRICS: &[Metric] = &[
    metric(
        CONNECTIONS_MAX,
        DATABASE,
        Unit::Count,
        "most connections of clients to the component's database that were counted in the window, once per second",
    ),
    metric(
        TRANSACTIONS_PER_S,
        DATABASE,
        Unit::TransactionsPerS,
        "transactions of that database that ended in the window, committed or rolled back, per second, as PostgreSQL counts them",
    ),
    metric(ROLLED_BACK_SHARE, DATABASE, Unit::Ratio, "those of them that were rolled back, divided by all"),
];
