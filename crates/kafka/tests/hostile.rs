//! Hostile bytes: whatever is in a frame, a reply, a record set or a compressed body, the readers
//! return (an error, mostly), and take no more memory than a stated multiple of what they were given.
//!
//! A counting allocator measures what one thread holds at most while it parses. The bounds: a reply of Produce
//! or Fetch and a record set, nothing; a body, its stated maximum size and the fixed buffers of its decoder. All
//! other messages are tested next to their definitions.

mod common;
#[path = "common/counting.rs"]
mod counting;

use common::{Material, material};
use counting::peak_bytes;
use kdyno_kafka::admin::{Admin, AdminError};
use kdyno_kafka::messages::{frame_length, m00_produce, m01_fetch};
use kdyno_kafka::records::{
    BatchHeader, BodySum, Compression, HEADER_BYTES, batches, compress, decompress, encode_record,
    write_batch_header,
};
use kdyno_kafka::wire::FRAME_BYTES_MAX;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// Small things that do not grow with the input, an error's text for instance.
const CONSTANT_BYTES: usize = 4 << 10;
/// What is kept of leaders takes so many times its bytes: eleven make an endpoint of 40 and its host's text, in a
/// list that grows by doubling.
const HINTS_FACTOR: usize = 16;
/// Output a body may have in these tests.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Largest fixed buffers of a decoder: lz4 holds a compressed and a plain block of up to 4 MiB each.
const DECODER_BYTES: usize = (8 << 20) + (256 << 10);

/// Reads a reply of Produce and of Fetch in all versions, which hand out what they read instead of keeping it.
fn read_replies(bytes: &[u8]) {
    for version in m00_produce::API.version_min..=m00_produce::API.version_max {
        let peak = peak_bytes(|| drop(m00_produce::decode(bytes, version, |_, _| {})));
        assert!(peak <= CONSTANT_BYTES, "produce v{version}: {peak}");
        let peak = peak_bytes(|| drop(m00_produce::leader_hints(bytes, version, |_| Some(0))));
        assert!(peak <= HINTS_FACTOR * bytes.len() + CONSTANT_BYTES, "produce v{version}: {peak}");
    }
    for version in m01_fetch::API.version_min..=m01_fetch::API.version_max {
        let peak = peak_bytes(|| drop(m01_fetch::decode(bytes, version, |_| Ok(()))));
        assert!(peak <= CONSTANT_BYTES, "fetch v{version}: {peak}");
    }
}

/// Reads a record set to its end, trusting no checksum.
fn read_records(bytes: &[u8]) {
    let peak = peak_bytes(|| {
        let mut scratch = Vec::new();
        for batch in batches(bytes).flatten() {
            let _ = batch.verify_crc();
            if let Ok(records) = batch.records(&mut scratch, BODY_BYTES_MAX) {
                assert!(records.count() <= bytes.len().max(BODY_BYTES_MAX) + 1);
            }
        }
    });
    assert!(peak <= BODY_BYTES_MAX + DECODER_BYTES, "{peak} for {} bytes", bytes.len());
}

/// Decompresses and reports the peak.
fn decompress_peak(codec: Compression, bytes: &[u8]) -> usize {
    peak_bytes(|| {
        let mut out = Vec::new();
        let _ = decompress(codec, bytes, BODY_BYTES_MAX, &mut out);
        assert!(out.len() <= BODY_BYTES_MAX);
    })
}

/// One way to spoil valid bytes.
#[derive(Debug, Clone)]
enum Corruption {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    /// Overwrites bytes by a huge or negative length.
    Claim(prop::sample::Index, Vec<u8>),
    Insert(prop::sample::Index, Vec<u8>),
}

fn spoil() -> impl Strategy<Value = Corruption> {
    let claim = prop::sample::select(vec![
        vec![0x7f, 0xff, 0xff, 0xff],
        vec![0xff, 0xff, 0xff, 0xff],
        vec![0x80, 0, 0, 0],
        vec![0x7f, 0xff],
        vec![0x80, 0x00],
        // As variable-length integers: 2^32 - 1, 2^31, 2^63, and one that never ends.
        vec![0xff, 0xff, 0xff, 0xff, 0x0f],
        vec![0x80, 0x80, 0x80, 0x80, 0x08],
        vec![0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        vec![0xff; 11],
    ]);
    prop_oneof![
        (any::<prop::sample::Index>(), 1..=u8::MAX).prop_map(|(at, bits)| Corruption::Flip(at, bits)),
        any::<prop::sample::Index>().prop_map(Corruption::Cut),
        (any::<prop::sample::Index>(), claim).prop_map(|(at, bytes)| Corruption::Claim(at, bytes)),
        (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(at, bytes)| Corruption::Insert(at, bytes)),
    ]
}

fn spoils() -> impl Strategy<Value = Vec<Corruption>> {
    prop::collection::vec(spoil(), 1..4)
}

fn spoiled(mut bytes: Vec<u8>, spoils: &[Corruption]) -> Vec<u8> {
    for spoil in spoils {
        if bytes.is_empty() {
            return bytes;
        }
        match spoil {
            Corruption::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Corruption::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Corruption::Claim(at, claim) => {
                let at = at.index(bytes.len());
                let end = bytes.len().min(at + claim.len());
                bytes.splice(at..end, claim.iter().copied());
            }
            Corruption::Insert(at, more) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, more.iter().copied());
            }
        }
    }
    bytes
}

