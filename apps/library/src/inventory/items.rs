//! Items, over HTTP.

use crate::refusal::Refusal;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use deadpool_postgres::Pool;
use serde::{Deserialize, Serialize};

/// A copy that is lent.
#[derive(Debug, Serialize)]
pub struct Item {
    id: i64,
    barcode: String,
    title: String,
    material: String,
    status: String,
}

/// A status, and the version of the event that it is from.
#[derive(Debug, Deserialize)]
pub struct Status {
    status: String,
    version: i64,
}

/// Makes items that are not there yet: of ten one is a journal, and of a hundred one is for reading in the house.
///
/// # Errors
/// The database does not take them.
pub async fn add(pool: &Pool, count: i32) -> anyhow::Result<()> {
    let mut client = pool.get().await?;
    let transaction = client.transaction().await?;
    let instances = "INSERT INTO instances (control_number, title, content)
        SELECT 'shelf' || n, 'On the shelf ' || n, jsonb_build_object('title', 'On the shelf ' || n)
        FROM generate_series(1, $1::int) AS n ON CONFLICT DO NOTHING";
    transaction.execute(instances, &[&count]).await?;
    let items = "INSERT INTO items (barcode, instance_id, material)
        SELECT 'I' || n, instances.id,
            CASE WHEN n % 100 = 99 THEN 'reference' WHEN n % 10 = 0 THEN 'journal' ELSE 'book' END
        FROM generate_series(1, $1::int) AS n JOIN instances ON control_number = 'shelf' || n ON CONFLICT DO NOTHING";
    transaction.execute(items, &[&count]).await?;
    transaction.commit().await?;
    Ok(())
}

/// `GET /items/{item}`, by its barcode.
pub async fn show(State(pool): State<Pool>, Path(barcode): Path<String>) -> Result<Json<Item>, Refusal> {
    let client = pool.get().await?;
    let select = "SELECT items.id, barcode, title, material, status
        FROM items JOIN instances ON instances.id = instance_id WHERE barcode = $1";
    let select = client.prepare_cached(select).await?;
    let row = client.query_opt(&select, &[&barcode]).await?;
    let row = row.ok_or_else(|| Refusal::not_found(format!("there is no item {barcode}")))?;
    let (id, barcode, title) = (row.get(0), row.get(1), row.get(2));
    Ok(Json(Item { id, barcode, title, material: row.get(3), status: row.get(4) }))
}

/// `PUT /items/{item}/status {"status": …, "version": …}`: by its number. 204, also where something newer is known.
pub async fn set_status(
    State(pool): State<Pool>,
    Path(item): Path<i64>,
    Json(status): Json<Status>,
) -> Result<StatusCode, Refusal> {
    let client = pool.get().await?;
    let update = "UPDATE items SET status = $2, status_version = $3 WHERE id = $1 AND status_version < $3";
    let update = client.prepare_cached(update).await?;
    client.execute(&update, &[&item, &status.status, &status.version]).await?;
    Ok(StatusCode::NO_CONTENT)
}
