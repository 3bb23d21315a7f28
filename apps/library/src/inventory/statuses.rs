//! The status of items, from the events of loans: what circulation said by HTTP, in case that did not arrive.

use crate::consume::{Record, Stage};
use crate::fault::Fault;
use crate::messages::LoanEvent;
use deadpool_postgres::Pool;
use std::collections::BTreeMap;

/// Loans to statuses.
pub struct Statuses {
    /// The inventory's database.
    pub pool: Pool,
    /// The topic.
    pub loans: String,
}

impl Stage for Statuses {
    const NAME: &'static str = "statuses";

    fn topic(&self) -> &str {
        &self.loans
    }

    async fn handle(&self, batch: &[Record]) -> Result<(), Fault> {
        // The newest of each item, in the order of items: two that change the same rows at once wait for each other, and do so
        // in one order.
        let mut newest: BTreeMap<i64, LoanEvent> = BTreeMap::new();
        for record in batch {
            let event: LoanEvent = record.json()?;
            if newest.get(&event.item).is_none_or(|known| known.version < event.version) {
                newest.insert(event.item, event);
            }
        }
        let items: Vec<i64> = newest.keys().copied().collect();
        let statuses: Vec<&str> = newest.values().map(LoanEvent::status).collect();
        let versions: Vec<i64> = newest.values().map(|event| event.version).collect();
        let client = self.pool.get().await?;
        let update = "UPDATE items SET status = told.status, status_version = told.version
            FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS told (item, status, version)
            WHERE id = told.item AND status_version < told.version";
        let update = client.prepare_cached(update).await?;
        client.execute(&update, &[&items, &statuses, &versions]).await?;
        Ok(())
    }

    async fn give_up(&self, _: &Record, _: &str) -> Result<(), Fault> {
        // No request waits for it.
        Ok(())
    }
}
