//! Every message in `generated`, in every version we speak: compared with the
//! `kafka-protocol` crate, an independent implementation, and read from bytes of any kind.

use super::field::{Field, SampleSource};
use super::{Api, Message, Request, generated, m03_metadata};
use crate::counting::peak_bytes;
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};
use proptest::prelude::*;

/// What we write must be read there, and what they make of it must be the same bytes and read here as the same
/// value.
fn compare<Ours: Message + PartialEq + std::fmt::Debug, Theirs: Encodable + Decodable>(bytes: &[u8]) {
    let Api { name, version_min, version_max, .. } = Ours::API;
    for version in version_min..=version_max {
        let ours = Ours::sample(&mut SampleSource { bytes: bytes.iter() }, Ours::API.form(version));
        let mut written = Vec::new();
        ours.encode(version, &mut written);
        let mut read = Bytes::from(written.clone());
        let theirs = Theirs::decode(&mut read, version)
            .unwrap_or_else(|error| panic!("{name} {version}: they cannot read {ours:?}: {error}"));
        assert_eq!(read.remaining(), 0, "{name} {version}: {ours:?}");
        let mut again = BytesMut::new();
        theirs.encode(&mut again, version).expect("what they read");
        assert_eq!(again, written, "{name} {version}: {ours:?}");
        assert_eq!(Ours::decode(&written, version).as_ref(), Ok(&ours), "{name} {version}");
    }
}

/// Most memory that a message takes for each of its bytes. An empty string takes 24 bytes for one; where arrays
/// are within arrays, each may reserve for what is left of the message: 7, 13 and 24 times that for the names of
/// subscribed topics in the members of ConsumerGroupDescribe's groups, the most of all.
const MEMORY_FACTOR: usize = 48;
/// Small things that do not grow with the message.
const CONSTANT_BYTES: usize = 4 << 10;

/// Reads bytes as a message in all versions: whatever they are, within the bound.
fn read_hostile<M: Message>(bytes: &[u8]) {
    let Api { name, version_min, version_max, .. } = M::API;
    for version in version_min..=version_max {
        let peak = peak_bytes(|| drop(M::decode(bytes, version)));
        let bound = MEMORY_FACTOR * bytes.len() + CONSTANT_BYTES;
        assert!(peak <= bound, "{name} {version}: {peak} for {} bytes", bytes.len());
    }
}

/// One way to spoil a message: bytes put in the place of as many.
type Spoil = (prop::sample::Index, Vec<u8>);

