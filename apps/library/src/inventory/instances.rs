//! Instances: the stage of an import that creates and updates them.

use crate::consume::{Record, Stage};
use crate::fault::Fault;
use crate::kafka::{Kafka, Message};
use crate::messages::{Outcome, OutcomeKind, Profile, RecordId, Stored};
use crate::refusal::Refusal;
use axum::Json;
use axum::extract::{Path, State};
use deadpool_postgres::{Pool, Transaction};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// Stored records to instances.
pub struct Instances {
    /// The inventory's database.
    pub pool: Pool,
    /// Its cluster.
    pub kafka: Kafka,
    /// The topic that is read.
    pub stored: String,
    /// The topic for what became of each record.
    pub outcomes: String,
}

impl Stage for Instances {
    const NAME: &'static str = "instances";

    fn topic(&self) -> &str {
        &self.stored
    }

    async fn handle(&self, batch: &[Record]) -> Result<(), Fault> {
        // By id: a record may be there twice, and of one control number the first in the file is to come first.
        let mut records: BTreeMap<RecordId, Stored> = BTreeMap::new();
        for record in batch {
            let stored: Stored = record.json()?;
            records.insert(stored.id, stored);
        }
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        let mut outcomes = known(&transaction, &records).await?;
        let new: Vec<&Stored> =
            records.values().filter(|record| !outcomes.contains_key(&record.id)).collect();
        let mut made = create(&transaction, &of(Profile::Create, &new)).await?;
        made.extend(update(&transaction, &of(Profile::Update, &new)).await?);
        write(&transaction, &made).await?;
        transaction.commit().await?;
        drop(client);
        // Killed here, the records come again and are known: the outcomes are sent then, as they are.
        outcomes.extend(made.into_iter().map(|outcome| (outcome.id, outcome)));
        let messages: Vec<Message> =
            outcomes.values().map(|outcome| outcome.message(&self.outcomes)).collect();
        self.kafka.send_all(&messages).await
    }

    async fn give_up(&self, record: &Record, why: &str) -> Result<(), Fault> {
        let Ok(stored) = record.json::<Stored>() else { return Ok(()) };
        self.kafka.send_all(&[Outcome::failed(stored.id, why).message(&self.outcomes)]).await
    }
}

fn of<'a>(profile: Profile, records: &[&'a Stored]) -> Vec<&'a Stored> {
    records.iter().copied().filter(|record| record.profile == profile).collect()
}

/// What became of those of these records that came before.
async fn known(
    transaction: &Transaction<'_>,
    records: &BTreeMap<RecordId, Stored>,
) -> Result<BTreeMap<RecordId, Outcome>, Fault> {
    let jobs: Vec<i64> = records.keys().map(|id| id.job).collect();
    let numbers: Vec<i32> = records.keys().map(|id| id.number).collect();
    let select = "SELECT job, number, kind, reason FROM imported
        JOIN unnest($1::bigint[], $2::int[]) AS asked (job, number) USING (job, number)";
    let select = transaction.prepare_cached(select).await?;
    let mut outcomes = BTreeMap::new();
    for row in transaction.query(&select, &[&jobs, &numbers]).await? {
        let id = RecordId { job: row.get(0), number: row.get(1) };
        let kind = row.get::<_, &str>(2).parse().map_err(Fault::Refused)?;
        outcomes.insert(id, Outcome { id, kind, reason: row.get(3) });
    }
    Ok(outcomes)
}

