//! Known truths on a real cluster: a quota on what each client may write. Kafka's brokers hold a client back that goes
//! beyond it, so its highest rate is known whatever the machine carries.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use super::runs::{RunSetup, is_complete};
use crate::accuracy::table::{NOTHING, markdown};
use crate::bench::broker::StandingCluster;
use crate::bench::process::measured;
use crate::bench::setup::Setup;
use crate::bench::stats::thousands;

/// What each client may write where two numbers of clients are compared, bytes/s: 20 of them come to 10,000 records/s.
const PLANTED_BYTES_PER_S: u32 = 512_000;
/// B ÷ A of the planted comparison: 19 clients against 20.
const PLANTED: f64 = 19.0 / 20.0;
/// How far beyond the interval the truth may lie: a batch of 16 records, about, of the 285,000 of a window.
const PLANTED_WITHIN: f64 = 0.000_1;
/// What the one client may write where a load is searched, bytes/s.
const SEARCH_BYTES_PER_S: u32 = 5_000_000;
/// What a record with a value of 1,000 bytes takes in a full batch of 16 KiB, in whose bytes a quota counts: 10 bytes of
/// its own, and its sixteenth of the batch's header (61) and of the request (about 120).
const RECORD_BYTES: f64 = 1_021.0;
/// How far two searches may lie apart, and each from the quota.
const SEARCHES_WITHIN: f64 = 0.05;
/// Seeds of the two searches.
const SEEDS: [u64; 2] = [20_261_122, 20_261_123];

/// A cluster of one broker with a quota on every client.
struct Limited {
    broker: StandingCluster,
    target: PathBuf,
}

impl Limited {
    /// Quotas are kept over windows of 1 s; the broker remembers two of them in place of eleven: a client that was
    /// below its quota may catch up on what it remembers, and bursts of 11 s would not fit into the measured time.
    fn start(place: &RunSetup, purpose: &str, bytes_per_s: u32) -> anyhow::Result<Limited> {
        let arguments = ["--heap", "512MiB", "--config", "quota.window.num=2"];
        let broker = StandingCluster::start_with(&place.bench, purpose, &arguments)?;
        let mut quota = broker.kafka_tool("kafka.admin.ConfigCommand");
        quota.args(["--bootstrap-server", broker.bootstrap(), "--alter"]);
        quota.args(["--entity-type", "clients", "--entity-default"]);
        quota.args(["--add-config", &format!("producer_byte_rate={bytes_per_s}")]);
        measured(&mut quota)?;
        let target = place.target(&broker)?;
        Ok(Limited { broker, target })
    }

    fn command(&self, bench: &Setup, chore: &str, scenario: &Path, folder: &Path) -> Command {
        let mut command = Command::new(&bench.kdyno);
        command.arg(chore).arg(scenario).arg("--target").arg(&self.target).arg("--out").arg(folder);
        // Load as fast as it goes on somebody's cluster is meant: it is ours.
        command.arg("--yes");
        println!("  on {}", self.broker.name());
        command
    }
}

/// The run of a folder where it has ended. One that has not cannot go on, since its cluster is gone: it is removed.
fn ended(place: &RunSetup, folder: &Path) -> anyhow::Result<Option<Value>> {
    match place.run_of(folder)? {
        Some((_, document)) if is_complete(&document) => Ok(Some(document)),
        Some((_, _)) => {
            std::fs::remove_dir_all(folder)?;
            std::fs::create_dir_all(folder)?;
            Ok(None)
        }
        None => Ok(None),
    }
}

/// A difference of 5 % on purpose: found, and rightly sized?
pub fn planted(place: &RunSetup) -> anyhow::Result<String> {
    let folder = place.folder_of("planted")?;
    let document = match ended(place, &folder)? {
        Some(document) => document,
        None => {
            let limited = Limited::start(place, "planted", PLANTED_BYTES_PER_S)?;
            let scenario = place.scenarios.join("planted.yaml");
            let mut command = limited.command(&place.bench, "compare", &scenario, &folder);
            place.complete(&mut command, &folder)?
        }
    };
    let heading = ["planted", "B ÷ A in truth", "B ÷ A", "interval", "verdict", "found", "rightly sized"];
    Ok(markdown(&heading, &[planted_row(&document)?]))
}

