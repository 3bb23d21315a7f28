//! Sums that must agree to the nanosecond, whatever was measured. A difference is a defect of kdyno.

use kdyno_model::sample::Timing;
use std::collections::BTreeMap;

/// Response − the sum of its stages, ns; 0 when the sums are right. `None` when a stage has no sum.
///
/// Each record's stages are differences of consecutive instants, so they sum to t6 − t0; sums over records
/// are integers, so they do too, exactly.
pub fn stage_difference_ns(sums_ns: &BTreeMap<Timing, u128>) -> Option<i128> {
    let response = i128::try_from(*sums_ns.get(&Timing::Response)?).ok()?;
    Timing::STAGES
        .into_iter()
        .try_fold(response, |left, stage| left.checked_sub(i128::try_from(*sums_ns.get(&stage)?).ok()?))
}

/// Response − service − lag − block, ns; 0 when the sums are right: service is what is left of the response
/// after t2. `None` when a sum is missing.
pub fn service_difference_ns(sums_ns: &BTreeMap<Timing, u128>) -> Option<i128> {
    let parts = [Timing::Service, Timing::Lag, Timing::Block];
    let response = i128::try_from(*sums_ns.get(&Timing::Response)?).ok()?;
    parts
        .into_iter()
        .try_fold(response, |left, part| left.checked_sub(i128::try_from(*sums_ns.get(&part)?).ok()?))
}

/// ∫ records in flight dt, in record × ns, by walking over every start and end.
///
/// Little's law in its exact form: for spans that all lie within the time looked at, this equals
/// Σ (end − start). The two are computed from different things (a running count, and each record's own
/// instants), so agreement shows that no record was timed and not counted, or counted and not timed.
pub fn in_flight_integral_ns(spans: &[(u64, u64)]) -> u128 {
    let mut starts: Vec<u64> = spans.iter().map(|span| span.0).collect();
    let mut ends: Vec<u64> = spans.iter().map(|span| span.1).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let (mut started, mut ended) = (0, 0);
    let mut in_flight = 0u128;
    let mut before_ns = 0;
    let mut integral = 0u128;
    while ended < ends.len() {
        let starts_next = starts.get(started).is_some_and(|start| *start <= ends[ended]);
        let now_ns = if starts_next { starts[started] } else { ends[ended] };
        integral += in_flight * u128::from(now_ns - before_ns);
        before_ns = now_ns;
        if starts_next {
            started += 1;
            in_flight += 1;
        } else {
            ended += 1;
            in_flight = in_flight.saturating_sub(1);
        }
    }
    integral
}

/// Σ (end − start), ns.
pub fn latency_sum_ns(spans: &[(u64, u64)]) -> u128 {
    spans.iter().map(|(start, end)| u128::from(end.saturating_sub(*start))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn in_flight_over_time_is_the_sum_of_latencies(
            spans in prop::collection::vec((0u64..1 << 40, 0u64..1 << 36), 0..300)
        ) {
            let spans: Vec<(u64, u64)> = spans.into_iter().map(|(start, ns)| (start, start + ns)).collect();
            prop_assert_eq!(in_flight_integral_ns(&spans), latency_sum_ns(&spans));
        }

        #[test]
        fn stages_sum_to_the_response(
            records in prop::collection::vec(prop::array::uniform6(0u64..1 << 40), 1..100)
        ) {
            let mut sums = BTreeMap::new();
            for stages in &records {
                let mut add = |timing, ns: u64| *sums.entry(timing).or_insert(0u128) += u128::from(ns);
                for (timing, ns) in Timing::STAGES.into_iter().zip(stages) {
                    add(timing, *ns);
                }
                add(Timing::Response, stages.iter().sum());
                add(Timing::Service, stages[2..].iter().sum());
            }
            prop_assert_eq!(stage_difference_ns(&sums), Some(0));
            prop_assert_eq!(service_difference_ns(&sums), Some(0));
            *sums.entry(Timing::Queue).or_insert(0) += 1;
            prop_assert_eq!(stage_difference_ns(&sums), Some(-1));
        }
    }

    #[test]
    fn a_missing_stage_is_no_agreement() {
        assert_eq!(stage_difference_ns(&BTreeMap::from([(Timing::Response, 5)])), None);
    }
}
