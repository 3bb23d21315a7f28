//! Numbers next to an axis: as short as they can be while each differs from the next.

use super::scale::Scale;
use crate::units;
use kdyno_model::metric::Unit;

/// Most decimals that numbers next to an axis get so that no two of them read alike.
const DECIMALS_MAX: usize = 9;

/// How the numbers of an axis are printed by `text`, which takes a number and with how many decimals: 0 leaves that to its unit.
/// More are tried for as long as two neighbours read alike, as those of an axis from 171,000.2 to 171,000.8 would.
pub fn distinct<F: Fn(f64, usize) -> String>(axis: &Scale, text: F) -> impl Fn(f64) -> String + use<F> {
    let are_distinct = |decimals: &usize| {
        let texts: Vec<String> = axis.ticks.iter().map(|tick| text(*tick, *decimals)).collect();
        texts.windows(2).all(|pair| pair[0] != pair[1])
    };
    let decimals = (0..=DECIMALS_MAX).find(are_distinct).unwrap_or(0);
    move |tick| text(tick, decimals)
}

/// The step in which a figure of this size is printed: three digits, whole numbers from 100 on.
pub fn resolution(number: f64, unit: Unit) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    let divisor = units::divisor(number, unit);
    let decimals = (2.0 - (number.abs() / divisor).log10().floor()).max(0.0);
    divisor * 10f64.powf(-decimals)
}

/// A number of the axis as printed, with so many decimals.
pub fn tick_text(tick: f64, unit: Unit, decimals: usize) -> String {
    match unit {
        Unit::Ns => time_to(tick, decimals),
        Unit::Bytes => bytes_to(tick, decimals),
        _ => number_to(tick, decimals),
    }
}

/// A round time without the zeros that three digits would give it.
pub fn tick_time(ns: f64) -> String {
    time_to(ns, 0)
}

/// A round number likewise.
pub fn tick_number(number: f64) -> String {
    number_to(number, 0)
}

/// A time with so many decimals; 0: three digits.
pub fn time_to(ns: f64, decimals: usize) -> String {
    if ns == 0.0 { "0".to_owned() } else { scaled_to(ns, Unit::Ns, &units::nanoseconds(ns), decimals) }
}

/// A number with so many decimals; 0: three digits of one below 100, else none.
pub fn number_to(number: f64, decimals: usize) -> String {
    match decimals {
        0 => short(&units::count(number)).to_owned(),
        _ => short(&units::separated(number, decimals)).to_owned(),
    }
}

/// Bytes with so many decimals; 0: three digits.
pub fn bytes_to(bytes: f64, decimals: usize) -> String {
    match decimals {
        0 => units::bytes(bytes),
        _ => scaled_to(bytes, Unit::Bytes, &units::bytes(bytes), decimals),
    }
}

/// A number in the unit in which it was printed, `12.5 ms`.
fn scaled_to(number: f64, unit: Unit, printed: &str, decimals: usize) -> String {
    let Some((digits, word)) = printed.split_once(' ') else { return printed.to_owned() };
    let more = (decimals > 0).then(|| units::separated(number / units::divisor(number, unit), decimals));
    format!("{} {word}", short(more.as_deref().unwrap_or(digits)))
}

/// A number without the zeros behind its point.
pub fn short(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_an_axis_are_printed_short() {
        assert_eq!([1e6, 2.5e6, 1e10, 0.0].map(tick_time), ["1 ms", "2.5 ms", "10 s", "0"]);
        assert_eq!([0.8, 1e6, 12.5, 0.0].map(tick_number), ["0.8", "1,000,000", "12.5", "0"]);
    }

    #[test]
    fn figures_are_printed_in_steps() {
        let of = |number, unit| resolution(number, unit);
        assert_eq!([of(4_980.3, Unit::RecordsPerS), of(37.42, Unit::RecordsPerS)], [1.0, 0.1]);
        assert!((of(12.34e6, Unit::Ns) - 1e5).abs() < 1.0, "12.3 ms");
        assert_eq!(of(0.0, Unit::Ns), 0.0);
    }

    #[test]
    fn no_two_numbers_of_an_axis_read_alike() {
        let reported = |low: f64, high: f64, text: fn(f64, usize) -> String| -> Vec<String> {
            let axis = Scale::linear([low, high].into_iter(), false, 0.0, 1.0);
            let text = distinct(&axis, text);
            axis.ticks.iter().map(|tick| text(*tick)).collect()
        };
        let rates = reported(171_000.2, 171_000.8, number_to);
        assert!(
            rates.contains(&"171,000.4".to_owned()) && rates.contains(&"171,000.6".to_owned()),
            "{rates:?}"
        );
        assert!(reported(0.9995, 1.001, number_to).contains(&"1.0005".to_owned()));
        assert!(reported(1.0001e6, 1.0004e6, time_to).contains(&"1.0002 ms".to_owned()));
        assert!(reported(1_048_580.0, 1_048_600.0, bytes_to).windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(reported(0.0, 171_000.0, number_to), ["0", "50,000", "100,000", "150,000", "200,000"]);
    }
}
