//! What sampling stacks changes of a plan.

use crate::common::{BASE, asking, compared, comparing, planned, target};
use kdyno_model::plan::SystemPlan;
use kdyno_model::stacks::{FlameKind, JVM_OPTIONS};
use kdyno_plan::Choices;

fn of_brokers(system: &SystemPlan) -> Vec<&str> {
    let SystemPlan::Local(cluster) = system else { panic!("{system:?}") };
    cluster.jvm_options.iter().map(String::as_str).collect()
}

fn flame(kind: FlameKind) -> Choices {
    Choices { flame: Some(kind), ..Choices::default() }
}

#[test]
fn only_brokers_and_java_clients_get_the_options() {
    let text = BASE.replace("mode: kraft,", "mode: kraft, jvm: [-XX:+UseZGC],");
    let plan = planned(&text, &Choices::default()).unwrap();
    assert_eq!((plan.flame, of_brokers(&plan.cases[0].system)), (None, vec!["-XX:+UseZGC"]));
    let text = text.replace("client: {acks: all}", "client: {acks: all, driver: java, jvm: [-Xmx1g]}");
    let plan = planned(&format!("{text}flame: alloc\n"), &Choices::default()).unwrap();
    assert_eq!(plan.flame, Some(FlameKind::Alloc));
    let with = |own: &'static str| JVM_OPTIONS.into_iter().chain([own]).collect::<Vec<_>>();
    assert_eq!(of_brokers(&plan.cases[0].system), with("-XX:+UseZGC"), "the user's own are the last word");
    assert_eq!(plan.cases[0].load["writers"].driver.as_java().unwrap().jvm, with("-Xmx1g"));
}

#[test]
fn both_sides_of_a_comparison_are_sampled() {
    let choices = Choices { flame: Some(FlameKind::Cpu), ..asking(comparing(&[], &["kafka=4.1.1"])) };
    let (plan, compare) = compared(BASE, &choices);
    for case in plan.cases.iter().chain(&compare.b) {
        assert_eq!(of_brokers(&case.system), JVM_OPTIONS);
    }
}

#[test]
fn the_option_overrides_the_scenario_and_errors_have_a_place() {
    let text = format!("{BASE}flame: cpu\n");
    assert_eq!(planned(&text, &flame(FlameKind::Jfr)).unwrap().flame, Some(FlameKind::Jfr));
    let reported = planned(&format!("{BASE}flame: cpus\n"), &Choices::default()).unwrap_err();
    assert!(reported.contains("s.yaml:11:") && reported.contains("cpu"), "{reported}");
    let reported = planned(&BASE.replace("kafka: 3.7.2,", "kafka: 3.7.2, of: cpu,"), &Choices::default());
    assert!(reported.is_ok(), "a param that nobody uses");
}

#[test]
fn what_has_no_java_is_refused_and_a_target_may_have_some() {
    let text =
        BASE.replace("{kafka: $kafka, mode: kraft, config: {num.io.threads: 8}}", "{kafka: null-broker}");
    let text = text.replace("  readers: {consume: t}\n", "");
    let reported = planned(&text, &flame(FlameKind::Cpu)).unwrap_err();
    assert!(
        reported.contains("flame graphs are of brokers and of clients with `driver: java`"),
        "{reported}"
    );
    let attached = Choices { target: Some(target("one", "")), ..flame(FlameKind::Cpu) };
    assert_eq!(planned(BASE, &attached).unwrap().flame, Some(FlameKind::Cpu));
}
