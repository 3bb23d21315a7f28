// The data of each figure as CSV and its picture as SVG. Nothing is requested: the browser saves what the page holds.

import { drawing } from "./drawing.js";
import { rowsOf } from "./tables.js";
import { inLight } from "./theme.js";

/** How long a file that is saved is kept for the browser to read, ms. */
const KEPT_MS = 60_000;

export function addSaving(): void {
  for (const figure of document.querySelectorAll("figure")) {
    const [caption, table] = [figure.querySelector("figcaption"), figure.querySelector<HTMLTableElement>("details.data table")];
    if (caption === null || table === null) continue;
    const title = figure.getAttribute("aria-label") ?? text(caption);
    // The buttons stand in the caption and are no part of the figure's name.
    figure.setAttribute("aria-label", title);
    const name = figure.id === "" ? slug(title) : figure.id;
    const buttons = document.createElement("span");
    buttons.className = "save";
    buttons.append(
      button("CSV", title, () => save(`${name}.csv`, "text/csv", commaSeparated(table))),
      button("SVG", title, () => save(`${name}.svg`, "image/svg+xml", inLight(() => drawing(figure, title)))),
    );
    caption.prepend(buttons);
  }
}

function text(element: Element): string {
  return element.textContent?.replace(/\s+/gu, " ").trim() ?? "";
}

function button(what: string, title: string, pressed: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = what;
  made.setAttribute("aria-label", `Save as ${what}: ${title}`);
  made.addEventListener("click", pressed);
  return made;
}

/** A text as the name of a file. */
function slug(title: string): string {
  return title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/gu, "").slice(0, 80) || "figure";
}

/** A number as it is printed here, bare. */
const NUMBER = /^[-−]?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?$/u;

/**
 * The table as RFC 4180 has it: as it stands, but bare numbers as programs read them, and nothing where there is no figure. What a
 * spreadsheet would take for a formula has a `'` before it: names and labels are those of whoever wrote the scenario.
 */
function commaSeparated(table: HTMLTableElement): string {
  const field = (cell: string) => {
    const safe = /^[=+@\t-]/u.test(cell) ? `'${cell}` : cell;
    const plain = cell === "–" ? "" : NUMBER.test(cell) ? cell.replaceAll(",", "").replace("−", "-") : safe;
    return /[",\r\n]/u.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return rowsOf(table).map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function save(name: string, type: string, content: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
