//! Brokers of a stranger: what they say reaches a terminal as text, whatever it would have the terminal do.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder};
use crate::files;
use kdyno_fake_broker::tcp::spawn;
use kdyno_fake_broker::{FakeCluster, FakeConfig, Right};
use kdyno_model::words::is_acted_on;

/// Clears the screen, names the window, introduces a sequence in one character, and turns the text behind it.
const EVIL: &str = "e\x1b[2J\x1b]0;x\x07\u{9b}1A\u{202e}l";

#[test]
fn what_brokers_say_moves_no_cursor_and_turns_no_text() {
    let place = TestFolder::new();
    let topics = FakeConfig::new(1).topic(&format!("{EVIL}-a"), 1).topic(&format!("{EVIL}-b"), 1);
    let server = spawn(FakeCluster::new(topics.deny(Right::CreateTopics).words(EVIL))).expect("a cluster");
    let address = server.bootstrap().remove(0);
    let at = ["--bootstrap-server", &address];
    let says = |args: &[&str], shown: &str| {
        let said = place.start(place.command(args)).wait(RUN_DEADLINE);
        let ProgramOutput { code, stdout, stderr } = &said;
        assert!(*code != Some(0) && stderr.contains(shown), "{shown}: {said:?}");
        let is_bare = |c: char| is_acted_on(c) && !matches!(c, '\n' | '\t');
        assert!(!stdout.contains(is_bare) && !stderr.contains(is_bare), "{said:?}");
    };
    // The message of an error.
    says(&[&["quick", "--duration", "1s", "--share"], &at[..]].concat(), "TOPIC_AUTHORIZATION_FAILED: e");
    // Names of topics.
    let pattern = ["--include", "(?s).*", "--num-records", "1"];
    says(&[&["consumer-perf-test"], &at[..], &pattern].concat(), "2 topics match: `e\u{fffd}[2J");
    // The cluster's id, and the name of its host.
    let target = &files(&place, &address, "abc")[2];
    server.with(|cluster| {
        cluster.script().at(0).set_cluster_id(EVIL);
    });
    says(&["doctor", "--target", target], "answers as e\u{fffd}[2J");
    server.with(|cluster| cluster.set_address(0, EVIL, 9092));
    says(&[&["quick", "--duration", "1s", "--share"], &at[..]].concat(), "host of broker e [2J");
}
