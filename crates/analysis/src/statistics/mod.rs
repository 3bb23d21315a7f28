//! Exact and small-sample statistics on plain numbers: what repeats and pairs can carry.
//!
//! All differences are natural logarithms of ratios (ln B ÷ A), one for each unit of evidence. Nothing here knows of
//! trials or metrics. Definitions and levels are in docs/METHOD.md, "Comparing A and B" and
//! "Repeats and intervals"; what simulations of them showed, in docs/benchmarks.md.

mod bounds;
mod family;
mod hodges_lehmann;
mod looks;
mod power;
mod sen;
mod signed_rank;
mod student;
mod verdict;

pub use bounds::Bounds;
pub use family::{benjamini_hochberg, family_wise, holm};
pub use hodges_lehmann::WalshAverages;
pub use looks::{Look, MEAN_UNITS_MIN, UNITS_MIN, look_least, looks, units_least};
pub use power::{UnitSpread, smallest_visible};
pub use sen::{SEN_LEVEL, SEN_MIN, SenSlope, sen_slope};
pub use signed_rank::{critical, p_value, signed_ranks};
pub use student::{PairedMean, WelchMean, quantile as student_quantile, two_sided_p as student_p};
pub use verdict::{
    Decision, Family, LookOutcome, Margin, compare, compare_by_mean, compare_unpaired, compare_with_ties,
};
