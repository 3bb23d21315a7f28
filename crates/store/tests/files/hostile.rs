//! Files that are not run files, or no longer: a precise error, no panic, bounded memory.

use kdyno_store::{RunFile, RunWriter, StoreError, schema};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A finished run, made once.
fn whole_run() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.kdyno");
        crate::common::write_run(&path).unwrap();
        std::fs::read(&path).unwrap()
    })
}

fn with_file<T>(bytes: &[u8], look: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.kdyno");
    std::fs::write(&path, bytes).unwrap();
    look(&path)
}

fn open_error(bytes: &[u8]) -> StoreError {
    with_file(bytes, |path| RunFile::open(path).unwrap_err())
}

/// Reads everything; the first error.
fn read_all(path: &Path) -> Result<(), StoreError> {
    let file = RunFile::open(path)?;
    file.header()?;
    file.sessions()?;
    for start in file.trials()? {
        file.evidence(start.trial.id)?;
    }
    file.events()?;
    file.logs()?;
    file.judgement()?;
    Ok(())
}

/// The whole run after some SQL from outside.
fn after(sql: &str) -> Vec<u8> {
    with_file(whole_run(), |path| {
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch(sql).unwrap();
        connection.close().unwrap();
        std::fs::read(path).unwrap()
    })
}

#[test]
fn foreign_files_are_named_as_such() {
    let reason = |bytes: &[u8]| match open_error(bytes) {
        StoreError::NotARunFile { reason, .. } => reason,
        other => panic!("{other}"),
    };
    assert_eq!(reason(b""), "it is empty");
    assert_eq!(reason(b"kdyno: 1\nid: first-light\n"), "it is not a SQLite file");
    assert_eq!(reason(&whole_run()[..50]), "it is not a SQLite file");
    assert_eq!(reason(&after("PRAGMA application_id = 7")), "it is a SQLite file of another program");
    let folder = tempfile::tempdir().unwrap();
    let error = RunFile::open(folder.path()).unwrap_err();
    assert!(error.to_string().ends_with("it is not a regular file"), "{error}");
    let error = RunFile::open(&folder.path().join("none.kdyno")).unwrap_err();
    assert!(matches!(error, StoreError::Read { .. }), "{error}");
}

#[test]
fn a_newer_format_says_what_to_do() {
    let newer = schema::FORMAT_VERSION + 1;
    let error = open_error(&after(&format!("PRAGMA user_version = {newer}")));
    let wanted =
        StoreError::NewerFormat { path: PathBuf::new(), found: newer, known: schema::FORMAT_VERSION };
    assert_eq!(error.hint(), wanted.hint());
    assert!(error.hint().is_some_and(|hint| hint.contains("the kdyno that wrote it")));
    assert!(error.to_string().contains(&format!("has format {newer}")), "{error}");
    assert!(matches!(open_error(&after("PRAGMA user_version = 0")), StoreError::Damaged { .. }));
}

