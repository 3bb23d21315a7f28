//! What is said of transactions.

use crate::java::body::{BodyReader, FrameError};
use kdyno_kafka::producer::TransactionPartitions;
use kdyno_model::plan::TransactionsPlan;

/// When a producer's transactions end, and how.
#[derive(Debug, Clone, Copy)]
pub(in crate::java) struct TransactionPace {
    pub plan: TransactionsPlan,
    /// What is drawn from it says which are aborted.
    pub seed: u64,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::java) struct TransactionOver<'a> {
    pub asked_ns: u64,
    pub ended_ns: u64,
    pub how: TransactionHow<'a>,
    /// Partitions in which its end left a marker, and those for which that is not sure.
    pub partitions: TransactionPartitions,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::java) enum TransactionHow<'a> {
    Committed,
    Aborted,
    /// It was aborted since something of it had failed.
    Failed(&'a str),
}

/// Appends when transactions end; all 0: a producer sends without them.
pub(super) fn put_pace(out: &mut Vec<u8>, pace: Option<TransactionPace>) {
    let (every_ns, abort_share, seed) =
        pace.map_or((0, 0.0, 0), |pace| (pace.plan.every_ns, pace.plan.abort_share, pace.seed));
    let records = pace.and_then(|pace| pace.plan.records).unwrap_or(0);
    out.extend_from_slice(&every_ns.to_be_bytes());
    out.extend_from_slice(&abort_share.to_be_bytes());
    out.extend_from_slice(&seed.to_be_bytes());
    out.extend_from_slice(&records.to_be_bytes());
}

/// Reads which client's transaction ended, and how.
pub(super) fn read<'a>(body: &mut BodyReader<'a>) -> Result<(u32, TransactionOver<'a>), FrameError> {
    let (client, asked_ns, ended_ns, kind) = (body.u32()?, body.u64()?, body.u64()?, body.u8()?);
    let partitions = TransactionPartitions { sure: body.u32()?, unsure: body.u32()? };
    let how = match (kind, body.string()?) {
        (0, _) => TransactionHow::Committed,
        (1, _) => TransactionHow::Aborted,
        (2, why) => TransactionHow::Failed(why),
        _ => return Err(FrameError("a transaction that ended in an unknown way")),
    };
    Ok((client, TransactionOver { asked_ns, ended_ns, how, partitions }))
}
