//! What a recommendation says of a value.

/// A recommended value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// This word.
    Is(&'static str),
    /// One of these words; the first is recommended.
    OneOf(&'static [&'static str]),
    /// This number or more; `unlimited` is more than any.
    AtLeast(u64),
    /// This number or less.
    AtMost(u64),
    /// A number that is not 0 and not more than this one.
    UpTo(u64),
    /// Three numbers (least, default, most); the last is at least that of these.
    LastAtLeast(&'static str),
}

impl Expect {
    /// Whether a value follows it; `None`: it cannot be read.
    pub(crate) fn is_followed(self, current: &str) -> Option<bool> {
        let current = current.trim();
        let number = || if current == "unlimited" { Some(u64::MAX) } else { current.parse::<u64>().ok() };
        match self {
            Self::Is(word) => Some(current == word),
            Self::OneOf(words) => Some(words.contains(&current)),
            Self::AtLeast(least) => number().map(|number| number >= least),
            Self::AtMost(most) => number().map(|number| number <= most),
            Self::UpTo(most) => number().map(|number| (1..=most).contains(&number)),
            Self::LastAtLeast(three) => Some(last(current)? >= last(three)?),
        }
    }

    /// The value to set; of a list of numbers none becomes smaller than it is.
    pub(crate) fn value_for(self, current: &str) -> String {
        let Self::LastAtLeast(three) = self else { return self.value() };
        let number = |text: &str| text.parse::<u64>().unwrap_or(0);
        let pairs = three.split_ascii_whitespace().zip(current.split_ascii_whitespace());
        let larger = pairs.map(|(wanted, now)| if number(now) > number(wanted) { now } else { wanted });
        larger.collect::<Vec<_>>().join(" ")
    }

    /// The value to set, whatever it is now.
    pub(crate) fn value(self) -> String {
        match self {
            Self::Is(word) | Self::LastAtLeast(word) => word.to_owned(),
            Self::OneOf(words) => words.first().copied().unwrap_or_default().to_owned(),
            Self::AtLeast(number) | Self::AtMost(number) | Self::UpTo(number) => number.to_string(),
        }
    }

    /// The recommendation in words.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Is(word) => word.to_owned(),
            Self::OneOf(words) => words.join(" or "),
            Self::AtLeast(u64::MAX) => "unlimited".to_owned(),
            Self::AtLeast(least) => format!("at least {least}"),
            Self::AtMost(0) => "0".to_owned(),
            Self::AtMost(most) => format!("at most {most}"),
            Self::UpTo(most) => format!("1 to {most}"),
            Self::LastAtLeast(three) => {
                format!("at least {} as the last", three.rsplit(' ').next().unwrap_or(three))
            }
        }
    }
}

/// The last of three numbers.
fn last(three: &str) -> Option<u64> {
    let mut parts = three.split_ascii_whitespace();
    let last = parts.nth(2)?.parse().ok()?;
    parts.next().is_none().then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_held_against_what_is_recommended() {
        let cases = [
            (Expect::Is("0"), "0\n", Some(true)),
            (Expect::Is("never"), "madvise", Some(false)),
            (Expect::OneOf(&["none", "mq-deadline"]), "mq-deadline", Some(true)),
            (Expect::AtLeast(100), "100", Some(true)),
            (Expect::AtLeast(100), "99", Some(false)),
            (Expect::AtLeast(u64::MAX), "unlimited", Some(true)),
            (Expect::AtLeast(100), "many", None),
            (Expect::AtMost(1), "60", Some(false)),
            (Expect::UpTo(400), "0", Some(false)),
            (Expect::UpTo(400), "400", Some(true)),
            (Expect::LastAtLeast("1 2 30"), "4096\t131072\t6291456", Some(true)),
            (Expect::LastAtLeast("1 2 30"), "1 2 29", Some(false)),
            (Expect::LastAtLeast("1 2 30"), "1 2", None),
        ];
        for (expect, current, followed) in cases {
            assert_eq!(expect.is_followed(current), followed, "{expect:?} of {current:?}");
        }
    }

    #[test]
    fn of_three_numbers_none_is_lowered() {
        let of = |current| Expect::LastAtLeast("4096 87380 16777216").value_for(current);
        assert_eq!(of("4096\t131072\t6291456"), "4096 131072 16777216");
        assert_eq!(of("1024 1 2"), "4096 87380 16777216");
        assert_eq!(Expect::AtMost(1).value_for("60"), "1");
    }
}
