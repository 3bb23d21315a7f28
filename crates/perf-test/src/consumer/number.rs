//! Numbers as Java's `%.Nf` prints them.

/// A number with so many decimals: the shortest decimal text that means it, rounded half up, as Java does it, and not its
/// exact binary value, as C does.
pub fn fixed(value: f64, decimals: usize) -> String {
    let sign = if value.is_sign_negative() && !value.is_nan() { "-" } else { "" };
    if !value.is_finite() {
        return if value.is_nan() { "NaN".to_owned() } else { format!("{sign}Infinity") };
    }
    let text = value.abs().to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let rounds_up = fraction.as_bytes().get(decimals).is_some_and(|digit| *digit >= b'5');
    let kept = fraction.bytes().chain(std::iter::repeat(b'0')).take(decimals);
    let mut digits: Vec<u8> = whole.bytes().chain(kept).collect();
    if rounds_up {
        let nines = digits.iter().rev().take_while(|digit| **digit == b'9').count();
        let place = digits.len() - nines;
        digits[place..].fill(b'0');
        match place.checked_sub(1) {
            Some(last) => digits[last] += 1,
            None => digits.insert(0, b'1'),
        }
    }
    let point = digits.len() - decimals;
    let part = |digits: &[u8]| digits.iter().map(|digit| char::from(*digit)).collect::<String>();
    let (whole, fraction) = (part(&digits[..point]), part(&digits[point..]));
    if decimals == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `String.format` of Java 17 gives.
    #[test]
    fn numbers_are_rounded_as_java_rounds_them() {
        for (value, decimals, expected) in [
            (0.0, 4, "0.0000"),
            (0.125, 2, "0.13"),
            (0.25, 1, "0.3"),
            (2.5, 0, "3"),
            (1.005, 2, "1.01"),
            (9.99996, 4, "10.0000"),
            (99.5, 0, "100"),
            (0.00005, 4, "0.0001"),
            (0.00004999, 4, "0.0000"),
            (-1.25, 1, "-1.3"),
            (-0.00001, 4, "-0.0000"),
            (1e21, 1, "1000000000000000000000.0"),
            (123_456.789, 4, "123456.7890"),
            (f64::NAN, 4, "NaN"),
            (f64::INFINITY, 4, "Infinity"),
            (f64::NEG_INFINITY, 4, "-Infinity"),
        ] {
            assert_eq!(fixed(value, decimals), expected, "{value} with {decimals}");
        }
    }
}
