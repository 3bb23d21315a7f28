//! The changes as a shell script, and the way back. kdyno never runs it.

use crate::advice::{Advice, SettingChange};
use crate::quote::{plain, quoted};
use std::fmt::Write;

const HEAD: &str = "\
#!/bin/sh
# What `kdyno doctor` recommends to change, and the way back. Read it before you run it; kdyno does not.
#   sh FILE apply   makes the changes
#   sh FILE undo    sets back what was found when this was written
# What is set here lasts until the next start of the host, but for settings of brokers and topics and the profile of
# tuned, which stay. A command that fails is counted, and those after it run.
failed=0
fail() { failed=$((failed + 1)); echo \"failed: $1\" >&2; }
";

const TAIL: &str = "\
case \"${1:-}\" in
    apply) apply ;;
    undo) undo ;;
    *) echo \"usage: sh FILE apply|undo\" >&2; exit 2 ;;
esac
if [ \"$failed\" -gt 0 ]; then
    echo \"commands that failed: $failed\" >&2
    exit 1
fi
";

/// The script of all recommendations that are not followed. What no command does is in it as a comment.
#[must_use]
pub fn script(all: &[Advice]) -> String {
    // Advice on one setting of many things may have equal commands.
    let mut changes: Vec<(&Advice, &SettingChange)> = Vec::new();
    for (advice, change) in all.iter().filter_map(|advice| Some((advice, advice.change.as_ref()?))) {
        if !changes.iter().any(|(_, known)| known.apply == change.apply) {
            changes.push((advice, change));
        }
    }
    let mut text = HEAD.to_owned();
    let by_hand = changes.iter().filter(|(_, change)| change.by_hand);
    for (place, (advice, change)) in by_hand.enumerate() {
        if place == 0 {
            text.push_str("\n# By hand:\n");
        }
        let [of, setting, ..] = advice.plain_words();
        let _ = writeln!(text, "#   {of}: {setting}: {}", plain(&change.apply));
    }
    let commands: Vec<_> = changes.iter().filter(|(_, change)| !change.by_hand).collect();
    text.push_str("\napply() {\n");
    for (advice, change) in &commands {
        let [of, setting, now, recommended] = advice.plain_words();
        let _ = writeln!(text, "    # {of}: {setting}: {now} -> {recommended}");
        run(&mut text, advice, &change.apply);
    }
    text.push_str("    :\n}\n\nundo() {\n");
    // In the same order: tuned, which sets some of the others, is the first both ways.
    for (advice, change) in &commands {
        match &change.undo {
            Some(undo) => run(&mut text, advice, undo),
            None => {
                let [of, setting, ..] = advice.plain_words();
                let _ =
                    writeln!(text, "    echo {}", quoted(&format!("{of}: {setting}: nothing to set back")));
            }
        }
    }
    text.push_str("    :\n}\n\n");
    text.push_str(TAIL);
    text
}

/// A command that is counted where it fails.
fn run(text: &mut String, advice: &Advice, command: &str) {
    let [of, setting, ..] = advice.plain_words();
    let _ = writeln!(text, "    ( {command} ) || fail {}", quoted(&format!("{of}: {setting}")));
}
