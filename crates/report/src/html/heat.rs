//! How often which latency was seen when, as a map of squares.

use super::chart::{ACROSS, Detail};
use super::courses;
use super::figure::folded;
use super::pen::{self, percent, px};
use super::plot;
use super::scale::Scale;
use super::table::texts;
use super::ticks::{tick_number, tick_time};
use crate::table::{Cell, Table};
use crate::units;
use kdyno_model::series::{HeatColumn, HeatMap, StreamSeries, TrialSeries};
use maud::{Markup, html};

/// Shades in the style sheet, from few records to many.
const SHADES: usize = 7;
const TOP: f64 = 16.0;
/// Height of the squares, and of the row above them of records without a latency, px.
const HEIGHT: f64 = 150.0;
const CUT: f64 = 8.0;

/// The map; nothing where nothing was timed.
pub fn figure(
    series: &TrialSeries,
    stream: &StreamSeries,
    map: &HeatMap,
    name: &str,
    id: &str,
    detail: Detail,
) -> Markup {
    let Some(paper) = Paper::of(series, map) else { return html! {} };
    let title = format!("{}: {name} over time, how many records", stream.name);
    let bottom = TOP + CUT + HEIGHT;
    html! {
        figure id=(id) data-time=(plot::instants(&paper.across)) {
            figcaption { (title) }
            p class="panel-name" { span { "time (log)" } }
            (legend(&paper))
            svg class="plot" height=(px(bottom + 40.0)) role="img" {
                title { (title) }
                desc { "Squares: the darker, the more records of that latency were due at that time." }
                (pen::rows(&paper.up, tick_time))
                svg class="heat" y=(px(TOP)) width="100%" height=(px(CUT + HEIGHT))
                    viewBox=(format!("0 {TOP} {ACROSS} {}", px(CUT + HEIGHT))) preserveAspectRatio="none" {
                    (pen::grid(&paper.across, Some(&paper.up), TOP, bottom))
                    @for (shade, path) in paper.squares(map).iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                        path class=(format!("shade-{shade}")) d=(path) {}
                    }
                    @let cut = paper.cut(map);
                    @if !cut.is_empty() { path class="cut" d=(cut) {} }
                }
                @for band in &courses::bands(series) {
                    @let ends = (paper.across.place(band.from), paper.across.place(band.to));
                    line class="edge" x1=(percent(ends.1)) x2=(percent(ends.1)) y1=(px(TOP)) y2=(px(bottom)) {}
                    @if ends.1 - ends.0 > 120.0 {
                        text class="band-name" x=(percent(f64::midpoint(ends.0, ends.1))) y=(px(TOP - 4.0)) text-anchor="middle" { (band.name) }
                    }
                }
                line class="axis" x2="100%" y1=(px(bottom)) y2=(px(bottom)) {}
                (pen::columns(&paper.across, bottom, tick_number))
                text class="label" x="50%" y=(px(bottom + 34.0)) text-anchor="middle" { "second of the load in which the records were due" }
            }
            (data(map, &title, detail))
        }
    }
}

/// The axes, and how many records the darkest square has.
struct Paper {
    across: Scale,
    up: Scale,
    most: u64,
    has_cut: bool,
}

