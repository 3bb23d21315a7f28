//! Numbers as Java's `String.format` prints them: `%.2f` rounds the shortest decimal that reads back as the number, half
//! up, where others round the binary number that it means.

/// A number as `%.Nf` prints it, with a point whatever the language of the host.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    // Rust prints the shortest decimal, without an exponent.
    let shortest = value.abs().to_string();
    let (whole, fraction) = shortest.split_once('.').unwrap_or((&shortest, ""));
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0').collect();
    let mut point = whole.len();
    let kept = point + decimals;
    let rounds_up = digits.get(kept).is_some_and(|digit| *digit >= 5);
    digits.resize(kept, 0);
    if rounds_up {
        let nines = digits.iter().rev().take_while(|digit| **digit == 9).count();
        let place = digits.len() - nines;
        digits[place..].fill(0);
        match place.checked_sub(1) {
            Some(last) => digits[last] += 1,
            None => {
                digits.insert(0, 1);
                point += 1;
            }
        }
    }
    let text = |digits: &[u8]| digits.iter().map(|digit| char::from(b'0' + digit)).collect::<String>();
    let (whole, fraction) = (text(&digits[..point]), text(&digits[point..]));
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found with Java's `String.format`.
    #[test]
    fn numbers_are_rounded_as_in_java() {
        for (value, decimals, text) in [
            (0.125, 2, "0.13"),
            (1.005, 2, "1.01"),
            (0.05, 1, "0.1"),
            (0.25, 1, "0.3"),
            (2.5, 0, "3"),
            (9.999, 2, "10.00"),
            (999.95, 1, "1000.0"),
            (0.0, 6, "0.000000"),
            (124_984.123_456_7, 6, "124984.123457"),
            (1e15, 1, "1000000000000000.0"),
            (-1.05, 1, "-1.1"),
            (4.94e-324, 2, "0.00"),
        ] {
            assert_eq!(fixed(value, decimals), text, "{value} with {decimals}");
        }
        assert_eq!(
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|it| fixed(it, 2)),
            ["NaN", "Infinity", "-Infinity"]
        );
    }
}
