//! Quantities as Kubernetes writes them: `2`, `1500m`, `16Gi`.

/// Suffixes and what one of them is.
const SUFFIXES: &[(&str, f64)] = &[
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
];

/// The number; `None` when the text is none.
pub(crate) fn number(text: &str) -> Option<f64> {
    let is_suffix = |c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E');
    let end = text.find(is_suffix).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    // `1E` is a suffix, `1E3` an exponent.
    let (digits, suffix) = match digits.strip_suffix('E') {
        Some(digits) if suffix.is_empty() => (digits, "E"),
        _ => (digits, suffix),
    };
    let scale = match suffix {
        "" => 1.0,
        suffix => SUFFIXES.iter().find(|(name, _)| *name == suffix)?.1,
    };
    digits.parse::<f64>().ok().map(|number| number * scale).filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nodes_say_is_read() {
        for (text, wanted) in [
            ("2", 2.0),
            ("1930m", 1.93),
            ("0.5", 0.5),
            ("8029868Ki", 8_029_868.0 * 1024.0),
            ("16Gi", 17_179_869_184.0),
            ("1e3", 1000.0),
            ("2E", 2e18),
            ("110", 110.0),
        ] {
            let found = number(text).expect(text);
            assert!((found - wanted).abs() <= wanted * 1e-12, "{text}: {found}");
        }
        for text in ["", "Gi", "1x", "two", "1e999"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
