//! The changes as a shell script, and the way back. kdyno never runs it.

use crate::advice::{Advice, Change};
use crate::quote::{plain, quoted};
use std::fmt::Write;

const HEAD: &str = "\
#!/bin/sh
# What `kdyno doctor` recommends to change, and the way back. Read it before you run it; kdyno does not.
#   sh FILE apply   makes the changes
#   sh FILE undo    sets back what was found when this was written
# What is set here lasts until the next start of the host, but for settings of brokers and topics, which stay.
set -eu
";

const TAIL: &str = "\
case \"${1:-}\" in
    apply) apply ;;
    undo) undo ;;
    *) echo \"usage: sh FILE apply|undo\" >&2; exit 2 ;;
esac
";

/// The script of all recommendations that are not followed. What no command does stands in it as a comment.
#[must_use]
pub fn script(all: &[Advice]) -> String {
    // Of advice on one setting of many things the commands may be the same.
    let mut changes: Vec<(&Advice, &Change)> = Vec::new();
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
        // A line more would be a command.
        let _ = writeln!(text, "#   {}: {}: {}", advice.of, advice.setting, plain(&change.apply));
    }
    let commands: Vec<_> = changes.iter().filter(|(_, change)| !change.by_hand).collect();
    text.push_str("\napply() {\n");
    for (advice, change) in &commands {
        let now = advice.current.as_deref().unwrap_or("unknown");
        let _ = writeln!(text, "    # {}: {}: {now} -> {}", advice.of, advice.setting, advice.recommended);
        let _ = writeln!(text, "    {}", change.apply);
    }
    text.push_str("    :\n}\n\nundo() {\n");
    // The last change is the first to go.
    for (advice, change) in commands.iter().rev() {
        match &change.undo {
            Some(undo) => {
                let _ = writeln!(text, "    {undo}");
            }
            None => {
                let what = format!("{}: {}: nothing to set back", advice.of, advice.setting);
                let _ = writeln!(text, "    echo {}", quoted(&what));
            }
        }
    }
    text.push_str("    :\n}\n\n");
    text.push_str(TAIL);
    text
}
