//! What is packed is unpacked again, by every codec and level, and no more is read than is allowed.

use super::*;
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

const CODECS: [Compression; 5] = Compression::ALL;

/// Bodies that repeat themselves, so that they can be compressed, of up to several blocks.
fn body() -> impl Strategy<Value = Vec<u8>> {
    (proptest::collection::vec(any::<u8>(), 0..2000), 1usize..100)
        .prop_map(|(part, times)| part.repeat(times))
}

const GZIP: Compression = Compression::Gzip;
const LZ4: Compression = Compression::Lz4;
const ZSTD: Compression = Compression::Zstd;

/// Any level that Kafka takes, those of zstd below zero rarely.
fn compressor() -> impl Strategy<Value = Compressor> {
    prop_oneof![
        prop_oneof![Just(-1), 1..=9].prop_map(|level| Compressor::new(GZIP, Some(level))),
        (1..=17).prop_map(|level| Compressor::new(LZ4, Some(level))),
        (-7..=22).prop_map(|level| Compressor::new(ZSTD, Some(level))),
        (-131_072..=22).prop_map(|level| Compressor::new(ZSTD, Some(level))),
    ]
}

fn packed(codec: Compression, level: Option<i32>, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    compress(Compressor::new(codec, level), body, &mut out).unwrap();
    out
}

/// What `GZIPOutputStream` of Java 17 makes of the bytes below, with its deflater at these levels: size, and CRC-32 of all
/// behind the header, which holds the operating system.
const JAVAS_GZIP: [(i32, usize, u32); 4] = [
    (1, 10_492, 3_540_840_652),
    (3, 10_429, 3_407_030_061),
    (6, 10_072, 3_686_964_475),
    (9, 10_082, 107_047_043),
];

#[test]
fn gzip_is_as_javas_to_the_byte() {
    let mut state = 1u32;
    let mut byte = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + ((state >> 24) % 16 * ((state >> 20) % 4) / 3) as u8
    };
    let body: Vec<u8> = (0..20_000).map(|_| byte()).collect();
    for (level, bytes, checksum) in JAVAS_GZIP {
        let out = packed(GZIP, Some(level), &body);
        let mut crc = flate2::Crc::new();
        crc.update(&out[10..]);
        assert_eq!((out.len(), crc.sum()), (bytes, checksum), "level {level}");
    }
}

/// Words of a small vocabulary; some come more often.
fn text(bytes: usize) -> Vec<u8> {
    let mut rng = Pcg64::seed_from_u64(20_261_123);
    let mut word = || {
        let letters = rng.random_range(2..10);
        (0..letters).map(|_| rng.random_range(b'a'..=b'z')).chain([b' ']).collect::<Vec<u8>>()
    };
    let words: Vec<Vec<u8>> = (0..800).map(|_| word()).collect();
    let mut out = Vec::new();
    while out.len() < bytes {
        let index = rng.random_range(0..800).min(rng.random_range(0..800));
        out.extend_from_slice(&words[index]);
    }
    out.truncate(bytes);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_was_compressed_at_any_level_comes_back(compressor in compressor(), body in body()) {
        let (mut packed, mut out) = (Vec::new(), Vec::new());
        compress(compressor, &body, &mut packed).unwrap();
        decompress(compressor.codec(), &packed, body.len(), &mut out).unwrap();
        prop_assert!(out == body, "{compressor:?}: {} bytes became {}", body.len(), out.len());
    }
}

#[test]
fn a_higher_level_makes_nothing_larger() {
    let body = text(200_000);
    let rising: [(Compression, &[i32]); 3] =
        [(GZIP, &[1, 6, 9]), (LZ4, &[1, 3, 8, 12, 17]), (ZSTD, &[-131_072, -5, 1, 3, 9, 15, 22])];
    for (codec, levels) in rising {
        let sizes: Vec<usize> = levels.iter().map(|level| packed(codec, Some(*level), &body).len()).collect();
        assert!(sizes.is_sorted_by(|before, after| before >= after), "{codec} {levels:?}: {sizes:?}");
        assert!(sizes.last() < sizes.first(), "{codec} {levels:?}: {sizes:?}");
    }
}

#[test]
fn defaults_are_those_of_java() {
    let body = text(100_000);
    for (codec, default) in [(GZIP, -1), (GZIP, 6), (LZ4, 9), (ZSTD, 3)] {
        assert!(packed(codec, None, &body) == packed(codec, Some(default), &body), "{codec} {default}");
    }
    // Nine is the fast compressor, not the high one between 8 and 10.
    let sizes = [8, 9, 10].map(|level| packed(LZ4, Some(level), &body).len());
    assert!(sizes[1] > sizes[0] && sizes[0] >= sizes[2], "{sizes:?}");
    for codec in [Compression::None, Compression::Snappy] {
        assert!(packed(codec, Some(1), &body) == packed(codec, None, &body), "{codec}");
    }
}

