//! Consumer groups: what their members were given and handed over.

use crate::rows::{ItemRows, TrialRows};
use kdyno_model::members::{MemberFigures, Members, OtherMembers};
use kdyno_model::sample::MemberTotals;

/// Members that are listed one by one at most.
const LISTED_MAX: usize = 8;

/// A figure of an item's group; `None` without one.
pub(crate) fn value(item: &ItemRows<'_>, name: &str) -> Option<f64> {
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

/// The members of an item's group, if it is in one and all of them reported what they did.
pub(crate) fn members(trial: &TrialRows<'_>, item: &ItemRows<'_>) -> Option<Members> {
    item.plan.role.group()?;
    let totals = totals(item)?;
    let (reported, others) = one_by_one(&totals);
    (!reported.is_empty()).then(|| Members {
        scope: trial.scope(),
        item: item.name.to_owned(),
        reported,
        others,
    })
}

/// What each member did; `None` where one did not report.
fn totals(item: &ItemRows<'_>) -> Option<Vec<MemberTotals>> {
    item.tally.clients.iter().map(|client| client.member).collect()
}

/// What each member was handed in the measure phase.
fn records(item: &ItemRows<'_>) -> Vec<f64> {
    totals(item).unwrap_or_default().iter().map(|member| member.measured_records as f64).collect()
}

/// Members one by one, and where they are many the rest together: those who lost partitions come first, then those
/// farthest from an equal share of the records.
fn one_by_one(totals: &[MemberTotals]) -> (Vec<MemberFigures>, Option<OtherMembers>) {
    let sum = totals.iter().fold(0, |sum: u64, one| sum.saturating_add(one.measured_records));
    let equal = sum as f64 / totals.len() as f64;
    let figures = |(client, one): (u32, &MemberTotals)| MemberFigures {
        client,
        records: one.measured_records,
        of_equal_share: (sum > 0).then(|| one.measured_records as f64 / equal),
        partitions: one.partitions,
        rebalances: one.rebalances,
        losses: one.losses,
    };
    let mut reported: Vec<MemberFigures> = (0..).zip(totals).map(figures).collect();
    if reported.len() <= LISTED_MAX {
        return (reported, None);
    }
    let distance = |one: &MemberFigures| (one.of_equal_share.unwrap_or(1.0) - 1.0).abs();
    reported.sort_by(|a, b| (b.losses > 0).cmp(&(a.losses > 0)).then(distance(b).total_cmp(&distance(a))));
    let others = together(&reported.split_off(LISTED_MAX));
    reported.sort_by_key(|one| one.client);
    (reported, others)
}

/// The least and the most of each figure.
fn together(members: &[MemberFigures]) -> Option<OtherMembers> {
    let least_and_most = |of: fn(&MemberFigures) -> u32| {
        let values = || members.iter().map(of);
        Some([values().min()?, values().max()?])
    };
    let records = || members.iter().map(|one| one.records);
    let shares = || members.iter().filter_map(|one| one.of_equal_share);
    let of_equal_share = shares().reduce(f64::min).zip(shares().reduce(f64::max));
    Some(OtherMembers {
        members: u32::try_from(members.len()).unwrap_or(u32::MAX),
        records: [records().min()?, records().max()?],
        of_equal_share: of_equal_share.map(<[f64; 2]>::from),
        partitions: least_and_most(|one| one.partitions)?,
        rebalances: least_and_most(|one| one.rebalances)?,
        losses: least_and_most(|one| one.losses)?,
    })
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
    use super::*;

    #[test]
    fn members_that_have_the_same_do_not_vary() {
        assert_eq!(variation(&[5.0, 5.0, 5.0]), Some(0.0));
        assert_eq!(variation(&[0.0, 10.0]), Some(1.0));
        assert_eq!((variation(&[]), variation(&[0.0])), (None, None));
    }

    fn member(measured_records: u64, losses: u32) -> MemberTotals {
        MemberTotals { measured_records, partitions: 2, rebalances: 1 + losses, losses }
    }

    #[test]
    fn few_members_are_listed_and_without_records_have_no_share() {
        let (reported, others) = one_by_one(&[member(300, 0), member(100, 0)]);
        let shares: Vec<_> = reported.iter().map(|one| (one.client, one.of_equal_share)).collect();
        assert_eq!((shares, others), (vec![(0, Some(1.5)), (1, Some(0.5))], None));
        assert_eq!(one_by_one(&[member(0, 0)]).0[0].of_equal_share, None);
        assert_eq!(one_by_one(&[]), (vec![], None));
    }

    #[test]
    fn of_many_members_only_the_different_ones_are_listed() {
        let mut all = vec![member(1_000, 0); 40];
        // As many as the others, but it was out for a while; and seven that were handed more, and less.
        all[17] = member(1_000, 1);
        for (at, records) in [(3, 1_200), (39, 800), (20, 0), (21, 2_000), (22, 900), (23, 1_050), (5, 1_040)]
        {
            all[at] = member(records, 0);
        }
        all[8] = member(1_010, 0);
        let (reported, others) = one_by_one(&all);
        let clients: Vec<u32> = reported.iter().map(|one| one.client).collect();
        assert_eq!(clients, [3, 5, 17, 20, 21, 22, 23, 39]);
        let others = others.expect("others");
        assert_eq!((others.members, others.records), (32, [1_000, 1_010]));
        assert_eq!((others.partitions, others.rebalances, others.losses), ([2, 2], [1, 1], [0, 0]));
        assert_eq!(others.of_equal_share, Some([1.0, 1.01]));
    }
}
