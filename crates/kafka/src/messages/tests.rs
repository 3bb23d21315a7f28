//! Every message in [`generated`](super::generated), in every version we speak, compared with the
//! `kafka-protocol` crate, an independent implementation.

use super::{Api, Message, generated};
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages as theirs;
use kafka_protocol::protocol::{Decodable, Encodable};
use proptest::prelude::*;

/// Where the values of a sample message come from: bytes that `proptest` makes and shrinks.
pub struct Source<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Source<'a> {
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter() }
    }

    /// The next byte; 0 when there are no more.
    pub fn byte(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }

    /// A number of up to eight bytes, of either sign.
    pub fn number(&mut self) -> i64 {
        let bytes = self.byte() % 9;
        (0..bytes).fold(0, |number, _| number << 8 | i64::from(self.byte() as i8))
    }

    /// Text of up to seven letters, of one or two bytes each.
    pub fn text(&mut self) -> String {
        (0..self.byte() % 8).map(|_| char::from(self.byte())).collect()
    }
}

/// What we write must be read there, and what they make of it must be the same bytes and read here as the same
/// value.
fn compare<Ours: Message + PartialEq + std::fmt::Debug, Theirs: Encodable + Decodable>(bytes: &[u8]) {
    let Api { name, version_min, version_max, .. } = Ours::API;
    for version in version_min..=version_max {
        let ours = Ours::sample(&mut Source::of(bytes), Ours::API.form(version));
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