/// Both compressors write frames of the same form, and what neither makes shorter is kept as it is.
#[test]
fn frames_of_both_lz4_compressors_are_alike() {
    let mut random = vec![0; 70_000];
    Pcg64::seed_from_u64(1).fill_bytes(&mut random);
    let (small, nothing) = (b"ab".to_vec(), Vec::new());
    for body in [text(150_000), random, small, nothing] {
        let (fast, high) = (packed(LZ4, Some(9), &body), packed(LZ4, Some(12), &body));
        assert!(fast.starts_with(&LZ4_HEADER) && high.starts_with(&LZ4_HEADER), "{:x?}", &fast[..7]);
        assert!(fast.ends_with(&LZ4_END) && high.ends_with(&LZ4_END));
        assert!(high.len() <= fast.len(), "{} bytes: {} and {}", body.len(), high.len(), fast.len());
        let blocks = body.len().div_ceil(LZ4_BLOCK_BYTES);
        assert!(high.len() <= body.len() + LZ4_HEADER.len() + 4 * blocks + LZ4_END.len());
    }
}

proptest! {
    #[test]
    fn what_was_compressed_comes_back(body in body()) {
        for codec in CODECS {
            let (mut packed, mut out) = (Vec::new(), b"left from before".to_vec());
            compress(codec, &body, &mut packed).unwrap();
            decompress(codec, &packed, body.len(), &mut out).unwrap();
            prop_assert!(out == body, "{codec}: {} bytes became {}", body.len(), out.len());
        }
    }

    #[test]
    fn one_byte_more_than_allowed_is_an_error(body in body()) {
        prop_assume!(!body.is_empty());
        for codec in CODECS {
            let (mut packed, mut out) = (Vec::new(), Vec::new());
            compress(codec, &body, &mut packed).unwrap();
            let result = decompress(codec, &packed, body.len() - 1, &mut out);
            prop_assert_eq!(result, Err(RecordsError::TooLarge { codec, bytes_max: body.len() - 1 }));
        }
    }
}

#[test]
fn raw_snappy_and_streamed_zstd_are_read_too() {
    let body = b"as some clients send it ".repeat(5000);
    let raw = snap::raw::Encoder::new().compress_vec(&body).unwrap();
    let mut out = Vec::new();
    decompress(Compression::Snappy, &raw, body.len(), &mut out).unwrap();
    assert!(out == body);
    // A streaming compressor does not state the size, as zstd-jni does not.
    let streamed = zstd::stream::encode_all(body.as_slice(), 0).unwrap();
    decompress(Compression::Zstd, &streamed, body.len(), &mut out).unwrap();
    assert!(out == body);
    decompress(Compression::Zstd, &streamed, body.len() - 1, &mut Vec::new()).unwrap_err();
    // Also into a buffer that has room for more.
    decompress(Compression::Zstd, &streamed, body.len() - 1, &mut out).unwrap_err();
}

#[test]
fn a_second_gzip_member_is_read_too() {
    let mut packed = Vec::new();
    compress(Compression::Gzip, b"one ", &mut packed).unwrap();
    compress(Compression::Gzip, b"two", &mut packed).unwrap();
    let mut out = Vec::new();
    decompress(Compression::Gzip, &packed, 100, &mut out).unwrap();
    assert_eq!(out, b"one two");
}

#[test]
fn a_few_bytes_of_snappy_cannot_claim_a_gigabyte() {
    // The length is a variable-length integer: here 2^30.
    let hostile = [0x80, 0x80, 0x80, 0x80, 0x04, 0x00];
    let mut out = Vec::new();
    let error = decompress(Compression::Snappy, &hostile, usize::MAX, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "snappy body cannot be decompressed: 6 bytes cannot hold 1073741824");
    assert_eq!(out.capacity(), 0);
}

#[test]
fn frames_that_java_would_refuse_are_refused() {
    let info = lz4_flex::frame::FrameInfo::new().block_mode(lz4_flex::frame::BlockMode::Linked);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(b"value").unwrap();
    let linked = encoder.finish().unwrap();
    assert!(decompress(Compression::Lz4, &linked, 100, &mut Vec::new()).is_err());
}

#[test]
fn names_and_numbers_are_those_of_kafka() {
    let names: Vec<_> = CODECS.iter().map(|codec| (codec.id(), codec.name())).collect();
    assert_eq!(names, [(0, "none"), (1, "gzip"), (2, "snappy"), (3, "lz4"), (4, "zstd")]);
    assert_eq!(Compression::from_id(5), Err(RecordsError::Codec(5)));
}
