//! A file comes in: it is cut into chunks, which are written to the outbox together with the job. A client that has the
//! answer has a job that will end, whatever is killed from then on.

use super::shared::DataImport;
use crate::kafka::Message;
use crate::marc::{self, RECORD_BYTES_MAX};
use crate::messages::{ChunkKey, Profile, RecordId};
use crate::refusal::Refusal;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use deadpool_postgres::Transaction;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most records and bytes of a chunk; a record of Kafka may have 1 MiB.
const CHUNK_RECORDS_MAX: usize = 100;
const CHUNK_BYTES_MAX: usize = 512 << 10;
/// Most records of a file.
const RECORDS_MAX: usize = 1_000_000;

/// `?profile=create` or `update`.
#[derive(Debug, Deserialize)]
pub struct Asked {
    profile: Profile,
}

/// A job that was begun.
#[derive(Debug, Serialize)]
pub struct Begun {
    id: i64,
    records: usize,
}

/// `POST /imports?profile=…`, with the file as body.
pub async fn upload(
    State(import): State<Arc<DataImport>>,
    Query(asked): Query<Asked>,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<Begun>), Refusal> {
    let file = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let most = import.upload_bytes_max;
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the file is larger than {most} bytes"))
        }
        status => Refusal::new(status, rejection.body_text()),
    })?;
    let records: Vec<&[u8]> = marc::split(&file).take(RECORDS_MAX + 1).collect();
    if records.is_empty() || records.len() > RECORDS_MAX {
        let why = format!("the file has no record, or more than {RECORDS_MAX}");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, why));
    }
    let (chunks, too_long) = cut(&records);
    let mut client = import.pool.get().await?;
    let transaction = client.transaction().await?;
    let job = begin(&transaction, asked.profile, &records, &too_long).await?;
    for chunk in chunks {
        let first = RecordId { job, number: place(chunk.start) };
        let message = Message {
            topic: import.chunks_topic.clone(),
            key: ChunkKey { first, profile: asked.profile }.to_string(),
            value: records[chunk].concat(),
            headers: Vec::new(),
        };
        import.outbox.put(&transaction, &message).await?;
    }
    transaction.commit().await?;
    import.outbox.wake();
    Ok((StatusCode::CREATED, Json(Begun { id: job, records: records.len() })))
}

/// Writes the job. What is too long to be MARC 21, or a record of Kafka, has failed already.
async fn begin(
    transaction: &Transaction<'_>,
    profile: Profile,
    records: &[&[u8]],
    too_long: &[usize],
) -> Result<i64, Refusal> {
    let insert = "INSERT INTO jobs (profile, records, failed, finished_at)
        VALUES ($1, $2::int, $3::int, CASE WHEN $2::int = $3::int THEN now() END) RETURNING id";
    let insert = transaction.prepare_cached(insert).await?;
    let (all, failed) = (count(records.len()), count(too_long.len()));
    let job: i64 = transaction.query_one(&insert, &[&profile.name(), &all, &failed]).await?.get(0);
    let insert = "INSERT INTO outcomes (job, number, kind, reason) VALUES ($1, $2, 'failed', $3)";
    let insert = transaction.prepare_cached(insert).await?;
    for at in too_long {
        let reason = format!("it has {} bytes, a record has {RECORD_BYTES_MAX} at most", records[*at].len());
        transaction.execute(&insert, &[&job, &place(*at), &reason]).await?;
    }
    Ok(job)
}

/// The place in the file, from 1, of what lies at this index.
fn place(index: usize) -> i32 {
    count(index + 1)
}

/// As the database has it; there are `RECORDS_MAX` at most.
fn count(records: usize) -> i32 {
    i32::try_from(records).unwrap_or(i32::MAX)
}

/// Cuts records into chunks, and says which of them are too long for one.
fn cut(records: &[&[u8]]) -> (Vec<std::ops::Range<usize>>, Vec<usize>) {
    let (mut chunks, mut too_long) = (Vec::new(), Vec::new());
    let (mut start, mut bytes) = (0, 0);
    for (at, record) in records.iter().enumerate() {
        let is_too_long = record.len() > RECORD_BYTES_MAX;
        let is_full = at - start == CHUNK_RECORDS_MAX || bytes + record.len() > CHUNK_BYTES_MAX;
        if (is_full || is_too_long) && at > start {
            chunks.push(start..at);
            (start, bytes) = (at, 0);
        }
        if is_too_long {
            too_long.push(at);
            start = at + 1;
        } else {
            bytes += record.len();
        }
    }
    if start < records.len() {
        chunks.push(start..records.len());
    }
    (chunks, too_long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_in_one_chunk_or_too_long() {
        let mut random = fastrand::Rng::with_seed(3);
        let bytes = vec![b'x'; RECORD_BYTES_MAX + 10];
        for _ in 0..200 {
            let length = |random: &mut fastrand::Rng| match random.u8(..20) {
                0 => RECORD_BYTES_MAX + 1,
                1 => RECORD_BYTES_MAX,
                _ => random.usize(1..3_000),
            };
            let records: Vec<&[u8]> =
                (0..random.usize(1..400)).map(|_| &bytes[..length(&mut random)]).collect();
            let (chunks, too_long) = cut(&records);
            let mut seen: Vec<usize> =
                chunks.iter().cloned().flatten().chain(too_long.iter().copied()).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..records.len()).collect::<Vec<_>>());
            for chunk in chunks {
                assert!(!chunk.is_empty() && chunk.len() <= CHUNK_RECORDS_MAX, "{chunk:?}");
                assert!(records[chunk].concat().len() <= CHUNK_BYTES_MAX);
            }
            assert!(too_long.iter().all(|at| records[*at].len() > RECORD_BYTES_MAX));
        }
    }
}