/// Makes instances. If two records have one control number the first one makes it.
async fn create(transaction: &Transaction<'_>, records: &[&Stored]) -> Result<Vec<Outcome>, Fault> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let insert = "INSERT INTO instances (control_number, title, content)
        SELECT control_number, title, content::jsonb
        FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (control_number, title, content, place)
        ORDER BY place
        ON CONFLICT (control_number) DO NOTHING RETURNING control_number";
    let insert = transaction.prepare_cached(insert).await?;
    let (numbers, titles, contents) = columns(records);
    let rows = transaction.query(&insert, &[&numbers, &titles, &contents]).await?;
    let mut created: HashSet<&str> = rows.iter().map(|row| row.get(0)).collect();
    let outcome = |record: &&Stored| {
        let number = record.instance.control_number.as_str();
        if created.remove(number) {
            Outcome { id: record.id, kind: OutcomeKind::Created, reason: None }
        } else {
            Outcome::failed(record.id, format!("there is an instance {number} already"))
        }
    };
    Ok(records.iter().map(outcome).collect())
}

/// Changes instances. If two records have one control number the second one is what stays.
async fn update(transaction: &Transaction<'_>, records: &[&Stored]) -> Result<Vec<Outcome>, Fault> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let update = "UPDATE instances SET title = given.title, content = given.content, version = version + 1
        FROM (
            SELECT DISTINCT ON (control_number) control_number, title, content::jsonb AS content
            FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (control_number, title, content, place)
            ORDER BY control_number, place DESC
        ) AS given
        WHERE instances.control_number = given.control_number RETURNING instances.control_number";
    let update = transaction.prepare_cached(update).await?;
    let (numbers, titles, contents) = columns(records);
    let rows = transaction.query(&update, &[&numbers, &titles, &contents]).await?;
    let updated: HashSet<&str> = rows.iter().map(|row| row.get(0)).collect();
    let outcome = |record: &&Stored| {
        let number = record.instance.control_number.as_str();
        if updated.contains(number) {
            Outcome { id: record.id, kind: OutcomeKind::Updated, reason: None }
        } else {
            Outcome::failed(record.id, format!("there is no instance {number}"))
        }
    };
    Ok(records.iter().map(outcome).collect())
}

/// Control numbers, titles and contents.
fn columns<'a>(records: &[&'a Stored]) -> (Vec<&'a str>, Vec<&'a str>, Vec<String>) {
    let numbers = records.iter().map(|record| record.instance.control_number.as_str()).collect();
    let titles = records.iter().map(|record| record.instance.title.as_str()).collect();
    let content = |record: &&Stored| serde_json::to_string(&record.instance).expect("our own types are JSON");
    (numbers, titles, records.iter().map(content).collect())
}

/// Writes down what became of these records.
async fn write(transaction: &Transaction<'_>, outcomes: &[Outcome]) -> Result<(), Fault> {
    let jobs: Vec<i64> = outcomes.iter().map(|outcome| outcome.id.job).collect();
    let numbers: Vec<i32> = outcomes.iter().map(|outcome| outcome.id.number).collect();
    let kinds: Vec<&str> = outcomes.iter().map(|outcome| outcome.kind.name()).collect();
    let reasons: Vec<Option<&str>> = outcomes.iter().map(|outcome| outcome.reason.as_deref()).collect();
    let insert = "INSERT INTO imported (job, number, kind, reason)
        SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[], $4::text[])";
    let insert = transaction.prepare_cached(insert).await?;
    transaction.execute(&insert, &[&jobs, &numbers, &kinds, &reasons]).await?;
    Ok(())
}

/// An instance, over HTTP.
#[derive(Debug, Serialize)]
pub struct Shown {
    id: i64,
    control_number: String,
    title: String,
    version: i32,
}

/// `GET /instances/{control_number}`
pub async fn show(State(pool): State<Pool>, Path(number): Path<String>) -> Result<Json<Shown>, Refusal> {
    let client = pool.get().await?;
    let select = "SELECT id, control_number, title, version FROM instances WHERE control_number = $1";
    let select = client.prepare_cached(select).await?;
    let row = client.query_opt(&select, &[&number]).await?;
    let row = row.ok_or_else(|| Refusal::not_found(format!("there is no instance {number}")))?;
    Ok(Json(Shown { id: row.get(0), control_number: row.get(1), title: row.get(2), version: row.get(3) }))
}
