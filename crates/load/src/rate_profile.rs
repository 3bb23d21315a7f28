//! A load item's rate over time and its integral Λ: a chain of linear pieces.

use kdyno_model::plan::RatePiece;

/// Ends a schedule: no further record is intended.
pub const NEVER: u64 = u64::MAX;

pub(crate) const NS_PER_S: f64 = 1e9;

/// A place on the profile: a piece, and the time since its start. The fraction of a nanosecond is kept, so
/// gaps do not lose what rounding cuts off.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProfilePosition {
    piece: usize,
    since_ns: u64,
    fraction_ns: f64,
}

/// The profile of a rate over time; its last piece has no end.
#[derive(Debug, Clone)]
pub(crate) struct RateProfile {
    pieces: Vec<ProfilePiece>,
}

#[derive(Debug, Clone, Copy)]
struct ProfilePiece {
    start_ns: u64,
    length_ns: u64,
    from_per_ns: f64,
    /// Change of the rate per ns.
    slope: f64,
    /// Λ at the start of the piece.
    area_before: f64,
    /// Λ over the piece.
    area: f64,
}

impl RateProfile {
    pub(crate) fn new(pieces: &[RatePiece], share: f64) -> Self {
        let (mut ramps, mut end_per_s) = (pieces, pieces.last().map_or(0.0, |piece| piece.to_per_s));
        if let [before @ .., last] = pieces
            && last.from_per_s == last.to_per_s
        {
            (ramps, end_per_s) = (before, last.from_per_s);
        }
        let per_ns = |per_s: f64| per_s * share / NS_PER_S;
        let ramp = |piece: &RatePiece| {
            ProfilePiece::ramp(per_ns(piece.from_per_s), per_ns(piece.to_per_s), piece.length_ns)
        };
        let mut profile: Vec<ProfilePiece> = ramps.iter().map(ramp).collect();
        profile.push(ProfilePiece::endless(per_ns(end_per_s)));
        let (mut start_ns, mut area_before) = (0u64, 0.0);
        for piece in &mut profile {
            (piece.start_ns, piece.area_before) = (start_ns, area_before);
            start_ns = start_ns.saturating_add(piece.length_ns);
            area_before += piece.area;
        }
        Self { pieces: profile }
    }

    /// Λ⁻¹(area) in ns.
    pub(crate) fn instant(&self, area: f64) -> u64 {
        let piece =
            self.pieces.iter().find(|piece| area < piece.area_before + piece.area || piece.is_endless());
        match piece {
            Some(piece) if piece.area > 0.0 => {
                piece.start_ns.saturating_add(piece.time_for(0.0, area - piece.area_before) as u64)
            }
            _ => NEVER,
        }
    }

    /// Moves on by `area` of Λ and gives the instant; `None` at the end of a profile that ends with rate 0.
    pub(crate) fn advance(&self, at: &mut ProfilePosition, mut area: f64) -> Option<u64> {
        loop {
            let piece = &self.pieces[at.piece];
            let since = at.since_ns as f64 + at.fraction_ns;
            let left = piece.area - piece.area_until(since);
            if area < left || left.is_nan() {
                let gap_ns = piece.time_for(since, area) + at.fraction_ns;
                let whole_ns = gap_ns as u64;
                at.since_ns = at.since_ns.saturating_add(whole_ns);
                at.fraction_ns = gap_ns - whole_ns as f64;
                return Some(piece.start_ns.saturating_add(at.since_ns));
            }
            if piece.is_endless() {
                return None;
            }
            area -= left;
            *at = ProfilePosition { piece: at.piece + 1, ..ProfilePosition::default() };
        }
    }
}

impl ProfilePiece {
    /// Linear between two rates.
    fn ramp(from_per_ns: f64, to_per_ns: f64, length_ns: u64) -> Self {
        let length = length_ns as f64;
        let area = (from_per_ns + to_per_ns) / 2.0 * length;
        let slope = if length_ns == 0 { 0.0 } else { (to_per_ns - from_per_ns) / length };
        Self { start_ns: 0, length_ns, from_per_ns, slope, area_before: 0.0, area }
    }

    /// One rate from here on.
    fn endless(per_ns: f64) -> Self {
        let area = if per_ns > 0.0 { f64::INFINITY } else { 0.0 };
        Self { start_ns: 0, length_ns: u64::MAX, from_per_ns: per_ns, slope: 0.0, area_before: 0.0, area }
    }

    fn is_endless(&self) -> bool {
        self.length_ns == u64::MAX
    }

    /// Rate `since` ns after the piece's start.
    fn rate(&self, since: f64) -> f64 {
        self.from_per_ns + self.slope * since
    }

    /// Λ from the piece's start to `since`.
    fn area_until(&self, since: f64) -> f64 {
        if self.area.is_infinite() { 0.0 } else { (self.from_per_ns + self.slope / 2.0 * since) * since }
    }

    /// Time from `since` on in which `area` accrues: the root of s/2·x² + r·x = area, in the form that
    /// loses no digits when the slope s is small.
    fn time_for(&self, since: f64, area: f64) -> f64 {
        let rate = self.rate(since);
        if self.slope == 0.0 {
            return area / rate;
        }
        2.0 * area / (rate + (rate * rate + 2.0 * self.slope * area).max(0.0).sqrt())
    }
}
