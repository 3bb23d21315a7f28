// A line through all charts over time at the instant that is pointed at, and what each shows there.

import { ACROSS, type Chart, type Charts, drawn, instantAt, percent, share } from "./charts.js";
import { type Axis, type Course, axisOf, coursesOf, nearest, told } from "./course.js";

/** Lines of a chart that are shown next to the cursor at most. */
const LINES_MAX = 6;
/** A step of the arrow keys, as a share of the width; with Shift ten of them. */
const KEY_STEP = 0.01;

/** What is drawn for the cursor in one chart. */
interface Own {
  readonly line: SVGElement;
  readonly readout: HTMLElement;
  readonly axis: Axis | undefined;
  readonly courses: readonly Course[];
}

export class Cursor {
  #instant: number | undefined;
  /** Made when they are needed first. */
  readonly #own = new Map<Chart, Own>();
  #frame = 0;

  constructor(private readonly charts: Charts) {
    const follow = (event: PointerEvent) => {
      const chart = charts.of(event.target);
      if (chart !== undefined) this.show(instantAt(chart, event.clientX));
      else if (this.#instant !== undefined) this.show(undefined);
    };
    document.addEventListener("pointermove", follow, { passive: true });
    document.addEventListener("pointerdown", follow, { passive: true });
    document.addEventListener("scroll", () => this.show(this.#instant), { passive: true });
    this.#listenToKeys();
  }

  get instant(): number | undefined {
    return this.#instant;
  }

  /** Shows it at an instant, or nowhere. */
  show(instant: number | undefined): void {
    this.#instant = instant;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      for (const chart of this.charts.all.values()) this.#place(chart);
    });
  }

  #listenToKeys(): void {
    // One stop of the Tab key for each figure.
    for (const figure of document.querySelectorAll("[data-time]")) {
      figure.querySelector("svg.plot")?.setAttribute("tabindex", "0");
    }
    const heard = document.createElement("p");
    heard.className = "heard";
    heard.setAttribute("role", "status");
    (document.querySelector("main") ?? document.body).append(heard);
    document.addEventListener("keydown", (event) => {
      const chart = this.charts.of(event.target);
      if (chart === undefined) return;
      if (event.key === "Escape") return this.show(undefined);
      const step = { ArrowLeft: -KEY_STEP, ArrowRight: KEY_STEP }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const { from, to } = chart.view;
      const moved = (this.#instant ?? (from + to) / 2) + step * (event.shiftKey ? 10 : 1) * (to - from);
      const instant = Math.min(to, Math.max(from, moved));
      this.show(instant);
      heard.textContent = `${seconds(instant)}: ${values(this.#ownOf(chart), share(chart.whole, instant)).join(", ")}`;
    });
  }

  #ownOf(chart: Chart): Own {
    const before = this.#own.get(chart);
    if (before !== undefined) return before;
    const { y, height } = chart.plot.viewBox.baseVal;
    const line = drawn("line", { class: "cursor", y1: y, y2: y + height });
    const readout = document.createElement("div");
    readout.className = "readout";
    readout.setAttribute("aria-hidden", "true");
    chart.svg.append(line);
    chart.svg.parentElement?.append(readout);
    const own = { line, readout, axis: axisOf(chart.svg, chart.plot), courses: coursesOf(chart.plot) };
    this.#own.set(chart, own);
    return own;
  }

  /** Puts the line where it belongs, and next to it what the chart shows there. */
  #place(chart: Chart): void {
    const instant = this.#instant;
    const at = instant === undefined ? NaN : share(chart.view, instant);
    if (instant === undefined || !(at >= 0 && at <= 1) || !this.charts.seen.has(chart)) {
      const own = this.#own.get(chart);
      if (own !== undefined) [own.line.style.display, own.readout.hidden] = ["none", true];
      return;
    }
    const own = this.#ownOf(chart);
    own.line.setAttribute("x1", percent(at));
    own.line.setAttribute("x2", percent(at));
    [own.line.style.display, own.readout.hidden] = ["", false];
    const time = document.createElement("b");
    time.textContent = seconds(instant);
    own.readout.replaceChildren(time, ` ${values(own, share(chart.whole, instant)).join(" · ")}`);
    besideLine(chart, own.readout, at);
  }
}

/** On the side where there is room. */
function besideLine({ svg, plot }: Chart, readout: HTMLElement, at: number): void {
  const [own, around] = [svg.getBoundingClientRect(), readout.parentElement?.getBoundingClientRect()];
  if (around === undefined) return;
  const left = own.left - around.left + at * own.width;
  readout.style.top = `${own.top - around.top + plot.viewBox.baseVal.y + 2}px`;
  readout.style.left = at < 0.5 ? `${left + 8}px` : "auto";
  readout.style.right = at < 0.5 ? "auto" : `${around.width - left + 8}px`;
}

function seconds(instant: number): string {
  return `${instant.toFixed(1)} s`;
}

/** Of each line its name and its value; of several of one name from the lowest to the highest. */
function values({ axis, courses }: Own, at: number): string[] {
  if (axis === undefined) return [];
  const found = new Map<string, { low: number; high: number; isLeast: boolean }>();
  for (const course of courses) {
    const point = nearest(course, at * ACROSS);
    if (point === undefined) continue;
    const before = found.get(course.name);
    // Down the page is towards lower values.
    const low = Math.max(point.down, before?.low ?? -Infinity);
    const high = Math.min(point.down, before?.high ?? Infinity);
    found.set(course.name, { low, high, isLeast: point.isLeast || before?.isLeast === true });
  }
  const said = [...found].map(([name, { low, high, isLeast }]) => {
    const [least, most] = [told(axis, low), told(axis, high)];
    return `${name} ${isLeast ? "≥" : "≈"} ${least === most ? most : `${least}–${most}`}`;
  });
  return said.length > LINES_MAX ? [...said.slice(0, LINES_MAX), `${said.length - LINES_MAX} more`] : said;
}
