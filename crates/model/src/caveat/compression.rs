//! Caveats about what is compressed.

use super::Caveat;
use crate::plan::{Compression, Payload, ProducePlan};

impl Caveat {
    /// That a load item compresses what no application sends, if it does: letters drawn at random, or few values over and over.
    pub fn of_compression(item: &str, produce: &ProducePlan) -> Option<Self> {
        let (item, compression) = (item.to_owned(), produce.client.compression);
        if compression == Compression::None {
            return None;
        }
        let are_letters = produce.records.compressible.is_none() && !produce.records.has_given_values();
        match produce.payload {
            Payload::Unique => {
                are_letters.then(|| Self::RandomValues { item, compression: compression.name().to_owned() })
            }
            Payload::Pooled { .. } => Some(Self::PooledCompression { item }),
        }
    }
}
