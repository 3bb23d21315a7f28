//! Outcomes to the job's summary. An outcome that comes again counts nothing, so the counts are exact.

use crate::consume::{Record, Stage};
use crate::fault::Fault;
use crate::messages::{Outcome, OutcomeKind, RecordId};
use deadpool_postgres::{Pool, Transaction};
use std::collections::BTreeMap;

/// Outcomes to counts.
pub struct Outcomes {
    /// The data import's database.
    pub pool: Pool,
    /// The topic that is read.
    pub outcomes: String,
}

impl Stage for Outcomes {
    const NAME: &'static str = "outcomes";

    fn topic(&self) -> &str {
        &self.outcomes
    }

    async fn handle(&self, batch: &[Record]) -> Result<(), Fault> {
        let outcomes = batch.iter().map(Record::json).collect::<Result<Vec<Outcome>, Fault>>()?;
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        for (job, counts) in write(&transaction, &outcomes).await? {
            add(&transaction, job, &counts).await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    async fn give_up(&self, _: &Record, _: &str) -> Result<(), Fault> {
        // An outcome of an unknown job: no request waits for it.
        Ok(())
    }
}

/// How many records were created, updated, failed.
type Counts = BTreeMap<OutcomeKind, i32>;

/// Writes the outcomes that are new, and counts them by job.
async fn write(transaction: &Transaction<'_>, outcomes: &[Outcome]) -> Result<BTreeMap<i64, Counts>, Fault> {
    // One of each record, in the order in which all lock them.
    let outcomes: BTreeMap<RecordId, &Outcome> =
        outcomes.iter().rev().map(|outcome| (outcome.id, outcome)).collect();
    let jobs: Vec<i64> = outcomes.keys().map(|id| id.job).collect();
    let numbers: Vec<i32> = outcomes.keys().map(|id| id.number).collect();
    let kinds: Vec<&str> = outcomes.values().map(|outcome| outcome.kind.name()).collect();
    let reasons: Vec<Option<&str>> = outcomes.values().map(|outcome| outcome.reason.as_deref()).collect();
    let insert = "INSERT INTO outcomes (job, number, kind, reason)
        SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[])
        ON CONFLICT DO NOTHING RETURNING job, kind";
    let insert = transaction.prepare_cached(insert).await?;
    let mut counts: BTreeMap<i64, Counts> = BTreeMap::new();
    for row in transaction.query(&insert, &[&jobs, &numbers, &kinds, &reasons]).await? {
        let kind = row.get::<_, &str>(1).parse().map_err(Fault::Refused)?;
        *counts.entry(row.get(0)).or_default().entry(kind).or_default() += 1;
    }
    Ok(counts)
}

/// Adds to a job's counts; with its last record the job is finished.
async fn add(transaction: &Transaction<'_>, job: i64, counts: &Counts) -> Result<(), Fault> {
    let count = |kind| counts.get(&kind).copied().unwrap_or_default();
    let (created, updated) = (count(OutcomeKind::Created), count(OutcomeKind::Updated));
    let failed = count(OutcomeKind::Failed);
    let update = "UPDATE jobs SET created = created + $2, updated = updated + $3, failed = failed + $4,
            finished_at = CASE WHEN created + updated + failed + $2 + $3 + $4 = records THEN now() END
        WHERE id = $1";
    let update = transaction.prepare_cached(update).await?;
    transaction.execute(&update, &[&job, &created, &updated, &failed]).await?;
    Ok(())
}
