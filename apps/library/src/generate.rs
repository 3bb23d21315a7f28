//! Writes a MARC 21 file of records made up from a seed: as varied in length, fields and script as a library's are, and the same
//! again for the same options.

use crate::marc::{self, RECORD_TERMINATOR};
use anyhow::Context;
use fastrand::Rng;
use marctk::{Field, Record};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// What is to be written.
#[derive(clap::Args)]
pub struct Options {
    /// How many records.
    #[arg(long, default_value_t = 5_000)]
    records: u32,
    /// Number of the first one: records of one number have one control number.
    #[arg(long, default_value_t = 1)]
    first: u32,
    /// Which edition: another one has the same control numbers and says something else, to update what was created.
    #[arg(long, default_value_t = 1)]
    edition: u32,
    /// What all of it is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many of 1,000 records are malformed, each in one of several ways.
    #[arg(long, default_value_t = 0)]
    malformed_per_1000: u32,
    /// The file; there may be none yet, and its folder is made.
    #[arg(long)]
    out: PathBuf,
}

/// Writes the file.
///
/// # Errors
/// It cannot be written.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let path = options.out.display();
    if let Some(folder) = options.out.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("the folder {}", folder.display()))?;
    }
    let file = std::fs::File::create(&options.out).with_context(|| format!("{path}"))?;
    let mut file = BufWriter::new(file);
    for number in (options.first..).take(options.records as usize) {
        file.write_all(&bytes(options, number)).with_context(|| format!("{path}"))?;
    }
    file.flush().with_context(|| format!("{path}"))
}

/// A record, by its number alone.
fn bytes(options: &Options, number: u32) -> Vec<u8> {
    let seed = options.seed ^ (u64::from(number) << 20) ^ (u64::from(options.edition) << 56);
    let mut random = Rng::with_seed(seed);
    let bytes = record(&mut random, number, options.edition).expect("a record of less than 99,999 bytes");
    if random.u32(..1_000) < options.malformed_per_1000 { spoilt(&mut random, bytes) } else { bytes }
}

const GIVEN_NAMES: &str = "\
    Ada Björn Chinua Doris Émile Fatima Günter Haruki Isabel José Kazuo Leïla Мария Naguib Orhan Pär \
    Rabindranath Šárka Toni Ursula Wisława Yaşar Zadie 李";
const FAMILY_NAMES: &str = "\
    Achterberg Brandt Çelik Dąbrowska Eriksen Fernández García Haşek Ivanova Jónsdóttir Kowalski \
    Lindqvist Murakami Nguyễn O'Brien Petrović Quispe Rossi Smith Tanaka Usman Wójcik Yamamoto Толстая";
const WORDS: &str = "\
    algebra archive bridge cathedral city climate coast colour commerce culture design economy empire \
    family field forest garden glacier harbour heritage history island journey kingdom language law \
    library light machine market medicine memory migration mountain music night ocean painting people \
    poetry railway river science silence stone street theatre trade village voyage war water winter \
    world";
const PLACES: &str = "Berlin Bogotá Cairo Cambridge Kraków Kyoto Lagos London Москва Paris";
const LANGUAGES: &str = "eng fre ger jpn pol por rus spa";

