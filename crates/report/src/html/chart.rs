//! What a chart of lines is made of, before anything is drawn: panels over one horizontal axis.

use super::scale::{Scale, widened};
use super::ticks::resolution;
use kdyno_model::metric::Unit;

/// Numbers beyond this are not drawn: as nanoseconds it is thirty years, so it is a defect elsewhere.
pub const NUMBER_MAX: f64 = 1e18;
/// Width of all panels; what is drawn is stretched to that of the page.
pub const ACROSS: f64 = 1000.0;
/// Half of the records: the curve of percentiles begins there, and ends at 99.999 %.
const NINES_MIN: f64 = std::f64::consts::LOG10_2;
const NINES_MAX: f64 = 5.0;

/// What is on the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Horizontal {
    /// Seconds from the start of the load, T0.
    Seconds,
    /// Quantiles, as −log₁₀(1 − q): each tick has one nine more.
    Nines,
    /// Load in records/s.
    Rate,
}

/// What is on the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Vertical {
    /// Rates and percentages: linear from zero on.
    FromZero,
    /// Latencies in nanoseconds on a logarithmic axis.
    LogNs,
}

/// One point of a line, in the units of the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChartPoint {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Place on the vertical axis; `None` breaks the line.
    pub y: Option<f64>,
    /// The true value lies there or above.
    pub at_least: bool,
}

/// How the points of a line are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStyle {
    /// Joined.
    Joined,
    /// A sign for each.
    Dots,
    /// A cross for each.
    Crosses,
}

/// One line of a chart with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    /// Name in the legend; lines of one name and look are in it once.
    pub name: String,
    /// Colour, dash and shape; more than there are repeat them.
    pub look: usize,
    /// How its points are drawn.
    pub drawn: LineStyle,
    /// The points from left to right.
    pub points: Vec<ChartPoint>,
    /// Points further apart than this are not joined.
    pub gap: Option<f64>,
}

/// A stretch of the horizontal axis with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Name as printed above it.
    pub name: String,
    /// Left edge, in the horizontal axis' unit.
    pub from: f64,
    /// Right edge, in the horizontal axis' unit.
    pub to: f64,
    /// Shaded: not part of the measurement.
    pub shaded: bool,
}

/// A place on the horizontal axis with a short name, drawn through all panels.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartFlag {
    /// Printed above it.
    pub name: String,
    /// Where, in the horizontal axis' unit.
    pub at: f64,
}

/// One vertical axis with its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What is seen; empty where the chart's title says it.
    pub title: String,
    /// Unit of the vertical axis.
    pub unit: &'static str,
    /// What is on the vertical axis.
    pub y: Vertical,
    /// Values that the axis holds in addition to those of its lines, so that several have the same.
    pub holds: Vec<f64>,
    /// The limit that values must keep, if there is one, and whether those below it do.
    pub limit: Option<(f64, bool)>,
    /// Height of the plot, px.
    pub height: f64,
    /// The lines, in the order of the legend.
    pub lines: Vec<ChartLine>,
}

/// How much of a long series is drawn and listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detail {
    /// Points drawn at most per line; more are thinned so that every extreme stays.
    pub points: usize,
    /// Rows of the table of its data at most; 0: another table has them.
    pub rows: usize,
}

impl Detail {
    /// Size of one chart among so many of its kind: a page of many trials has less of each.
    pub fn among(charts: usize) -> Self {
        let share = |all: usize, least: usize, most: usize| (all / charts.max(1)).clamp(least, most);
        Self { points: share(1_500, 60, 450), rows: share(120, 10, 60) }
    }
}

/// Panels of lines, one above the other, over one horizontal axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Id of the element, unique on the page.
    pub id: String,
    /// Title above the chart.
    pub title: String,
    /// What is on the horizontal axis.
    pub x: Horizontal,
    /// Under the horizontal axis, with the unit.
    pub x_label: &'static str,
    /// From the top down.
    pub panels: Vec<Panel>,
    /// Stretches behind all panels.
    pub bands: Vec<Band>,
    /// Places through all panels.
    pub flags: Vec<ChartFlag>,
    /// How much is drawn.
    pub detail: Detail,
}

