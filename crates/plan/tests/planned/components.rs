//! What runs next to the cluster, from a scenario's text to the plan.

use crate::common::as_written;
use kdyno_model::plan::http_load::HttpLoad;
use kdyno_model::plan::{ComponentKind, Plan, ReadyWhen, StopSignal, Strategy};
use kdyno_plan::{Choices, check_stored, plan};
use kdyno_scenario::Scenario;
use kdyno_scenario::target::TargetFile;

const LOAD: &str = "load: {w: {produce: t, rate: 10/s, value: 10B}}\nphases: {measure: 1m}\n";

fn planned(components: &str, more: &str) -> Result<Plan, String> {
    let text = format!(
        "kdyno: 1\nid: beside\nquestion: What stands beside it?\nparams: {{n: 3}}\nsystem: {{kafka: 4.1.1}}\n\
         topics: {{t: {{partitions: 3}}}}\ncomponents:\n{components}\n{LOAD}{more}"
    );
    as_written(&text)
}

#[test]
fn components_are_planned_in_order_with_all_their_defaults() {
    let components = "  z: {postgres: {settings: {max_connections: $n}}}\n  \
                      b: {command: [./b, '$n k'], environment: {N: '$n'}, ready: {http: /up}, stop: {signal: QUIT, within: 0s}}\n  \
                      a: {command: './a > $$OUT', ready_within: 5s}";
    let plan = planned(components, "").expect("a plan");
    let [z, b, a] = &plan.cases[0].components[..] else { panic!("three") };
    let database = z.as_postgres().expect("a database");
    assert_eq!((z.name.as_str(), database.database.as_str(), database.version), ("z", "z", None));
    assert_eq!(database.settings["max_connections"], "3");
    assert_eq!((&z.ready, z.stop_signal), (&ReadyWhen::Postgres, StopSignal::Int));
    assert_eq!(b.kind, ComponentKind::Command(vec!["./b".to_owned(), "3 k".to_owned()]));
    assert_eq!((b.environment["N"].as_str(), &b.ready), ("3", &ReadyWhen::Http("/up".to_owned())));
    assert_eq!((b.stop_signal, b.stop_within_ns), (StopSignal::Quit, 0));
    assert_eq!(a.kind, ComponentKind::Command(["sh", "-c", "./a > $OUT"].map(str::to_owned).into()));
    assert_eq!((&a.ready, a.ready_within_ns), (&ReadyWhen::Port, 5_000_000_000));
    assert_eq!((a.stop_signal, a.stop_within_ns), (StopSignal::Term, 10_000_000_000));
    let stored = check_stored(&plan).expect_err("a run file starts nothing");
    assert!(stored.message.starts_with("the stored plan starts a component: z: "), "{stored}");
}

#[test]
fn their_figures_can_be_named_and_a_side_may_change_them() {
    let components = "  db: {postgres: {}}\n  web: {command: [./web, '1']}";
    let more = "compare: {A: {}, B: {components: {web: {command: [./web, '2']}}}, judge: [{of: web.cpu_percent, better: lower}, {of: db.transactions_per_s}]}\n\
                expect: [{claim: x, that: db.connections_max <= 5}]\n";
    let plan = planned(components, more).expect("a plan");
    let Strategy::Compare(comparison) = &plan.strategy else { panic!("a comparison") };
    let others: Vec<_> = comparison.other_cases().map(|case| case.components[1].line()).collect();
    assert_eq!(
        (plan.cases[0].components[1].line(), others),
        ("./web 1".to_owned(), vec!["./web 2".to_owned()])
    );
    let wrong = planned(components, "show: {columns: [web.transactions_per_s]}\n").expect_err("no database");
    assert!(wrong.contains("`transactions_per_s` is not a metric of `web`"), "{wrong}");
    let wrong = planned(components, "show: {columns: [wep.cpu_percent]}\n").expect_err("misspelt");
    assert!(wrong.contains("did you mean `web`"), "{wrong}");
    let wrong = planned(components, "compare: {A: {}, B: {components: {shop: {ready: started}}}}\n");
    let wrong = wrong.expect_err("it is not there");
    assert!(wrong.contains("the scenario has no `shop` under `components`"), "{wrong}");
}

