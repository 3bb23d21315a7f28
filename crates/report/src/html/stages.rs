//! Where the time goes, as bars: the client's stages, and the brokers' below the part that they are of.

use super::chart::{ACROSS, NUMBER_MAX};
use super::figure::folded;
use super::groups::{TrialGroup, groups};
use super::lanes::{Lane, LaneAxis, lanes};
use super::pen::{self, percent, px};
use super::scale::Scale;
use super::table::texts;
use super::ticks::tick_time;
use crate::figures::FindingIndex;
use crate::input::ReportInput;
use crate::marks;
use crate::table::{Cell, Table};
use kdyno_model::finding::{Finding, Value};
use kdyno_model::inside::{RequestKind, RequestStage, stage_metric};
use kdyno_model::sample::Timing;
use maud::{Markup, html};

/// Cases that are drawn at most.
const GROUPS_MAX: usize = 16;
const BAR_PX: f64 = 22.0;
/// A bar of fewer thousandths of the width has no letter.
const LETTER: f64 = 26.0;

/// One stage of a bar.
struct BarStage<'a> {
    name: String,
    /// Letter in the bar and in the legend, and look.
    letter: char,
    look: usize,
    /// Its mean, or what that is at least.
    ns: f64,
    finding: &'a Finding,
}

impl BarStage<'_> {
    fn is_least(&self) -> bool {
        matches!(self.finding.estimate, Value::AtLeast(_))
    }

    /// How its bar looks: what is a least value, and what must not be used, is seen as that.
    fn class(&self) -> String {
        let mut class = format!("seg {}", pen::look_class(self.look));
        if self.is_least() {
            class.push_str(" least");
        }
        if self.finding.is_invalid() {
            class.push_str(" pale");
        }
        class
    }
}

/// One bar.
struct Bar<'a> {
    name: String,
    whose: &'static str,
    begins_ns: f64,
    stages: Vec<BarStage<'a>>,
}

impl Bar<'_> {
    fn ends_ns(&self) -> f64 {
        self.begins_ns + self.stages.iter().map(|stage| stage.ns).sum::<f64>()
    }
}

/// The bars of every case and item that produces; nothing where no stage is known.
pub fn figure(input: &ReportInput<'_>, figures: &FindingIndex<'_>) -> Markup {
    let groups = groups(input);
    let shown = &groups[..groups.len().min(GROUPS_MAX)];
    let bars: Vec<Bar<'_>> = shown.iter().flat_map(|group| bars(group, figures)).collect();
    let most = bars.iter().map(Bar::ends_ns).fold(0.0, f64::max);
    if most <= 0.0 {
        return html! {};
    }
    let across = Scale::linear([most].into_iter(), true, 0.0, ACROSS);
    let rows: Vec<Lane> = bars.iter().map(|bar| lane(bar, &across)).collect();
    html! {
        figure id="stage-bars" {
            figcaption { "Stages of a record, one after the other: the client's, and the brokers' within its request" }
            (legend(&bars))
            @if let Some(note) = doubts(&bars) { p class="note" { (note) } }
            (lanes(&rows, &LaneAxis { across: &across, text: &tick_time, label: "mean time" }))
            @if shown.len() < groups.len() { p class="note" { "The first " (shown.len()) " of " (groups.len()) " cases." } }
            (folded(&texts(&table(&bars), None), "stages"))
        }
    }
}

fn bars<'a>(group: &TrialGroup<'_>, figures: &FindingIndex<'a>) -> Vec<Bar<'a>> {
    let find = |subject: &str, metric: String| -> Option<(&'a Finding, f64)> {
        let found = figures.value(group.scope, subject, &metric)?;
        Some((found, found.estimate.least().filter(|ns| (0.0..NUMBER_MAX).contains(ns))?))
    };
    let words = |name: String| name.replace('_', " ");
    let of_case = if group.name.is_empty() { String::new() } else { format!("{}: ", group.name) };
    let items = items(group);
    let mut bars = Vec::new();
    for item in &items {
        let staged = ('a'..).zip(Timing::STAGES).enumerate();
        let stages: Vec<BarStage<'a>> = staged
            .filter_map(|(look, (letter, stage))| {
                let (finding, ns) = find(item, format!("{stage}.mean"))?;
                Some(BarStage { name: words(stage.to_string()), letter, look, ns, finding })
            })
            .collect();
        let before = stages.iter().take_while(|stage| stage.name != words(Timing::Request.to_string()));
        let request_ns: f64 = before.map(|stage| stage.ns).sum();
        if stages.is_empty() {
            continue;
        }
        bars.push(Bar { name: format!("{of_case}{item}"), whose: "client", begins_ns: 0.0, stages });
        // The brokers' are of all produce requests: they are under an item where it is the only one.
        let brokers =
            ('1'..).zip(RequestStage::all().filter(|stage| *stage != RequestStage::Total)).enumerate();
        let stages: Vec<BarStage<'a>> = brokers
            .filter_map(|(look, (letter, stage))| {
                let (finding, ns) = find("brokers", stage_metric(RequestKind::Produce, stage))?;
                Some(BarStage { name: words(stage.to_string()), letter, look: look + 3, ns, finding })
            })
            .collect();
        if items.len() == 1 && !stages.is_empty() {
            bars.push(Bar {
                name: format!("{of_case}brokers"),
                whose: "brokers",
                begins_ns: request_ns,
                stages,
            });
        }
    }
    bars
}

