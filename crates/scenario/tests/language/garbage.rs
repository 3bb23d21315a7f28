//! No text makes the readers of scenarios and targets panic, hang or grow without bound.

use kdyno_scenario::Scenario;
use kdyno_scenario::target::TargetFile;
use kdyno_scenario::yaml;
use proptest::prelude::*;

const GOOD: &str = include_str!("../../../../scenarios/first-light.yaml");

fn read(text: &str) {
    let _ = yaml::parse(text);
    let parsed = Scenario::parse(text, "x.yaml");
    let mistakes = Scenario::mistakes(text, "x.yaml", |_| Ok(()));
    assert_eq!(parsed.is_ok(), mistakes.is_empty(), "{mistakes:?}");
    assert!(parsed.err().is_none_or(|first| mistakes.contains(&first)), "{mistakes:?}");
    let _ = TargetFile::parse(text, "x.yaml");
}

fn error(text: &str) -> String {
    Scenario::parse(text, "x.yaml").unwrap_err().to_string()
}

proptest! {
    #[test]
    fn any_text(text in "\\PC{0,300}") {
        read(&text);
    }

    #[test]
    fn yaml_like_text(text in "([a-z$=]{0,6}[:,\\[\\]{}\\-&*!|>#'\" \n]{1,3}){0,60}") {
        read(&text);
    }

    #[test]
    fn a_good_scenario_with_a_piece_replaced(at in 0_usize..1500, length in 0_usize..40, piece in "[ -~\n]{0,20}") {
        let mut chars: Vec<char> = GOOD.chars().collect();
        let start = at.min(chars.len());
        let end = (start + length).min(chars.len());
        chars.splice(start..end, piece.chars());
        read(&chars.into_iter().collect::<String>());
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Scenario::parse_bytes(&bytes, "x.yaml");
    }
}

#[test]
fn a_byte_order_mark_is_taken_and_other_encodings_are_named() {
    let marked = [b"\xef\xbb\xbf", GOOD.as_bytes()].concat();
    Scenario::parse_bytes(&marked, "x.yaml").unwrap();
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(GOOD.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert!(Scenario::parse_bytes(&wide, "x.yaml").unwrap_err().to_string().contains("UTF-16"));
    let latin = b"kdyno: 1\nid: caf\xe9\n";
    let error = Scenario::parse_bytes(latin, "x.yaml").unwrap_err().to_string();
    assert_eq!(error, "x.yaml:2:8: the file is not UTF-8 text here");
}

#[test]
fn bombs_are_refused() {
    let laughs = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
    assert!(error(laughs).contains("anchors"), "{}", error(laughs));
    assert!(error(&"[".repeat(100_000)).contains("not valid YAML"));
    assert!(error(&"- ".repeat(100_000)).contains("not valid YAML"));
    assert!(error(&format!("kdyno: [{}]", "x,".repeat(60_000))).contains("more than 50000 values"));
    assert!(error(&" ".repeat(2 << 20)).contains("at most 1 MiB are read"));
    assert!(error("").contains("is empty"));
    assert!(error("# nothing\n").contains("is empty"));
    assert!(error("kdyno: 1\n---\nkdyno: 1\n").contains("second YAML document"));
    assert!(error("kdyno: !!int 1\n").contains("tags"));
    assert!(error("{[a]: b}\n").contains("must be a single value"), "{}", error("{[a]: b}\n"));
    let many: String = (0..1001).map(|n| format!("k{n}: 1\n")).collect();
    assert!(error(&many).contains("at most 1000 keys"));
    // Params that double each other: the evaluation is bounded, not only the text.
    let doubling: String = (0..40).map(|n| format!("  p{n}: \"= p{} + p{}\"\n", n + 1, n + 1)).collect();
    let doubling = format!(
        "kdyno: 1\nid: x\nquestion: x\nparams:\n{doubling}  p40: 1\n{}",
        &GOOD[GOOD.find("system:").unwrap()..]
    );
    assert!(error(&doubling).contains("params are looked up"), "{}", error(&doubling));
}
