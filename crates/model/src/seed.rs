//! Seeds drawn from a seed: of trials, load items, clients.

/// Step of the generator: 2⁶⁴ divided by the golden ratio.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The seed at `place` among those drawn from `seed` (SplitMix64), so that neighbours share nothing. Fixed here, so
/// that a printed seed means the same run in every version.
pub fn mix(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_add(1).wrapping_mul(STEP));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
