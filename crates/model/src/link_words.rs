//! A link between zones in words.

use crate::plan::LinkPlan;
use crate::units::{exact_duration, size};

/// In words: `delay 500us one way ± 50us (uniform), 100 MiB/s each way`.
pub fn link_words(link: &LinkPlan) -> String {
    let time = |ns: u64| exact_duration(ns as f64);
    let jitter = match link.jitter_ns {
        0 => String::new(),
        jitter_ns => format!(" ± {} ({})", time(jitter_ns), link.jitter_law),
    };
    let bandwidth = match link.bytes_per_s {
        Some(bytes) => format!("{}/s each way", size(bytes)),
        None => "bandwidth not limited".to_owned(),
    };
    format!("delay {} one way{jitter}, {bandwidth}", time(link.delay_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::JitterLaw;

    #[test]
    fn a_link_is_described_in_words() {
        let plain =
            LinkPlan { delay_ns: 500_000, jitter_ns: 0, jitter_law: JitterLaw::Uniform, bytes_per_s: None };
        assert_eq!(link_words(&plain), "delay 500us one way, bandwidth not limited");
        let link = LinkPlan { jitter_ns: 50_000, bytes_per_s: Some(100 << 20), ..plain };
        assert_eq!(link_words(&link), "delay 500us one way ± 50us (uniform), 100 MiB/s each way");
        let normal = LinkPlan { jitter_law: JitterLaw::Normal, ..link };
        assert_eq!((link.longest_delay_ns(), normal.longest_delay_ns()), (550_000, 650_000));
    }
}
