//! What goes wrong, on real brokers and a real PostgreSQL, with the services as processes. Run by
//! `kdyno run apps/library/tests/faults.yaml`, which brings both, and which ends whatever a failed test leaves behind.

mod broker;
mod lab;

use broker::Broker;
use futures_util::future::join_all;
use lab::{Lab, SECOND_INVENTORY, SERVICES, reported, wait_for};
use marctk::{Field, Record};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, StreamConsumer};
use rdkafka::message::{Headers, Message};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Good records of the imports in which something is killed: enough to be at work for seconds.
const RECORDS: i64 = 8_000;
/// Malformed ones behind them.
const MALFORMED: i64 = 40;

/// The points of an import at which something is killed: a number from the database, and how much it has grown by then.
const MOMENTS: [(&str, &str, i64); 4] = [
    ("the upload is answered", "SELECT 0::bigint", 0),
    ("records are stored", "SELECT count(*) FROM data_import.sources", 500),
    ("instances are made", "SELECT count(*) FROM inventory.imported", 2_000),
    (
        "outcomes are counted",
        "SELECT coalesce(sum(created + updated), 0)::bigint FROM data_import.jobs",
        4_000,
    ),
];

fn generated(options: &[&str]) -> Vec<u8> {
    let path = std::path::Path::new(&reported("KDYNO_FOLDER")).join("generated.mrc");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_library"));
    let status = command.arg("generate").args(options).arg("--out").arg(&path).status();
    assert!(status.expect("it starts").success());
    std::fs::read(path).expect("the file")
}

fn record(control_number: &str, title: &str) -> Vec<u8> {
    let mut record = Record::new();
    record.set_leader("00000cam a2200000 i 4500").expect("a leader");
    record.add_control_field("001", control_number).expect("a tag");
    let mut field = Field::new("245").expect("a tag");
    field.add_subfield("a", title).expect("a code");
    record.insert_data_field(field);
    record.to_binary().expect("a record")
}

/// On the brokers that kdyno has started.
async fn lab() -> Lab {
    Lab::start(&reported("KDYNO_BOOTSTRAP_SERVERS")).await
}

/// Created, updated, failed.
fn counts(summary: &Value) -> [i64; 3] {
    ["created", "updated", "failed"].map(|kind| summary[kind].as_i64().expect("a count"))
}

/// Uploads a file and waits for its end.
async fn import(lab: &Lab, profile: &str, file: Vec<u8>) -> Value {
    let (status, begun) = lab.upload(profile, file).await;
    assert_eq!(status, 201, "{begun}");
    lab.finished(begun["id"].as_i64().expect("a number")).await
}

#[tokio::test]
async fn of_all_who_want_one_item_at_once_exactly_one_has_it() {
    let lab = lab().await;
    for _ in 0..20 {
        let ask = |user| {
            let wanted = json!({"user": format!("U{user}"), "item": "I7"});
            lab.post("circulation", "/check-outs", wanted)
        };
        let answers = join_all((1..=25).map(ask)).await;
        let with = |wanted: u16| answers.iter().filter(|(status, _)| *status == wanted).count();
        assert_eq!((with(201), with(409)), (1, 24), "{answers:?}");
        assert_eq!(lab.post("circulation", "/check-ins", json!({"item": "I7"})).await.0, 200);
    }
    assert_eq!(lab.number("SELECT count(*) FROM circulation.loans").await, 20);
}

#[tokio::test]
async fn events_of_one_item_count_in_order_under_concurrent_requests() {
    let lab = lab().await;
    // Half of them lend it, half of them bring it back, again and again.
    let lab = &lab;
    let at_once = |who: u32| async move {
        let mut done = 0;
        for _ in 0..40 {
            let (path, wanted) = match who % 2 {
                0 => ("/check-outs", json!({"user": format!("U{who}"), "item": "I7"})),
                _ => ("/check-ins", json!({"item": "I7"})),
            };
            let (status, answer) = lab.post("circulation", path, wanted).await;
            assert!([200, 201, 409].contains(&status), "{status} {answer}");
            done += usize::from(status != 409);
        }
        done
    };
    let done: usize = join_all((2..26).map(at_once)).await.into_iter().sum();
    assert!(done >= 20, "it was seldom lent: {done}");
    let reader = reader(&lab.topic("loans"));
    let mut events = Vec::new();
    while let Ok(read) = tokio::time::timeout(patience(events.len(), done), reader.recv()).await {
        let message = read.expect("a record");
        let event: Value = serde_json::from_slice(message.payload().expect("a value")).expect("JSON");
        events.push((event["version"].as_u64(), event["kind"].as_str().expect("a kind").to_owned()));
    }
    let kind = |version: usize| if version % 2 == 1 { "CheckedOut" } else { "CheckedIn" };
    let expected: Vec<_> =
        (1..=done).map(|version| (Some(version as u64), kind(version).to_owned())).collect();
    assert_eq!(events, expected);
    let version =
        format!("SELECT count(*) FROM inventory.items WHERE barcode = 'I7' AND status_version = {done}");
    wait_for("the newest status", async || (lab.number(&version).await == 1).then_some(())).await;
    let status = if done % 2 == 1 { "Checked out" } else { "Available" };
    assert_eq!(lab.get("inventory", "/items/I7").await.1["status"], status);
}