fn spoil() -> impl Strategy<Value = Spoil> {
    let claim = prop::sample::select(vec![
        vec![0x7f, 0xff, 0xff, 0xff],
        vec![0xff, 0xff, 0xff, 0xff],
        vec![0x80, 0, 0, 0],
        vec![0x7f, 0xff],
        vec![0x80, 0x00],
        // Counts that may be right: classic and compact.
        vec![0, 0, 0x03, 0xff],
        vec![0, 0, 0x07, 0xff],
        vec![0xff, 0x07],
        vec![0x80, 0x20],
        // As variable-length integers: 2^32 - 1, 2^31, 2^63, and one that never ends.
        vec![0xff, 0xff, 0xff, 0xff, 0x0f],
        vec![0x80, 0x80, 0x80, 0x80, 0x08],
        vec![0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        vec![0xff; 11],
    ]);
    let other = prop::collection::vec(any::<u8>(), 1..9);
    (any::<prop::sample::Index>(), prop_oneof![claim, other])
}

/// A sample of every version, spoiled, cut, or with as many bytes behind it as `fill` has.
fn read_spoiled<M: Message>(bytes: &[u8], spoils: &[Spoil], cut: prop::sample::Index, fill: &[u8]) {
    for version in M::API.version_min..=M::API.version_max {
        let mut message = Vec::new();
        M::sample(&mut SampleSource { bytes: bytes.iter() }, M::API.form(version))
            .encode(version, &mut message);
        let whole = message.len();
        let shortened = &message[..cut.index(whole.max(1)).min(whole)];
        if shortened.len() < whole {
            assert!(M::decode(shortened, version).is_err(), "{} {version}, cut", M::API.name);
        }
        for (at, put) in spoils {
            let at = at.index(message.len().max(1));
            let end = message.len().min(at + put.len());
            message.splice(at.min(end)..end, put.iter().copied());
        }
        message.extend_from_slice(fill);
        read_hostile::<M>(&message);
    }
}

/// What other makers' brokers put behind a response is passed over, and requests end where they end.
fn reads_the_front<R: Request>(bytes: &[u8])
where
    R::Response: PartialEq + std::fmt::Debug,
{
    let Api { name, version_min, version_max, .. } = R::API;
    for version in version_min..=version_max {
        let (form, source) = (R::API.form(version), || SampleSource { bytes: bytes.iter() });
        let (ours, mut written) = (R::Response::sample(&mut source(), form), Vec::new());
        ours.encode(version, &mut written);
        written.extend([0, 7, 0xff]);
        assert_eq!(R::decode_response(&written, version).as_ref(), Ok(&ours), "{name} {version}");
        written.clear();
        R::sample(&mut source(), form).encode(version, &mut written);
        written.push(0);
        assert!(R::decode(&written, version).is_err(), "{name} {version}: a request with a byte too many");
    }
}

#[test]
fn what_follows_a_response_is_passed_over_in_every_version() {
    macro_rules! call {
        ($module:ident: $request:ident => $response:ident) => {
            for bytes in [&[][..], &[1; 200], &(1..=255).collect::<Vec<u8>>()] {
                reads_the_front::<generated::$module::Request>(bytes);
            }
        };
    }
    generated::for_each_message!(call);
}

#[test]
fn eight_bytes_that_claim_two_billion_topics_cost_nothing() {
    // Throttle time, then a count of brokers: classic and compact.
    let classic = [0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff];
    let compact = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f];
    for (bytes, version) in [(&classic[..], 4), (&compact[..], 12)] {
        assert!(m03_metadata::Response::decode(bytes, version).is_err());
        assert!(peak_bytes(|| drop(m03_metadata::Response::decode(bytes, version))) <= CONSTANT_BYTES);
    }
}

#[test]
fn the_densest_metadata_stays_within_the_bound() {
    // Topics without anything in them: nine bytes each.
    let mut bytes = vec![0; 4 + 4 + 2 + 4];
    bytes.extend(100_000_i32.to_be_bytes());
    bytes.extend([0; 900_000]);
    let reply = m03_metadata::Response::decode(&bytes, 4).expect("as dense as a reply can be");
    assert_eq!(reply.topics.len(), 100_000);
    read_hostile::<m03_metadata::Response>(&bytes);
}

proptest! {
    #[test]
    fn messages_agree_with_another_implementation(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        macro_rules! call {
            ($module:ident: $request:ident => $response:ident) => {
                compare::<generated::$module::Request, theirs::$request>(&bytes);
                compare::<generated::$module::Response, theirs::$response>(&bytes);
            };
        }
        generated::for_each_message!(call);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn messages_of_any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        spoils in prop::collection::vec(spoil(), 0..4),
        cut: prop::sample::Index,
        fill in (0..=1_u8, 0..2000_usize).prop_map(|(byte, count)| vec![byte; count]),
    ) {
        macro_rules! call {
            ($module:ident: $request:ident => $response:ident) => {
                read_hostile::<generated::$module::Request>(&bytes);
                read_hostile::<generated::$module::Response>(&bytes);
                read_spoiled::<generated::$module::Request>(&bytes, &spoils, cut, &fill);
                read_spoiled::<generated::$module::Response>(&bytes, &spoils, cut, &fill);
            };
        }
        generated::for_each_message!(call);
    }
}