fn planted_row(document: &Value) -> anyhow::Result<Vec<String>> {
    let conclusions = document["conclusions"].as_array().context("the document has no conclusions")?;
    let verdict = conclusions
        .iter()
        .find(|one| one["kind"] == "verdict" && one["details"]["of"]["metric"] == "acked_per_s");
    let says = &verdict.context("the comparison has no verdict on acked_per_s")?["details"]["says"];
    let findings = document["findings"].as_array().context("the document has no findings")?;
    let ratio = findings
        .iter()
        .find(|finding| finding["quantity"] == "ratio_b_to_a" && finding["metric"] == "acked_per_s");
    let ratio = ratio.context("the comparison has no ratio of acked_per_s")?;
    let bounds = ratio["interval"]["low"].as_f64().zip(ratio["interval"]["high"].as_f64());
    // Found is that B is worse: whether 5 % matters, by the scenario's margin, is another question.
    let is_found = worse(says).is_some_and(|(_, worse)| worse);
    // Under a quota trials may differ by so little that the interval is a point.
    let is_sized =
        bounds.is_some_and(|(low, high)| (low - PLANTED_WITHIN..=high + PLANTED_WITHIN).contains(&PLANTED));
    Ok(vec![
        "19 clients against 20 under a quota of each".to_owned(),
        format!("{PLANTED:.3}"),
        ratio["value"].as_f64().map_or(NOTHING.to_owned(), |value| format!("{value:.4}")),
        bounds.map_or(NOTHING.to_owned(), |(low, high)| format!("{low:.4} – {high:.4}")),
        word(says),
        yes(is_found),
        yes(is_sized),
    ])
}

/// A verdict in a word or two.
fn word(says: &Value) -> String {
    if let Some((name, worse)) = worse(says) {
        return format!("{}, {}", name.replace('_', " "), if worse { "worse" } else { "better" });
    }
    let name = says.as_object().and_then(|says| says.keys().next()).map(String::as_str);
    name.or(says.as_str()).unwrap_or(NOTHING).to_owned()
}

/// The name of a verdict by which the sides differ, material or not, and whether B is the worse one.
fn worse(says: &Value) -> Option<(&'static str, bool)> {
    ["different", "maybe_material"]
        .into_iter()
        .find_map(|name| says[name]["worse"].as_bool().map(|worse| (name, worse)))
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no ✗" }.to_owned()
}

/// Two searches for what a quota lets through: do they agree, with each other and with it?
pub fn searches(place: &RunSetup) -> anyhow::Result<String> {
    let mut cluster = None;
    let mut found = Vec::new();
    for (seed, number) in SEEDS.into_iter().zip(1..) {
        let folder = place.folder_of(&format!("search-{number}"))?;
        let document = match ended(place, &folder)? {
            Some(document) => document,
            None => {
                let limited = match cluster.take() {
                    Some(limited) => limited,
                    None => Limited::start(place, "search", SEARCH_BYTES_PER_S)?,
                };
                let scenario = place.scenarios.join("search.yaml");
                let mut command = limited.command(&place.bench, "find", &scenario, &folder);
                let document = place.complete(command.args(["--seed", &seed.to_string()]), &folder)?;
                cluster = Some(limited);
                document
            }
        };
        found.push(answer(&document)?);
    }
    let heading = ["search", "records/s", "÷ quota", "÷ first search", "within 5 % of both"];
    Ok(markdown(&heading, &search_rows(&found)))
}

/// What a search answers, and how: records/s, none where no load passed.
#[derive(Debug, Clone, PartialEq)]
struct SearchAnswer {
    how: String,
    per_s: Option<f64>,
}

fn answer(document: &Value) -> anyhow::Result<SearchAnswer> {
    let conclusions = document["conclusions"].as_array().context("the document has no conclusions")?;
    let search = conclusions.iter().find(|one| one["kind"] == "search");
    let outcome = &search.context("the run has no search")?["details"]["outcome"];
    let (how, load) = match outcome.as_object().and_then(|of| of.iter().next()) {
        Some((how, load)) => (how.clone(), load.clone()),
        None => (outcome.as_str().unwrap_or("?").to_owned(), Value::Null),
    };
    let per_s = match how.as_str() {
        "confirmed" => load["load_per_s"].as_f64(),
        "not_confirmed" => load["highest_passed_per_s"].as_f64(),
        _ => None,
    };
    Ok(SearchAnswer { how: how.replace('_', " "), per_s })
}

