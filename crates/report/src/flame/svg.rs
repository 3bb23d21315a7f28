//! A laid-out flame graph as SVG.

use super::graph::Graph;
use super::layout::{Placed, place, share};
use kdyno_model::stacks::FlameKind;
use kdyno_model::words::visible;
use maud::{Markup, PreEscaped, html};

/// Width of the picture, in its own units.
const WIDTH: f64 = 1200.0;
const ROW_HEIGHT: f64 = 17.0;
/// Width of a letter of the labels, about.
const LETTER: f64 = 6.7;
/// Letters below which a label says nothing.
const LETTERS_MIN: usize = 4;
/// Changes of a share, in points of percent, from which a frame has the next colour.
const STEPS: [f64; 5] = [0.1, 0.5, 1.5, 4.0, 10.0];

/// Colours by themselves, for a file without a page around it.
pub(crate) const STYLE: &str = include_str!("style.css");

/// The graph with at most so many frames, for a page that has the style.
pub(crate) fn picture(graph: &Graph, frames_max: usize) -> Markup {
    let placed = place(graph, frames_max);
    let rows = placed.iter().map(|one| one.row + 1).max().unwrap_or(1);
    let size = format!("0 0 {WIDTH} {}", rows as f64 * ROW_HEIGHT);
    html! {
        svg class="flame" viewBox=(size) role="img" aria-label=(graph.title) {
            @for one in &placed { (frame(graph, one)) }
        }
    }
}

/// The graph as a file of its own, with title and legend.
pub(super) fn document(graph: &Graph, frames_max: usize) -> String {
    let placed = place(graph, frames_max);
    let rows = placed.iter().map(|one| one.row + 1).max().unwrap_or(1);
    let head = 44.0;
    let height = head + rows as f64 * ROW_HEIGHT + 6.0;
    let size = format!("0 0 {WIDTH} {height}");
    let place = format!("translate(0 {head})");
    let svg = html! {
        svg class="flame" xmlns="http://www.w3.org/2000/svg" viewBox=(size) width=(WIDTH) height=(height) {
            style { (PreEscaped(STYLE)) }
            rect class="paper" width="100%" height="100%" {}
            text class="title" x="6" y="17" { (graph.title) }
            text class="legend" x="6" y="35" { (graph.counted()) ". " (legend(graph)) }
            g transform=(place) { @for one in &placed { (frame(graph, one)) } }
        }
    };
    visible(&svg.into_string(), &[]) + "\n"
}

/// What colours mean.
pub(crate) fn legend(graph: &Graph) -> &'static str {
    match (graph.sides.len(), graph.kind) {
        (2, _) => "Red: a larger share of B than of A; blue: a smaller one. Width: the mean of both shares.",
        (_, FlameKind::Cpu) => {
            "Green: Java; yellow: native code of the JVM and libraries; orange: kernel; grey: threads. Width: share."
        }
        (_, FlameKind::Alloc | FlameKind::Jfr) => {
            "Green: Java; blue: the class of what was allocated; grey: threads. Width: share of the bytes."
        }
        (_, FlameKind::Lock) => {
            "Green: Java; blue: the class of the lock; grey: threads. Width: share of the time waited."
        }
    }
}

fn frame(graph: &Graph, one: &Placed<'_>) -> Markup {
    let [x, width] = [one.left, one.width].map(|share| share * WIDTH);
    let y = one.row as f64 * ROW_HEIGHT;
    // A gap of half a unit separates neighbours.
    let [x_text, y_text, width_text] = [x, y, (width - 0.5).max(0.5)].map(short);
    let (class, is_dark) = class(graph, one);
    let label = label(one.name, width);
    let class = if is_dark { format!("{class} dark") } else { class };
    html! {
        g class=(class) {
            title { (reported(graph, one)) }
            rect x=(x_text) y=(y_text) width=(width_text) height=(short(ROW_HEIGHT - 1.0)) {}
            @if let Some(label) = label { text x=(short(x + 3.0)) y=(short(y + 12.0)) { (label) } }
        }
    }
}

/// Two digits behind the point are a hundredth of a pixel.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The class of a frame, and whether its label has to be light.
fn class(graph: &Graph, one: &Placed<'_>) -> (String, bool) {
    if let Some(change) = change(graph, one) {
        let step = STEPS.iter().filter(|least| change.abs() >= **least).count();
        let name = if step == 0 {
            "same".to_owned()
        } else {
            format!("{}{step}", if change > 0.0 { "more" } else { "less" })
        };
        return (name, step == STEPS.len());
    }
    let name = one.name;
    let class = if name.starts_with('[') {
        "thread"
    } else if name.ends_with("_[k]") {
        "kernel"
    } else if name.ends_with("_[i]") {
        "object"
    } else if is_java(name) {
        "java"
    } else {
        "native"
    };
    (class.to_owned(), false)
}

/// Whether a frame is a method of Java: async-profiler names them `package/Class.method`.
fn is_java(name: &str) -> bool {
    !name.contains("::")
        && !name.contains('(')
        && name.contains('.')
        && !name.contains(".so")
        && !name.starts_with('.')
}