#[test]
fn a_contradiction_names_its_table() {
    let said = |sql: &str| with_file(&after(sql), |path| read_all(path).unwrap_err().to_string());
    for (sql, wanted) in [
        ("DROP TABLE noise", "the table noise is missing"),
        ("DROP TABLE run", "the table run is missing"),
        ("DELETE FROM run", "it has no head"),
        ("UPDATE run SET run_id = 'zz'", "table run, row 1: a run id is no hexadecimal number"),
        ("UPDATE run SET plan_json = '{'", "table run, row 1: EOF"),
        (
            "UPDATE stream SET role = 'sing'",
            "table stream, row 1: unknown variant `sing`, expected one of `produce`",
        ),
        ("UPDATE sample SET grain = 'day' WHERE sequence = 1", "table sample, row 2: unknown variant `day`"),
        ("UPDATE sample SET worker = 70000 WHERE rowid = 1", "table sample"),
        ("UPDATE sample SET packed = x'00'", "table sample, row 1: a packed column is cut off"),
        ("UPDATE sample SET packed = x'0700000000'", "unknown form 7"),
        ("UPDATE sample SET packed = x'01ffffffff00'", "claims 4294967295 bytes"),
        (
            "UPDATE totals SET packed = x'0100ffffff00'",
            "table totals, row 1: a packed column does not decode: it claims",
        ),
        (
            "UPDATE probe SET packed = x'0100ffffff00'",
            "table probe, row 1: a packed column does not decode: it claims",
        ),
        ("UPDATE sample SET packed = x'010000ffff0300'", "another length than it claims"),
        ("UPDATE finding SET estimate = NULL", "a finding's value contradicts its kind"),
        ("UPDATE finding SET scope = 'case'", "a scope's numbers contradict its kind"),
        ("UPDATE finding SET scope = 'life'", "table finding, row 1: unknown variant `life`"),
        ("UPDATE event SET trial = -1", "table event"),
        ("UPDATE event SET subject = 'the cat'", "`the cat` is no subject"),
        ("UPDATE trial SET place = NULL", "a trial has half a place in a pair"),
        ("UPDATE trial SET session = 7", "the session of trial 1 is missing"),
        ("UPDATE session SET detail = NULL", "table session"),
        ("UPDATE caveat SET caveat_json = '{\"kind\":\"gossip\"}'", "unknown variant `gossip`"),
    ] {
        let said = said(sql);
        assert!(said.contains(wanted), "{sql}: {said}");
    }
}

/// What computes, or runs code of its own, in a file that is a run file otherwise.
#[test]
fn a_schema_that_kdyno_does_not_make_is_refused() {
    // 300 rows of 60 MB each, in a file of a few pages.
    let generated = "DROP TABLE log; CREATE TABLE log (
        subject TEXT NOT NULL, excerpt TEXT AS (hex(zeroblob(30000000))) VIRTUAL NOT NULL) STRICT;
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 300)
        INSERT INTO log (subject) SELECT x FROM n";
    let view =
        "DROP TABLE log; CREATE VIEW log AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
        SELECT x AS subject, x AS excerpt FROM n";
    for (sql, wanted) in [
        (generated, "its table log is none that this kdyno makes"),
        ("ALTER TABLE event ADD COLUMN more TEXT AS (hex(zeroblob(9))) VIRTUAL", "its table event is none"),
        (view, "its view log is none"),
        (
            "CREATE TRIGGER wipe AFTER INSERT ON session BEGIN DELETE FROM trial; END",
            "its trigger wipe is none",
        ),
        ("CREATE VIRTUAL TABLE words USING fts5(a)", "its table words"),
        (
            "DROP TABLE log; CREATE TABLE log (subject TEXT NOT NULL, excerpt TEXT NOT NULL)",
            "its table log is none",
        ),
        ("CREATE INDEX e ON event (hex(zeroblob(9)))", "its index e is none"),
        ("DROP INDEX probe_at", "the index probe_at is missing"),
        ("CREATE TABLE more (a TEXT) STRICT", "its table more is none"),
    ] {
        let bytes = after(sql);
        let said = open_error(&bytes).to_string();
        assert!(said.contains(wanted), "{sql}: {said}");
        let resumed =
            with_file(&bytes, |path| RunWriter::resume(path, &crate::common::session(3)).unwrap_err());
        assert!(resumed.to_string().contains(wanted), "{resumed}");
    }
}