fn search_rows(found: &[SearchAnswer]) -> Vec<Vec<String>> {
    let truth_per_s = f64::from(SEARCH_BYTES_PER_S) / RECORD_BYTES;
    let first = found.first().and_then(|answer| answer.per_s);
    let row = |(number, answer): (usize, &SearchAnswer)| {
        let ratio = |of: Option<f64>| answer.per_s.zip(of).map(|(one, other)| one / other);
        let ratios = [ratio(Some(truth_per_s)), ratio(first)];
        let agrees =
            ratios.iter().all(|ratio| ratio.is_some_and(|ratio| (ratio - 1.0).abs() <= SEARCHES_WITHIN));
        let [of_truth, of_first] =
            ratios.map(|ratio| ratio.map_or(NOTHING.to_owned(), |ratio| format!("{ratio:.3}")));
        let per_s = answer.per_s.map_or(NOTHING.to_owned(), thousands);
        vec![format!("{}, {}", number + 1, answer.how), per_s, of_truth, of_first, yes(agrees)]
    };
    found.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compared(says: &Value, low: f64, high: f64) -> Vec<String> {
        let document = json!({
            "conclusions": [{"kind": "limit"}, {"kind": "verdict",
                "details": {"of": {"subject": "writers", "metric": "acked_per_s"}, "says": says}}],
            "findings": [{"quantity": "value", "metric": "acked_per_s", "value": 9.0},
                {"quantity": "ratio_b_to_a", "metric": "acked_per_s", "value": 0.951,
                "interval": {"low": low, "high": high}}],
        });
        planted_row(&document).expect("a row")
    }

    #[test]
    fn a_planted_difference_is_found_and_sized_or_not() {
        let worse = json!({"different": {"material": true, "worse": true}});
        let row = compared(&worse, 0.948, 0.953);
        assert_eq!(row[2..5], ["0.9510", "0.9480 – 0.9530", "different, worse"]);
        assert_eq!(row[5..], ["yes", "yes"]);
        assert_eq!(compared(&worse, 0.950_08, 0.950_08)[5..], ["yes", "yes"], "whole batches");
        assert_eq!(compared(&worse, 0.950_2, 0.950_2)[5..], ["yes", "no ✗"], "more than a batch");
        assert_eq!(compared(&worse, 0.952, 0.953)[5..], ["yes", "no ✗"]);
        assert_eq!(compared(&worse, 0.947, 0.948)[5..], ["yes", "no ✗"]);
        assert_eq!(compared(&json!("equivalent"), 0.94, 0.96)[4..], ["equivalent", "no ✗", "yes"]);
        assert_eq!(compared(&json!({"inconclusive": {}}), 0.94, 0.96)[4], "inconclusive");
        let better = json!({"different": {"material": true, "worse": false}});
        assert_eq!(compared(&better, 0.94, 0.96)[5..], ["no ✗", "yes"], "the wrong sign is not found");
    }

    #[test]
    fn a_planted_difference_is_found_whether_or_not_it_is_material() {
        let maybe = |worse: bool| json!({"maybe_material": {"worse": worse, "more_needed": 3}});
        assert_eq!(compared(&maybe(true), 0.948, 0.972)[4..6], ["maybe material, worse", "yes"]);
        assert_eq!(compared(&maybe(false), 0.948, 0.972)[4..6], ["maybe material, better", "no ✗"]);
        let immaterial = json!({"different": {"material": false, "worse": true}});
        assert_eq!(compared(&immaterial, 0.948, 0.953)[4..6], ["different, worse", "yes"]);
    }

    #[test]
    fn searches_agree_with_each_other_and_with_the_quota() {
        let search =
            |outcome: Value| json!({"conclusions": [{"kind": "search", "details": {"outcome": outcome}}]});
        let confirmed =
            |per_s: f64| answer(&search(json!({"confirmed": {"load_per_s": per_s}}))).expect("an answer");
        let agrees = |found: &[SearchAnswer]| {
            search_rows(found).into_iter().map(|row| row[4] == "yes").collect::<Vec<_>>()
        };
        // The quota lets 4,897 of them through.
        assert_eq!(agrees(&[confirmed(4_800.0), confirmed(5_000.0)]), [true, true]);
        assert_eq!(agrees(&[confirmed(4_700.0), confirmed(5_000.0)]), [true, false], "6 % from the first");
        assert_eq!(agrees(&[confirmed(5_200.0), confirmed(5_200.0)]), [false, false], "6 % above the quota");
        let passed = answer(&search(json!({"not_confirmed": {"highest_passed_per_s": 4_800.0}})));
        assert_eq!(
            passed.expect("an answer"),
            SearchAnswer { how: "not confirmed".into(), per_s: Some(4_800.0) }
        );
        let nothing = answer(&search(json!("unfinished"))).expect("an answer");
        assert_eq!(agrees(&[confirmed(4_800.0), nothing]), [true, false]);
        assert!(answer(&json!({"conclusions": []})).is_err());
    }
}
