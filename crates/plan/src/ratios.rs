//! How well records compress: a column next to every rate of a load item that compresses.

use kdyno_model::metric::Address;
use kdyno_model::plan::{CasePlan, ComparePlan, Compression, Show, Strategy};

/// The metric.
const COMPRESSION_RATIO: &str = "compression_ratio";

/// Adds the column behind the last rate of each such item: a rate of compressed records says little without it.
pub(crate) fn add_columns(show: &mut Show, cases: &[CasePlan], strategy: &Strategy) {
    let compare = strategy.as_compare();
    let compresses = |item: &str| {
        let mut all = cases.iter().chain(compare.into_iter().flat_map(ComparePlan::other_cases));
        all.any(|case| {
            let produce = case.load.get(item).and_then(|item| item.role.as_produce());
            produce.is_some_and(|produce| produce.client.compression != Compression::None)
        })
    };
    let rates = show.columns.iter().enumerate().filter(|(_, column)| column.metric.starts_with("acked_"));
    let mut last: Vec<(usize, String)> = Vec::new();
    for (at, column) in rates.filter(|(_, column)| compresses(&column.subject)) {
        last.retain(|(_, subject)| *subject != column.subject);
        last.push((at, column.subject.clone()));
    }
    // From the last one on, so that the places before it stay what they are.
    last.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    for (at, subject) in last {
        let column = Address { subject, metric: COMPRESSION_RATIO.to_owned() };
        if !show.columns.contains(&column) {
            show.columns.insert(at + 1, column);
        }
    }
}
