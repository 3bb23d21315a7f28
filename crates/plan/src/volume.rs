//! How many records items send by their schedules.

use kdyno_model::plan::{LoadSpan, PhasesPlan, ProducePlan, Rate, RatePiece};

/// Records scheduled from the start of the measure phase to `until_ns` after it.
fn scheduled(pieces: &[RatePiece], until_ns: u64) -> f64 {
    let mut left_ns = until_ns as f64;
    let mut records = 0.0;
    for (at, piece) in pieces.iter().enumerate() {
        let constant = piece.from_per_s == piece.to_per_s;
        let endless = constant && at + 1 == pieces.len();
        let length_ns = if endless { left_ns } else { left_ns.min(piece.length_ns as f64) };
        let share = if piece.length_ns == 0 { 1.0 } else { length_ns / piece.length_ns as f64 };
        let end_per_s = if constant {
            piece.to_per_s
        } else {
            piece.from_per_s + (piece.to_per_s - piece.from_per_s) * share
        };
        records += (piece.from_per_s + end_per_s) / 2.0 * length_ns / 1e9;
        left_ns -= length_ns;
    }
    records
}

/// Records an item sends at most in one trial; `None`: as many as the cluster takes.
pub(crate) fn records(produce: &ProducePlan, span: LoadSpan, phases: &PhasesPlan) -> Option<f64> {
    let warmup_ns = if span.is_late() { 0 } else { phases.measure_start_ns() };
    let work_ns = span.within(phases.measure_ns);
    match (&produce.rate, produce.records_max) {
        (Rate::Open { pieces, .. }, limit) => {
            // Until the measure phase begins the first rate holds.
            let warm = pieces.first().map_or(0.0, |piece| piece.from_per_s) * warmup_ns as f64 / 1e9;
            let measured = scheduled(pieces, work_ns.end - work_ns.start);
            Some(warm + limit.map_or(measured, |limit| measured.min(limit as f64)))
        }
        (Rate::Max { .. }, Some(limit)) if warmup_ns == 0 => Some(limit as f64),
        (Rate::Max { .. }, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramps_and_steps_are_integrated() {
        let ramp = [
            RatePiece { from_per_s: 0.0, to_per_s: 100.0, length_ns: 10_000_000_000 },
            RatePiece { from_per_s: 100.0, to_per_s: 100.0, length_ns: 1 },
        ];
        assert_eq!(scheduled(&ramp, 5_000_000_000), 125.0);
        assert_eq!(scheduled(&ramp, 10_000_000_000), 500.0);
        assert_eq!(scheduled(&ramp, 12_000_000_000), 700.0);
    }
}