#[test]
fn one_that_runs_already_is_addressed_and_not_started() {
    let plan_at = |at: &str| {
        let text = "kdyno: 1\nid: there\nquestion: Is it there?\nparams: {where: here}\nsystem: {kafka: 4.1.1}\n\
             topics: {t: {partitions: 3}}\ncomponents:\n  db: {postgres: {}, at: $where}\n  \
             web: {command: [./web], at: $where}\n  own: {command: [./own]}\n\
             load: {u: {users: 1, chain: c, address: web, steps: [{name: s, get: /}]}}\nphases: {measure: 1m}\n\
             show: {columns: [s.response.mean, web.cpu_percent]}\n";
        let scenario = Scenario::parse(text, "s.yaml").expect("a scenario");
        let set = vec![("where".to_owned(), at.to_owned())];
        plan(&scenario, &Choices { set, ..Choices::default() })
    };
    let reported = |at: &str| {
        let case = plan_at(at).expect("a plan").cases.remove(0);
        let names: Vec<String> = case.components.iter().map(|component| component.name.clone()).collect();
        let Some(HttpLoad::Users(users)) = &case.commands["u"].http else { panic!("users") };
        (names.join(" "), users.target.address.clone(), users.target.is_component)
    };
    assert_eq!(reported("here"), ("db web own".to_owned(), "web".to_owned(), true));
    let there = "https://there.example/app";
    assert_eq!(reported(there), ("own".to_owned(), there.to_owned(), false));
    let wrong = plan_at("there:80").expect_err("no address of HTTP");
    assert!(wrong.message.contains("`at`: `there:80` is neither `here` nor an address of HTTP"), "{wrong}");
}

#[test]
fn impossible_settings_are_refused_in_place_with_a_hint() {
    for (component, words) in [
        ("c: {}", "the component is nothing | add `command` or `postgres`"),
        ("c: {command: [x], postgres: {}}", "one thing, not both `command` and `postgres`"),
        ("c: {command: []}", "`command` is empty | name a program"),
        ("c: {comand: [x]}", "did you mean `command`"),
        ("c: {command: [x], ready: soon}", "`ready`"),
        ("c: {command: [x], ready: {http: health}}", "`http`: `health` is not the path of a URL"),
        ("c: {command: [x], ready: {http: /, line: y}}", "`ready` takes exactly one key"),
        ("c: {command: [x], ready_within: 0s}", "`ready_within`"),
        ("c: {command: [x], stop: {signal: KILL}}", "`signal`"),
        ("c: {command: [x], environment: {KDYNO_X: 1}}", "`KDYNO_X` cannot be set"),
        ("c: {postgres: {}, ready: port}", "`ready` has no meaning for a database"),
        ("c: {postgres: {settings: {port: 5432}}}", "`port` cannot be set"),
        ("c: {postgres: {database: 'a\"b'}}", "cannot name the database"),
        ("c: {postgres: {database: postgres}}", "cannot name the database"),
        ("c: {postgres: {version: new}}", "`version`"),
        ("w: {command: [x]}", "`w` is already the name of what is in line "),
        ("host: {command: [x]}", "`host` names something else in metrics"),
        ("Big: {command: [x]}", "`Big` cannot name a component"),
        ("a-b: {command: [x]}\n  a_b: {command: [x]}", "have one name in variables"),
        ("c: {command: [x]}\n  c: {command: [y]}", "`c`"),
    ] {
        let error = planned(&format!("  {component}"), "").expect_err(component);
        assert!(error.starts_with("s.yaml:"), "{error}");
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn a_target_has_to_allow_what_no_cap_holds_for() {
    let text = format!(
        "kdyno: 1\nid: beside\nquestion: What stands beside it?\ntopics: {{t: {{partitions: 3}}}}\n\
         components: {{web: {{command: [./web]}}}}\n{LOAD}"
    );
    let scenario = Scenario::parse(&text, "s.yaml").expect("a scenario");
    let planned = |guard: &str| {
        let target = format!(
            "kdyno: 1\ntarget: theirs\ncluster_id: id\nclient: {{bootstrap: [127.0.0.1:9092]}}\n{guard}"
        );
        let target = TargetFile::parse(&target, "t.yaml").expect("read").resolve(None).expect("a target");
        plan(&scenario, &Choices { target: Some(target), ..Choices::default() })
    };
    let refused = planned("").expect_err("it is not allowed");
    let words = "`web` is a component, which no cap holds for and the target does not allow";
    assert!(refused.message.contains(words), "{refused}");
    assert_eq!(refused.hint.as_deref(), Some("name `commands` under `guard.allow`"));
    assert!(planned("guard: {allow: [commands]}\n").is_ok());
}
