//! Whom a caveat is of, by name: caveats that say the same of several load items, or of several topics, become one.

use super::{Caveat, FewSeconds, FullGc, MembersPutOut, Stalled, StoodStill};

impl Caveat {
    /// The name of the one load item, or topic, that it is of, and the caveat with another name in its place; `None`: it is of no
    /// single one.
    pub fn renamed(&self, to: &str) -> Option<(String, Self)> {
        let mut renamed = self.clone();
        let name = std::mem::replace(renamed.name_mut()?, to.to_owned());
        Some((name, renamed))
    }

    fn name_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::QueueGrowth { item: name, .. }
            | Self::AccountingBroken { item: name, .. }
            | Self::SamplesMissing { item: name, .. }
            | Self::Failures { item: name, .. }
            | Self::NothingAcknowledged { item: name, .. }
            | Self::Unresolved { item: name, .. }
            | Self::ThreadBusy { thread: name, .. }
            | Self::Stalled(Stalled { item: name, .. })
            | Self::FewSeconds(FewSeconds { item: name, .. })
            | Self::StoodStill(StoodStill { item: name, .. })
            | Self::LateEndToEnd { item: name, .. }
            | Self::GeneratorLate { item: name, .. }
            | Self::WaitedForProcessor { who: name, share_of_ready: None, .. }
            | Self::Retries { item: name, .. }
            | Self::FewRecords { item: name, .. }
            | Self::Lost { topic: name, .. }
            | Self::LogUnexplained { topic: name, .. }
            | Self::LogNotChecked { topic: name, .. }
            | Self::WrittenNotAppended { item: name }
            | Self::NotAppended { item: name, .. }
            | Self::ConsumerBehind { item: name, .. }
            | Self::SmallBatches { item: name, .. }
            | Self::RandomValues { item: name, .. }
            | Self::CompressionMissed { item: name, .. }
            | Self::Unsteady { item: name, .. }
            | Self::CalibrationShort { item: name, .. }
            | Self::FetchErrors { item: name, .. }
            | Self::ProducerEnded { item: name, .. }
            | Self::MembersPutOut(MembersPutOut { item: name, .. })
            | Self::MemberFailed { item: name, .. }
            | Self::FullGc(FullGc { item: name, .. })
            | Self::RecordsSkipped { item: name, .. }
            | Self::ClosedLoop { item: name }
            | Self::RequestsFailed { item: name, .. }
            | Self::PooledCompression { item: name }
            | Self::ProbeMissesLeaders { item: name, .. }
            | Self::AssignedNotGroup { item: name } => Some(name),
            _ => None,
        }
    }
}
