//! Records that are gone, and counts that do not add up.

use super::words::{Described, Numbers, told};
use kdyno_model::caveat::Caveat;

const REPORT_IT: &str = "do not use these figures; please report it with the run file";

/// Acknowledged records that the log does not hold.
pub(super) fn words(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    let Caveat::Lost { topic, acknowledged, growth } = caveat else { return None };
    told(
        topic,
        &[acknowledged.saturating_sub(*growth) as f64, *acknowledged as f64],
        format!(
            "{} of {} acknowledged records are not in the log of topic {topic}",
            numbers.count(0),
            numbers.count(1)
        ),
        "keep the run file and the brokers' logs; look for unclean leader elections, brokers that ended, and too \
         small a retention",
    )
}

/// Counts that do not add up, or could not be checked.
pub(super) fn accounting(caveat: &Caveat, numbers: &Numbers<'_>) -> Option<Described> {
    match caveat {
        Caveat::AccountingBroken { item, difference } => told(
            item,
            &[*difference as f64],
            format!(
                "{item}: offered records differ from acknowledged + failed + unresolved by {}: a defect of kdyno",
                numbers.count(0)
            ),
            REPORT_IT,
        ),
        Caveat::SamplesMissing { item, count, difference } => told(
            item,
            &[*difference as f64],
            format!(
                "{item}: the stored rows and the stream's own totals differ by {} ({}): samples were lost",
                numbers.count(0),
                numbers.first(count)
            ),
            REPORT_IT,
        ),
        Caveat::LogUnexplained { topic, expected_max, growth } => told(
            topic,
            &[growth.saturating_sub(*expected_max) as f64],
            format!(
                "the log of topic {topic} grew by {} records more than were acknowledged, sent again, failed or left \
                 open: somebody else wrote to it, or records are in it twice",
                numbers.count(0)
            ),
            "make sure that nobody else writes to the topic; otherwise report it with the run file",
        ),
        Caveat::LogNotChecked { topic, detail } => told(
            topic,
            &[],
            format!(
                "acknowledged records of topic {topic} were not compared with its log ({}): a loss would not have been \
                 seen",
                numbers.first(detail)
            ),
            "repeat the trial when the loss of records is part of the question",
        ),
        _ => None,
    }
}
