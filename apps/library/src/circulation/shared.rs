//! What the handlers of circulation share.

use super::inventory::Inventory;
use crate::outbox::Outbox;
use deadpool_postgres::Pool;

/// Database, inventory, and the way to Kafka.
pub struct Circulation {
    /// Its database.
    pub pool: Pool,
    /// The inventory.
    pub inventory: Inventory,
    /// What is to be sent.
    pub outbox: Outbox,
    /// The topic of loans.
    pub loans_topic: String,
}