/// By how many points of percent a frame's share of B is larger than that of A; `None`: the graph is of one side.
fn change(graph: &Graph, one: &Placed<'_>) -> Option<f64> {
    let [a, b] = shares(graph, one)[..] else { return None };
    Some(100.0 * (b - a))
}

/// The frame's share on each side.
pub(super) fn shares(graph: &Graph, one: &Placed<'_>) -> Vec<f64> {
    one.counts.iter().zip(&graph.sides).map(|(count, side)| share(*count, side.total())).collect()
}

/// The tooltip.
fn reported(graph: &Graph, one: &Placed<'_>) -> String {
    let name = whole_name(one.name);
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    match shares(graph, one)[..] {
        [a, b] => format!("{name}: A {}, B {} ({:+.2} points)", percent(a), percent(b), 100.0 * (b - a)),
        [share] => format!("{name}: {}, {}", percent(share), graph.number(one.counts[0])),
        _ => name,
    }
}

/// As Java writes it.
pub(super) fn whole_name(name: &str) -> String {
    let name = name.trim_end_matches("_[k]").trim_end_matches("_[i]");
    if is_java(name) || !name.contains(['(', ':', ' ']) { name.replace('/', ".") } else { name.to_owned() }
}

/// What of a name fits into a frame: a method of Java without its package, and where there is less room without its class,
/// which those above and below it often share.
fn label(name: &str, width: f64) -> Option<String> {
    // As many letters as there is room for, which is a small number.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let room = ((width - 6.0) / LETTER).max(0.0) as usize;
    let name = name.trim_end_matches("_[k]").trim_end_matches("_[i]");
    let name = if is_java(name) { name.rsplit('/').next().unwrap_or(name) } else { name };
    let fits = |name: &str| name.chars().count() <= room;
    let method = name.rsplit('.').next().filter(|method| is_java(name) && !fits(name) && !method.is_empty());
    let name = method.unwrap_or(name);
    if fits(name) {
        return Some(name.to_owned());
    }
    (room >= LETTERS_MIN).then(|| name.chars().take(room - 1).chain(['…']).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::stacks::Stacks;

    const A: &str = "[data-plane-kafka-request-handler-0 tid=7];java/lang/Thread.run;kafka/server/KafkaApis.handle 60\n\
                     [data-plane-kafka-request-handler-1 tid=8];java/lang/Thread.run;kafka/server/KafkaApis.handle;\
                     __x64_sys_write_[k] 20\n\
                     [C2 CompilerThread0 tid=3];CompileBroker::compiler_thread_loop() 20\n";
    const B: &str = "[data-plane-kafka-request-handler-0 tid=70];java/lang/Thread.run;kafka/server/KafkaApis.handle 300\n\
                     [C2 CompilerThread0 tid=30];CompileBroker::compiler_thread_loop() 100\n";

    fn graph(sides: &[&str]) -> Graph {
        let sides = sides.iter().map(|text| Stacks::read(text).expect("stacks")).collect();
        Graph { title: "broker-0, trial 1".to_owned(), kind: FlameKind::Cpu, sides, held: vec![Some(0.93)] }
    }

    fn lines(graph: &Graph) -> String {
        let svg = document(graph, 4000);
        let (_, drawn) = svg.split_once("</style>").expect("a style");
        drawn.replace("><", ">\n<")
    }

    #[test]
    fn a_small_graph() {
        insta::assert_snapshot!(lines(&graph(&[A])));
    }

    #[test]
    fn the_difference_of_two() {
        insta::assert_snapshot!(lines(&graph(&[A, B])));
    }

    #[test]
    fn hostile_names_stay_text() {
        let hostile = "[<script>alert(1)</script>];\"onload=\"x&<svg>;]]>--> 5\n";
        let svg = document(&graph(&[hostile]), 4000);
        assert!(!svg.contains("<script") && !svg.contains("\"onload"), "{svg}");
        assert_eq!(svg.matches("<svg").count(), 1);
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(graph(&[""]).is_empty());
        assert!(!document(&graph(&["", ""]), 4000).contains("NaN"));
    }

    #[test]
    fn names_are_shown_as_java_writes_them() {
        assert_eq!(whole_name("kafka/server/KafkaApis.handle"), "kafka.server.KafkaApis.handle");
        assert_eq!(whole_name("byte[]_[i]"), "byte[]");
        assert_eq!(whole_name("operator new(unsigned long)"), "operator new(unsigned long)");
        assert_eq!(label("kafka/server/KafkaApis.handle", 200.0).as_deref(), Some("KafkaApis.handle"));
        assert_eq!(label("kafka/server/KafkaApis.handle", 60.0).as_deref(), Some("handle"));
        assert_eq!(label("kafka/server/KafkaApis.handle", 40.0).as_deref(), Some("hand…"));
        assert_eq!(label("kafka/server/KafkaApis.handle", 10.0), None);
        assert!(is_java("Busy.main") && !is_java("libc.so.6") && !is_java("finish_task_switch.isra(0)"));
    }
}
