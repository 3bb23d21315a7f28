//! Series of others on the time line of a stored run.

use crate::common::{ProgramOutput, RUN_DEADLINE, TestFolder, ran};
use crate::{CLUSTER_ID, NullBroker, files, run};
use serde_json::Value;

fn import(place: &TestFolder, more: &[&str]) -> ProgramOutput {
    let fixed = ["import", "latest", "rds.csv", "--time", "Timestamp", "--unit", "percent"];
    place.kdyno(&[&fixed[..], more].concat())
}

/// Rows of ten seconds around the beginning of the run's only trial, in a form without an offset, and what a cell holds.
fn csv(t0_unix_s: i64, cell: &str) -> String {
    let row = |s: i64| {
        let at = jiff::Timestamp::from_second(t0_unix_s + s).expect("an instant");
        format!("{},{cell}\n", at.strftime("%Y-%m-%d %H:%M:%S"))
    };
    let rows: String = (-5..10).map(row).collect();
    format!("Timestamp,CPUUtilization\n{rows}")
}

#[test]
fn a_foreign_csv_joins_a_run_and_replaces_an_earlier_import() {
    let place = TestFolder::new();
    let broker = NullBroker::start(&place);
    let files = files(&place, &broker.address, CLUSTER_ID);
    ran(&run(&place, &files, &[]).wait(RUN_DEADLINE));
    broker.stop();
    let document = place.show();
    let t0_ns: i64 = document["trials"][0]["t0_unix_ns"].as_str().expect("T0").parse().expect("a number");
    let t0_s = t0_ns / 1_000_000_000;

    place.file("rds.csv", &csv(t0_s, "42"));
    let said = import(&place, &[]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(
        said.stderr.contains("line 2, column `Timestamp`") && said.stderr.contains("--zone UTC"),
        "{said:?}"
    );
    let said = import(&place, &["--zone", "Pacific/Nowhere"]);
    assert!(said.code == Some(2) && said.stderr.contains("is no time zone"), "{said:?}");
    // Five hours off: nothing of it lies in the run.
    let said = import(&place, &["--zone", "-05:00"]);
    assert!(said.code == Some(2) && said.stderr.contains("no value lies within a trial"), "{said:?}");

    for (cell, again, percent) in [("42", false, 42.0), ("7", true, 7.0)] {
        place.file("rds.csv", &csv(t0_s, cell));
        let said = import(&place, &["--zone", "UTC"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(
            said.stderr.contains("15 of 15 values lie within 1 trial and are kept as imported-rds"),
            "{said:?}"
        );
        assert_eq!(said.stderr.contains("is replaced"), again, "{said:?}");
        let document = place.show();
        let findings = document["findings"].as_array().expect("findings");
        let of: Vec<&Value> = findings.iter().filter(|one| one["subject"] == "imported-rds").collect();
        let scopes: Vec<&str> = of.iter().filter_map(|one| one["scope"]["kind"].as_str()).collect();
        assert_eq!(scopes, ["case", "trial"], "{of:?}");
        for one in of {
            assert!((one["value"].as_f64().expect("a mean") - percent).abs() < 1e-9, "{one:?}");
        }
        assert_eq!(document["series"][0]["imported"][0]["at_s"].as_array().map(Vec::len), Some(15));
    }
    place.file("rds.csv", &csv(t0_s, "n/a"));
    let said = import(&place, &["--zone", "UTC"]);
    assert!(said.code == Some(2) && said.stderr.contains("`n/a` is not a number"), "{said:?}");
    // A row that occurs twice counts once; two values at one instant are no series.
    let twice = csv(t0_s, "7");
    let row = twice.lines().last().expect("a row").to_owned();
    place.file("rds.csv", &format!("{twice}{row}\n"));
    let said = import(&place, &["--zone", "UTC"]);
    assert!(said.code == Some(0) && said.stderr.contains("15 of 15 values"), "{said:?}");
    assert!(said.stderr.contains("1 more is in rds.csv twice"), "{said:?}");
    place.file("rds.csv", &format!("{twice}{}\n", row.replace(",7", ",8")));
    let said = import(&place, &["--zone", "UTC"]);
    let wrong = "line 17, column `CPUUtilization`: another value at the instant of line 16";
    assert!(said.code == Some(2) && said.stderr.contains(wrong), "{said:?}");
    let details = place.details();
    assert!(details.contains("7.00 %") && details.contains("imported-rds.CPUUtilization"), "{details}");
    let course = place.kdyno(&["compare", "--course", "imported-rds.CPUUtilization", "latest"]);
    assert!(course.stdout.contains("imported-rds.CPUUtilization over 1 run"), "{course:?}");
}
