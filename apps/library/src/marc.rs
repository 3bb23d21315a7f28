//! MARC 21 in its binary form (ISO 2709): a file is cut into records, each is checked, then read by marctk.
//!
//! marctk expects a record to be well formed: places in a directory that lie outside of the record make it panic. So what it
//! relies on is checked here first, which also gives each failure its reason.

use crate::messages::Instance;
use marctk::Record;

/// Ends a record.
pub const RECORD_TERMINATOR: u8 = 0x1D;
/// Ends a field, and the directory.
const FIELD_TERMINATOR: u8 = 0x1E;
/// Comes before the code of a subfield.
const SUBFIELD_DELIMITER: u8 = 0x1F;
/// Begins text in another character set, in records that are not Unicode.
pub const ESCAPE: u8 = 0x1B;
/// Bytes of the leader.
const LEADER: usize = 24;
/// Bytes of an entry of the directory: a tag, a length, a place.
const ENTRY: usize = 12;
/// The length of a record has five digits.
pub const RECORD_BYTES_MAX: usize = 99_999;

/// Cuts a file into records, each with its terminator. What follows the last terminator is a record too, but for line ends.
pub fn split(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let pieces = file.split_inclusive(|byte| *byte == RECORD_TERMINATOR);
    // Some programs write a line end behind each record.
    pieces.map(|piece| piece.trim_ascii_start()).filter(|piece| !piece.is_empty())
}

/// Reads a record.
///
/// # Errors
/// It is malformed, or lacks what an instance needs: one clause.
pub fn read(bytes: &[u8]) -> Result<(Instance, String), String> {
    check(bytes)?;
    let record = Record::from_binary(bytes).map_err(|_| "its text is not UTF-8".to_owned())?;
    let source = String::from_utf8(bytes.to_vec()).map_err(|_| "its text is not UTF-8".to_owned())?;
    Ok((instance(&record)?, source))
}

/// What a record says.
fn instance(record: &Record) -> Result<Instance, String> {
    let control_number =
        record.get_control_fields("001").first().map(|field| field.content().trim().to_owned());
    let control_number = control_number.filter(|number| !number.is_empty());
    let title =
        ["a", "b"].iter().filter_map(|code| first(record, &["245"], code)).collect::<Vec<_>>().join(" ");
    Ok(Instance {
        control_number: control_number.ok_or("it has no control number (001)")?,
        title: Some(title).filter(|title| !title.is_empty()).ok_or("it has no title (245)")?,
        author: first(record, &["100", "110", "111"], "a"),
        isbns: all(record, "020"),
        published: first(record, &["264", "260"], "c"),
        subjects: all(record, "650"),
    })
}

/// The first subfield of this code in one of these fields, without the punctuation at its end that MARC's rules ask for.
fn first(record: &Record, tags: &[&str], code: &str) -> Option<String> {
    tags.iter().find_map(|tag| record.get_field_values(tag, code).first().map(|value| plain(value)))
}

/// The subfields `a` of all fields of this tag.
fn all(record: &Record, tag: &str) -> Vec<String> {
    record.get_field_values(tag, "a").into_iter().map(plain).collect()
}

fn plain(value: &str) -> String {
    value.trim().trim_end_matches([' ', '/', ':', ';', ',', '.']).to_owned()
}

