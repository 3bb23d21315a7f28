//! Values over time as a row of signs.

/// Signs of a picture, the higher the more.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A row of signs from 0 to the highest value, and what that is.
pub(super) struct Sparkline {
    /// As many as there are columns, blanks behind the last one, so that the text after it does not move while it
    /// grows.
    pub(super) signs: String,
    /// The highest value; `None` where no value is known.
    pub(super) most: Option<f64>,
}

impl Sparkline {
    /// A picture of values at whole seconds, the earliest first. If several share a sign `fold` says which counts; what
    /// is not known is a blank.
    pub(super) fn of(
        points: impl Iterator<Item = (u32, Option<f64>)> + Clone,
        columns: usize,
        fold: fn(f64, f64) -> f64,
    ) -> Self {
        let known =
            || points.clone().filter_map(|(at_s, value)| Some((at_s, value.filter(|one| one.is_finite())?)));
        let most = known().map(|(_, value)| value).reduce(f64::max);
        let ends = points.clone().fold(None, |ends: Option<(u32, u32)>, (at_s, _)| match ends {
            Some((first, last)) => Some((first.min(at_s), last.max(at_s))),
            None => Some((at_s, at_s)),
        });
        let (first, last) = ends.unwrap_or_default();
        let span = (last - first) as usize + 1;
        let mut cells: Vec<Option<f64>> = vec![None; columns.min(span)];
        let many = cells.len();
        for (at_s, value) in known() {
            if let Some(cell) = cells.get_mut((at_s - first) as usize * many / span) {
                *cell = Some(cell.map_or(value, |before| fold(before, value)));
            }
        }
        let sign = |value: &Option<f64>| value.map_or(' ', |value| level(value, most.unwrap_or_default()));
        let signs: String = cells.iter().map(sign).collect();
        Self { signs: format!("{signs:<columns$}"), most }
    }
}

fn level(value: f64, most: f64) -> char {
    let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(values: &[(u32, Option<f64>)], columns: usize) -> String {
        Sparkline::of(values.iter().copied(), columns, f64::max).signs
    }

    #[test]
    fn signs_are_as_high_as_their_share_of_the_highest() {
        let rising: Vec<(u32, Option<f64>)> = (0..8).map(|at| (at, Some(f64::from(at + 1)))).collect();
        assert_eq!(picture(&rising, 8), "▂▃▄▅▆▇██");
        assert_eq!(picture(&rising, 10), "▂▃▄▅▆▇██  ", "no wider than there are seconds");
        assert_eq!(picture(&rising, 4), "▃▅▇█", "the higher of two");
        assert_eq!(picture(&[(3, Some(0.0)), (4, Some(0.0))], 2), "▁▁", "nothing is no gap");
    }

    #[test]
    fn what_is_not_known_is_a_blank_however_long() {
        assert_eq!(picture(&[(0, Some(1.0)), (1, None), (2, Some(f64::NAN)), (3, Some(1.0))], 4), "█  █");
        assert_eq!(
            picture(&[(0, Some(1.0)), (u32::MAX, Some(0.5))], 4),
            "█  ▅",
            "a span of a century takes no room"
        );
        assert_eq!((picture(&[], 3), picture(&[(7, Some(1.0))], 0)), ("   ".to_owned(), String::new()));
    }
}
