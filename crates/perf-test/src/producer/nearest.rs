//! Which flags may have been meant by one that is none.

/// What edits cost, by which distances are measured.
const SWAP: usize = 0;
const SUBSTITUTION: usize = 2;
const ADDITION: usize = 1;
const DELETION: usize = 4;

/// What lies this far away was not meant.
const FAR: usize = 7;

/// The flags that lie nearest to a name, in order; none where all lie far away.
pub(super) fn nearest_flags(name: &str, flags: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let body = |flag: &str| flag.trim_start_matches('-').to_owned();
    let typed = body(name);
    if typed.len() < 2 {
        return Vec::new();
    }
    let away = |flag: &'static str| {
        let known = body(flag);
        (if known.starts_with(&typed) { 0 } else { distance(&typed, &known) }, flag)
    };
    let mut found: Vec<(usize, &'static str)> = flags.map(away).collect();
    found.sort_unstable();
    let least = found.first().map_or(FAR, |(away, _)| *away);
    found.retain(|(away, _)| *away == least && least < FAR);
    found.into_iter().map(|(_, flag)| flag).collect()
}

/// What it costs to make one text of another: the distance of Damerau and Levenshtein, with costs.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).map(|place| place * ADDITION).collect();
    for (row, typed) in from.iter().enumerate() {
        let mut next = vec![(row + 1) * DELETION];
        for (column, known) in to.iter().enumerate() {
            let kept = last[column] + if typed == known { 0 } else { SUBSTITUTION };
            let mut least = kept.min(last[column + 1] + DELETION).min(next[column] + ADDITION);
            let is_swapped = row > 0
                && column > 0
                && typed != known
                && from[row - 1] == *known
                && *typed == to[column - 1];
            if is_swapped {
                least = least.min(before[column - 1] + SWAP);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_lies_near() {
        let flags = ["--topic", "--num-records", "--record-size", "--throughput"];
        let near = |name| nearest_flags(name, flags.into_iter());
        assert_eq!(near("--topics"), ["--topic"]);
        assert_eq!(near("--throughptu"), ["--throughput"]);
        assert_eq!(near("--numrecords"), ["--num-records"]);
        assert!(near("--compression-codec").is_empty() && near("-x").is_empty());
        assert_eq!(distance("ab", "ba"), SWAP);
        assert_eq!((distance("", "ab"), distance("ab", "")), (2 * ADDITION, 2 * DELETION));
    }
}
