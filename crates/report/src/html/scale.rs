//! Axes: from values to places on the paper, and where the ticks are.

/// One axis: a range of values on a range of the paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    min: f64,
    max: f64,
    log: bool,
    from: f64,
    to: f64,
    /// Values that are marked on the axis, ascending.
    pub ticks: Vec<f64>,
}

/// Ticks wanted on a linear axis.
const TICKS_WANTED: f64 = 5.0;
/// Decades from which on only whole decades are ticked.
const DECADES_PLAIN: f64 = 2.5;

impl Scale {
    /// A linear axis that holds all values and ends on ticks. `from` and `to` are places on the paper.
    pub fn linear(values: impl Iterator<Item = f64>, from_zero: bool, from: f64, to: f64) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let low = if from_zero { low.min(0.0) } else { low };
        let high = if high > low { high } else { low + 1.0 };
        let step = nice_step((high - low) / TICKS_WANTED);
        let first = (low / step).floor();
        let last = (high / step).ceil().max(first + 1.0);
        // At most a few more than wanted: a nice step is at least half the wanted one.
        let count = ((last - first) as usize).min(4 * TICKS_WANTED as usize);
        let ticks: Vec<f64> = (0..=count).map(|index| (first + index as f64) * step).collect();
        Self { min: first * step, max: last * step, log: false, from, to, ticks }
    }

    /// A linear axis for figures that are printed in steps of `resolution`: no tick lies between two of these, and what differs by
    /// less does not fill the width.
    pub fn resolved(values: impl Iterator<Item = f64>, resolution: f64, from: f64, to: f64) -> Self {
        let ends = range(values).map(|ends| widened(ends, resolution));
        Self::linear(ends.into_iter().flat_map(|(low, high)| [low, high]), false, from, to)
    }

    /// A linear axis with exactly these ends and ticks.
    pub fn fixed(min: f64, max: f64, ticks: Vec<f64>, from: f64, to: f64) -> Self {
        let max = if max > min { max } else { min + 1.0 };
        Self { min, max, log: false, from, to, ticks }
    }

    /// A logarithmic axis that holds all positive values and ends on ticks.
    pub fn log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) = range(values.filter(|value| *value > 0.0)).unwrap_or((1.0, 10.0));
        let (first, last) = (low.log10().floor(), high.log10().ceil());
        let last = if last > first { last } else { first + 1.0 };
        let steps: &[f64] = if last - first > DECADES_PLAIN { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = (last - first) as i32;
        let mut ticks: Vec<f64> = (0..=decades)
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powf(first + f64::from(decade))))
            .collect();
        // Ticks outside of the values only waste paper, but for the ones that enclose them.
        while ticks.len() > 2 && ticks[1] <= low {
            ticks.remove(0);
        }
        while ticks.len() > 2 && ticks[ticks.len() - 2] >= high {
            ticks.pop();
        }
        let (min, max) = (ticks[0].min(low), ticks[ticks.len() - 1].max(high));
        Self { min, max, log: true, from, to, ticks }
    }

    /// Whether it is logarithmic, and the values at its ends.
    pub fn ends(&self) -> (bool, f64, f64) {
        (self.log, self.min, self.max)
    }

    /// The place of a value; values outside of the axis lie on its end.
    pub fn place(&self, value: f64) -> f64 {
        let warp = |value: f64| if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let share = (warp(value) - warp(self.min)) / (warp(self.max) - warp(self.min));
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        self.from + share * (self.to - self.from)
    }
}

/// A range that holds some steps of a resolution at least, with the same middle; it begins no further below zero than before.
pub fn widened((low, high): (f64, f64), resolution: f64) -> (f64, f64) {
    let lacking = (TICKS_WANTED * resolution - (high - low)) / 2.0;
    if lacking <= 0.0 {
        return (low, high);
    }
    let first = if low >= 0.0 { (low - lacking).max(0.0) } else { low - lacking };
    (first, first + (high - low) + 2.0 * lacking)
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

/// 1, 2 or 5 times a power of ten, the next above.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let nice = steps.into_iter().map(|nice| nice * power).find(|nice| *nice >= step * 0.999_999);
    nice.filter(|nice| nice.is_finite() && *nice > 0.0).unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_linear_axis_ends_on_ticks() {
        let scale = Scale::linear([0.0, 171_000.0].into_iter(), true, 0.0, 100.0);
        assert_eq!(scale.ticks, [0.0, 50_000.0, 100_000.0, 150_000.0, 200_000.0]);
        assert!((scale.place(100_000.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_is_no_finer_than_its_figures_are_printed() {
        let scale = Scale::resolved([4_980.3, 4_980.7].into_iter(), 1.0, 0.0, 100.0);
        let steps: Vec<f64> = scale.ticks.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(scale.ticks.len() >= 6 && steps.iter().all(|step| *step >= 1.0), "{:?}", scale.ticks);
        assert!(scale.place(4_980.7) - scale.place(4_980.3) < 10.0, "they are alike");
        let wide = [4_000.0, 5_000.0];
        let plain = Scale::linear(wide.into_iter(), false, 0.0, 100.0);
        assert_eq!(Scale::resolved(wide.into_iter(), 1.0, 0.0, 100.0), plain);
        assert_eq!(widened((0.5, 0.5), 1.0), (0.0, 5.0));
    }

    #[test]
    fn a_short_log_axis_has_ticks_between_decades() {
        let scale = Scale::log([3e6, 90e6].into_iter(), 0.0, 100.0);
        assert_eq!(scale.ticks.len(), 6, "{:?}", scale.ticks);
        assert!(scale.ticks[0] <= 3e6 && scale.ticks[5] >= 90e6, "{:?}", scale.ticks);
    }

    proptest! {
        #[test]
        fn every_place_lies_on_the_axis(
            values in prop::collection::vec(prop::num::f64::ANY, 0..20), probe in prop::num::f64::ANY, log: bool,
        ) {
            let scale = if log {
                Scale::log(values.into_iter(), 10.0, 90.0)
            } else {
                Scale::linear(values.into_iter(), true, 10.0, 90.0)
            };
            let place = scale.place(probe);
            prop_assert!((10.0..=90.0).contains(&place), "{place}");
            prop_assert!(scale.ticks.len() < 700);
        }
    }
}
