//! What a stream may hand to the network: the cap on `produce` of an attached cluster's target file.

const NS_PER_S: i128 = 1_000_000_000;

/// A bucket that fills at the cap and holds one second of it. A request goes when the bucket is not empty and
/// may leave a debt: whatever piled up, in a stall say, what goes out within any t seconds is at most what the
/// cap allows in t + 1, and one request.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucket {
    /// Bytes of keys, values and headers per second; `None`: no cap.
    bytes_per_s: Option<u64>,
    /// What is in the bucket, in billionths of a byte, as of `at_ns`.
    level: i128,
    at_ns: u64,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(bytes_per_s: Option<u64>) -> Self {
        let level = bytes_per_s.map_or(0, |rate| i128::from(rate) * NS_PER_S);
        Self { bytes_per_s, level, at_ns: 0 }
    }

    /// From when on the next request may go, ns; an instant that is not later than `now_ns`: now.
    pub fn opens_ns(&mut self, now_ns: u64) -> u64 {
        let Some(rate) = self.bytes_per_s.map(i128::from) else { return 0 };
        let since_ns = i128::from(now_ns.saturating_sub(self.at_ns));
        self.level = (rate * NS_PER_S).min(self.level + since_ns * rate);
        self.at_ns = self.at_ns.max(now_ns);
        if self.level > 0 {
            return now_ns;
        }
        // A cap of 0 never opens.
        let wait_ns = (1 - self.level).checked_div(rate).map_or(u64::MAX, |wait| wait as u64 + 1);
        now_ns.saturating_add(wait_ns)
    }

    /// Takes bytes out.
    pub fn take(&mut self, bytes: u64) {
        self.level -= i128::from(bytes) * NS_PER_S;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = NS_PER_S as u64;

    #[test]
    fn without_a_cap_everything_goes() {
        let mut token_bucket = TokenBucket::new(None);
        token_bucket.take(u64::MAX);
        assert_eq!(token_bucket.opens_ns(7), 0);
    }

    #[test]
    fn over_any_time_it_gives_the_cap_and_one_second_more() {
        let mut token_bucket = TokenBucket::new(Some(1000));
        let (mut now_ns, mut given) = (50 * S, 0);
        while now_ns < 60 * S {
            let opens_ns = token_bucket.opens_ns(now_ns);
            if opens_ns <= now_ns {
                token_bucket.take(100);
                given += 100;
            } else {
                now_ns = opens_ns;
            }
        }
        assert!((10_900..=11_100).contains(&given), "{given} bytes in 10 s at 1000 bytes/s");
    }

    #[test]
    fn a_pause_saves_up_one_second_at_most() {
        let mut token_bucket = TokenBucket::new(Some(1000));
        assert_eq!(token_bucket.opens_ns(3600 * S), 3600 * S);
        token_bucket.take(1000);
        assert!(token_bucket.opens_ns(3600 * S) > 3600 * S);
    }

    #[test]
    fn a_debt_is_waited_out() {
        let mut token_bucket = TokenBucket::new(Some(1000));
        token_bucket.take(5000);
        let opens_ns = token_bucket.opens_ns(0);
        assert!((4 * S..=4 * S + 1_000_000).contains(&opens_ns), "{opens_ns}");
        assert!(token_bucket.opens_ns(opens_ns) <= opens_ns, "and then it is open");
    }

    #[test]
    fn a_cap_of_nothing_never_opens_again() {
        let mut token_bucket = TokenBucket::new(Some(0));
        assert_eq!(token_bucket.opens_ns(S), u64::MAX);
    }
}