/// Checks all that marctk relies on.
fn check(bytes: &[u8]) -> Result<(), String> {
    if bytes.last() != Some(&RECORD_TERMINATOR) {
        return Err("it does not end with a record terminator: it is cut off".to_owned());
    }
    if bytes.len() <= LEADER + 1 {
        return Err(format!("it has {} bytes, too few for a record", bytes.len()));
    }
    let leader = &bytes[..LEADER];
    if !leader.is_ascii() {
        return Err("its leader is not ASCII".to_owned());
    }
    let length = number(&leader[..5]).ok_or("its leader does not begin with its length")?;
    if length != bytes.len() {
        return Err(format!("its leader says {length} bytes, it has {}", bytes.len()));
    }
    // MARC-8, the older one, has ASCII in common with it, unless it escapes to another set.
    let is_plain = bytes.is_ascii() && !bytes.contains(&ESCAPE);
    if leader[9] != b'a' && !is_plain {
        return Err("its text is not Unicode (leader, place 9), and no other is taken".to_owned());
    }
    let data = number(&leader[12..17]).filter(|data| (LEADER + 1..bytes.len()).contains(data));
    let data = data.ok_or("its leader says no place where fields begin")?;
    let directory = &bytes[LEADER..data - 1];
    if bytes[data - 1] != FIELD_TERMINATOR || directory.is_empty() || !directory.len().is_multiple_of(ENTRY) {
        return Err("its directory is malformed".to_owned());
    }
    directory.chunks_exact(ENTRY).try_for_each(|entry| check_field(entry, &bytes[data..bytes.len() - 1]))
}

/// Checks a field that an entry of the directory names.
fn check_field(entry: &[u8], data: &[u8]) -> Result<(), String> {
    let malformed = || "an entry of its directory is malformed".to_owned();
    let tag = number(&entry[..3]).ok_or_else(malformed)?;
    let (length, start) =
        (number(&entry[3..7]).ok_or_else(malformed)?, number(&entry[7..]).ok_or_else(malformed)?);
    let field = data.get(start..start + length).filter(|field| field.last() == Some(&FIELD_TERMINATOR));
    let field = field.ok_or_else(|| format!("its field {tag:03} does not lie where its directory says"))?;
    if tag < 10 {
        return Ok(());
    }
    let is_indicator = |byte: &u8| *byte == b' ' || byte.is_ascii_graphic();
    if field.len() < 3 || !field[..2].iter().all(is_indicator) {
        return Err(format!("its field {tag:03} has no indicators"));
    }
    let has_code = |pair: &[u8]| pair[0] != SUBFIELD_DELIMITER || pair[1].is_ascii_graphic();
    if !field[2..].windows(2).all(has_code) {
        return Err(format!("a subfield of its field {tag:03} has no code"));
    }
    Ok(())
}