/// The load items of a case that produce.
fn items<'a>(group: &TrialGroup<'a>) -> Vec<&'a str> {
    let load = group.trials.first().map(|trial| &trial.effective.load);
    let produce = load.into_iter().flatten().filter(|(_, item)| item.role.as_produce().is_some());
    produce.map(|(name, _)| name.as_str()).collect()
}

fn lane(bar: &Bar<'_>, across: &Scale) -> Lane {
    let mut at_ns = bar.begins_ns;
    let mut drawn: Vec<Markup> = Vec::new();
    for stage in &bar.stages {
        let ends = (across.place(at_ns), across.place(at_ns + stage.ns));
        at_ns += stage.ns;
        if ends.1 - ends.0 < 0.05 {
            continue;
        }
        drawn.push(html! {
            g {
                title { (stage.name) ": " (marks::text(stage.finding)) }
                (pen::bar(&stage.class(), ends, 2.0, BAR_PX - 4.0))
                @if ends.1 - ends.0 > LETTER {
                    text class="in-bar" x=(percent(f64::midpoint(ends.0, ends.1))) y=(px(BAR_PX / 2.0 + 4.0)) text-anchor="middle" { (stage.letter) }
                }
            }
        });
    }
    Lane {
        name: html! { (bar.name) },
        says: format!(
            "{}: {}",
            bar.name,
            bar.stages
                .iter()
                .map(|stage| format!("{} {}", stage.name, marks::text(stage.finding)))
                .collect::<Vec<_>>()
                .join(", ")
        ),
        height: BAR_PX,
        drawn: html! { @for one in drawn { (one) } },
    }
}

fn legend(bars: &[Bar<'_>]) -> Markup {
    let mut reported: Vec<(&str, &BarStage<'_>)> = Vec::new();
    for (whose, stage) in bars.iter().flat_map(|bar| bar.stages.iter().map(move |stage| (bar.whose, stage))) {
        if stage.ns > 0.0 && !reported.iter().any(|(_, one)| one.letter == stage.letter) {
            reported.push((whose, stage));
        }
    }
    reported.sort_by_key(|(whose, stage)| (*whose == "brokers", stage.letter));
    html! {
        ul class="legend" {
            @for (whose, stage) in reported {
                li {
                    svg class="swatch" viewBox="0 0 12 12" aria-hidden="true" { rect class=(format!("seg {}", pen::look_class(stage.look))) width="12" height="12" {} }
                    " " b { (stage.letter) } " " (whose) ": " (stage.name)
                }
            }
        }
    }
}

/// What looks otherwise than a mean that is known.
fn doubts(bars: &[Bar<'_>]) -> Option<String> {
    let any = |is_it: fn(&BarStage<'_>) -> bool| bars.iter().flat_map(|bar| &bar.stages).any(is_it);
    let least = any(|stage| stage.is_least()).then_some("Dashed: the stage took at least so long.");
    let pale = any(|stage| stage.finding.is_invalid()).then_some("Pale: invalid.");
    let reported: Vec<&str> = least.into_iter().chain(pale).collect();
    (!reported.is_empty()).then(|| reported.join(" "))
}

fn table(bars: &[Bar<'_>]) -> Table {
    let row = |bar: &Bar<'_>, stage: &BarStage<'_>| {
        [bar.name.clone(), stage.name.clone(), marks::text(stage.finding)].map(Cell::from).to_vec()
    };
    let rows = bars.iter().flat_map(|bar| bar.stages.iter().map(move |stage| row(bar, stage)));
    Table::new(&[("bar", false), ("stage", false), ("mean", true)], rows.collect())
}
