//! The members of groups, in every form of a report.

use crate::fixture::{RunFixture, run};
use kdyno_model::conclusion::Conclusion;
use kdyno_model::finding::Scope;
use kdyno_model::members::{MemberFigures, Members, OtherMembers};
use kdyno_model::metric::Address;
use kdyno_model::plan::{GroupPlan, GroupProtocol, Role};
use kdyno_model::trial::TrialId;
use kdyno_report::html::page;
use kdyno_report::terminal::{TextOptions, run_table};
use kdyno_report::{json, markdown};

const OPTIONS: TextOptions = TextOptions { width: 160, colour: false };
const TITLE: &str = "Consume: members of groups";

fn member(client: u32, records: u64, of_equal_share: f64, losses: u32) -> MemberFigures {
    MemberFigures {
        client,
        records,
        of_equal_share: Some(of_equal_share),
        partitions: 2,
        rebalances: 3 * losses,
        losses,
    }
}

fn members(trial: u32, others: Option<OtherMembers>) -> Conclusion {
    let reported = vec![member(0, 12_000, 1.2, 0), member(7, 8_000, 0.8, 1)];
    Conclusion::Members(Members {
        scope: Scope::Trial(TrialId(trial)),
        item: "readers".to_owned(),
        reported,
        others,
    })
}

fn one_trial(others: Option<OtherMembers>) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    run.conclusions.push(members(1, others));
    run
}

/// Words of the lines under the title of the table, up to an empty one.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let table = text.split(TITLE).nth(1).unwrap_or_else(|| panic!("{text}"));
    let lines = table.lines().skip(1).take_while(|line| !line.is_empty());
    lines.map(|line| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect()).collect()
}

#[test]
fn each_member_has_a_row() {
    let run = one_trial(None);
    let text = run_table(&run.input(), &OPTIONS);
    let reported = rows(&text);
    assert_eq!(reported[0][..3], ["stream", "member", "records"], "{reported:?}");
    assert_eq!(reported[1], ["readers", "client 0", "12,000", "120 %", "2", "0", "0"]);
    assert_eq!(reported[2], ["readers", "client 7", "8,000", "80.0 %", "2", "3", "1"]);
    let html = page(&run.input());
    assert!(html.contains(&format!("<caption>{TITLE}</caption>")) && html.contains("client 7"), "a row each");
    let json = json::run(&run.input()).to_string();
    assert!(
        json.contains("readers: 2 members consumed 8,000 to 12,000 records each; 1 lost partitions"),
        "{json}"
    );
}

#[test]
fn of_many_members_the_others_share_a_row() {
    let others = OtherMembers {
        members: 38,
        records: [9_900, 10_100],
        of_equal_share: Some([0.99, 1.01]),
        partitions: [2, 3],
        rebalances: [1, 1],
        losses: [0, 0],
    };
    let run = one_trial(Some(others));
    let text = run_table(&run.input(), &OPTIONS);
    let reported = rows(&text);
    assert_eq!(
        reported[3],
        ["readers", "38 others", "9,900 to 10,100", "99.0 % to 101 %", "2 to 3", "1", "0"]
    );
    assert!(text.contains("Of many members those have rows of their own that lost partitions"), "{text}");
    assert!(page(&run.input()).contains("38 others"));
}

#[test]
fn a_table_that_would_fill_the_screen_is_in_the_page() {
    let mut run = one_trial(None);
    (0..20).for_each(|_| run.conclusions.push(members(1, None)));
    let text = run_table(&run.input(), &OPTIONS);
    assert_eq!(rows(&text)[0], ["42 rows, which are in the page and in the JSON document."]);
    assert!(!text.contains("client 7"));
}

#[test]
fn a_run_without_groups_has_no_such_table() {
    let run = run();
    assert!(!run_table(&run.input(), &OPTIONS).contains(TITLE) && !page(&run.input()).contains(TITLE));
}

/// The readers of a run of one trial are in a group, with guests or alone, and its table is to show how late they are.
fn grouped(has_guests: bool) -> RunFixture {
    let mut run = run();
    run.only_one_trial();
    let plan = &mut run.header.plan;
    plan.show.columns.extend(Address::parse("readers.caught_up"));
    let load = &mut plan.cases[0].load;
    let readers = load.get_mut("readers").expect("readers");
    let Role::Consume(consume) = &mut readers.role else { panic!("readers consume") };
    consume.group = Some(GroupPlan {
        name: "billing".to_owned(),
        id: None,
        protocol: GroupProtocol::Consumer { assignor: None },
        instance_id: None,
        poll_interval_max_ns: 300_000_000_000,
        auto_commit_ns: None,
    });
    let guests = readers.clone();
    if has_guests {
        load.insert("guests".to_owned(), guests);
    }
    run.trials[0].trial.effective = plan.cases[0].clone();
    run
}

#[test]
fn figures_missing_for_items_that_share_a_group_have_a_reason() {
    let (column, row) = (
        "readers.caught_up: not known where the item shares its group",
        "another one, censored is not known",
    );
    for (has_guests, expected) in [(true, true), (false, false)] {
        let run = grouped(has_guests);
        let text = run_table(&run.input(), &OPTIONS).replace('\n', " ");
        let (page, markdown) = (page(&run.input()), markdown::block(&run.input()));
        assert_eq!((text.contains(column), text.contains(row)), (expected, expected), "{text}");
        assert_eq!((page.contains(column), page.contains(row)), (expected, expected));
        assert_eq!(markdown.contains(column), expected, "{markdown}");
    }
}
