// A stretch of time is dragged over, and all charts over time show it alone.

import { ACROSS, type Chart, type Charts, type Stretch, drawn, instantAt, length, percent, share } from "./charts.js";
import type { Cursor } from "./cursor.js";

/** Less than this is a click with an unsteady hand, px. */
const DRAG_MIN_PX = 6;
/** By how much a key zooms. */
const KEY_FACTOR = 2;
/** The least that is shown, s: rows are of seconds. */
const LENGTH_MIN_S = 2;
/** Numbers under an axis that are wanted at least. */
const NUMBERS_MIN = 3;

/** Classes of texts that are no numbers of the axis. */
const NAMED = ["flag", "band-name"];

/** What stands at places of time around a plot: its element, and the instants of its left and right end. */
interface Piece extends Stretch {
  readonly element: SVGElement;
}

export function addZoom(charts: Charts, cursor: Cursor): void {
  const whole = document.createElement("button");
  whole.type = "button";
  whole.className = "whole";
  whole.hidden = true;
  whole.textContent = "Show all of the time";
  document.body.append(whole);
  const pieces = new Map<Chart, readonly Piece[]>();
  let zoomed: Stretch | undefined;

  const zoom = (wanted: Stretch | undefined) => {
    zoomed = wanted;
    whole.hidden = wanted === undefined;
    for (const chart of charts.all.values()) {
      if (!pieces.has(chart)) pieces.set(chart, piecesOf(chart));
      const view = wanted === undefined ? chart.whole : within(chart.whole, wanted);
      if (view !== undefined) show(chart, view, pieces.get(chart) ?? []);
    }
    cursor.show(cursor.instant);
  };
  whole.addEventListener("click", () => zoom(undefined));
  document.addEventListener("dblclick", (event) => charts.of(event.target) !== undefined && zoom(undefined));
  document.addEventListener("keydown", (event) => {
    const chart = charts.of(event.target);
    if (chart === undefined) return;
    const factor = { "+": 1 / KEY_FACTOR, "-": KEY_FACTOR }[event.key];
    if (factor === undefined) return;
    const middle = cursor.instant ?? (chart.view.from + chart.view.to) / 2;
    const half = (length(chart.view) * factor) / 2;
    zoom(half * 2 < length(chart.whole) ? { from: middle - half, to: middle + half } : undefined);
  });
  listenToDrags(charts, (wanted) => {
    if (length(wanted) >= LENGTH_MIN_S || zoomed === undefined) zoom(wanted);
  });
}

/** A mouse draws over a stretch; a finger scrolls the page. */
function listenToDrags(charts: Charts, drop: (wanted: Stretch) => void): void {
  let drag: { chart: Chart; begin: number; clientX: number; area: SVGElement } | undefined;
  document.addEventListener("pointerdown", (event) => {
    const chart = charts.of(event.target);
    if (chart === undefined || event.button !== 0 || event.pointerType === "touch") return;
    const { y, height } = chart.plot.viewBox.baseVal;
    const area = drawn("rect", { class: "stretch", y, height, width: 0 });
    chart.svg.append(area);
    drag = { chart, begin: instantAt(chart, event.clientX), clientX: event.clientX, area };
  });
  document.addEventListener("pointermove", (event) => {
    if (drag === undefined) return;
    const ends = [drag.begin, instantAt(drag.chart, event.clientX)].map((instant) => share(drag?.chart.view ?? { from: 0, to: 1 }, instant));
    const [from, to] = [Math.min(...ends), Math.max(...ends)];
    drag.area.setAttribute("x", percent(from));
    drag.area.setAttribute("width", percent(to - from));
  }, { passive: true });
  const end = (event: PointerEvent) => {
    if (drag === undefined) return;
    const { chart, begin, clientX, area } = drag;
    drag = undefined;
    area.remove();
    if (event.type === "pointercancel" || Math.abs(event.clientX - clientX) < DRAG_MIN_PX) return;
    const other = instantAt(chart, event.clientX);
    drop({ from: Math.min(begin, other), to: Math.max(begin, other) });
  };
  document.addEventListener("pointerup", end);
  document.addEventListener("pointercancel", end);
}

/** What of a stretch there is, at least the least that is shown; `undefined` where there is nothing of it. */
function within(whole: Stretch, wanted: Stretch): Stretch | undefined {
  const more = Math.max(0, LENGTH_MIN_S - length(wanted)) / 2;
  const from = Math.max(whole.from, wanted.from - more);
  const to = Math.min(whole.to, wanted.to + more);
  return to - from > LENGTH_MIN_S / 2 ? { from, to } : undefined;
}

function piecesOf({ svg, whole }: Chart): Piece[] {
  const at = (element: Element, name: string) => {
    const value = element.getAttribute(name);
    return value?.endsWith("%") === true ? Number.parseFloat(value) / 100 : undefined;
  };
  return [...svg.children].flatMap((element) => {
    const from = at(element, "x") ?? at(element, "x1");
    // The name of an axis stands in its middle whatever it shows.
    if (!(element instanceof SVGElement) || from === undefined || element.classList.contains("label")) return [];
    const to = from + (at(element, "width") ?? 0);
    return [{ element, from: whole.from + from * length(whole), to: whole.from + to * length(whole) }];
  });
}

/** Shows a stretch: what is drawn by its own units, what stands around it piece by piece. */
function show(chart: Chart, view: Stretch, pieces: readonly Piece[]): void {
  chart.view = view;
  const { plot, whole } = chart;
  const { y, height } = plot.viewBox.baseVal;
  plot.setAttribute("viewBox", `${share(whole, view.from) * ACROSS} ${y} ${(length(view) / length(whole)) * ACROSS} ${height}`);
  plot.style.overflow = length(view) < length(whole) ? "hidden" : "";
  for (const { element, from, to } of pieces) {
    const [left, right] = [from, to].map((instant) => Math.min(1, Math.max(0, share(view, instant)))) as [number, number];
    const isOut = to < view.from || from > view.to;
    element.style.display = isOut ? "none" : "";
    if (element instanceof SVGLineElement) for (const name of ["x1", "x2"]) element.setAttribute(name, percent(left));
    else element.setAttribute("x", percent(left));
    if (element instanceof SVGRectElement) element.setAttribute("width", percent(right - left));
  }
  renumber(chart, pieces);
}

/** Numbers under the axis where too few of those that were drawn are in sight. */
function renumber({ svg, plot, view }: Chart, pieces: readonly Piece[]): void {
  for (const old of svg.querySelectorAll("text.own")) old.remove();
  const drawnOnes = pieces.filter(({ element }) => element instanceof SVGTextElement && !NAMED.some((name) => element.classList.contains(name)));
  const inSight = drawnOnes.filter(({ element }) => element.style.display === "");
  if (drawnOnes.length === 0 || inSight.length >= NUMBERS_MIN) return;
  for (const { element } of inSight) element.style.display = "none";
  const down = drawnOnes[0]?.element.getAttribute("y") ?? plot.viewBox.baseVal.height;
  const rough = length(view) / (NUMBERS_MIN + 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((nice) => nice * power).find((nice) => nice >= rough) ?? rough;
  for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
    const at = share(view, tick);
    const text = drawn("text", { class: "own", x: percent(at), y: down, "text-anchor": at < 0.03 ? "start" : at > 0.97 ? "end" : "middle" });
    text.textContent = `${Math.round(tick * 1000) / 1000}`;
    svg.append(text);
  }
}