/// A batch of `count` records, compressed.
fn batch(codec: Compression, count: i32) -> Vec<u8> {
    let (mut body, mut packed) = (Vec::new(), Vec::new());
    for index in 0..count {
        encode_record(&mut body, index, i64::from(index), Some(b"key"), b"some value, some value");
    }
    compress(codec, &body, &mut packed).expect("memory is there");
    let mut head = [0; HEADER_BYTES];
    write_batch_header(&mut head, &BatchHeader::plain(codec, count, 0, 9), &BodySum::of(&packed));
    [head.as_slice(), &packed].concat()
}

fn valid_replies(material: &Material) -> Vec<Vec<u8>> {
    let mut replies = Vec::new();
    replies.extend((3..=9).map(|version| material.produce(version)));
    replies.extend((4..=12).map(|version| material.fetch(version)));
    replies
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn arbitrary_bytes_are_no_danger(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read_replies(&bytes);
        read_records(&bytes);
        for codec in Compression::ALL {
            prop_assert!(decompress_peak(codec, &bytes) <= BODY_BYTES_MAX + DECODER_BYTES);
        }
    }

    #[test]
    fn spoiled_record_sets_are_no_danger(
        codec in prop::sample::select(Compression::ALL.to_vec()),
        count in 1..200,
        spoils in spoils(),
    ) {
        let set = [batch(codec, count), batch(codec, 1)].concat();
        read_records(&spoiled(set, &spoils));
    }

    #[test]
    fn spoiled_bodies_are_no_danger(
        codec in prop::sample::select(Compression::ALL.to_vec()),
        part in prop::collection::vec(any::<u8>(), 1..500),
        spoils in spoils(),
    ) {
        let mut packed = Vec::new();
        compress(codec, &part.repeat(200), &mut packed).expect("memory is there");
        let peak = decompress_peak(codec, &spoiled(packed, &spoils));
        prop_assert!(peak <= BODY_BYTES_MAX + DECODER_BYTES, "{peak}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn spoiled_replies_are_no_danger(material in material(), spoils in spoils()) {
        for reply in valid_replies(&material) {
            read_replies(&reply); // also in the versions it is not meant for
            read_replies(&spoiled(reply, &spoils));
        }
    }
}

#[test]
fn a_bomb_ends_at_the_stated_maximum() {
    let zeros = vec![0; 64 << 20];
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let mut packed = Vec::new();
        compress(codec, &zeros, &mut packed).expect("memory is there");
        assert!(decompress(codec, &packed, BODY_BYTES_MAX, &mut Vec::new()).is_err());
        let peak = decompress_peak(codec, &packed);
        assert!(peak <= BODY_BYTES_MAX + DECODER_BYTES, "{codec}: {peak}");
    }
    // A streaming compressor does not say how much will come.
    let packed = zstd::stream::encode_all(zeros.as_slice(), 3).expect("memory is there");
    let peak = decompress_peak(Compression::Zstd, &packed);
    assert!(peak <= BODY_BYTES_MAX + DECODER_BYTES, "{peak}");
}

#[test]
fn a_batch_that_claims_more_records_than_bytes_is_an_error() {
    let mut set = batch(Compression::None, 3);
    set[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    let read = batches(&set).next().expect("one batch").expect("a whole one");
    assert!(read.verify_crc().is_err());
    let mut scratch = Vec::new();
    let records: Vec<_> = read.records(&mut scratch, 0).expect("not compressed").collect();
    assert_eq!(records.iter().filter(|record| record.is_ok()).count(), 3);
    assert!(records[3].is_err() && records.len() == 4);
}

#[test]
fn a_frame_that_is_only_claimed_takes_no_memory() {
    assert!(frame_length([0x7f, 0xff, 0xff, 0xff], FRAME_BYTES_MAX).is_err());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address").to_string();
    let broker = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = [0; 64];
        let _ = stream.read(&mut request);
        // The largest frame that the admin client takes, with nothing behind it.
        let _ = stream.write_all(&(16i32 << 20).to_be_bytes());
    });
    let peak = peak_bytes(|| {
        let error = Admin::connect(&[address], "hostile", Duration::from_secs(20)).expect_err("no reply");
        assert!(matches!(error, AdminError::Closed { .. }), "{error}");
    });
    assert!(peak <= 256 << 10, "{peak}");
    broker.join().expect("the broker's thread");
}
