//! Where the start of a series stops being a warm-up: MSER-5 (White 1997; Franklin and White 2008).

/// Points that are averaged before the truncation is looked for.
const BATCH: usize = 5;

/// How many of the first points to leave out so that the mean of the rest has the least standard error: of the means
/// Z of 5 points each, the d ≤ m ÷ 2 that minimises Σ_{j ≥ d} (Z_j − Z̄_d)² ÷ (m − d)². A multiple of 5, at most half
/// of the points; 0 of fewer than 10.
pub fn truncation(points: &[f64]) -> usize {
    let batches: Vec<f64> =
        points.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let m = batches.len();
    let error = |from: usize| {
        let kept = &batches[from..];
        let n = kept.len() as f64;
        let mean = kept.iter().sum::<f64>() / n;
        kept.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / (n * n)
    };
    // A single batch has no spread, and nothing to be compared with.
    let candidates = (0..=truncation_max(points.len()) / BATCH).filter(|from| m - from >= 2);
    let best = candidates.map(|from| (from, error(from))).min_by(|(_, a), (_, b)| a.total_cmp(b));
    best.map_or(0, |(from, _)| from * BATCH)
}

/// The most that [`truncation`] leaves out of so many points. When it does, the warm-up may not have ended in them.
pub fn truncation_max(points: usize) -> usize {
    points / BATCH / 2 * BATCH
}