/// Digits, and nothing else.
fn number(digits: &[u8]) -> Option<usize> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use marctk::Field;

    fn field(tag: &str, subfields: &[(&str, &str)]) -> Field {
        let mut field = Field::new(tag).expect("a tag");
        for (code, content) in subfields {
            field.add_subfield(*code, *content).expect("a code");
        }
        field
    }

    /// Facts of a well-known book, as its record has them.
    fn novel() -> Vec<u8> {
        let mut record = Record::new();
        record.set_leader("00000cam a2200000 i 4500").expect("a leader");
        record.add_control_field("001", "ocm01234 ").expect("a tag");
        record.insert_data_field(field("020", &[("a", "9780142437247")]));
        record.insert_data_field(field("100", &[("a", "Melville, Herman,"), ("d", "1819-1891.")]));
        record.insert_data_field(field(
            "245",
            &[("a", "Moby-Dick, or, The whale /"), ("c", "Herman Melville.")],
        ));
        record.insert_data_field(field("264", &[("b", "Penguin,"), ("c", "2003.")]));
        record.insert_data_field(field("650", &[("a", "Whaling"), ("v", "Fiction.")]));
        record.to_binary().expect("a record")
    }

    #[test]
    fn a_record_says_what_an_instance_is() {
        let (instance, source) = read(&novel()).expect("a good record");
        let expected = Instance {
            control_number: "ocm01234".to_owned(),
            title: "Moby-Dick, or, The whale".to_owned(),
            author: Some("Melville, Herman".to_owned()),
            isbns: vec!["9780142437247".to_owned()],
            published: Some("2003".to_owned()),
            subjects: vec!["Whaling".to_owned()],
        };
        assert_eq!(instance, expected);
        assert_eq!(source.as_bytes(), novel());
    }

    /// Five of the Library of Congress, as its catalogue gave them away: MARC-8 by their leaders, and ASCII alone.
    #[test]
    fn real_records_are_read() {
        let file = include_bytes!("../tests/real.mrc");
        let titles: Vec<String> =
            split(file).map(|bytes| read(bytes).expect("a good record").0.title).collect();
        assert_eq!(titles.len(), 5);
        assert!(titles.iter().any(|title| title.starts_with("Learning Python")), "{titles:?}");
    }

    #[test]
    fn a_file_is_cut_at_terminators_and_forgives_line_ends() {
        let file = [novel(), b"\n".to_vec(), novel(), b"\r\ncut off".to_vec()].concat();
        let records: Vec<&[u8]> = split(&file).collect();
        assert_eq!(records, [novel().as_slice(), &novel(), b"cut off"]);
        assert_eq!(split(b"\n\n").count(), 0);
    }

    #[test]
    fn each_malformation_has_its_reason() {
        let spoilt = |spoil: fn(&mut Vec<u8>)| {
            let mut bytes = novel();
            spoil(&mut bytes);
            read(&bytes).expect_err("malformed")
        };
        assert!(spoilt(|bytes| bytes.truncate(100)).contains("cut off"));
        assert!(spoilt(|bytes| *bytes = vec![RECORD_TERMINATOR]).contains("too few"));
        assert!(spoilt(|bytes| bytes[0] = b'9').contains("its leader says 9"));
        assert!(spoilt(|bytes| bytes[1] = b'x').contains("begin with its length"));
        let in_marc_8 = |bytes: &mut Vec<u8>| {
            let at = bytes.windows(4).position(|four| four == b"Moby").expect("its title");
            (bytes[9], bytes[at]) = (b' ', ESCAPE);
        };
        assert!(spoilt(in_marc_8).contains("not Unicode"));
        assert!(spoilt(|bytes| bytes[12..17].copy_from_slice(b"00000")).contains("where fields begin"));
        assert!(spoilt(|bytes| bytes[12..17].copy_from_slice(b"00030")).contains("directory is malformed"));
        assert!(spoilt(|bytes| bytes[27..31].copy_from_slice(b"9999")).contains("field 001 does not lie"));
        assert!(spoilt(|bytes| bytes[24] = b'x').contains("entry of its directory"));
        assert!(
            spoilt(|bytes| {
                let at = bytes.windows(4).position(|four| four == b"Moby").expect("its title");
                bytes[at] = 0xFF;
            })
            .contains("not UTF-8")
        );
        assert!(
            spoilt(|bytes| {
                let at = bytes.windows(5).position(|five| five == b"\x1FaMob").expect("its title");
                bytes[at + 1] = b' ';
            })
            .contains("field 245 has no code")
        );
    }

    #[test]
    fn what_an_instance_needs_is_asked_for() {
        let without = |tag: &str| {
            let mut record = Record::from_binary(&novel()).expect("a record");
            record.remove_fields(tag);
            record.remove_control_fields(tag);
            read(&record.to_binary().expect("a record")).expect_err("it lacks something")
        };
        assert_eq!(without("245"), "it has no title (245)");
        assert_eq!(without("001"), "it has no control number (001)");
    }

    #[test]
    fn no_record_however_spoilt_makes_it_panic() {
        let mut random = fastrand::Rng::with_seed(7);
        let special =
            [0, b'0', b'9', b' ', FIELD_TERMINATOR, SUBFIELD_DELIMITER, RECORD_TERMINATOR, 0xC3, 0xFF];
        let mut taken = 0;
        for _ in 0..20_000 {
            let mut bytes = novel();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = special[random.usize(..special.len())];
            }
            taken += u32::from(read(&bytes).is_ok());
        }
        assert!(taken > 100, "what changes only text is taken: {taken}");
    }
}
