//! No file of at most the size that is read makes the readers of Java's formats hold much more than it has itself.

// The allocator that the readers of Kafka's messages are tested with, too.
#[path = "../../kafka/tests/common/counting.rs"]
mod counting;

use counting::peak_bytes;
use kdyno_model::jaas;
use kdyno_model::properties::{PROPERTIES_BYTES_MAX, Properties};
use proptest::prelude::*;

const HELD_BYTES_MAX: usize = 16 * PROPERTIES_BYTES_MAX;

/// A file of the largest size made of this piece.
fn filled(piece: &[u8]) -> Vec<u8> {
    piece.iter().copied().cycle().take(PROPERTIES_BYTES_MAX).collect()
}

#[test]
fn the_largest_files_are_held_within_a_bound() {
    let unique: Vec<u8> = (0..200_000).flat_map(|n: u32| format!("{n:x}\n").into_bytes()).collect();
    let pieces: [&[u8]; 9] =
        [b"a\n", b"a", b"\\\n", b"a\\\n", b"\\u20ac", b"\xff", b"\xc3\xa9\n", b"#", &unique];
    for piece in pieces {
        let bytes = filled(piece);
        let held = peak_bytes(|| drop(Properties::parse(&bytes)));
        assert!(
            held < HELD_BYTES_MAX,
            "{held} bytes for {:?}",
            String::from_utf8_lossy(&piece[..piece.len().min(9)])
        );
    }
    for piece in ["a=b ", "\"", "/*", "x"] {
        let text = format!("x required {}", piece.repeat(20_000));
        let held = peak_bytes(|| drop(jaas::parse(&text)));
        assert!(held < HELD_BYTES_MAX, "{held} bytes for {piece:?}");
    }
}

proptest! {
    #[test]
    fn any_file_is_held_within_a_bound(
        pieces in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 1..20), 1_usize..4000), 1..8),
    ) {
        let repeated = pieces.iter().flat_map(|(piece, times)| piece.repeat(*times));
        let bytes: Vec<u8> = repeated.take(PROPERTIES_BYTES_MAX).collect();
        let held = peak_bytes(|| drop(Properties::parse(&bytes)));
        prop_assert!(held < HELD_BYTES_MAX, "{} bytes", held);
    }
}