/// A page that hangs in the tree hundreds of times hands the same bytes out hundreds of times.
#[test]
fn rows_are_no_more_than_the_file_can_hold() {
    let mut bytes = after("DELETE FROM log; INSERT INTO log VALUES ('x', hex(zeroblob(50000)))");
    let root = with_file(&bytes, |path| {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'log'";
        rusqlite::Connection::open(path).unwrap().query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap()
    });
    let page_bytes = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let at = (root as usize - 1) * page_bytes;
    // The leaf moves to the end of the file, and an inner page with many ways to it takes its place.
    let leaf = bytes[at..at + page_bytes].to_vec();
    bytes.extend(leaf);
    let leaf = u32::try_from(bytes.len() / page_bytes).unwrap().to_be_bytes();
    bytes[28..32].copy_from_slice(&leaf);
    let cells = 400_u16;
    let cell = |number: u16| page_bytes - 6 * usize::from(number + 1);
    let mut inner = vec![0; page_bytes];
    inner[0] = 5;
    inner[3..5].copy_from_slice(&cells.to_be_bytes());
    inner[5..7].copy_from_slice(&u16::try_from(cell(cells - 1)).unwrap().to_be_bytes());
    inner[8..12].copy_from_slice(&leaf);
    for number in 0..cells {
        let place = 12 + 2 * usize::from(number);
        inner[place..place + 2].copy_from_slice(&u16::try_from(cell(number)).unwrap().to_be_bytes());
        let key = [0x80 | (number >> 7) as u8, (number & 0x7f) as u8];
        inner[cell(number)..cell(number) + 6].copy_from_slice(&[&leaf[..], &key].concat());
    }
    bytes[at..at + page_bytes].copy_from_slice(&inner);
    let error = with_file(&bytes, |path| RunFile::open(path).and_then(|file| file.logs()).unwrap_err());
    assert!(error.to_string().contains("table log has more than the file can hold"), "{error}");
}

#[test]
fn a_value_beyond_the_limit_is_refused_by_size() {
    let bytes = after("UPDATE log SET excerpt = CAST(zeroblob(80 << 20) AS TEXT)");
    let error = with_file(&bytes, |path| read_all(path).unwrap_err());
    assert!(error.to_string().contains("too big"), "{error}");
}

#[test]
fn deflated_bombs_stop_at_what_they_claim() {
    use std::io::Write as _;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; 64 << 20]).unwrap();
    let mut blob = vec![1, 0, 0, 1, 0];
    blob.extend(encoder.finish().unwrap());
    let hex: String = blob.iter().map(|byte| format!("{byte:02x}")).collect();
    let bytes = after(&format!("UPDATE sample SET packed = x'{hex}'"));
    let error = with_file(&bytes, |path| read_all(path).unwrap_err());
    assert!(error.to_string().contains("another length than it claims"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn flipped_and_truncated_files_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        keep in prop::option::weighted(0.3, any::<prop::sample::Index>()),
        early in any::<bool>(),
    ) {
        let mut bytes = whole_run().to_vec();
        for (at, byte) in flips {
            // Half of the cases hit the head and the schema, where the tree hangs.
            let at = at.index(if early { 4096 } else { bytes.len() });
            bytes[at] = byte;
        }
        if let Some(keep) = keep {
            bytes.truncate(keep.index(bytes.len()));
        }
        // Flips may hit unused bytes: then it reads well.
        let _ = with_file(&bytes, read_all);
    }

    #[test]
    fn a_flipped_wal_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let (main, wal) = left_over();
        let mut wal = wal.clone();
        for (at, byte) in flips {
            let at = at.index(wal.len());
            wal[at] = byte;
        }
        with_file(main, |path| {
            std::fs::write(path.with_extension("kdyno-wal"), &wal).unwrap();
            let _ = read_all(path);
        });
    }
}

/// The main file and WAL of a run whose writer was killed.
fn left_over() -> &'static (Vec<u8>, Vec<u8>) {
    static BYTES: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    BYTES.get_or_init(|| {
        with_file(whole_run(), |path| {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection
                .execute_batch("PRAGMA journal_mode = WAL; UPDATE log SET subject = 'x'; UPDATE session SET status = NULL")
                .unwrap();
            let read = |path: &Path| std::fs::read(path).unwrap();
            (read(path), read(&path.with_extension("kdyno-wal")))
        })
    })
}