impl Paper {
    fn of(series: &TrialSeries, map: &HeatMap) -> Option<Self> {
        let most =
            map.columns.iter().flat_map(|column| &column.records).copied().max().filter(|most| *most > 0)?;
        let (first, last) = map.columns.first().zip(map.columns.last())?;
        let edges = map.edges_ns.iter().copied().filter(|edge| edge.is_finite());
        let bottom = TOP + CUT + HEIGHT;
        let up = Scale::log(edges, bottom, TOP + CUT);
        let ends = courses::bands(series).into_iter().flat_map(|band| [band.from, band.to]);
        let own = [f64::from(first.second), f64::from(last.second.saturating_add(map.seconds))];
        let ends = ends.chain(own).filter(|end| end.is_finite());
        let (low, high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let ticks = Scale::linear([low, high].into_iter(), false, 0.0, 1.0).ticks;
        let inside = ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        let across = Scale::fixed(low, high, inside, 0.0, ACROSS);
        let has_cut = map.columns.iter().any(|column| column.unfinished > 0);
        Some(Self { across, up, most, has_cut })
    }

    fn ends(&self, map: &HeatMap, column: &HeatColumn) -> (f64, f64) {
        let place = |second: u32| self.across.place(f64::from(second));
        (place(column.second), place(column.second.saturating_add(map.seconds)))
    }

    /// By how many records the squares of each shade have: steps of equal ratios, from one record to the most.
    fn shade(&self, records: u64) -> usize {
        let share = (records as f64).ln() / (self.most as f64).ln().max(f64::MIN_POSITIVE);
        if share.is_finite() { ((share * SHADES as f64) as usize).min(SHADES - 1) } else { SHADES - 1 }
    }

    /// A path for each shade; neighbours in a column that have one shade are one square.
    fn squares(&self, map: &HeatMap) -> Vec<String> {
        let mut paths = vec![String::new(); SHADES];
        for column in &map.columns {
            let (left, right) = self.ends(map, column);
            let mut row = 0;
            let known = column.records.len().min(map.edges_ns.len().saturating_sub(1));
            while row < known {
                let from = row;
                let shade = |row: usize| (column.records[row] > 0).then(|| self.shade(column.records[row]));
                let own = shade(row);
                while row < known && shade(row) == own {
                    row += 1;
                }
                let Some(path) = own.and_then(|shade| paths.get_mut(shade)) else { continue };
                let (bottom, top) = (self.up.place(map.edges_ns[from]), self.up.place(map.edges_ns[row]));
                path.push_str(&square(left, right, top, bottom));
            }
        }
        paths
    }

    /// Above the columns whose records did not all have an outcome.
    fn cut(&self, map: &HeatMap) -> String {
        let with = map.columns.iter().filter(|column| column.unfinished > 0);
        with.map(|column| self.ends(map, column))
            .map(|(left, right)| square(left, right, TOP, TOP + CUT - 2.0))
            .collect()
    }
}

fn square(left: f64, right: f64, top: f64, bottom: f64) -> String {
    let [left, right, top, bottom] = [left, right, top, bottom].map(f64::round);
    format!("M{left:.0},{top:.0}h{:.0}v{:.0}h{:.0}z", right - left, bottom - top, left - right)
}

fn legend(paper: &Paper) -> Markup {
    let shade = |shade: usize| html! { svg class="swatch" viewBox="0 0 12 12" aria-hidden="true" { rect class=(format!("shade-{shade}")) width="12" height="12" {} } };
    html! {
        ul class="legend" {
            li {
                "records: 1 "
                @for one in 0..SHADES { (shade(one)) }
                " " (units::count(paper.most as f64)) ", in steps of equal ratios"
            }
            @if paper.has_cut {
                li { svg class="swatch" viewBox="0 0 12 12" aria-hidden="true" { rect class="cut" y="3" width="12" height="6" {} } " at the top: records that failed or whose end was never seen" }
            }
        }
    }
}

/// The squares as a table: a row for each column, as many as there is room for.
fn data(map: &HeatMap, title: &str, detail: Detail) -> Markup {
    let rows_max = (detail.rows / 2).max(6);
    let step = map.columns.len().div_ceil(rows_max).max(1);
    let filled: Vec<usize> = (0..map.edges_ns.len().saturating_sub(1))
        .filter(|row| {
            map.columns.iter().any(|column| column.records.get(*row).is_some_and(|records| *records > 0))
        })
        .collect();
    let edges = filled.iter().map(|row| format!("from {}", units::nanoseconds(map.edges_ns[*row])));
    let heads: Vec<String> = std::iter::once("from second".to_owned())
        .chain(edges)
        .chain(["without a latency".to_owned()])
        .collect();
    let columns: Vec<(&str, bool)> = heads.iter().map(|head| (head.as_str(), true)).collect();
    let row = |column: &HeatColumn| {
        let records = filled.iter().map(|row| column.records.get(*row).copied().unwrap_or_default());
        let counts = std::iter::once(u64::from(column.second)).chain(records).chain([column.unfinished]);
        counts.map(|count| Cell::from(count.to_string())).collect()
    };
    let table = html! {
        (texts(&Table::new(&columns, map.columns.iter().step_by(step).map(row).collect()), None))
        @if step > 1 { p class="note" { "Every " (step) "th column of " (map.columns.len()) ", of " (map.seconds) " s each." } }
    };
    folded(&table, title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kdyno_model::plan::RoleKind;
    use kdyno_model::series::Outcomes;
    use kdyno_model::trial::TrialId;

    fn drawn(map: HeatMap) -> String {
        let stream = StreamSeries {
            name: "writers".to_owned(),
            role: RoleKind::Produce,
            seconds: Vec::new(),
            percentiles: Vec::new(),
            service_percentiles: Vec::new(),
            end_to_end_percentiles: Vec::new(),
            outcomes: Outcomes::default(),
            end_to_end_outcomes: Outcomes::default(),
            heat: HeatMap::default(),
            end_to_end_heat: HeatMap::default(),
        };
        let series = TrialSeries {
            trial: TrialId(1),
            label: String::new(),
            phases: Vec::new(),
            streams: Vec::new(),
            cpu: Vec::new(),
            resources: Vec::new(),
            imported: Vec::new(),
        };
        figure(&series, &stream, &map, "response time", "h", Detail::among(1)).0
    }

    #[test]
    fn squares_of_one_shade_in_a_column_are_one() {
        let column =
            |second, records: [u64; 3]| HeatColumn { second, records: records.to_vec(), unfinished: 0 };
        let columns = vec![column(0, [5, 5, 0]), column(1, [0, 1, 5])];
        let html = drawn(HeatMap { seconds: 1, edges_ns: vec![1e6, 2e6, 4e6, 8e6], columns });
        let paths: usize = html
            .split("<path class=\"shade-")
            .skip(1)
            .map(|path| path.split('>').next().unwrap_or("").matches('M').count())
            .sum();
        assert_eq!(paths, 3, "{html}");
        assert!(!html.contains("never seen"), "{html}");
    }

    #[test]
    fn a_damaged_or_empty_map_draws_nothing_odd() {
        assert_eq!(drawn(HeatMap::default()), "");
        let column = HeatColumn { second: u32::MAX, records: vec![1, 2, 3, 4], unfinished: 9 };
        let html = drawn(HeatMap {
            seconds: u32::MAX,
            edges_ns: vec![f64::NAN, 1e6, f64::INFINITY],
            columns: vec![column],
        });
        let pictures = html.split("<details").next().expect("the picture");
        assert!(!pictures.contains("NaN") && !pictures.contains("inf"), "{pictures}");
    }
}
