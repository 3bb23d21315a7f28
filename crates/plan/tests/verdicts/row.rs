//! Rows of the table, and how much is simulated for them.

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// Seed of all simulations: a date, never searched for.
const SEED: u64 = 20_261_129;

/// How many simulations are run: all of them for the table, else the part that a test has time for.
pub fn count(all: u32, part: u32) -> u32 {
    let is_all = std::env::var_os("KDYNO_ACCURACY").is_some_and(|value| value == "full");
    if is_all { all } else { part }
}

/// The random numbers of a stream: the same in every run.
pub fn random(stream: u64) -> Pcg64 {
    Pcg64::seed_from_u64(SEED + stream)
}

/// Prints a row: what was simulated, which figure it is, what is promised, what was found, and how the two differ.
pub fn show(world: &str, figure: &str, promised: &str, found: &str, says: &str) {
    println!("row | {world} | {figure} | {promised} | {found} | {says}");
}

/// A share in percent.
pub fn percent(found: u32, of: u32) -> f64 {
    100.0 * f64::from(found) / f64::from(of)
}

/// What a share of `of` may exceed a promise of so many percent by: 3 standard errors, since there are dozens of rows.
pub fn allowed(promised_percent: f64, of: u32) -> f64 {
    let promised = promised_percent / 100.0;
    promised_percent + 300.0 * (promised * (1.0 - promised) / f64::from(of)).sqrt()
}
