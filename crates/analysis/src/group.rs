//! Consumer groups: what their members were given and handed over.

use crate::rows::Item;
use kdyno_model::sample::MemberTotals;

/// A figure of an item's group; `None` without one.
pub(crate) fn value(item: &Item<'_>, name: &str) -> Option<f64> {
    item.plan.role.group()?;
    let windowed = item.window.map(|_| &item.tally.windowed);
    match name {
        "rebalances" => windowed.map(|counts| counts.rebalances as f64),
        "offset_commits" => windowed.map(|counts| counts.offset_commits as f64),
        "duplicates" => windowed.map(|counts| counts.duplicates as f64),
        "member_records_least" => records(item).into_iter().reduce(f64::min),
        "member_records_most" => records(item).into_iter().reduce(f64::max),
        "member_records_cv" => variation(&records(item)),
        _ => None,
    }
}

/// What each member was handed in the measure phase.
fn records(item: &Item<'_>) -> Vec<f64> {
    let members: Option<Vec<MemberTotals>> = item.tally.clients.iter().map(|client| client.member).collect();
    members.unwrap_or_default().iter().map(|member| member.measured_records as f64).collect()
}

/// Standard deviation ÷ mean of all there are; `None` without any record.
fn variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean > 0.0).then(|| (squares / count).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::variation;

    #[test]
    fn members_that_have_the_same_do_not_vary() {
        assert_eq!(variation(&[5.0, 5.0, 5.0]), Some(0.0));
        assert_eq!(variation(&[0.0, 10.0]), Some(1.0));
        assert_eq!((variation(&[]), variation(&[0.0])), (None, None));
    }
}
