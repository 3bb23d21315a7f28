//! How often which latency was seen when, small enough for a picture.

use crate::histogram::LatencyDistribution;
use kdyno_model::series::{HeatColumn, HeatMap};
use std::collections::BTreeMap;

/// Columns at most: more are no longer seen apart.
const COLUMNS_MAX: u32 = 120;

/// Rows for each power of ten: a step of a third, far more than what a histogram of a second rounds.
const ROWS_PER_DECADE: f64 = 8.0;

/// Latencies second by second.
#[derive(Debug, Default)]
pub(crate) struct Heat {
    /// By second records by row, and those without a latency.
    seconds: BTreeMap<u32, (BTreeMap<i32, u64>, u64)>,
}

impl Heat {
    /// Adds those of the records that were intended in a second.
    pub(crate) fn add(&mut self, second: u32, times: &LatencyDistribution) {
        if times.total() == 0 {
            return;
        }
        let (rows, unfinished) = self.seconds.entry(second).or_default();
        for (ns, records) in times.recorded() {
            let known = rows.entry(row_of(ns)).or_default();
            *known = known.saturating_add(records);
        }
        *unfinished = unfinished.saturating_add(times.unfinished());
    }

    /// The map: seconds are put together where there are more than columns.
    pub(crate) fn map(&self) -> HeatMap {
        let rows = || self.seconds.values().flat_map(|(rows, _)| rows.keys().copied());
        let ends = self.seconds.keys().next().zip(self.seconds.keys().next_back());
        let (Some(low), Some(high), Some((first, last))) = (rows().min(), rows().max(), ends) else {
            return HeatMap::default();
        };
        let seconds = (last - first + 1).div_ceil(COLUMNS_MAX);
        let many = usize::try_from(high - low + 1).unwrap_or_default();
        let mut columns: BTreeMap<u32, HeatColumn> = BTreeMap::new();
        for (second, (rows, unfinished)) in &self.seconds {
            let start = first + (second - first) / seconds * seconds;
            let column = columns.entry(start).or_insert_with(|| HeatColumn {
                second: start,
                records: vec![0; many],
                unfinished: 0,
            });
            for (row, records) in rows {
                let at = usize::try_from(row - low).unwrap_or_default();
                column.records[at] = column.records[at].saturating_add(*records);
            }
            column.unfinished = column.unfinished.saturating_add(*unfinished);
        }
        let edges_ns = (low..=high + 1).map(|row| 10f64.powf(f64::from(row) / ROWS_PER_DECADE)).collect();
        HeatMap { seconds, edges_ns, columns: columns.into_values().collect() }
    }
}

/// The row of a latency; 0 ns lies in the lowest one.
fn row_of(ns: u64) -> i32 {
    // Truncation is meant: 2⁶⁴ ns lie in row 154.
    #[allow(clippy::cast_possible_truncation)]
    let row = ((ns.max(1) as f64).log10() * ROWS_PER_DECADE).floor() as i32;
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};
    use kdyno_model::sample::{LATENCY_NS_MAX, LATENCY_NS_MIN};

    fn times(ns: u64, records: u64, unfinished: u64) -> LatencyDistribution {
        let mut histogram = Histogram::<u64>::new_with_bounds(LATENCY_NS_MIN, LATENCY_NS_MAX, 2).unwrap();
        histogram.record_n(ns, records).unwrap();
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        let mut out = LatencyDistribution::new();
        out.add_histogram(&bytes).unwrap();
        out.add_unfinished(unfinished, 0);
        out
    }

    #[test]
    fn a_record_is_in_its_latencys_row_and_its_seconds_column() {
        let mut heat = Heat::default();
        heat.add(3, &times(2_000_000, 7, 0));
        heat.add(5, &times(40_000_000, 2, 1));
        heat.add(6, &LatencyDistribution::new());
        let map = heat.map();
        assert_eq!((map.seconds, map.columns.len()), (1, 2), "a second without records has no column");
        assert_eq!(map.edges_ns.len(), map.columns[0].records.len() + 1);
        assert!(map.edges_ns[0] <= 2e6 && map.edges_ns[1] > 2e6, "{:?}", map.edges_ns);
        assert_eq!((map.columns[0].second, map.columns[0].records[0]), (3, 7));
        let last = &map.columns[1];
        assert_eq!((last.second, last.records.last(), last.unfinished), (5, Some(&2), 1));
    }

    #[test]
    fn a_long_course_has_few_columns_and_loses_no_record() {
        let mut heat = Heat::default();
        (10..3_610).for_each(|second| heat.add(second, &times(1_000_000, 2, 1)));
        let map = heat.map();
        assert_eq!((map.seconds, map.columns.len()), (30, 120));
        assert!(map.columns.iter().all(|column| column.records.iter().sum::<u64>() == 60));
        assert!(map.columns.iter().all(|column| column.unfinished == 30));
        assert_eq!(Heat::default().map(), HeatMap::default());
    }
}
