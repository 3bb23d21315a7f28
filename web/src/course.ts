// The lines of a chart as they are drawn, and what they show at an instant.
//
// Values are read off the picture, so that a page need not hold them twice: as exact as half a pixel lets them be, and
// written so. The exact ones stand in the table of the figure's data and in the exports.

import { separated, time } from "./quantity.js";

/** The vertical axis: `linear 0 80000` or `log 1000000 100000000`, the latter of ns. */
export interface Axis {
  readonly isLog: boolean;
  readonly low: number;
  readonly high: number;
  /** Places of its ends, px. */
  readonly top: number;
  readonly height: number;
}

/** A line: the places of its points from left to right. */
export interface Course {
  readonly name: string;
  readonly points: readonly Point[];
  /** A point further away than this shows nothing. */
  readonly reach: number;
}

interface Point {
  readonly across: number;
  readonly down: number;
  readonly isLeast: boolean;
}

/** Digits of what is read off a logarithmic axis. */
const LOG_DIGITS = 2;

export function axisOf(svg: SVGSVGElement, plot: SVGSVGElement): Axis | undefined {
  const [kind, low, high] = (svg.dataset.values ?? "").split(" ");
  const box = plot.viewBox.baseVal;
  if (low === undefined || high === undefined || box.height <= 0) return undefined;
  return { isLog: kind === "log", low: Number(low), high: Number(high), top: box.y, height: box.height };
}

export function coursesOf(plot: SVGSVGElement): Course[] {
  return [...plot.querySelectorAll("g.line")].flatMap((line) => {
    const path = line.querySelector("path:not(.up)")?.getAttribute("d");
    if (path === null || path === undefined) return [];
    const least = new Set(placesOf(line.querySelector("path.up")?.getAttribute("d") ?? "").map(([across]) => across));
    const points = placesOf(path).map(([across, down]) => ({ across, down, isLeast: least.has(across) }));
    return [{ name: line.querySelector("title")?.textContent ?? "", points, reach: reachOf(points) }];
  });
}

/** Where a path goes: of the steps `M`, `l`, `h` and `v` that charts are written in. */
function placesOf(path: string): [number, number][] {
  const places: [number, number][] = [];
  let [across, down] = [0, 0];
  for (const [, step, first, second] of path.matchAll(/([Mlhv])(-?[\d.]+)(?:,?(-?[\d.]+))?/gu)) {
    // These strokes make a dot of a point alone, and a tick of what is at least so much.
    if (step === "h" || step === "v") continue;
    [across, down] = step === "M" ? [Number(first), Number(second)] : [across + Number(first), down + Number(second)];
    places.push([across, down]);
  }
  return places;
}

/** A usual step, so that a gap in the line stays one. */
function reachOf(points: readonly Point[]): number {
  const steps = points.slice(1).map((point, index) => point.across - (points[index]?.across ?? 0)).sort((a, b) => a - b);
  return Math.max(4, steps[Math.floor(steps.length / 2)] ?? 0);
}

/** The point that is nearest to a place, if one is near. */
export function nearest(course: Course, across: number): Point | undefined {
  const { points } = course;
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.across ?? 0) < across) low = middle + 1;
    else high = middle;
  }
  const far = (point: Point | undefined) => (point === undefined ? Infinity : Math.abs(point.across - across));
  const found = far(points[low - 1]) < far(points[low]) ? points[low - 1] : points[low];
  return far(found) <= course.reach ? found : undefined;
}

/** What stands at a place down the axis, as exact as half a pixel is. */
export function told(axis: Axis, down: number): string {
  const share = 1 - (down - axis.top) / axis.height;
  if (axis.isLog) return time(axis.low * (axis.high / axis.low) ** share, LOG_DIGITS);
  const power = Math.floor(Math.log10((axis.high - axis.low) / axis.height / 2));
  const step = 10 ** power;
  return separated(Math.round((axis.low + (axis.high - axis.low) * share) / step) * step, Math.max(0, -power));
}
