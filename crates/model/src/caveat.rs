//! Caveats: what was seen that speaks against figures, which figures it concerns, and whether they may be used.

mod kinds;
mod row;
mod rows;
mod values;

pub use crate::concern::{Concern, ScopedCaveat};
use crate::plan::{Compression, Payload, ProducePlan, ValuesPlan};
pub use crate::severity::Severity;
pub use kinds::{Caveat, CaveatKind};
pub use row::{CaveatGroup, CaveatRow, CaveatWords, Degree, Grade, Question};
pub use values::{
    ClocksDiffer, FewSeconds, FullGc, GroupNotConserved, MembersPutOut, PairOrder, PairsTied, Stalled,
    StoodStill,
};

impl Caveat {
    /// That a load item compresses what no application sends, if it does: values drawn at random, or few values over and over.
    pub fn of_compression(item: &str, produce: &ProducePlan) -> Option<Self> {
        let (item, compression) = (item.to_owned(), produce.client.compression);
        if compression == Compression::None {
            return None;
        }
        let by_schema = matches!(produce.records.values, ValuesPlan::Avro(_));
        let is_said = produce.records.compressible.is_some() || produce.records.has_given_values();
        let random = || Self::RandomValues {
            item: item.clone(),
            compression: compression.name().to_owned(),
            by_schema,
        };
        match produce.payload {
            Payload::Unique => (by_schema || !is_said).then(random),
            Payload::Pooled { .. } => Some(Self::PooledCompression { item }),
        }
    }
}