impl Chart {
    /// The chart without numbers that have no place, lines thinned to what can be seen, and without panels that have no
    /// point.
    pub fn drawable(&self) -> Self {
        let mut chart = self.clone();
        for panel in &mut chart.panels {
            panel.lines = panel.lines.iter().map(|line| drawable(line, self.detail.points)).collect();
            panel.lines.retain(|line| !line.points.is_empty());
            panel.holds.retain(|value| has_place(*value));
            panel.limit = panel.limit.filter(|(limit, _)| has_place(*limit));
        }
        chart.panels.retain(|panel| panel.lines.iter().any(ChartLine::has_points));
        chart.bands.retain(|band| has_place(band.from) && has_place(band.to));
        chart.flags.retain(|flag| has_place(flag.at));
        chart
    }

    /// The horizontal axis that all panels share.
    pub fn across(&self) -> Scale {
        let points = self.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
        let ends = self.bands.iter().flat_map(|band| [band.from, band.to]);
        let xs = points.map(|point| point.x).chain(ends);
        let (low, high) =
            xs.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        match self.x {
            // The ends are those of the data; the ticks are round numbers between them.
            Horizontal::Seconds | Horizontal::Rate => {
                let (low, high) = if self.x == Horizontal::Rate { loads((low, high)) } else { (low, high) };
                let ticks = Scale::linear([low, high].into_iter(), false, 0.0, 1.0).ticks;
                let inside = ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
                Scale::fixed(low, high, inside, 0.0, ACROSS)
            }
            Horizontal::Nines => {
                // 1 − 0.9999 is not exactly 10⁻⁴: what lies a hair above a tick ends there.
                let last = (high - 1e-6).ceil().clamp(1.0, NINES_MAX);
                let ticks = std::iter::once(NINES_MIN).chain((1..=last as i32).map(f64::from)).collect();
                Scale::fixed(NINES_MIN, last, ticks, 0.0, ACROSS)
            }
        }
    }
}

/// The ends of an axis of loads: a search that tried a single one has room on both sides of it.
fn loads((low, high): (f64, f64)) -> (f64, f64) {
    /// A step of the axis is no smaller a share of the highest load.
    const STEP_MIN: f64 = 0.04;
    let step = resolution(high, Unit::RecordsPerS).max(STEP_MIN * high);
    if step > 0.0 { widened((low, high), step) } else { (low, high) }
}

impl Panel {
    /// The vertical axis, from the bottom at `from` to the top at `to`.
    pub fn up(&self, from: f64, to: f64) -> Scale {
        let ys = self.lines.iter().flat_map(|line| &line.points).filter_map(|point| point.y);
        let ys = ys.chain(self.holds.iter().copied()).chain(self.limit.map(|(limit, _)| limit));
        match self.y {
            Vertical::FromZero => Scale::linear(ys, true, from, to),
            Vertical::LogNs => Scale::log(ys, from, to),
        }
    }
}

impl ChartLine {
    fn has_points(&self) -> bool {
        self.points.iter().any(|point| point.y.is_some())
    }
}

/// The place of a quantile on an axis of nines; `None` beyond its ends.
pub fn nines(quantile: f64) -> Option<f64> {
    let place = -(1.0 - quantile).log10();
    (NINES_MIN - 1e-9..=NINES_MAX + 1e-6).contains(&place).then_some(place)
}

fn has_place(number: f64) -> bool {
    number.is_finite() && number.abs() <= NUMBER_MAX
}

fn drawable(line: &ChartLine, points_max: usize) -> ChartLine {
    let points: Vec<ChartPoint> = line
        .points
        .iter()
        .filter(|point| has_place(point.x))
        .map(|point| ChartPoint { y: point.y.filter(|y| has_place(*y)), ..*point })
        .collect();
    // Points that are left of a long line lie further apart than those that it was made of.
    let points = match line.gap {
        Some(gap) => broken(&points, gap),
        None => points,
    };
    ChartLine { points: thinned(&points, points_max), gap: None, ..line.clone() }
}