/// One of the words of a text.
fn one(random: &mut Rng, words: &'static str) -> &'static str {
    let words: Vec<&str> = words.split_whitespace().collect();
    words[random.usize(..words.len())]
}

/// So many words.
fn words(random: &mut Rng, count: usize) -> String {
    let words: Vec<&str> = (0..count).map(|_| one(random, WORDS)).collect();
    let mut text = words.join(" ");
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

fn name(random: &mut Rng) -> String {
    format!("{}, {}", one(random, FAMILY_NAMES), one(random, GIVEN_NAMES))
}

/// Few are long: at least `least`, doubled as often as a coin falls on one side, five times at most.
fn length(random: &mut Rng, least: usize) -> usize {
    let doubled = (0..5).take_while(|_| random.bool()).count();
    random.usize(least..=least << doubled)
}

fn field(tag: &str, indicators: &str, subfields: &[(&str, &str)]) -> Result<Field, String> {
    let mut field = Field::new(tag)?;
    field.set_ind1(&indicators[..1])?;
    field.set_ind2(&indicators[1..])?;
    for (code, content) in subfields {
        field.add_subfield(*code, *content)?;
    }
    Ok(field)
}

fn record(random: &mut Rng, number: u32, edition: u32) -> Result<Vec<u8>, String> {
    let mut record = Record::new();
    record.set_leader("00000cam a2200000 i 4500")?;
    let (year, language) = (random.u32(1900..2026).to_string(), one(random, LANGUAGES));
    record.add_control_field("001", &format!("lib{number:08}"))?;
    record.add_control_field("003", "KDYNO")?;
    record.add_control_field("005", &format!("2026{:02}01120000.0", 1 + edition % 12))?;
    record.add_control_field("008", &format!("260101s{year}    xx            000 0 {language} d"))?;
    for _ in 0..random.usize(..3) {
        let isbn = format!("978{:010}", random.u64(..10_000_000_000));
        record.insert_data_field(field("020", "  ", &[("a", &isbn)])?);
    }
    let author = name(random);
    record.insert_data_field(field("100", "1 ", &[("a", &format!("{author},")), ("e", "author.")])?);
    let count = length(random, 2).min(20);
    let (title, rest) = (words(random, 2), words(random, count));
    record.insert_data_field(field(
        "245",
        "10",
        &[("a", &format!("{title} :")), ("b", &rest), ("c", &author)],
    )?);
    if edition > 1 {
        record.insert_data_field(field("250", "  ", &[("a", &format!("Edition {edition}."))])?);
    }
    let (place, publisher) = (one(random, PLACES), one(random, FAMILY_NAMES));
    record.insert_data_field(field(
        "264",
        " 1",
        &[("a", place), ("b", publisher), ("c", &format!("{year}."))],
    )?);
    let pages = format!("{} pages", random.u32(24..1_200));
    record.insert_data_field(field("300", "  ", &[("a", &pages), ("c", "24 cm")])?);
    for (tag, media) in [("336", "text"), ("337", "unmediated"), ("338", "volume")] {
        record.insert_data_field(field(tag, "  ", &[("a", media), ("2", "rda")])?);
    }
    let count = length(random, 12);
    let summary = words(random, count);
    record.insert_data_field(field("520", "  ", &[("a", &format!("{summary}."))])?);
    for _ in 0..length(random, 1) {
        let (subject, form) = (words(random, 2), words(random, 1));
        record.insert_data_field(field("650", " 0", &[("a", &subject), ("x", &form)])?);
    }
    for _ in 0..random.usize(..3) {
        record.insert_data_field(field("700", "1 ", &[("a", &name(random))])?);
    }
    record.to_binary()
}

/// Malformed, and still one record of the file.
fn spoilt(random: &mut Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    match random.u8(..5) {
        // A length that is not its own.
        0 => bytes[..5].copy_from_slice(b"00099"),
        // MARC-8, the older encoding, with an escape at the end of its last field.
        1 => {
            let at = bytes.len() - 3;
            (bytes[9], bytes[at]) = (b' ', marc::ESCAPE);
        }
        // A directory that leads out of the record.
        2 => bytes[27..31].copy_from_slice(b"9999"),
        // Cut off, and ended by who wrote it.
        3 => {
            bytes.truncate(bytes.len() / 2);
            bytes.push(RECORD_TERMINATOR);
        }
        // A byte that is no UTF-8, at the end of its last field.
        _ => {
            let at = bytes.len() - 3;
            bytes[at] = 0xFF;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn options(records: u32, malformed_per_1000: u32) -> Options {
        Options { records, first: 1, edition: 1, seed: 1, malformed_per_1000, out: PathBuf::new() }
    }

    fn file(options: &Options) -> Vec<u8> {
        (1..=options.records).flat_map(|number| bytes(options, number)).collect()
    }

    #[test]
    fn records_are_good_varied_and_the_same_again() {
        let made = file(&options(1_000, 0));
        assert_eq!(made, file(&options(1_000, 0)));
        let read: Vec<_> =
            marc::split(&made).map(|record| marc::read(record).expect("a good record").0).collect();
        assert_eq!(read.len(), 1_000);
        let distinct =
            |of: fn(&crate::messages::Instance) -> String| read.iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(distinct(|instance| instance.control_number.clone()), 1_000);
        assert!(distinct(|instance| instance.title.clone()) > 990);
        let lengths: Vec<usize> = marc::split(&made).map(<[u8]>::len).collect();
        let (least, most) = (lengths.iter().min().expect("one"), lengths.iter().max().expect("one"));
        assert!(most > &(2 * least), "from {least} to {most} bytes");
    }

    #[test]
    fn another_edition_has_the_same_numbers_and_says_something_else() {
        let second = Options { edition: 2, ..options(100, 0) };
        let (first, second) = (file(&options(100, 0)), file(&second));
        for (first, second) in marc::split(&first).zip(marc::split(&second)) {
            let (first, second) = (marc::read(first).expect("good").0, marc::read(second).expect("good").0);
            assert_eq!(first.control_number, second.control_number);
            assert_ne!(first, second);
        }
    }

    #[test]
    fn malformed_ones_fail_in_several_ways_and_no_other_with_them() {
        let made = file(&options(2_000, 100));
        let failures: Vec<String> =
            marc::split(&made).filter_map(|record| marc::read(record).err()).collect();
        assert_eq!(marc::split(&made).count(), 2_000);
        assert!((120..=280).contains(&failures.len()), "about one of ten: {}", failures.len());
        for why in ["its leader says", "not Unicode", "does not lie where", "not UTF-8"] {
            assert!(failures.iter().any(|failure| failure.contains(why)), "{why}: {failures:?}");
        }
    }
}
