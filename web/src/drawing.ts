// A figure as one SVG that needs nothing else: its pictures and its texts where they stand now, their looks as attributes.

const SVG = "http://www.w3.org/2000/svg";

/** What a figure has on the screen alone. */
const NOT_DRAWN = "details.data, .save, button.copy, .readout, .heard";
/** The same within a picture. */
const NOT_OF_PICTURE = ".cursor, .stretch";
/** Elements that have a look. */
const SHAPES = "path, line, rect, circle, text";

/** What a look is made of, with the values that need not be written. */
const LOOKS: Readonly<Record<string, string>> = {
  "fill": "rgb(0, 0, 0)", "fill-opacity": "1", "stroke": "none", "stroke-opacity": "1", "stroke-width": "1px",
  "stroke-dasharray": "none", "stroke-linecap": "butt", "stroke-linejoin": "miter", "vector-effect": "none", "opacity": "1",
};
const FONTS = ["font-family", "font-size", "font-weight"] as const;

/** Around everything, px. */
const MARGIN = 12;
/** A line of the title, where it stands nowhere in the figure, px. */
const TITLE_PX = 24;
/** From the top of a line of text to where its letters stand, as a share of its height. */
const BASELINE = 0.79;

/** A piece of text in one line, in the places of the window. */
interface Line {
  text: string;
  right: number;
  readonly left: number;
  readonly top: number;
  readonly height: number;
}

/** The figure with this title, as it is shown now; in its colours of now. */
export function drawing(figure: Element, title: string): string {
  const origin = figure.getBoundingClientRect();
  const parts: SVGElement[] = [];
  let [right, bottom] = [origin.width, 0];
  const put = (part: SVGElement, ends: { right: number; bottom: number }) => {
    parts.push(part);
    right = Math.max(right, ends.right - origin.left);
    bottom = Math.max(bottom, ends.bottom - origin.top);
  };
  for (const node of drawnNodes(figure)) {
    if (node instanceof SVGSVGElement) {
      const box = node.getBoundingClientRect();
      put(picture(node, box.left - origin.left, box.top - origin.top, box), box);
    } else if (node instanceof Text && node.parentElement !== null) {
      for (const line of linesOf(node)) {
        put(written(line, node.parentElement, origin), { right: line.right, bottom: line.top + line.height });
      }
    }
  }
  const told = figure.querySelector("figcaption")?.textContent ?? "";
  const above = MARGIN + (told.includes(title) ? 0 : TITLE_PX);
  const size = { left: -MARGIN, top: -above, width: Math.ceil(right) + 2 * MARGIN, height: Math.ceil(bottom) + above + MARGIN };
  const head = above > MARGIN ? [written({ text: title, left: origin.left, right: 0, top: origin.top - TITLE_PX, height: 18 }, figure, origin)] : [];
  return file(title, size, [...head, ...parts]);
}

function file(title: string, size: { left: number; top: number; width: number; height: number }, parts: readonly SVGElement[]): string {
  const { left, top, width, height } = size;
  const root = made("svg", { viewBox: `${left} ${top} ${width} ${height}`, width, height, role: "img" });
  const name = made("title", {});
  name.textContent = title;
  const paper = made("rect", { x: left, y: top, width, height, fill: getComputedStyle(document.body).backgroundColor });
  root.append(name, paper, ...parts);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}\n`;
}

function made(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, `${value}`);
  return element;
}

/** Pictures and texts that are seen, in the order of the page. */
function drawnNodes(figure: Element): Node[] {
  const walker = document.createTreeWalker(figure, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node.parentElement instanceof SVGSVGElement) return NodeFilter.FILTER_REJECT;
    if (node instanceof Element && (node.matches(NOT_DRAWN) || node.getClientRects().length === 0)) return NodeFilter.FILTER_REJECT;
    return NodeFilter.FILTER_ACCEPT;
  });
  const nodes: Node[] = [];
  while (walker.nextNode() !== null) nodes.push(walker.currentNode);
  return nodes;
}

/** A text as the lines into which the window breaks it. */
function linesOf(node: Text): Line[] {
  const lines: Line[] = [];
  const range = document.createRange();
  for (const found of node.data.matchAll(/\S+/gu)) {
    range.setStart(node, found.index);
    range.setEnd(node, found.index + found[0].length);
    const [box] = range.getClientRects();
    if (box === undefined || box.width === 0) continue;
    const last = lines.at(-1);
    if (last !== undefined && Math.abs(last.top - box.top) < 1) [last.text, last.right] = [`${last.text} ${found[0]}`, box.right];
    else lines.push({ text: found[0], left: box.left, right: box.right, top: box.top, height: box.height });
  }
  const item = node.parentElement?.closest("ol > li");
  // The number of an item is no text of the page.
  if (item !== null && item !== undefined && item.firstChild === node && lines[0] !== undefined) {
    const number = [...(item.parentElement?.children ?? [])].indexOf(item) + 1;
    lines.push({ ...lines[0], text: `${number}.`, left: lines[0].left - 1.2 * lines[0].height });
  }
  return lines;
}

function written(line: Line, looks: Element, origin: DOMRect): SVGElement {
  const style = getComputedStyle(looks);
  const text = made("text", { x: rounded(line.left - origin.left), y: rounded(line.top - origin.top + BASELINE * line.height), fill: style.color });
  for (const font of FONTS) text.setAttribute(font, style.getPropertyValue(font));
  text.textContent = line.text;
  return text;
}

/** A picture at its place, with the looks that the page's style gives it. */
function picture(svg: SVGSVGElement, x: number, y: number, { width, height }: DOMRect): SVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [svg, copy].map((one) => [one, ...one.querySelectorAll<SVGElement>("*")]) as [SVGElement[], SVGElement[]];
  copies.forEach((one, index) => {
    const original = originals[index];
    if (original === undefined) return;
    const style = getComputedStyle(original);
    if (one.matches(NOT_OF_PICTURE) || style.display === "none") return one.remove();
    for (const name of one.getAttributeNames()) if (/^(?:class|style|tabindex|id|aria-labelledby)$|^data-/u.test(name)) one.removeAttribute(name);
    if (one instanceof SVGSVGElement) one.setAttribute("overflow", style.overflowX === "hidden" ? "hidden" : "visible");
    if (!one.matches(SHAPES)) return;
    for (const [property, usual] of Object.entries(LOOKS)) {
      const value = style.getPropertyValue(property);
      if (value !== usual) one.setAttribute(property, value);
    }
    if (one.matches("text")) for (const font of FONTS) one.setAttribute(font, style.getPropertyValue(font));
  });
  for (const [name, value] of Object.entries({ x, y, width, height })) copy.setAttribute(name, `${rounded(value)}`);
  return copy;
}

function rounded(place: number): number {
  return Math.round(place * 10) / 10;
}