/// The points with one that breaks the line between any two that lie further apart than this.
fn broken(points: &[ChartPoint], gap: f64) -> Vec<ChartPoint> {
    let mut out: Vec<ChartPoint> = Vec::with_capacity(points.len());
    for point in points {
        let before = out.last().map(|last| last.x).filter(|before| point.x - before > gap);
        out.extend(before.map(|x| ChartPoint { x: f64::midpoint(x, point.x), y: None, at_least: false }));
        out.push(*point);
    }
    out
}

/// Keeps of each bucket its lowest, highest and broken points, in order.
pub fn thinned(points: &[ChartPoint], points_max: usize) -> Vec<ChartPoint> {
    if points.len() <= points_max {
        return points.to_vec();
    }
    let bucket = points.len().div_ceil((points_max / 3).max(1));
    let mut out = Vec::with_capacity(points_max + 3);
    for chunk in points.chunks(bucket) {
        let of = |wanted: fn(&(usize, &ChartPoint)) -> bool| chunk.iter().enumerate().filter(wanted);
        let key = |(_, point): &(usize, &ChartPoint)| point.y.unwrap_or_default();
        let known = |(_, point): &(usize, &ChartPoint)| point.y.is_some();
        let order = |a: &(usize, &ChartPoint), b: &(usize, &ChartPoint)| key(a).total_cmp(&key(b));
        let mut kept: Vec<usize> =
            [of(known).min_by(order), of(known).max_by(order), of(|(_, point)| point.y.is_none()).next()]
                .into_iter()
                .flatten()
                .map(|(index, _)| index)
                .collect();
        kept.sort_unstable();
        kept.dedup();
        out.extend(kept.into_iter().map(|index| chunk[index]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_one_load_has_room_on_both_sides() {
        assert_eq!(loads((2_000.0, 2_000.0)), (1_800.0, 2_200.0));
        assert_eq!(loads((1_000.0, 2_000.0)), (1_000.0, 2_000.0));
    }

    #[test]
    fn thinning_keeps_the_extremes() {
        let y = |i: i32| if i == 7_777 { 99.0 } else { f64::from(i % 3) };
        let points: Vec<ChartPoint> =
            (0..20_000).map(|i| ChartPoint { x: f64::from(i), y: Some(y(i)), at_least: false }).collect();
        let thin = thinned(&points, 450);
        assert!(thin.len() <= 450, "{}", thin.len());
        assert!(thin.iter().any(|point| point.y == Some(99.0)));
        assert!(thin.windows(2).all(|pair| pair[0].x <= pair[1].x));
    }

    #[test]
    fn a_thinned_line_has_the_gaps_of_its_data_and_no_others() {
        let points = |from: i32, to: i32| {
            (from..to).map(|i| ChartPoint { x: f64::from(i), y: Some(f64::from(i % 7)), at_least: false })
        };
        let line = ChartLine {
            name: String::new(),
            look: 0,
            drawn: LineStyle::Joined,
            points: points(0, 600).chain(points(700, 1_300)).collect(),
            gap: Some(1.5),
        };
        let thin = drawable(&line, 90);
        let breaks: Vec<f64> =
            thin.points.iter().filter(|point| point.y.is_none()).map(|point| point.x).collect();
        assert!(thin.points.len() <= 90 && thin.gap.is_none(), "{}", thin.points.len());
        assert_eq!(breaks, [649.5]);
    }

    #[test]
    fn quantiles_stand_at_their_nines() {
        assert_eq!([nines(0.9), nines(0.999)].map(|place| place.map(|p| p.round())), [Some(1.0), Some(3.0)]);
        assert_eq!([nines(1.0), nines(0.3), nines(0.999_999), nines(f64::NAN)], [None; 4]);
        assert!(nines(0.5).is_some());
    }

    #[test]
    fn many_charts_have_less_detail_each() {
        assert_eq!(Detail::among(1), Detail { points: 450, rows: 60 });
        assert_eq!(Detail::among(1_000), Detail { points: 60, rows: 10 });
    }
}
