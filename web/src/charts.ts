// The charts over time: those of figures with `data-time`, the instants of their left and right ends, s.

/** Width of a plot in its own units. */
export const ACROSS = 1000;

/** A stretch of time, s. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export interface Chart {
  /** With numbers and names around it. */
  readonly svg: SVGSVGElement;
  /** What is stretched to the width: lines or squares. */
  readonly plot: SVGSVGElement;
  /** All that is drawn. */
  readonly whole: Stretch;
  /** What of it is in sight now. */
  view: Stretch;
}

export class Charts {
  readonly all: ReadonlyMap<Element, Chart>;
  /** Those that the window shows now. */
  readonly seen = new Set<Chart>();

  constructor() {
    this.all = new Map([...document.querySelectorAll<SVGSVGElement>("[data-time] svg.plot")].flatMap(chartOf));
    const watcher = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const chart = this.all.get(target);
        if (chart !== undefined && isIntersecting) this.seen.add(chart);
        else if (chart !== undefined) this.seen.delete(chart);
      }
    });
    for (const svg of this.all.keys()) watcher.observe(svg);
  }

  /** The chart that something on the page is a part of. */
  of(target: EventTarget | null): Chart | undefined {
    const svg = target instanceof Element ? target.closest("svg.plot") : null;
    return svg === null ? undefined : this.all.get(svg);
  }
}

function chartOf(svg: SVGSVGElement): [Element, Chart][] {
  const plot = svg.querySelector<SVGSVGElement>("svg.lines, svg.heat");
  const [from, to] = (svg.closest<HTMLElement>("[data-time]")?.dataset["time"] ?? "").split(" ").map(Number);
  if (plot === null || from === undefined || to === undefined || !(to > from)) return [];
  return [[svg, { svg, plot, whole: { from, to }, view: { from, to } }]];
}

export function length({ from, to }: Stretch): number {
  return to - from;
}

/** Where an instant lies in a stretch: 0 at its left end, 1 at its right. */
export function share(of: Stretch, instant: number): number {
  return (instant - of.from) / length(of);
}

/** The instant under a place of the window, within what is in sight. */
export function instantAt(chart: Chart, clientX: number): number {
  const { left, width } = chart.svg.getBoundingClientRect();
  return chart.view.from + Math.min(1, Math.max(0, (clientX - left) / width)) * length(chart.view);
}

/** An element of SVG with these attributes. */
export function drawn(name: "line" | "rect" | "text", attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, `${value}`);
  return element;
}

/** A place across as an attribute. */
export function percent(share: number): string {
  return `${100 * share}%`;
}