#[tokio::test]
async fn a_check_out_that_the_rules_forbid_says_why() {
    let lab = lab().await;
    let ask = async |user: &str, item: &str| {
        let (status, answer) =
            lab.post("circulation", "/check-outs", json!({"user": user, "item": item})).await;
        (status, answer["error"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(ask("U0", "I1").await, (404, "there is no user U0".to_owned()));
    assert_eq!(ask("U1", "../x").await, (404, "there is no item ../x".to_owned()));
    assert_eq!(ask("U99", "I1").await, (422, "user U99 may not borrow".to_owned()));
    assert_eq!(ask("U1", "I99").await, (422, "no reference is lent to student".to_owned()));
    assert_eq!(ask("U1", "I1").await.0, 201);
    assert_eq!(lab.get("inventory", "/items/I1").await.1["status"], "Checked out");
    assert_eq!(ask("U1", "I1").await, (409, "item I1 is checked out".to_owned()));
    assert_eq!(lab.post("circulation", "/check-ins", json!({"item": "I1"})).await.0, 200);
    assert_eq!(lab.get("inventory", "/items/I1").await.1["status"], "Available");
    assert_eq!(lab.post("circulation", "/check-ins", json!({"item": "I1"})).await.0, 409);
    assert_eq!(lab.post("circulation", "/check-ins", json!({"thing": 1})).await.0, 422);
}

#[tokio::test]
async fn repeatedly_killed_circulation_loses_and_invents_no_event() {
    let mut lab = lab().await;
    let in_outbox = "SELECT count(*) FROM circulation.outbox";
    let mut left = Vec::new();
    for round in 0..6_i64 {
        let ask = |number: i64| {
            let wanted = json!({"user": "U1", "item": format!("I{}", 1 + 33 * round + number)});
            lab.try_post("circulation", "/check-outs", wanted)
        };
        let asked = join_all((0..33).map(ask));
        // Killed in the middle, or once it is through: what counts is what the database has. The last ones fall when there is an
        // event that was not published yet.
        let moment = async {
            match round {
                0..4 => tokio::time::sleep(Duration::from_millis(20 << round)).await,
                _ => while lab.number(in_outbox).await == 0 {},
            }
        };
        tokio::select! {
            _ = asked => {},
            () = moment => {},
        }
        lab.kill("circulation");
        left.push(lab.number(in_outbox).await);
        lab.start_service("circulation");
        lab.wait_until_ready("circulation").await;
    }
    println!("events that were committed and not told of at the kills: {left:?}");
    assert!(left.iter().any(|left| *left > 0), "no kill fell between loan and event: {left:?}");
    let loans: BTreeSet<i64> = {
        let rows = lab.database.query("SELECT id FROM circulation.loans", &[]).await.expect("loans");
        rows.iter().map(|row| row.get(0)).collect()
    };
    assert!(!loans.is_empty(), "none was committed before a kill");
    wait_for("an empty outbox", async || (lab.number(in_outbox).await == 0).then_some(())).await;
    let reader = reader(&lab.topic("loans"));
    let mut announced = BTreeSet::new();
    // The first may have to wait for the group; what was published beyond what happened would come right behind the
    // last.
    while let Ok(read) = tokio::time::timeout(patience(announced.len(), loans.len()), reader.recv()).await {
        let message = read.expect("a record");
        let event: Value = serde_json::from_slice(message.payload().expect("a value")).expect("JSON");
        announced.insert(event["loan"].as_i64().expect("a number"));
    }
    assert_eq!(announced, loans);
    let lent = "SELECT count(*) FROM inventory.items WHERE status = 'Checked out'";
    let all = i64::try_from(loans.len()).expect("few");
    wait_for("statuses", async || (lab.number(lent).await == all).then_some(())).await;
}

#[tokio::test]
async fn an_invalid_upload_is_refused_and_a_bad_one_fails_per_record() {
    let lab = lab().await;
    assert_eq!(lab.upload("create", vec![b'x'; 20_000_001]).await.0, 413);
    assert_eq!(lab.upload("create", b"\n\n".to_vec()).await.0, 400);
    assert_eq!(lab.upload("delete", record("a", "A")).await.0, 400);
    assert_eq!(lab.get("data-import", "/imports/77").await.0, 404);
    let too_long = [vec![b'x'; 3_000_000], vec![0x1D]].concat();
    let file =
        [record("a", "A"), b"12345\x1D".to_vec(), too_long, record("b", "B"), b"cut off".to_vec()].concat();
    let summary = import(&lab, "create", file).await;
    assert_eq!((counts(&summary), &summary["records"]), ([2, 0, 3], &json!(5)));
    let (_, failures) = lab.get("data-import", &format!("/imports/{}/failures", summary["id"])).await;
    let reported: Vec<(i64, &str)> = failures
        .as_array()
        .expect("a list")
        .iter()
        .map(|failure| {
            (failure["record"].as_i64().expect("a number"), failure["reason"].as_str().expect("a reason"))
        })
        .collect();
    assert_eq!(reported.iter().map(|(record, _)| *record).collect::<Vec<_>>(), [2, 3, 5]);
    assert!(
        reported[0].1.contains("too few") && reported[1].1.contains("3000001") && reported[2].1.contains("cut off"),
        "{reported:?}"
    );
}

#[tokio::test]
async fn records_are_created_once_then_updated() {
    let lab = lab().await;
    let first = || generated(&["--records", "300"]);
    assert_eq!(counts(&import(&lab, "create", first()).await), [300, 0, 0]);
    assert_eq!(counts(&import(&lab, "create", first()).await), [0, 0, 300], "they are there already");
    let second = generated(&["--records", "300", "--first", "201", "--edition", "2"]);
    assert_eq!(counts(&import(&lab, "update", second).await), [0, 100, 200], "of 200 there is none");
    assert_eq!(lab.get("inventory", "/instances/lib00000001").await.1["version"], 1);
    assert_eq!(lab.get("inventory", "/instances/lib00000201").await.1["version"], 2);
    // One control number three times in a file.
    let twice = [record("x", "First"), record("x", "Second"), record("x", "Third")].concat();
    assert_eq!(counts(&import(&lab, "create", twice.clone()).await), [1, 0, 2]);
    assert_eq!(counts(&import(&lab, "update", twice).await), [0, 3, 0]);
    let real = || include_bytes!("../real.mrc").to_vec();
    assert_eq!(counts(&import(&lab, "create", real()).await), [5, 0, 0]);
    assert_eq!(counts(&import(&lab, "update", real()).await), [0, 5, 0]);
}

#[tokio::test]
async fn a_record_that_the_database_refuses_is_a_dead_letter_alone() {
    let lab = lab().await;
    let good = (0..50).map(|number| record(&format!("good{number}"), "A title"));
    let file = good.chain([record("bad", "A title with a \0 in it")]).collect::<Vec<_>>().concat();
    assert_eq!(counts(&import(&lab, "create", file).await), [50, 0, 1]);
    let reader = reader(&lab.topic("dead-letters"));
    let letter = tokio::time::timeout(Duration::from_secs(30), reader.recv()).await;
    let letter = letter.expect("it comes").expect("a record");
    assert_eq!(letter.key(), Some(b"bad".as_slice()));
    let headers = letter.headers().expect("headers");
    let reported: Vec<_> = headers.iter().map(|header| (header.key, header.value.unwrap_or_default())).collect();
    assert!(reported.contains(&("stage", b"store".as_slice())), "{reported:?}");
}

/// A record of about so many bytes as JSON, of control characters that have six each there, and its control number of 2,000.
fn inflated(number: usize, json_bytes: usize) -> Vec<u8> {
    const OF_FIELD: usize = 9_000;
    let key = format!("large{number:0>1995}");
    let mut record = Record::new();
    record.set_leader("00000cam a2200000 a 4500").expect("a leader");
    record.add_control_field("001", &key).expect("a tag");
    let mut subject = |tag: &str, code: &str, text: &str| {
        let mut field = Field::new(tag).expect("a tag");
        field.add_subfield(code, text).expect("a code");
        record.insert_data_field(field);
    };
    subject("245", "a", "Large");
    // Each of them is in what is understood and in the source, and so is the control number.
    let mut left = (json_bytes - 2 * key.len() - 500) / 12;
    while left > 0 {
        let some = left.min(OF_FIELD);
        subject("650", "a", &"\u{1}".repeat(some));
        left -= some;
    }
    record.to_binary().expect("a record")
}

#[tokio::test]
async fn a_record_too_large_as_json_fails_alone_even_near_the_limit() {
    let lab = lab().await;
    // Steps of 400 bytes around the limit of 1,000,000: some of the values are below it, and above it with their keys.
    let sizes = (990_000..1_006_000).step_by(400);
    let good = |number: usize| record(&format!("good{number}"), "A title");
    let file = sizes.clone().enumerate();
    let file: Vec<u8> =
        file.flat_map(|(number, size)| [good(number), inflated(number, size)].concat()).collect();
    let summary = import(&lab, "create", file).await;
    let sizes = sizes.count() as i64;
    let made = "SELECT count(*) FROM inventory.instances WHERE control_number LIKE ";
    assert_eq!(lab.number(&format!("{made} 'good%'")).await, sizes, "{summary}");
    let large = lab.number(&format!("{made} 'large%'")).await;
    println!("of {sizes} records {large} were small enough");
    assert!(large > 0 && large < sizes, "the limit is not among them: {large}");
    assert_eq!(counts(&summary), [sizes + large, 0, sizes - large]);
    let (_, failures) = lab.get("data-import", &format!("/imports/{}/failures", summary["id"])).await;
    let reasons: BTreeSet<&str> = failures
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|failure| failure["reason"].as_str())
        .collect();
    assert_eq!(reasons, BTreeSet::from(["it is too large as JSON"]));
}

/// An import in which something goes wrong.
struct Import {
    profile: &'static str,
    /// Which of the files of good records, from 0.
    number: i64,
    job: i64,
}

impl Import {
    fn first(&self) -> i64 {
        1 + self.number * RECORDS
    }

    /// Its file, with malformed records behind the good ones.
    fn file(&self) -> Vec<u8> {
        let edition = if self.profile == "create" { "1" } else { "2" };
        let (records, first) = (RECORDS.to_string(), self.first().to_string());
        let mut file = generated(&["--records", &records, "--first", &first, "--edition", edition]);
        for _ in 0..MALFORMED {
            file.extend(b"12345\x1D");
        }
        file
    }

    /// What was killed was killed in time: there was work left.
    async fn expect_unfinished(&self, lab: &Lab, killed: &str, what: &str) {
        let number = |sql: String| async move { lab.number(&sql).await };
        let job = self.job;
        let finished =
            number(format!("SELECT count(finished_at) FROM data_import.jobs WHERE id = {job}")).await;
        let of_inventory = number(format!("SELECT count(*) FROM inventory.imported WHERE job = {job}")).await;
        let of_job = number(format!("SELECT count(*) FROM data_import.outcomes WHERE job = {job}")).await;
        println!("{killed} was killed when {what}: {of_inventory} imported, {of_job} outcomes");
        assert_eq!(finished, 0, "the import was over before {killed} was killed when {what}");
        if killed.starts_with("inventory") {
            assert!(of_inventory < RECORDS, "nothing was left for {killed}, killed when {what}");
        }
    }

    /// Each record became one thing, once, and the counts are exact.
    async fn expect_exact(&self, lab: &Lab, what: &str) {
        let summary = lab.finished(self.job).await;
        let (counted, version) = match self.profile {
            "create" => ([RECORDS, 0, MALFORMED], 1),
            _ => ([0, RECORDS, MALFORMED], 2),
        };
        assert_eq!(counts(&summary), counted, "{what}: {summary}");
        let job = self.job;
        let outcomes =
            lab.number(&format!("SELECT count(*) FROM data_import.outcomes WHERE job = {job}")).await;
        assert_eq!(outcomes, RECORDS + MALFORMED, "{what}");
        let (first, last) = (self.first(), self.first() + RECORDS - 1);
        let of_file = format!("control_number BETWEEN 'lib{first:08}' AND 'lib{last:08}'");
        let made =
            format!("SELECT count(*) FROM inventory.instances WHERE {of_file} AND version = {version}");
        assert_eq!(lab.number(&made).await, RECORDS, "{what}: instances of version {version}");
    }
}

/// Imports a file, and does something when it has come this far. Each record becomes one thing, and the counts are exact.
async fn import_disturbed(
    lab: &mut Lab,
    profile: &'static str,
    number: i64,
    (what, sql, grown): (&str, &str, i64),
    disturb: impl AsyncFnOnce(&mut Lab, &Import),
) {
    let mut import = Import { profile, number, job: 0 };
    let before = lab.number(sql).await;
    let (status, begun) = lab.upload(profile, import.file()).await;
    assert_eq!(status, 201, "{begun}");
    import.job = begun["id"].as_i64().expect("a number");
    wait_for(what, async || (lab.number(sql).await >= before + grown).then_some(())).await;
    disturb(lab, &import).await;
    import.expect_exact(lab, what).await;
}

#[tokio::test]
async fn a_service_killed_at_each_stage_of_an_import_changes_no_count() {
    let mut lab = lab().await;
    let mut number = 0;
    for moment in MOMENTS {
        for service in SERVICES.into_iter().filter(|service| *service != "circulation") {
            import_disturbed(&mut lab, "create", number, moment, async |lab: &mut Lab, import: &Import| {
                lab.kill(service);
                import.expect_unfinished(lab, service, moment.0).await;
                lab.start_service(service);
            })
            .await;
            number += 1;
        }
    }
    // What these have created is changed. A change is not seen to have been made before, unlike an instance.
    for (number, service) in (0..).zip(["inventory", "data-import"]) {
        let moment = MOMENTS[2];
        import_disturbed(&mut lab, "update", number, moment, async |lab: &mut Lab, import: &Import| {
            lab.kill(service);
            import.expect_unfinished(lab, service, moment.0).await;
            lab.start_service(service);
        })
        .await;
    }
}

#[tokio::test]
async fn two_inventories_of_a_group_share_imports_and_one_may_die() {
    let mut lab = lab().await;
    lab.start_service(SECOND_INVENTORY);
    lab.wait_until_ready(SECOND_INVENTORY).await;
    let looks: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", reported("KDYNO_BOOTSTRAP_SERVERS"))
        .create()
        .expect("a client");
    let topic = lab.topic("stored");
    wait_for("two members with a partition each", async || {
        let groups = looks.fetch_group_list(Some("library-instances"), Duration::from_secs(5)).ok()?;
        let members = groups.groups().first()?.members();
        let has_partition =
            |assignment: &[u8]| assignment.windows(topic.len()).any(|window| window == topic.as_bytes());
        let at_work = members.iter().filter(|member| member.assignment().is_some_and(has_partition)).count();
        (at_work == 2 && members.len() == 2).then_some(())
    })
    .await;
    let moment = MOMENTS[2];
    for profile in ["create", "update"] {
        import_disturbed(&mut lab, profile, 0, moment, async |_: &mut Lab, _: &Import| {}).await;
    }
    import_disturbed(&mut lab, "create", 1, moment, async |lab: &mut Lab, import: &Import| {
        lab.kill(SECOND_INVENTORY);
        import.expect_unfinished(lab, SECOND_INVENTORY, moment.0).await;
    })
    .await;
}

#[tokio::test]
async fn a_broker_killed_at_each_stage_of_an_import_changes_no_count() {
    let mut broker = Broker::start("broker").await;
    let mut lab = Lab::start(&broker.bootstrap_servers()).await;
    for (number, moment) in (0..).zip(MOMENTS) {
        import_disturbed(&mut lab, "create", number, moment, async |lab: &mut Lab, import: &Import| {
            broker.kill();
            import.expect_unfinished(lab, "the broker", moment.0).await;
            broker.start_again().await;
        })
        .await;
    }
}

/// How long to wait for the next of so many.
fn patience(read: usize, all: usize) -> Duration {
    Duration::from_secs(if read < all { 30 } else { 2 })
}

/// Reads a topic from its beginning.
fn reader(topic: &str) -> StreamConsumer {
    let reader: StreamConsumer = ClientConfig::new()
        .set("bootstrap.servers", reported("KDYNO_BOOTSTRAP_SERVERS"))
        .set("group.id", format!("reader-of-{topic}"))
        .set("auto.offset.reset", "earliest")
        .create()
        .expect("a client");
    reader.subscribe(&[topic]).expect("subscribed");
    reader
}
