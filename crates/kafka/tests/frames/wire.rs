//! Primitives: what was written reads back, and malformed lengths and integers are errors.

use kdyno_kafka::wire::{Reader, WireError, Writer};
use proptest::prelude::*;

proptest! {
    #[test]
    fn what_was_written_reads_back(
        (small, medium, large, unsigned) in any::<(i8, i16, i64, u32)>(),
        (zigzag, flag) in any::<(i32, bool)>(),
        text in prop::option::of("\\PC{0,200}"),
        count in 0usize..50,
        compact: bool,
    ) {
        let mut out = Vec::new();
        out.put_i8(small);
        out.put_i16(medium);
        out.put_i64(large);
        out.put_uvarint(unsigned);
        out.put_uvarint(((zigzag << 1) ^ (zigzag >> 31)) as u32);
        out.put_i8(flag.into());
        out.put_nullable_string(text.as_deref(), compact);
        out.put_array_length(count, compact);
        out.put(&vec![7; count]);
        out.put_no_tags(compact);

        let mut reader = Reader::new(&out);
        prop_assert_eq!((reader.i8(), reader.i16(), reader.i64()), (Ok(small), Ok(medium), Ok(large)));
        prop_assert_eq!((reader.uvarint(), reader.varint(), reader.bool()), (Ok(unsigned), Ok(zigzag), Ok(flag)));
        prop_assert_eq!(reader.nullable_string(compact), Ok(text.as_deref()));
        prop_assert_eq!(reader.array_length(compact, 1), Ok(count));
        prop_assert_eq!(reader.take(count).map(<[u8]>::len), Ok(count));
        prop_assert_eq!(reader.skip_tags(compact), Ok(()));
        prop_assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn an_integer_of_any_length_reads_as_it_should(value: u64) {
        let mut bytes = Vec::new();
        let mut rest = value;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        prop_assert_eq!(Reader::new(&bytes).uvarlong(), Ok(value));
        prop_assert_eq!(Reader::new(&bytes).uvarint(), u32::try_from(value).map_err(|_| WireError::Varint));
        let zigzag = (value >> 1) as i64 ^ -((value & 1) as i64);
        prop_assert_eq!(Reader::new(&bytes).varlong(), Ok(zigzag));
    }
}

#[test]
fn integers_that_do_not_end_are_errors() {
    assert_eq!(Reader::new(&[0xff; 20]).uvarlong(), Err(WireError::Varint));
    assert_eq!(Reader::new(&[0x80; 3]).uvarlong(), Err(WireError::Short { need: 1, have: 0 }));
    // A tenth byte can only carry the 64th bit.
    let tenth = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02];
    assert_eq!(Reader::new(&tenth).uvarlong(), Err(WireError::Varint));
}

#[test]
fn an_impossible_count_is_refused_before_memory_is_reserved() {
    let claim = WireError::Length { what: "array", length: 3 };
    assert_eq!(Reader::new(&[0, 0, 0, 3, 1, 2, 3, 4, 5]).array_length(false, 2), Err(claim.clone()));
    assert_eq!(Reader::new(&[4, 1, 2, 3, 4, 5]).array_length(true, 2), Err(claim));
    assert_eq!(Reader::new(&[4, 1, 2, 3, 4, 5, 6]).array_length(true, 2), Ok(3));
    assert_eq!(Reader::new(&[0xff; 4]).array_length(false, 2), Ok(0), "null reads as empty");
    let negative = WireError::Length { what: "array", length: -2 };
    assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xfe]).array_length(false, 2), Err(negative));
}

#[test]
fn tags_are_skipped_within_bounds() {
    let mut reader = Reader::new(&[2, 0, 1, 9, 5, 2, 8, 8, 7]);
    assert_eq!(reader.skip_tags(true), Ok(()));
    assert_eq!(reader.u8(), Ok(7));
    let claim = [1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 1];
    assert_eq!(Reader::new(&claim).skip_tags(true), Err(WireError::Short { need: 0xffff_ffff, have: 1 }));
    // Four thousand million tags end with the bytes.
    assert!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0]).skip_tags(true).is_err());
}

#[test]
fn leftovers_and_bad_text_are_errors() {
    assert_eq!(Reader::new(&[1, 2]).finish(), Err(WireError::LeftOver(2)));
    assert_eq!(Reader::new(&[0, 1, 0xff]).string(false), Err(WireError::Utf8));
    assert_eq!(Reader::new(&[0]).string(true), Err(WireError::Length { what: "string", length: -1 }));
    assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xff]).nullable_bytes(false), Ok(None));
}
